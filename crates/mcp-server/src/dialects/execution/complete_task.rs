//! `complete_task`: hands in a task that the caller holds, and keeps what was learned. One without checks is done by it; one with
//! checks closes by itself when they are shown.

use docket_core::Error;
use docket_core::command::{Complete, Learning};
use docket_core::model::Title;
use rmcp::model::{JsonObject, Tool};
use serde_json::{Value, json};

use super::schema::{self, Effect, list, object, request_id, shape, text, texts};
use super::task::{need_task, told};
use crate::answer::Answer;
use crate::args::{long_text, request_id as named_request, tag};
use crate::input::Fields;
use crate::session::Session;

const KNOWN: &[&str] = &["taskId", "output", "learnings", "requestId"];
const LEARNING: &[&str] = &["title", "body", "tags"];

pub(super) fn tool() -> Tool {
    let learning = object(json!({ "title": text(""), "body": text(""), "tags": texts("") }), &["title", "body"]);
    let input = object(
        json!({
            "taskId": text(""),
            "output": text("what came of it; kept as a comment"),
            "learnings": list(&learning, "kept as knowledge for whoever comes next"),
            "requestId": request_id(),
        }),
        &["taskId"],
    );
    let output = json!({
        "task": shape(), "verification": shape(), "verificationEtaSec": { "type": ["integer", "null"] },
        "knowledgeEntryIds": { "type": "array", "items": { "type": "string" } },
    });
    let about = "End a task that you hold, with its output and what you learned. One that must be verified waits in needs_review and is done by itself once that is shown.";
    schema::tool("complete_task", about, Effect::Writes, input, output)
}

pub(super) async fn call(session: &Session, arguments: JsonObject) -> Result<Answer, Error> {
    let mut fields = Fields::open(arguments, KNOWN)?;
    let item = need_task(&mut fields)?;
    let output = fields.free("output", long_text)?;
    let learnings = learnings(&mut fields)?;
    let request = named_request(&mut fields)?;
    fields.end()?;
    let complete = Complete { project: session.project().clone(), item, output, learnings };
    let done = session.engine().run(session.call(None, request), complete).await?;
    if !done.runs.is_empty() {
        session.make_waiting();
    }
    let keys = session.keys(std::iter::once(&done.item)).await;
    Ok(Answer::of(&json!({
        "task": told(&done.item, done.at, &keys),
        "verification": { "kind": done.verification },
        "verificationEtaSec": done.eta_seconds,
        "knowledgeEntryIds": done.entries,
    })))
}

fn learnings(fields: &mut Fields) -> Result<Vec<Learning>, Error> {
    let list = fields.list("learnings")?.unwrap_or_default();
    let read = |(index, value): (usize, Value)| {
        let mut learning = Fields::inside(&format!("learnings[{index}]"), value, LEARNING)?;
        Ok(Learning {
            title: learning.need("title", Title::parse)?,
            body: learning.need("body", long_text)?,
            tags: learning.texts("tags", tag)?.unwrap_or_default(),
        })
    };
    list.into_iter().enumerate().map(read).collect()
}
