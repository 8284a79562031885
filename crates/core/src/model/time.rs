//! Points in time: UTC, in milliseconds.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::error::{Invalid, Reason, echo};

/// Milliseconds since 1970-01-01T00:00:00Z; written as RFC 3339 in UTC.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Timestamp(i64);

impl Timestamp {
    /// The latest moment that can be written: the end of the year 9999.
    pub const MAX: Self = Self(253_402_207_200_999);

    /// From milliseconds since the epoch, clamped to what can be written.
    pub fn from_millis(millis: i64) -> Self {
        Self(millis.clamp(0, Self::MAX.0))
    }

    /// Milliseconds since the epoch.
    pub fn as_millis(self) -> i64 {
        self.0
    }

    /// This moment and `seconds` more, never past [`Self::MAX`].
    #[must_use]
    pub fn plus_seconds(self, seconds: u32) -> Self {
        Self::from_millis(self.0.saturating_add(i64::from(seconds) * 1000))
    }

    /// Milliseconds from `earlier` to here; zero when it is not earlier.
    pub fn millis_since(self, earlier: Self) -> u64 {
        u64::try_from(self.0 - earlier.0).unwrap_or(0)
    }
}

impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match jiff::Timestamp::from_millisecond(self.0) {
            Ok(time) => write!(f, "{time:.3}"),
            Err(_) => f.write_str("9999-12-31T23:59:59.999Z"),
        }
    }
}

impl FromStr for Timestamp {
    type Err = Invalid;

    fn from_str(text: &str) -> Result<Self, Invalid> {
        text.parse::<jiff::Timestamp>().map(|time| Self::from_millis(time.as_millisecond())).map_err(|_| {
            Invalid::new(
                Reason::BadValue,
                format!("must be a time with a zone such as 2026-01-31T12:00:00Z, not \"{}\"", echo(text)),
            )
        })
    }
}

impl Serialize for Timestamp {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Timestamp {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = std::borrow::Cow::<'de, str>::deserialize(deserializer)?;
        text.parse().map_err(serde::de::Error::custom)
    }
}
