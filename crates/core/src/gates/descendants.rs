//! Refuses to close an item over open descendants.

use super::Attempt;
use crate::engine::Draft;
use crate::error::{Gate, Refusal};
use crate::model::Item;

/// Most open descendants named in a refusal.
const SHOWN: usize = 5;

pub(super) fn check(draft: &Draft<'_>, attempt: &Attempt<'_>) -> Option<Refusal> {
    let found = attempt.resolved.as_ref().ok()?;
    if found.to.role.is_open() {
        return None;
    }
    let open = draft.open_children(attempt.item.id);
    if open.rows.is_empty() && !open.truncated {
        return None;
    }
    // What was not loaded has no name to be told by: it is counted, and stands in the list.
    let known: Vec<&Item> = open.rows.iter().filter_map(|id| draft.item(*id)).take(SHOWN).collect();
    let mut told: Vec<String> =
        known.iter().map(|item| format!("{} \"{}\"", draft.name_of(item.id), item.title)).collect();
    let more = open.rows.len() - known.len();
    if more > 0 || open.truncated {
        let at_least = if open.truncated { "at least " } else { "" };
        told.push(format!("{at_least}{} {}", more.max(1), if known.is_empty() { "of them" } else { "more" }));
    }
    let message = format!("open items beneath it: {}", told.join(", "));
    let remedy = "close them first, or close the whole subtree at once";
    Some(Refusal { open_items: open.rows, ..Refusal::new(Gate::Descendants, message, remedy) })
}
