//! `create`: a task with what it waits for.

use std::collections::BTreeSet;

use docket_core::command::{Create, End, NewEdge, NewItem};
use docket_core::model::{EdgeKind, ItemId, ItemRef, Title};
use docket_core::store::Around;
use docket_core::{Error, Reason};
use docket_core::{limits, wire};
use rmcp::model::{JsonObject, Tool};
use serde_json::json;

use super::args::{long_text, task_ref};
use super::schema::{self, Effect, object, text, texts};
use super::task;
use crate::answer::Answer;
use crate::input::Fields;
use crate::session::Session;

/// The new task's name inside the call.
const NEW: &str = "new";

pub(super) fn tool() -> Tool {
    let input = object(
        json!({
            "title": text(""),
            "body": text("intent, in Markdown"),
            "deps": texts("tasks that must be closed before this can start"),
            "checks": json!({
                "type": "array",
                "items": object(
                    json!({
                        "desc": text("what it verifies"),
                        "cmd": text("shell command line; none: a manual check"),
                        "type": text("manual for one that a person attests"),
                        "cwd": text("folder in the repository"),
                        "timeout": json!({ "type": "integer", "description": "seconds" }),
                    }),
                    &["desc"],
                ),
            }),
        }),
        &["title"],
    );
    schema::plain_tool(
        "create",
        "Make a task. Its deps must exist. Its checks must pass before it closes.",
        Effect::Writes,
        input,
    )
}

pub(super) async fn call(session: &Session, arguments: JsonObject) -> Result<Answer, Error> {
    let mut fields = Fields::open(arguments, &["title", "body", "deps", "checks"])?;
    let item = NewItem {
        local: Some(NEW.to_owned()),
        description: fields.free("body", long_text)?,
        checks: fields.value("checks").as_ref().map(wire::checks).transpose()?.unwrap_or_default(),
        ..NewItem::titled(fields.need("title", Title::parse)?)
    };
    let deps = known(session, fields.texts("deps", task_ref)?.unwrap_or_default()).await?;
    let edge = |dep| NewEdge {
        from: End::Existing(ItemRef::Id(dep)),
        to: End::Local(NEW.to_owned()),
        kind: EdgeKind::Blocks,
        unblock_at: None,
        inverse: false,
    };
    let create = Create {
        project: session.project().clone(),
        items: vec![item],
        edges: deps.into_iter().map(edge).collect(),
        notes: Vec::new(),
        blank_notes: false,
        room_below: false,
        atomic: true,
    };
    let made = session.engine().run(session.call(None, None), create).await?;
    let made = made.items.into_iter().next().ok_or_else(|| Error::not_found("nothing was made"))??;
    task::whole(session, made.item.id).await
}

/// The tasks that a new one waits for, each once however often and however it is spelled.
async fn known(session: &Session, deps: Vec<ItemRef>) -> Result<BTreeSet<ItemId>, Error> {
    if deps.is_empty() {
        return Ok(BTreeSet::new());
    }
    if deps.len() > limits::BATCH {
        let message = format!("must be at most {}, not {}", limits::BATCH, deps.len());
        return Err(Error::validation(Reason::TooMany, message).at("deps"));
    }
    let seen = session.engine().show(session.project(), &deps, Around::default()).await?;
    deps.iter().map(|dep| Ok(seen.resolve(dep)?.id)).collect()
}
