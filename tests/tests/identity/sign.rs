//! Real keys, made anew, and tokens signed with them.

use aws_lc_rs::rand::SystemRandom;
use aws_lc_rs::signature::{Ed25519KeyPair, KeyPair};
use jsonwebtoken::{Algorithm, EncodingKey, Header, encode, get_current_timestamp};
use serde_json::{Value, json};

use crate::proofs::base64;

/// A key with its id.
pub(crate) struct Signer {
    pub(crate) id: String,
    key: EncodingKey,
    jwk: Value,
}

impl Signer {
    /// A new Ed25519 key.
    pub(crate) fn new(id: &str) -> Self {
        let document = Ed25519KeyPair::generate_pkcs8(&SystemRandom::new()).expect("a key");
        let pair = Ed25519KeyPair::from_pkcs8(document.as_ref()).expect("a key");
        let key = EncodingKey::from_ed_der(document.as_ref());
        let x = base64(pair.public_key().as_ref());
        let jwk = json!({ "kty": "OKP", "crv": "Ed25519", "alg": "EdDSA", "use": "sig", "kid": id, "x": x });
        Self { id: id.to_owned(), key, jwk }
    }

    /// The public half.
    pub(crate) fn public(&self) -> Value {
        self.jwk.clone()
    }

    pub(crate) fn header(&self) -> Header {
        Header { kid: Some(self.id.clone()), ..Header::new(Algorithm::EdDSA) }
    }

    pub(crate) fn sign(&self, claims: &Value) -> String {
        self.sign_with(&self.header(), claims)
    }

    pub(crate) fn sign_with(&self, header: &Header, claims: &Value) -> String {
        encode(header, claims, &self.key).expect("a token")
    }
}

/// A key set of these.
pub(crate) fn set(keys: &[&Signer]) -> String {
    json!({ "keys": keys.iter().map(|key| key.public()).collect::<Vec<_>>() }).to_string()
}

/// Claims that hold for a while, with some changed; null takes one away.
#[expect(clippy::needless_pass_by_value, reason = "tests say what they send where they send it")]
pub(crate) fn claims(changes: Value) -> Value {
    let now = get_current_timestamp();
    let mut claims =
        json!({ "sub": "agent-1", "iss": "https://issuer", "aud": "docket", "exp": now + 600, "iat": now });
    for (key, value) in changes.as_object().expect("claims") {
        if value.is_null() {
            claims.as_object_mut().expect("claims").remove(key);
        } else {
            claims[key] = value.clone();
        }
    }
    claims
}
