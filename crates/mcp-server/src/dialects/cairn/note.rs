//! `note`: adds a line to what is told of a task.

use docket_core::Error;
use docket_core::command::Remark;
use rmcp::model::{JsonObject, Tool};
use serde_json::json;

use super::args::{long_text, need_task};
use super::schema::{self, Effect, object, text};
use super::task;
use crate::answer::Answer;
use crate::input::Fields;
use crate::session::Session;

pub(super) fn tool() -> Tool {
    let about = "Add a line to a task's provenance; nothing else changes.";
    let input = object(json!({ "id": text(""), "text": text("") }), &["id", "text"]);
    schema::plain_tool("note", about, Effect::Writes, input)
}

pub(super) async fn call(session: &Session, arguments: JsonObject) -> Result<Answer, Error> {
    let mut fields = Fields::open(arguments, &["id", "text"])?;
    let item = need_task(&mut fields, "id")?;
    let comment = Some(fields.need("text", long_text)?);
    let remark =
        Remark { project: session.project().clone(), item: item.clone(), comment, links: Vec::new(), fence: None };
    session.engine().run(session.call(None, None), remark).await?;
    task::whole_of(session, &item).await
}
