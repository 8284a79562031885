//! Events in commit order, and the number of the newest.

use std::fmt::Write as _;

use docket_core::model::Event;
use docket_core::store::code::Coded;
use docket_core::store::row::{EventRow, models};
use docket_core::store::{EventFilter, StoreError};

use super::limit::Limit;
use crate::pool::Link;
use crate::row::EVENT;
use crate::script::{Param, Script};

/// Asks for the number of the newest event.
pub(crate) fn head_script() -> Script {
    let mut script = Script::default();
    script.add("SELECT json(coalesce((SELECT seq FROM events ORDER BY seq DESC LIMIT 1), 0))");
    script
}

/// Events that match a filter, in one round trip.
pub(crate) fn read_events(link: &mut Link, filter: &EventFilter) -> Result<Vec<Event>, StoreError> {
    let rows: Vec<EventRow> = link.ask(&compose(filter))?;
    let mut events: Vec<Event> = models(rows);
    events.sort_by_key(|event| event.seq);
    if filter.newest_first {
        events.reverse();
    }
    Ok(events)
}

pub(super) fn compose(filter: &EventFilter) -> Script {
    let mut script = Script::default();
    let limit = script.limit(filter.limit);
    // Writing into a String does not fail.
    let mut fits = String::from("1");
    if let Some(after) = filter.after {
        let after = script.int(i64::try_from(after).unwrap_or(i64::MAX));
        let _ = write!(fits, " AND v.seq > {after}");
    }
    if let Some(before) = filter.before {
        let before = script.int(i64::try_from(before).unwrap_or(i64::MAX));
        let _ = write!(fits, " AND v.seq < {before}");
    }
    if let Some(since) = filter.since {
        let since = script.int(since.as_millis());
        let _ = write!(fits, " AND v.seq >= ({})", first_later_than(since));
    }
    if !filter.verbs.is_empty() {
        let verbs: Vec<i64> = filter.verbs.iter().map(|verb| verb.code()).collect();
        let verbs = script.json(&verbs);
        let _ = write!(fits, " AND v.verb IN (SELECT value FROM json_each({verbs}))");
    }
    let direction = if filter.newest_first { "DESC" } else { "ASC" };
    let order = format!("ORDER BY v.seq {direction} LIMIT {limit}");
    let limit = Limit::of(&mut script, &filter.visible);
    let project = limit.meant(&mut script, &filter.project);
    fits.push_str(&limit.and_once("v.other_id"));
    let page = if !filter.each.is_empty() {
        let items = script.uuids(filter.each.iter().map(|item| item.as_uuid()));
        if let Some(project) = project {
            let _ = write!(fits, " AND {}", project.holds("+v.project_id"));
        }
        format!(
            "SELECT v.* FROM json_each({items}) m CROSS JOIN events v \
             ON v.seq IN (SELECT v.seq FROM events v WHERE v.item_id = unhex(m.value) AND {fits} {order})"
        )
    } else if let Some(item) = filter.item {
        let item = script.uuid(item.as_uuid());
        if let Some(project) = project {
            // The plus keeps the index of the item in use: an item has fewer events than its project.
            let _ = write!(fits, " AND {}", project.holds("+v.project_id"));
        }
        let of =
            |end: &str| format!("SELECT * FROM (SELECT v.seq FROM events v WHERE v.{end} = {item} AND {fits} {order})");
        format!("SELECT v.* FROM events v WHERE v.seq IN ({} UNION {}) {order}", of("item_id"), of("other_id"))
    } else if let Some(project) = project {
        let of = |project: &str| format!("FROM events v INDEXED BY events_project WHERE {project} AND {fits} {order}");
        if project.is_one() {
            format!("SELECT v.* {}", of(&project.holds("v.project_id")))
        } else {
            // A page of each: the index gives the order within one project alone.
            let each = of("v.project_id = m.id");
            format!(
                "SELECT v.* FROM ({}) m CROSS JOIN events v ON v.seq IN (SELECT v.seq {each}) {order}",
                project.select()
            )
        }
    } else {
        // Without a project the numbers themselves are the way; no other index gives their order.
        format!("SELECT v.* FROM events v NOT INDEXED WHERE {fits} {order}")
    };
    script.add(format!("SELECT json_group_array({EVENT}) FROM ({page}) v"));
    script
}

/// The number that the first event later than a time has or could have. Times grow with the numbers, so it is found by
/// halving, and no index by time has to be kept up with every write.
fn first_later_than(since: Param) -> String {
    let later = format!(
        "coalesce((SELECT x.at FROM events x NOT INDEXED WHERE x.seq >= (low + high) / 2 ORDER BY x.seq LIMIT 1) > {since}, 1)"
    );
    format!(
        "WITH RECURSIVE half (low, high) AS ( \
            SELECT 0, coalesce((SELECT x.seq FROM events x ORDER BY x.seq DESC LIMIT 1), 0) + 1 \
            UNION ALL SELECT iif({later}, low, (low + high) / 2 + 1), iif({later}, (low + high) / 2, high) \
            FROM half WHERE low < high \
         ) SELECT low FROM half WHERE low >= high"
    )
}
