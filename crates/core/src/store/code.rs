//! The numbers that stand for closed sets in every database. They are part of the stored format: never change one.

use serde::{Deserialize, Deserializer};

use crate::access::Profile;
use crate::model::{EdgeKind, EntryTie, Outcome, Priority, QuestionState, Role, RunState, SessionState, Source, Verb};

/// The role that closes an item, as SQL spells it in conditions that an index relies on.
pub const TERMINAL: i64 = 4;
/// The state of a question that waits for an answer.
pub const OPEN_QUESTION: i64 = 0;
/// The state of a session that has not ended.
pub const ACTIVE_SESSION: i64 = 0;
/// Runs `r` that wait or are being made, as SQL spells it in conditions that an index relies on.
pub const OPEN_RUNS: &str = "r.state < 2";
/// The edge kind that holds work up.
pub const BLOCKS: i64 = 0;
/// The edge kind whose end gives way to its beginning.
pub const SUPERSEDES: i64 = 2;
/// The edge kind whose beginning gives way to its end.
pub const DUPLICATE_OF: i64 = 3;

/// The numbers of all roles, for statements that look at each by itself.
pub fn role_codes() -> [i64; 5] {
    Role::ALL.map(Coded::code)
}

/// A member of a closed set and its number.
pub trait Coded: Copy + 'static {
    /// What it is, for the error that an unknown number causes.
    const WHAT: &'static str;
    /// All members.
    const ALL: &'static [Self];

    /// Its number.
    fn code(self) -> i64;

    /// The member with a number; asks every member for its own, so that the two directions cannot drift apart.
    fn from_code(code: i64) -> Option<Self> {
        Self::ALL.iter().copied().find(|member| member.code() == code)
    }
}

/// A member of a closed set as it is stored.
#[derive(Clone, Copy, Debug)]
pub struct Code<T>(pub T);

impl<'de, T: Coded> Deserialize<'de> for Code<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let code = i64::deserialize(deserializer)?;
        T::from_code(code).map(Self).ok_or_else(|| serde::de::Error::custom(format_args!("{code} is no {}", T::WHAT)))
    }
}

impl Coded for Role {
    const WHAT: &'static str = "role";
    const ALL: &'static [Self] = &Role::ALL;

    fn code(self) -> i64 {
        match self {
            Self::Queue => 0,
            Self::Work => 1,
            Self::Review => 2,
            Self::Blocked => 3,
            Self::Terminal => TERMINAL,
        }
    }
}

impl Coded for Outcome {
    const WHAT: &'static str = "outcome";
    const ALL: &'static [Self] = &[Self::Success, Self::Cancelled];

    fn code(self) -> i64 {
        match self {
            Self::Success => 0,
            Self::Cancelled => 1,
        }
    }
}

impl Coded for QuestionState {
    const WHAT: &'static str = "state of a question";
    const ALL: &'static [Self] = &[Self::Open, Self::Answered, Self::Cancelled];

    fn code(self) -> i64 {
        match self {
            Self::Open => OPEN_QUESTION,
            Self::Answered => 1,
            Self::Cancelled => 2,
        }
    }
}

impl Coded for SessionState {
    const WHAT: &'static str = "state of a session";
    const ALL: &'static [Self] = &SessionState::ALL;

    fn code(self) -> i64 {
        match self {
            Self::Active => ACTIVE_SESSION,
            Self::Finished => 1,
            Self::Cancelled => 2,
            Self::Lost => 3,
        }
    }
}

impl Coded for RunState {
    const WHAT: &'static str = "state of a run";
    const ALL: &'static [Self] = &Self::STORED;

    fn code(self) -> i64 {
        match self {
            Self::Queued => 0,
            Self::Running => 1,
            Self::Passed => 2,
            Self::Failed => 3,
            Self::Cancelled => 4,
            // Never stored.
            Self::Lost => 5,
        }
    }
}

impl Coded for Priority {
    const WHAT: &'static str = "priority";
    const ALL: &'static [Self] = &[Self::High, Self::Medium, Self::Low];

    fn code(self) -> i64 {
        match self {
            Self::High => 0,
            Self::Medium => 1,
            Self::Low => 2,
        }
    }
}

impl Coded for Profile {
    const WHAT: &'static str = "profile";
    const ALL: &'static [Self] = &Profile::ALL;

    fn code(self) -> i64 {
        match self {
            Self::Viewer => 0,
            Self::Planner => 1,
            Self::Worker => 2,
            Self::Operator => 3,
            Self::Maintainer => 4,
        }
    }
}

impl Coded for EdgeKind {
    const WHAT: &'static str = "edge kind";
    const ALL: &'static [Self] = &EdgeKind::ALL;

    fn code(self) -> i64 {
        match self {
            Self::Blocks => BLOCKS,
            Self::RelatesTo => 1,
            Self::Supersedes => SUPERSEDES,
            Self::DuplicateOf => DUPLICATE_OF,
        }
    }
}

impl Coded for Source {
    const WHAT: &'static str = "source of an entry";
    const ALL: &'static [Self] = &Source::ALL;

    fn code(self) -> i64 {
        match self {
            Self::Person => 0,
            Self::Agent => 1,
            Self::TaskCompletion => 2,
            Self::Import => 3,
        }
    }
}

impl Coded for EntryTie {
    const WHAT: &'static str = "link of an entry";
    const ALL: &'static [Self] = &EntryTie::ALL;

    fn code(self) -> i64 {
        match self {
            Self::Produced => 0,
            Self::Used => 1,
        }
    }
}

impl Coded for Verb {
    const WHAT: &'static str = "verb";
    const ALL: &'static [Self] = &Verb::ALL;

    fn code(self) -> i64 {
        match self {
            Self::ProjectSet => 0,
            Self::Created => 1,
            Self::Edited => 2,
            Self::Moved => 3,
            Self::Claimed => 4,
            Self::Released => 5,
            Self::Noted => 6,
            Self::NoteRemoved => 7,
            Self::Linked => 8,
            Self::Unlinked => 9,
            Self::Removed => 10,
            Self::KeySet => 11,
            Self::Briefed => 12,
            Self::Verified => 13,
            Self::Asked => 14,
            Self::Answered => 15,
            Self::Withdrawn => 16,
            Self::Commented => 17,
            Self::Attached => 18,
            Self::Detached => 19,
            Self::Learned => 40,
            Self::Revised => 41,
            Self::Reviewed => 42,
            Self::Forgotten => 43,
            Self::Cited => 44,
            Self::Uncited => 45,
            Self::SessionBegun => 30,
            Self::SessionBeat => 31,
            Self::SessionEnded => 32,
            Self::ChecksSet => 20,
            Self::ChecksApproved => 21,
            Self::Attested => 22,
            Self::RunsOrdered => 23,
            Self::RunTaken => 24,
            Self::RunEnded => 25,
        }
    }
}
