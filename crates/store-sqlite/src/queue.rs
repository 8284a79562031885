//! Whose turn it is to write, among several processes on one file.

use std::time::{Duration, Instant};

use crate::options::SqliteOptions;

/// How a writer waits for the database's lock.
#[derive(Debug)]
pub(crate) struct Turn {
    patience: Duration,
    since: Option<Instant>,
}

impl Turn {
    pub(crate) fn new(options: &SqliteOptions) -> Self {
        Self { patience: options.busy_timeout, since: None }
    }

    pub(crate) async fn await_turn(&mut self) {
        self.since = None;
    }

    pub(crate) async fn may_wait_on(&mut self) -> bool {
        let since = *self.since.get_or_insert_with(Instant::now);
        if since.elapsed() > self.patience {
            return false;
        }
        tokio::time::sleep(Duration::from_millis(1)).await;
        true
    }

    pub(crate) fn pass_on(&mut self) {}
}
