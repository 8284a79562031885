//! `update_task_status`: says how far a task is that the caller holds, and extends the lease unless told not to.

use docket_core::Error;
use docket_core::command::{Progress, Stage};
use docket_core::{Invalid, Reason, echo};
use rmcp::model::{JsonObject, Tool};
use serde_json::json;

use super::schema::{self, Effect, flag, object, request_id, shape, text, word};
use super::task::{need_task, told};
use crate::answer::Answer;
use crate::args::{long_text, request_id as named_request};
use crate::input::Fields;
use crate::session::Session;

const KNOWN: &[&str] = &["taskId", "status", "note", "heartbeat", "requestId"];
const STATUSES: &[&str] = &["in_progress", "needs_review"];

pub(super) fn tool() -> Tool {
    let input = object(
        json!({
            "taskId": text(""),
            "status": word(STATUSES, ""),
            "note": text("kept with the move, or as a comment"),
            "heartbeat": flag("extend the lease; default true"),
            "requestId": request_id(),
        }),
        &["taskId", "status"],
    );
    let about = "Move a task that you hold: in_progress begins it (again and again it is a heartbeat), needs_review hands it over.";
    schema::tool("update_task_status", about, Effect::Writes, input, json!({ "task": shape(), "lease": shape() }))
}

pub(super) async fn call(session: &Session, arguments: JsonObject) -> Result<Answer, Error> {
    let mut fields = Fields::open(arguments, KNOWN)?;
    let item = need_task(&mut fields)?;
    let to = fields.need("status", stage)?;
    let note = fields.free("note", long_text)?;
    let renew = fields.flag("heartbeat")?.unwrap_or(true);
    let request = named_request(&mut fields)?;
    fields.end()?;
    let progress = Progress { project: session.project().clone(), item, to, note, renew };
    let done = session.engine().run(session.call(None, request), progress).await?;
    if !done.runs.is_empty() {
        session.make_waiting();
    }
    let keys = session.keys(std::iter::once(&done.item)).await;
    let claim = done.item.live_claim(done.at);
    let lease = claim.map(|claim| json!({ "expiresAt": claim.expires_at, "leaseSec": claim.ttl_seconds }));
    Ok(Answer::of(&json!({ "task": told(&done.item, done.at, &keys), "lease": lease })))
}

fn stage(text: &str) -> Result<Stage, Invalid> {
    match text {
        "in_progress" => Ok(Stage::Work),
        "needs_review" => Ok(Stage::Review),
        other => {
            let message = format!("must be one of {}, not \"{}\"", STATUSES.join(", "), echo(other));
            Err(Invalid::new(Reason::UnknownValue, message))
        }
    }
}
