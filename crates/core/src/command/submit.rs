//! Hands work in: what its contract asks for decides whether it is done now or once that is shown.

use serde::{Deserialize, Serialize};
use serde_json::Map;

use super::advance::{Applied, MoveRequest, MoveResult, advance};
use super::checks::write_checks;
use super::finish::Pending;
use super::guard;
use super::knowledge::{Learning, check_learnings, learn};
use super::remark::add;
use super::run::{around, order_all};
use crate::access::{Needs, Profile, Reach};
use crate::engine::{Call, Command, Decision, Draft};
use crate::error::{Error, Reason};
use crate::model::{
    Brief, CommentId, EntryId, Fence, ItemId, ItemRef, Name, Role, Run, Text, Trigger, Verb, VerificationKind,
};
use crate::store::{KnowledgeReach, ProjectRef, Scope, Slice};
use crate::workflow::Target;

/// Hands work in.
#[derive(Clone, Debug, Serialize)]
pub struct Submit {
    /// The project the item is looked up in.
    pub project: ProjectRef,
    /// The item.
    pub item: ItemRef,
    /// What came of it.
    pub output: Option<Text>,
    /// What was learned by it: each becomes an entry of the knowledge.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub learnings: Vec<Learning>,
    /// The fence of the caller's claim.
    pub fence: Option<Fence>,
}

/// What became of it.
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Submitted {
    /// The item.
    pub item: ItemId,
    /// Its status.
    pub status: Name,
    /// Its role.
    pub role: Role,
    /// What was asked for before it counts as done.
    pub verification: VerificationKind,
    /// About how long until that is known, in seconds; nothing where a person decides.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub eta_seconds: Option<u32>,
    /// The runs that wait for a runner.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub runs: Vec<Run>,
    /// The checks that a runner waits with until somebody lets them run: by their places.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unapproved: Vec<usize>,
    /// The move; none where it was in review already, and its checks are made again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub moved: Option<Box<Applied>>,
    /// The item's version now.
    pub version: u64,
    /// What came of it, as a comment.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub comment: Option<CommentId>,
    /// The entries that were kept of what was learned.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub entries: Vec<EntryId>,
}

impl Command for Submit {
    type Output = Submitted;
    const NAME: &'static str = "submit";
    const NEEDS: Needs = Needs::new(Profile::Worker, Reach::Item);

    fn scope(&self, _call: &Call) -> Scope {
        let knowledge = KnowledgeReach { count: !self.learnings.is_empty(), ..KnowledgeReach::default() };
        let items = vec![self.item.clone()];
        Scope { project: self.project.clone(), items, around: around(), knowledge, ..Scope::default() }
    }

    fn decide(&self, call: &Call, seen: &Slice) -> Result<Decision<Submitted>, Error> {
        let mut draft = Draft::new(call, seen);
        let item = seen.resolve(&self.item)?;
        let id = item.id;
        guard(&draft, item, None, self.fence)?;
        check_learnings(&self.learnings)?;
        let entries = learn(&mut draft, id, &self.learnings)?;
        let (comment, _) = add(&mut draft, id, self.output.as_ref(), &[])?;
        let HandedIn { verification, runs, moved } = hand_in(&mut draft, id, self.fence)?;
        if verification != VerificationKind::None {
            give_back(&mut draft, id)?;
        }
        let Pending { eta_seconds, runs, unapproved, .. } = pending(&draft, id, verification, runs);
        let item = draft.expect(id)?;
        let submitted = Submitted {
            item: id,
            status: item.status.clone(),
            role: item.role,
            verification,
            eta_seconds,
            runs,
            unapproved,
            moved,
            version: item.version,
            comment,
            entries,
        };
        Ok(Decision::done(draft.finish(), submitted))
    }
}

/// What handing in came to.
pub(super) struct HandedIn {
    /// What is asked for before it counts as done.
    pub verification: VerificationKind,
    /// The runs that wait for a runner.
    pub runs: Vec<Run>,
    /// The move; none where it was in review already.
    pub moved: Option<Box<Applied>>,
}

/// Hands an item in: one of which nothing is asked for is done by it, any other waits in review and closes when it is shown. What is
/// in review already is shown there: its checks are made again, for whatever was mended.
pub(super) fn hand_in(draft: &mut Draft<'_>, id: ItemId, fence: Option<Fence>) -> Result<HandedIn, Error> {
    let verification = VerificationKind::of(&draft.brief(id).cloned().unwrap_or_default().checks);
    if verification == VerificationKind::None {
        let moved = step(draft, id, Target::Trigger(Trigger::Complete), fence, None)?;
        return Ok(HandedIn { verification, runs: Vec::new(), moved: Some(moved) });
    }
    let in_review = draft.expect(id)?.role == Role::Review;
    let moved = if in_review { None } else { Some(into_review(draft, id, fence, None)?) };
    let runs = have_shown(draft, id)?;
    Ok(HandedIn { verification, runs, moved })
}

/// Has an item in review close when everything it owes is shown, and orders the runs that show it.
pub(super) fn have_shown(draft: &mut Draft<'_>, id: ItemId) -> Result<Vec<Run>, Error> {
    let handed_in_at = draft.call.place.clone();
    let handed_in = Brief { closes_when_shown: true, handed_in_at, ..draft.brief(id).cloned().unwrap_or_default() };
    write_checks(draft, id, handed_in, Verb::ChecksSet, Map::new());
    order_all(draft, id)
}

/// What an item that was handed in waits for, with the runs that were ordered for it.
pub(super) fn pending(draft: &Draft<'_>, id: ItemId, verification: VerificationKind, runs: Vec<Run>) -> Pending {
    let unapproved = draft.brief(id).map(|brief| draft.call.allowed.barred(&brief.checks)).unwrap_or_default();
    Pending { verification, eta_seconds: verification.eta_seconds(), runs, unapproved }
}

/// Ends the caller's own claim. Its part is done: whoever shows or reviews the item need not wait until the lease runs out.
pub(super) fn give_back(draft: &mut Draft<'_>, id: ItemId) -> Result<(), Error> {
    if draft.expect(id)?.is_held_by(&draft.call.holder()?, draft.now) {
        draft.set_claim(id, None, false);
        draft.record(Verb::Released, id, None, Map::new());
    }
    Ok(())
}

/// Moves an item to where the workflow reviews. Ready work goes by way of work: whoever hands it in has done it, whether or not
/// it was said that it was begun.
pub(super) fn into_review(
    draft: &mut Draft<'_>,
    id: ItemId,
    fence: Option<Fence>,
    note: Option<&Text>,
) -> Result<Box<Applied>, Error> {
    let item = draft.expect(id)?;
    let ready = item.role == Role::Queue;
    let project = draft.project_of(item)?;
    let review = project.workflow.first_of(Role::Review).ok_or_else(|| {
        Error::conflict(Reason::NotReady, "the workflow has no status in which work waits to be shown")
    })?;
    let begun = if ready { Some(step(draft, id, Target::Trigger(Trigger::Start), fence, None)?) } else { None };
    let mut moved = step(draft, id, Target::Status(review.name.clone()), fence, note)?;
    if let Some(begun) = begun {
        // Two steps, told as the one that was asked for.
        moved.from_role = begun.from_role;
        moved.from_status = begun.from_status;
        moved.cascades.splice(0..0, begun.cascades);
        moved.unblocked.splice(0..0, begun.unblocked);
    }
    Ok(moved)
}

/// Moves an item, or says why it does not move.
pub(super) fn step(
    draft: &mut Draft<'_>,
    id: ItemId,
    target: Target,
    fence: Option<Fence>,
    note: Option<&Text>,
) -> Result<Box<Applied>, Error> {
    let request = MoveRequest { fence, summary: note.cloned(), ..MoveRequest::of(ItemRef::Id(id), target) };
    match advance(draft, id, &request)? {
        MoveResult::Applied(applied) => Ok(applied),
        MoveResult::Refused(refused) => Err(refused.error),
    }
}
