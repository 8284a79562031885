//! Knowledge in a unit of work.

use serde_json::{Value, json};

use super::Draft;
use crate::error::{Code, Error, Kind, Reason};
use crate::model::{Attribution, Entry, EntryId, EntryLink, EntryTie, Name, Verb};
use crate::store::{EntryChange, KnowledgeChanges};

impl Draft<'_> {
    /// A new id for an entry.
    pub fn new_entry_id(&mut self) -> EntryId {
        EntryId(self.ids.ulid())
    }

    /// Refuses so many more entries where the database would hold more than it may. The count must have been shown; the
    /// commit compares it again.
    pub fn check_room(&mut self, more: usize) -> Result<(), Error> {
        if more == 0 {
            return Ok(());
        }
        let most = self.call.access.quotas.knowledge_stored;
        let stored = self.seen.knowledge.stored;
        if stored.saturating_add(u64::try_from(more).unwrap_or(u64::MAX)) > most {
            // The count is of the whole database: who sees a part of it is not told what the rest holds.
            let kept = if self.call.access.projects.is_none() {
                format!("{stored} of {most} entries are kept, and this would add {more}")
            } else {
                format!("at most {most} entries are kept, and this would add {more}")
            };
            let message = format!(
                "the quota knowledge_stored is used up: {kept}; nothing was written. Remove entries that serve no more, or \
                 raise limits.knowledge_stored"
            );
            return Err(Error::new(Kind::Permanent, Code::RuleBlocked, Reason::QuotaExceeded, message));
        }
        self.knowledge.most = Some(most);
        Ok(())
    }

    /// Adds an entry.
    pub fn add_entry(&mut self, entry: Entry, by: Option<&Attribution>) {
        let data = serde_json::to_value(&entry).unwrap_or(Value::Null);
        self.push_event(Verb::Learned, entry.project, entry.source_item, None, by, data);
        self.knowledge.new_entries.push(entry);
    }

    /// Writes an entry that was shown, by way of `verb`: its version grows.
    pub fn change_entry(&mut self, before: &Entry, after: Entry, verb: Verb) {
        let after = Entry { version: before.version + 1, ..after };
        let words = (&before.title, &before.body, &before.tags) != (&after.title, &after.body, &after.tags);
        let text = (&before.title, &before.body) != (&after.title, &after.body);
        let data = serde_json::to_value(&after).unwrap_or(Value::Null);
        self.push_event(verb, after.project, None, None, None, data);
        self.knowledge.changed_entries.push(EntryChange { entry: after, read_version: before.version, words, text });
    }

    /// Removes an entry that was shown, with its links.
    pub fn remove_entry(&mut self, entry: &Entry) {
        let data = json!({ "id": entry.id, "title": entry.title });
        self.push_event(Verb::Forgotten, entry.project, None, None, None, data);
        self.knowledge.removed_entries.push(entry.id);
    }

    /// Links an entry and an item.
    pub fn tie_entry(&mut self, entry: &Entry, link: EntryLink, by: Option<&Attribution>) {
        let data = serde_json::to_value(&link).unwrap_or(Value::Null);
        self.push_event(Verb::Cited, entry.project, Some(link.item), None, by, data);
        self.knowledge.links.push(link);
    }

    /// Takes such a link away.
    pub fn untie_entry(&mut self, entry: &Entry, link: &EntryLink) {
        let data = json!({ "entry": link.entry, "item": link.item, "kind": link.kind });
        self.push_event(Verb::Uncited, entry.project, Some(link.item), None, None, data);
        self.knowledge.removed_links.push(link.key());
    }

    /// A link of the kind, made now.
    pub fn new_entry_link(&self, entry: EntryId, item: crate::model::ItemId, kind: EntryTie, by: Name) -> EntryLink {
        EntryLink { entry, item, kind, by, created_at: self.now }
    }

    pub(super) fn take_knowledge(&mut self) -> KnowledgeChanges {
        let mut changes = std::mem::take(&mut self.knowledge);
        // Only what adds is compared with what may be kept: who removes some must always be able to.
        if changes.new_entries.is_empty() {
            changes.most = None;
        }
        changes
    }
}
