//! `cancel`: gives an attempt up.

use docket_core::Error;
use docket_core::command::CancelSession;
use rmcp::model::{JsonObject, Tool};
use serde_json::json;

use super::args::{long_text, need_session};
use super::schema::{self, Effect, object, text};
use super::session as sessions;
use crate::answer::Answer;
use crate::input::Fields;
use crate::session::Session;

pub(super) fn tool() -> Tool {
    let input = object(json!({ "session": text(""), "reason": text("") }), &["session", "reason"]);
    let about = "Give your session up: the task is nobody's again and stays where it is.";
    schema::plain_tool("cancel", about, Effect::Writes, input)
}

pub(super) async fn call(session: &Session, arguments: JsonObject) -> Result<Answer, Error> {
    let mut fields = Fields::open(arguments, &["session", "reason"])?;
    let cancel = CancelSession { session: need_session(&mut fields)?, reason: fields.need("reason", long_text)? };
    let ended = session.engine().run(session.call(None, None), cancel).await?;
    sessions::answer(session, &ended.session).await
}
