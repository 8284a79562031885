//! Names of things: ids, keys, and the ways a caller may spell an item.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use ulid::Ulid;
use uuid::Uuid;

use super::{KeyPrefix, Timestamp};
use crate::error::{Invalid, Reason, echo};
use crate::limits;

/// Declares an id type over a `UUIDv7`.
macro_rules! uuid_id {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(transparent)]
        pub struct $name(Uuid);

        impl $name {
            /// From a UUID of any version: imports keep their ids.
            pub const fn from_uuid(uuid: Uuid) -> Self {
                Self(uuid)
            }

            /// The UUID.
            pub const fn as_uuid(self) -> Uuid {
                self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Display::fmt(&self.0.hyphenated(), f)
            }
        }

        impl FromStr for $name {
            type Err = Invalid;

            fn from_str(text: &str) -> Result<Self, Invalid> {
                parse_uuid(text).map(Self).ok_or_else(|| {
                    Invalid::new(Reason::BadId, format!("must be a UUID, not \"{}\"", echo(text)))
                })
            }
        }
    };
}

uuid_id! {
    /// Names an item for ever.
    ItemId
}
uuid_id! {
    /// Names a project for ever.
    ProjectId
}
uuid_id! {
    /// Names a note for ever.
    NoteId
}
uuid_id! {
    /// Names an edge for ever.
    EdgeId
}
uuid_id! {
    /// Names a caller's key for ever.
    ApiKeyId
}

/// Declares an id type over a ULID.
macro_rules! ulid_id {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(transparent)]
        pub struct $name(pub Ulid);

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Display::fmt(&self.0, f)
            }
        }

        impl FromStr for $name {
            type Err = Invalid;

            fn from_str(text: &str) -> Result<Self, Invalid> {
                Ulid::from_string(text).map(Self).map_err(|_| {
                    Invalid::new(Reason::BadId, format!("must be a ULID, not \"{}\"", echo(text)))
                })
            }
        }
    };
}

ulid_id! {
    /// Names an event for ever.
    EventId
}
ulid_id! {
    /// Names one unit of work: what was committed together.
    UnitId
}
ulid_id! {
    /// Names a question for ever.
    QuestionId
}
ulid_id! {
    /// Names a comment for ever.
    CommentId
}
ulid_id! {
    /// Names a link for ever.
    LinkId
}
ulid_id! {
    /// Names an entry of the knowledge for ever.
    EntryId
}
ulid_id! {
    /// Names a session for ever.
    SessionId
}
ulid_id! {
    /// Names a run of a check for ever.
    RunId
}

/// An item's short name inside its database: `DOC-17`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Key {
    /// The project's prefix.
    pub prefix: KeyPrefix,
    /// The item's number, counted from 1 in its project.
    pub number: u32,
}

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}-{}", self.prefix, self.number)
    }
}

impl From<Key> for String {
    fn from(key: Key) -> Self {
        key.to_string()
    }
}

impl TryFrom<String> for Key {
    type Error = Invalid;

    fn try_from(text: String) -> Result<Self, Invalid> {
        text.parse()
    }
}

/// The most digits of a key's number, zeros before it included.
const KEY_DIGITS: usize = 10;

impl FromStr for Key {
    type Err = Invalid;

    fn from_str(text: &str) -> Result<Self, Invalid> {
        let bad = || Invalid::new(Reason::BadId, format!("must be a key such as DOC-17, not \"{}\"", echo(text)));
        let (prefix, number) = text.rsplit_once('-').ok_or_else(bad)?;
        // Other systems fill numbers up: DOC-017 is DOC-17.
        let is_plain = number.len() <= KEY_DIGITS && number.bytes().all(|b| b.is_ascii_digit());
        let number = number.parse().ok().filter(|number| is_plain && *number > 0).ok_or_else(bad)?;
        Ok(Self { prefix: KeyPrefix::parse(prefix).map_err(|_| bad())?, number })
    }
}

/// The ways to spell an item: its id, its key, or a hex prefix of its id that only it has.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum ItemRef {
    /// The full id.
    Id(ItemId),
    /// The short key.
    Key(Key),
    /// Lower-case hex digits, without hyphens, that the id begins with.
    Prefix(String),
}

impl ItemRef {
    /// The lowest and highest id that a prefix can mean.
    pub fn prefix_bounds(digits: &str) -> Option<(Uuid, Uuid)> {
        let low = u128::from_str_radix(&format!("{digits:0<32}"), 16).ok()?;
        let high = u128::from_str_radix(&format!("{digits:f<32}"), 16).ok()?;
        Some((Uuid::from_u128(low), Uuid::from_u128(high)))
    }
}

impl From<ItemId> for ItemRef {
    fn from(id: ItemId) -> Self {
        Self::Id(id)
    }
}

impl fmt::Display for ItemRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Id(id) => id.fmt(f),
            Self::Key(key) => key.fmt(f),
            Self::Prefix(digits) => f.write_str(digits),
        }
    }
}

impl From<ItemRef> for String {
    fn from(item: ItemRef) -> Self {
        item.to_string()
    }
}

impl TryFrom<String> for ItemRef {
    type Error = Invalid;

    fn try_from(text: String) -> Result<Self, Invalid> {
        text.parse()
    }
}

impl FromStr for ItemRef {
    type Err = Invalid;

    fn from_str(text: &str) -> Result<Self, Invalid> {
        if let Some(uuid) = parse_uuid(text) {
            return Ok(Self::Id(ItemId(uuid)));
        }
        if text.bytes().all(|b| b.is_ascii_hexdigit()) && !text.is_empty() && text.len() <= 32 {
            if text.len() < limits::ID_PREFIX_DIGITS {
                return Err(Invalid::new(
                    Reason::BadId,
                    format!("is too short a prefix: give at least {} hex digits", limits::ID_PREFIX_DIGITS),
                ));
            }
            return Ok(Self::Prefix(text.to_ascii_lowercase()));
        }
        text.parse().map(Self::Key).map_err(|_| {
            Invalid::new(
                Reason::BadId,
                format!(
                    "must be an item's UUID, its key such as DOC-17, or {} or more hex digits of its UUID, not \"{}\"",
                    limits::ID_PREFIX_DIGITS,
                    echo(text)
                ),
            )
        })
    }
}

/// A caller's name for one logical request, so that a retry takes effect once.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct RequestId(String);

impl RequestId {
    /// 1 to 255 characters without controls; best a UUID, which is the same one however it is written.
    pub fn parse(text: &str) -> Result<Self, Invalid> {
        if let Ok(uuid) = Uuid::try_parse(text.trim()) {
            return Ok(Self(uuid.to_string()));
        }
        let length = text.chars().count();
        if length == 0 || length > limits::REQUEST_ID_CHARS || text.chars().any(char::is_control) {
            return Err(Invalid::new(
                Reason::BadRequestId,
                format!("must be 1 to {} characters without control characters, best a UUID", limits::REQUEST_ID_CHARS),
            ));
        }
        Ok(Self(text.to_owned()))
    }

    /// The text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl From<RequestId> for String {
    fn from(id: RequestId) -> Self {
        id.0
    }
}

impl TryFrom<String> for RequestId {
    type Error = Invalid;

    fn try_from(text: String) -> Result<Self, Invalid> {
        Self::parse(&text)
    }
}

/// Makes ids inside a pure decision: from the database's time and the random seed of the call, in creation order.
#[derive(Debug)]
pub struct Ids {
    millis: u64,
    seed: u128,
    made: u32,
}

impl Ids {
    /// Ids for one unit of work.
    pub fn new(now: Timestamp, seed: u128) -> Self {
        Self { millis: u64::try_from(now.as_millis()).unwrap_or(0), seed, made: 0 }
    }

    /// The next `UUIDv7`: 48 bits of time, 26 of order inside the unit, 48 of the seed.
    pub fn uuid(&mut self) -> Uuid {
        let order = u128::from(self.made & 0x03ff_ffff);
        self.made += 1;
        let time = u128::from(self.millis & 0xffff_ffff_ffff) << 80;
        let version = 0x7_u128 << 76;
        let order_high = (order >> 14) << 64;
        let variant = 0x2_u128 << 62;
        let order_low = (order & 0x3fff) << 48;
        let noise = self.seed & 0xffff_ffff_ffff;
        Uuid::from_u128(time | version | order_high | variant | order_low | noise)
    }

    /// The next ULID: 48 bits of time, 26 of order inside the unit, 54 of the seed.
    pub fn ulid(&mut self) -> Ulid {
        let order = u128::from(self.made & 0x03ff_ffff);
        self.made += 1;
        Ulid::from_parts(self.millis, (order << 54) | ((self.seed >> 48) & 0x3f_ffff_ffff_ffff))
    }
}

/// Accepts the hyphenated form alone, in either case: 32 bare digits are a prefix like any other.
fn parse_uuid(text: &str) -> Option<Uuid> {
    (text.len() == 36).then(|| Uuid::try_parse(text).ok()).flatten()
}
