//! Where one item stands on its way, and what its next move would be.

use crate::engine::Engine;
use crate::error::{Blocker, Error};
use crate::model::{EdgeKind, Item, ItemRef, Role, Trigger};
use crate::readiness::{What, obstacles};
use crate::store::{Around, EdgeReach, ProjectRef};

/// Where an item stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Standing {
    /// The item.
    pub item: Item,
    /// The next move along the way: its trigger and the role it leads to.
    pub next: Option<(Trigger, Role)>,
    /// What holds it up.
    pub blockers: Vec<Blocker>,
    /// How far it has come: its place among the phases it goes through, from 1.
    pub position: u8,
    /// How many phases it goes through.
    pub phases: u8,
}

/// What is to be expected of an item's next move.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Prospect {
    /// It can go on, to this role by this trigger.
    Ready(Trigger, Role),
    /// Blockers hold it up.
    Waiting,
    /// It was put aside.
    Aside,
    /// It is closed.
    Closed,
}

impl Standing {
    /// What is to be expected of its next move. Notes are not looked at: they can be written at any time.
    pub fn prospect(&self) -> Prospect {
        match (self.item.role, self.next) {
            (Role::Terminal, _) => Prospect::Closed,
            (Role::Blocked, _) => Prospect::Aside,
            (Role::Queue | Role::Work | Role::Review, Some((trigger, role))) if self.item.derived.blockers == 0 => {
                Prospect::Ready(trigger, role)
            }
            (Role::Queue | Role::Work | Role::Review, _) => Prospect::Waiting,
        }
    }
}

impl Engine {
    /// Where an item stands and what its next move would be. Changes nothing.
    pub async fn standing(&self, project: &ProjectRef, item: &ItemRef) -> Result<Standing, Error> {
        let around = Around { edges: EdgeReach::Named, ..Around::default() };
        let seen = self.show(project, std::slice::from_ref(item), around).await?;
        let item = seen.resolve(item)?;
        let rules = seen.project_of(item)?;
        let has_review = rules.schemas.resolve(item).is_some_and(|schema| schema.has_review());
        let reviews = rules.workflow.reviews(has_review);
        let edges = seen.edges.values().filter(|edge| edge.kind == EdgeKind::Blocks);
        let blockers = obstacles(&rules.workflow, item, edges, |id| seen.items.get(&id), seen.now)
            .into_iter()
            .filter_map(|obstacle| match obstacle.what {
                What::WaitsFor(blocker) => Some(blocker),
                What::Closed
                | What::Blocked
                | What::NotClaimable { .. }
                | What::UnderWay
                | What::SupersededBy { .. }
                | What::DuplicateOf { .. }
                | What::Claimed { .. }
                | What::CollidesWith { .. }
                | What::OutOfSight { .. }
                | What::ChecksFailed { .. }
                | What::ChecksNotApproved { .. }
                | What::NeedsCapabilities { .. }
                | What::InReview => None,
            })
            .collect();
        let phases = if reviews { 4 } else { 3 };
        let position = match item.role {
            Role::Queue | Role::Blocked => 1,
            Role::Work => 2,
            Role::Review => 3,
            Role::Terminal => phases,
        };
        Ok(Standing {
            next: rules.workflow.next(item, has_review).map(|next| (next.trigger, next.to.role)),
            item: item.clone(),
            blockers,
            position,
            phases,
        })
    }
}
