//! What follows from a change: versions, places among ready work, and the counts that neighbours keep of each other.

use super::Draft;
use crate::contract::inbox;
use crate::model::{Edge, EdgeEffect, Inbox, Item, ItemId, Timestamp};
use crate::rank::rank;
use crate::readiness::is_offered;

impl Draft<'_> {
    pub(super) fn change(&mut self, id: ItemId, change: impl FnOnce(&mut Item, Timestamp)) {
        let now = self.now;
        if let Some(item) = self.items.get_mut(&id) {
            change(item, now);
        } else if let Some(item) = self.seen.items.get(&id).filter(|_| !self.removed_items.contains(&id)) {
            let mut item = item.clone();
            change(&mut item, now);
            self.items.insert(id, item);
        }
    }

    pub(super) fn grow_version(&mut self, id: ItemId) {
        let read = self.seen.items.get(&id).map(|item| item.version);
        if let (Some(item), Some(read)) = (self.items.get_mut(&id), read) {
            item.version = read + 1;
        }
    }

    /// Makes the derived flags of an item follow its fields.
    pub(super) fn refresh(&mut self, id: ItemId) {
        let Some(project) = self.item(id).and_then(|item| self.project(item.project)) else { return };
        self.change(id, |item, _| {
            item.derived.inbox = inbox(&project.workflow, item, item.derived.inbox.has(Inbox::QUESTION));
            item.derived.offered = is_offered(&project.workflow, item);
            item.derived.rank = rank(&project.workflow, item);
        });
    }

    pub(super) fn effect_of(&self, edge: &Edge) -> Vec<(ItemId, ItemId, EdgeEffect)> {
        match (self.item(edge.from), self.item(edge.to)) {
            (Some(from), Some(to)) => vec![(edge.from, edge.to, edge.effect(from, to))],
            (Some(_) | None, Some(_) | None) => Vec::new(),
        }
    }

    pub(super) fn effects_of(&self, id: ItemId) -> Vec<(ItemId, ItemId, EdgeEffect)> {
        self.edges_of(id).into_iter().flat_map(|edge| self.effect_of(edge)).collect()
    }

    pub(super) fn apply_effects(&mut self, effects: &[(ItemId, ItemId, EdgeEffect)], sign: i32) {
        for (from, to, effect) in effects {
            let add = |number: &mut u32, flag: bool| *number = number.saturating_add_signed(sign * i32::from(flag));
            if effect.blocks_to || effect.to_is_moot {
                self.change(*to, |item, _| {
                    add(&mut item.derived.blockers, effect.blocks_to);
                    add(&mut item.derived.moot, effect.to_is_moot);
                });
                self.refresh(*to);
            }
            if effect.from_unblocks || effect.from_is_moot {
                self.change(*from, |item, _| {
                    add(&mut item.derived.unblocks, effect.from_unblocks);
                    add(&mut item.derived.moot, effect.from_is_moot);
                });
                self.refresh(*from);
            }
        }
    }
}
