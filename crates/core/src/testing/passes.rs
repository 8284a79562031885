//! Whether what moved was let pass: each move as the record tells it, against the rows as they stood at that moment.
//!
//! It goes by what gates promise, not by how they decide it, and by events alone: whatever way a move came in by, its number
//! says what was true then.

use crate::contract::{Stage, unproved};
use crate::error::Gate;
use crate::model::{CheckStanding, Edge, EdgeKind, Event, Item, Outcome, Role, Trigger, Verb};
use crate::replay::Replayed;
use crate::workflow::{ChecksWhen, NoteRule, WaitsWhen, Workflow};

/// The gates that a move went past although they were not open; `was` is the item before it, `now` is everything after.
pub(super) fn passed_by(now: &Replayed, was: &Item, event: &Event) -> Vec<Gate> {
    let Some(item) = now.items.get(&was.id).filter(|_| event.verb == Verb::Moved) else { return Vec::new() };
    let anew = was.role != item.role || was.outcome != item.outcome;
    let ended = anew && item.role == Role::Terminal;
    let done = ended && item.outcome == Some(Outcome::Success);
    let project = now.projects.get(&item.project).expect("a project on record");
    let workflow = &project.workflow;
    // What a close by force may go past is the path: what must be shown is shown all the same.
    let forced = event.data["forced"] == true;
    let mut shut = Vec::new();
    let mut is_shut = |gate, shut_now: bool| {
        if workflow.has_gate(gate) && shut_now {
            shut.push(gate);
        }
    };
    is_shut(Gate::Dependencies, !forced && looks(workflow, was, ended, done) && waits(now, item));
    is_shut(Gate::Notes, !forced && done && owes_notes(now, was, event));
    is_shut(Gate::Descendants, !forced && ended && has_open_child(now, item));
    is_shut(Gate::Criteria, anew && owes_criteria(now, item));
    let asks_for_checks = match workflow.checks_when {
        ChecksWhen::Success => done,
        ChecksWhen::Closed => ended,
    };
    is_shut(Gate::Checks, asks_for_checks && owes_checks(now, item));
    shut
}

/// Whether the gate `dependencies` looks at the end of an item.
fn looks(workflow: &Workflow, was: &Item, ended: bool, done: bool) -> bool {
    match workflow.waits_when {
        WaitsWhen::Forward => done,
        WaitsWhen::Leaving => ended && was.status == workflow.initial,
    }
}

fn waits(now: &Replayed, item: &Item) -> bool {
    let holds_up = |edge: &&Edge| edge.kind == EdgeKind::Blocks && edge.to == item.id;
    let far_enough = |edge: &Edge| now.items[&edge.from].role.has_reached(edge.threshold());
    now.edges.values().filter(holds_up).any(|edge| !far_enough(edge))
}

/// Required notes that are not there, written for the phase that asks for them: of the phase that a start leaves, of all phases
/// for any other close.
fn owes_notes(now: &Replayed, was: &Item, event: &Event) -> bool {
    let project = &now.projects[&was.project];
    let Some(schema) = project.schemas.resolve(was) else { return false };
    let phase = (event.data["trigger"] == Trigger::Start.as_str()).then(|| project.workflow.role_before(was));
    let there = |rule: &NoteRule| {
        let written = now.notes.get(&(was.id, rule.key.clone()));
        written.is_some_and(|note| note.phase == rule.phase && !note.body.is_blank())
    };
    let owed = |rule: &&NoteRule| rule.required && phase.is_none_or(|phase| rule.phase == phase);
    schema.notes.iter().copied().filter(owed).any(|rule| !there(rule))
}

fn has_open_child(now: &Replayed, item: &Item) -> bool {
    now.items.values().any(|child| child.parent == Some(item.id) && child.role.is_open())
}

fn owes_criteria(now: &Replayed, item: &Item) -> bool {
    let stage = match (item.role, item.outcome) {
        (Role::Review, _) => Stage::Review,
        (Role::Terminal, Some(Outcome::Success)) => Stage::Success,
        (Role::Terminal | Role::Queue | Role::Work | Role::Blocked, _) => return false,
    };
    now.briefs.get(&item.id).is_some_and(|brief| !unproved(brief, stage).is_empty())
}

/// Which work tree was looked at is in no event: what did not hold of any tree was let pass.
fn owes_checks(now: &Replayed, item: &Item) -> bool {
    let brief = now.briefs.get(&item.id);
    brief.is_some_and(|brief| brief.checks.iter().any(|check| check.standing() != CheckStanding::Pass))
}
