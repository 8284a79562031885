//! Sessions: one durable attempt at an item by one agent, and how it fares.
//!
//! What is stored is what happened: when it began, when it was last heard of, how it ended. How it fares is never stored:
//! [`Session::health`] derives it from the session, its item and the time, so that no session says it is at work when its
//! claim is gone.

use std::collections::BTreeMap;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::{Fence, Item, ItemId, Name, Outcome, ProjectId, Role, SessionId, Summary, Text, Timestamp};
use crate::error::{Invalid, Reason, echo};
use crate::limits;
use crate::workflow::ClaimRules;

/// Whether a session has ended, and how.
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SessionState {
    /// It has not ended.
    Active,
    /// Its agent handed the work over.
    Finished,
    /// Its agent gave it up.
    Cancelled,
    /// Its claim was gone when another attempt at the item began.
    Lost,
}

impl SessionState {
    /// All states.
    pub const ALL: [Self; 4] = [Self::Active, Self::Finished, Self::Cancelled, Self::Lost];

    /// The state as it is written.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Active => "active",
            Self::Finished => "finished",
            Self::Cancelled => "cancelled",
            Self::Lost => "lost",
        }
    }
}

impl FromStr for SessionState {
    type Err = Invalid;

    fn from_str(text: &str) -> Result<Self, Invalid> {
        one_of(&Self::ALL, Self::as_str, text)
    }
}

/// How a session fares. Derived whenever somebody asks.
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Health {
    /// Its agent holds the item and was heard of lately.
    Active,
    /// Its agent holds the item and has not been heard of for longer than the workflow allows.
    Stalled,
    /// It was finished, and its item has been in review ever since; or its item was handed in and nobody took it since.
    AwaitingReview,
    /// It has not been ended by its agent, its claim is gone or has run out, and its item is still to be done.
    Lost,
    /// It was finished, and its item has moved on; or its item was closed and nobody took it since.
    Finished,
    /// It was given up.
    Cancelled,
}

impl Health {
    /// All of them.
    pub const ALL: [Self; 6] =
        [Self::Active, Self::Stalled, Self::AwaitingReview, Self::Lost, Self::Finished, Self::Cancelled];

    /// The health as it is written.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Active => "active",
            Self::Stalled => "stalled",
            Self::AwaitingReview => "awaiting_review",
            Self::Lost => "lost",
            Self::Finished => "finished",
            Self::Cancelled => "cancelled",
        }
    }

    /// The states that a session of this health can be in: what a store can look for.
    pub fn states(self) -> &'static [SessionState] {
        match self {
            Self::Active | Self::Stalled => &[SessionState::Active],
            Self::AwaitingReview | Self::Finished => &[SessionState::Active, SessionState::Finished],
            Self::Lost => &[SessionState::Active, SessionState::Lost],
            Self::Cancelled => &[SessionState::Cancelled],
        }
    }
}

impl FromStr for Health {
    type Err = Invalid;

    fn from_str(text: &str) -> Result<Self, Invalid> {
        one_of(&Self::ALL, Self::as_str, text)
    }
}

fn one_of<T: Copy>(all: &[T], name: fn(T) -> &'static str, text: &str) -> Result<T, Invalid> {
    all.iter().copied().find(|one| name(*one) == text).ok_or_else(|| {
        let known: Vec<&str> = all.iter().map(|one| name(*one)).collect();
        Invalid::new(Reason::UnknownValue, format!("must be one of {}, not \"{}\"", known.join(", "), echo(text)))
    })
}

/// How far an agent says it has come.
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Progress {
    /// In words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<Summary>,
    /// From 0 to 100.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "percent")]
    #[cfg_attr(feature = "openapi", schema(minimum = 0, maximum = 100))]
    pub percent: Option<u8>,
    /// The step it is at.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub step: Option<Name>,
}

impl Progress {
    /// Whether nothing is said.
    pub fn is_empty(&self) -> bool {
        self.text.is_none() && self.percent.is_none() && self.step.is_none()
    }
}

fn percent<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<Option<u8>, D::Error> {
    let Some(value) = Option::<i64>::deserialize(deserializer)? else { return Ok(None) };
    u8::try_from(value).ok().filter(|percent| *percent <= 100).map(Some).ok_or_else(|| {
        serde::de::Error::custom(Invalid::new(Reason::BadValue, format!("must be from 0 to 100, not {value}")))
    })
}

/// What runs a session, in its own words: a few names with short texts, numbers or flags.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "Map<String, Value>", into = "Map<String, Value>")]
pub struct Runtime(BTreeMap<Name, Value>);

impl Runtime {
    /// Accepts what the limits allow.
    pub fn parse(given: Map<String, Value>) -> Result<Self, Invalid> {
        if given.len() > limits::RUNTIME_ENTRIES {
            let message = format!("must have at most {} entries, not {}", limits::RUNTIME_ENTRIES, given.len());
            return Err(Invalid::new(Reason::TooMany, message));
        }
        let mut entries = BTreeMap::new();
        for (key, value) in given {
            let name = Name::parse(&key)
                .map_err(|invalid| Invalid::new(invalid.reason, format!("has a key that {}", invalid.message)))?;
            let value = match value {
                Value::String(text) if text.len() > limits::RUNTIME_BYTES => {
                    let message = format!("\"{name}\" must be at most {} bytes", limits::RUNTIME_BYTES);
                    return Err(Invalid::new(Reason::TooLong, message));
                }
                Value::String(text) => Value::from(Summary::parse(&text)?.as_str()),
                plain @ (Value::Number(_) | Value::Bool(_)) => plain,
                Value::Null | Value::Array(_) | Value::Object(_) => {
                    let message = format!("\"{name}\" must be a text, a number or a flag");
                    return Err(Invalid::new(Reason::BadValue, message));
                }
            };
            entries.insert(name, value);
        }
        Ok(Self(entries))
    }

    /// Whether nothing is said.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The entries by name.
    pub fn entries(&self) -> impl Iterator<Item = (&Name, &Value)> {
        self.0.iter()
    }
}

impl TryFrom<Map<String, Value>> for Runtime {
    type Error = Invalid;

    fn try_from(given: Map<String, Value>) -> Result<Self, Invalid> {
        Self::parse(given)
    }
}

impl From<Runtime> for Map<String, Value> {
    fn from(runtime: Runtime) -> Self {
        runtime.0.into_iter().map(|(key, value)| (key.into(), value)).collect()
    }
}

/// One durable attempt at an item by one agent. An item has one that has not ended at the most.
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Session {
    /// Names it for ever.
    pub id: SessionId,
    /// The item.
    pub item: ItemId,
    /// The item's project.
    pub project: ProjectId,
    /// Who attempts it: whoever holds the claim.
    pub actor: Name,
    /// Whether it has ended, and how.
    pub state: SessionState,
    /// The fence of the claim that it began with.
    pub fence: Fence,
    /// When it began.
    pub started_at: Timestamp,
    /// When its agent was last heard of.
    pub heartbeat_at: Timestamp,
    /// When it ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ended_at: Option<Timestamp>,
    /// What runs it.
    #[serde(default, skip_serializing_if = "Runtime::is_empty")]
    #[cfg_attr(feature = "openapi", schema(value_type = std::collections::BTreeMap<String, serde_json::Value>))]
    pub runtime: Runtime,
    /// How far it has come.
    #[serde(default, skip_serializing_if = "Progress::is_empty")]
    pub progress: Progress,
    /// What was done, for whoever reviews it; there once it was finished.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub summary: Option<Text>,
    /// Where the work is: a commit, a branch.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub head: Option<Name>,
    /// Why it was given up, or what became of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<Text>,
}

impl Session {
    /// Whether it has not been ended.
    pub fn is_open(&self) -> bool {
        self.state == SessionState::Active
    }

    /// Whether its agent still holds the item by the claim that it began with.
    pub fn holds(&self, item: &Item, now: Timestamp) -> bool {
        item.fence == self.fence && item.is_held_by(&self.actor, now)
    }

    /// Whether its item was handed in or closed without a word to it, and nobody has taken the item since.
    fn went_on_with(&self, item: &Item, now: Timestamp) -> bool {
        // A claim that has run out is nobody's, whether or not it was ended.
        item.live_claim(now).is_none() && item.fence == self.fence && item.role_changed_at > self.started_at
    }

    /// Whether its item was handed in by a move, without a word to it: what it has to say is still its own to say.
    pub fn awaits_review(&self, item: &Item, now: Timestamp) -> bool {
        self.state == SessionState::Active && self.went_on_with(item, now) && item.role == Role::Review
    }

    /// How it fares.
    pub fn health(&self, item: &Item, rules: ClaimRules, now: Timestamp) -> Health {
        match self.state {
            SessionState::Active if self.awaits_review(item, now) => Health::AwaitingReview,
            SessionState::Active if self.went_on_with(item, now) && item.outcome == Some(Outcome::Success) => {
                Health::Finished
            }
            SessionState::Active if !self.holds(item, now) => Health::Lost,
            SessionState::Active => {
                let silent = now.millis_since(self.heartbeat_at);
                let most = u64::from(rules.stalled_after_seconds) * 1000;
                if most > 0 && silent > most { Health::Stalled } else { Health::Active }
            }
            // Since it ended the item has left review for no moment: it is this attempt that waits there.
            SessionState::Finished
                if item.role == Role::Review && self.ended_at.is_some_and(|end| item.role_changed_at <= end) =>
            {
                Health::AwaitingReview
            }
            SessionState::Finished => Health::Finished,
            SessionState::Cancelled => Health::Cancelled,
            SessionState::Lost => Health::Lost,
        }
    }

    /// Whether what it says of its end fits its state.
    pub fn ends_as_it_says(&self) -> bool {
        let ended = self.ended_at.is_some();
        match self.state {
            SessionState::Active => !ended && self.summary.is_none() && self.reason.is_none() && self.head.is_none(),
            SessionState::Finished => ended && self.summary.as_ref().is_some_and(|summary| !summary.is_blank()),
            SessionState::Cancelled | SessionState::Lost => ended && self.summary.is_none(),
        }
    }
}

#[cfg(test)]
mod tests;
