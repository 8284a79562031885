//! Failures as this dialect names them.

use docket_core::{Code, Error, Gate, Reason};
use serde_json::{Map, json};

use crate::answer::Answer;

/// A call that failed.
pub(super) fn refuse(error: &Error) -> Answer {
    let mut told = Map::new();
    told.insert("code".to_owned(), json!(code(error)));
    told.insert("message".to_owned(), json!(error.message));
    told.insert("reason".to_owned(), json!(error.reason));
    if let Some(field) = &error.field {
        told.insert("field".to_owned(), json!(field));
    }
    if !error.refusals.is_empty() {
        let refusals = error.refusals.iter().map(|refusal| json!({ "rule": refusal.gate, "remedy": refusal.remedy }));
        told.insert("violations".to_owned(), refusals.collect());
    }
    if let Some(wait) = error.retry_after_ms {
        told.insert("retryAfterMs".to_owned(), json!(wait));
    }
    let text = format!("{}: {}", code(error), error.message);
    Answer { text, structured: json!({ "error": told }), is_error: true }
}

fn code(error: &Error) -> &'static str {
    let owned = error.refusals.iter().any(|refusal| refusal.gate == Gate::Ownership);
    match (error.code, error.reason) {
        (_, Reason::AlreadyClaimed | Reason::NotClaimedByYou | Reason::ClaimLost | Reason::ForeignClaim) => {
            "task.already_claimed"
        }
        _ if owned => "task.already_claimed",
        (_, Reason::NotReady | Reason::Terminal | Reason::QuestionOpen | Reason::Archived) => "task.not_actionable",
        (_, Reason::QuotaExceeded) => "quota.exceeded",
        (Code::RuleBlocked | Code::Conflict, _) => "task.invariant_violated",
        (Code::NotFound, _) => "task.not_found",
        (Code::Validation | Code::ProjectRequired, _) => "validation.failed",
        (Code::Forbidden, _) => "auth.forbidden",
        (Code::RateLimited, _) => "rate.limited",
        (Code::Unavailable, _) => "server.unavailable",
    }
}
