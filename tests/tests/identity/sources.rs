//! Where keys come from: files, servers that hang, fail, redirect, flood, lie and rotate.

use std::time::{Duration, Instant};

use docket_core::model::VerificationStatus;
use docket_core::proof::ProofVerifier;
use docket_identity::{JwksSettings, JwksVerifier};
use jsonwebtoken::Header;
use serde_json::json;

use crate::proofs::{base64, name, settings};
use crate::server::{KeyServer, Mood};
use crate::sign::{Signer, claims, set};

/// Settings under which keys are old at once and may be fetched again at once.
fn restless(server: &KeyServer) -> JwksSettings {
    JwksSettings { cache_ttl: Duration::ZERO, refresh_pause: Duration::ZERO, ..settings(server) }
}

async fn status(verifier: &JwksVerifier, signer: &Signer) -> VerificationStatus {
    verifier.verify(&name("agent-1"), Some(&signer.sign(&claims(json!({}))))).await.record.status
}

#[tokio::test]
async fn a_server_that_misbehaves_leaves_the_keys_we_have() {
    let signer = Signer::new("k1");
    let victim = KeyServer::start(Mood::Body(set(&[&Signer::new("k1")]))).await;
    for (what, mood) in [
        ("500", Mood::Status(500)),
        ("a redirect", Mood::Redirect(format!("{}/keys", victim.address))),
        ("a flood", Mood::Flood),
        ("no JSON", Mood::Body("<html>".to_owned())),
        ("no keys", Mood::Body(json!({ "keys": [] }).to_string())),
        ("two of one id", Mood::Body(set(&[&Signer::new("k1"), &Signer::new("k1")]))),
        ("nothing", Mood::Body(String::new())),
    ] {
        let server = KeyServer::start(Mood::Body(set(&[&signer]))).await;
        let verifier = JwksVerifier::new(restless(&server)).await.expect("a verifier");
        server.be(mood.clone()).await;
        let begun = Instant::now();
        let record = verifier.verify(&name("agent-1"), Some(&signer.sign(&claims(json!({}))))).await.record;
        assert!(begun.elapsed() < Duration::from_secs(6), "{what}");
        assert_eq!(record.status, VerificationStatus::Verified, "{what}: {record:?}");
        assert_eq!(record.metadata["verifiedFromCache"], "true", "{what}");
        assert!(record.metadata.contains_key("cacheAgeSeconds"), "{what}");
        server.be(Mood::Body(set(&[&signer]))).await;
        let record = verifier.verify(&name("agent-1"), Some(&signer.sign(&claims(json!({}))))).await.record;
        assert!(record.metadata.is_empty(), "{what}: it came back: {record:?}");
        let strict = JwksSettings { stale_on_error: false, ..restless(&server) };
        let strict = JwksVerifier::new(strict).await.expect("a verifier");
        server.be(mood).await;
        let record = strict.verify(&name("agent-1"), Some(&signer.sign(&claims(json!({}))))).await.record;
        assert_eq!(record.status, VerificationStatus::Unavailable, "{what}: {record:?}");
        assert_eq!(record.metadata["failureKind"], "network", "{what}");
    }
    assert_eq!(victim.asked(), 0, "no redirect is followed");
}

#[tokio::test]
async fn a_server_that_hangs_is_waited_for_five_seconds_by_those_without_keys() {
    let signer = Signer::new("k1");
    let server = KeyServer::start(Mood::Status(503)).await;
    let verifier = JwksVerifier::new(restless(&server)).await.expect("a verifier");
    server.be(Mood::Hang).await;
    let begun = Instant::now();
    assert_eq!(status(&verifier, &signer).await, VerificationStatus::Unavailable);
    let waited = begun.elapsed();
    assert!(waited > Duration::from_secs(4) && waited < Duration::from_secs(7), "{waited:?}");
}

#[tokio::test]
async fn those_with_keys_that_will_do_do_not_wait_for_a_server_that_hangs() {
    let (signer, stranger) = (Signer::new("k1"), Signer::new("k2"));
    let server = KeyServer::start(Mood::Body(set(&[&signer]))).await;
    let verifier = std::sync::Arc::new(JwksVerifier::new(restless(&server)).await.expect("a verifier"));
    server.be(Mood::Hang).await;
    for most in [1000, 100, 100] {
        let begun = Instant::now();
        let record = verifier.verify(&name("agent-1"), Some(&signer.sign(&claims(json!({}))))).await.record;
        assert!(begun.elapsed() < Duration::from_millis(most), "{:?}", begun.elapsed());
        assert_eq!(record.status, VerificationStatus::Verified, "{record:?}");
        assert_eq!(record.metadata["verifiedFromCache"], "true", "they should have been fetched again");
    }
    // Whoever names a key that is not among them waits, and holds up nobody.
    let token = stranger.sign(&claims(json!({})));
    let waiting = tokio::spawn({
        let verifier = std::sync::Arc::clone(&verifier);
        async move { verifier.verify(&name("agent-1"), Some(&token)).await.record.status }
    });
    tokio::time::sleep(Duration::from_millis(100)).await;
    let begun = Instant::now();
    assert_eq!(status(&verifier, &signer).await, VerificationStatus::Verified);
    assert!(begun.elapsed() < Duration::from_millis(100), "{:?}", begun.elapsed());
    assert!(!waiting.is_finished());
    assert_eq!(server.asked(), 2, "one fetch at a time, and none for each who comes");
    assert_eq!(waiting.await.expect("an answer"), VerificationStatus::Rejected);
}

/// Nobody is let in for it, and nobody has to wait: a stranger comes with the name of a key that is not known, and hangs up.
#[tokio::test]
async fn callers_who_hang_up_cause_one_fetch() {
    let (signer, stranger) = (Signer::new("k1"), Signer::new("k2"));
    let server = KeyServer::start(Mood::Body(set(&[&signer]))).await;
    let patient = JwksSettings { refresh_pause: Duration::from_secs(1), ..settings(&server) };
    let verifier = JwksVerifier::new(patient).await.expect("a verifier");
    tokio::time::sleep(Duration::from_millis(1050)).await;
    server.be(Mood::Late(Duration::from_millis(400), Box::new(Mood::Body(set(&[&signer, &stranger]))))).await;
    let token = stranger.sign(&claims(json!({})));
    for _ in 0..10 {
        let actor = name("agent-1");
        let left = tokio::time::timeout(Duration::from_millis(20), verifier.verify(&actor, Some(&token))).await;
        assert!(left.is_err(), "it was answered");
    }
    assert_eq!(server.asked(), 2, "one at the start, and one for all of them");
    // It went on without them.
    tokio::time::sleep(Duration::from_millis(400)).await;
    assert_eq!(status(&verifier, &stranger).await, VerificationStatus::Verified);
    assert_eq!(server.asked(), 2);
}

#[tokio::test]
async fn a_discovery_document_and_its_keys_have_five_seconds_together() {
    let signer = Signer::new("k1");
    let server = KeyServer::start(Mood::Status(503)).await;
    let discovery = Some(format!("{}/.well-known/openid-configuration", server.address));
    let found = JwksSettings { oidc_discovery: discovery, jwks_uri: None, issuer: None, ..restless(&server) };
    let verifier = JwksVerifier::new(found).await.expect("a verifier");
    let both = Mood::Discovery { issuer: "https://issuer".to_owned(), keys: set(&[&signer]) };
    server.be(Mood::Late(Duration::from_secs(3), Box::new(both))).await;
    let begun = Instant::now();
    assert_eq!(status(&verifier, &signer).await, VerificationStatus::Unavailable);
    let waited = begun.elapsed();
    assert!(waited > Duration::from_secs(4) && waited < Duration::from_millis(5900), "{waited:?}");
}

#[tokio::test]
async fn keys_that_are_too_old_count_no_more() {
    let signer = Signer::new("k1");
    let server = KeyServer::start(Mood::Body(set(&[&signer]))).await;
    let aging = JwksSettings { max_age: Duration::from_millis(200), ..restless(&server) };
    let verifier = JwksVerifier::new(aging).await.expect("a verifier");
    server.be(Mood::Status(503)).await;
    assert_eq!(status(&verifier, &signer).await, VerificationStatus::Verified);
    tokio::time::sleep(Duration::from_millis(250)).await;
    assert_eq!(status(&verifier, &signer).await, VerificationStatus::Unavailable);
}

#[tokio::test]
async fn a_new_key_is_found_by_one_fetch_however_many_ask() {
    let (old, new) = (Signer::new("k1"), Signer::new("k2"));
    let server = KeyServer::start(Mood::Body(set(&[&old]))).await;
    let patient = JwksSettings { refresh_pause: Duration::from_millis(300), ..settings(&server) };
    let verifier = std::sync::Arc::new(JwksVerifier::new(patient).await.expect("a verifier"));
    server.be(Mood::Body(set(&[&old, &new]))).await;
    assert_eq!(status(&verifier, &new).await, VerificationStatus::Rejected, "asked a moment ago");
    assert_eq!(server.asked(), 1);
    tokio::time::sleep(Duration::from_millis(350)).await;
    let token = new.sign(&claims(json!({})));
    let asking: Vec<_> = (0..50)
        .map(|_| {
            let (verifier, token) = (std::sync::Arc::clone(&verifier), token.clone());
            tokio::spawn(async move { verifier.verify(&name("agent-1"), Some(&token)).await.record.status })
        })
        .collect();
    for answer in asking {
        assert_eq!(answer.await.expect("an answer"), VerificationStatus::Verified);
    }
    assert_eq!(server.asked(), 2, "one fetch for all of them");
    assert_eq!(status(&verifier, &old).await, VerificationStatus::Verified);
}

/// Keys that live for less than the pause between attempts are fetched again whenever their time is over, by a server that is well.
#[tokio::test]
async fn keys_that_live_shorter_than_the_pause_are_fetched_again_in_time() {
    let (signer, stranger) = (Signer::new("k1"), Signer::new("k2"));
    for stale_on_error in [false, true] {
        let server = KeyServer::start(Mood::Body(set(&[&signer]))).await;
        let short = JwksSettings { cache_ttl: Duration::from_millis(200), stale_on_error, ..settings(&server) };
        assert!(short.refresh_pause > Duration::from_secs(20), "it is what callers meet");
        let verifier = JwksVerifier::new(short).await.expect("a verifier");
        for fetched in 2..5 {
            tokio::time::sleep(Duration::from_millis(250)).await;
            let record = verifier.verify(&name("agent-1"), Some(&signer.sign(&claims(json!({}))))).await.record;
            assert_eq!(record.status, VerificationStatus::Verified, "{record:?}");
            assert!(record.metadata.is_empty(), "nothing failed: {record:?}");
            assert_eq!(status(&verifier, &stranger).await, VerificationStatus::Rejected);
            assert_eq!(server.asked(), fetched, "a key that is not known fetches nothing beside that");
        }
        // What failed is not tried again at once, though the keys are old.
        server.be(Mood::Status(503)).await;
        tokio::time::sleep(Duration::from_millis(250)).await;
        let known = if stale_on_error { VerificationStatus::Verified } else { VerificationStatus::Unavailable };
        for _ in 0..3 {
            assert_eq!(status(&verifier, &signer).await, known);
        }
        assert_eq!(server.asked(), 5);
    }
}

#[tokio::test]
async fn discovery_names_the_keys_and_the_issuer() {
    let signer = Signer::new("k1");
    let mood = Mood::Discovery { issuer: "https://issuer".to_owned(), keys: set(&[&signer]) };
    let server = KeyServer::start(mood).await;
    let discovery = Some(format!("{}/.well-known/openid-configuration", server.address));
    let found = JwksSettings { oidc_discovery: discovery, jwks_uri: None, issuer: None, ..settings(&server) };
    let verifier = JwksVerifier::new(found.clone()).await.expect("a verifier");
    assert_eq!(status(&verifier, &signer).await, VerificationStatus::Verified);
    let wrong = signer.sign(&claims(json!({ "iss": "https://elsewhere" })));
    let record = verifier.verify(&name("agent-1"), Some(&wrong)).await.record;
    assert_eq!(record.status, VerificationStatus::Rejected);
    let explicit = JwksSettings { issuer: Some("https://elsewhere".to_owned()), ..found };
    let verifier = JwksVerifier::new(explicit).await.expect("a verifier");
    let record = verifier.verify(&name("agent-1"), Some(&wrong)).await.record;
    assert_eq!(record.status, VerificationStatus::Verified, "what is set goes before what is discovered: {record:?}");
}

#[tokio::test]
async fn keys_of_a_file_count_beside_those_of_a_server() {
    let (fetched, filed) = (Signer::new("k1"), Signer::new("k2"));
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("jwks.json");
    std::fs::write(&path, set(&[&filed])).expect("a file");
    let server = KeyServer::start(Mood::Body(set(&[&fetched]))).await;
    let both = JwksSettings { jwks_path: Some(path.clone()), ..settings(&server) };
    let verifier = JwksVerifier::new(both).await.expect("a verifier");
    for signer in [&fetched, &filed] {
        assert_eq!(status(&verifier, signer).await, VerificationStatus::Verified);
    }
    let alone = JwksSettings { jwks_path: Some(path), jwks_uri: None, ..settings(&server) };
    let verifier = JwksVerifier::new(alone).await.expect("a verifier");
    assert_eq!(status(&verifier, &filed).await, VerificationStatus::Verified);
    assert_eq!(status(&verifier, &fetched).await, VerificationStatus::Rejected);
}

/// Settings with a server and, beside it, a file that has this key.
fn beside_a_file(server: &KeyServer, folder: &std::path::Path, filed: &Signer) -> JwksSettings {
    let path = folder.join("jwks.json");
    std::fs::write(&path, set(&[filed])).expect("a file");
    JwksSettings { jwks_path: Some(path), ..restless(server) }
}

#[tokio::test]
async fn keys_of_a_file_count_while_the_server_is_away_from_the_start() {
    let (fetched, filed) = (Signer::new("k1"), Signer::new("k2"));
    let folder = tempfile::tempdir().expect("a folder");
    let server = KeyServer::start(Mood::Status(503)).await;
    let both = beside_a_file(&server, folder.path(), &filed);
    let verifier = JwksVerifier::new(both.clone()).await.expect("a verifier");
    let record = verifier.verify(&name("agent-1"), Some(&filed.sign(&claims(json!({}))))).await.record;
    assert_eq!(record.status, VerificationStatus::Verified, "{record:?}");
    assert!(record.metadata.is_empty(), "a file is no cache: {record:?}");
    assert_eq!(status(&verifier, &fetched).await, VerificationStatus::Unavailable, "the server may know that key");
    assert_eq!(status(&verifier, &Signer::new("k2")).await, VerificationStatus::Rejected, "the key's own signature");
    let nameless = filed.sign_with(&Header { kid: None, ..filed.header() }, &claims(json!({})));
    let record = verifier.verify(&name("agent-1"), Some(&nameless)).await.record;
    assert_eq!(record.status, VerificationStatus::Unavailable, "a token names the key of a file: {record:?}");
    server.be(Mood::Body(set(&[&fetched]))).await;
    for signer in [&fetched, &filed] {
        assert_eq!(status(&verifier, signer).await, VerificationStatus::Verified, "it came back");
    }
    // Whoever goes on with nothing after a failed fetch does not go on with the file either.
    server.be(Mood::Status(503)).await;
    let strict = JwksVerifier::new(JwksSettings { stale_on_error: false, ..both }).await.expect("a verifier");
    assert_eq!(status(&strict, &filed).await, VerificationStatus::Unavailable);
}

#[tokio::test]
async fn keys_of_a_file_do_not_age_with_those_of_the_server() {
    let (fetched, filed) = (Signer::new("k1"), Signer::new("k2"));
    let folder = tempfile::tempdir().expect("a folder");
    let server = KeyServer::start(Mood::Body(set(&[&fetched]))).await;
    let aging = JwksSettings { max_age: Duration::from_millis(200), ..beside_a_file(&server, folder.path(), &filed) };
    let verifier = JwksVerifier::new(aging).await.expect("a verifier");
    server.be(Mood::Status(503)).await;
    for signer in [&fetched, &filed] {
        assert_eq!(status(&verifier, signer).await, VerificationStatus::Verified);
    }
    tokio::time::sleep(Duration::from_millis(250)).await;
    assert_eq!(status(&verifier, &fetched).await, VerificationStatus::Unavailable);
    assert_eq!(status(&verifier, &filed).await, VerificationStatus::Verified);
}

/// A key of a file alone says nothing of who issues tokens: as long as nobody does, any issuer would do.
#[tokio::test]
async fn keys_of_a_file_wait_for_an_issuer_that_is_still_to_be_discovered() {
    let (fetched, filed) = (Signer::new("k1"), Signer::new("k2"));
    let folder = tempfile::tempdir().expect("a folder");
    let server = KeyServer::start(Mood::Status(503)).await;
    let discovery = Some(format!("{}/.well-known/openid-configuration", server.address));
    let found = JwksSettings {
        oidc_discovery: discovery,
        jwks_uri: None,
        issuer: None,
        max_age: Duration::from_millis(200),
        ..beside_a_file(&server, folder.path(), &filed)
    };
    let verifier = JwksVerifier::new(found.clone()).await.expect("a verifier");
    assert_eq!(status(&verifier, &filed).await, VerificationStatus::Unavailable, "whose it is was not told yet");
    let explicit = JwksSettings { issuer: Some("https://issuer".to_owned()), ..found };
    let explicit = JwksVerifier::new(explicit).await.expect("a verifier");
    assert_eq!(status(&explicit, &filed).await, VerificationStatus::Verified, "the operator has told it");
    server.be(Mood::Discovery { issuer: "https://issuer".to_owned(), keys: set(&[&fetched]) }).await;
    assert_eq!(status(&verifier, &filed).await, VerificationStatus::Verified);
    server.be(Mood::Status(503)).await;
    tokio::time::sleep(Duration::from_millis(250)).await;
    assert_eq!(status(&verifier, &fetched).await, VerificationStatus::Unavailable);
    assert_eq!(status(&verifier, &filed).await, VerificationStatus::Verified, "who issues was told once");
    let elsewhere = filed.sign(&claims(json!({ "iss": "https://elsewhere" })));
    let record = verifier.verify(&name("agent-1"), Some(&elsewhere)).await.record;
    assert_eq!(record.status, VerificationStatus::Rejected, "{record:?}");
}

#[tokio::test]
async fn a_file_is_read_again_when_it_is_old_and_a_bad_one_takes_nothing_away() {
    let (first, second, fetched) = (Signer::new("k1"), Signer::new("k2"), Signer::new("k3"));
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("jwks.json");
    let server = KeyServer::start(Mood::Body(set(&[&fetched]))).await;
    for beside_a_server in [false, true] {
        std::fs::write(&path, set(&[&first])).expect("a file");
        let jwks_uri = beside_a_server.then(|| format!("{}/keys", server.address));
        let cache_ttl = Duration::from_millis(300);
        let filed = JwksSettings { jwks_path: Some(path.clone()), jwks_uri, cache_ttl, ..settings(&server) };
        let verifier = JwksVerifier::new(filed).await.expect("a verifier");
        std::fs::write(&path, set(&[&second])).expect("a file");
        assert_eq!(status(&verifier, &first).await, VerificationStatus::Verified, "it was read a moment ago");
        tokio::time::sleep(Duration::from_millis(350)).await;
        assert_eq!(status(&verifier, &second).await, VerificationStatus::Verified, "{beside_a_server}");
        assert_eq!(status(&verifier, &first).await, VerificationStatus::Rejected, "it is not there any more");
        for bad in ["no keys", "{\"keys\": []}"] {
            std::fs::write(&path, bad).expect("a file");
            tokio::time::sleep(Duration::from_millis(350)).await;
            assert_eq!(status(&verifier, &second).await, VerificationStatus::Verified, "{bad}");
        }
        std::fs::remove_file(&path).expect("no file");
        tokio::time::sleep(Duration::from_millis(350)).await;
        assert_eq!(status(&verifier, &second).await, VerificationStatus::Verified, "it is gone");
        std::fs::write(&path, set(&[&first])).expect("a file");
        tokio::time::sleep(Duration::from_millis(350)).await;
        assert_eq!(status(&verifier, &first).await, VerificationStatus::Verified, "it came back");
    }
}

#[tokio::test]
async fn what_could_verify_nothing_does_not_start() {
    let server = KeyServer::start(Mood::Body(json!({ "keys": [] }).to_string())).await;
    let error = JwksVerifier::new(settings(&server)).await.expect_err("no keys");
    assert!(error.to_string().contains("no key"), "{error}");
    let weak = json!({ "keys": [{ "kty": "RSA", "kid": "w", "n": base64(&[0xc3; 64]), "e": "AQAB", "alg": "RS256" }] });
    server.be(Mood::Body(weak.to_string())).await;
    JwksVerifier::new(settings(&server)).await.expect_err("a weak key alone");
    let shared = json!({ "keys": [{ "kty": "oct", "kid": "s", "k": base64(&[7; 32]) }] });
    server.be(Mood::Body(shared.to_string())).await;
    JwksVerifier::new(settings(&server)).await.expect_err("a shared secret alone");
    let nowhere = JwksSettings { jwks_path: Some("/nowhere/jwks.json".into()), ..JwksSettings::default() };
    JwksVerifier::new(nowhere).await.expect_err("no file");
    JwksVerifier::new(JwksSettings::default()).await.expect_err("no keys at all");
}

#[tokio::test]
async fn a_server_that_is_away_at_the_start_is_unavailable_until_it_comes() {
    let signer = Signer::new("k1");
    let server = KeyServer::start(Mood::Status(503)).await;
    let verifier = JwksVerifier::new(restless(&server)).await.expect("it may come back");
    assert_eq!(status(&verifier, &signer).await, VerificationStatus::Unavailable);
    server.be(Mood::Body(set(&[&signer]))).await;
    assert_eq!(status(&verifier, &signer).await, VerificationStatus::Verified);
}
