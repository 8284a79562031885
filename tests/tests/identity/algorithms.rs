//! Every way of signing that may be allowed, with real keys of each kind, and none that was not.

use aws_lc_rs::rsa::KeySize;
use docket_core::model::VerificationStatus;
use docket_core::proof::ProofVerifier;
use docket_identity::{Algorithm as Allowed, JwksSettings, JwksVerifier};
use jsonwebtoken::{Algorithm, Header};
use serde_json::json;

use crate::proofs::{name, settings};
use crate::server::{KeyServer, Mood};
use crate::sign::{Signer, claims, set};

fn signers() -> Vec<(&'static str, Signer)> {
    let rsa = |id, algorithm| Signer::rsa(id, algorithm, KeySize::Rsa2048);
    vec![
        ("EdDSA", Signer::new("ed")),
        ("ES256", Signer::curve("es256", Algorithm::ES256)),
        ("ES384", Signer::curve("es384", Algorithm::ES384)),
        ("RS256", rsa("rs256", Algorithm::RS256)),
        ("RS384", rsa("rs384", Algorithm::RS384)),
        ("RS512", rsa("rs512", Algorithm::RS512)),
        ("PS256", rsa("ps256", Algorithm::PS256)),
        ("PS384", rsa("ps384", Algorithm::PS384)),
        ("PS512", rsa("ps512", Algorithm::PS512)),
    ]
}

#[tokio::test]
async fn what_is_allowed_is_verified_and_nothing_else() {
    let signers = signers();
    assert_eq!(signers.len(), Allowed::NAMES.len(), "all that may be allowed");
    let keys: Vec<&Signer> = signers.iter().map(|(_, signer)| signer).collect();
    let server = KeyServer::start(Mood::Body(set(&keys))).await;
    for (allowed, _) in &signers {
        let only = JwksSettings { algorithms: vec![allowed.parse().expect("a way")], ..settings(&server) };
        let verifier = JwksVerifier::new(only).await.expect("a verifier");
        for (way, signer) in &signers {
            let record = verifier.verify(&name("agent-1"), Some(&signer.sign(&claims(json!({}))))).await.record;
            let wanted = if way == allowed { VerificationStatus::Verified } else { VerificationStatus::Rejected };
            assert_eq!(record.status, wanted, "{way} where {allowed} is allowed: {record:?}");
        }
    }
}

/// A token that names a good key and was signed by another of the same kind, or says another way than its own.
#[tokio::test]
async fn another_key_of_the_kind_or_another_way_does_not_do() {
    let signers = signers();
    let keys: Vec<&Signer> = signers.iter().map(|(_, signer)| signer).collect();
    let server = KeyServer::start(Mood::Body(set(&keys))).await;
    let all = Allowed::NAMES.iter().map(|name| name.parse().expect("a way")).collect();
    let verifier = JwksVerifier::new(JwksSettings { algorithms: all, ..settings(&server) }).await.expect("a verifier");
    for (way, signer) in &signers {
        for (other_way, other) in &signers {
            let own = way == other_way;
            // The key of one, the name of another.
            let header = Header { kid: Some(signer.id.clone()), ..other.header() };
            let token = other.sign_with(&header, &claims(json!({})));
            let record = verifier.verify(&name("agent-1"), Some(&token)).await.record;
            let wanted = if own { VerificationStatus::Verified } else { VerificationStatus::Rejected };
            assert_eq!(record.status, wanted, "{other_way} under the name of {way}: {record:?}");
            if !own {
                assert_eq!(record.metadata["failureKind"], "crypto", "{other_way} under the name of {way}: {record:?}");
            }
        }
    }
}
