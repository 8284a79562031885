//! Runs of checks, and what they said.

use std::fmt::Write as _;
use std::sync::LazyLock;

use docket_core::model::{Run, RunId};
use docket_core::store::code::OPEN_RUNS;
use docket_core::store::{RunFilter, Scope, StoreError, Visible};
use uuid::Uuid;

use super::contract::Part;
use super::limit::Limit;
use super::look::Look;
use super::names::Named;
use crate::error::Trouble;
use crate::pool::Link;
use crate::row::RUN;
use crate::script::Script;

/// The runs that were named, as far as they may be seen, and those of named items that wait or run.
pub(super) fn named_runs(look: &mut Look<'_>, scope: &Scope, named: &Named) -> Result<(), Trouble> {
    static OPEN: LazyLock<String> = LazyLock::new(|| format!("runs r ON r.item_id = s.id AND {OPEN_RUNS}"));
    let of_items = scope.around.open_runs.then_some(OPEN.as_str());
    let part = Part { result: "runs", row: RUN, item: "r.item_id", of_items };
    part.find(look, "runs r ON r.id", scope.run_ids.iter().map(|id| Uuid::from_u128(id.0.0)), named)?;
    Ok(())
}

/// Runs that match a filter, in one round trip.
pub(crate) fn read_runs(link: &mut Link, filter: &RunFilter) -> Result<Vec<Run>, StoreError> {
    Ok(link.ask(&compose(filter))?)
}

pub(super) fn compose(filter: &RunFilter) -> Script {
    let mut script = Script::default();
    let (most, from) = (script.limit(filter.limit), script.limit(filter.offset));
    let limit = Limit::of(&mut script, &filter.visible);
    // Writing into a String does not fail.
    let mut fits = limit.and_item("r.item_id");
    if let Some(project) = limit.named(&mut script, &filter.project) {
        let theirs = project.holds("+z.project_id");
        let _ = write!(fits, " AND EXISTS (SELECT 1 FROM items z WHERE z.id = r.item_id AND {theirs})");
    }
    if let Some(item) = filter.item {
        let item = script.uuid(item.as_uuid());
        let _ = write!(fits, " AND r.item_id = {item}");
    }
    let order = if filter.open_only {
        let _ = write!(fits, " AND {OPEN_RUNS}");
        if let Some(after) = filter.after {
            let after = script.uuid(Uuid::from_u128(after.0.0));
            let _ = write!(fits, " AND r.id > {after}");
        }
        "r.id"
    } else {
        "r.id DESC"
    };
    let page = format!("SELECT r.run FROM runs r WHERE 1{fits} ORDER BY {order} LIMIT {most} OFFSET {from}");
    script.add(format!("SELECT coalesce(json_group_array(json(p.run)), '[]') FROM ({page}) p"));
    script
}

/// What a run said.
pub(crate) fn read_log(link: &mut Link, run: RunId, visible: &Visible) -> Result<Option<String>, StoreError> {
    let mut script = Script::default();
    let id = script.uuid(Uuid::from_u128(run.0.0));
    let seen = Limit::of(&mut script, visible).and_item("r.item_id");
    script.add(format!("SELECT json_array((SELECT r.log FROM runs r WHERE r.id = {id}{seen}))"));
    let (log,): (Option<String>,) = link.ask(&script)?;
    Ok(log)
}
