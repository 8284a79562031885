//! Finds the best ready work and claims it, as one unit: two agents never get the same item.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use super::claim::{Held, place, release_oldest};
use crate::access::{Needs, Profile, Reach};
use crate::engine::{Call, Command, Decision, Draft};
use crate::error::Error;
use crate::limits;
use crate::model::{Item, ItemId, ItemRef, Name, Role, Tag, Ttl};
use crate::overlap::collision;
use crate::store::{Candidates, ProjectRef, Scope, Slice};

/// What work is wanted.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Wanted {
    /// The role to look in.
    pub role: Role,
    /// Only direct children of this item.
    pub parent: Option<ItemRef>,
    /// Only what lies anywhere beneath this item.
    pub under: Option<ItemRef>,
    /// Only items with one of these tags.
    pub tags: Vec<Tag>,
    /// Only items of this type.
    pub item_type: Option<Name>,
    /// What the agent can do: work that needs more is left to others.
    pub capabilities: BTreeSet<Name>,
}

impl Default for Wanted {
    fn default() -> Self {
        Self {
            role: Role::Queue,
            parent: None,
            under: None,
            tags: Vec::new(),
            item_type: None,
            capabilities: BTreeSet::new(),
        }
    }
}

/// Finds the best ready work and claims it.
#[derive(Clone, Debug, Serialize)]
pub struct ClaimNext {
    /// The project to look in.
    pub project: ProjectRef,
    /// What is wanted.
    pub wanted: Wanted,
    /// How long; the workflow's default where nothing is said.
    pub ttl: Option<Ttl>,
}

/// What was found.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Offer {
    /// The claim, if there was work.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub held: Option<Box<Held>>,
    /// The item it is on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub item: Option<Box<Item>>,
    /// How many ready items were passed over, because they collide with live claims or ask for more.
    pub passed_over: usize,
    /// Earlier claims that ended because the agent may hold no more.
    pub auto_released: Vec<ItemId>,
}

impl Command for ClaimNext {
    type Output = Offer;
    const NAME: &'static str = "claim-next";
    const NEEDS: Needs = Needs::new(Profile::Worker, Reach::Project);

    fn scope(&self, call: &Call) -> Scope {
        let named: Vec<ItemRef> = self.wanted.parent.iter().chain(&self.wanted.under).cloned().collect();
        Scope {
            project: self.project.clone(),
            candidates: named.is_empty().then(|| self.candidates(None, None, None, 0)),
            items: named,
            held_by: call.holder().ok().cloned().into_iter().collect(),
            busy: true,
            ..Scope::default()
        }
    }

    fn decide(&self, call: &Call, seen: &Slice) -> Result<Decision<Offer>, Error> {
        let holder = call.holder()?;
        seen.selected_project()?;
        let parent = self.wanted.parent.as_ref().map(|item| seen.resolve(item)).transpose()?.map(|item| item.id);
        let under = self.wanted.under.as_ref().map(|item| seen.resolve(item)).transpose()?.map(|item| item.id);
        let look = |after| Scope {
            project: self.project.clone(),
            candidates: Some(self.candidates(parent, under, after, seen.looks + 1)),
            ..Scope::default()
        };
        if seen.looks == 0 && (parent.is_some() || under.is_some()) {
            return Ok(Decision::Look(Box::new(look(None))));
        }
        let candidates: Vec<&Item> = seen.candidates.rows.iter().filter_map(|id| seen.items.get(id)).collect();
        let chosen = candidates.iter().find(|item| self.suits(item, holder, seen));
        let Some(chosen) = chosen else {
            if seen.candidates.truncated && seen.looks + 2 < limits::LOOK_ROUNDS {
                let last = candidates.last().map(|last| (last.derived.rank, last.number));
                return Ok(Decision::Look(Box::new(look(last))));
            }
            let nothing = Offer {
                held: None,
                item: None,
                passed_over: seen.passed_over + candidates.len(),
                auto_released: Vec::new(),
            };
            return Ok(Decision::done(crate::store::ChangeSet::default(), nothing));
        };
        let mut draft = Draft::new(call, seen);
        let held = place(&mut draft, chosen.id, holder, self.ttl)?;
        let auto_released = release_oldest(&mut draft, holder, &BTreeSet::from([chosen.id]))?;
        let item = draft.expect(chosen.id)?.brief();
        let passed_over = seen.passed_over + candidates.iter().position(|item| item.id == chosen.id).unwrap_or(0);
        let offer = Offer { held: Some(Box::new(held)), item: Some(Box::new(item)), passed_over, auto_released };
        Ok(Decision::done(draft.finish(), offer))
    }
}

impl ClaimNext {
    fn candidates(
        &self,
        parent: Option<ItemId>,
        under: Option<ItemId>,
        after: Option<(i64, u32)>,
        round: usize,
    ) -> Candidates {
        Candidates {
            role: self.wanted.role,
            parent,
            under,
            tags: self.wanted.tags.clone(),
            item_type: self.wanted.item_type.clone(),
            include_claimed: false,
            offered_only: true,
            limit: match round {
                0 => limits::CANDIDATES,
                1 => limits::CANDIDATES_MORE,
                _ => limits::CANDIDATES_MOST,
            },
            after,
        }
    }

    fn suits(&self, item: &Item, holder: &Name, seen: &Slice) -> bool {
        let is_mine = |held: &ItemId| {
            let claim = seen.items.get(held).and_then(|item| item.claim.as_ref());
            seen.held.contains(held) && claim.is_some_and(|claim| claim.holder == *holder)
        };
        item.required_capabilities.iter().all(|needed| self.wanted.capabilities.contains(needed))
            && collision(item, seen.busy.iter().filter(|busy| !is_mine(&busy.item))).is_none()
    }
}
