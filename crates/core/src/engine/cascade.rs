//! Moving an item, and what that moves in turn: parents start with their first child, close with their last and open
//! again with a reopened one.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::Draft;
use super::difference::label_after;
use crate::error::{Error, Reason, Refusal};
use crate::gates::{Attempt, Caller, evaluate, evaluate_forced, renew, wants_running};
use crate::limits;
use crate::model::{Attribution, EdgeKind, Fence, Item, ItemId, Name, Role, Trigger, Verb};
use crate::workflow::{Lifecycle, Move, ReviewPhase, Status, Target, Workflow};

/// A move that the engine made, or could not make, because a relative moved.
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Cascade {
    /// The relative.
    pub item: ItemId,
    /// Its title.
    pub title: String,
    /// Where it stood.
    pub from_role: Role,
    /// Where it stands, or would.
    pub to_role: Role,
    /// Whether it moved.
    pub applied: bool,
    /// Its label afterwards.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub label: Option<Name>,
    /// Why it did not move.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub refusals: Vec<Refusal>,
}

/// A move that was made.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Moved {
    /// The trigger it counted as.
    pub trigger: Trigger,
    /// Where it stood.
    pub from_role: Role,
    /// Where it stands.
    pub to_role: Role,
    /// The status it left.
    pub from_status: Name,
    /// The status it has.
    pub to_status: Name,
    /// What moved with it.
    pub cascades: Vec<Cascade>,
    /// Open items that nothing blocks any more.
    pub unblocked: Vec<ItemId>,
}

/// Moves an item if every gate lets it, without cascades: for sets whose members are all moved in their own right.
pub(crate) fn move_alone(
    draft: &mut Draft<'_>,
    id: ItemId,
    target: &Target,
    caller: Caller,
) -> Result<Result<(), Vec<Refusal>>, Error> {
    Ok(step(draft, id, target, Some(caller), None, None, &mut Waiting::default())?.map(|_| ()))
}

/// Closes an item past the path of its workflow, without cascades. Only what others hold and what is not shown refuse it.
pub(crate) fn force_alone(
    draft: &mut Draft<'_>,
    id: ItemId,
    cancel: bool,
    caller: Caller,
) -> Result<Result<(), Vec<Refusal>>, Error> {
    let item = draft.expect(id)?.clone();
    let project = draft.project_of(&item)?;
    let (to, trigger) = if cancel {
        (project.workflow.cancelled(), Trigger::Cancel)
    } else {
        (project.workflow.first_of(Role::Terminal), Trigger::Complete)
    };
    let to = to.ok_or_else(|| Error::not_found("the workflow has no such status"))?;
    let resolved = Ok(Move { to, trigger });
    let attempt = Attempt { item: &item, workflow: &project.workflow, resolved: &resolved, caller: Some(caller) };
    let refusals = evaluate_forced(draft, &attempt);
    have_checks_run(draft, &attempt, &refusals)?;
    if !refusals.is_empty() {
        return Ok(Err(refusals));
    }
    apply(draft, &item, to, trigger);
    // Whoever reads the record sees that the path was not asked for.
    let forced = Map::from_iter([("forced".to_owned(), Value::Bool(true))]);
    record(draft, &item, trigger, None, forced);
    Ok(Ok(()))
}

/// Closes the parents of a closed item whose children are all closed.
pub(crate) fn close_parents(draft: &mut Draft<'_>, id: ItemId) -> Result<Vec<Cascade>, Error> {
    let mut cascades = Vec::new();
    let parent = draft.expect(id)?.parent;
    climb_closed(draft, parent, &mut Waiting::default(), &mut cascades)?;
    Ok(cascades)
}

/// Moves an item if every gate lets it, with all cascades. Nothing has changed when it returns refusals.
pub fn move_item(
    draft: &mut Draft<'_>,
    id: ItemId,
    target: &Target,
    caller: Caller,
    by: Option<&Attribution>,
    summary: Option<&str>,
) -> Result<Result<Moved, Vec<Refusal>>, Error> {
    move_for(draft, id, target, Some(caller), by, summary)
}

/// The same on nobody's behalf: what was handed in closes when it is shown.
pub fn move_by_engine(
    draft: &mut Draft<'_>,
    id: ItemId,
    target: &Target,
) -> Result<Result<Moved, Vec<Refusal>>, Error> {
    move_for(draft, id, target, None, None, None)
}

fn move_for(
    draft: &mut Draft<'_>,
    id: ItemId,
    target: &Target,
    caller: Option<Caller>,
    by: Option<&Attribution>,
    summary: Option<&str>,
) -> Result<Result<Moved, Vec<Refusal>>, Error> {
    let mut waiting = Waiting::default();
    let (item, found) = match step(draft, id, target, caller, by, summary, &mut waiting)? {
        Ok(moved) => moved,
        Err(refusals) => return Ok(Err(refusals)),
    };
    let cascades = cascade(draft, &item, found.to_role, &mut waiting)?;
    Ok(Ok(Moved { cascades, unblocked: waiting.released(draft), ..found }))
}

/// One move through all gates; returns the item as it was and what was done.
fn step(
    draft: &mut Draft<'_>,
    id: ItemId,
    target: &Target,
    caller: Option<Caller>,
    by: Option<&Attribution>,
    summary: Option<&str>,
    waiting: &mut Waiting,
) -> Result<Result<(Item, Moved), Vec<Refusal>>, Error> {
    let item = draft.expect(id)?.clone();
    let project = draft.project_of(&item)?;
    let has_review = draft.schema(&project, &item).is_some_and(|schema| schema.has_review());
    let resolved = project.workflow.resolve(&item, target, has_review);
    let attempt = Attempt { item: &item, workflow: &project.workflow, resolved: &resolved, caller };
    let refusals = evaluate(draft, &attempt);
    have_checks_run(draft, &attempt, &refusals)?;
    let Ok(found) = resolved.as_ref() else { return Ok(Err(refusals)) };
    if !refusals.is_empty() {
        return Ok(Err(refusals));
    }
    waiting.watch(draft, id);
    apply(draft, &item, found.to, found.trigger);
    if ends_claim(&project.workflow, &item, found.to) {
        draft.set_claim(id, None, false);
    }
    let renewed = draft
        .item(id)
        .zip(attempt.caller.as_ref())
        .and_then(|(item, caller)| renew(project.workflow.claims, item, &caller.holder, draft.now));
    if let Some(claim) = renewed {
        draft.set_claim(id, Some(claim), false);
    }
    let said = summary.map(|summary| ("summary".to_owned(), Value::from(summary)));
    record(draft, &item, found.trigger, by, said.into_iter().collect());
    let moved = Moved {
        trigger: found.trigger,
        from_role: item.role,
        to_role: found.to.role,
        from_status: item.status.clone(),
        to_status: found.to.name.clone(),
        cascades: Vec::new(),
        unblocked: Vec::new(),
    };
    Ok(Ok((item, moved)))
}

/// Whether a move gives back what was held: in review it is for somebody else to say what becomes of it, and a claim would keep
/// them out. Where review is a phase of the work itself, which schemas ask for, whoever does it goes on; where claims keep nobody
/// out, they stay and say whose it is; and what is not handed out in review is given back by whoever hands it in.
fn ends_claim(workflow: &Workflow, item: &Item, to: &Status) -> bool {
    let enters = to.role == Role::Review && to.claimable && item.role != Role::Review;
    enters && workflow.claims.guarded && workflow.review_phase == ReviewPhase::Always && item.claim.is_some()
}

/// Gives the whole unit up, nothing written, where it lacks nothing but checks that the engine can have run: it does, and
/// tries again. A parent that follows its children is not worth that: it stays open and says why.
fn have_checks_run(draft: &Draft<'_>, attempt: &Attempt<'_>, refusals: &[Refusal]) -> Result<(), Error> {
    if !wants_running(draft, attempt, refusals) {
        return Ok(());
    }
    let error = Error::blocked("its checks are to be run first", refusals.to_vec());
    Err(Error { contended_item: Some(attempt.item.id), reason: Reason::ChecksNeeded, ..error })
}

/// Opens a closed parent again because an open item was put beneath it, where its lifecycle says so.
pub(crate) fn reopen_for_child(draft: &mut Draft<'_>, parent: ItemId) -> Result<Vec<Cascade>, Error> {
    let item = draft.expect(parent)?.clone();
    if item.role.is_open() || lifecycle(draft, &item)? != Lifecycle::AutoReopen {
        return Ok(Vec::new());
    }
    let mut cascades = Vec::new();
    climb_open(draft, Some(parent), Role::Terminal, &mut Waiting::default(), &mut cascades)?;
    Ok(cascades)
}

/// Items held up by something that moves, as they stood before.
#[derive(Debug, Default)]
struct Waiting(Vec<ItemId>);

impl Waiting {
    fn watch(&mut self, draft: &Draft<'_>, moving: ItemId) {
        let held_up = draft
            .edges_of(moving)
            .into_iter()
            .filter(|edge| edge.kind == EdgeKind::Blocks && edge.from == moving)
            .filter(|edge| draft.item(edge.to).is_some_and(|item| item.derived.blockers > 0))
            .map(|edge| edge.to);
        self.0.extend(held_up);
    }

    fn released(mut self, draft: &Draft<'_>) -> Vec<ItemId> {
        self.0.sort_unstable();
        self.0.dedup();
        self.0.retain(|id| draft.may_tell(*id));
        self.0.retain(|id| draft.item(*id).is_some_and(|item| item.derived.blockers == 0 && item.role.is_open()));
        self.0
    }
}

fn cascade(draft: &mut Draft<'_>, item: &Item, to: Role, waiting: &mut Waiting) -> Result<Vec<Cascade>, Error> {
    let mut cascades = Vec::new();
    if to == Role::Terminal {
        climb_closed(draft, item.parent, waiting, &mut cascades)?;
    } else if !item.role.is_open() {
        climb_open(draft, item.parent, Role::Terminal, waiting, &mut cascades)?;
    } else if to == Role::Work {
        climb_open(draft, item.parent, Role::Queue, waiting, &mut cascades)?;
    }
    Ok(cascades)
}

/// Closes parents whose children are all closed, up to the first that must stay open.
fn climb_closed(
    draft: &mut Draft<'_>,
    mut next: Option<ItemId>,
    waiting: &mut Waiting,
    cascades: &mut Vec<Cascade>,
) -> Result<(), Error> {
    for _ in 0..limits::DEPTH {
        let Some(parent) = next.and_then(|id| draft.item(id)).cloned() else { return Ok(()) };
        if !parent.role.is_open() || draft.has_open_child(parent.id) {
            return Ok(());
        }
        let lifecycle = lifecycle(draft, &parent)?;
        if !lifecycle.closes_with_children() {
            if lifecycle != Lifecycle::Permanent {
                hand_back(draft, &parent);
            }
            return Ok(());
        }
        let project = draft.project_of(&parent)?;
        let has_review = draft.schema(&project, &parent).is_some_and(|schema| schema.has_review());
        let resolved = project.workflow.resolve(&parent, &Target::Trigger(Trigger::Complete), has_review);
        let attempt = Attempt { item: &parent, workflow: &project.workflow, resolved: &resolved, caller: None };
        let refusals = evaluate(draft, &attempt);
        let reported = |applied, label, refusals| Cascade {
            item: parent.id,
            title: parent.title.to_string(),
            from_role: parent.role,
            to_role: Role::Terminal,
            applied,
            label,
            refusals,
        };
        match resolved.as_ref() {
            Ok(found) if refusals.is_empty() => {
                waiting.watch(draft, parent.id);
                apply(draft, &parent, found.to, Trigger::Cascade);
                record(draft, &parent, Trigger::Cascade, None, Map::new());
                cascades.push(reported(
                    true,
                    draft.item(parent.id).and_then(|item| item.status_label.clone()),
                    Vec::new(),
                ));
            }
            Ok(_) | Err(_) => {
                cascades.push(reported(false, None, refusals));
                hand_back(draft, &parent);
                return Ok(());
            }
        }
        next = parent.parent;
    }
    Ok(())
}

/// Leaves a parent that its children brought into work, and that stays open without them, to whoever takes it up: what is left
/// of it is nobody's. That it changes hands is what tells it from work that somebody does without a claim.
fn hand_back(draft: &mut Draft<'_>, parent: &Item) {
    if parent.role == Role::Work && parent.claim.is_none() && parent.fence == Fence(0) {
        draft.set_claim(parent.id, None, true);
        let by_itself = ("trigger".to_owned(), Value::from(Trigger::Cascade.as_str()));
        draft.record(Verb::Released, parent.id, None, Map::from_iter([by_itself]));
    }
}

/// Brings parents that stand at `from` to work: from the queue when a child starts, from closed when one is reopened. One that
/// is not to be handed out, because nobody has said yet what is to be done, stays where it is.
fn climb_open(
    draft: &mut Draft<'_>,
    mut next: Option<ItemId>,
    from: Role,
    waiting: &mut Waiting,
    cascades: &mut Vec<Cascade>,
) -> Result<(), Error> {
    for _ in 0..limits::DEPTH {
        let Some(parent) = next.and_then(|id| draft.item(id)).cloned() else { return Ok(()) };
        // One that is at work already is passed by: it may have been made so, and those above it wait for somebody to start.
        if from == Role::Queue && parent.role == Role::Work {
            next = parent.parent;
            continue;
        }
        if parent.role != from {
            return Ok(());
        }
        let project = draft.project_of(&parent)?;
        if from == Role::Queue && project.workflow.status(&parent.status).is_some_and(|status| !status.claimable) {
            return Ok(());
        }
        let Some(to) = project.workflow.first_of(Role::Work) else { return Ok(()) };
        waiting.watch(draft, parent.id);
        apply(draft, &parent, to, Trigger::Cascade);
        record(draft, &parent, Trigger::Cascade, None, Map::new());
        cascades.push(Cascade {
            item: parent.id,
            title: parent.title.to_string(),
            from_role: from,
            to_role: Role::Work,
            applied: true,
            label: draft.item(parent.id).and_then(|item| item.status_label.clone()),
            refusals: Vec::new(),
        });
        next = parent.parent;
    }
    Ok(())
}

fn lifecycle(draft: &Draft<'_>, item: &Item) -> Result<Lifecycle, Error> {
    let project = draft.project_of(item)?;
    let own = draft.schema(&project, item).and_then(|schema| schema.lifecycle);
    Ok(own.unwrap_or(project.workflow.close_parents))
}

fn apply(draft: &mut Draft<'_>, item: &Item, to: &Status, trigger: Trigger) {
    let label = draft.project(item.project).and_then(|project| label_after(&project, item, trigger, to));
    draft.set_status(item.id, to, label);
}

/// One event for the move: from where, by what, with whatever else is to be said of it.
fn record(
    draft: &mut Draft<'_>,
    before: &Item,
    trigger: Trigger,
    by: Option<&Attribution>,
    mut extra: Map<String, Value>,
) {
    extra.insert("trigger".to_owned(), Value::from(trigger.as_str()));
    extra.insert("fromRole".to_owned(), Value::from(before.role.as_str()));
    extra.insert("fromStatus".to_owned(), Value::from(before.status.as_str()));
    if let Some(after) = draft.item(before.id) {
        extra.insert("toRole".to_owned(), Value::from(after.role.as_str()));
    }
    draft.record(Verb::Moved, before.id, by, extra);
}
