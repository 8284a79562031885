//! `run_checks`: runs the commands of a task's checks and keeps what became of them; moves nothing.

use docket_core::Error;
use docket_core::prove::Wanted;
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
    session.engine().prove(&session.call(None, None), session.project().clone(), item.clone(), wanted).await?;
    task::whole_of(session, &item).await
}
