//! Adds entries: what somebody wrote down, and what was learned by completing an item.

use serde::{Deserialize, Serialize};

use super::{check_texts, unique};
use crate::access::{Needs, Profile, Reach};
use crate::command::verify::check_authority;
use crate::command::{check_batch, keep_lease_recorded};
use crate::engine::{Call, Command, Decision, Draft};
use crate::error::{Error, Reason};
use crate::limits;
use crate::model::{Authority, Entry, EntryId, EntryTie, ItemId, ItemRef, ProjectId, Source, Tag, Text, Title};
use crate::store::{KnowledgeReach, ProjectRef, Scope, Slice};

/// Something learned, as it is handed in.
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Learning {
    /// What it is about, in a line.
    pub title: Title,
    /// What was learned.
    pub body: Text,
    /// Words to find it by.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tags: Vec<Tag>,
}

/// Adds entries to a project.
#[derive(Clone, Debug, Serialize)]
pub struct AddEntries {
    /// The project; that of the item, where one is named and this is not.
    pub project: ProjectRef,
    /// What was learned.
    pub entries: Vec<Learning>,
    /// The item they were learned from: each is linked with it as `produced`.
    pub item: Option<ItemRef>,
    /// Whose words they are. A person's are taken from a person alone.
    pub authority: Authority,
}

/// What was added.
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct EntriesAdded {
    /// The entries, in order.
    pub entries: Vec<EntryId>,
}

impl Command for AddEntries {
    type Output = EntriesAdded;
    const NAME: &'static str = "add-entries";
    const NEEDS: Needs = Needs::new(Profile::Worker, Reach::Item);

    fn scope(&self, _call: &Call) -> Scope {
        let knowledge = KnowledgeReach { count: true, ..KnowledgeReach::default() };
        Scope {
            project: self.project.clone(),
            items: self.item.iter().cloned().collect(),
            knowledge,
            ..Scope::default()
        }
    }

    fn decide(&self, call: &Call, seen: &Slice) -> Result<Decision<EntriesAdded>, Error> {
        check_batch("entries", self.entries.len(), call.access.limits.batch)?;
        check_authority(call, self.authority)?;
        let mut draft = Draft::new(call, seen);
        let item = self.item.as_ref().map(|item| seen.resolve(item)).transpose()?;
        let project = match item {
            Some(item) => seen.project_of(item)?.id,
            None => seen.selected_project()?.id,
        };
        if item.is_some() && seen.project.is_some_and(|named| named != project) {
            return Err(Error::validation(Reason::OtherProject, "the item is of another project").at("item"));
        }
        let source = if self.authority == Authority::Human { Source::Person } else { Source::Agent };
        let origin = Origin { project, item: item.map(|item| item.id), source };
        let entries = add(&mut draft, origin, &self.entries)?;
        if let Some(item) = origin.item {
            keep_lease_recorded(&mut draft, item, None)?;
        }
        Ok(Decision::done(draft.finish(), EntriesAdded { entries }))
    }
}

/// Where entries come from.
#[derive(Clone, Copy, Debug)]
struct Origin {
    project: ProjectId,
    item: Option<ItemId>,
    source: Source,
}

fn add(draft: &mut Draft<'_>, origin: Origin, learnings: &[Learning]) -> Result<Vec<EntryId>, Error> {
    for (index, learning) in learnings.iter().enumerate() {
        check_texts(&learning.body, &learning.tags).map_err(|error| error.within(&format!("entries[{index}]")))?;
    }
    draft.check_room(learnings.len())?;
    let author = draft.call.actor()?.clone();
    let mut added = Vec::with_capacity(learnings.len());
    for learning in learnings {
        let entry = Entry {
            id: draft.new_entry_id(),
            project: origin.project,
            title: learning.title.clone(),
            body: learning.body.clone(),
            tags: unique(&learning.tags),
            source: origin.source,
            source_item: origin.item,
            author: author.clone(),
            created_at: draft.now,
            updated_at: draft.now,
            updated_by: author.clone(),
            version: 1,
            review: None,
        };
        added.push(entry.id);
        draft.add_entry(entry.clone(), None);
        if let Some(item) = origin.item {
            let link = draft.new_entry_link(entry.id, item, EntryTie::Produced, author.clone());
            draft.tie_entry(&entry, link, None);
        }
    }
    Ok(added)
}

/// Refuses learnings that cannot become entries, before anything is decided by them.
pub(in crate::command) fn check_learnings(learnings: &[Learning]) -> Result<(), Error> {
    if learnings.len() > limits::LEARNINGS {
        let message = format!("learnings must be at most {}, not {}", limits::LEARNINGS, learnings.len());
        return Err(Error::validation(Reason::TooMany, message).at("learnings"));
    }
    for (index, learning) in learnings.iter().enumerate() {
        check_texts(&learning.body, &learning.tags).map_err(|error| error.within(&format!("learnings[{index}]")))?;
    }
    Ok(())
}

/// Keeps what was learned by completing an item, in the same unit. The count of entries must have been shown.
pub(in crate::command) fn learn(
    draft: &mut Draft<'_>,
    item: ItemId,
    learnings: &[Learning],
) -> Result<Vec<EntryId>, Error> {
    if learnings.is_empty() {
        return Ok(Vec::new());
    }
    let project = draft.expect(item)?.project;
    add(draft, Origin { project, item: Some(item), source: Source::TaskCompletion }, learnings)
}
