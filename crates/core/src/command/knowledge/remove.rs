//! Removes entries.

use serde::{Deserialize, Serialize};

use super::named;
use crate::access::{Needs, REMOVES, Reach};
use crate::command::check_batch;
use crate::engine::{Call, Command, Decision, Draft};
use crate::error::Error;
use crate::model::EntryId;
use crate::store::{KnowledgeReach, Scope, Slice};

/// Removes entries with their links: all of them or none.
#[derive(Clone, Debug, Serialize)]
pub struct RemoveEntries {
    /// The entries.
    pub entries: Vec<EntryId>,
}

/// What was removed.
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct EntriesRemoved {
    /// The entries.
    pub removed: Vec<EntryId>,
}

impl Command for RemoveEntries {
    type Output = EntriesRemoved;
    const NAME: &'static str = "remove-entries";
    const NEEDS: Needs = Needs::new(REMOVES, Reach::Project);

    fn scope(&self, _call: &Call) -> Scope {
        let knowledge = KnowledgeReach { entries: self.entries.clone(), ..KnowledgeReach::default() };
        Scope { knowledge, ..Scope::default() }
    }

    fn decide(&self, call: &Call, seen: &Slice) -> Result<Decision<EntriesRemoved>, Error> {
        check_batch("entries", self.entries.len(), call.access.limits.batch)?;
        let mut draft = Draft::new(call, seen);
        let mut removed: Vec<EntryId> = Vec::with_capacity(self.entries.len());
        for id in &self.entries {
            let entry = named(seen, *id)?;
            if !removed.contains(id) {
                draft.remove_entry(entry);
                removed.push(*id);
            }
        }
        Ok(Decision::done(draft.finish(), EntriesRemoved { removed }))
    }
}
