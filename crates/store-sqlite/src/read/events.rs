//! Events in commit order, and the number of the newest.

use docket_core::model::Event;
use docket_core::store::{EventFilter, ProjectRef, StoreError};
use sqlx::sqlite::SqliteRow;

use super::named_project;
use crate::error::store_error;
use crate::pool::Link;
use crate::row::code::of_verb;
use crate::row::{Cells, EVENT_COLUMNS, read_event};
use crate::script::Script;

/// Asks for the number of the newest event, as a row `head`.
pub(crate) fn add_head(script: &mut Script) {
    script.add("SELECT 'head', coalesce((SELECT seq FROM events ORDER BY seq DESC LIMIT 1), 0)");
}

/// The number that [`add_head`] asked for; `None` when it was not asked for.
pub(crate) fn read_head_number(rows: &[SqliteRow]) -> Result<Option<u64>, StoreError> {
    for row in rows.iter().rev() {
        let mut cells = Cells::new(row);
        if cells.get::<&str>()? == "head" {
            return cells.number().map(Some);
        }
    }
    Ok(None)
}

/// Events that match a filter, in one round trip.
pub(crate) async fn read_events(link: &mut Link, filter: &EventFilter) -> Result<Vec<Event>, StoreError> {
    let rows = link.run(compose(filter)).await.map_err(store_error)?;
    rows.iter().map(|row| read_event(&mut Cells::new(row))).collect()
}

pub(crate) fn compose(filter: &EventFilter) -> Script {
    let mut script = Script::default();
    let limit = script.size(filter.limit);
    let mut fits = String::from("1");
    if let Some(after) = filter.after {
        let after = script.int(i64::try_from(after).unwrap_or(i64::MAX));
        fits.push_str(&format!(" AND v.seq > {after}"));
    }
    if let Some(since) = filter.since {
        // Times grow with the numbers, so a time is a number to begin at.
        let since = script.int(since.as_millis());
        fits.push_str(&format!(
            " AND v.seq >= coalesce((SELECT x.seq FROM events x INDEXED BY events_at WHERE x.at > {since} \
             ORDER BY x.at, x.seq LIMIT 1), {})",
            i64::MAX
        ));
    }
    if !filter.verbs.is_empty() {
        let verbs: Vec<i64> = filter.verbs.iter().map(|verb| of_verb(*verb)).collect();
        let verbs = script.json(&verbs);
        fits.push_str(&format!(" AND v.verb IN (SELECT value FROM json_each({verbs}))"));
    }
    let direction = if filter.newest_first { "DESC" } else { "ASC" };
    let order = format!("ORDER BY v.seq {direction} LIMIT {limit}");
    let project = named_project(&mut script, &filter.project);
    if let Some(item) = filter.item {
        let item = script.uuid(item.as_uuid());
        if let Some(project) = project {
            // The plus keeps the index of the item in use: an item has fewer events than its project.
            fits.push_str(&format!(" AND +v.project_id = ({project})"));
        }
        let of = |end: &str| format!("SELECT * FROM (SELECT v.seq FROM events v WHERE v.{end} = {item} AND {fits} {order})");
        script.add(&format!(
            "SELECT {EVENT_COLUMNS} FROM events v WHERE v.seq IN ({} UNION {}) {order}",
            of("item_id"),
            of("other_id")
        ));
    } else {
        if let Some(project) = project {
            fits.push_str(&format!(" AND v.project_id = ({project})"));
        }
        // Without a project the numbers themselves are the way; no other index gives their order.
        let index = if filter.project == ProjectRef::Any { "NOT INDEXED" } else { "INDEXED BY events_project" };
        script.add(&format!("SELECT {EVENT_COLUMNS} FROM events v {index} WHERE {fits} {order}"));
    }
    script
}
