//! Into success only with every check passed, of the work tree as it is; where the workflow says so, to no other end either.

use super::Attempt;
use crate::checks::{in_words, unshown};
use crate::engine::Draft;
use crate::error::{Gate, Refusal, UnshownCheck, echo};
use crate::model::{CheckStanding, Outcome, Role, Sections};
use crate::workflow::ChecksWhen;

pub(super) fn check(draft: &Draft<'_>, attempt: &Attempt<'_>) -> Option<Refusal> {
    let found = attempt.resolved.as_ref().ok()?;
    let looks = match attempt.workflow.checks_when {
        ChecksWhen::Success => found.to.outcome == Some(Outcome::Success),
        ChecksWhen::Closed => true,
    };
    if found.to.role != Role::Terminal || !looks {
        return None;
    }
    let item = attempt.item.id;
    let Some(brief) = draft.brief(item) else {
        // Whoever did not look at the checks does not pass them.
        let unseen = attempt.item.derived.sections.has(Sections::CHECKS);
        return unseen.then(|| Refusal::new(Gate::Checks, "its checks were not looked at", "move the item itself"));
    };
    let look = draft.looked_at(item);
    let open = unshown(&brief.checks, look);
    if open.is_empty() {
        return None;
    }
    let how = |open: &UnshownCheck| match brief.checks.get(open.index) {
        Some(check) => in_words(check, open.status),
        None => open.status.as_str().to_owned(),
    };
    let named: Vec<String> =
        open.iter().map(|open| format!("{} \"{}\" ({})", open.index, echo(open.desc.as_str()), how(open))).collect();
    let message = format!("checks have not passed: {}", named.join(", "));
    let remedy = remedy(&open);
    Some(Refusal { unshown: open, ..Refusal::new(Gate::Checks, message, remedy) })
}

fn remedy(open: &[UnshownCheck]) -> String {
    let any = |manual: bool, failed: bool| {
        open.iter().any(|check| check.manual == manual && (check.status == CheckStanding::Fail) == failed)
    };
    let mut acts = Vec::new();
    if any(false, true) {
        acts.push("mend what failed; its run's log says why");
    }
    if any(true, true) {
        acts.push("mend what a person found wanting, and have it attested again");
    }
    if any(true, false) {
        acts.push("have a person attest the manual ones");
    }
    if any(false, false) {
        acts.push(if open.iter().any(|check| check.manual) {
            "the others are run by closing it, once nothing else is missing"
        } else {
            "run them where a runner has the work tree, then close the item again"
        });
    }
    acts.join("; ")
}

/// Whether running checks is all that is missing: then they are run and the move is tried again.
pub(super) fn only_want_running(refusals: &[Refusal], draft: &Draft<'_>, attempt: &Attempt<'_>) -> bool {
    let Some(brief) = draft.brief(attempt.item.id) else { return false };
    let runs = |index: usize| brief.checks.get(index).is_some_and(|check| check.kind.is_runnable());
    let proved = |id| brief.checks.iter().any(|check| check.proves == Some(id) && check.kind.is_runnable());
    !refusals.is_empty()
        && refusals.iter().all(|refusal| match refusal.gate {
            Gate::Checks => !refusal.unshown.is_empty() && refusal.unshown.iter().all(|check| runs(check.index)),
            Gate::Criteria => {
                !refusal.unproved.is_empty() && refusal.unproved.iter().all(|criterion| proved(criterion.id))
            }
            Gate::Transition
            | Gate::Ownership
            | Gate::Dependencies
            | Gate::Notes
            | Gate::Descendants
            | Gate::Question
            | Gate::Review => false,
        })
}
