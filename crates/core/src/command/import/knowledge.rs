//! Knowledge of an import: what fits, and what does not.

use std::collections::{BTreeMap, BTreeSet};

use super::Import;
use crate::command::verify::is_agent;
use crate::engine::Draft;
use crate::error::{Error, Reason};
use crate::limits;
use crate::model::{Entry, EntryId, Item, ItemId, Project, ProjectId, Source};

impl Import {
    /// Brings entries and their links as they were. A person's word for them is brought by a person alone.
    pub(super) fn bring_knowledge(
        &self,
        draft: &mut Draft<'_>,
        projects: &BTreeMap<ProjectId, Project>,
    ) -> Result<(), Error> {
        let items: BTreeMap<ItemId, &Item> = self.items.iter().map(|item| (item.id, item)).collect();
        let mut entries: BTreeMap<EntryId, &Entry> = BTreeMap::new();
        draft.check_room(self.entries.len())?;
        let agent = is_agent(draft.call);
        for entry in &self.entries {
            let id = entry.id;
            let bad = |reason, message: &str| Err(Error::validation(reason, format!("entry {id}: {message}")));
            if !projects.contains_key(&entry.project) {
                return bad(Reason::NotFound, "its project is not in the file");
            }
            if entries.insert(id, entry).is_some() {
                return bad(Reason::Duplicate, "it is in the file twice");
            }
            if draft.seen.knowledge.entries.contains_key(&id) {
                let message = format!("the entry {id} is in this database already");
                return Err(Error::conflict(Reason::Duplicate, message));
            }
            if entry.body.is_blank() || entry.tags.len() > limits::TAGS || entry.version == 0 {
                return bad(Reason::BadValue, "its text is blank, its tags are too many, or its version is 0");
            }
            draft.add_entry(as_brought(entry, agent), None);
        }
        let mut known = BTreeSet::new();
        for link in &self.entry_links {
            let pair = entries.get(&link.entry).zip(items.get(&link.item));
            let Some((entry, item)) = pair else {
                let message = format!("entry {}: a link of it leads to what is not in the file", link.entry);
                return Err(Error::validation(Reason::NotFound, message));
            };
            if entry.project != item.project || !known.insert(link.key()) {
                let message = format!("entry {}: a link of it is there twice, or leads to another project", link.entry);
                return Err(Error::validation(Reason::BadValue, message));
            }
            draft.tie_entry(entry, link.clone(), None);
        }
        Ok(())
    }
}

/// An entry as it counts once it is here. What a file says of people an agent may have written into it: it brings neither a
/// review nor a person's words.
fn as_brought(entry: &Entry, by_agent: bool) -> Entry {
    if !by_agent {
        return entry.clone();
    }
    let source = match entry.source {
        Source::Person | Source::Import => Source::Import,
        Source::Agent | Source::TaskCompletion => entry.source,
    };
    Entry { review: None, source, ..entry.clone() }
}
