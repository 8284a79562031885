//! Real keys, made anew, and tokens signed with them.

use aws_lc_rs::encoding::AsDer as _;
use aws_lc_rs::rand::SystemRandom;
use aws_lc_rs::rsa::KeySize;
use aws_lc_rs::signature::{
    ECDSA_P256_SHA256_FIXED_SIGNING, ECDSA_P384_SHA384_FIXED_SIGNING, EcdsaKeyPair, Ed25519KeyPair, KeyPair, RsaKeyPair,
};
use jsonwebtoken::{Algorithm, EncodingKey, Header, encode, get_current_timestamp};
use serde_json::{Value, json};

use crate::proofs::base64;

/// A key with its id.
pub(crate) struct Signer {
    pub(crate) id: String,
    algorithm: Algorithm,
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
        Self { id: id.to_owned(), algorithm: Algorithm::EdDSA, key, jwk }
    }

    /// A new RSA key that signs in one of RSA's ways.
    pub(crate) fn rsa(id: &str, algorithm: Algorithm, size: KeySize) -> Self {
        let pair = RsaKeyPair::generate(size).expect("a key");
        let wrapped = pair.as_der().expect("a key");
        // What jsonwebtoken takes lies within, after a head that says of what kind it is.
        let key = EncodingKey::from_rsa_der(&wrapped.as_ref()[26..]);
        let public = pair.public_key();
        let part = |number: &[u8]| base64(number);
        let n = part(public.modulus().big_endian_without_leading_zero());
        let e = part(public.exponent().big_endian_without_leading_zero());
        let jwk = json!({ "kty": "RSA", "use": "sig", "kid": id, "n": n, "e": e });
        Self { id: id.to_owned(), algorithm, key, jwk }
    }

    /// A new key on one of two curves.
    pub(crate) fn curve(id: &str, algorithm: Algorithm) -> Self {
        let (way, name, length) = if algorithm == Algorithm::ES256 {
            (&ECDSA_P256_SHA256_FIXED_SIGNING, "P-256", 32)
        } else {
            (&ECDSA_P384_SHA384_FIXED_SIGNING, "P-384", 48)
        };
        let document = EcdsaKeyPair::generate_pkcs8(way, &SystemRandom::new()).expect("a key");
        let pair = EcdsaKeyPair::from_pkcs8(way, document.as_ref()).expect("a key");
        let point = pair.public_key().as_ref();
        let (x, y) = (base64(&point[1..=length]), base64(&point[length + 1..]));
        let jwk = json!({ "kty": "EC", "crv": name, "use": "sig", "kid": id, "x": x, "y": y });
        Self { id: id.to_owned(), algorithm, key: EncodingKey::from_ec_der(document.as_ref()), jwk }
    }

    /// The public half.
    pub(crate) fn public(&self) -> Value {
        self.jwk.clone()
    }

    pub(crate) fn header(&self) -> Header {
        Header { kid: Some(self.id.clone()), ..Header::new(self.algorithm) }
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
