//! What is accepted as a proof, and how each failure is recorded.

use docket_core::model::{Name, Verification, VerificationStatus};
use docket_core::proof::ProofVerifier;
use docket_identity::{JwksSettings, JwksVerifier};
use jsonwebtoken::{Algorithm, EncodingKey, Header, encode, get_current_timestamp};
use serde_json::json;

use crate::server::{KeyServer, Mood};
use crate::sign::{Signer, claims, set};

pub(crate) fn name(text: &str) -> Name {
    Name::parse(text).expect("a name")
}

pub(crate) fn settings(server: &KeyServer) -> JwksSettings {
    JwksSettings {
        jwks_uri: Some(format!("{}/keys", server.address)),
        issuer: Some("https://issuer".to_owned()),
        audience: Some("docket".to_owned()),
        require_sub_match: true,
        ..JwksSettings::default()
    }
}

async fn verify(verifier: &JwksVerifier, proof: &str) -> Verification {
    verifier.verify(&name("agent-1"), Some(proof)).await.record
}

#[tokio::test]
async fn a_good_proof_is_verified_and_none_is_absent() {
    let signer = Signer::new("k1");
    let server = KeyServer::start(Mood::Body(set(&[&signer]))).await;
    let verifier = JwksVerifier::new(settings(&server)).await.expect("a verifier");
    let record = verify(&verifier, &signer.sign(&claims(json!({})))).await;
    assert_eq!((record.status, record.verifier.as_str(), record.reason), (VerificationStatus::Verified, "jwks", None));
    assert!(record.metadata.is_empty(), "{:?}", record.metadata);
    let record = verifier.verify(&name("agent-1"), None).await.record;
    assert_eq!((record.status, record.reason), (VerificationStatus::Absent, None));
    let several = signer.sign(&claims(json!({ "aud": ["other", "docket"] })));
    assert_eq!(verify(&verifier, &several).await.status, VerificationStatus::Verified, "one audience of several");
    assert_eq!(server.asked(), 1, "keys are fetched once");
}

#[tokio::test]
async fn every_flaw_is_rejected_with_its_category() {
    let (signer, stranger) = (Signer::new("k1"), Signer::new("k1"));
    let server = KeyServer::start(Mood::Body(set(&[&signer]))).await;
    let verifier = JwksVerifier::new(settings(&server)).await.expect("a verifier");
    let now = get_current_timestamp();
    let with = |changes| signer.sign(&claims(changes));
    let kid = |kid: Option<&str>| {
        signer.sign_with(&Header { kid: kid.map(str::to_owned), ..signer.header() }, &claims(json!({})))
    };
    let public = signer.public()["x"].as_str().expect("a key").to_owned();
    let symmetric = Header { kid: Some("k1".to_owned()), ..Header::new(Algorithm::HS256) };
    let symmetric =
        encode(&symmetric, &claims(json!({})), &EncodingKey::from_secret(public.as_bytes())).expect("a token");
    let long = "x".repeat(64 * 1024);
    for (what, proof, kind) in [
        ("another's key", stranger.sign(&claims(json!({}))), "crypto"),
        ("a changed letter", with(json!({})).replacen('.', ".A", 1), "crypto|policy"),
        ("a symmetric signature by the public key", symmetric, "policy"),
        ("alg none", unsigned("none"), "policy"),
        ("alg None", unsigned("None"), "policy"),
        ("alg nOnE", unsigned("nOnE"), "policy"),
        ("no alg", header_of(&json!({ "kid": "k1" })), "policy"),
        ("its own key", signer.sign_with(&own_key(&signer), &claims(json!({}))), "policy"),
        (
            "its own address",
            signer.sign_with(&Header { jku: Some(server.address.clone()), ..signer.header() }, &claims(json!({}))),
            "policy",
        ),
        (
            "a certificate's address",
            signer.sign_with(&Header { x5u: Some(server.address.clone()), ..signer.header() }, &claims(json!({}))),
            "policy",
        ),
        (
            "crit",
            signer.sign_with(&Header { crit: Some(vec!["b64".to_owned()]), ..signer.header() }, &claims(json!({}))),
            "policy",
        ),
        ("kid of a path", kid(Some("../../etc/passwd")), "crypto"),
        ("kid of SQL", kid(Some("' or 1=1;--")), "crypto"),
        ("kid unknown", kid(Some("k2")), "crypto"),
        ("kid missing", kid(None), "crypto"),
        ("kid a number", header_of(&json!({ "alg": "EdDSA", "kid": 7 })), "policy"),
        ("kid of 64 KiB", kid(Some(&long)), "policy"),
        ("expired", with(json!({ "exp": now - 3600 })), "claims"),
        ("no exp", with(json!({ "exp": null })), "claims"),
        ("exp a text", with(json!({ "exp": "tomorrow" })), "claims"),
        ("exp a fraction", with(json!({ "exp": 1e10 + 0.5 })), "claims"),
        ("exp beyond time", with(json!({ "exp": 1e30 })), "claims"),
        ("not yet", with(json!({ "nbf": now + 3600 })), "claims"),
        ("issued later", with(json!({ "iat": now + 3600 })), "claims"),
        ("another audience", with(json!({ "aud": "other" })), "claims"),
        ("no audience", with(json!({ "aud": null })), "claims"),
        ("another issuer", with(json!({ "iss": "https://issuer/" })), "claims"),
        ("no issuer", with(json!({ "iss": null })), "claims"),
        ("another subject", with(json!({ "sub": "agent-2" })), "claims"),
        ("no subject", with(json!({ "sub": null })), "claims"),
        ("not a token", "proof".to_owned(), "policy"),
        ("nothing", String::new(), "policy"),
        ("a megabyte", "a".repeat(1024 * 1024), "policy"),
    ] {
        let record = verify(&verifier, &proof).await;
        assert_eq!(record.status, VerificationStatus::Rejected, "{what}: {record:?}");
        let told = record.metadata["failureKind"].as_str();
        assert!(kind.split('|').any(|kind| kind == told), "{what}: {record:?}");
        assert!(record.reason.as_ref().is_some_and(|reason| reason.len() < 200), "{what}: {record:?}");
    }
    assert_eq!(server.asked(), 1, "no token makes us ask anybody in this time");
}

#[tokio::test]
async fn without_an_issuer_or_an_audience_they_are_not_asked_for() {
    let signer = Signer::new("k1");
    let server = KeyServer::start(Mood::Body(set(&[&signer]))).await;
    let open = JwksSettings { issuer: None, audience: None, require_sub_match: false, ..settings(&server) };
    let verifier = JwksVerifier::new(open).await.expect("a verifier");
    let proof = signer.sign(&claims(json!({ "iss": null, "aud": "whoever", "sub": "somebody" })));
    assert_eq!(verify(&verifier, &proof).await.status, VerificationStatus::Verified);
}

fn unsigned(alg: &str) -> String {
    header_of(&json!({ "alg": alg, "kid": "k1" }))
}

/// A token with this header and no signature.
fn header_of(header: &serde_json::Value) -> String {
    let part = |value: &serde_json::Value| base64(value.to_string().as_bytes());
    format!("{}.{}.", part(header), part(&claims(json!({}))))
}

fn own_key(signer: &Signer) -> Header {
    Header { jwk: Some(serde_json::from_value(signer.public()).expect("a key")), ..signer.header() }
}

/// The letters of base64 for addresses.
pub(crate) fn base64(bytes: &[u8]) -> String {
    const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    let mut text = String::new();
    for part in bytes.chunks(3) {
        let bits =
            part.iter().enumerate().fold(0_u32, |bits, (place, byte)| bits | (u32::from(*byte) << (16 - 8 * place)));
        for letter in 0..=part.len() {
            text.push(char::from(LETTERS[(bits >> (18 - 6 * letter)) as usize & 63]));
        }
    }
    text
}
