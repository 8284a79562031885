//! Failures as this dialect tells them: `CODE: message`, the violated rules by name, and no text that others wrote.

use docket_core::{Error, Gate, Reason, Refusal};
use serde_json::{Map, Value, json};

use super::task_args::EDITABLE;
use crate::answer::Answer;

/// Most ids named in one line.
const SHOWN: usize = 5;

/// A call that failed as a whole.
pub(super) fn refuse(error: &Error) -> Answer {
    let body = told(error);
    let text = format!("{}: {}", error.code.as_str(), message(error));
    Answer { text, structured: json!({ "error": body }), is_error: true }
}

/// A failure as an object: also for one entry of a batch.
pub(super) fn told(error: &Error) -> Value {
    let mut told = Map::new();
    told.insert("code".to_owned(), json!(error.code.as_str()));
    told.insert("message".to_owned(), json!(message(error)));
    told.insert("kind".to_owned(), json!(error.kind));
    told.insert("reason".to_owned(), json!(error.reason));
    if let Some(field) = &error.field {
        told.insert("field".to_owned(), json!(field));
    }
    if let Some(refusal) = error.refusals.first() {
        told.insert("rule".to_owned(), json!(refusal.gate.as_str()));
        told.insert("violations".to_owned(), error.refusals.iter().map(violation).collect());
    }
    if let Some(item) = error.contended_item {
        told.insert("taskId".to_owned(), json!(item));
    }
    if let Some(wait) = error.retry_after_ms {
        told.insert("retryAfterMs".to_owned(), json!(wait));
    }
    Value::Object(told)
}

/// One violated rule: its name, what it is about by ids alone, and what would mend it.
pub(super) fn violation(refusal: &Refusal) -> Value {
    let mut told = Map::new();
    told.insert("rule".to_owned(), json!(refusal.gate.as_str()));
    told.insert("message".to_owned(), json!(line(refusal)));
    told.insert("remedy".to_owned(), json!(remedy(refusal)));
    if !refusal.unproved.is_empty() {
        let shown = refusal
            .unproved
            .iter()
            .map(|criterion| json!({ "id": criterion.id, "verifier": criterion.verifier, "status": criterion.status }));
        told.insert("criteria".to_owned(), shown.collect());
    }
    if !refusal.unshown.is_empty() {
        let shown = refusal.unshown.iter().map(|check| json!({ "index": check.index, "status": check.status }));
        told.insert("checks".to_owned(), shown.collect());
    }
    let tasks = refusal.blockers.iter().map(|blocker| blocker.item).chain(refusal.open_items.iter().copied());
    let tasks: Vec<Value> = tasks.map(|id| json!(id)).collect();
    if !tasks.is_empty() {
        told.insert("taskIds".to_owned(), Value::Array(tasks));
    }
    if !refusal.missing_notes.is_empty() {
        told.insert("notes".to_owned(), json!(refusal.missing_notes));
    }
    Value::Object(told)
}

/// The whole failure in a line. What gates say may quote titles, criteria and checks: here
/// they are named by their ids and places.
fn message(error: &Error) -> String {
    if error.refusals.is_empty() {
        return named(error);
    }
    let lines = error
        .refusals
        .iter()
        .map(|refusal| format!("rule {} violated: {}; {}", refusal.gate.as_str(), line(refusal), remedy(refusal)));
    lines.collect::<Vec<_>>().join(" | ")
}

/// A message that names the argument at fault, where it does not do so yet.
fn named(error: &Error) -> String {
    let Some(field) = &error.field else { return error.message.clone() };
    let leaf = field.rsplit('.').next().unwrap_or(field);
    if error.message.contains(leaf) {
        return error.message.clone();
    }
    let joined = if error.message.starts_with("must ") || error.message.starts_with("is ") { "" } else { ":" };
    format!("{field}{joined} {}", error.message)
}

/// The same error to a caller of this surface, which has other names for some fields of an item.
pub(super) fn renamed(error: Error, names: &[(&str, &str)]) -> Error {
    let mut error = error;
    for (ours, theirs) in names {
        let before = error.field.clone();
        error = error.called(ours, theirs);
        if error.field != before
            && let Some(rest) = error.message.strip_prefix(ours)
        {
            error.message = format!("{theirs}{rest}");
        }
    }
    error
}

/// What the fields of a task are called here.
pub(super) const TASK: &[(&str, &str)] =
    &[("tags", "labels"), ("parentId", "parentTaskId"), ("position", "rank"), ("attention", "needsAttentionReason")];

/// The fields of a change of many tasks.
pub(super) fn of_bulk(error: Error) -> Error {
    let error = renamed(error, TASK).called("items", "ids");
    let of_patch = error.field.as_ref().is_some_and(|field| EDITABLE.contains(&field.as_str()));
    if of_patch { error.within("patch") } else { error }
}

fn line(refusal: &Refusal) -> String {
    match refusal.gate {
        Gate::Descendants => {
            let open = refusal.open_items.iter().map(ToString::to_string);
            format!("open tasks beneath it: {}", some(open, refusal.open_items.len()))
        }
        Gate::Criteria if !refusal.unproved.is_empty() => {
            let shown = refusal.unproved.iter();
            let shown = shown.map(|one| format!("{} ({}, {})", one.id, one.verifier, one.status.as_str()));
            let what = if refusal.reason == Some(Reason::NotYours) {
                "for a person to decide"
            } else {
                "acceptance criteria not shown"
            };
            format!("{what}: {}", some(shown, refusal.unproved.len()))
        }
        Gate::Checks if !refusal.unshown.is_empty() => {
            let shown = refusal.unshown.iter().map(|check| format!("{} ({})", check.index, check.status.as_str()));
            format!("checks have not passed: {}", some(shown, refusal.unshown.len()))
        }
        Gate::Transition
        | Gate::Ownership
        | Gate::Dependencies
        | Gate::Notes
        | Gate::Criteria
        | Gate::Checks
        | Gate::Question
        | Gate::Review => refusal.message.clone(),
    }
}

fn remedy(refusal: &Refusal) -> &str {
    match refusal.gate {
        Gate::Descendants => "close them first; task {action:\"cascade_close\"} closes the whole subtree",
        Gate::Criteria if refusal.reason == Some(Reason::NotYours) => {
            "hand it over with task {action:\"ask\"}, or flag it with needsAttention"
        }
        Gate::Transition
        | Gate::Ownership
        | Gate::Dependencies
        | Gate::Notes
        | Gate::Criteria
        | Gate::Checks
        | Gate::Question
        | Gate::Review => &refusal.remedy,
    }
}

fn some(names: impl Iterator<Item = String>, all: usize) -> String {
    let shown: Vec<String> = names.take(SHOWN).collect();
    let more = if all > shown.len() { format!(" and {} more", all - shown.len()) } else { String::new() };
    format!("{}{more}", shown.join(", "))
}
