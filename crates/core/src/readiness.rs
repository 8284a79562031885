//! The one readiness function: it answers the queue, find-and-claim, `blocked` and "why is nothing ready?".

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use crate::error::Blocker;
use crate::model::{Edge, EdgeKind, Fence, Inbox, Item, ItemId, Name, Outcome, Role, Timestamp};
use crate::overlap::collision;
use crate::store::Slice;
use crate::workflow::Workflow;

/// One reason why an item is not ready, with the act that would clear it.
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Obstacle {
    /// What stands in the way.
    #[serde(flatten)]
    pub what: What,
    /// The act that would clear it.
    pub remedy: String,
}

/// What can stand in the way of an item.
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "reason", rename_all = "kebab-case", rename_all_fields = "camelCase")]
pub enum What {
    /// It is closed.
    Closed,
    /// Somebody put it aside.
    Blocked,
    /// Its status is not one to hand out.
    NotClaimable {
        /// The status.
        status: String,
    },
    /// It is in work and was never handed to anybody: what lies beneath it is being done, or somebody does it without a claim.
    UnderWay,
    /// A blocker has not come far enough.
    WaitsFor(Blocker),
    /// Shipped work replaces it.
    SupersededBy {
        /// The work that replaces it.
        item: ItemId,
    },
    /// It repeats live work.
    DuplicateOf {
        /// The work it repeats.
        item: ItemId,
    },
    /// Somebody is on it.
    Claimed {
        /// When the lease ends, if it does.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        until: Option<Timestamp>,
    },
    /// A live claim uses the same paths or resources.
    CollidesWith {
        /// The claimed work.
        item: ItemId,
    },
    /// Work outside of what the call may see holds it up.
    OutOfSight {
        /// How much of it.
        count: u32,
    },
    /// Checks of what was handed in have failed.
    ChecksFailed {
        /// Their places.
        checks: Vec<usize>,
    },
    /// Nobody lets checks of what was handed in run.
    ChecksNotApproved {
        /// Their places.
        checks: Vec<usize>,
    },
    /// It needs an agent that can do more.
    NeedsCapabilities {
        /// What is asked for.
        capabilities: Vec<String>,
    },
    /// It is done and waits for a look: only whoever asks for work to review is shown it.
    InReview,
}

/// Whether find-and-claim may hand an item out, live claims aside. Kept with the item, so that an index can answer.
pub fn is_offered(workflow: &Workflow, item: &Item) -> bool {
    item.role.is_open()
        && item.derived.blockers == 0
        && item.derived.moot == 0
        && workflow.status(&item.status).is_some_and(|status| status.claimable)
}

/// Where ready work is looked for: in a role that is named; else in the queue, and among work that was begun and left, both
/// in one order.
pub(crate) fn pool(named: Option<Role>) -> (Option<Role>, bool) {
    (Some(named.unwrap_or(Role::Queue)), named.is_none())
}

/// Whether an agent would be handed an item that is offered: it can do what is asked for, and nobody else is on the same paths
/// and resources. What the agent holds itself is not in its way.
pub(crate) fn suits(item: &Item, able: &BTreeSet<Name>, agent: Option<&Name>, seen: &Slice) -> bool {
    let is_mine = |held: &ItemId| {
        let claim = seen.items.get(held).and_then(|item| item.claim.as_ref());
        seen.held.contains(held) && claim.is_some_and(|claim| Some(&claim.holder) == agent)
    };
    item.required_capabilities.iter().all(|needed| able.contains(needed))
        && collision(item, seen.busy.iter().filter(|busy| !is_mine(&busy.item))).is_none()
}

/// Every reason why an item is not ready, given the edges that touch it and a way to look their ends up.
pub fn obstacles<'a>(
    workflow: &Workflow,
    item: &Item,
    edges: impl Iterator<Item = &'a Edge>,
    look_up: impl Fn(ItemId) -> Option<&'a Item>,
    now: Timestamp,
) -> Vec<Obstacle> {
    let mut found = Vec::new();
    match item.role {
        Role::Terminal => {
            found.push(Obstacle { what: What::Closed, remedy: "reopen it, if it is to be done again".to_owned() });
        }
        Role::Blocked => {
            let asked = item.derived.inbox.has(Inbox::QUESTION);
            let remedy = if asked { "answer its open question, or take the question back" } else { "resume it" };
            found.push(Obstacle { what: What::Blocked, remedy: remedy.to_owned() });
        }
        Role::Queue | Role::Work | Role::Review => {
            if workflow.status(&item.status).is_none_or(|status| !status.claimable) {
                let remedy = match item.role {
                    Role::Review => "wait until it is shown, or look at it and decide".to_owned(),
                    Role::Queue | Role::Work | Role::Blocked | Role::Terminal => {
                        format!("move it on from {} when it is clear what is to be done", item.status)
                    }
                };
                found.push(Obstacle { what: What::NotClaimable { status: item.status.to_string() }, remedy });
            } else if item.role == Role::Work && item.fence == Fence(0) {
                let remedy = "finish what lies beneath it, or claim it by name";
                found.push(Obstacle { what: What::UnderWay, remedy: remedy.to_owned() });
            }
        }
    }
    if item.role == Role::Review && found.is_empty() {
        let remedy = "look at it, then complete it or send it back; or wait until it is shown";
        found.push(Obstacle { what: What::InReview, remedy: remedy.to_owned() });
    }
    for edge in edges {
        found.extend(obstacle_of_edge(item, edge, &look_up));
    }
    if let Some(claim) = item.live_claim(now) {
        found.push(Obstacle {
            what: What::Claimed { until: claim.expires_at },
            remedy: "wait until the claim is released or runs out".to_owned(),
        });
    }
    found
}

fn obstacle_of_edge<'a>(item: &Item, edge: &Edge, look_up: impl Fn(ItemId) -> Option<&'a Item>) -> Option<Obstacle> {
    let other = look_up(edge.other(item.id))?;
    match edge.kind {
        EdgeKind::Blocks if edge.to == item.id && !edge.is_satisfied_by(other.role) => Some(Obstacle {
            what: What::WaitsFor(Blocker { item: other.id, current_role: other.role, required_role: edge.threshold() }),
            remedy: format!("bring \"{}\" to {}, or remove the edge", other.title, edge.threshold()),
        }),
        EdgeKind::Supersedes if edge.to == item.id && edge.effect(other, item).to_is_moot => Some(Obstacle {
            what: What::SupersededBy { item: other.id },
            remedy: format!("cancel it: \"{}\" has done its work; or remove the edge", other.title),
        }),
        EdgeKind::DuplicateOf if edge.from == item.id && other.outcome != Some(Outcome::Cancelled) => Some(Obstacle {
            what: What::DuplicateOf { item: other.id },
            remedy: format!("cancel it in favour of \"{}\", or remove the edge", other.title),
        }),
        EdgeKind::Blocks | EdgeKind::RelatesTo | EdgeKind::Supersedes | EdgeKind::DuplicateOf => None,
    }
}
