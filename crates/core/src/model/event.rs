//! The append-only record: one line for each thing a write did to an item.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{Attribution, EventId, ItemId, Name, ProjectId, Timestamp, UnitId};

/// What was done.
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verb {
    /// A project was made or its rules changed.
    ProjectSet,
    /// An item was made.
    Created,
    /// An item's fields changed.
    Edited,
    /// An item moved to another status.
    Moved,
    /// An item was claimed, or its lease extended.
    Claimed,
    /// A claim was given up, or ended by the engine.
    Released,
    /// A note was written.
    Noted,
    /// A note was removed.
    NoteRemoved,
    /// An edge was made; the event is on its `to` end, `other` is its `from` end.
    Linked,
    /// An edge was removed.
    Unlinked,
    /// An item was removed.
    Removed,
    /// A key was made, revoked or rotated: an event of the whole database, of no project.
    KeySet,
}

impl Verb {
    /// All verbs.
    pub const ALL: [Self; 12] = [
        Self::ProjectSet,
        Self::Created,
        Self::Edited,
        Self::Moved,
        Self::Claimed,
        Self::Released,
        Self::Noted,
        Self::NoteRemoved,
        Self::Linked,
        Self::Unlinked,
        Self::Removed,
        Self::KeySet,
    ];

    /// The verb as it is written.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::ProjectSet => "project-set",
            Self::Created => "created",
            Self::Edited => "edited",
            Self::Moved => "moved",
            Self::Claimed => "claimed",
            Self::Released => "released",
            Self::Noted => "noted",
            Self::NoteRemoved => "note-removed",
            Self::Linked => "linked",
            Self::Unlinked => "unlinked",
            Self::Removed => "removed",
            Self::KeySet => "key-set",
        }
    }
}

/// One line of provenance: who, verified how, did what, to what, when.
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Event {
    /// Its place in the order of commits; 0 until it is committed.
    pub seq: u64,
    /// Names it for ever.
    pub id: EventId,
    /// What was committed together with it.
    pub unit: UnitId,
    /// When, by the database's clock.
    pub at: Timestamp,
    /// The project it happened in; the nil id where it concerns the whole database.
    pub project: ProjectId,
    /// What it was done to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub item: Option<ItemId>,
    /// The other end, for an edge.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub other: Option<ItemId>,
    /// What was done.
    pub verb: Verb,
    /// Who we know acted.
    pub principal: Name,
    /// Who was said to act.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<Attribution>,
    /// The fields as they are after it: enough to rebuild the rows from the events alone.
    pub data: Value,
}
