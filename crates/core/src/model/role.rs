//! Where an item stands for the engine, and what moves it.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::error::{Invalid, Reason, echo};

/// Where an item stands, whatever its workflow calls it.
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    /// Waiting to be started.
    Queue,
    /// Being done.
    Work,
    /// Done, being looked at.
    Review,
    /// Put aside until somebody resumes it.
    Blocked,
    /// Closed.
    Terminal,
}

impl Role {
    /// All roles, in the order in which they are counted and shown.
    pub const ALL: [Self; 5] = [Self::Queue, Self::Work, Self::Review, Self::Blocked, Self::Terminal];

    /// The role as it is written.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Queue => "queue",
            Self::Work => "work",
            Self::Review => "review",
            Self::Blocked => "blocked",
            Self::Terminal => "terminal",
        }
    }

    /// Whether an item in this role is still to be closed.
    pub fn is_open(self) -> bool {
        self != Self::Terminal
    }

    /// How far along the way from queue to terminal this is; `Blocked` stands beside the way.
    pub fn progress(self) -> Option<u8> {
        match self {
            Self::Queue => Some(0),
            Self::Work => Some(1),
            Self::Review => Some(2),
            Self::Terminal => Some(3),
            Self::Blocked => None,
        }
    }

    /// Whether an item in this role has come as far as `threshold`. A blocked item has reached nothing.
    pub fn has_reached(self, threshold: Self) -> bool {
        match (self.progress(), threshold.progress()) {
            (Some(here), Some(there)) => here >= there,
            (Some(_) | None, Some(_) | None) => false,
        }
    }
}

impl fmt::Display for Role {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for Role {
    type Err = Invalid;

    fn from_str(text: &str) -> Result<Self, Invalid> {
        let lower = text.to_ascii_lowercase();
        Self::ALL.into_iter().find(|role| role.as_str() == lower).ok_or_else(|| {
            Invalid::new(
                Reason::UnknownValue,
                format!("must be one of queue, work, review, blocked, terminal, not \"{}\"", echo(text)),
            )
        })
    }
}

/// How a terminal status ended.
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Outcome {
    /// It was done.
    Success,
    /// It was given up.
    Cancelled,
}

/// What moves an item along.
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Trigger {
    /// On to the next phase.
    Start,
    /// Straight to success.
    Complete,
    /// Aside, because something is in the way.
    Block,
    /// Aside, by choice.
    Hold,
    /// Back from aside to where it was.
    Resume,
    /// Closed without success.
    Cancel,
    /// From closed back to the queue.
    Reopen,
    /// Moved by the engine because a relative moved; never accepted from a caller.
    Cascade,
}

impl Trigger {
    /// The triggers that a caller may use.
    pub const USER: [Self; 7] =
        [Self::Start, Self::Complete, Self::Block, Self::Hold, Self::Resume, Self::Cancel, Self::Reopen];

    /// The trigger as it is written.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Start => "start",
            Self::Complete => "complete",
            Self::Block => "block",
            Self::Hold => "hold",
            Self::Resume => "resume",
            Self::Cancel => "cancel",
            Self::Reopen => "reopen",
            Self::Cascade => "cascade",
        }
    }
}

impl fmt::Display for Trigger {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for Trigger {
    type Err = Invalid;

    /// Parses what a caller may send: `cascade` is refused.
    fn from_str(text: &str) -> Result<Self, Invalid> {
        let lower = text.to_ascii_lowercase();
        Self::USER.into_iter().find(|trigger| trigger.as_str() == lower).ok_or_else(|| {
            Invalid::new(
                Reason::UnknownValue,
                format!("must be one of start, complete, block, hold, resume, cancel, reopen, not \"{}\"", echo(text)),
            )
        })
    }
}
