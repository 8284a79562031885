//! `transition`: moves a task to another status.

use docket_core::Error;
use docket_core::command::{Advance, MoveRequest};
use docket_core::workflow::Target;
use rmcp::model::{JsonObject, Tool};
use serde_json::json;

use super::args::{name, need_task};
use super::schema::{self, Effect, object, text};
use super::task;
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
    session.engine().run(session.call(None, None), advance).await?;
    task::whole_of(session, &item).await
}
