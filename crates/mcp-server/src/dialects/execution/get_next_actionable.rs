//! `get_next_actionable`: ready tasks, the most urgent and then the oldest first, each with what others learned.

use docket_core::model::{Brief, CheckKind, Item, ItemRef, Priority, Role};
use docket_core::query::NextQuery;
use docket_core::store::Around;
use docket_core::{Error, Reason};
use rmcp::model::{JsonObject, Tool};
use serde_json::{Value, json};

use super::schema::{self, Effect, object, rows, text, whole};
use super::task::{listed, number_of};
use crate::answer::Answer;
use crate::input::Fields;
use crate::session::Session;

const KNOWN: &[&str] = &["limit", "planId", "priorityLte"];
const MOST: i64 = 20;
const USUAL: i64 = 5;

pub(super) fn tool() -> Tool {
    let input = object(
        json!({
            "limit": whole(1, Some(MOST), "default 5"),
            "planId": text("only beneath this task"),
            "priorityLte": whole(0, Some(1000), "only as urgent as this; smaller is more urgent"),
        }),
        &[],
    );
    let about = "Ready tasks, by priority and then by age, each with up to three pieces of knowledge that bear on it. Long texts are cut; claim_task shows them whole.";
    schema::tool("get_next_actionable", about, Effect::Reads, input, json!({ "tasks": rows() }))
}

pub(super) async fn call(session: &Session, arguments: JsonObject) -> Result<Answer, Error> {
    let mut fields = Fields::open(arguments, KNOWN)?;
    let limit = within(&mut fields, "limit", 1, MOST)?.unwrap_or(USUAL);
    let plan = fields.parsed("planId", str::parse::<ItemRef>)?;
    let least = within(&mut fields, "priorityLte", 0, 1000)?;
    fields.end()?;
    let engine = session.engine();
    let limit = usize::try_from(limit).unwrap_or(1);
    // Nothing is more urgent than the most urgent there is.
    let Some(least) = least_of(least) else { return Ok(Answer::of(&json!({ "tasks": [] }))) };
    let query = |role| NextQuery {
        role: Some(role),
        under: plan.clone(),
        urgent: Some(least),
        ..NextQuery::of(session.project().clone(), limit)
    };
    let ready = engine.next(&query(Role::Queue), None).await?;
    // Work that somebody began and left is to be had again.
    let left = engine.next(&query(Role::Work), None).await?;
    let now = ready.now;
    let mut items: Vec<Item> = ready.items.into_iter().chain(left.items).map(|ready| ready.item).collect();
    items.sort_by_key(|item| (item.priority, item.created_at, item.id));
    items.truncate(limit);
    let keys = session.keys(items.iter()).await;
    let named: Vec<ItemRef> = items.iter().map(|item| ItemRef::Id(item.id)).collect();
    let seen = if named.is_empty() {
        None
    } else {
        let around = Around { briefs: true, ..Around::default() };
        Some(engine.show(session.project(), &named, around).await?)
    };
    let mut tasks: Vec<Value> = Vec::with_capacity(items.len());
    for (item, references) in items.iter().zip(engine.digests(&items).await) {
        let mut task = listed(item, now, &keys);
        if let Some(repository) = seen.as_ref().and_then(|seen| seen.briefs.get(&item.id)).and_then(repository) {
            task["repository"] = repository;
        }
        task["knowledge"] = json!({ "references": references });
        tasks.push(task);
    }
    Ok(Answer::of(&json!({ "tasks": tasks })))
}

/// The least urgent priority that is wanted, if any is.
fn least_of(number: Option<i64>) -> Option<Priority> {
    let Some(number) = number else { return Some(Priority::Low) };
    [Priority::Low, Priority::Medium, Priority::High].into_iter().find(|priority| number_of(*priority) <= number)
}

/// The repository that a task is wired to: the one whose pull request must be merged before it counts as done.
fn repository(brief: &Brief) -> Option<Value> {
    brief.checks.iter().find_map(|check| match &check.kind {
        CheckKind::PullRequest { repository, number, branch } => {
            let mut row = json!({ "provider": "github", "name": repository });
            if let Some(number) = number {
                row["pullRequest"] = json!(number);
            }
            if let Some(branch) = branch {
                row["branch"] = json!(branch);
            }
            Some(row)
        }
        CheckKind::Command { .. } | CheckKind::Manual => None,
    })
}

/// A whole number inside bounds.
pub(super) fn within(fields: &mut Fields, name: &str, least: i64, most: i64) -> Result<Option<i64>, Error> {
    match fields.whole(name)? {
        Some(number) if !(least..=most).contains(&number) => {
            let message = format!("{name} must be from {least} to {most}, not {number}");
            Err(Error::validation(Reason::BadValue, message).at(name))
        }
        number => Ok(number),
    }
}
