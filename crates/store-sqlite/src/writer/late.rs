//! What a writer does too late or not to its end, for planted bugs and planned deaths alone.

use std::time::Duration;

use docket_core::model::Timestamp;
use docket_core::plant::{Bug, planted};
use docket_core::store::{ChangeSet, StoreError, StoredAnswer};

use super::desk::{Desk, Unsent};
use crate::error::{failed, is_busy, store_error};
use crate::pool::Link;
use crate::script::Script;
use crate::write;

impl Desk {
    /// Lets go of what was looked at and takes the lock a while later, where a planted bug looks outside of its transaction.
    pub(super) fn lock_again(&mut self) -> Result<(), StoreError> {
        if !planted(Bug::LookedOutside) {
            return Ok(());
        }
        self.end("COMMIT")?;
        self.turn.leave();
        self.lock_late()
    }

    fn lock_late(&mut self) -> Result<(), StoreError> {
        loop {
            std::thread::sleep(Duration::from_millis(5));
            let Some(link) = self.link.as_mut() else { return Err(failed("the connection is gone")) };
            match link.turn("BEGIN IMMEDIATE") {
                Err(error) if is_busy(&error) => {}
                ended => return ended.map_err(store_error),
            }
        }
    }

    /// Writes an answer in a transaction of its own; only a planted bug does.
    pub(super) fn write_answer(&mut self, answer: StoredAnswer, now: Timestamp) -> Result<(), StoreError> {
        self.lock_late()?;
        let mut script = Script::default();
        write::add_changes(&mut script, &ChangeSet { answer: Some(answer), ..ChangeSet::default() }, now);
        script.add("COMMIT");
        let Some(link) = self.link.as_mut() else { return Err(failed("the connection is gone")) };
        link.run(&script).map_err(store_error)
    }

    /// Commits a while after everybody was answered, where a planted bug does so.
    pub(super) async fn commit_late(&mut self) {
        if !planted(Bug::AnswerBeforeCommit) {
            return;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
        if self.link.as_ref().is_some_and(|link| !link.is_whole()) && self.end("COMMIT").is_ok() {
            self.watch.committed();
        }
    }
}

/// The answer of the last writes of a batch, where a planted bug writes it by itself.
pub(super) fn answer_of(unsent: Option<&mut Unsent>) -> Option<(StoredAnswer, Timestamp)> {
    let unit = unsent.filter(|_| planted(Bug::AnswersApart))?;
    unit.changes.answer.take().map(|answer| (answer, unit.now))
}

/// Sends a script, or dies half-way through it where a test says so.
pub(super) fn send(link: &mut Link, script: &Script) -> Result<(), rusqlite::Error> {
    #[cfg(feature = "plant")]
    if let Some(last) = crate::plant::dies_at() {
        let dies = last < script.len();
        link.run(&script.first(last))?;
        if dies {
            std::process::abort();
        }
        return Ok(());
    }
    link.run(script)
}
