//! `identity`: who this connection acts as.

use docket_core::Error;
use rmcp::model::{JsonObject, Tool};
use serde_json::json;

use super::schema::{self, Effect, object};
use super::who;
use crate::answer::Answer;
use crate::input::Fields;
use crate::session::Session;

pub(super) fn tool() -> Tool {
    let about = "Who you act as: the bound actor, the client and the server's version.";
    schema::plain_tool("identity", about, Effect::Reads, object(json!({}), &[]))
}

pub(super) async fn call(session: &Session, arguments: JsonObject) -> Result<Answer, Error> {
    Fields::open(arguments, &[])?;
    let client = session.call(None, None).principal;
    Ok(Answer::of(&json!({ "actor": who::identity(session), "client": client, "version": env!("CARGO_PKG_VERSION") })))
}
