//! `claim`: makes a task the caller's.

use docket_core::Error;
use docket_core::command::{Claim, ClaimRequest};
use rmcp::model::{JsonObject, Tool};
use serde_json::json;

use super::args::need_task;
use super::schema::{self, Effect, object, text};
use super::task;
use crate::answer::Answer;
use crate::input::Fields;
use crate::session::Session;

pub(super) fn tool() -> Tool {
    let about = "Make a task yours. What is yours stays so; what is somebody else's is refused.";
    schema::plain_tool("claim", about, Effect::Writes, object(json!({ "id": text("") }), &["id"]))
}

pub(super) async fn call(session: &Session, arguments: JsonObject) -> Result<Answer, Error> {
    let mut fields = Fields::open(arguments, &["id"])?;
    let item = need_task(&mut fields, "id")?;
    let claims = vec![ClaimRequest { item: item.clone(), ttl: None }];
    let claim = Claim { project: session.project().clone(), claims, releases: Vec::new(), ready_only: false };
    let claimed = session.engine().run(session.call(None, None), claim).await?;
    match claimed.claims.first().and_then(|result| result.outcome.refusal(&result.asked)) {
        Some(error) => Err(error),
        None => task::whole_of(session, &item).await,
    }
}
