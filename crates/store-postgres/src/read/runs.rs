//! Runs of checks, and what they said.

use std::fmt::Write as _;

use docket_core::model::{Run, RunId};
use docket_core::store::code::OPEN_RUNS;
use docket_core::store::{RunFilter, Scope, StoreError, Visible};
use uuid::Uuid;

use super::limit::Limit;
use super::statement::{Statement, each};
use crate::pool::Link;
use crate::row::RUN;
use crate::script::Script;

/// Adds the runs that were named, as far as they may be seen, and those of named items that wait or run.
pub(super) fn add_runs(script: &mut Script, statement: &mut Statement, scope: &Scope, limit: &Limit) {
    let open = each("named s", "runs", "r", &format!("r.item_id = s.id AND {OPEN_RUNS}"));
    if scope.run_ids.is_empty() {
        if scope.around.open_runs {
            statement.rows("runs", RUN, &open);
        }
        return;
    }
    let ids = script.uuids(scope.run_ids.iter().map(|id| Uuid::from_u128(id.0.0)));
    let seen = limit.and_item("r.item_id");
    let named = format!("runs r WHERE r.id = ANY({ids}){seen}");
    if scope.around.open_runs {
        let both = format!("(SELECT r.run FROM {named} UNION ALL SELECT r.run FROM {open}) r");
        statement.rows("runs", RUN, &both);
    } else {
        statement.rows("runs", RUN, &named);
    }
}

/// Runs that match a filter, in one round trip.
pub(crate) async fn read_runs(link: &mut Link, filter: &RunFilter) -> Result<Vec<Run>, StoreError> {
    let mut script = Script::default();
    let (most, from) = (script.page(filter.limit), script.page(filter.offset));
    let limit = Limit::of(&mut script, &filter.visible);
    // Writing into a String does not fail.
    let mut fits = limit.and_item("r.item_id");
    if let Some(project) = limit.named(&mut script, &filter.project) {
        let theirs = project.holds("z.project_id");
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
    let page = format!("SELECT r.id, r.run FROM runs r WHERE true{fits} ORDER BY {order} LIMIT {most} OFFSET {from}");
    script.set(format!("SELECT coalesce(json_agg({RUN} ORDER BY {order}), '[]')::text FROM ({page}) r"));
    Ok(link.ask(script).await?)
}

/// What a run said.
pub(crate) async fn read_log(link: &mut Link, run: RunId, visible: &Visible) -> Result<Option<String>, StoreError> {
    let mut script = Script::default();
    let id = script.uuid(Uuid::from_u128(run.0.0));
    let seen = Limit::of(&mut script, visible).and_item("r.item_id");
    script.set(format!("SELECT json_build_array((SELECT r.log FROM runs r WHERE r.id = {id}{seen}))::text"));
    let (log,): (Option<String>,) = link.ask(script).await?;
    Ok(log)
}
