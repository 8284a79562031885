//! A key set, read: only keys that can check a signature and are strong enough are in it.

use std::collections::BTreeMap;

use jsonwebtoken::DecodingKey;
use jsonwebtoken::jwk::{AlgorithmParameters, Jwk, PublicKeyUse};
use serde::Deserialize;

use crate::RSA_BITS;

/// Keys by id; those without one are counted apart.
#[derive(Clone, Default)]
pub(crate) struct KeySet {
    named: BTreeMap<String, DecodingKey>,
    nameless: Vec<DecodingKey>,
}

#[derive(Deserialize)]
struct Document {
    keys: Vec<serde_json::Value>,
}

impl KeySet {
    /// Reads a key set; refuses one without a usable key.
    pub(crate) fn parse(text: &[u8]) -> Result<Self, String> {
        let document: Document = serde_json::from_slice(text).map_err(|_| "this is no JSON Web Key Set".to_owned())?;
        let mut set = Self::default();
        for key in document.keys {
            // A kind of key that is not known yet is no reason to refuse the others.
            let Ok(jwk) = serde_json::from_value::<Jwk>(key) else { continue };
            let Some(key) = usable(&jwk) else { continue };
            match jwk.common.key_id {
                None => set.nameless.push(key),
                Some(id) => {
                    if set.named.insert(id, key).is_some() {
                        return Err("two keys of the set have the same id".to_owned());
                    }
                }
            }
        }
        if set.is_empty() { Err("the key set has no key that can be used".to_owned()) } else { Ok(set) }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.named.is_empty() && self.nameless.is_empty()
    }

    /// The key that a token names. One that names none is checked only where there is one key, and it has no name either.
    pub(crate) fn find(&self, id: Option<&str>) -> Option<&DecodingKey> {
        match (id, self.nameless.as_slice()) {
            (Some(id), _) => self.named.get(id),
            (None, [only]) if self.named.is_empty() => Some(only),
            (None, _) => None,
        }
    }

    /// Both sets in one; where an id is in both, the first set's key counts.
    pub(crate) fn with(&self, other: &Self) -> Self {
        let mut both = self.clone();
        for (id, key) in &other.named {
            both.named.entry(id.clone()).or_insert_with(|| key.clone());
        }
        both.nameless.extend(other.nameless.iter().cloned());
        both
    }
}

/// A public key for signatures that is strong enough. A shared secret is none: who can check it could sign as well.
fn usable(jwk: &Jwk) -> Option<DecodingKey> {
    let for_signatures = matches!(jwk.common.public_key_use, None | Some(PublicKeyUse::Signature));
    let strong = match &jwk.algorithm {
        AlgorithmParameters::RSA(rsa) => {
            // Six bits a digit; leading zeros would only make it look stronger by a few bits.
            let strong = rsa.n.trim_end_matches('=').len() * 6 >= RSA_BITS;
            if !strong {
                tracing::warn!("an RSA key of less than {RSA_BITS} bits is left out of the key set");
            }
            strong
        }
        AlgorithmParameters::EllipticCurve(_) | AlgorithmParameters::OctetKeyPair(_) => true,
        _ => false,
    };
    (for_signatures && strong).then(|| DecodingKey::from_jwk(jwk).ok()).flatten()
}
