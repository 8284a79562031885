//! Denials are told to whoever looks after the server, by the log as it is without any setting: who and why, and nothing of
//! what was denied.

use std::path::Path;
use std::time::{Duration, Instant};

use docket_tests::web::{Reply, Web, command};
use serde_json::{Value, json};

const ACCEPT: (&str, &str) = ("accept", "application/json, text/event-stream");

/// What nobody may find in the log.
const SECRET_TITLE: &str = "Takeover of the zebra farm";

fn run(database: &Path, words: &[&str]) -> Value {
    let out = command(database).arg("--json").args(words).output().expect("it runs");
    assert!(out.status.success(), "{words:?}: {}", String::from_utf8_lossy(&out.stderr));
    serde_json::from_slice(&out.stdout).expect("JSON")
}

/// A key's beginning and its whole secret.
fn key(database: &Path, words: &[&str]) -> (String, String) {
    let made = run(database, &[&["key", "create"], words].concat());
    let secret = made["secret"].as_str().expect("a secret").to_owned();
    (secret[.."dkt_00000000".len()].to_owned(), secret)
}

/// The line that has all of these words, once it is there.
fn line(log: &Path, words: &[&str]) -> String {
    let begun = Instant::now();
    loop {
        let text = std::fs::read_to_string(log).unwrap_or_default();
        if let Some(found) = text.lines().find(|line| words.iter().all(|word| line.contains(word))) {
            return found.to_owned();
        }
        assert!(begun.elapsed() < Duration::from_secs(5), "no line with {words:?} in:\n{text}");
        std::thread::sleep(Duration::from_millis(50));
    }
}

#[test]
fn denials_are_in_the_log_without_what_was_denied() {
    let folder = tempfile::tempdir().expect("a folder");
    let database = folder.path().join("work.db");
    run(&database, &["--project", "mine", "init", "--prefix", "MINE"]);
    run(&database, &["project", "set", "other", "--prefix", "OTHER"]);
    run(&database, &["--project", "other", "item", "add", SECRET_TITLE]);
    let (viewer, viewer_secret) = key(&database, &["--profile", "viewer", "--project", "mine", "--name", "eye"]);
    let (gone, gone_secret) = key(&database, &["--profile", "viewer", "--name", "gone"]);
    run(&database, &["key", "revoke", "gone"]);
    std::fs::write(folder.path().join("docket.toml"), "[limits]\nburst = 7\nper_second = 1\n").expect("a file");
    let log = folder.path().join("log");
    let web = Web::on(&database, |command| {
        command.stderr(std::fs::File::create(&log).expect("a file"));
    });
    let as_viewer = format!("Bearer {viewer_secret}");
    let new = json!({"title": SECRET_TITLE}).to_string();
    // Every line has the name under which the caller was told of it.
    let id_of = |reply: &Reply| format!("id={}", reply.header("x-request-id"));
    let refused = web.send("POST", "/items", &[("authorization", &as_viewer)], Some(new.as_bytes()));
    refused.error(403);
    let denied = line(&log, &["denied", "create", &viewer, &id_of(&refused)]);
    assert!(denied.contains("key:eye:") && denied.contains("ProfileTooLow"), "{denied}");
    // A read that is no command of the engine.
    web.send("GET", "/keys", &[("authorization", &as_viewer)], None).error(403);
    line(&log, &["denied", "list-keys", &viewer]);
    web.send("GET", "/export", &[("authorization", &as_viewer)], None).error(403);
    line(&log, &["denied", "scan", &viewer]);
    let refused = web.send("GET", "/items", &[("authorization", &format!("Bearer {gone_secret}"))], None);
    refused.error(401);
    line(&log, &["not let in", "KeyRevoked", &gone, &id_of(&refused)]);
    let refused = web.get("/items");
    refused.error(401);
    line(&log, &["not let in", "CredentialMissing", &id_of(&refused)]);
    let headers = [("authorization", as_viewer.as_str()), ("x-request-id", "of-a-tool"), ACCEPT];
    let call = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": { "name": "plan", "arguments": { "items": [{ "title": SECRET_TITLE }] } } });
    web.to("POST", "/mcp/docket", &headers, Some(call.to_string().as_bytes())).with(200);
    line(&log, &["denied", &viewer, "id=of-a-tool"]);
    while web.send("GET", "/items", &[("authorization", &as_viewer)], None).status != 429 {}
    line(&log, &["denied", "RateLimited", "key:eye:"]);
    drop(web);
    let text = std::fs::read_to_string(&log).expect("a log");
    for secret in [SECRET_TITLE, "zebra", &viewer_secret[13..], &gone_secret[13..]] {
        assert!(!text.contains(secret), "the log tells \"{secret}\":\n{text}");
    }
}

/// What a server tells of somebody who was not let in, with these lines of configuration and this filter in the environment.
fn told_of_a_stranger(toml: &str, filter: Option<&str>) -> (String, String) {
    let folder = tempfile::tempdir().expect("a folder");
    let database = folder.path().join("work.db");
    run(&database, &["--project", "mine", "init", "--prefix", "MINE"]);
    key(&database, &["--profile", "viewer"]);
    std::fs::write(folder.path().join("docket.toml"), toml).expect("a file");
    let log = folder.path().join("log");
    let web = Web::on(&database, |command| {
        command.stderr(std::fs::File::create(&log).expect("a file"));
        filter.map(|filter| command.env("DOCKET_LOG", filter));
    });
    let reply = web.get("/items");
    reply.error(401);
    // What is written for a request is written before its answer is sent.
    let text = std::fs::read_to_string(&log).expect("a log");
    (reply.header("x-request-id").to_owned(), text)
}

#[test]
fn a_level_for_the_log_does_not_silence_the_audit() {
    for (toml, filter) in [
        ("[log]\nlevel = \"warn\"\n", None),
        ("[log]\nlevel = \"error\"\n", None),
        ("[log]\nformat = \"json\"\nlevel = \"warn\"\n", None),
        ("", Some("warn")),
        ("", Some("docket_core=debug")),
    ] {
        let (name, text) = told_of_a_stranger(toml, filter);
        let told = text.lines().find(|line| line.contains("not let in")).unwrap_or_default();
        assert!(told.contains("CredentialMissing") && told.contains(&name), "{toml} {filter:?}: {text}");
    }
    for (toml, filter) in [("[log]\nlevel = \"off\"\n", None), ("", Some("off")), ("", Some("warn,docket::audit=off"))]
    {
        let (_, text) = told_of_a_stranger(toml, filter);
        assert!(!text.contains("not let in"), "{toml} {filter:?}: {text}");
    }
}
