//! Ends a piece of work in one go: the last comment, links, the agent's own verification, and the move. What has checks is handed in.

use serde::{Deserialize, Serialize};

use super::advance::{Applied, MoveRequest, MoveResult, advance};
use super::guard;
use super::knowledge::{Learning, check_learnings, learn};
use super::remark::{NewLink, add};
use super::run::around;
use super::submit::{give_back, have_shown, pending};
use super::verify::{Proof, take_proofs};
use crate::access::{Needs, Profile, Reach};
use crate::contract::{Verdict, verdict};
use crate::engine::{Call, Command, Decision, Draft};
use crate::error::{Error, Gate, Reason, Refusal};
use crate::model::{
    Authority, CommentId, EntryId, Fence, Item, ItemId, ItemRef, LinkId, Role, Run, Text, Trigger, VerificationKind,
};
use crate::store::{Around, ChangeSet, KnowledgeReach, ProjectRef, Scope, Slice};
use crate::workflow::Target;

/// Ends a piece of work, or says what would become of it.
#[derive(Clone, Debug, Serialize)]
pub struct Finish {
    /// The project the item is looked up in.
    pub project: ProjectRef,
    /// The item.
    pub item: ItemRef,
    /// The last word.
    pub comment: Option<Text>,
    /// What shows the work.
    pub links: Vec<NewLink>,
    /// What the agent verified itself.
    pub proofs: Vec<Proof>,
    /// What was learned by it: each becomes an entry of the knowledge.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub learnings: Vec<Learning>,
    /// Where it goes. Where nothing is said it goes on, and what must still be shown is handed in by it.
    pub target: Option<Target>,
    /// The fence of the caller's claim.
    pub fence: Option<Fence>,
    /// Whether it is only said what would happen.
    pub preview: bool,
}

/// What was done, or would be.
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Finished {
    /// The item.
    pub item: ItemId,
    /// Whether it was done; a preview does nothing.
    pub applied: bool,
    /// The move.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub moved: Option<Box<Applied>>,
    /// What keeps it from moving; only in a preview, for otherwise that is an error.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub blockers: Vec<Refusal>,
    /// How far it is shown.
    pub verdict: Verdict,
    /// The comment.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub comment: Option<CommentId>,
    /// The links.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub links: Vec<LinkId>,
    /// The entries that were kept of what was learned.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub entries: Vec<EntryId>,
    /// That it was handed in: it closes when what its checks ask for is shown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub handed_in: Option<Box<Pending>>,
}

/// What work that was handed in waits for.
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Pending {
    /// What is asked for before it counts as done.
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
}

impl Command for Finish {
    type Output = Finished;
    const NAME: &'static str = "finish";
    const NEEDS: Needs = Needs::new(Profile::Worker, Reach::Item);

    fn scope(&self, _call: &Call) -> Scope {
        let around = Around { links: !self.links.is_empty(), ..around() };
        let knowledge = KnowledgeReach { count: !self.learnings.is_empty(), ..KnowledgeReach::default() };
        Scope { project: self.project.clone(), items: vec![self.item.clone()], around, knowledge, ..Scope::default() }
    }

    fn decide(&self, call: &Call, seen: &Slice) -> Result<Decision<Finished>, Error> {
        let mut draft = Draft::new(call, seen);
        let item = seen.resolve(&self.item)?;
        let id = item.id;
        guard(&draft, item, None, self.fence)?;
        let astray = self.astray(item);
        if let Some(refusal) = astray.as_ref().filter(|_| !self.preview) {
            let message = format!("{}: {}", refusal.message, refusal.remedy);
            let error = Error::conflict(Reason::NotReady, message).at("to");
            return Err(Error { contended_item: Some(id), ..error });
        }
        if !self.proofs.is_empty() {
            take_proofs(&mut draft, id, &self.proofs, Authority::Agent)?;
        }
        check_learnings(&self.learnings)?;
        let entries = learn(&mut draft, id, &self.learnings)?;
        let (comment, links) = add(&mut draft, id, self.comment.as_ref(), &self.links)?;
        let target = self.target.clone().unwrap_or(Target::Trigger(Trigger::Start));
        let request = MoveRequest { fence: self.fence, ..MoveRequest::of(ItemRef::Id(id), target) };
        let (mut moved, blockers) = match astray {
            Some(refusal) => (None, vec![refusal]),
            None => match advance(&mut draft, id, &request)? {
                MoveResult::Applied(applied) => (Some(applied), Vec::new()),
                MoveResult::Refused(refused) if self.preview && !refused.error.refusals.is_empty() => {
                    (None, refused.error.refusals)
                }
                MoveResult::Refused(refused) => return Err(self.refused(refused.error)),
            },
        };
        let handed_in = if blockers.is_empty() { self.hand_in(&mut draft, id)?.map(Box::new) } else { None };
        if draft.expect(id)?.role == Role::Review {
            give_back(&mut draft, id)?;
        }
        if let Some(moved) = &mut moved {
            // What came after the move is part of it for whoever reads the answer.
            moved.version = draft.expect(id)?.version;
        }
        let finished = Finished {
            item: id,
            applied: !self.preview,
            moved,
            blockers,
            verdict: verdict(draft.brief(id)),
            comment: comment.filter(|_| !self.preview),
            links: if self.preview { Vec::new() } else { links },
            entries: if self.preview { Vec::new() } else { entries },
            handed_in,
        };
        let changes = if self.preview { ChangeSet::default() } else { draft.finish() };
        Ok(Decision::done(changes, finished))
    }
}

impl Finish {
    /// Why it cannot be told where the item goes, where nobody said. Who tries again what has worked must not approve its own review.
    fn astray(&self, item: &Item) -> Option<Refusal> {
        let (message, remedy) = match item.role {
            Role::Review => ("the item is in review", "say where it goes from there"),
            Role::Queue | Role::Blocked => ("the item is not in work", "begin it before finishing it"),
            Role::Work | Role::Terminal => return None,
        };
        self.target.is_none().then(|| Refusal::new(Gate::Transition, message, remedy))
    }

    /// Hands in what has come to review with checks on it, as by `Submit`: nobody need come back to close it. Whoever says where the
    /// work goes moves it there, and no more.
    fn hand_in(&self, draft: &mut Draft<'_>, id: ItemId) -> Result<Option<Pending>, Error> {
        let verification = VerificationKind::of(draft.brief(id).map_or(&[][..], |brief| &brief.checks));
        let reviewed = draft.expect(id)?.role == Role::Review;
        if self.target.is_some() || !reviewed || verification == VerificationKind::None {
            return Ok(None);
        }
        let mut runs = have_shown(draft, id)?;
        if self.preview {
            // They are not ordered by it.
            runs.clear();
        }
        Ok(Some(pending(draft, id, verification, runs)))
    }

    /// A refusal in the caller's words: whoever finishes did not say what moves the item.
    fn refused(&self, error: Error) -> Error {
        match error.message.strip_prefix("start refused").filter(|_| self.target.is_none()) {
            Some(rest) => Error { message: format!("finish refused{rest}"), ..error },
            None => error,
        }
    }
}
