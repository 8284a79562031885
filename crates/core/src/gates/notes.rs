//! Refuses to leave a phase, or to complete, while a required note is missing or blank.

use super::Attempt;
use crate::engine::Draft;
use crate::error::{Gate, Refusal};
use crate::model::Trigger;

pub(super) fn check(draft: &Draft<'_>, attempt: &Attempt<'_>) -> Option<Refusal> {
    let found = attempt.resolved.as_ref().ok()?;
    if !attempt.goes_forward() {
        return None;
    }
    let project = draft.project_of(attempt.item).ok()?;
    let schema = draft.schema(&project, attempt.item)?;
    // A completion skips phases, so it owes the notes of all of them.
    let phase = (found.trigger != Trigger::Complete).then(|| attempt.workflow.role_before(attempt.item));
    let missing = schema.missing(phase, &draft.note_heads(attempt.item.id));
    if missing.is_empty() {
        return None;
    }
    let keys: Vec<String> = missing.iter().map(|rule| rule.key.to_string()).collect();
    let of_phase = phase.map_or_else(String::new, |phase| format!(" for {phase} phase"));
    let message = format!("required notes not filled{of_phase}: {}", keys.join(", "));
    let remedy = format!("write {}", keys.join(", "));
    Some(Refusal { missing_notes: keys, ..Refusal::new(Gate::Notes, message, remedy) })
}
