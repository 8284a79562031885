//! How items look in answers: each field in the part of the answer that it belongs to.

use docket_core::contract::{Verdict, score};
use docket_core::model::{Brief, Item, Question, Timestamp};
use serde_json::{Map, Value, json};

use super::error::criterion_value;
use super::split::{Split, put};

/// Fields that the server answers for.
const TRUSTED: &[&str] = &[
    "id",
    "status",
    "role",
    "outcome",
    "priority",
    "complexity",
    "version",
    "depth",
    "position",
    "score",
    "blockers",
    "claimed",
    "dueAt",
    "estimateMinutes",
    "requiresVerification",
    "createdAt",
    "modifiedAt",
    "roleChangedAt",
];

/// Fields that somebody wrote.
const UNTRUSTED: &[&str] = &[
    "title",
    "intent",
    "summary",
    "description",
    "type",
    "label",
    "tags",
    "traits",
    "attention",
    "touches",
    "needs",
    "capabilities",
    "metadata",
    "properties",
    "holder",
];

/// Every field that a row may have.
pub(super) fn known_fields() -> impl Iterator<Item = &'static str> {
    TRUSTED.iter().chain(UNTRUSTED).copied()
}

/// What a row shows where the caller says nothing.
pub(super) const USUAL: &[&str] = &["status", "priority", "blockers", "claimed", "dueAt", "title"];

/// These fields of an item. What is empty is left out.
pub(super) fn item(item: &Item, now: Timestamp, fields: &[&str]) -> Split {
    let mut split = Split::default();
    for field in fields {
        if TRUSTED.contains(field) {
            split.say(field, told(item, now, field));
        } else {
            split.quote(field, quoted(item, now, field));
        }
    }
    split
}

fn told(item: &Item, now: Timestamp, field: &str) -> Value {
    let is = |flag: bool| if flag { json!(true) } else { Value::Null };
    match field {
        "id" => json!(item.id),
        "status" => json!(item.status),
        "role" => json!(item.role),
        "outcome" => json!(item.outcome),
        "priority" => json!(item.priority),
        "complexity" => json!(item.complexity),
        "version" => json!(item.version),
        "depth" => json!(item.depth),
        "position" => json!(item.position),
        "score" => json!(score(item)),
        "blockers" => json!(Some(item.derived.blockers).filter(|blockers| *blockers > 0)),
        "claimed" => is(item.live_claim(now).is_some()),
        "dueAt" => json!(item.due_at),
        "estimateMinutes" => json!(item.estimate_minutes),
        "requiresVerification" => is(item.requires_verification),
        "createdAt" => json!(item.created_at),
        "modifiedAt" => json!(item.modified_at),
        "roleChangedAt" => json!(item.role_changed_at),
        _ => Value::Null,
    }
}

fn quoted(item: &Item, now: Timestamp, field: &str) -> Value {
    match field {
        "title" => json!(item.title),
        "intent" => json!(item.intent),
        "summary" => json!(Some(item.summary.as_str()).filter(|summary| !summary.is_empty())),
        "description" => json!(item.description),
        "type" => json!(item.item_type),
        "label" => json!(item.status_label),
        "tags" => json!(item.tags),
        "traits" => json!(item.traits),
        "attention" => json!(item.attention),
        "touches" => json!(item.touches),
        "needs" => json!(item.needs),
        "capabilities" => json!(item.required_capabilities),
        "metadata" => json!(item.metadata),
        "properties" => json!(item.properties),
        "holder" => json!(item.live_claim(now).map(|claim| &claim.holder)),
        _ => Value::Null,
    }
}

/// How far an item is shown: the statuses are the server's, the words its authors'.
pub(super) fn verdict(verdict: &Verdict) -> Split {
    let mut split = Split::default();
    if verdict.criteria.is_empty() {
        return split;
    }
    split.say("readyForReview", verdict.ready_for_review);
    split.say("readyForDone", verdict.ready_for_done);
    split.say("criteria", verdict.criteria.iter().map(criterion_value).collect::<Vec<_>>());
    for criterion in &verdict.criteria {
        let mut words = Map::new();
        put(&mut words, "text", &criterion.text);
        put(&mut words, "instructions", &criterion.instructions);
        put(&mut words, "note", &criterion.note);
        split.quote(&criterion.id.to_string(), words);
    }
    split
}

/// The same for somebody who has read the criteria: only how they stand.
pub(super) fn standing(verdict: &Verdict) -> Value {
    let mut told = Map::new();
    if !verdict.criteria.is_empty() {
        put(&mut told, "readyForReview", verdict.ready_for_review);
        put(&mut told, "readyForDone", verdict.ready_for_done);
        for criterion in &verdict.criteria {
            put(&mut told, &criterion.id.to_string(), criterion.status);
        }
    }
    Value::Object(told)
}

/// The sections of a contract, its criteria aside: they are told with the verdict.
pub(super) fn brief(brief: &Brief) -> Map<String, Value> {
    let mut words = Map::new();
    put(&mut words, "objective", &brief.objective);
    put(&mut words, "context", &brief.context);
    put(&mut words, "constraints", &brief.constraints);
    put(&mut words, "verification", &brief.verification);
    put(&mut words, "handoffExpectations", &brief.handoff_expectations);
    words
}

/// A question with its answer.
pub(super) fn question(question: &Question) -> Split {
    let mut split = Split::default();
    split.say("id", question.id);
    split.say("state", question.state);
    split.say("askedAt", question.asked_at);
    split.say("endedAt", question.ended_at);
    split.quote("question", &question.text);
    split.quote("options", &question.options);
    split.quote("askedBy", &question.asked_by);
    split.quote("answer", &question.answer);
    split.quote("answeredBy", question.ended_by.as_ref().filter(|_| question.answer.is_some()));
    split
}
