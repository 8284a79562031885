//! A task's parent, as far as it is told: in short, or once in full to whoever starts on one of its children.

use docket_core::Error;
use docket_core::model::{Item, RequestId, Role};
use docket_core::query::{Dossier, ParentReach, ParentView};
use serde_json::{Map, Value, json};

use super::render;
use crate::parent_memory::{ParentContext, ParentMemory};
use crate::session::Session;

/// Most children that a parent's context lists.
const CHILDREN: usize = 50;

/// The parent's context for a start; null for a task without a parent.
pub(super) async fn context(
    session: &Session,
    parents: &ParentMemory,
    wanted: ParentContext,
    request: Option<&RequestId>,
    dossier: &Dossier,
) -> Result<Value, Error> {
    let Some(parent) = dossier.item.parent else { return Ok(Value::Null) };
    let agent = session.holder()?;
    let reach = parents.reach(wanted, &agent, parent, request);
    let Some(view) = session.engine().parent_view(parent, reach).await? else {
        return Ok(json!({ "parentTaskId": parent, "hint": hint(&parent.to_string()) }));
    };
    if reach == ParentReach::Full {
        parents.told(&agent, parent, request);
        return Ok(full(&view, &dossier.item));
    }
    Ok(summary(&view))
}

/// A parent in short: where it stands, what it is for, and how far its children are.
pub(super) fn summary(view: &ParentView) -> Value {
    let mut told = Map::new();
    told.insert("kind".to_owned(), json!("summary"));
    told.insert("id".to_owned(), json!(view.item.id));
    told.insert("key".to_owned(), json!(view.key));
    told.insert("title".to_owned(), json!(view.item.title));
    told.insert("status".to_owned(), json!(view.item.status));
    if let Some(intent) = &view.item.intent {
        told.insert("intent".to_owned(), json!(intent));
    }
    told.insert("blocked".to_owned(), json!(view.item.derived.blockers > 0));
    told.insert("childCounts".to_owned(), counts(view));
    told.insert("hint".to_owned(), json!(hint(&view.key.to_string())));
    Value::Object(told)
}

/// A parent's own texts, its brief, its children and the newest comments on it; nothing of who made or holds it, of its
/// links, relations and questions.
fn full(view: &ParentView, current: &Item) -> Value {
    let mut told = Map::new();
    let mut put = |field: &str, value: Value| {
        if !value.is_null() {
            told.insert(field.to_owned(), value);
        }
    };
    let mut children = view.children.clone();
    let more = children.truncated || children.rows.len() > CHILDREN;
    children.rows.truncate(CHILDREN);
    put("kind", json!("full"));
    put("id", json!(view.item.id));
    put("key", json!(view.key));
    put("title", json!(view.item.title));
    put("status", json!(view.item.status));
    put("intent", json!(view.item.intent));
    put("description", json!(view.item.description));
    put("blocked", json!(view.item.derived.blockers > 0));
    put("brief", json!(view.brief.as_ref().map(render::brief)));
    put("childCounts", counts(view));
    put("children", render::subtasks(&children, Some(current), docket_core::model::Timestamp::MAX));
    put("moreChildren", if more { json!(true) } else { Value::Null });
    put("comments", render::comments(&view.comments));
    put("moreComments", if view.comments.truncated { json!(true) } else { Value::Null });
    Value::Object(told)
}

/// How many children are open and closed, and whether there are more than were counted.
fn counts(view: &ParentView) -> Value {
    let of = |open: bool| -> u64 {
        Role::ALL
            .iter()
            .zip(view.tally.by_role)
            .filter(|(role, _)| role.is_open() == open)
            .map(|(_, count)| count)
            .sum()
    };
    let mut told = json!({ "open": of(true), "closed": of(false) });
    if view.tally_cut {
        told["more"] = json!(true);
    }
    told
}

fn hint(parent: &str) -> String {
    format!("read it with get_task {{id:\"{parent}\"}} unless you have")
}
