//! Refuses to go on while a blocker has not come far enough.

use super::Attempt;
use crate::engine::Draft;
use crate::error::{Blocker, Gate, Refusal};
use crate::model::EdgeKind;
use crate::workflow::WaitsWhen;

/// Most blockers named in a refusal.
const SHOWN: usize = 5;

pub(super) fn check(draft: &Draft<'_>, attempt: &Attempt<'_>) -> Option<Refusal> {
    let looks = match attempt.workflow.waits_when {
        WaitsWhen::Forward => attempt.goes_forward(),
        WaitsWhen::Leaving => attempt.resolved.is_ok() && attempt.item.status == attempt.workflow.initial,
    };
    if !looks {
        return None;
    }
    let mut blockers: Vec<Blocker> = draft
        .edges_of(attempt.item.id)
        .into_iter()
        .filter(|edge| edge.kind == EdgeKind::Blocks && edge.to == attempt.item.id)
        .filter_map(|edge| {
            let from = draft.item(edge.from)?;
            (!edge.is_satisfied_by(from.role)).then(|| Blocker {
                item: from.id,
                current_role: from.role,
                required_role: edge.threshold(),
            })
        })
        .collect();
    if blockers.is_empty() {
        return None;
    }
    let all = blockers.len();
    blockers.retain(|blocker| draft.may_tell(blocker.item));
    let mut waits: Vec<String> = blockers.iter().take(SHOWN).map(|blocker| told(draft, blocker)).collect();
    if blockers.len() > SHOWN {
        waits.push(format!("{} more", blockers.len() - SHOWN));
    }
    if all > blockers.len() {
        waits.push(format!("{} outside of what this call may see", all - blockers.len()));
    }
    let dependencies = if all == 1 { "dependency" } else { "dependencies" };
    let message = format!("{all} blocking {dependencies} not yet satisfied: {}", waits.join(", "));
    let remedy = "bring the blockers so far first, or remove the edges";
    Some(Refusal { blockers, ..Refusal::new(Gate::Dependencies, message, remedy) })
}

/// A blocker by its key, how it stands in the words of its project, and what must become of it.
fn told(draft: &Draft<'_>, blocker: &Blocker) -> String {
    let status = draft.item(blocker.item).map_or(blocker.current_role.as_str(), |item| item.status.as_str());
    format!("{} ({status}) must be {}", draft.name_of(blocker.item), blocker.must_be())
}
