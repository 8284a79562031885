//! Tokens through the real server: who is let in over REST and MCP, and what the others are told.

use std::time::Duration;

use aws_lc_rs::rsa::KeySize;
use docket_tests::web::{Reply, Stream, Web};
use jsonwebtoken::{Algorithm, Header, get_current_timestamp};
use serde_json::{Value, json};

use crate::server::{KeyServer, Mood};
use crate::sign::{Signer, claims, set};

/// A server that takes tokens whose keys come from this address.
fn serve(keys: &KeyServer, database: &std::path::Path) -> Web {
    serve_with(keys, database, "")
}

/// The same with more said of its keys.
fn serve_with(keys: &KeyServer, database: &std::path::Path, more: &str) -> Web {
    let folder = database.parent().expect("a folder");
    let toml = format!(
        "[identity.tokens]\njwks_uri = \"{}/keys\"\nissuer = \"https://issuer\"\naudience = \"docket\"\n\
         algorithms = [\"EdDSA\", \"RS256\", \"ES256\"]\ncache_ttl_seconds = 1\nall_projects = true\n{more}",
        keys.address
    );
    std::fs::write(folder.join("docket.toml"), toml).expect("docket.toml");
    Web::serving(&format!("sqlite:{}", database.display()), folder, |_| {})
}

fn bearer(token: &str) -> String {
    format!("Bearer {token}")
}

fn list(web: &Web, token: &str) -> Reply {
    web.send("GET", "/items", &[("authorization", &bearer(token))], None)
}

fn make(web: &Web, token: &str) -> Reply {
    web.send("POST", "/items", &[("authorization", &bearer(token))], Some(br#"{"title":"One"}"#))
}

fn as_profile(profile: &str) -> Value {
    claims(json!({ "docket_profile": profile }))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 3)]
async fn tokens_of_every_kind_of_key_let_their_holders_in() {
    let signers = [
        Signer::new("ed"),
        Signer::curve("ec", Algorithm::ES256),
        Signer::rsa("rsa", Algorithm::RS256, KeySize::Rsa2048),
    ];
    let keys = KeyServer::start(Mood::Body(set(&signers.each_ref()))).await;
    let folder = tempfile::tempdir().expect("a folder");
    let web = serve(&keys, &folder.path().join("work.db"));
    for signer in &signers {
        let (viewer, planner) = (signer.sign(&as_profile("viewer")), signer.sign(&as_profile("planner")));
        list(&web, &viewer).with(200);
        assert_eq!(make(&web, &viewer).error(403)["code"], json!("FORBIDDEN"));
        make(&web, &planner).with(201);
        let message = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list"}).to_string();
        let (with, accept) = (bearer(&viewer), ("accept", "application/json, text/event-stream"));
        let tools = web
            .to("POST", "/mcp/task-orchestrator", &[("authorization", &with), accept], Some(message.as_bytes()))
            .with(200);
        let names = tools["result"]["tools"].to_string();
        assert!(names.contains("query_items") && !names.contains("manage_items"), "{names}");
        assert_eq!(
            web.to("POST", "/mcp/task-orchestrator", &[accept], Some(message.as_bytes())).reason(401),
            "credential_missing"
        );
    }
    assert_eq!(list(&web, &signers[0].sign(&as_profile("viewer"))).with(200)["total"], json!(3));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 3)]
async fn a_token_that_does_not_hold_lets_nobody_in() {
    let (signer, stranger) = (Signer::new("k1"), Signer::new("k1"));
    let keys = KeyServer::start(Mood::Body(set(&[&signer]))).await;
    let folder = tempfile::tempdir().expect("a folder");
    let web = serve(&keys, &folder.path().join("work.db"));
    let now = get_current_timestamp();
    let with = |changes: Value| {
        let mut claims = as_profile("maintainer");
        for (key, value) in changes.as_object().expect("claims") {
            claims[key] = value.clone();
        }
        signer.sign(&claims)
    };
    let good = with(json!({}));
    let unsigned = format!("{}.", good.rsplit_once('.').expect("a token").0);
    let jku = Header { jku: Some(keys.address.clone()), ..signer.header() };
    for (what, token) in [
        ("another's key", stranger.sign(&as_profile("maintainer"))),
        ("no signature", unsigned),
        ("its own address", signer.sign_with(&jku, &as_profile("maintainer"))),
        ("expired", with(json!({ "exp": now - 3600 }))),
        ("not yet", with(json!({ "nbf": now + 3600 }))),
        ("another audience", with(json!({ "aud": "other" }))),
        ("another issuer", with(json!({ "iss": "https://issuer/" }))),
        ("no such profile", with(json!({ "docket_profile": "root" }))),
        (
            "an unknown key",
            signer.sign_with(&Header { kid: Some("../k1".to_owned()), ..signer.header() }, &as_profile("viewer")),
        ),
    ] {
        let refused = make(&web, &token);
        assert_eq!(refused.reason(401), "proof_rejected", "{what}");
        assert!(refused.header("www-authenticate").starts_with("Bearer"), "{what}: {refused:?}");
        assert!(!String::from_utf8_lossy(&refused.body).contains(&token[..20]), "{what}: the token is told again");
    }
    for query in ["access_token", "token", "authorization"] {
        let refused = web.get(&format!("/items?{query}={good}"));
        assert_eq!(refused.reason(401), "credential_missing", "{query}");
    }
    assert_eq!(web.send("GET", "/items", &[("authorization", &format!("Basic {good}"))], None).status, 401);
    assert_eq!(list(&web, &good).with(200)["total"], json!(0), "nothing was made");
    assert_eq!(keys.asked(), 1, "no token makes the server ask anybody");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 3)]
async fn keys_that_cannot_be_fetched_are_those_we_had_or_none() {
    let signer = Signer::rsa("rsa", Algorithm::RS256, KeySize::Rsa2048);
    let keys = KeyServer::start(Mood::Body(set(&[&signer]))).await;
    let folder = tempfile::tempdir().expect("a folder");
    let database = folder.path().join("work.db");
    let web = serve(&keys, &database);
    let token = signer.sign(&as_profile("viewer"));
    list(&web, &token).with(200);
    keys.be(Mood::Redirect("http://169.254.169.254/latest/meta-data".to_owned())).await;
    tokio::time::sleep(Duration::from_millis(1100)).await;
    list(&web, &token).with(200);
    drop(web);
    // One that starts meanwhile has none: it cannot say who somebody is, and takes nobody for the local user.
    let late = serve(&keys, &database);
    let put_off = list(&late, &token);
    assert_eq!(put_off.error(503)["kind"], json!("transient"));
    assert!(!put_off.header("retry-after").is_empty());
    assert_eq!(late.get("/items").reason(401), "credential_missing");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 3)]
async fn keys_of_a_server_that_is_away_are_used_until_they_are_too_old_and_those_of_a_file_longer() {
    let (fetched, filed) = (Signer::new("fetched"), Signer::new("filed"));
    let keys = KeyServer::start(Mood::Body(set(&[&fetched]))).await;
    let folder = tempfile::tempdir().expect("a folder");
    std::fs::write(folder.path().join("jwks.json"), set(&[&filed])).expect("a file");
    let database = folder.path().join("work.db");
    let more = "max_age_seconds = 4\njwks_path = \"jwks.json\"\n";
    let web = serve_with(&keys, &database, more);
    let (theirs, ours) = (fetched.sign(&as_profile("viewer")), filed.sign(&as_profile("viewer")));
    let begun = std::time::Instant::now();
    keys.be(Mood::Status(503)).await;
    tokio::time::sleep(Duration::from_millis(1500)).await;
    // Old enough to be fetched again, and not too old to be used.
    list(&web, &theirs).with(200);
    list(&web, &ours).with(200);
    assert!(begun.elapsed() < Duration::from_secs(3), "this machine is too slow for the test: {:?}", begun.elapsed());
    tokio::time::sleep(Duration::from_millis(4500).saturating_sub(begun.elapsed())).await;
    let put_off = list(&web, &theirs);
    assert_eq!(put_off.error(503)["kind"], json!("transient"));
    assert!(!put_off.header("retry-after").is_empty());
    list(&web, &ours).with(200);
    // One that starts meanwhile has the file's, from its first request on.
    drop(web);
    let late = serve_with(&keys, &database, more);
    assert_eq!(list(&late, &theirs).error(503)["kind"], json!("transient"));
    list(&late, &ours).with(200);
    assert_eq!(list(&late, &Signer::new("filed").sign(&as_profile("viewer"))).reason(401), "proof_rejected");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 3)]
async fn a_stream_ends_with_the_token_that_opened_it() {
    let signer = Signer::new("k1");
    let keys = KeyServer::start(Mood::Body(set(&[&signer]))).await;
    let folder = tempfile::tempdir().expect("a folder");
    let web = serve(&keys, &folder.path().join("work.db"));
    // Its time is over, but for what is forgiven to clocks.
    let exp = get_current_timestamp() - 26;
    let token = bearer(&signer.sign(&claims(json!({ "docket_profile": "viewer", "exp": exp }))));
    let headers = [("authorization", token.as_str()), ("connection", "close")];
    let begun = std::time::Instant::now();
    let mut stream =
        Stream::try_open(web.address, "/events/stream", &headers, Duration::from_secs(14)).expect("a stream");
    assert!(stream.next_event().is_none());
    assert!(begun.elapsed() < Duration::from_secs(9), "the stream goes on: {:?}", begun.elapsed());
    // Times in tokens are whole seconds: the last of them may not be over yet.
    while web.send("GET", "/items", &headers, None).status == 200 && begun.elapsed() < Duration::from_secs(9) {
        std::thread::sleep(Duration::from_millis(50));
    }
    assert_eq!(web.send("GET", "/items", &headers, None).reason(401), "proof_rejected");
}
