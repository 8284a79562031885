//! Keyed documents on items.

use serde::{Deserialize, Serialize};

use super::{Attribution, ItemId, Name, NoteId, Role, Text, Timestamp};

/// A keyed document on an item: one per key.
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Note {
    /// Names it for ever.
    pub id: NoteId,
    /// The item it is on.
    pub item: ItemId,
    /// Its name there.
    pub key: Name,
    /// The phase it belongs to: queue, work or review.
    pub phase: Role,
    /// What it says.
    pub body: Text,
    /// Who wrote it last, where they said so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<Attribution>,
    /// When it was first written.
    pub created_at: Timestamp,
    /// When it was last written.
    pub modified_at: Timestamp,
}

impl Note {
    /// What gates need of it.
    pub fn head(&self) -> NoteHead {
        NoteHead {
            id: self.id,
            item: self.item,
            key: self.key.clone(),
            phase: self.phase,
            filled: !self.body.is_blank(),
            created_at: self.created_at,
        }
    }
}

/// A note without its body.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NoteHead {
    /// Names it for ever.
    pub id: NoteId,
    /// The item it is on.
    pub item: ItemId,
    /// Its name there.
    pub key: Name,
    /// The phase it belongs to.
    pub phase: Role,
    /// Whether there is anything to read in it.
    pub filled: bool,
    /// When it was first written.
    pub created_at: Timestamp,
}
