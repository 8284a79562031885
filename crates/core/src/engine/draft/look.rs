//! How things stand in a unit of work: what was shown, with what the unit has changed so far.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::Draft;
use crate::error::Error;
use crate::limits;
use crate::model::{Edge, Item, ItemId, Name, NoteHead, Project, ProjectId};
use crate::store::Capped;
use crate::workflow::Resolved;

impl Draft<'_> {
    /// An item as it stands in this unit.
    pub fn item(&self, id: ItemId) -> Option<&Item> {
        if self.removed_items.contains(&id) {
            return None;
        }
        self.items.get(&id).or_else(|| self.seen.items.get(&id))
    }

    /// An item that must be there.
    pub fn expect(&self, id: ItemId) -> Result<&Item, Error> {
        self.item(id).ok_or_else(|| Error::not_found(format!("no item \"{id}\"")))
    }

    /// The rules an item is under.
    pub fn project_of(&self, item: &Item) -> Result<Arc<Project>, Error> {
        self.project(item.project).ok_or_else(|| Error::not_found("no such project"))
    }

    /// A project as it stands in this unit.
    pub fn project(&self, id: ProjectId) -> Option<Arc<Project>> {
        self.projects.get(&id).or_else(|| self.seen.projects.get(&id)).cloned()
    }

    /// The schema an item is under, if any.
    pub fn schema<'p>(&self, project: &'p Project, item: &Item) -> Option<Resolved<'p>> {
        project.schemas.resolve(item)
    }

    /// The edges that touch an item.
    pub fn edges_of(&self, id: ItemId) -> Vec<&Edge> {
        self.touching
            .get(&id)
            .into_iter()
            .flatten()
            .filter(|edge| !self.removed_edges.contains(edge))
            .filter_map(|edge| self.new_edges.get(edge).or_else(|| self.seen.edges.get(edge)))
            .collect()
    }

    /// How many edges touch an item.
    pub fn degree(&self, id: ItemId) -> usize {
        let touching = self.touching.get(&id).map_or(&[][..], Vec::as_slice);
        let shown = touching.iter().filter(|edge| !self.removed_edges.contains(edge)).count();
        let Some(counted) = self.seen.degrees.get(&id) else { return shown };
        let added = touching.iter().filter(|edge| self.new_edges.contains_key(edge)).count();
        let removed = touching.iter().filter(|edge| self.removed_edges.contains(edge)).count();
        (counted + added).saturating_sub(removed)
    }

    /// The notes on an item, without bodies.
    pub fn note_heads(&self, id: ItemId) -> Vec<NoteHead> {
        let written = self.notes.range((id, first_name())..).take_while(|((item, _), _)| *item == id);
        let mut heads: Vec<NoteHead> = self
            .seen
            .heads(id)
            .iter()
            .filter(|head| {
                let key = (id, head.key.clone());
                !self.notes.contains_key(&key) && !self.removed_notes.contains_key(&key)
            })
            .cloned()
            .collect();
        heads.extend(written.map(|(_, note)| note.head()));
        heads
    }

    /// Whether a child of `parent` would still be open. A list that was cut short held more than a batch can close.
    pub fn has_open_child(&self, parent: ItemId) -> bool {
        let open = self.open_children(parent);
        open.truncated || !open.rows.is_empty()
    }

    /// Children that would still be open. Where the descendants gate is on this answers for all descendants: nothing
    /// open can lie beneath something closed.
    pub fn open_children(&self, parent: ItemId) -> Capped<ItemId> {
        let (seen, truncated) = match self.seen.open_children.get(&parent) {
            Some(open) => (open.rows.as_slice(), open.truncated),
            None => (self.children.get(&parent).map_or(&[][..], Vec::as_slice), self.seen.subtree.truncated),
        };
        let still_open = |id: &&ItemId| match self.items.get(*id).or_else(|| self.seen.items.get(*id)) {
            Some(child) => child.role.is_open() && child.parent == Some(parent) && !self.removed_items.contains(*id),
            // Only its id was shown, because it is open.
            None => !self.removed_items.contains(*id),
        };
        let mut rows: Vec<ItemId> = seen.iter().filter(still_open).copied().collect();
        let changed = self.items.values().filter(|item| item.parent == Some(parent) && item.role.is_open());
        let added: Vec<ItemId> = changed.map(|item| item.id).filter(|id| !rows.contains(id)).collect();
        rows.extend(added);
        Capped { rows, truncated }
    }

    /// Whether an item lies beneath another, as the tree stands in this unit.
    pub fn is_beneath(&self, item: ItemId, ancestor: ItemId) -> bool {
        let mut next = self.item(item).and_then(|item| item.parent);
        for _ in 0..=limits::DEPTH {
            match next {
                Some(id) if id == ancestor => return true,
                Some(id) => next = self.item(id).and_then(|item| item.parent),
                None => return false,
            }
        }
        true
    }

    /// Everything beneath an item, parents before children, as the tree stands in this unit.
    pub fn beneath(&self, id: ItemId) -> Vec<ItemId> {
        let mut children: BTreeMap<ItemId, Vec<ItemId>> = BTreeMap::new();
        let shown = self.seen.subtree.rows.iter().filter(|row| !self.items.contains_key(row));
        for item in shown.chain(self.items.keys()).filter_map(|row| self.item(*row)) {
            if let Some(parent) = item.parent {
                children.entry(parent).or_default().push(item.id);
            }
        }
        let mut found = vec![id];
        let mut index = 0;
        while let Some(next) = found.get(index).copied() {
            found.extend(children.remove(&next).unwrap_or_default());
            index += 1;
        }
        found.remove(0);
        found
    }

    /// The number the next item of a project would get.
    pub fn next_number(&self, project: ProjectId) -> u32 {
        self.next_numbers.get(&project).or_else(|| self.seen.next_numbers.get(&project)).copied().unwrap_or(1)
    }
}

/// Sorts before every note key: names are never empty and hold no control characters.
fn first_name() -> Name {
    Name::parse("!").unwrap_or_else(|_| unreachable!("a valid name"))
}
