//! Keys that callers are known by: recognisable, shown once, kept as a hash.

use std::collections::BTreeSet;
use std::fmt;

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::{ApiKeyId, ItemId, Name, ProjectId, Timestamp};
use crate::access::{Access, Profile};
use crate::error::{Code, Error, Kind, Reason};

/// What every key begins with, so that people and scanners know one when they see it.
const MARK: &str = "dkt";
/// The digits of a key's handle.
const HANDLE_DIGITS: usize = 8;
/// The digits of its secret: 256 bits.
const SECRET_DIGITS: usize = 64;

/// The part of a key that is no secret: by it a key is found and recognised.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Handle(String);

impl Handle {
    /// A handle as it is stored.
    pub fn parse(text: &str) -> Option<Self> {
        (text.len() == HANDLE_DIGITS && is_hex(text)).then(|| Self(text.to_owned()))
    }

    /// The digits.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Handle {
    /// The beginning of the key, as its owner sees it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{MARK}_{}", self.0)
    }
}

/// A hash of a key's secret. SHA-256 is right for it: 256 random bits cannot be guessed, however quick the hash.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct SecretDigest(pub [u8; 32]);

impl SecretDigest {
    /// Whether two are equal, in a time that does not depend on where they differ.
    pub fn matches(&self, other: &Self) -> bool {
        let differing = self.0.iter().zip(&other.0).fold(0, |all, (a, b)| all | (a ^ b));
        std::hint::black_box(differing) == 0
    }
}

impl fmt::Debug for SecretDigest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SecretDigest")
    }
}

/// A whole key, as its owner sends it. It is never stored, logged or answered a second time.
pub struct KeySecret {
    handle: Handle,
    digits: String,
}

impl KeySecret {
    /// A new key from randomness.
    pub fn new(random: [u8; 36]) -> Self {
        let digits: Vec<String> = random.iter().map(|byte| format!("{byte:02x}")).collect();
        let digits = digits.concat();
        let (handle, secret) = digits.split_at(HANDLE_DIGITS);
        Self { handle: Handle(handle.to_owned()), digits: secret.to_owned() }
    }

    /// What a caller sent, if it has the form of a key.
    pub fn parse(text: &str) -> Option<Self> {
        let (handle, secret) = text.strip_prefix(MARK)?.strip_prefix('_')?.split_once('_')?;
        let whole = secret.len() == SECRET_DIGITS && is_hex(secret);
        Some(Self { handle: Handle::parse(handle)?, digits: secret.to_owned() }).filter(|_| whole)
    }

    /// The part that is no secret.
    pub fn handle(&self) -> &Handle {
        &self.handle
    }

    /// What is kept of the rest.
    pub fn digest(&self) -> SecretDigest {
        SecretDigest(Sha256::digest(self.digits.as_bytes()).into())
    }

    /// The whole key, to be shown to its owner once.
    pub fn reveal(&self) -> String {
        format!("{}_{}", self.handle, self.digits)
    }
}

impl fmt::Debug for KeySecret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}_…", self.handle)
    }
}

/// A key that a caller is known by. Its secret's hash is not among its fields, so that no answer or event can hold it.
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ApiKey {
    /// Names it for ever; a rotated key keeps it.
    pub id: ApiKeyId,
    /// How its secret begins.
    pub handle: Handle,
    /// What people call it.
    pub name: Name,
    /// How much its holder may do.
    pub profile: Profile,
    /// In these projects; in all where nothing is said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub projects: Option<BTreeSet<ProjectId>>,
    /// On this item alone, as far as writing goes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub item: Option<ItemId>,
    /// When it was made.
    pub created_at: Timestamp,
    /// When it ends by itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<Timestamp>,
    /// When it was revoked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub revoked_at: Option<Timestamp>,
    /// When it was last used, give or take a minute.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_used_at: Option<Timestamp>,
}

impl ApiKey {
    /// Refuses a key that does not hold any more.
    pub fn check(&self, now: Timestamp) -> Result<(), Error> {
        let (reason, message) = if self.revoked_at.is_some() {
            (Reason::KeyRevoked, "this key was revoked")
        } else if self.expires_at.is_some_and(|end| end <= now) {
            (Reason::KeyExpired, "this key has expired")
        } else {
            return Ok(());
        };
        Err(Error::new(Kind::Permanent, Code::Forbidden, reason, message))
    }

    /// What its holder may do, and where.
    pub fn access(&self) -> Access {
        Access {
            projects: self.projects.clone(),
            item: self.item,
            key: Some(self.id),
            handle: Some(self.handle.clone()),
            ..Access::everywhere(self.profile)
        }
    }

    /// Who acts with it: the same for the whole life of the key, and never another key's, even of the same name.
    pub fn principal(&self) -> Name {
        let id = self.id.as_uuid().simple().to_string();
        let tail = id.get(id.len() - 8..).unwrap_or(&id);
        let whole = format!("key:{}:{tail}", self.name);
        Name::parse(&whole).or_else(|_| Name::parse(&format!("key:{id}"))).unwrap_or_else(|_| self.name.clone())
    }
}

/// A key with the hash of its secret, as it is stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredKey {
    /// The key.
    pub key: ApiKey,
    /// The hash of its secret.
    pub digest: SecretDigest,
}

fn is_hex(text: &str) -> bool {
    text.bytes().all(|digit| matches!(digit, b'0'..=b'9' | b'a'..=b'f'))
}

#[cfg(test)]
mod tests {
    use super::{KeySecret, SecretDigest};

    #[test]
    fn a_key_comes_back_as_it_was_shown_and_nothing_else_does() {
        let made = KeySecret::new(std::array::from_fn(|place| u8::try_from(place).expect("small")));
        let shown = made.reveal();
        assert!(shown.starts_with("dkt_00010203_0405"), "{shown}");
        let parsed = KeySecret::parse(&shown).expect("a key");
        assert_eq!((parsed.handle(), parsed.digest()), (made.handle(), made.digest()));
        assert!(!format!("{made:?}").contains("0405"), "what is logged holds no secret: {made:?}");
        for bad in ["", "dkt_", "dkt__", &shown[1..], &shown[..76], &format!("{shown}0"), &shown.to_uppercase()] {
            assert!(KeySecret::parse(bad).is_none(), "{bad}");
        }
    }

    #[test]
    fn digests_match_only_when_every_byte_does() {
        let one = SecretDigest([7; 32]);
        for place in 0..32 {
            let mut other = one;
            other.0[place] ^= 1;
            assert!(!one.matches(&other), "{place}");
        }
        assert!(one.matches(&SecretDigest([7; 32])));
    }
}
