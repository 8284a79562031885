//! Keys of callers, with the hashes of their secrets.

use std::collections::BTreeSet;

use crate::access::Profile;
use crate::model::{ApiKey, ApiKeyId, Handle, ItemId, Name, ProjectId, SecretDigest, StoredKey};
use crate::store::code::Code;
use serde::{Deserialize, Deserializer};

use super::Millis;

/// A row of `api_keys`: what a store keeps of a key.
#[derive(Debug, Deserialize)]
pub struct KeyRow {
    id: ApiKeyId,
    handle: Handle,
    #[serde(deserialize_with = "digest")]
    digest: [u8; 32],
    name: Name,
    profile: Code<Profile>,
    projects: Option<BTreeSet<ProjectId>>,
    item: Option<ItemId>,
    created_at: Millis,
    expires_at: Option<Millis>,
    revoked_at: Option<Millis>,
    last_used_at: Option<Millis>,
}

impl From<KeyRow> for StoredKey {
    fn from(row: KeyRow) -> Self {
        let key = ApiKey {
            id: row.id,
            handle: row.handle,
            name: row.name,
            profile: row.profile.0,
            projects: row.projects,
            item: row.item,
            created_at: row.created_at.into(),
            expires_at: row.expires_at.map(Into::into),
            revoked_at: row.revoked_at.map(Into::into),
            last_used_at: row.last_used_at.map(Into::into),
        };
        Self { key, digest: SecretDigest(row.digest) }
    }
}

/// The 32 bytes of a digest from its hex digits.
pub(super) fn digest<'de, D: Deserializer<'de>>(deserializer: D) -> Result<[u8; 32], D::Error> {
    let text = String::deserialize(deserializer)?;
    let half = |digits: &str| u128::from_str_radix(digits, 16).ok().map(u128::to_be_bytes);
    let bytes = text.split_at_checked(32).and_then(|(high, low)| Some([half(high)?, half(low)?].concat()));
    bytes.and_then(|bytes| bytes.try_into().ok()).ok_or_else(|| serde::de::Error::custom("a digest has not 32 bytes"))
}
