//! `heartbeat`: says that an attempt goes on, and how far it has come.

use docket_core::command::Heartbeat;
use docket_core::model::{Progress, Summary};
use docket_core::{Error, Reason, echo};
use rmcp::model::{JsonObject, Tool};
use serde_json::{Value, json};

use super::args::need_session;
use super::schema::{self, Effect, object, text};
use super::session as sessions;
use crate::answer::Answer;
use crate::input::{Fields, wrong_type};
use crate::session::Session;

pub(super) fn tool() -> Tool {
    let input = object(
        json!({
            "session": text(""),
            "progress": schema::about_it(json!({ "type": ["string", "object"] }), "words, or {text, percent, step}"),
        }),
        &["session"],
    );
    schema::plain_tool("heartbeat", "Say that your session goes on, and how far it has come.", Effect::Writes, input)
}

pub(super) async fn call(session: &Session, arguments: JsonObject) -> Result<Answer, Error> {
    let mut fields = Fields::open(arguments, &["session", "progress"])?;
    let id = need_session(&mut fields)?;
    let progress = match fields.value("progress") {
        None => None,
        Some(Value::String(words)) => {
            let text = Some(Summary::parse(&words).map_err(|invalid| invalid.at("progress"))?);
            Some(Progress { text, ..Progress::default() })
        }
        Some(said @ Value::Object(_)) => Some(serde_json::from_value(said).map_err(|error| {
            Error::validation(Reason::BadValue, format!("progress: {}", echo(&error.to_string()))).at("progress")
        })?),
        Some(other) => return Err(wrong_type("progress", "a text or an object", &other)),
    };
    let beat = session.engine().run(session.call(None, None), Heartbeat { session: id, progress }).await?;
    sessions::answer(session, &beat.session).await
}
