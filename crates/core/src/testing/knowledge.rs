//! Knowledge in a world.

use super::World;
use crate::limits;
use crate::model::{EntryLink, ProjectId};
use crate::store::{KnowledgeChanges, Scope, Slice};

impl World {
    pub(super) fn show_knowledge(&self, scope: &Scope, within: impl Fn(&ProjectId) -> bool, seen: &mut Slice) {
        let named = self.entries.values().filter(|entry| scope.knowledge.entries.contains(&entry.id));
        for entry in named.filter(|entry| within(&entry.project)) {
            let mut links: Vec<EntryLink> =
                self.entry_links.values().filter(|link| link.entry == entry.id).cloned().collect();
            links.sort_by_key(|link| std::cmp::Reverse((link.created_at, link.item, link.kind)));
            // The newest, and those with the items that were named.
            let named = |link: &EntryLink| seen.items.contains_key(&link.item);
            let mut shown = 0;
            links.retain(|link| {
                shown += 1;
                shown <= limits::ENTRY_LINKS || named(link)
            });
            seen.knowledge.links.extend(links);
            seen.knowledge.entries.insert(entry.id, entry.clone());
        }
        if scope.knowledge.count {
            seen.knowledge.stored = self.entries.len() as u64;
        }
    }

    pub(super) fn apply_knowledge(&mut self, changes: &KnowledgeChanges) {
        for id in &changes.removed_entries {
            self.entries.remove(id).expect("an entry to remove");
            self.entry_links.retain(|(entry, ..), _| entry != id);
        }
        for entry in &changes.new_entries {
            assert!(self.entries.insert(entry.id, entry.clone()).is_none(), "an entry made twice");
        }
        for change in &changes.changed_entries {
            let before = self.entries.insert(change.entry.id, change.entry.clone()).expect("an entry to change");
            assert_eq!(before.version, change.read_version);
        }
        for key in &changes.removed_links {
            self.entry_links.remove(key);
        }
        self.entry_links.extend(changes.links.iter().map(|link| (link.key(), link.clone())));
        assert!(changes.most.is_none_or(|most| self.entries.len() as u64 <= most), "more entries than may be kept");
    }
}
