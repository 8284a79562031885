//! Waiting for events, whichever process commits them.
//!
//! One of the waiters looks for all of them: it reads the newest event's number when this process has committed something,
//! and from time to time to see what others have. When nobody waits, nobody looks. Numbers are compared, not signals
//! counted, so a waiter misses nothing.

use docket_core::store::StoreError;
use tokio::sync::{Mutex, Notify, watch};

use crate::options::POLL_EVERY;
use crate::pool::Pool;
use crate::read::head_script;

/// What is known of the newest event.
#[derive(Debug)]
pub(crate) struct Watch {
    head: watch::Sender<u64>,
    /// Held by the waiter that looks for all.
    lookout: Mutex<()>,
    /// Wakes that waiter when this process has committed something.
    commit: Notify,
}

impl Watch {
    pub(crate) fn new() -> Self {
        Self { head: watch::Sender::new(0), lookout: Mutex::new(()), commit: Notify::new() }
    }

    /// Says that this process has committed something.
    pub(crate) fn committed(&self) {
        self.commit.notify_one();
    }

    /// Reads the number of the newest event and tells waiters.
    pub(crate) async fn look(&self, pool: &Pool) -> Result<u64, StoreError> {
        let head: u64 = pool.lease().await?.ask(head_script()).await?;
        self.head.send_if_modified(|known| {
            let newer = head > *known;
            *known = head.max(*known);
            newer
        });
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
            // Whichever comes first; a commit made since the last look is remembered.
            let _ = tokio::time::timeout(POLL_EVERY, self.commit.notified()).await;
        }
        Ok(())
    }
}
