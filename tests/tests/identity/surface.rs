//! Proofs of actors through the real program: `.taskorchestrator/config.yaml` as it is, three policies, and a key server.

use docket_tests::mcp::Server;
use serde_json::{Value, json};

use crate::server::{KeyServer, Mood};
use crate::sign::{Signer, claims, set};

/// A folder with a configuration and the servers that are started in it.
struct Place(tempfile::TempDir);

impl Place {
    fn new(verifier: &str, keys: Option<&str>) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        std::fs::create_dir(folder.path().join(".taskorchestrator")).expect("a folder");
        let config = format!(
            "actor_authentication:\n  verifier:\n    type: jwks\n    issuer: https://issuer\n    audience: docket\n    \
             algorithms: [EdDSA]\n    require_sub_match: true\n    {verifier}\n"
        );
        std::fs::write(folder.path().join(".taskorchestrator/config.yaml"), config).expect("a file");
        if let Some(keys) = keys {
            std::fs::write(folder.path().join("jwks.json"), keys).expect("a file");
        }
        Self(folder)
    }

    fn start(&self, policy: Option<&str>) -> Server {
        self.start_with(&[], policy)
    }

    fn start_with(&self, arguments: &[&str], policy: Option<&str>) -> Server {
        Server::start_with(&self.0.path().join("docket.db"), arguments, |command| {
            if let Some(policy) = policy {
                command.env("DEGRADED_MODE_POLICY", policy);
            }
        })
    }
}

fn actor(proof: Option<String>) -> Value {
    let mut actor = json!({ "id": "agent-1", "kind": "subagent" });
    if let Some(proof) = proof {
        actor["proof"] = json!(proof);
    }
    actor
}

/// How a claim on a new item ends, and how a move of it by the same actor is recorded.
fn try_out(server: &Server, actor: &Value) -> (String, Value) {
    let made = server.ok("manage_items", json!({ "operation": "create", "items": [{ "title": "work" }] }));
    let item = made["items"][0]["id"].as_str().expect("an id").to_owned();
    let claim =
        json!({ "actor": actor, "requestId": uuid::Uuid::new_v4().to_string(), "claims": [{ "itemId": item }] });
    let outcome = server.ok("claim_item", claim)["claimResults"][0]["outcome"].as_str().expect("an outcome").to_owned();
    let step = json!({ "transitions": [{ "itemId": item, "trigger": "start", "actor": actor }] });
    (outcome, server.ok("advance_item", step)["results"][0].clone())
}

#[test]
fn each_policy_believes_what_it_says_and_none_a_rejected_proof() {
    let (signer, stranger) = (Signer::new("k1"), Signer::new("k1"));
    let place = Place::new("jwks_path: jwks.json", Some(&set(&[&signer])));
    for (policy, without_proof) in [
        (None, "success"),
        (Some("accept-cached"), "success"),
        (Some("accept-self-reported"), "success"),
        (Some("reject"), "rejected_by_policy"),
    ] {
        let server = place.start(policy);
        let (outcome, moved) = try_out(&server, &actor(Some(signer.sign(&claims(json!({}))))));
        assert_eq!((outcome.as_str(), &moved["applied"]), ("success", &json!(true)), "{policy:?}: {moved}");
        assert_eq!(moved["verification"]["status"], json!("verified"), "{policy:?}: {moved}");
        assert_eq!(try_out(&server, &actor(None)).0, without_proof, "{policy:?}");
        for bad in [
            stranger.sign(&claims(json!({}))),
            signer.sign(&claims(json!({ "exp": 1 }))),
            signer.sign(&claims(json!({ "sub": "agent-2" }))),
            "no token".to_owned(),
        ] {
            let (outcome, moved) = try_out(&server, &actor(Some(bad)));
            assert_eq!(outcome, "rejected_by_policy", "{policy:?}: a rejected proof is never taken for its word");
            assert_eq!(moved["applied"], json!(false), "{policy:?}: {moved}");
        }
    }
}

/// A folder whose verifier takes any subject.
fn any_subject(signer: &Signer) -> Place {
    let place = Place::new("jwks_path: jwks.json", Some(&set(&[signer])));
    let path = place.0.path().join(".taskorchestrator/config.yaml");
    let config =
        std::fs::read_to_string(&path).expect("a file").replace("require_sub_match: true", "require_sub_match: false");
    std::fs::write(&path, config).expect("a file");
    place
}

#[test]
fn whom_a_proof_names_holds_the_claim_whatever_the_actor_calls_itself() {
    let signer = Signer::new("k1");
    let place = any_subject(&signer);
    let proof = |sub: &str| Some(signer.sign(&claims(json!({ "sub": sub }))));
    for (policy, holder) in [(None, "agent-2"), (Some("reject"), "agent-2"), (Some("accept-self-reported"), "agent-1")]
    {
        let server = place.start(policy);
        let made = server.ok("manage_items", json!({ "operation": "create", "items": [{ "title": "work" }] }));
        let item = made["items"][0]["id"].as_str().expect("an id").to_owned();
        let claim = json!({ "actor": actor(proof("agent-2")), "requestId": uuid::Uuid::new_v4().to_string(),
            "claims": [{ "itemId": item }] });
        let claimed = server.ok("claim_item", claim);
        assert_eq!(claimed["claimResults"][0]["claimedBy"], json!(holder), "{policy:?}: {claimed}");
        let step = |sub: &str| {
            let step = json!({ "transitions": [{ "itemId": item, "trigger": "start", "actor": actor(proof(sub)) }] });
            server.ok("advance_item", step)["results"][0].clone()
        };
        if holder == "agent-2" {
            // Another's token does not become the holder's by a name in the same breath.
            let refused = step("agent-3");
            assert_eq!(refused["applied"], json!(false), "{policy:?}: {refused}");
        }
        let moved = step("agent-2");
        assert_eq!((&moved["applied"], &moved["actor"]["id"]), (&json!(true), &json!(holder)), "{policy:?}: {moved}");
        assert_eq!(moved["verification"]["metadata"]["provenId"], json!("agent-2"), "{policy:?}: {moved}");
    }
}

#[test]
fn a_token_that_names_nobody_proves_nobody() {
    let signer = Signer::new("k1");
    let place = any_subject(&signer);
    let server = place.start(None);
    for sub in [json!(null), json!(7), json!(""), json!("x".repeat(500))] {
        let (outcome, moved) = try_out(&server, &actor(Some(signer.sign(&claims(json!({ "sub": sub }))))));
        assert_eq!((outcome.as_str(), &moved["applied"]), ("rejected_by_policy", &json!(false)), "{moved}");
    }
}

#[test]
fn a_blank_proof_is_none() {
    let signer = Signer::new("k1");
    let place = Place::new("jwks_path: jwks.json", Some(&set(&[&signer])));
    for (policy, claimed) in
        [(None, "success"), (Some("accept-self-reported"), "success"), (Some("reject"), "rejected_by_policy")]
    {
        let server = place.start(policy);
        for blank in ["", " ", "\t "] {
            let (outcome, moved) = try_out(&server, &actor(Some(blank.to_owned())));
            assert_eq!(outcome, claimed, "{policy:?} {blank:?}");
            assert_eq!(moved["applied"], json!(policy != Some("reject")), "{policy:?} {blank:?}: {moved}");
            if policy != Some("reject") {
                assert_eq!(moved["verification"]["status"], json!("absent"), "{policy:?} {blank:?}: {moved}");
            }
        }
        drop(server);
        let native = place.start_with(&["--surface", "docket"], policy);
        let made = native.ok("plan", json!({ "items": [{ "title": "work" }] }));
        let start =
            json!({ "phase": "start", "id": made["trusted"]["items"][0]["key"], "actor": actor(Some(" ".to_owned())) });
        let begun = native.call("work", start).expect("an answer");
        assert_eq!(begun.is_error, policy == Some("reject"), "{policy:?}: {begun:?}");
        assert!(!format!("{begun:?}").contains("not found where actors stand"), "{begun:?}");
    }
}

#[test]
fn naming_nobody_is_no_way_around_a_rejecting_policy() {
    let signer = Signer::new("k1");
    let place = Place::new("jwks_path: jwks.json", Some(&set(&[&signer])));
    for policy in [None, Some("reject")] {
        let server = place.start(policy);
        let made = server.ok("manage_items", json!({ "operation": "create", "items": [{ "title": "work" }] }));
        let item = made["items"][0]["id"].as_str().expect("an id").to_owned();
        let step = json!({ "transitions": [{ "itemId": item, "trigger": "start" }] });
        let moved = server.ok("advance_item", step)["results"][0].clone();
        assert_eq!(moved["applied"], json!(policy.is_none()), "{policy:?}: {moved}");
        let closed = server.call("complete_tree", json!({ "itemIds": [item], "trigger": "cancel" }));
        let told = format!("{:?}", closed.expect("an answer"));
        assert_eq!(told.contains("rejected_by_policy"), policy.is_some(), "{policy:?}: {told}");
        let read = server.ok("query_items", json!({ "operation": "get", "id": item }));
        let closed = read.to_string().contains("\"terminal\"");
        assert_eq!(closed, policy.is_none(), "{policy:?}: {read}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_key_server_that_is_away_degrades_as_the_policy_says() {
    let signer = Signer::new("k1");
    let keys = KeyServer::start(Mood::Body(set(&[&signer]))).await;
    let place = Place::new(&format!("jwks_uri: {}/keys\n    cache_ttl_seconds: 1", keys.address), None);
    let server = place.start(Some("reject"));
    assert_eq!(try_out(&server, &actor(Some(signer.sign(&claims(json!({})))))).0, "success");
    let begun = keys.asked();
    tokio::time::sleep(std::time::Duration::from_millis(1100)).await;
    let (_, moved) = try_out(&server, &actor(Some(signer.sign(&claims(json!({}))))));
    assert_eq!(moved["verification"]["status"], json!("verified"), "{moved}");
    assert!(moved["verification"]["metadata"].get("verifiedFromCache").is_none(), "nothing has failed yet: {moved}");
    assert!(keys.asked() > begun, "old keys are fetched again");
    keys.be(Mood::Status(500)).await;
    tokio::time::sleep(std::time::Duration::from_millis(1100)).await;
    let (outcome, moved) = try_out(&server, &actor(Some(signer.sign(&claims(json!({}))))));
    assert_eq!(outcome, "success", "keys that we have go on being used: {moved}");
    assert_eq!(moved["verification"]["metadata"]["verifiedFromCache"], json!("true"), "{moved}");
    assert!(keys.asked() > begun + 1, "it was asked, and failed");
    drop(server);
    // A server that starts meanwhile has no keys: what it is shown cannot be checked.
    let late = place.start(Some("reject"));
    assert_eq!(try_out(&late, &actor(Some(signer.sign(&claims(json!({})))))).0, "rejected_by_policy");
    drop(late);
    let trusting = place.start(None);
    let (outcome, moved) = try_out(&trusting, &actor(Some(signer.sign(&claims(json!({}))))));
    assert_eq!((outcome.as_str(), &moved["verification"]["status"]), ("success", &json!("unavailable")), "{moved}");
    keys.be(Mood::Body(json!({ "keys": [] }).to_string())).await;
    let gone = Server::try_start(&place.0.path().join("docket.db"), &[], |_| {});
    assert!(gone.is_err(), "a key set without keys stops the start");
}
