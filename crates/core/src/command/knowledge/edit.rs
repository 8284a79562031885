//! Changes an entry.

use serde::{Deserialize, Serialize};

use super::{check_texts, named, unique};
use crate::access::{Needs, Profile, Reach};
use crate::command::verify::check_authority;
use crate::engine::{Call, Command, Decision, Draft};
use crate::error::{Error, Reason};
use crate::model::{Authority, Entry, EntryId, Review, Source, Tag, Text, Title, Verb};
use crate::store::{KnowledgeReach, Scope, Slice};

/// Changes an entry's title, text or tags. What an agent changes is an agent's, and unreviewed again; what a person changes and
/// somebody had reviewed is reviewed by that person, who has read it.
#[derive(Clone, Debug, Serialize)]
pub struct EditEntry {
    /// The entry.
    pub entry: EntryId,
    /// A new title.
    pub title: Option<Title>,
    /// A new text.
    pub body: Option<Text>,
    /// New tags, in place of all it has.
    pub tags: Option<Vec<Tag>>,
    /// Refuses unless the entry still has this version.
    pub expected_version: Option<u64>,
    /// Whose change it is. A person's is taken from a person alone.
    pub authority: Authority,
}

/// The entry after it.
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct EntryEdited {
    /// The entry.
    pub entry: Entry,
}

impl Command for EditEntry {
    type Output = EntryEdited;
    const NAME: &'static str = "edit-entry";
    const NEEDS: Needs = Needs::new(Profile::Worker, Reach::Project);

    fn scope(&self, _call: &Call) -> Scope {
        let knowledge = KnowledgeReach { entries: vec![self.entry], ..KnowledgeReach::default() };
        Scope { knowledge, ..Scope::default() }
    }

    fn decide(&self, call: &Call, seen: &Slice) -> Result<Decision<EntryEdited>, Error> {
        check_authority(call, self.authority)?;
        let before = named(seen, self.entry)?;
        if self.expected_version.is_some_and(|version| version != before.version) {
            let message = format!("the entry has version {}: read it again before changing it", before.version);
            return Err(Error::conflict(Reason::VersionMismatch, message));
        }
        if self.title.is_none() && self.body.is_none() && self.tags.is_none() {
            return Err(Error::validation(Reason::TooFew, "a title, a body or tags are needed"));
        }
        let mut draft = Draft::new(call, seen);
        let after = Entry {
            title: self.title.clone().unwrap_or_else(|| before.title.clone()),
            body: self.body.clone().unwrap_or_else(|| before.body.clone()),
            tags: self.tags.as_deref().map_or_else(|| before.tags.clone(), unique),
            ..before.clone()
        };
        check_texts(&after.body, &after.tags)?;
        if after == *before {
            return Ok(Decision::done(draft.finish(), EntryEdited { entry: after }));
        }
        let by = call.actor()?.clone();
        let after = Entry { updated_at: draft.now, updated_by: by.clone(), ..after };
        let after = match self.authority {
            Authority::Human => {
                let review = before.review.as_ref().map(|_| Review { by, at: draft.now });
                Entry { review, ..after }
            }
            Authority::Agent | Authority::Check => Entry { review: None, source: agents(before.source), ..after },
        };
        draft.change_entry(before, after.clone(), Verb::Revised);
        let entry = Entry { version: before.version + 1, ..after };
        Ok(Decision::done(draft.finish(), EntryEdited { entry }))
    }
}

/// Where words come from that an agent has changed. What was learned by completing an item still was.
fn agents(source: Source) -> Source {
    match source {
        Source::Person | Source::Agent | Source::Import => Source::Agent,
        Source::TaskCompletion => Source::TaskCompletion,
    }
}
