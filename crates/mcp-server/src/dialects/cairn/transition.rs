//! `transition`: moves a task to another status.

use docket_core::command::{Advance, MoveRequest};
use docket_core::model::ItemRef;
use docket_core::workflow::Target;
use docket_core::{Error, Gate};
use rmcp::model::{JsonObject, Tool};
use serde_json::{Value, json};

use super::args::{name, need_task};
use super::error::refuse;
use super::schema::{self, Effect, object, text};
use super::{proof, task};
use crate::answer::Answer;
use crate::input::Fields;
use crate::session::Session;

pub(super) fn tool() -> Tool {
    let about = "Move a task to a status. It cannot leave the initial one before its deps are closed, nor close before its checks pass: commands are run, a pending manual one refuses. All else is free, reopening too.";
    let input = object(json!({ "id": text(""), "to": text("") }), &["id", "to"]);
    schema::plain_tool("transition", about, Effect::Writes, input)
}

pub(super) async fn call(session: &Session, arguments: JsonObject) -> Result<Answer, Error> {
    let mut fields = Fields::open(arguments, &["id", "to"])?;
    let item = need_task(&mut fields, "id")?;
    let request = MoveRequest::of(item.clone(), Target::Status(fields.need("to", name)?));
    let advance = Advance { project: session.project().clone(), moves: vec![request], atomic: true };
    match session.engine().run(session.call(None, None), advance).await {
        Ok(_) => task::whole_of(session, &item).await,
        Err(error) if error.refusals.is_empty() => Err(error),
        Err(error) => Ok(refused(session, &item, &error).await),
    }
}

/// A refusal; where checks are the reason, with what they said.
async fn refused(session: &Session, item: &ItemRef, error: &Error) -> Answer {
    let by_checks = error.refusals.iter().any(|refusal| refusal.gate == Gate::Checks);
    let failed = if by_checks { proof::failed(session, item).await.unwrap_or_default() } else { Vec::new() };
    if failed.is_empty() {
        return refuse(error);
    }
    let message = format!("{}; what the failed ones said is in `checks`, as `get` shows it", error.message);
    let mut answer = refuse(&Error { message, ..error.clone() });
    answer.structured["error"]["checks"] = Value::Array(failed);
    answer
}
