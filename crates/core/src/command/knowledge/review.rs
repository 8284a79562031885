//! A person's word that entries are right, or that they are not any more.

use serde::{Deserialize, Serialize};

use super::named;
use crate::access::{Needs, Profile, Reach};
use crate::command::check_batch;
use crate::command::verify::{check_authority, is_agent};
use crate::engine::{Call, Command, Decision, Draft};
use crate::error::{Code, Error, Kind, Reason};
use crate::model::{Authority, Entry, EntryId, Review, Verb};
use crate::store::{KnowledgeReach, Scope, Slice};

/// An entry as somebody read it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct ReadEntry {
    /// The entry.
    pub entry: EntryId,
    /// The version that was read. A word for an entry needs it; taking one back does not.
    pub version: Option<u64>,
}

/// Says that entries are right as they were read, or takes that back. For people alone. A word counts for what was read: if one
/// has changed since, nothing is written.
#[derive(Clone, Debug, Serialize)]
pub struct ReviewEntries {
    /// The entries.
    pub entries: Vec<ReadEntry>,
    /// Whether they are right.
    pub reviewed: bool,
    /// Whose word it is.
    pub authority: Authority,
}

/// How an entry stands after it.
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReviewedEntry {
    /// The entry.
    pub entry: EntryId,
    /// Its version now.
    pub version: u64,
    /// The person's word for it; none means that it is unreviewed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub review: Option<Review>,
    /// Whether that is new.
    pub changed: bool,
}

/// The entries after it, each once, in the order they were named.
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct EntriesReviewed {
    /// The entries.
    pub entries: Vec<ReviewedEntry>,
}

impl Command for ReviewEntries {
    type Output = EntriesReviewed;
    const NAME: &'static str = "review-entries";
    const NEEDS: Needs = Needs::new(Profile::Operator, Reach::Project);

    fn scope(&self, _call: &Call) -> Scope {
        let knowledge = KnowledgeReach {
            entries: self.entries.iter().map(|read| read.entry).collect(),
            ..KnowledgeReach::default()
        };
        Scope { knowledge, ..Scope::default() }
    }

    fn decide(&self, call: &Call, seen: &Slice) -> Result<Decision<EntriesReviewed>, Error> {
        check_batch("entries", self.entries.len(), call.access.limits.batch)?;
        if self.authority != Authority::Human || is_agent(call) {
            let message = "whether an entry is right is for a person to say: ask one";
            return Err(Error::new(Kind::Permanent, Code::Forbidden, Reason::NotYours, message));
        }
        check_authority(call, self.authority)?;
        let mut draft = Draft::new(call, seen);
        let by = call.actor()?.clone();
        let mut entries: Vec<ReviewedEntry> = Vec::with_capacity(self.entries.len());
        for ReadEntry { entry: id, version } in &self.entries {
            let before = named(seen, *id)?;
            self.check_read(before, *version)?;
            if entries.iter().any(|done| done.entry == *id) {
                continue;
            }
            let changed = before.review.is_some() != self.reviewed;
            let mut after = before.clone();
            if changed {
                after.review = self.reviewed.then(|| Review { by: by.clone(), at: draft.now });
                draft.change_entry(before, after.clone(), Verb::Reviewed);
                after.version += 1;
            }
            entries.push(ReviewedEntry { entry: *id, version: after.version, review: after.review, changed });
        }
        Ok(Decision::done(draft.finish(), EntriesReviewed { entries }))
    }
}

impl ReviewEntries {
    /// Refuses a word for something else than was read.
    fn check_read(&self, entry: &Entry, read: Option<u64>) -> Result<(), Error> {
        match read {
            Some(version) if version == entry.version => Ok(()),
            Some(_) => {
                let message =
                    format!("the entry {} has version {}: read it again before reviewing it", entry.id, entry.version);
                Err(Error::conflict(Reason::VersionMismatch, message))
            }
            None if self.reviewed => {
                let message = "version is required: the one that was read, for that is what the word counts for";
                Err(Error::validation(Reason::MissingField, message).at("version"))
            }
            None => Ok(()),
        }
    }
}
