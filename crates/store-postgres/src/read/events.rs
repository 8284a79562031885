//! Events in the order of their numbers, and the number of the newest.
//!
//! A transaction that took a lower number may commit after one that took a higher. What is shown here ends before the
//! first number that may still come: a cursor never passes over an event. See `docket_head` in the migrations.
//!
//! A standby cannot tell which numbers may still come: it sees what was committed on its primary, and no lock of those that
//! have yet to commit. It shows what was done last to whoever looks back, and puts off whoever goes on from a place.

use std::fmt::Write as _;
use std::time::Instant;

use docket_core::model::Event;
use docket_core::store::code::Coded;
use docket_core::store::row::{EventRow, models};
use docket_core::store::{EventFilter, StoreError};
use serde::Deserialize;

use super::limit::{Limit, Set};
use crate::error::Trouble;
use crate::options::{SETTLE_WAIT, UNSETTLED_LOOK};
use crate::pool::Link;
use crate::row::EVENT;
use crate::script::Script;

/// How far events may be read.
#[derive(Clone, Copy, Debug, Deserialize)]
pub(crate) struct Head {
    /// Every event up to this number that will ever be is there.
    pub(crate) number: u64,
    /// Whether no transaction is about to commit a number that was taken already.
    pub(crate) settled: bool,
    /// Whether a standby says so, which knows nothing of transactions that are under way.
    standby: bool,
}

impl Head {
    /// The same for whoever goes on from a number, and must pass over nothing.
    pub(crate) fn gap_free(self) -> Result<Self, StoreError> {
        if self.standby { Err(StoreError::Standby(None)) } else { Ok(self) }
    }
}

/// Asks how far events may be read. To be asked by a statement of its own, before they are.
pub(crate) async fn head(link: &mut Link) -> Result<Head, Trouble> {
    let mut script = Script::default();
    script.set("SELECT json_build_array(h.head, h.settled, pg_is_in_recovery())::text FROM docket_head() h".to_owned());
    link.ask(script).await
}

/// Events that match a filter, in two round trips.
pub(crate) async fn read_events(link: &mut Link, filter: &EventFilter) -> Result<Vec<Event>, StoreError> {
    let goes_on = filter.after.is_some() || !filter.newest_first;
    let seen = head(link).await?;
    let mut last = if goes_on { seen.gap_free()? } else { seen };
    // Whoever has just written something wants to see it. Most transactions end within a flush of the disk. What lies
    // before an event that was seen is all there.
    let open_ended = filter.before.is_none_or(|before| before > last.number);
    let begun = Instant::now();
    while open_ended && !last.settled && begun.elapsed() < SETTLE_WAIT {
        tokio::time::sleep(UNSETTLED_LOOK).await;
        last = head(link).await?;
    }
    let rows: Vec<EventRow> = link.ask(compose(filter, last.number)).await?;
    let mut events: Vec<Event> = models(rows);
    events.sort_by_key(|event| event.seq);
    if filter.newest_first {
        events.reverse();
    }
    Ok(events)
}

fn compose(filter: &EventFilter, last: u64) -> Script {
    let number = |number: u64| i64::try_from(number).unwrap_or(i64::MAX);
    let mut script = Script::default();
    let limit = script.page(filter.limit);
    let last = script.int(number(last));
    // Writing into a String does not fail.
    let mut fits = format!("v.seq <= {last}");
    if let Some(after) = filter.after {
        let after = script.int(number(after));
        let _ = write!(fits, " AND v.seq > {after}");
    }
    if let Some(before) = filter.before {
        let before = script.int(number(before));
        let _ = write!(fits, " AND v.seq < {before}");
    }
    if let Some(since) = filter.since {
        let since = script.int(since.as_millis());
        let _ = write!(fits, " AND v.at > {since}");
    }
    if !filter.verbs.is_empty() {
        let verbs = script.ints(filter.verbs.iter().map(|verb| verb.code()));
        let _ = write!(fits, " AND v.verb = ANY({verbs})");
    }
    let visible = Limit::of(&mut script, &filter.visible);
    fits.push_str(&visible.and_once("v.other_id"));
    let project = visible.meant(&mut script, &filter.project);
    let direction = if filter.newest_first { "DESC" } else { "ASC" };
    let order = format!("ORDER BY v.seq {direction} LIMIT {limit}");
    let page = if !filter.each.is_empty() {
        let items = script.uuids(filter.each.iter().map(|item| item.as_uuid()));
        if let Some(project) = project {
            let _ = write!(fits, " AND {}", project.holds("v.project_id"));
        }
        format!(
            "SELECT v.* FROM unnest({items}) m (id) CROSS JOIN LATERAL \
             (SELECT v.* FROM events v WHERE v.item_id = m.id AND {fits} {order}) v"
        )
    } else if let Some(item) = filter.item {
        let item = script.uuid(item.as_uuid());
        if let Some(project) = project {
            let _ = write!(fits, " AND {}", project.holds("v.project_id"));
        }
        let of = |end: &str| format!("(SELECT v.seq FROM events v WHERE v.{end} = {item} AND {fits} {order})");
        format!("SELECT v.* FROM events v WHERE v.seq IN ({} UNION {}) {order}", of("item_id"), of("other_id"))
    } else {
        let of = |project: &str| format!("SELECT v.* FROM events v WHERE {project} AND {fits} {order}");
        match project {
            None => format!("SELECT v.* FROM events v WHERE {fits} {order}"),
            Some(one @ Set::One(_)) => of(&one.holds("v.project_id")),
            // A page of each: the index gives the order within one project alone.
            Some(several @ Set::Several(_)) => {
                let (all, each) = (several.select(), of("v.project_id = m.id"));
                format!("SELECT v.* FROM ({all}) m CROSS JOIN LATERAL ({each}) v {order}")
            }
        }
    };
    script.set(format!("SELECT coalesce(json_agg({EVENT}), '[]')::text FROM ({page}) v"));
    script
}
