//! Moves of an item: by a trigger, or to a status.

use docket_core::command::{Advance, Applied, MoveRequest, MoveResult};
use docket_core::model::{Fence, ItemRef, Name, Text, Trigger};
use docket_core::store::ProjectRef;
use docket_core::workflow::Target;
use docket_core::{Error, Reason};
use serde::Deserialize;
use utoipa::ToSchema;

use crate::answer::{Answer, ok, with_version, without_proof};
use crate::extract::{Expected, Idempotency, ItemPath, Json};
use crate::gate::Caller;

/// A move: exactly one of `trigger` and `status`.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schema(as = Transition)]
pub(crate) struct TransitionBody {
    /// What moves it along.
    trigger: Option<UserTrigger>,
    /// The status it shall have.
    status: Option<Name>,
    /// A word about it, kept with the event.
    summary: Option<Text>,
    /// The fence of the caller's claim.
    fence: Option<u64>,
}

/// What moves an item along.
#[derive(Clone, Copy, Debug, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum UserTrigger {
    /// On to the next phase.
    Start,
    /// Straight to success.
    Complete,
    /// Aside, because something is in the way.
    Block,
    /// Aside, by choice.
    Hold,
    /// Back from aside to where it was.
    Resume,
    /// Closed without success.
    Cancel,
    /// From closed back to the queue.
    Reopen,
}

impl From<UserTrigger> for Trigger {
    fn from(trigger: UserTrigger) -> Self {
        match trigger {
            UserTrigger::Start => Self::Start,
            UserTrigger::Complete => Self::Complete,
            UserTrigger::Block => Self::Block,
            UserTrigger::Hold => Self::Hold,
            UserTrigger::Resume => Self::Resume,
            UserTrigger::Cancel => Self::Cancel,
            UserTrigger::Reopen => Self::Reopen,
        }
    }
}

/// Where a move leads, of which exactly one way was said.
pub(crate) fn target(trigger: Option<UserTrigger>, status: Option<Name>) -> Result<Target, Error> {
    match (trigger, status) {
        (Some(trigger), None) => Ok(Target::Trigger(trigger.into())),
        (None, Some(status)) => Ok(Target::Status(status)),
        (None, None) => Err(Error::validation(Reason::MissingField, "trigger or status is required").at("trigger")),
        (Some(_), Some(_)) => {
            Err(Error::validation(Reason::BadValue, "trigger goes without status: say one of them").at("trigger"))
        }
    }
}

/// Move an item
///
/// All gates are asked, and every refusal is told with what would clear it. Parents follow in the same step.
#[utoipa::path(
    post, path = "/items/{id}/transitions", tag = "items",
    params(
        ("id" = ItemRef, Path, description = "The item"),
        ("If-Match" = Option<String>, Header, description = "An `ETag` of the item"),
    ),
    request_body(content = TransitionBody, example = json!({"trigger": "start", "summary": "on it"})),
    responses((status = 200, description = "What moved, and what follows from it", body = Applied)),
)]
pub(crate) async fn advance(
    caller: Caller,
    ItemPath(item): ItemPath,
    Idempotency(request): Idempotency,
    expected: Expected,
    Json(body): Json<TransitionBody>,
) -> Answer {
    let request_move = MoveRequest {
        item,
        target: target(body.trigger, body.status)?,
        summary: body.summary,
        by: None,
        fence: body.fence.map(Fence),
        expected_version: expected.0,
    };
    let advance = Advance { project: ProjectRef::Any, moves: vec![request_move], atomic: true };
    let advanced = caller.engine.run(caller.call(request), advance).await.map_err(|error| expected.failed(error))?;
    match advanced.results.into_iter().next() {
        Some(MoveResult::Applied(mut applied)) => {
            without_proof(&mut applied.by);
            Ok(with_version(ok(&*applied)?, applied.version))
        }
        Some(MoveResult::Refused(refused)) => Err(expected.failed(refused.error)),
        None => Err(Error::validation(Reason::TooFew, "nothing was moved").into()),
    }
}
