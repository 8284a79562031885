//! Says that entries helped with an item, or takes that back.

use serde::{Deserialize, Serialize};

use super::named;
use crate::access::{Needs, Profile, Reach};
use crate::command::{check_batch, keep_lease_recorded};
use crate::engine::{Call, Command, Decision, Draft};
use crate::error::{Error, Reason};
use crate::model::{EntryId, EntryTie, ItemId, ItemRef};
use crate::store::{KnowledgeReach, ProjectRef, Scope, Slice};

/// Links entries with an item as `used`, or removes such links.
#[derive(Clone, Debug, Serialize)]
pub struct CiteEntries {
    /// The project the item is looked up in.
    pub project: ProjectRef,
    /// The item.
    pub item: ItemRef,
    /// The entries; of the item's project.
    pub entries: Vec<EntryId>,
    /// Whether the links are made; otherwise they are removed.
    pub used: bool,
}

/// What was linked or unlinked.
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct EntriesCited {
    /// The item.
    pub item: ItemId,
    /// The entries whose links changed.
    pub changed: Vec<EntryId>,
}

impl Command for CiteEntries {
    type Output = EntriesCited;
    const NAME: &'static str = "cite-entries";
    const NEEDS: Needs = Needs::new(Profile::Worker, Reach::Item);

    fn scope(&self, _call: &Call) -> Scope {
        let knowledge = KnowledgeReach { entries: self.entries.clone(), ..KnowledgeReach::default() };
        Scope { project: self.project.clone(), items: vec![self.item.clone()], knowledge, ..Scope::default() }
    }

    fn decide(&self, call: &Call, seen: &Slice) -> Result<Decision<EntriesCited>, Error> {
        check_batch("entries", self.entries.len(), call.access.limits.batch)?;
        let mut draft = Draft::new(call, seen);
        let item = seen.resolve(&self.item)?;
        let by = call.actor()?.clone();
        let mut changed: Vec<EntryId> = Vec::new();
        for id in &self.entries {
            let entry = named(seen, *id)?;
            if entry.project != item.project {
                let message = format!("the entry {id} is of another project than the item");
                return Err(Error::validation(Reason::OtherProject, message).at("entries"));
            }
            let there = seen.knowledge.links_of(*id).find(|link| link.item == item.id && link.kind == EntryTie::Used);
            if changed.contains(id) || there.is_some() == self.used {
                continue;
            }
            if let Some(link) = there {
                draft.untie_entry(entry, link);
            } else {
                let link = draft.new_entry_link(*id, item.id, EntryTie::Used, by.clone());
                draft.tie_entry(entry, link, None);
            }
            changed.push(*id);
        }
        if !changed.is_empty() {
            keep_lease_recorded(&mut draft, item.id, None)?;
        }
        Ok(Decision::done(draft.finish(), EntriesCited { item: item.id, changed }))
    }
}
