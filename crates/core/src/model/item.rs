//! The one node type.

use std::str::FromStr;

use serde::{Deserialize, Serialize};

use super::{
    Claim, Complexity, Fence, ItemId, Name, Outcome, ProjectId, Role, Sections, Summary, Tag, Text, Timestamp, Title,
};
use crate::error::{Invalid, Reason, echo};

/// How soon it should be done.
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Priority {
    /// First.
    High,
    /// In turn.
    #[default]
    Medium,
    /// When nothing else is there.
    Low,
}

impl Priority {
    /// The priority as it is written.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::High => "high",
            Self::Medium => "medium",
            Self::Low => "low",
        }
    }
}

impl FromStr for Priority {
    type Err = Invalid;

    fn from_str(text: &str) -> Result<Self, Invalid> {
        let lower = text.to_ascii_lowercase();
        [Self::High, Self::Medium, Self::Low].into_iter().find(|priority| priority.as_str() == lower).ok_or_else(|| {
            Invalid::new(Reason::UnknownValue, format!("must be high, medium or low, not \"{}\"", echo(text)))
        })
    }
}

/// What an item keeps of its surroundings so that the queue answers fast. `docket doctor` can recompute all of it.
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Derived {
    /// Blocking edges whose source has not come far enough.
    pub blockers: u32,
    /// Edges that make it moot: superseded by shipped work, or a duplicate of live work.
    pub moot: u32,
    /// Open items that it holds up.
    pub unblocks: u32,
    /// Its place among ready work: lower is sooner. Made by [`crate::rank`].
    pub rank: i64,
    /// Whether find-and-claim may hand it out, live claims aside. Made by [`crate::readiness`].
    pub offered: bool,
    /// Which sections its brief has.
    #[serde(default)]
    #[cfg_attr(feature = "openapi", schema(value_type = u8))]
    pub sections: Sections,
    /// What of it waits for a person.
    #[serde(default)]
    #[cfg_attr(feature = "openapi", schema(value_type = u8))]
    pub inbox: Inbox,
}

/// Why an item waits for a person: a set of reasons.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Inbox(pub u8);

impl Inbox {
    /// A question is open.
    pub const QUESTION: u8 = 1;
    /// It is in review, or at work where the workflow has no review, and a criterion is for a person to sign off.
    pub const SIGN_OFF: u8 = 2;
    /// It is in review.
    pub const REVIEW: u8 = 4;
    /// Somebody asked for attention.
    pub const ATTENTION: u8 = 8;

    /// Whether a reason is among them.
    pub fn has(self, reason: u8) -> bool {
        self.0 & reason != 0
    }

    /// The same with or without a reason.
    #[must_use]
    pub fn with(self, reason: u8, holds: bool) -> Self {
        if holds { Self(self.0 | reason) } else { Self(self.0 & !reason) }
    }

    /// Whether a person has something to do.
    pub fn waits(self) -> bool {
        self.0 != 0
    }
}

/// A work item: project, feature, task or bug.
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Item {
    /// Names it for ever.
    pub id: ItemId,
    /// The project it belongs to.
    pub project: ProjectId,
    /// Its number in the project: the second half of its key.
    pub number: u32,
    /// The item it is a part of.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<ItemId>,
    /// How many ancestors it has.
    pub depth: u8,
    /// One line.
    pub title: Title,
    /// What is meant, at length.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<Text>,
    /// What is meant, in short.
    pub summary: Summary,
    /// Why it is wanted: what its author is after.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub intent: Option<Text>,
    /// The workflow's name for where it stands.
    pub status: Name,
    /// Where it stands for the engine.
    pub role: Role,
    /// How it ended, once it is terminal.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub outcome: Option<Outcome>,
    /// The status it returns to when it is resumed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub previous_status: Option<Name>,
    /// A free word beside the status.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status_label: Option<Name>,
    /// How soon.
    pub priority: Priority,
    /// How hard.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub complexity: Option<Complexity>,
    /// Selects its schema.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub item_type: Option<Name>,
    /// Words to find it by; the first that names a schema selects it where the type does not.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tags: Vec<Tag>,
    /// Traits that add to its schema.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub traits: Vec<Name>,
    /// Free data of the caller's, kept as it came.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metadata: Option<Text>,
    /// A JSON object of the caller's, without its traits.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub properties: Option<Text>,
    /// Whether its author asks for a second look before it counts as done.
    pub requires_verification: bool,
    /// Why a person must look at it, where one must: a flag beside any status.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub attention: Option<Text>,
    /// When it should be done.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub due_at: Option<Timestamp>,
    /// How long it is thought to take.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub estimate_minutes: Option<u32>,
    /// Its place among those of its status, where people gave it one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub position: Option<i32>,
    /// Path globs it will change: work on overlapping paths is not handed out together.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub touches: Vec<Name>,
    /// Shared resources it uses alone.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub needs: Vec<Name>,
    /// What an agent must be able to do to be handed it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub required_capabilities: Vec<Name>,
    /// The lease on it, live or expired.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub claim: Option<Claim>,
    /// Grows each time it changes hands.
    pub fence: Fence,
    /// Grows with each change of its content; claims and derived numbers leave it alone.
    pub version: u64,
    /// When it was made.
    pub created_at: Timestamp,
    /// When its content last changed.
    pub modified_at: Timestamp,
    /// When its role last changed.
    pub role_changed_at: Timestamp,
    /// What it keeps of its surroundings.
    pub derived: Derived,
}

impl Item {
    /// The claim on it if it is live.
    pub fn live_claim(&self, now: Timestamp) -> Option<&Claim> {
        self.claim.as_ref().filter(|claim| claim.is_live(now))
    }

    /// The item without its long texts: what answers to writes carry.
    #[must_use]
    pub fn brief(&self) -> Self {
        Self { description: None, intent: None, metadata: None, properties: None, ..self.clone() }
    }

    /// Whether `holder` holds it now.
    pub fn is_held_by(&self, holder: &Name, now: Timestamp) -> bool {
        self.live_claim(now).is_some_and(|claim| claim.holder == *holder)
    }
}
