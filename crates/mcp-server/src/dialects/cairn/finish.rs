//! `finish`: hands the work over for review.

use docket_core::Error;
use docket_core::command::FinishSession;
use rmcp::model::{JsonObject, Tool};
use serde_json::json;

use super::args::{long_text, name, need_session};
use super::schema::{self, Effect, object, text};
use super::session as sessions;
use crate::answer::Answer;
use crate::input::Fields;
use crate::session::Session;

pub(super) fn tool() -> Tool {
    let input = object(
        json!({ "session": text(""), "summary": text("for whoever reviews it"), "head": text("a commit or a branch") }),
        &["session", "summary"],
    );
    let about = "End your session: its task goes to review. Nothing is closed by it.";
    schema::plain_tool("finish", about, Effect::Writes, input)
}

pub(super) async fn call(session: &Session, arguments: JsonObject) -> Result<Answer, Error> {
    let mut fields = Fields::open(arguments, &["session", "summary", "head"])?;
    let finish = FinishSession {
        session: need_session(&mut fields)?,
        summary: fields.need("summary", long_text)?,
        head: fields.parsed("head", name)?,
    };
    let ended = session.engine().run(session.call(None, None), finish).await?;
    sessions::answer(session, &ended.session).await
}
