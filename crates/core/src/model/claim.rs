//! Leases on items.

use serde::{Deserialize, Serialize};

use super::{Name, Timestamp};
use crate::error::{Invalid, Reason};
use crate::limits;

/// Grows each time an item changes hands; a write that carries an older one is refused.
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Fence(pub u64);

/// A lease: who holds the item and until when.
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Claim {
    /// Who holds it.
    pub holder: Name,
    /// When the lease was last placed or extended by claiming.
    pub claimed_at: Timestamp,
    /// When it ends; `None` is until released.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<Timestamp>,
    /// When this holder first claimed it.
    pub original_claimed_at: Timestamp,
    /// How long the lease was asked for, so that a holder's write can extend it by as much. Zero: until released.
    pub ttl_seconds: u32,
}

impl Claim {
    /// Whether the lease still runs. It ends at its expiry, not after it.
    pub fn is_live(&self, now: Timestamp) -> bool {
        self.expires_at.is_none_or(|end| now < end)
    }

    /// Milliseconds until the lease ends, if it does.
    pub fn remaining_ms(&self, now: Timestamp) -> Option<u64> {
        self.expires_at.map(|end| end.millis_since(now))
    }
}

/// A lease's length in seconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "i64", into = "i64")]
pub struct Ttl(u32);

impl Ttl {
    /// Accepts what the limits allow.
    pub fn parse(seconds: i64) -> Result<Self, Invalid> {
        u32::try_from(seconds).ok().filter(|seconds| limits::LEASE_SECONDS.contains(seconds)).map(Self).ok_or_else(
            || {
                Invalid::new(
                    Reason::BadTtl,
                    format!(
                        "must be from {} to {} seconds, not {seconds}",
                        limits::LEASE_SECONDS.start(),
                        limits::LEASE_SECONDS.end()
                    ),
                )
            },
        )
    }

    /// The length in seconds.
    pub fn seconds(self) -> u32 {
        self.0
    }
}

impl TryFrom<i64> for Ttl {
    type Error = Invalid;

    fn try_from(seconds: i64) -> Result<Self, Invalid> {
        Self::parse(seconds)
    }
}

impl From<Ttl> for i64 {
    fn from(ttl: Ttl) -> Self {
        ttl.0.into()
    }
}
