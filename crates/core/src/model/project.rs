//! Named sets of items with rules of their own.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::{Key, ProjectId, Timestamp, Title};
use crate::error::{Invalid, Reason, echo};
use crate::workflow::{Schemas, Workflow};

/// Longest slug or key prefix.
const SHORT_NAME_BYTES: usize = 64;
const PREFIX_BYTES: usize = 12;

/// A project's name in commands and addresses: lower-case letters, digits and hyphens.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Slug(String);

impl Slug {
    /// Accepts `[a-z0-9][a-z0-9-]*`, at most 64 bytes.
    pub fn parse(text: &str) -> Result<Self, Invalid> {
        let plain = text.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-');
        if text.is_empty() || text.len() > SHORT_NAME_BYTES || text.starts_with('-') || !plain {
            return Err(Invalid::new(
                Reason::BadValue,
                format!(
                    "must be 1 to {SHORT_NAME_BYTES} lower-case letters, digits and hyphens, not \"{}\"",
                    echo(text)
                ),
            ));
        }
        Ok(Self(text.to_owned()))
    }

    /// The text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// The first half of a project's keys: capital letters and digits, beginning with a letter.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct KeyPrefix(String);

impl KeyPrefix {
    /// Accepts 1 to 12 letters and digits beginning with a letter; lower case is raised.
    pub fn parse(text: &str) -> Result<Self, Invalid> {
        let upper = text.to_ascii_uppercase();
        let plain = upper.bytes().all(|b| b.is_ascii_uppercase() || b.is_ascii_digit());
        if upper.len() > PREFIX_BYTES || !plain || !upper.starts_with(|c: char| c.is_ascii_uppercase()) {
            return Err(Invalid::new(
                Reason::BadValue,
                format!(
                    "must be 1 to {PREFIX_BYTES} letters and digits beginning with a letter, not \"{}\"",
                    echo(text)
                ),
            ));
        }
        Ok(Self(upper))
    }

    /// The text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

macro_rules! plain_conversions {
    ($name:ident) => {
        impl From<$name> for String {
            fn from(name: $name) -> Self {
                name.0
            }
        }

        impl TryFrom<String> for $name {
            type Error = Invalid;

            fn try_from(text: String) -> Result<Self, Invalid> {
                Self::parse(&text)
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }
    };
}

plain_conversions!(Slug);
plain_conversions!(KeyPrefix);

/// A named set of items with a workflow, schemas and a key prefix.
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Project {
    /// Names it for ever.
    pub id: ProjectId,
    /// Its name in commands and addresses.
    pub slug: Slug,
    /// Its name for people.
    pub name: Title,
    /// The first half of its keys.
    pub prefix: KeyPrefix,
    /// The statuses and switches of its items.
    pub workflow: Workflow,
    /// What notes its items need.
    pub schemas: Schemas,
    /// The number its next item gets.
    pub next_number: u32,
    /// Grows with each change of its rules.
    pub version: u64,
    /// When it was made.
    pub created_at: Timestamp,
    /// When it was put away: nothing in it is handed out or changed any more.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub archived_at: Option<Timestamp>,
}

impl Project {
    /// The key of the item with this number.
    pub fn key(&self, number: u32) -> Key {
        Key { prefix: self.prefix.clone(), number }
    }
}
