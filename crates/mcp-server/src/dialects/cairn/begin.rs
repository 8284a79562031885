//! `begin`: claims a task, moves it into work and begins an attempt at it.

use docket_core::Error;
use docket_core::command::BeginSession;
use docket_core::model::{RequestId, Runtime};
use rmcp::model::{JsonObject, Tool};
use serde_json::{Value, json};

use super::args::need_task;
use super::schema::{self, Effect, object, text};
use super::{session as sessions, who};
use crate::answer::Answer;
use crate::input::{Fields, wrong_type};
use crate::session::Session;

pub(super) fn tool() -> Tool {
    let input = object(
        json!({
            "task": text(""),
            "expected_actor": text("exactly what identity says"),
            "runtime": schema::about_it(json!({ "type": "object" }), "what runs you: short texts, numbers, flags"),
            "idempotency_key": text("a retry with the same one takes effect once"),
        }),
        &["task", "expected_actor", "idempotency_key"],
    );
    schema::plain_tool(
        "begin",
        "Claim a task, move it into work and begin an attempt at it, in one step.",
        Effect::Writes,
        input,
    )
}

pub(super) async fn call(session: &Session, arguments: JsonObject) -> Result<Answer, Error> {
    let mut fields = Fields::open(arguments, &["task", "expected_actor", "runtime", "idempotency_key"])?;
    let item = need_task(&mut fields, "task")?;
    let expected = who::expected(session, &fields.need_text("expected_actor")?)?;
    let runtime = match fields.value("runtime") {
        None => Runtime::default(),
        Some(Value::Object(said)) => Runtime::parse(said).map_err(|invalid| invalid.at("runtime"))?,
        Some(other) => return Err(wrong_type("runtime", "an object", &other)),
    };
    let key = fields.need("idempotency_key", RequestId::parse)?;
    let begin =
        BeginSession { project: session.project().clone(), item, expected_actor: Some(expected), runtime, ttl: None };
    let made = session.engine().run(session.call(None, Some(key)), begin).await?;
    sessions::answer(session, &made.session).await
}
