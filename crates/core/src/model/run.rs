//! Runs of checks, now or in the past.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use super::{About, CheckKind, Definition, ItemId, Name, RunId, Text, Timestamp, Tree};
use crate::error::{Invalid, Reason, echo};

/// Where a run stands.
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum RunState {
    /// It waits for a runner.
    Queued,
    /// A runner is at it.
    Running,
    /// The check holds.
    Passed,
    /// The check does not hold.
    Failed,
    /// It was given up, or could not be made: nothing is known of the check.
    Cancelled,
    /// Its runner never came back. Derived when somebody looks, never stored.
    Lost,
}

impl RunState {
    /// All states that are stored.
    pub const STORED: [Self; 5] = [Self::Queued, Self::Running, Self::Passed, Self::Failed, Self::Cancelled];

    /// The state as it is written.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Queued => "queued",
            Self::Running => "running",
            Self::Passed => "passed",
            Self::Failed => "failed",
            Self::Cancelled => "cancelled",
            Self::Lost => "lost",
        }
    }

    /// Whether more is to come.
    pub fn is_open(self) -> bool {
        match self {
            Self::Queued | Self::Running => true,
            Self::Passed | Self::Failed | Self::Cancelled | Self::Lost => false,
        }
    }
}

impl fmt::Display for RunState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for RunState {
    type Err = Invalid;

    fn from_str(text: &str) -> Result<Self, Invalid> {
        let all = Self::STORED.into_iter().chain([Self::Lost]);
        all.into_iter().find(|state| state.as_str() == text).ok_or_else(|| {
            let message = format!("must be queued, running, passed, failed, cancelled or lost, not \"{}\"", echo(text));
            Invalid::new(Reason::UnknownValue, message)
        })
    }
}

/// How a run ended.
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "how", rename_all = "snake_case", rename_all_fields = "camelCase")]
pub enum RunEnd {
    /// The command ended by itself.
    Exited {
        /// With this code.
        code: i32,
    },
    /// A signal ended it.
    Signalled {
        /// This one.
        signal: i32,
    },
    /// It took too long and was ended.
    TimedOut,
    /// It was given up and ended.
    Cancelled,
    /// It could not be started as it is written: its folder is not there, or leads out of the repository.
    NotStarted {
        /// Why.
        why: Text,
        /// The same as a word that stays the same, such as `outside_worktree`.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        code: Option<Name>,
    },
    /// The runner could not make it, and nothing is known of the check: its repository or what it would ask is not there.
    NotMade {
        /// Why.
        why: Text,
        /// Whether the same runner may do better later: what it would ask does not answer at the moment.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        passing: bool,
    },
    /// A fact outside is not decided yet: a pull request is open. What was handed in is looked at again.
    NotYet {
        /// What was seen.
        seen: Text,
    },
    /// A fact outside is so, or is not.
    Fact {
        /// Whether it is.
        holds: bool,
        /// What was seen.
        seen: Text,
    },
    /// Nothing changed since an earlier run, whose result stands.
    Unchanged {
        /// That run.
        #[cfg_attr(feature = "openapi", schema(value_type = String))]
        since: RunId,
    },
}

impl fmt::Display for RunEnd {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Exited { code } => write!(f, "exit {code}"),
            Self::Signalled { signal } => write!(f, "signal {signal}"),
            Self::TimedOut => f.write_str("timed out"),
            Self::Cancelled => f.write_str("cancelled"),
            Self::NotStarted { why, code: Some(code) } => write!(f, "not started: {} ({code})", why.as_str()),
            Self::NotStarted { why, code: None } => write!(f, "not started: {}", why.as_str()),
            Self::NotMade { why, .. } => write!(f, "could not be made: {}", why.as_str()),
            Self::Fact { seen, .. } | Self::NotYet { seen } => f.write_str(seen.as_str()),
            Self::Unchanged { since } => write!(f, "unchanged since run {since}"),
        }
    }
}

/// A runner that could not make a run.
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Declined {
    /// The runner.
    pub runner: Name,
    /// When it tries again; it does not, where nothing is said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until: Option<Timestamp>,
}

/// One making of a check, now or in the past.
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Run {
    /// Names it for ever.
    #[cfg_attr(feature = "openapi", schema(value_type = String))]
    pub id: RunId,
    /// The item.
    pub item: ItemId,
    /// The place of the check among those of the item, when it was ordered.
    pub check: usize,
    /// What the check verifies.
    pub desc: Text,
    /// How it is made.
    #[serde(flatten)]
    pub kind: CheckKind,
    /// What the check said.
    #[cfg_attr(feature = "openapi", schema(value_type = String))]
    pub definition: Definition,
    /// Where it stands.
    pub state: RunState,
    /// Whether it is made even if nothing changed.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub again: bool,
    /// Who wanted it.
    pub ordered_by: Name,
    /// When.
    pub ordered_at: Timestamp,
    /// The work tree that it was ordered in, and is about; none where it was ordered by a server, which has none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub place: Option<Name>,
    /// Who makes it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub runner: Option<Name>,
    /// Runners that tried and could not make it: it waits for another, or for their next try.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub declined: Vec<Declined>,
    /// How often it was tried, and nothing was known after it.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub tries: u32,
    /// When it is looked at again, where what it is about was not decided yet.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next_look_at: Option<Timestamp>,
    /// Since when.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub started_at: Option<Timestamp>,
    /// When its runner counts as gone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub due_at: Option<Timestamp>,
    /// When it ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ended_at: Option<Timestamp>,
    /// How it ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub end: Option<RunEnd>,
    /// The work tree it was made on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<String>))]
    pub tree: Option<Tree>,
    /// The words of the criterion that its check proves, as they were when it began: it shows nothing of others. None where it
    /// proves none, or has not begun.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<String>))]
    pub about: Option<About>,
    /// How it was kept apart from everything else, as it really was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sandbox: Option<Name>,
    /// How much its log holds, in bytes.
    #[serde(default)]
    pub log_bytes: u64,
    /// How much was said that the log does not hold.
    #[serde(default)]
    pub log_left_out: u64,
}

impl Run {
    /// Where it stands at a time: a runner that did not come back in time is gone.
    pub fn state_at(&self, now: Timestamp) -> RunState {
        match self.state {
            RunState::Running if self.due_at.is_some_and(|due| due < now) => RunState::Lost,
            state => state,
        }
    }

    /// Whether it is about a work tree, or about none where there is none.
    fn is_at(&self, place: Option<&Name>) -> bool {
        match (place, &self.place) {
            (None, said) => said.is_none(),
            (Some(place), said) => said.as_ref().is_some_and(|said| is_called(place, said)),
        }
    }

    /// Whether others in the same work tree could disturb it.
    pub fn needs_room(&self) -> bool {
        self.kind.needs_room()
    }

    /// When a runner may take it, at a time: not what another is at, what it could not make, or what is looked at later.
    pub fn turn(&self, runner: &Name, now: Timestamp) -> Turn {
        let declined = self.declined.iter().find(|declined| declined.runner == *runner);
        let later = match (self.state_at(now), declined) {
            (RunState::Passed | RunState::Failed | RunState::Cancelled, _)
            | (_, Some(Declined { until: None, .. })) => {
                return Turn::Never;
            }
            (RunState::Running, _) => self.due_at.map(|due| Timestamp::from_millis(due.as_millis().saturating_add(1))),
            (RunState::Queued | RunState::Lost, declined) => {
                self.next_look_at.max(declined.and_then(|declined| declined.until))
            }
        };
        match later {
            Some(at) if at > now => Turn::At(at),
            Some(_) | None => Turn::Now,
        }
    }
}

/// When somebody may take a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Turn {
    /// At once.
    Now,
    /// Not before this time.
    At(Timestamp),
    /// It is left to others.
    Never,
}

/// Which runs somebody takes. What a command shows is about the work tree it was ordered in, so nobody makes it elsewhere
/// unasked; a pull request is the same from everywhere.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum Taking {
    /// The one that is named: somebody asked for it here, and it is about this place from now on.
    Asked,
    /// Those that were ordered in this work tree; those that were ordered in none, where there is none here.
    Own(Option<Name>),
    /// These, those that were ordered in none, and pull requests wherever they were ordered: for a runner beside a server.
    Served(Option<Name>),
}

impl Taking {
    /// Whether it includes a run.
    pub fn includes(&self, run: &Run) -> bool {
        match self {
            Self::Asked => true,
            Self::Own(place) => run.is_at(place.as_ref()),
            Self::Served(place) => {
                let is_about_files = matches!(run.kind, CheckKind::Command { .. });
                run.is_at(place.as_ref()) || run.place.is_none() || !is_about_files
            }
        }
    }

    /// The work tree that a run is made in by whoever takes it so, where that is known better than from the run itself.
    pub(crate) fn place_of<'t>(&'t self, run: &Run) -> Option<&'t Name> {
        match self {
            Self::Asked => None,
            Self::Own(place) | Self::Served(place) => place.as_ref().filter(|place| run.is_at(Some(place))),
        }
    }
}

/// Whether a work tree is meant by what somebody calls it: its whole name, or that of its folder alone.
fn is_called(place: &Name, said: &Name) -> bool {
    place == said || place.as_str().rsplit_once('@').is_some_and(|(folder, _)| folder == said.as_str())
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks by reference")]
fn is_zero(number: &u32) -> bool {
    *number == 0
}
