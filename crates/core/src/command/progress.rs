//! Says how far the holder of an item has come: the move, the note and the lease are one unit.

use serde::{Deserialize, Serialize};
use serde_json::Map;

use super::claim::{as_before, place};
use super::remark::add;
use super::run::around;
use super::session::hear_of;
use super::submit::{have_shown, into_review, step};
use crate::access::{Needs, Profile, Reach};
use crate::engine::{Call, Command, Decision, Draft};
use crate::error::{Code, Error, Kind, Reason};
use crate::model::{Claim, CommentId, Item, ItemId, ItemRef, Role, Run, Text, Timestamp, Verb, VerificationKind};
use crate::store::{Around, ProjectRef, Scope, Slice};
use crate::workflow::Target;

/// How far it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Stage {
    /// It is being worked on; said again, it is a sign of life.
    Work,
    /// It is handed over: what its contract asks for is made, and it closes when that is shown; a person decides otherwise.
    Review,
}

/// Says how far an item is; for its holder alone.
#[derive(Clone, Debug, Serialize)]
pub struct Progress {
    /// The project the item is looked up in.
    pub project: ProjectRef,
    /// The item.
    pub item: ItemRef,
    /// How far it is.
    pub to: Stage,
    /// A word about it: kept with the move, and as a comment where nothing moves.
    pub note: Option<Text>,
    /// Whether the lease is extended.
    pub renew: bool,
}

/// The item after it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Progressed {
    /// The item as it was then, without its long texts.
    pub item: Item,
    /// When that was.
    pub at: Timestamp,
    /// The runs that wait for a runner.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub runs: Vec<Run>,
    /// The note, where it became a comment.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub comment: Option<CommentId>,
}

impl Command for Progress {
    type Output = Progressed;
    const NAME: &'static str = "progress";
    const NEEDS: Needs = Needs::new(Profile::Worker, Reach::Item);

    fn scope(&self, _call: &Call) -> Scope {
        let around = Around { sessions: true, ..around() };
        Scope { project: self.project.clone(), items: vec![self.item.clone()], around, ..Scope::default() }
    }

    fn decide(&self, call: &Call, seen: &Slice) -> Result<Decision<Progressed>, Error> {
        let mut draft = Draft::new(call, seen);
        let item = seen.resolve(&self.item)?;
        let id = item.id;
        must_hold(&draft, item)?;
        if self.to == Stage::Work {
            hear_of(&mut draft, id)?;
        }
        if self.note.as_ref().is_some_and(Text::is_blank) {
            return Err(Error::validation(Reason::Blank, "note must not be blank").at("note"));
        }
        let mut comment = None;
        let mut runs = Vec::new();
        match (self.to, item.role) {
            (Stage::Work, Role::Work) | (Stage::Review, Role::Review) => {
                (comment, _) = add(&mut draft, id, self.note.as_ref(), &[])?;
            }
            (Stage::Work, _) => {
                let project = draft.project_of(item)?;
                let work = project.workflow.first_of(Role::Work).ok_or_else(|| {
                    Error::conflict(Reason::NotReady, "the workflow has no status in which work is done")
                })?;
                step(&mut draft, id, Target::Status(work.name.clone()), None, self.note.as_ref())?;
            }
            (Stage::Review, _) => {
                into_review(&mut draft, id, None, self.note.as_ref())?;
                let checks = draft.brief(id).map(|brief| brief.checks.clone()).unwrap_or_default();
                if VerificationKind::of(&checks) != VerificationKind::None {
                    runs = have_shown(&mut draft, id)?;
                }
                end_lease(&mut draft, id)?;
            }
        }
        if self.renew {
            renew(&mut draft, id)?;
        }
        let item = draft.expect(id)?.brief();
        let at = draft.now;
        Ok(Decision::done(draft.finish(), Progressed { item, at, runs, comment }))
    }
}

/// Refuses whoever does not hold an item that is open. What is over is told as such: nobody holds it any more.
pub(super) fn must_hold(draft: &Draft<'_>, item: &Item) -> Result<(), Error> {
    if !item.role.is_open() || item.is_held_by(&draft.call.holder()?, draft.now) {
        return Ok(());
    }
    let message = "the item is not claimed by the caller: claim it first";
    let error = Error::new(Kind::Permanent, Code::Conflict, Reason::NotClaimedByYou, message);
    Err(Error { contended_item: Some(item.id), ..error })
}

/// Ends the lease on work that is handed over, so that whoever reviews it need not wait; whose it was stays known.
fn end_lease(draft: &mut Draft<'_>, id: ItemId) -> Result<(), Error> {
    let item = draft.expect(id)?;
    let Some(claim) = item.claim.clone().filter(|_| item.role.is_open()) else { return Ok(()) };
    draft.set_claim(id, Some(Claim { expires_at: Some(draft.now), ..claim }), false);
    draft.record(Verb::Released, id, None, Map::new());
    Ok(())
}

/// Extends the lease by as long as it was given for, if it still runs.
fn renew(draft: &mut Draft<'_>, id: ItemId) -> Result<(), Error> {
    let holder = draft.call.holder()?;
    let item = draft.expect(id)?;
    let Some(claim) = item.live_claim(draft.now).filter(|claim| claim.holder == holder) else { return Ok(()) };
    let ttl = as_before(draft, claim);
    place(draft, id, &holder, ttl)?;
    Ok(())
}
