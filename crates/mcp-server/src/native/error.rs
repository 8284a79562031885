//! The error envelope: the core's one error type, without a word that anybody wrote.
//!
//! A refusal is told by its gate, what is missing and the act that would clear it. The core's own sentences quote titles
//! and criteria for people; here these are named by their keys and ids, for an error is not the place for text of others.

use docket_core::contract::CriterionVerdict;
use docket_core::model::{Authority, ItemId};
use docket_core::{Error, Gate, Reason, Refusal};
use serde_json::{Map, Value, json};

use super::names::Names;
use super::split::put;
use crate::answer::Answer;
use crate::session::Session;

/// A call that failed as a whole.
pub(super) async fn refuse(session: &Session, error: &Error) -> Answer {
    let names = Names::of(session, items_of(error)).await;
    Answer::failure(&json!({ "error": error_value(error, &names) }))
}

/// Every item that an error names.
pub(super) fn items_of(error: &Error) -> Vec<ItemId> {
    let mut items: Vec<ItemId> = error.contended_item.into_iter().collect();
    items.extend(error.refusals.iter().flat_map(items_in));
    items
}

/// Every item that a refusal names.
pub(super) fn items_in(refusal: &Refusal) -> Vec<ItemId> {
    refusal.blockers.iter().map(|blocker| blocker.item).chain(refusal.open_items.iter().copied()).collect()
}

/// An error as it is told.
pub(super) fn error_value(error: &Error, names: &Names) -> Value {
    let mut told = Map::new();
    put(&mut told, "kind", error.kind);
    put(&mut told, "code", error.code.as_str());
    put(&mut told, "reason", error.reason);
    put(&mut told, "message", message(error));
    put(&mut told, "field", &error.field);
    put(&mut told, "item", error.contended_item.map(|item| names.get(item)));
    put(&mut told, "refusals", refusals(&error.refusals, names));
    put(&mut told, "retryAfterMs", error.retry_after_ms);
    Value::Object(told)
}

/// What gates said.
pub(super) fn refusals(refusals: &[Refusal], names: &Names) -> Vec<Value> {
    refusals.iter().map(|refusal| refusal_value(refusal, names)).collect()
}

fn refusal_value(refusal: &Refusal, names: &Names) -> Value {
    let mut told = Map::new();
    put(&mut told, "gate", refusal.gate);
    put(&mut told, "message", sentence(refusal));
    put(&mut told, "remedy", &refusal.remedy);
    let blockers: Vec<Value> = refusal
        .blockers
        .iter()
        .map(|blocker| json!({ "item": names.get(blocker.item), "is": blocker.current_role, "must": blocker.required_role }))
        .collect();
    put(&mut told, "blockers", blockers);
    put(&mut told, "missingNotes", &refusal.missing_notes);
    let unproved: Vec<Value> = refusal
        .unproved
        .iter()
        .map(|criterion| json!({ "id": criterion.id, "status": criterion.status, "verifier": criterion.verifier }))
        .collect();
    put(&mut told, "unproved", unproved);
    let unshown =
        refusal.unshown.iter().map(|check| serde_json::json!({ "index": check.index, "status": check.status }));
    put(&mut told, "checks", unshown.collect::<Vec<_>>());
    put(&mut told, "openItems", refusal.open_items.iter().map(|item| names.get(*item)).collect::<Vec<_>>());
    Value::Object(told)
}

fn message(error: &Error) -> String {
    if error.refusals.is_empty() {
        return error.message.clone();
    }
    let said: Vec<&str> = error.refusals.iter().map(sentence).collect();
    said.join("; ")
}

/// What a gate says. Those whose own words quote titles or criteria are said without.
fn sentence(refusal: &Refusal) -> &str {
    match refusal.gate {
        Gate::Criteria if refusal.reason == Some(Reason::NotYours) => "a criterion is for a person to decide",
        Gate::Criteria => "acceptance criteria are not shown",
        Gate::Checks => "checks have not passed",
        Gate::Descendants => "items beneath it are open",
        Gate::Transition | Gate::Ownership | Gate::Dependencies | Gate::Notes | Gate::Question | Gate::Review => {
            &refusal.message
        }
    }
}

/// How a criterion stands: what is usual of it is not said.
pub(super) fn criterion_value(criterion: &CriterionVerdict) -> Value {
    let mut told = Map::new();
    put(&mut told, "id", criterion.id);
    put(&mut told, "status", criterion.status);
    put(&mut told, "verifier", Some(criterion.verifier).filter(|verifier| *verifier != Authority::Agent));
    put(&mut told, "hard", Some(false).filter(|_| !criterion.hard));
    put(&mut told, "settledBy", criterion.settled_by.filter(|by| *by != Authority::Agent));
    Value::Object(told)
}
