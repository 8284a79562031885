//! The rules that can refuse a move. All are evaluated and all refusals are reported together.

mod checks;
mod criteria;
mod dependencies;
mod descendants;
mod notes;
mod ownership;
mod transition;

pub use ownership::{Caller, check_holder, check_owner, guards, renew};

use crate::engine::Draft;
use crate::error::{Gate, Refusal};
use crate::model::{Item, Outcome, Trigger};
use crate::plant::{Bug, planted};
use crate::workflow::{Move, NoMove, Workflow};

/// A move that is to be looked at by every gate.
#[derive(Debug)]
pub struct Attempt<'m> {
    /// The item as it stands.
    pub item: &'m Item,
    /// The workflow it is under.
    pub workflow: &'m Workflow,
    /// Where the move leads, or why there is none.
    pub resolved: &'m Result<Move<'m>, NoMove>,
    /// Who asks; `None` for the engine's own cascades, which nobody owns.
    pub caller: Option<Caller>,
}

impl Attempt<'_> {
    /// Whether the move goes on along the way from queue to terminal, by a start or a completion.
    fn goes_forward(&self) -> bool {
        self.resolved.as_ref().is_ok_and(|found| match found.trigger {
            Trigger::Start | Trigger::Complete => {
                // Work that was given up has not come to its end: to call it done is to close it.
                let given_up = self.item.outcome == Some(Outcome::Cancelled) && found.to.outcome != self.item.outcome;
                given_up || found.to.role.progress() > self.workflow.role_before(self.item).progress()
            }
            Trigger::Block | Trigger::Hold | Trigger::Resume | Trigger::Cancel | Trigger::Reopen | Trigger::Cascade => {
                false
            }
        })
    }
}

/// Every refusal of a move, in the order of [`Gate`].
pub fn evaluate(draft: &Draft<'_>, attempt: &Attempt<'_>) -> Vec<Refusal> {
    let on = |gate| attempt.workflow.has_gate(gate) && !skipped(attempt, gate);
    let mut refusals = Vec::new();
    refusals.extend(transition::check(attempt));
    refusals.extend(ownership::check(draft, attempt));
    if on(Gate::Dependencies) {
        refusals.extend(dependencies::check(draft, attempt));
    }
    if on(Gate::Notes) {
        refusals.extend(notes::check(draft, attempt));
    }
    if on(Gate::Criteria) {
        refusals.extend(criteria::check(draft, attempt));
    }
    if on(Gate::Checks) {
        refusals.extend(checks::check(draft, attempt));
    }
    if on(Gate::Descendants) {
        refusals.extend(descendants::check(draft, attempt));
    }
    refusals
}

/// Bugs that a test of closing must catch: a part of what the path asks for is not looked at.
fn skipped(attempt: &Attempt<'_>, gate: Gate) -> bool {
    let closes = || attempt.resolved.as_ref().is_ok_and(|found| !found.to.role.is_open());
    let bug = match gate {
        Gate::Dependencies => Bug::DependenciesSkipped,
        Gate::Notes => Bug::NotesSkipped,
        Gate::Transition
        | Gate::Ownership
        | Gate::Criteria
        | Gate::Checks
        | Gate::Descendants
        | Gate::Question
        | Gate::Review => return false,
    };
    planted(bug) && closes()
}

/// The refusals that hold even where a subtree is closed by force: what others hold, and what is not shown.
pub fn evaluate_forced(draft: &Draft<'_>, attempt: &Attempt<'_>) -> Vec<Refusal> {
    let on = |gate| attempt.workflow.has_gate(gate);
    let criteria = on(Gate::Criteria).then(|| criteria::check(draft, attempt)).flatten();
    let checks = on(Gate::Checks).then(|| checks::check(draft, attempt)).flatten();
    ownership::check(draft, attempt).into_iter().chain(criteria).chain(checks).collect()
}

/// Whether a caller who has checks run would get past these refusals by that alone, and has not had them run yet.
pub fn wants_running(draft: &Draft<'_>, attempt: &Attempt<'_>, refusals: &[Refusal]) -> bool {
    draft.call.runs_checks
        && draft.looked_at(attempt.item.id).is_none()
        && checks::only_want_running(refusals, draft, attempt)
}
