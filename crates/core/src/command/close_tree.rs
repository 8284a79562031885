//! Closes everything beneath an item, or a list of items, blockers and children first.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use super::advance::refusal_error;
use super::{caller, check_batch, guard, may_close};
use crate::access::{Needs, Profile, Reach};
use crate::engine::{Call, Cascade, Command, Decision, Draft, close_parents, force_alone, move_alone};
use crate::error::{Error, Reason};
use crate::graph::topological;
use crate::limits;
use crate::model::{EdgeKind, Fence, ItemId, ItemRef, Name, Role, Trigger};
use crate::store::{Around, EdgeReach, NoteReach, ProjectRef, Scope, Slice};
use crate::workflow::Target;

/// What is to be closed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub enum What {
    /// Everything beneath this item; the item itself stays as it is.
    Beneath(ItemRef),
    /// These items.
    Items(Vec<ItemRef>),
    /// This item and everything beneath it, each by its own gates: what is refused stays open, and whatever waits for it.
    Tree(ItemRef),
    /// This item and everything beneath it, all or nothing. It is the one way past the workflow's path and what is missing on
    /// it; what must be shown must be shown all the same, and what others hold stays theirs.
    Whole(ItemRef),
}

/// Closes a set of items in dependency order.
#[derive(Clone, Debug, Serialize)]
pub struct CloseTree {
    /// The project the items are looked up in.
    pub project: ProjectRef,
    /// What is to be closed.
    pub what: What,
    /// Whether they are given up: then no note and no blocker is asked for.
    pub cancel: bool,
    /// The fence of the caller's claim on what is named; what lies beneath has fences of its own.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fence: Option<Fence>,
}

/// How one item of the set ended.
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum CloseOutcome {
    /// It was closed.
    Closed {
        /// Where it stood.
        #[serde(rename = "fromRole")]
        from_role: Role,
        /// Its label.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        label: Option<Name>,
    },
    /// A gate refused it.
    Refused(Box<Error>),
    /// It was closed already.
    AlreadyClosed,
    /// A blocker in the set stays open.
    BlockerRefused,
}

/// How one item ended.
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CloseResult {
    /// The item.
    pub item: ItemId,
    /// Its title.
    pub title: String,
    /// How it ended.
    pub outcome: CloseOutcome,
}

/// How the set ended, in the order in which it was closed.
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TreeClosed {
    /// One for each item.
    pub results: Vec<CloseResult>,
    /// What closed with it outside the set.
    pub cascades: Vec<Cascade>,
}

impl Command for CloseTree {
    type Output = TreeClosed;
    const NAME: &'static str = "close-tree";
    const NEEDS: Needs = Needs::new(Profile::Worker, Reach::Project);

    fn scope(&self, _call: &Call) -> Scope {
        let (items, subtree) = match &self.what {
            What::Beneath(root) | What::Tree(root) | What::Whole(root) => (vec![root.clone()], Some(limits::SUBTREE)),
            What::Items(items) => (items.clone(), None),
        };
        let around = Around {
            ancestors: true,
            subtree,
            open_children: Some(may_close(items.len())),
            edges: EdgeReach::Shown,
            notes: NoteReach::Heads,
            briefs: true,
            ..Around::default()
        };
        Scope { project: self.project.clone(), items, around, ..Scope::default() }
    }

    fn decide(&self, call: &Call, seen: &Slice) -> Result<Decision<TreeClosed>, Error> {
        let mut draft = Draft::new(call, seen);
        self.check_fence(&draft)?;
        let set = self.members(&draft)?;
        let blocks = blocks_inside(&draft, &set);
        let order: Vec<_> = blocks.iter().copied().chain(parents_inside(&draft, &set)).collect();
        let mut refused: BTreeSet<ItemId> = BTreeSet::new();
        let mut results = Vec::with_capacity(set.len());
        for id in topological(&set, &order) {
            // A parent whose child stays open is for its own gates to refuse, where the workflow has such a gate.
            let held_up = blocks.iter().any(|(from, to)| *to == id && refused.contains(from));
            let item = draft.expect(id)?;
            let title = item.title.to_string();
            let outcome = if !item.role.is_open() {
                CloseOutcome::AlreadyClosed
            } else if held_up && !self.cancel && !self.is_forced() {
                CloseOutcome::BlockerRefused
            } else {
                self.close(&mut draft, id)?
            };
            match &outcome {
                CloseOutcome::BlockerRefused | CloseOutcome::Refused(_) => {
                    refused.insert(id);
                }
                CloseOutcome::Closed { .. } | CloseOutcome::AlreadyClosed => {}
            }
            results.push(CloseResult { item: id, title, outcome });
        }
        if self.is_forced() {
            let refused = results.iter().find_map(|result| match &result.outcome {
                CloseOutcome::Refused(error) => Some((result.item, error)),
                CloseOutcome::Closed { .. } | CloseOutcome::AlreadyClosed | CloseOutcome::BlockerRefused => None,
            });
            if let Some((id, error)) = refused {
                let item = draft.expect(id)?;
                let key = draft.project_of(item)?.key(item.number);
                return Err(Error { message: format!("{key}: {}", error.message), ..Error::clone(error) });
            }
        }
        let cascades = self.cascades(&mut draft, &results)?;
        Ok(Decision::done(draft.finish(), TreeClosed { results, cascades }))
    }
}

impl CloseTree {
    fn is_forced(&self) -> bool {
        matches!(self.what, What::Whole(_))
    }

    fn check_fence(&self, draft: &Draft<'_>) -> Result<(), Error> {
        if self.fence.is_none() {
            return Ok(());
        }
        let named = match &self.what {
            What::Beneath(root) | What::Tree(root) | What::Whole(root) => std::slice::from_ref(root),
            What::Items(items) => items,
        };
        named.iter().try_for_each(|item| guard(draft, draft.seen.resolve(item)?, None, self.fence))
    }

    fn members(&self, draft: &Draft<'_>) -> Result<Vec<ItemId>, Error> {
        match &self.what {
            What::Beneath(root) | What::Tree(root) | What::Whole(root) => {
                let root = draft.seen.resolve(root)?.id;
                if draft.seen.subtree.truncated {
                    return Err(Error::validation(
                        Reason::GraphTooLarge,
                        format!("more than {} items lie beneath: close smaller parts", limits::SUBTREE),
                    ));
                }
                let mut set = draft.beneath(root);
                if !matches!(self.what, What::Beneath(_)) {
                    set.push(root);
                }
                Ok(set)
            }
            What::Items(items) => {
                check_batch("itemIds", items.len(), draft.call.access.limits.batch)?;
                let mut set = Vec::with_capacity(items.len());
                for item in items {
                    let id = draft.seen.resolve(item)?.id;
                    if !set.contains(&id) {
                        set.push(id);
                    }
                }
                Ok(set)
            }
        }
    }

    fn close(&self, draft: &mut Draft<'_>, id: ItemId) -> Result<CloseOutcome, Error> {
        let target = Target::Trigger(if self.cancel { Trigger::Cancel } else { Trigger::Complete });
        let who = caller(draft.call, None, None)?;
        let from_role = draft.expect(id)?.role;
        let moved = if self.is_forced() {
            force_alone(draft, id, self.cancel, who)?
        } else {
            move_alone(draft, id, &target, who)?
        };
        match moved {
            Err(refusals) => Ok(CloseOutcome::Refused(Box::new(refusal_error(id, &target, refusals)))),
            Ok(()) => Ok(CloseOutcome::Closed { from_role, label: draft.expect(id)?.status_label.clone() }),
        }
    }

    /// Parents outside the set close with their last child; the root of a subtree is its owner's to close.
    fn cascades(&self, draft: &mut Draft<'_>, results: &[CloseResult]) -> Result<Vec<Cascade>, Error> {
        if matches!(self.what, What::Beneath(_)) {
            return Ok(Vec::new());
        }
        let mut cascades = Vec::new();
        let members: BTreeSet<ItemId> = results.iter().map(|result| result.item).collect();
        for result in results {
            // A parent in the set was asked for itself.
            let parent = draft.item(result.item).and_then(|item| item.parent);
            let asked = matches!(self.what, What::Tree(_)) && parent.is_some_and(|parent| members.contains(&parent));
            if matches!(result.outcome, CloseOutcome::Closed { .. }) && !asked {
                cascades.extend(close_parents(draft, result.item)?);
            }
        }
        Ok(cascades)
    }
}

/// Blockers, with what they block.
fn blocks_inside(draft: &Draft<'_>, set: &[ItemId]) -> Vec<(ItemId, ItemId)> {
    let mut blocks = Vec::new();
    for id in set {
        let from_here =
            draft.edges_of(*id).into_iter().filter(|edge| edge.kind == EdgeKind::Blocks && edge.from == *id);
        blocks.extend(from_here.map(|edge| (edge.from, edge.to)));
    }
    blocks
}

/// Children, with their parents.
fn parents_inside(draft: &Draft<'_>, set: &[ItemId]) -> Vec<(ItemId, ItemId)> {
    set.iter().filter_map(|id| Some((*id, draft.item(*id)?.parent?))).collect()
}
