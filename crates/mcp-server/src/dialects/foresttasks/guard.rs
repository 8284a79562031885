//! The guard: what keeps a task and who is on it, in every answer about one. Two voices: one for reads, which has the title;
//! one for packets, which has nothing that anybody wrote.

use docket_core::contract::{Verdict, unattested};
use docket_core::model::{Authority, Standing, Timestamp};
use docket_core::query::Dossier;
use docket_core::readiness::What;
use serde_json::{Map, Value, json};

use super::error::violation;

/// What a guard may hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Voice {
    /// Also the title, the holder's name and the reason for attention.
    Whole,
    /// Only what the server made.
    Trusted,
}

/// The guard of a task.
pub(super) fn guard(dossier: &Dossier, voice: Voice) -> Value {
    let item = &dossier.item;
    let holder = item.live_claim(dossier.now).map(|claim| &claim.holder);
    let mut guard = Map::new();
    let mut put = |field: &str, value: Value| guard.insert(field.to_owned(), value);
    put("id", json!(item.id));
    put("key", json!(dossier.key));
    put("status", json!(item.status));
    put("priority", json!(item.priority));
    put("blocked", json!(dossier.is_blocked()));
    put("blockedReasons", blocked_reasons(dossier));
    put("superseded", json!(dossier.is_superseded()));
    put("duplicate", json!(dossier.is_duplicate()));
    put("needsAttention", json!(item.attention.is_some()));
    put("openQuestion", open_question(dossier));
    put("blockingHumanRequests", human_requests(dossier));
    put("parent", json!(item.parent.map(|id| json!({ "id": id }))));
    put("verdict", readiness(&dossier.verdict));
    put("closureBlockers", dossier.closure.iter().map(violation).collect());
    match voice {
        Voice::Whole => {
            put("title", json!(item.title));
            put("assignee", json!(holder.map(|name| json!({ "name": name }))));
            if let Some(reason) = &item.attention {
                put("needsAttentionReason", json!(reason));
            }
        }
        Voice::Trusted => {
            put("assigned", json!(holder.is_some()));
        }
    }
    Value::Object(guard)
}

/// Whether the criteria let it on, and how many stand how.
pub(super) fn readiness(verdict: &Verdict) -> Value {
    json!({
        "readyForReview": verdict.ready_for_review,
        "readyForDone": verdict.ready_for_done,
        "counts": verdict.counts,
    })
}

/// What blocks it, by ids alone.
fn blocked_reasons(dossier: &Dossier) -> Value {
    let told = dossier.obstacles.iter().filter_map(|obstacle| match &obstacle.what {
        What::WaitsFor(blocker) => Some(json!({
            "reason": "blocked-by", "taskId": blocker.item, "role": blocker.current_role, "until": blocker.required_role,
        })),
        What::OutOfSight { count } => Some(json!({ "reason": "out-of-sight", "count": count })),
        What::Closed
        | What::Blocked
        | What::NotClaimable { .. }
        | What::UnderWay
        | What::SupersededBy { .. }
        | What::DuplicateOf { .. }
        | What::Claimed { .. }
        | What::CollidesWith { .. }
        | What::ChecksFailed { .. }
        | What::ChecksNotApproved { .. }
        | What::NeedsCapabilities { .. }
        | What::InReview => None,
    });
    told.collect()
}

fn open_question(dossier: &Dossier) -> Value {
    let told = |id, asked_at: Timestamp| json!({ "id": id, "askedAt": asked_at });
    json!(dossier.open_question().map(|question| told(json!(question.id), question.asked_at)))
}

/// Everything about the task that only a person can settle.
fn human_requests(dossier: &Dossier) -> Value {
    let question = dossier.open_question().map(|question| json!({ "kind": "question", "questionId": question.id }));
    let unsigned = dossier.verdict.criteria.iter().filter(|criterion| {
        criterion.hard && criterion.verifier == Authority::Human && criterion.status != Standing::Pass
    });
    let unsigned = unsigned.map(|criterion| json!({ "kind": "criterion", "criterionId": criterion.id }));
    let checks = dossier.brief.as_ref().map_or(&[][..], |brief| brief.checks.as_slice());
    let unattested = unattested(checks).into_iter().map(|(index, _)| json!({ "kind": "check", "check": index }));
    question.into_iter().chain(unsigned).chain(unattested).collect()
}
