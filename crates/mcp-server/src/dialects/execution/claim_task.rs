//! `claim_task`: takes a task for a while; asked again by its holder, it says how long that still is.

use docket_core::Error;
use docket_core::command::Take;
use docket_core::model::Ttl;
use rmcp::model::{JsonObject, Tool};
use serde_json::json;

use super::get_next_actionable::within;
use super::schema::{self, Effect, object, request_id, shape, text, whole};
use super::task::{need_task, told};
use crate::answer::Answer;
use crate::args::request_id as named_request;
use crate::input::Fields;
use crate::session::Session;

const KNOWN: &[&str] = &["taskId", "leaseSec", "requestId"];
const LEASE: std::ops::RangeInclusive<i64> = 60..=3600;

pub(super) fn tool() -> Tool {
    let input = object(
        json!({
            "taskId": text(""),
            "leaseSec": whole(*LEASE.start(), Some(*LEASE.end()), "default 900"),
            "requestId": request_id(),
        }),
        &["taskId"],
    );
    let about = "Take a ready task, with its whole text. Two agents never both succeed. Claiming what you hold returns your lease.";
    schema::tool("claim_task", about, Effect::Writes, input, json!({ "task": shape(), "lease": shape() }))
}

pub(super) async fn call(session: &Session, arguments: JsonObject) -> Result<Answer, Error> {
    let mut fields = Fields::open(arguments, KNOWN)?;
    let item = need_task(&mut fields)?;
    let lease = within(&mut fields, "leaseSec", *LEASE.start(), *LEASE.end())?;
    let request = named_request(&mut fields)?;
    fields.end()?;
    let ttl = lease.map(Ttl::parse).transpose().map_err(|invalid| Error::from(invalid.at("leaseSec")))?;
    let take = Take { project: session.project().clone(), item, ttl };
    let taken = session.engine().run(session.call(None, request), take).await?;
    let keys = session.keys(std::iter::once(&taken.item)).await;
    let (claim, fence) = (&taken.held.claim, taken.held.fence);
    let lease = json!({ "expiresAt": claim.expires_at, "leaseSec": claim.ttl_seconds, "fence": fence });
    Ok(Answer::of(&json!({ "task": told(&taken.item, taken.at, &keys), "lease": lease })))
}
