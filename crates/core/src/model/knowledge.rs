//! What was learned: entries that outlive the work they came from, and which work made or used them.

use std::str::FromStr;

use serde::{Deserialize, Serialize};

use super::{EntryId, ItemId, Name, ProjectId, Tag, Text, Timestamp, Title};
use crate::error::{Invalid, Reason, echo};

/// Where an entry comes from.
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Source {
    /// A person wrote it.
    Person,
    /// An agent wrote it.
    Agent,
    /// It was learned by completing an item.
    TaskCompletion,
    /// It was brought from elsewhere by an agent, which cannot speak for who wrote it.
    Import,
}

impl Source {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Person, Self::Agent, Self::TaskCompletion, Self::Import];

    /// The source as it is written.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Person => "person",
            Self::Agent => "agent",
            Self::TaskCompletion => "task_completion",
            Self::Import => "import",
        }
    }
}

impl FromStr for Source {
    type Err = Invalid;

    fn from_str(text: &str) -> Result<Self, Invalid> {
        let known = Self::ALL.into_iter().find(|source| source.as_str() == text.to_ascii_lowercase().replace('-', "_"));
        known.ok_or_else(|| {
            let message = format!("must be one of person, agent, task_completion, import, not \"{}\"", echo(text));
            Invalid::new(Reason::UnknownValue, message)
        })
    }
}

/// A person's word that an entry is right, as it stands.
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Review {
    /// Who said so.
    pub by: Name,
    /// When.
    pub at: Timestamp,
}

/// Something learned: a title, a text, and where it comes from. Unreviewed until a person says otherwise.
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Entry {
    /// Names it for ever.
    pub id: EntryId,
    /// The project it belongs to.
    pub project: ProjectId,
    /// What it is about, in a line.
    pub title: Title,
    /// What was learned.
    pub body: Text,
    /// Words to find it by.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tags: Vec<Tag>,
    /// Where its words come from: what an agent changes is an agent's.
    pub source: Source,
    /// The item it was learned from; that may be gone by now.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source_item: Option<ItemId>,
    /// Who wrote it first.
    pub author: Name,
    /// When.
    pub created_at: Timestamp,
    /// When its title, text or tags last changed.
    pub updated_at: Timestamp,
    /// Who changed them then: whose words it has now.
    pub updated_by: Name,
    /// Counts its changes from 1.
    pub version: u64,
    /// The person's word for it; none means that it is unreviewed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub review: Option<Review>,
}

/// What an item has to do with an entry.
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum EntryTie {
    /// The entry was learned from it.
    Produced,
    /// The entry helped with it.
    Used,
}

impl EntryTie {
    /// All of them.
    pub const ALL: [Self; 2] = [Self::Produced, Self::Used];
}

/// A link between an entry and an item of the same project.
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct EntryLink {
    /// The entry.
    pub entry: EntryId,
    /// The item.
    pub item: ItemId,
    /// What the one has to do with the other.
    pub kind: EntryTie,
    /// Who said so.
    pub by: Name,
    /// When.
    pub created_at: Timestamp,
}

impl EntryLink {
    /// What tells it from all others.
    pub fn key(&self) -> (EntryId, ItemId, EntryTie) {
        (self.entry, self.item, self.kind)
    }
}
