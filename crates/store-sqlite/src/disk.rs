//! The disk that a database lies on: whether there is room left, and whether it still keeps what is written.
//!
//! Room is kept in reserve, so that what is under way when a disk fills up (a copy of the log into the database, a backup,
//! the log of an operator who looks at it) still fits. A flush that fails is final: the system may have thrown away what
//! it could not write, and a second flush would say that all is well.

use std::path::PathBuf;

use docket_core::store::StoreError;
use tokio::sync::watch;

use crate::error::{Failure, failed};

/// What is known of the disk.
#[derive(Debug)]
pub(crate) struct Disk {
    database: PathBuf,
    reserve: u64,
    lost: watch::Sender<bool>,
}

impl Disk {
    pub(crate) fn new(database: PathBuf, reserve: u64) -> Self {
        Self { database, reserve, lost: watch::Sender::new(false) }
    }

    /// Whether something may be written now.
    pub(crate) fn check(&self) -> Result<(), StoreError> {
        if *self.lost.borrow() {
            return Err(failed("the disk did not keep what was written: nothing more is written by this process"));
        }
        // Where nobody can say how much room there is, SQLite will tell.
        let Ok(about) = rustix::fs::statvfs(&self.database) else { return Ok(()) };
        let free = about.f_bavail.saturating_mul(about.f_frsize);
        if free < self.reserve {
            let what = format!("{free} bytes are free on the disk, and {} are kept in reserve", self.reserve);
            return Err(StoreError::Full(Some(Box::new(Failure(what)))));
        }
        Ok(())
    }

    /// Notes that a flush failed.
    pub(crate) fn lose(&self) {
        tracing::error!("the disk did not keep what was written: this process writes nothing more");
        self.lost.send_replace(true);
    }

    /// Returns when the disk has failed to keep something.
    pub(crate) async fn lost(&self) {
        // The sender lives as long as this value does.
        let _ = self.lost.subscribe().wait_for(|lost| *lost).await;
    }
}
