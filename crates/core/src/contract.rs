//! What a brief means: how complete it is, how far its criteria are shown, and what that lets an item do.

use serde::{Deserialize, Serialize};

use crate::checks::Look;
use crate::model::{
    Authority, Brief, Check, CheckStanding, Criterion, CriterionId, Inbox, Item, Role, Sections, Standing, Text,
};
use crate::workflow::Workflow;

/// What each section adds to the score; together 100.
const WEIGHTS: [(u8, u8); 6] = [
    (Sections::OBJECTIVE, 30),
    (Sections::CRITERIA, 30),
    (Sections::CONTEXT, 15),
    (Sections::VERIFICATION, 10),
    (Sections::CONSTRAINTS, 10),
    (Sections::HANDOFF, 5),
];
/// What an intent adds where no objective is given.
const INTENT: u8 = 20;
/// What a description adds where no context is given.
const DESCRIPTION: u8 = 10;
/// From here on a brief counts as complete: a goal, criteria, and a little more where the goal is only an intent.
const COMPLETE: u8 = 60;
// Stores show the neighbours of an item without long texts where they have no brief: those texts alone decide nothing.
const _: () = assert!(INTENT + DESCRIPTION < COMPLETE);

/// How complete an item's brief is, from 0 to 100. The intent stands in for the objective, the description for the
/// context, at less than their weight.
pub fn score(item: &Item) -> u8 {
    let sections = item.derived.sections;
    let own: u8 = WEIGHTS.iter().filter(|(section, _)| sections.has(*section)).map(|(_, weight)| weight).sum();
    let said = |text: &Option<Text>| text.as_ref().is_some_and(|text| !text.is_blank());
    let intent = if !sections.has(Sections::OBJECTIVE) && said(&item.intent) { INTENT } else { 0 };
    let described = if !sections.has(Sections::CONTEXT) && said(&item.description) { DESCRIPTION } else { 0 };
    own + intent + described
}

/// Whether an item's brief is complete enough to be handed out before those that are not.
pub fn is_complete(item: &Item) -> bool {
    score(item) >= COMPLETE
}

/// How one criterion stands.
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CriterionVerdict {
    /// Its name.
    pub id: CriterionId,
    /// What must be true.
    pub text: Text,
    /// How far it is shown.
    pub status: Standing,
    /// Who shows it.
    pub verifier: Authority,
    /// Whether it gates moves.
    pub hard: bool,
    /// How to show it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub instructions: Option<Text>,
    /// Whose word settled it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub settled_by: Option<Authority>,
    /// What was seen.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<Text>,
}

/// How many criteria stand how.
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct VerdictCounts {
    /// Shown to hold.
    pub pass: usize,
    /// Shown not to hold.
    pub fail: usize,
    /// Not shown, or not any more.
    pub open: usize,
}

/// The answer to "is it shown?", in sum and for each criterion.
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Verdict {
    /// Whether the criteria let it into review.
    pub ready_for_review: bool,
    /// Whether they let it be done, and no check waits for a person's word.
    pub ready_for_done: bool,
    /// How many stand how.
    pub counts: VerdictCounts,
    /// Each of them.
    pub criteria: Vec<CriterionVerdict>,
}

/// How far an item is shown to be done, where nobody has looked at the work tree; without criteria there is nothing to show.
pub fn verdict(brief: Option<&Brief>) -> Verdict {
    verdict_seen(brief, Seen::NotAsked)
}

/// The same where the work tree matters.
pub fn verdict_seen(brief: Option<&Brief>, seen: Seen<'_>) -> Verdict {
    let criteria: Vec<CriterionVerdict> = brief
        .into_iter()
        .flat_map(|brief| brief.acceptance_criteria.iter().map(|criterion| one(brief, criterion, seen)))
        .collect();
    let mut counts = VerdictCounts::default();
    for criterion in &criteria {
        match criterion.status {
            Standing::Pass => counts.pass += 1,
            Standing::Fail => counts.fail += 1,
            Standing::Open | Standing::Stale => counts.open += 1,
        }
    }
    Verdict {
        ready_for_review: brief.is_none_or(|brief| unproved_seen(brief, Stage::Review, seen).is_empty()),
        ready_for_done: brief.is_none_or(|brief| {
            unproved_seen(brief, Stage::Success, seen).is_empty() && unattested(&brief.checks).is_empty()
        }),
        counts,
        criteria,
    }
}

/// What is known of the work tree that checks were made on.
#[derive(Clone, Copy, Debug)]
pub enum Seen<'l> {
    /// Nobody asks: what was shown of a tree counts as shown.
    NotAsked,
    /// It counts only on the tree that somebody looked at; not at all where nobody did.
    Tree(Option<&'l Look>),
}

/// How a criterion stands: what only checks have shown counts for as long as one of them holds.
pub fn standing_of(brief: &Brief, criterion: &Criterion, seen: Seen<'_>) -> Standing {
    let stands = criterion.standing();
    let by_check = criterion.settled_by().is_some_and(|evidence| evidence.authority == Authority::Check);
    if stands != Standing::Pass || !by_check {
        return stands;
    }
    let holds = |check: &Check| match seen {
        Seen::NotAsked => check.standing() == CheckStanding::Pass,
        Seen::Tree(look) => crate::checks::standing(check, look) == CheckStanding::Pass,
    };
    let mut proofs =
        brief.checks.iter().filter(|check| check.proves == Some(criterion.id) && check.current().is_some()).peekable();
    if proofs.peek().is_none() || proofs.any(holds) { stands } else { Standing::Stale }
}

/// Whether what a brief comes to depends on the work tree: a check has shown one of its criteria.
pub fn rests_on_checks(brief: &Brief) -> bool {
    let seen = Seen::Tree(None);
    brief.acceptance_criteria.iter().any(|one| one.standing() != standing_of(brief, one, seen))
}

fn one(brief: &Brief, criterion: &Criterion, seen: Seen<'_>) -> CriterionVerdict {
    let settled = criterion.settled_by();
    CriterionVerdict {
        id: criterion.id,
        text: criterion.text.clone(),
        status: standing_of(brief, criterion, seen),
        verifier: criterion.verifier,
        hard: criterion.hard,
        instructions: criterion.instructions.clone(),
        settled_by: settled.map(|evidence| evidence.authority),
        note: settled.and_then(|evidence| evidence.note.clone()),
    }
}

/// How far a move goes, as the staged gate sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    /// Into review: what the agent itself must show.
    Review,
    /// Into success: everything.
    Success,
}

/// The hard criteria that keep an item from a stage. One that a check proves is shown by that check, which is made before
/// success: nobody has to say so first.
pub fn unproved(brief: &Brief, stage: Stage) -> Vec<&Criterion> {
    unproved_seen(brief, stage, Seen::NotAsked)
}

/// The same where the work tree matters.
pub fn unproved_seen<'b>(brief: &'b Brief, stage: Stage, seen: Seen<'_>) -> Vec<&'b Criterion> {
    let by_check = |criterion: &Criterion| brief.checks.iter().any(|check| check.proves == Some(criterion.id));
    let asked = |criterion: &&Criterion| match stage {
        Stage::Review => criterion.verifier == Authority::Agent && !by_check(criterion),
        Stage::Success => true,
    };
    let open = |criterion: &&Criterion| criterion.hard && standing_of(brief, criterion, seen) != Standing::Pass;
    brief.acceptance_criteria.iter().filter(asked).filter(open).collect()
}

/// Checks that a person has not said to hold, with their places.
pub fn unattested(checks: &[Check]) -> Vec<(usize, Text)> {
    let waits = |check: &Check| !check.kind.is_runnable() && check.standing() != CheckStanding::Pass;
    let waiting = checks.iter().enumerate().filter(|(_, check)| waits(check));
    waiting.map(|(index, check)| (index, check.desc.clone())).collect()
}

/// What of an item waits for a person. A sign-off waits once the work is in review; where the workflow has no review, while
/// it is worked on, for there is no later place to ask for it.
pub fn inbox(workflow: &Workflow, item: &Item, question_is_open: bool) -> Inbox {
    let in_review = item.role == Role::Review;
    let is_asked = in_review || (item.role == Role::Work && !workflow.has_review());
    Inbox::default()
        .with(Inbox::QUESTION, question_is_open)
        .with(Inbox::SIGN_OFF, is_asked && item.derived.sections.has(Sections::UNSIGNED))
        .with(Inbox::REVIEW, in_review)
        .with(Inbox::ATTENTION, item.attention.is_some())
}
