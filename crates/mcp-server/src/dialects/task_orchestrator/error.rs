//! The error envelope: one error type of the core in the words of this dialect.

use docket_core::model::ItemId;
use docket_core::{Code, Error, Gate, Kind, Reason, Refusal};
use serde::Serialize;

use crate::answer::Answer;

#[derive(Serialize)]
struct Envelope<'e> {
    error: ToolError<'e>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ToolError<'e> {
    kind: Kind,
    code: &'static str,
    message: &'e str,
    #[serde(skip_serializing_if = "Option::is_none")]
    retry_after_ms: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    contended_item_id: Option<ItemId>,
    reason: Reason,
    #[serde(skip_serializing_if = "Option::is_none")]
    field: Option<&'e str>,
    #[serde(skip_serializing_if = "<[Refusal]>::is_empty")]
    refusals: &'e [Refusal],
}

/// A call that failed as a whole.
pub(super) fn refuse(error: &Error) -> Answer {
    Answer::failure(&Envelope {
        error: ToolError {
            kind: error.kind,
            code: code(error),
            message: &error.message,
            retry_after_ms: error.retry_after_ms,
            contended_item_id: error.contended_item,
            reason: error.reason,
            field: error.field.as_deref(),
            refusals: &error.refusals,
        },
    })
}

/// The code that this dialect gives an error.
pub(super) fn code(error: &Error) -> &'static str {
    if let Some(code) = ownership_code(error.reason) {
        return code;
    }
    match error.code {
        Code::Validation | Code::ProjectRequired => "VALIDATION_ERROR",
        Code::NotFound => "RESOURCE_NOT_FOUND",
        Code::Conflict => "CONFLICT_ERROR",
        Code::Forbidden => "FORBIDDEN",
        Code::RuleBlocked => "OPERATION_FAILED",
        Code::RateLimited => "RATE_LIMITED",
        Code::Unavailable => "DATABASE_ERROR",
    }
}

/// The code of a refusal that is about who holds an item or who the caller is.
fn ownership_code(reason: Reason) -> Option<&'static str> {
    match reason {
        Reason::RejectedByPolicy => Some("rejected_by_policy"),
        Reason::AlreadyClaimed => Some("claim_contention"),
        Reason::ClaimLost => Some("claim_lost"),
        Reason::ForeignClaim => Some("not_claim_holder"),
        _ => None,
    }
}

/// The code of a move that was refused because of who asked for it.
pub(super) fn move_code(error: &Error) -> Option<&'static str> {
    match error.reason {
        // A move is not a claim: here it matters that the caller does not hold the item.
        Reason::AlreadyClaimed => Some("not_claim_holder"),
        reason => ownership_code(reason),
    }
}

/// Why a move was refused, all gates in one line.
pub(super) fn move_text(error: &Error) -> String {
    if error.refusals.is_empty() {
        return sentence(&error.message);
    }
    refusal_text(&error.refusals)
}

/// What gates said, in one line.
pub(super) fn refusal_text(refusals: &[Refusal]) -> String {
    let said = |refusal: &Refusal| match refusal.gate {
        Gate::Notes | Gate::Criteria | Gate::Checks => format!("Gate check failed: {}", refusal.message),
        Gate::Transition | Gate::Ownership | Gate::Dependencies | Gate::Descendants | Gate::Question | Gate::Review => {
            sentence(&refusal.message)
        }
    };
    refusals.iter().map(said).collect::<Vec<_>>().join("; ")
}

fn sentence(message: &str) -> String {
    let mut chars = message.chars();
    chars.next().map_or_else(String::new, |first| first.to_uppercase().chain(chars).collect())
}
