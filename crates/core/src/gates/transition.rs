//! Refuses when the workflow has no such move, when review comes first, or when an item waits for an answer.

use super::Attempt;
use crate::error::{Gate, Refusal};
use crate::model::Inbox;

pub(super) fn check(attempt: &Attempt<'_>) -> Option<Refusal> {
    let none = attempt.resolved.as_ref().err()?;
    if attempt.item.derived.inbox.has(Inbox::QUESTION) {
        let message = format!("{}; it waits for the answer to a question", none.message);
        return Some(Refusal::new(Gate::Question, message, "answer its open question, or take the question back"));
    }
    Some(Refusal::new(none.gate, none.message.clone(), none.remedy.clone()))
}
