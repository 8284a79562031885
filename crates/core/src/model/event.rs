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
    /// An item's brief was written.
    Briefed,
    /// Criteria were verified.
    Verified,
    /// A question was asked, and parks its item.
    Asked,
    /// A question was answered.
    Answered,
    /// A question was taken back.
    Withdrawn,
    /// A comment was made.
    Commented,
    /// A link to something outside was added.
    Attached,
    /// A link to something outside was removed.
    Detached,
    /// An entry of the knowledge was made.
    Learned,
    /// An entry's title, text or tags changed.
    Revised,
    /// A person said that an entry is right, or took that back.
    Reviewed,
    /// An entry was removed.
    Forgotten,
    /// An entry and an item were linked.
    Cited,
    /// Such a link was removed.
    Uncited,
    /// A session began.
    SessionBegun,
    /// The agent of a session was heard of.
    SessionBeat,
    /// A session ended: it was finished, given up or found lost.
    SessionEnded,
    /// An item's checks were written.
    ChecksSet,
    /// Checks were let run, as they are.
    ChecksApproved,
    /// A person gave their word on a check.
    Attested,
    /// Runs of checks were ordered, or began at once.
    RunsOrdered,
    /// A runner took a run that waited.
    RunTaken,
    /// A run ended, or was given up.
    RunEnded,
}

impl Verb {
    /// All verbs.
    pub const ALL: [Self; 35] = [
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
        Self::Briefed,
        Self::Verified,
        Self::Asked,
        Self::Answered,
        Self::Withdrawn,
        Self::Commented,
        Self::Attached,
        Self::Detached,
        Self::Learned,
        Self::Revised,
        Self::Reviewed,
        Self::Forgotten,
        Self::Cited,
        Self::Uncited,
        Self::SessionBegun,
        Self::SessionBeat,
        Self::SessionEnded,
        Self::ChecksSet,
        Self::ChecksApproved,
        Self::Attested,
        Self::RunsOrdered,
        Self::RunTaken,
        Self::RunEnded,
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
            Self::Briefed => "briefed",
            Self::Verified => "verified",
            Self::Asked => "asked",
            Self::Answered => "answered",
            Self::Withdrawn => "withdrawn",
            Self::Commented => "commented",
            Self::Attached => "attached",
            Self::Detached => "detached",
            Self::Learned => "learned",
            Self::Revised => "revised",
            Self::Reviewed => "reviewed",
            Self::Forgotten => "forgotten",
            Self::Cited => "cited",
            Self::Uncited => "uncited",
            Self::SessionBegun => "session-begun",
            Self::SessionBeat => "session-beat",
            Self::SessionEnded => "session-ended",
            Self::ChecksSet => "checks-set",
            Self::ChecksApproved => "checks-approved",
            Self::Attested => "attested",
            Self::RunsOrdered => "runs-ordered",
            Self::RunTaken => "run-taken",
            Self::RunEnded => "run-ended",
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

impl Event {
    /// Whether it says no more than that somebody is still at it: a heartbeat, or a claim that was extended.
    pub fn is_sign_of_life(&self) -> bool {
        // A claim that changes hands has another fence.
        let is_lease = |field: &String| matches!(field.as_str(), "claim" | "version" | "modifiedAt");
        let set = self.data.get("set").and_then(Value::as_object);
        let is_extended = self.verb == Verb::Claimed && set.is_some_and(|set| set.keys().all(is_lease));
        self.verb == Verb::SessionBeat || is_extended
    }
}
