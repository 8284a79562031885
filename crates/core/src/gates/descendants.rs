//! Refuses to close an item over open descendants.

use super::Attempt;
use crate::engine::Draft;
use crate::error::{Gate, Refusal};

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
    let named = |id| match draft.item(id) {
        Some(item) => format!("{} \"{}\"", draft.name_of(id), item.title),
        None => id.to_string(),
    };
    let titles: Vec<String> = open.rows.iter().take(SHOWN).map(|id| named(*id)).collect();
    let more = if open.truncated || open.rows.len() > SHOWN { " and more" } else { "" };
    let message = format!("open items beneath it: {}{more}", titles.join(", "));
    let remedy = "close them first, or close the whole subtree at once";
    Some(Refusal { open_items: open.rows, ..Refusal::new(Gate::Descendants, message, remedy) })
}
