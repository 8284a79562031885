//! Failures as this dialect tells them: a line, and the same as an object.

use docket_core::{Code, Error, echo};
use serde_json::{Map, json};

use super::args::NamedTask;
use crate::answer::Answer;

/// A failure about a task that is not there, in the words and at the place in which the caller named it.
pub(super) fn as_spelled(error: Error, named: &[NamedTask]) -> Error {
    let quoted = |text: &str| format!("\"{text}\"");
    let is_it = |task: &&NamedTask| error.message.contains(&quoted(&task.meant));
    let Some(task) = named.iter().find(is_it).filter(|_| error.code == Code::NotFound) else { return error };
    let message = error.message.replace(&quoted(&task.meant), &quoted(&echo(&task.spelled)));
    Error { message, field: Some(task.field.clone()), ..error }
}

/// A call that failed as a whole.
pub(super) fn refuse(error: &Error) -> Answer {
    let mut told = Map::new();
    told.insert("code".to_owned(), json!(error.code.as_str()));
    told.insert("message".to_owned(), json!(error.message));
    told.insert("kind".to_owned(), json!(error.kind));
    told.insert("reason".to_owned(), json!(error.reason));
    if let Some(field) = &error.field {
        told.insert("field".to_owned(), json!(field));
    }
    if !error.refusals.is_empty() {
        let gates = error.refusals.iter().map(
            |refusal| json!({ "gate": refusal.gate.as_str(), "message": refusal.message, "remedy": refusal.remedy }),
        );
        told.insert("gates".to_owned(), gates.collect());
    }
    if let Some(wait) = error.retry_after_ms {
        told.insert("retry_after_ms".to_owned(), json!(wait));
    }
    let text = format!("{}: {}", error.code.as_str(), error.message);
    Answer { text, structured: json!({ "error": told }), is_error: true }
}
