//! `get`: one whole task.

use docket_core::Error;
use rmcp::model::{JsonObject, Tool};
use serde_json::json;

use super::args::need_task;
use super::schema::{self, Effect, object, text};
use super::task;
use crate::answer::Answer;
use crate::input::Fields;
use crate::session::Session;

pub(super) fn tool() -> Tool {
    let about = "A task with its body, checks and provenance.";
    schema::plain_tool("get", about, Effect::Reads, object(json!({ "id": text("") }), &["id"]))
}

pub(super) async fn call(session: &Session, arguments: JsonObject) -> Result<Answer, Error> {
    let mut fields = Fields::open(arguments, &["id"])?;
    let item = need_task(&mut fields, "id")?;
    task::whole_of(session, &item).await
}
