//! Refuses to go on while a blocker has not come far enough.

use super::Attempt;
use crate::engine::Draft;
use crate::error::{Blocker, Gate, Refusal};
use crate::model::EdgeKind;
use crate::workflow::WaitsWhen;

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
    let unseen = match all - blockers.len() {
        0 => String::new(),
        unseen => format!(", {unseen} of them outside of what this call may see"),
    };
    let message = format!("{all} blocking dependency(ies) not yet satisfied{unseen}");
    let remedy = "bring the blockers to the role they are waited for at, or remove the edges";
    Some(Refusal { blockers, ..Refusal::new(Gate::Dependencies, message, remedy) })
}
