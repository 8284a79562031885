//! The staged gate: into review only with every hard agent criterion shown, into success with every hard one.

use super::Attempt;
use crate::contract::{Seen, Stage, standing_of, unproved_seen};
use crate::engine::Draft;
use crate::error::{Gate, Refusal, UnprovedCriterion, echo};
use crate::model::{Authority, Criterion, Outcome, Role, Sections};

impl UnprovedCriterion {
    /// A criterion as it stands by what was said of it.
    pub(crate) fn of(criterion: &Criterion) -> Self {
        Self {
            id: criterion.id,
            text: criterion.text.clone(),
            verifier: criterion.verifier,
            status: criterion.standing(),
        }
    }
}

pub(super) fn check(draft: &Draft<'_>, attempt: &Attempt<'_>) -> Option<Refusal> {
    let found = attempt.resolved.as_ref().ok()?;
    let stage = match (found.to.role, found.to.outcome) {
        (Role::Review, _) => Stage::Review,
        (Role::Terminal, Some(Outcome::Success)) => Stage::Success,
        (Role::Terminal | Role::Queue | Role::Work | Role::Blocked, _) => return None,
    };
    let Some(brief) = draft.brief(attempt.item.id) else {
        // Whoever did not look at the criteria does not pass them.
        let unseen = attempt.item.derived.sections.has(Sections::CRITERIA);
        let message = "acceptance criteria not shown: they were not looked at";
        return unseen.then(|| Refusal::new(Gate::Criteria, message, "move the item itself"));
    };
    let seen = Seen::Tree(draft.looked_at(attempt.item.id));
    let stands = |criterion: &Criterion| UnprovedCriterion {
        status: standing_of(brief, criterion, seen),
        ..UnprovedCriterion::of(criterion)
    };
    let missing: Vec<UnprovedCriterion> = unproved_seen(brief, stage, seen).into_iter().map(stands).collect();
    if missing.is_empty() {
        return None;
    }
    let named: Vec<String> = missing
        .iter()
        .map(|criterion| {
            let status = criterion.status.as_str();
            format!("{} \"{}\" ({status}, {})", criterion.id, echo(criterion.text.as_str()), criterion.verifier)
        })
        .collect();
    let message = format!("acceptance criteria not shown: {}", named.join(", "));
    let has = |verifier| missing.iter().any(|criterion| criterion.verifier == verifier);
    let remedy = match (has(Authority::Check), has(Authority::Human)) {
        (false, false) => "verify each of them with evidence",
        (false, true) => "verify the agent's criteria, and have a person sign off theirs",
        (true, _) => {
            "verify the agent's criteria, have checks that prove theirs run, and have a person sign off the rest, those without a check too"
        }
    };
    Some(Refusal { unproved: missing, ..Refusal::new(Gate::Criteria, message, remedy) })
}
