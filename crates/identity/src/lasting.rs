//! How long a credential holds, for whoever is still being answered: a live stream must not outlast what opened it.

use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use docket_core::Kind;
use docket_core::model::KeySecret;

use crate::bearer::Bearer;

/// How often it is looked whether a credential still holds: reads may lag by this much.
const LOOK_EVERY: Duration = Duration::from_secs(1);
/// Longest sleep until a token ends: the machine's clock may be set meanwhile.
const NAP: Duration = Duration::from_secs(30);

/// What somebody was let in by, and how it may end.
#[derive(Clone, Debug)]
pub enum Holding {
    /// A key: it is revoked, rotated, or its time is over.
    Key {
        /// The key as it was sent.
        secret: Arc<KeySecret>,
        /// What was known of changes to keys when it was looked up.
        mark: Option<u64>,
        /// When its own time is over.
        ends: Option<Instant>,
    },
    /// A token: its time is over.
    Token {
        /// When that is, with what is forgiven to clocks.
        until: SystemTime,
    },
}

impl Bearer {
    /// Resolves once a credential that was taken would not be taken any more. The store is asked only when keys may have
    /// changed, or when the key's own time is over by our count.
    pub async fn ended(&self, holding: &Holding) {
        match holding {
            Holding::Token { until } => {
                while let Some(left) = until.duration_since(SystemTime::now()).ok().filter(|left| !left.is_zero()) {
                    tokio::time::sleep(left.min(NAP)).await;
                }
            }
            Holding::Key { secret, mark, ends } => self.key_ended(secret, *mark, *ends).await,
        }
    }

    async fn key_ended(&self, secret: &KeySecret, mut mark: Option<u64>, mut ends: Option<Instant>) {
        loop {
            tokio::time::sleep(LOOK_EVERY).await;
            let unchanged = mark.is_some() && mark == self.keys_mark();
            if unchanged && ends.is_none_or(|end| Instant::now() < end) {
                continue;
            }
            match self.look_again(secret).await {
                Ok(found) => (mark, ends) = (found.mark, found.ends),
                Err(error) if error.kind == Kind::Permanent => return,
                // A store that is away says nothing about the key.
                Err(_) => mark = None,
            }
        }
    }
}
