//! Finds the best ready work and claims it, as one unit: two agents never get the same item.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use super::begin::{self, Started};
use super::claim::{Held, place, release_oldest};
use crate::access::{Needs, Profile, Reach};
use crate::engine::{Call, Command, Decision, Draft};
use crate::error::Error;
use crate::limits;
use crate::model::{Item, ItemId, ItemRef, Name, ProjectId, Role, Tag, Ttl};
use crate::readiness::{self, suits};
use crate::store::{Candidates, ProjectRef, Scope, Slice};

/// What work is wanted.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Wanted {
    /// The role to look in; where none is named, in the queue, and among work that was begun and left.
    pub role: Option<Role>,
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
    /// Only work that was begun and left: its lease has run out, or it was given back.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub abandoned: bool,
    /// Whether it is moved into work at once.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub start: bool,
}

impl Wanted {
    /// The role to look in, and whether work that was left is meant too.
    fn pool(&self) -> (Option<Role>, bool) {
        if self.abandoned { (None, true) } else { readiness::pool(self.role) }
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
    /// How it was brought into work, where that was asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub started: Option<Box<Started>>,
    /// How many ready items were passed over, because they collide with live claims or ask for more. Not counted for work
    /// that is brought into work at once.
    pub passed_over: usize,
    /// Earlier claims that ended because the agent may hold no more.
    pub auto_released: Vec<ItemId>,
}

impl Offer {
    /// That there was no work, although so many ready items were looked at.
    pub(crate) fn nothing(passed_over: usize) -> Self {
        Self { held: None, item: None, started: None, passed_over, auto_released: Vec::new() }
    }
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
            held_by: call.holder().into_iter().collect(),
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
        if let Some(chosen) = self.chosen(seen) {
            return self.hand_out(call, seen, chosen, &holder, 0);
        }
        if seen.looks == 0 && (parent.is_some() || under.is_some()) {
            return Ok(Decision::Look(Box::new(look(None))));
        }
        let mut candidates = seen.candidates.rows.iter().filter_map(|id| seen.items.get(id)).enumerate();
        let Some((place_in_line, chosen)) =
            candidates.find(|(_, item)| suits(item, &self.wanted.capabilities, Some(&holder), seen))
        else {
            let last = seen.candidates.rows.last().and_then(|id| seen.items.get(id));
            if seen.candidates.truncated && seen.looks + 2 < limits::LOOK_ROUNDS {
                let last = last.map(|last| (last.derived.rank, last.number, last.project));
                return Ok(Decision::Look(Box::new(look(last))));
            }
            let nothing = Offer::nothing(seen.passed_over + seen.candidates.rows.len());
            return Ok(Decision::done(crate::store::ChangeSet::default(), nothing));
        };
        if self.wanted.start {
            // What moves with it is known only now.
            let items = vec![ItemRef::Id(chosen.id)];
            let around = begin::around();
            return Ok(Decision::Look(Box::new(Scope { items, around, ..Scope::default() })));
        }
        self.hand_out(call, seen, chosen, &holder, seen.passed_over + place_in_line)
    }
}

impl ClaimNext {
    /// The item that was chosen before its neighbours were looked at: the only one that was named since.
    fn chosen<'s>(&self, seen: &'s Slice) -> Option<&'s Item> {
        let given = |item: &ItemRef| [&self.wanted.parent, &self.wanted.under].contains(&&Some(item.clone()));
        let named = seen.refs.keys().find(|item| self.wanted.start && !given(item))?;
        seen.resolve(named).ok()
    }

    fn hand_out(
        &self,
        call: &Call,
        seen: &Slice,
        chosen: &Item,
        holder: &Name,
        passed_over: usize,
    ) -> Result<Decision<Offer>, Error> {
        let mut draft = Draft::new(call, seen);
        let held = place(&mut draft, chosen.id, holder, self.ttl)?;
        let auto_released = release_oldest(&mut draft, holder, &BTreeSet::from([chosen.id]))?;
        let started = if self.wanted.start { Some(begin::start(&mut draft, chosen, holder)?) } else { None };
        let item = draft.expect(chosen.id)?.brief();
        let offer = Offer {
            held: Some(Box::new(held)),
            item: Some(Box::new(item)),
            started: started.map(Box::new),
            passed_over,
            auto_released,
        };
        Ok(Decision::done(draft.finish(), offer))
    }

    fn candidates(
        &self,
        parent: Option<ItemId>,
        under: Option<ItemId>,
        after: Option<(i64, u32, ProjectId)>,
        round: usize,
    ) -> Candidates {
        let (role, left) = self.wanted.pool();
        Candidates {
            role,
            left,
            parent,
            under,
            tags: self.wanted.tags.clone(),
            item_type: self.wanted.item_type.clone(),
            include_claimed: false,
            offered_only: true,
            urgent: None,
            limit: match round {
                0 => limits::CANDIDATES,
                1 => limits::CANDIDATES_MORE,
                _ => limits::CANDIDATES_MOST,
            },
            after,
        }
    }
}
