//! What a writer does too late or not to its end, for planted bugs and planned deaths alone.

use std::time::Duration;

use docket_core::plant::{Bug, planted};
use docket_core::store::{ChangeSet, Slice};

use crate::error::Trouble;
use crate::pool::Link;
use crate::write;

/// What is written at first and what after that, where a planted bug has two transactions for it.
pub(super) fn apart(changes: &ChangeSet) -> Option<(ChangeSet, ChangeSet)> {
    let answer = ChangeSet { answer: changes.answer.clone(), ..ChangeSet::default() };
    if planted(Bug::EventsApart) {
        let rows = ChangeSet { events: Vec::new(), answer: None, ..changes.clone() };
        Some((rows, ChangeSet { events: changes.events.clone(), ..answer }))
    } else if planted(Bug::AnswersApart) {
        Some((ChangeSet { answer: None, ..changes.clone() }, answer))
    } else {
        None
    }
}

/// Writes both, and commits in between.
pub(super) async fn write(link: &mut Link, rows: &ChangeSet, rest: &ChangeSet, seen: &Slice) -> Result<bool, Trouble> {
    let written = write::write(link, rows, seen, seen.now).await?;
    link.commit().await.map_err(Trouble::Sql)?;
    die_at(1);
    tokio::time::sleep(Duration::from_millis(5)).await;
    link.begin("").await.map_err(Trouble::Sql)?;
    Ok(written && write::write(link, rest, seen, seen.now).await?)
}

#[cfg(feature = "plant")]
pub(super) fn die_at(step: usize) {
    crate::plant::die_at(step);
}

#[cfg(not(feature = "plant"))]
pub(super) const fn die_at(_step: usize) {}
