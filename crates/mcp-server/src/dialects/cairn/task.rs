//! A task as this dialect shows it.

use docket_core::Error;
use docket_core::model::{Check, CheckKind, CheckStanding, EdgeKind, Folder, Item, ItemId, ItemRef, Text};
use docket_core::store::{Around, EdgeReach, ProjectRef, Slice};
use serde_json::{Map, Value, json};

use super::args::task_id;
use super::{proof, provenance, who};
use crate::answer::Answer;
use crate::session::Session;

/// What is shown around a task: what it waits for.
pub(super) fn around() -> Around {
    Around { edges: EdgeReach::Named, briefs: true, ..Around::default() }
}

/// A whole task, as every write and `get` answer it.
pub(super) async fn whole(session: &Session, item: ItemId) -> Result<Answer, Error> {
    whole_of(session, &ItemRef::Id(item)).await
}

/// The same by whatever name.
pub(super) async fn whole_of(session: &Session, item: &ItemRef) -> Result<Answer, Error> {
    let around = Around { open_runs: true, ..around() };
    let seen = session.engine().show(session.project(), std::slice::from_ref(item), around).await?;
    let item = seen.resolve(item)?;
    let assignees = who::assignees(session, std::iter::once(item), seen.now).await?;
    let mut task = fields(&seen, item, assignees.get(&item.id))?;
    task.insert("checks".to_owned(), Value::Array(proof::checks(session, &seen, item).await));
    let told = provenance::of(session, item.id).await?;
    task.insert("provenance".to_owned(), Value::Array(told.entries));
    if told.cut {
        task.insert("provenance_truncated".to_owned(), json!(true));
    }
    task.insert("body".to_owned(), json!(item.description.as_ref().map_or("", Text::as_str)));
    Ok(Answer::of(&task))
}

/// Tasks of a list: without what can be long. `get` has the rest.
pub(super) async fn rows(session: &Session, seen: &Slice, items: &[&Item]) -> Result<Vec<Value>, Error> {
    let assignees = who::assignees(session, items.iter().copied(), seen.now).await?;
    items.iter().map(|item| fields(seen, item, assignees.get(&item.id)).map(Value::Object)).collect()
}

/// Tasks with what they wait for, as of one moment.
pub(super) async fn show(session: &Session, items: impl Iterator<Item = ItemId>) -> Result<Slice, Error> {
    let named: Vec<ItemRef> = items.map(ItemRef::Id).collect();
    session.engine().show(&ProjectRef::Any, &named, around()).await
}

fn fields(seen: &Slice, item: &Item, assignee: Option<&String>) -> Result<Map<String, Value>, Error> {
    let waits = seen.edges.values().filter(|edge| edge.kind == EdgeKind::Blocks && edge.to == item.id);
    let mut deps: Vec<&Item> = waits.filter_map(|edge| seen.items.get(&edge.from)).collect();
    deps.sort_by_key(|dep| dep.id);
    let deps =
        deps.iter().map(|dep| Ok(json!(task_id(seen.project_of(dep)?, dep.id)))).collect::<Result<Vec<_>, Error>>()?;
    let mut task = Map::new();
    task.insert("id".to_owned(), json!(task_id(seen.project_of(item)?, item.id)));
    task.insert("title".to_owned(), json!(item.title));
    task.insert("status".to_owned(), json!(item.status));
    task.insert("assignee".to_owned(), json!(assignee));
    task.insert("deps".to_owned(), Value::Array(deps));
    task.insert("ready".to_owned(), json!(item.derived.blockers == 0));
    task.insert("checks".to_owned(), Value::Array(checks(seen, item)));
    Ok(task)
}

/// The checks of a task. What was made of something else by now is as good as not made.
fn checks(seen: &Slice, item: &Item) -> Vec<Value> {
    let checks = seen.briefs.get(&item.id).map_or(&[][..], |brief| brief.checks.as_slice());
    checks.iter().map(|known| Value::Object(check(known))).collect()
}

/// One check, without what its run said.
pub(super) fn check(check: &Check) -> Map<String, Value> {
    let mut shown = Map::new();
    shown.insert("desc".to_owned(), json!(check.desc));
    match &check.kind {
        CheckKind::Command { cmd, cwd, timeout_seconds } => {
            shown.insert("cmd".to_owned(), json!(cmd));
            shown.insert("cwd".to_owned(), json!(cwd.as_ref().map_or(".", Folder::as_str)));
            if let Some(seconds) = timeout_seconds {
                shown.insert("timeout".to_owned(), json!(seconds));
            }
        }
        CheckKind::Manual => {
            shown.insert("type".to_owned(), json!("manual"));
        }
        CheckKind::PullRequest { repository, number, branch } => {
            shown.insert("type".to_owned(), json!("pull_request"));
            shown.insert("repository".to_owned(), json!(repository));
            if let Some(number) = number {
                shown.insert("number".to_owned(), json!(number));
            }
            if let Some(branch) = branch {
                shown.insert("branch".to_owned(), json!(branch));
            }
        }
    }
    let result = match check.standing() {
        CheckStanding::Pass => "pass",
        CheckStanding::Fail => "fail",
        CheckStanding::Pending | CheckStanding::Stale | CheckStanding::Unseen => "pending",
    };
    shown.insert("result".to_owned(), json!(result));
    shown
}
