//! Begins work on an item: claims it and moves it into work, as one unit.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use super::advance::refusal_error;
use super::claim::{Held, place, release_oldest};
use crate::access::{Needs, Profile, Reach};
use crate::engine::{Call, Cascade, Command, Decision, Draft, move_item};
use crate::error::{Code, Error, Gate, Kind, Reason, Refusal};
use crate::gates::Caller;
use crate::model::{Inbox, Item, ItemId, ItemRef, Name, Role, Trigger, Ttl};
use crate::store::{Around, EdgeReach, NoteReach, ProjectRef, Scope, Slice};
use crate::workflow::{Target, Transitions};

/// Begins work on an item by name: also on one that is not offered because other work replaces or repeats it.
#[derive(Clone, Debug, Serialize)]
pub struct Begin {
    /// The project the item is looked up in.
    pub project: ProjectRef,
    /// The item.
    pub item: ItemRef,
    /// How long; the workflow's default where nothing is said.
    pub ttl: Option<Ttl>,
}

/// How an item was brought into work.
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Started {
    /// The status it had.
    pub from_status: Name,
    /// The status it has.
    pub to_status: Name,
    /// What moved with it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub cascades: Vec<Cascade>,
    /// Why it was left where it was: notes that must be written first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub refusals: Vec<Refusal>,
}

/// Work that was begun.
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Begun {
    /// The claim.
    pub held: Held,
    /// How it was brought into work.
    pub started: Started,
    /// Earlier claims that ended because the agent may hold no more.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub auto_released: Vec<ItemId>,
}

/// What is to be seen of an item that starts.
pub(super) fn around() -> Around {
    Around { ancestors: true, edges: EdgeReach::Shown, notes: NoteReach::Heads, briefs: true, ..Around::default() }
}

impl Command for Begin {
    type Output = Begun;
    const NAME: &'static str = "begin";
    const NEEDS: Needs = Needs::new(Profile::Worker, Reach::Item);

    fn scope(&self, call: &Call) -> Scope {
        Scope {
            project: self.project.clone(),
            items: vec![self.item.clone()],
            around: around(),
            held_by: call.holder().into_iter().collect(),
            ..Scope::default()
        }
    }

    fn decide(&self, call: &Call, seen: &Slice) -> Result<Decision<Begun>, Error> {
        let holder = call.holder()?;
        let mut draft = Draft::new(call, seen);
        let item = seen.resolve(&self.item)?.clone();
        let begun = begin(&mut draft, &item, &holder, self.ttl)?;
        Ok(Decision::done(draft.finish(), begun))
    }
}

/// Claims an item and moves it into work.
pub(super) fn begin(draft: &mut Draft<'_>, item: &Item, holder: &Name, ttl: Option<Ttl>) -> Result<Begun, Error> {
    check(draft, item, holder)?;
    let held = place(draft, item.id, holder, ttl)?;
    let auto_released = release_oldest(draft, holder, &BTreeSet::from([item.id]))?;
    let started = start(draft, item, holder)?;
    Ok(Begun { held, started, auto_released })
}

fn check(draft: &Draft<'_>, item: &Item, holder: &Name) -> Result<(), Error> {
    if !item.role.is_open() {
        let message = "the item is closed: reopen it first";
        return Err(Error { contended_item: Some(item.id), ..Error::conflict(Reason::Terminal, message) });
    }
    if let Some(other) = item.live_claim(draft.now).filter(|claim| claim.holder != *holder) {
        let message = "the item is claimed by somebody else";
        return Err(Error {
            retry_after_ms: other.remaining_ms(draft.now),
            contended_item: Some(item.id),
            ..Error::new(Kind::Transient, Code::Conflict, Reason::AlreadyClaimed, message)
        });
    }
    let project = draft.project_of(item)?;
    if project.workflow.status(&item.status).is_none_or(|status| !status.claimable) {
        let message = format!("the status {} is not one to work in", item.status);
        let remedy = format!("move it on from {} when it is clear what is to be done", item.status);
        let refusal = Refusal { reason: Some(Reason::NotReady), ..Refusal::new(Gate::Transition, message, remedy) };
        return Err(Error { contended_item: Some(item.id), ..Error::blocked("start refused", vec![refusal]) });
    }
    Ok(())
}

/// Whether an item that was put aside is begun where it stands: where every move is free, nothing has to bring it back first, unless
/// somebody's answer does.
fn stays_aside(draft: &Draft<'_>, item: &Item) -> Result<bool, Error> {
    let free = draft.project_of(item)?.workflow.transitions == Transitions::Free;
    Ok(free && item.role == Role::Blocked && !item.derived.inbox.has(Inbox::QUESTION))
}

/// Moves an item that the holder has just claimed into work, if it is not there. Notes that are missing leave it where it
/// is, for its holder to write them; whatever else is in the way is an error.
pub(super) fn start(draft: &mut Draft<'_>, before: &Item, holder: &Name) -> Result<Started, Error> {
    let stays = |refusals| Started {
        from_status: before.status.clone(),
        to_status: before.status.clone(),
        cascades: Vec::new(),
        refusals,
    };
    if matches!(before.role, Role::Work | Role::Review) || stays_aside(draft, before)? {
        return Ok(stays(Vec::new()));
    }
    let target = Target::Trigger(Trigger::Start);
    let caller = Caller { holder: holder.clone(), stated: true, keyed: false, fence: None };
    match move_item(draft, before.id, &target, caller, None, None)? {
        Ok(moved) => Ok(Started {
            from_status: moved.from_status,
            to_status: moved.to_status,
            cascades: moved.cascades,
            refusals: Vec::new(),
        }),
        Err(refusals) if refusals.iter().all(|refusal| refusal.gate == Gate::Notes) => Ok(stays(refusals)),
        Err(refusals) => Err(refusal_error(before.id, &target, refusals)),
    }
}
