//! Counts of children and claims.

use std::collections::BTreeMap;

use serde::Deserialize;

use super::{ItemRow, Millis, models};
use crate::model::{Item, ItemId, Role, Timestamp};
use crate::store::code::Code;
use crate::store::{ChildTally, ClaimTally, Families};

/// How children of items were counted.
#[derive(Debug, Deserialize)]
pub struct ChildCounts {
    now: Millis,
    /// How many children each parent has in a role.
    roles: Vec<(ItemId, Code<Role>, u64)>,
    /// How many claims on the children of each parent there are, and how many of them have run out.
    claims: Vec<(ItemId, u64, u64)>,
}

impl ChildCounts {
    /// The database's time.
    pub fn now(&self) -> Timestamp {
        self.now.into()
    }

    /// How the children of each of these items stand; every one of them has an entry.
    pub fn tallies(self, parents: &[ItemId]) -> BTreeMap<ItemId, ChildTally> {
        let mut tallies: BTreeMap<ItemId, ChildTally> = parents.iter().map(|id| (*id, ChildTally::default())).collect();
        for (parent, role, count) in self.roles {
            let tally = tallies.entry(parent).or_default();
            for (place, known) in Role::ALL.into_iter().enumerate() {
                if known == role.0 {
                    tally.by_role[place] = count;
                }
            }
            tally.claims.unclaimed += count;
        }
        for (parent, claimed, expired) in self.claims {
            let claims = &mut tallies.entry(parent).or_default().claims;
            *claims = tally(claims.unclaimed, claimed, expired);
        }
        tallies
    }
}

/// Items with their children, and how those were counted.
#[derive(Debug, Deserialize)]
pub struct FamilyRows {
    now: Millis,
    items: Vec<ItemRow>,
    children: Vec<ItemRow>,
    roles: Vec<(ItemId, Code<Role>, u64)>,
    claims: Vec<(ItemId, u64, u64)>,
}

impl FamilyRows {
    /// The database's time.
    pub fn now(&self) -> Timestamp {
        self.now.into()
    }

    /// The families.
    pub fn families(self) -> Families {
        let (items, mut children): (Vec<Item>, Vec<Item>) = (models(self.items), models(self.children));
        // Children lie in the project of their parent, where numbers are given in the order in which items are made.
        children.sort_unstable_by_key(|child| (child.parent, child.number));
        let ids: Vec<ItemId> = items.iter().chain(&children).map(|item| item.id).collect();
        let counts = ChildCounts { now: self.now, roles: self.roles, claims: self.claims };
        Families { items, children, tallies: counts.tallies(&ids) }
    }
}

/// How claims were counted.
#[derive(Debug, Deserialize)]
pub struct ClaimCounts {
    now: Millis,
    all: u64,
    claimed: u64,
    expired: u64,
}

impl ClaimCounts {
    /// The database's time.
    pub fn now(&self) -> Timestamp {
        self.now.into()
    }

    /// How claims stand.
    pub fn tally(&self) -> ClaimTally {
        tally(self.all, self.claimed, self.expired)
    }
}

/// Of all items some are claimed, and of those claims some have run out.
fn tally(all: u64, claimed: u64, expired: u64) -> ClaimTally {
    ClaimTally { active: claimed.saturating_sub(expired), expired, unclaimed: all.saturating_sub(claimed) }
}
