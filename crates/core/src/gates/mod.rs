//! The rules that can refuse a move. All are evaluated and all refusals are reported together.

mod dependencies;
mod descendants;
mod notes;
mod ownership;
mod transition;

pub use ownership::{Caller, check_holder, check_owner, renew};

use crate::engine::Draft;
use crate::error::{Gate, Refusal};
use crate::model::{Item, Trigger};
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
    pub caller: Option<Caller<'m>>,
}

impl Attempt<'_> {
    /// Whether the move goes on along the way from queue to terminal, by a start or a completion.
    fn goes_forward(&self) -> bool {
        self.resolved.as_ref().is_ok_and(|found| match found.trigger {
            Trigger::Start | Trigger::Complete => {
                found.to.role.progress() > self.workflow.role_before(self.item).progress()
            }
            Trigger::Block | Trigger::Hold | Trigger::Resume | Trigger::Cancel | Trigger::Reopen | Trigger::Cascade => {
                false
            }
        })
    }
}

/// Every refusal of a move, in the order of [`Gate`].
pub fn evaluate(draft: &Draft<'_>, attempt: &Attempt<'_>) -> Vec<Refusal> {
    let on = |gate| attempt.workflow.has_gate(gate);
    let mut refusals = Vec::new();
    refusals.extend(transition::check(attempt));
    refusals.extend(ownership::check(draft, attempt));
    if on(Gate::Dependencies) {
        refusals.extend(dependencies::check(draft, attempt));
    }
    if on(Gate::Notes) {
        refusals.extend(notes::check(draft, attempt));
    }
    if on(Gate::Descendants) {
        refusals.extend(descendants::check(draft, attempt));
    }
    refusals
}
