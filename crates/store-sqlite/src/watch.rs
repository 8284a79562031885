//! Waiting for events, whichever process commits them.
//!
//! Commits of this process tell the newest event's number at once. Those of others are looked for by reading that number
//! from time to time, by one of the waiters for all of them, and by nobody when nobody waits. Numbers are compared, not
//! signals counted, so a waiter misses nothing.

use docket_core::store::StoreError;
use tokio::sync::{Mutex, watch};

use crate::error::store_error;
use crate::options::POLL_EVERY;
use crate::pool::Pool;
use crate::read::{add_head, read_head_number};
use crate::script::Script;

/// What is known of the newest event.
#[derive(Debug)]
pub(crate) struct Watch {
    head: watch::Sender<u64>,
    /// Held by the waiter that looks for all.
    lookout: Mutex<()>,
}

impl Watch {
    pub(crate) fn new() -> Self {
        Self { head: watch::Sender::new(0), lookout: Mutex::new(()) }
    }

    /// Tells waiters of a committed event.
    pub(crate) fn publish(&self, head: u64) {
        self.head.send_if_modified(|known| {
            let newer = head > *known;
            *known = head.max(*known);
            newer
        });
    }

    /// Reads the number of the newest event and tells waiters.
    pub(crate) async fn look(&self, pool: &Pool) -> Result<u64, StoreError> {
        let mut script = Script::default();
        add_head(&mut script);
        let rows = pool.lease().await?.run(script).await.map_err(store_error)?;
        let head = read_head_number(&rows)?.unwrap_or(0);
        self.publish(head);
        Ok(head)
    }

    /// Returns when there is an event newer than `after`.
    pub(crate) async fn changed(&self, pool: &Pool, after: u64) -> Result<u64, StoreError> {
        let mut head = self.head.subscribe();
        loop {
            let known = *head.borrow_and_update();
            if known > after {
                return Ok(known);
            }
            tokio::select! {
                // The sender lives as long as this store does.
                _ = head.changed() => {}
                found = self.keep_looking(pool, after) => found?,
            }
        }
    }

    /// Looks for commits of other processes once nobody else does, until there is one that counts. When the waiter that
    /// looks goes away, the next one takes over.
    async fn keep_looking(&self, pool: &Pool, after: u64) -> Result<(), StoreError> {
        let _lookout = self.lookout.lock().await;
        while self.look(pool).await? <= after {
            tokio::time::sleep(POLL_EVERY).await;
        }
        Ok(())
    }
}
