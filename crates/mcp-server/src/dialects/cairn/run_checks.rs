//! `run_checks`: runs the commands of a task's checks and keeps what became of them; moves nothing.

use docket_core::prove::Wanted;
use docket_core::{Error, Kind, Reason};
use rmcp::model::{JsonObject, Tool};
use serde_json::json;

use super::args::need_task;
use super::schema::{self, Effect, object, text};
use super::task;
use crate::answer::Answer;
use crate::input::Fields;
use crate::session::Session;

pub(super) fn tool() -> Tool {
    let only = json!({ "type": "array", "items": { "type": "integer" }, "description": "indices; all, when left out" });
    let input = object(json!({ "id": text(""), "only": only }), &["id"]);
    let about = "Run a task's command checks and record the results. Manual ones are skipped; nothing moves.";
    schema::plain_tool("run_checks", about, Effect::Writes, input)
}

pub(super) async fn call(session: &Session, arguments: JsonObject) -> Result<Answer, Error> {
    let mut fields = Fields::open(arguments, &["id", "only"])?;
    let item = need_task(&mut fields, "id")?;
    // Whoever asks for a run gets one, though nothing may have changed.
    let wanted = Wanted { only: fields.indices("only")?, again: true };
    let call = session.call(None, None);
    match session.engine().prove(&call, session.project().clone(), item.clone(), wanted).await {
        Ok(_) => task::whole_of(session, &item).await,
        Err(error) => Err(goes_on(error)),
    }
}

/// What whoever waited in vain does next. The checks go on: asked for again when they have ended, they would be made anew.
fn goes_on(error: Error) -> Error {
    let waits = matches!(error.reason, Reason::StillRunning | Reason::NoRunner) && error.kind == Kind::Transient;
    if !waits {
        return error;
    }
    let message = format!(
        "{}. Do not run them again: `get` shows `under_way` on each that has not ended, and its result once it has",
        error.message
    );
    Error { message, ..error }
}
