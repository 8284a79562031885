//! Completes an item that the caller holds, with what came of it and what was learned.

use serde::{Deserialize, Serialize};
use serde_json::Map;

use super::knowledge::{Learning, check_learnings, learn};
use super::progress::must_hold;
use super::remark::add;
use super::run::around;
use super::submit::{HandedIn, hand_in, have_shown};
use crate::access::{Needs, Profile, Reach};
use crate::engine::{Call, Command, Decision, Draft};
use crate::error::Error;
use crate::model::{CommentId, EntryId, Item, ItemId, ItemRef, Role, Run, Text, Timestamp, Verb, VerificationKind};
use crate::store::{KnowledgeReach, ProjectRef, Scope, Slice};

/// Completes an item; for its holder, and for whoever held it last and handed it over for review.
#[derive(Clone, Debug, Serialize)]
pub struct Complete {
    /// The project the item is looked up in.
    pub project: ProjectRef,
    /// The item.
    pub item: ItemRef,
    /// What came of it.
    pub output: Option<Text>,
    /// What was learned by it: each becomes an entry of the knowledge.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub learnings: Vec<Learning>,
}

/// What became of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Completed {
    /// The item as it was then, without its long texts.
    pub item: Item,
    /// When that was.
    pub at: Timestamp,
    /// What is asked for before it counts as done.
    pub verification: VerificationKind,
    /// About how long until that is known, in seconds; nothing where a person decides.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub eta_seconds: Option<u32>,
    /// The runs that wait for a runner.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub runs: Vec<Run>,
    /// What came of it, as a comment.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub comment: Option<CommentId>,
    /// The entries that were kept of what was learned.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub entries: Vec<EntryId>,
}

impl Command for Complete {
    type Output = Completed;
    const NAME: &'static str = "complete";
    const NEEDS: Needs = Needs::new(Profile::Worker, Reach::Item);

    fn scope(&self, _call: &Call) -> Scope {
        let knowledge = KnowledgeReach { count: !self.learnings.is_empty(), ..KnowledgeReach::default() };
        let items = vec![self.item.clone()];
        Scope { project: self.project.clone(), items, around: around(), knowledge, ..Scope::default() }
    }

    fn decide(&self, call: &Call, seen: &Slice) -> Result<Decision<Completed>, Error> {
        let mut draft = Draft::new(call, seen);
        let item = seen.resolve(&self.item)?;
        let id = item.id;
        // Who handed it over for review and nobody has taken it since may still say what came of it.
        let holder = call.holder()?;
        let last = item.role == Role::Review && item.claim.as_ref().is_some_and(|claim| claim.holder == holder);
        if !last {
            must_hold(&draft, item)?;
        }
        check_learnings(&self.learnings)?;
        let entries = learn(&mut draft, id, &self.learnings)?;
        let (comment, _) = add(&mut draft, id, self.output.as_ref(), &[])?;
        let (verification, runs) = end(&mut draft, id)?;
        let item = draft.expect(id)?;
        if item.role.is_open() && item.claim.is_some() {
            // Its part is done: whoever shows or reviews it need not wait until the lease runs out.
            draft.set_claim(id, None, false);
            draft.record(Verb::Released, id, None, Map::new());
        }
        let completed = Completed {
            item: draft.expect(id)?.brief(),
            at: draft.now,
            verification,
            eta_seconds: verification.eta_seconds(),
            runs,
            comment,
            entries,
        };
        Ok(Decision::done(draft.finish(), completed))
    }
}

/// Hands the item in, unless that is done already.
fn end(draft: &mut Draft<'_>, id: ItemId) -> Result<(VerificationKind, Vec<Run>), Error> {
    let brief = draft.brief(id).cloned().unwrap_or_default();
    let verification = VerificationKind::of(&brief.checks);
    if draft.expect(id)?.role != Role::Review || verification == VerificationKind::None {
        let HandedIn { verification, runs, .. } = hand_in(draft, id, None)?;
        return Ok((verification, runs));
    }
    let runs = if brief.closes_when_shown { Vec::new() } else { have_shown(draft, id)? };
    Ok((verification, runs))
}
