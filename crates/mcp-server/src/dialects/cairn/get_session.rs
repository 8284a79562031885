//! `get_session`: one attempt.

use docket_core::Error;
use rmcp::model::{JsonObject, Tool};
use serde_json::json;

use super::args::need_session;
use super::schema::{self, Effect, object, text};
use super::session as sessions;
use crate::answer::Answer;
use crate::input::Fields;
use crate::session::Session;

pub(super) fn tool() -> Tool {
    let input = object(json!({ "session": text("") }), &["session"]);
    schema::plain_tool("get_session", "A session and how it fares.", Effect::Reads, input)
}

pub(super) async fn call(session: &Session, arguments: JsonObject) -> Result<Answer, Error> {
    let mut fields = Fields::open(arguments, &["session"])?;
    let found = session.engine().session(need_session(&mut fields)?).await?;
    Ok(Answer::of(&sessions::told(session, &found).await?))
}
