//! Refuses to leave a phase, or to complete, while a required note is missing or blank.

use super::Attempt;
use crate::engine::Draft;
use crate::error::{Gate, Refusal};
use crate::model::{NoteHead, Trigger};
use crate::workflow::NoteRule;

pub(super) fn check(draft: &Draft<'_>, attempt: &Attempt<'_>) -> Option<Refusal> {
    let found = attempt.resolved.as_ref().ok()?;
    if !attempt.goes_forward() {
        return None;
    }
    let project = draft.project_of(attempt.item).ok()?;
    let schema = draft.schema(&project, attempt.item)?;
    // A completion skips phases, so it owes the notes of all of them.
    let phase = (found.trigger != Trigger::Complete).then(|| attempt.workflow.role_before(attempt.item));
    let written = draft.note_heads(attempt.item.id);
    let missing = schema.missing(phase, &written);
    if missing.is_empty() {
        return None;
    }
    let keys: Vec<String> = missing.iter().map(|rule| rule.key.to_string()).collect();
    let of_phase = phase.map_or_else(String::new, |phase| format!(" for {phase} phase"));
    let named: Vec<String> = missing.iter().map(|rule| name(rule, &written)).collect();
    let message = format!("required notes not filled{of_phase}: {}", named.join(", "));
    let remedy = format!("write {}", keys.join(", "));
    Some(Refusal { missing_notes: keys, ..Refusal::new(Gate::Notes, message, remedy) })
}

/// The key of a note that is missing; with a word on one that is there, but for another phase.
fn name(rule: &NoteRule, written: &[NoteHead]) -> String {
    match written.iter().find(|note| note.key == rule.key && note.phase != rule.phase) {
        Some(note) => format!("{} (it is written for {} phase, not for {})", rule.key, note.phase, rule.phase),
        None => rule.key.to_string(),
    }
}
