//! The first key and the last one, while a server runs: who is let in follows from the keys there were, not from those there
//! were when it started, and not from which process made them. And what is never let in without one.

use std::path::Path;
use std::time::{Duration, Instant};

use docket_tests::postgres::Database;
use docket_tests::web::{Reply, Web, command_on};
use serde_json::{Value, json};

/// How long a message between processes may take on the slowest machine.
const PATIENCE: Duration = Duration::from_secs(30);

struct Place {
    word: String,
    folder: tempfile::TempDir,
}

impl Place {
    fn new(word: impl FnOnce(&Path) -> String) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        Self { word: word(folder.path()), folder }
    }

    fn serve(&self) -> Web {
        Web::serving(&self.word, self.folder.path(), |_| {})
    }

    /// What another process answers on the same database.
    fn beside(&self, words: &[&str]) -> Value {
        let out = command_on(&self.word, self.folder.path()).arg("--json").args(words).output().expect("it runs");
        assert!(out.status.success(), "{words:?}: {}", String::from_utf8_lossy(&out.stderr));
        serde_json::from_slice(&out.stdout).expect("JSON")
    }

    fn key(&self, name: &str) -> String {
        let made = self.beside(&["key", "create", "--profile", "maintainer", "--name", name]);
        format!("Bearer {}", made["secret"].as_str().expect("a secret"))
    }
}

fn list(web: &Web, key: Option<&str>) -> Reply {
    let headers: Vec<(&str, &str)> = key.iter().map(|key| ("authorization", *key)).collect();
    web.send("GET", "/items", &headers, None)
}

fn add(web: &Web, key: Option<&str>) -> Reply {
    let headers: Vec<(&str, &str)> = key.iter().map(|key| ("authorization", *key)).collect();
    web.send("POST", "/items", &headers, Some(br#"{"title":"One"}"#))
}

/// What is answered once every process has heard of it.
fn heard(status: u16, mut ask: impl FnMut() -> Reply) -> Reply {
    let begun = Instant::now();
    loop {
        let reply = ask();
        if reply.status == status || begun.elapsed() > PATIENCE {
            return reply;
        }
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn the_first_key_closes_a_running_server_and_it_stays_closed_without_the_last() {
    let place = Place::new(|folder| format!("sqlite:{}", folder.join("work.db").display()));
    let web = place.serve();
    list(&web, None).with(200);
    assert_eq!(list(&web, Some("Bearer dkt_nonsense")).reason(401), "bad_credential");
    let key = place.key("ci");
    // A file is shared memory: there is nothing to wait for.
    assert_eq!(list(&web, None).reason(401), "credential_missing");
    assert_eq!(add(&web, None).reason(401), "credential_missing");
    list(&web, Some(&key)).with(200);
    add(&web, Some(&key)).with(201);
    let message = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list"}).to_string();
    let accept = ("accept", "application/json, text/event-stream");
    assert_eq!(web.to("POST", "/mcp", &[accept], Some(message.as_bytes())).reason(401), "credential_missing");
    let second = place.key("second");
    place.beside(&["key", "revoke", "ci"]);
    assert_eq!(list(&web, None).reason(401), "credential_missing", "another key holds");
    add(&web, Some(&second)).with(201);
    // Whoever takes the last key away, perhaps because it was stolen, does not mean to let everybody in.
    place.beside(&["key", "revoke", "second"]);
    assert_eq!(list(&web, None).reason(401), "credential_missing");
    assert_eq!(add(&web, None).reason(401), "credential_missing");
    assert_eq!(add(&web, Some(&second)).reason(401), "key_revoked");
    drop(web);
    let web = place.serve();
    assert_eq!(list(&web, None).reason(401), "credential_missing", "nor does a restart open it");
    add(&web, Some(&place.key("third"))).with(201);
}

/// What a proxy on this machine passes on comes from wherever the proxy is reached.
#[test]
fn what_came_through_a_proxy_is_not_taken_for_the_user_of_this_machine() {
    let place = Place::new(|folder| format!("sqlite:{}", folder.join("work.db").display()));
    let web = place.serve();
    for (header, value) in [
        ("x-forwarded-for", "203.0.113.7"),
        ("forwarded", "for=203.0.113.7;proto=https"),
        ("x-forwarded-host", "docket.example"),
        ("x-real-ip", "203.0.113.7"),
        ("via", "1.1 proxy"),
        ("x-forwarded-proto", "https"),
        ("X-Forwarded-Port", "443"),
        ("x-forwarded", "for=203.0.113.7"),
        ("x-original-forwarded-for", "203.0.113.7"),
        ("true-client-ip", "203.0.113.7"),
        ("cf-connecting-ip", "203.0.113.7"),
        ("x-client-ip", "203.0.113.7"),
    ] {
        let refused = web.send("GET", "/items", &[(header, value)], None);
        assert_eq!(refused.reason(401), "credential_missing", "{header}");
        assert!(refused.error(401)["message"].to_string().contains("docket key create"), "{refused:?}");
        let refused = web.send("POST", "/items", &[(header, value)], Some(br#"{"title":"One"}"#));
        assert_eq!(refused.reason(401), "credential_missing", "{header}");
    }
    assert_eq!(list(&web, None).with(200)["total"], json!(0), "without one it is");
    let key = place.key("ci");
    let through = [("x-forwarded-for", "203.0.113.7"), ("authorization", key.as_str())];
    web.send("GET", "/items", &through, None).with(200);
}

#[test]
fn an_expired_key_opens_nothing() {
    let place = Place::new(|folder| format!("sqlite:{}", folder.join("work.db").display()));
    let clock = place.folder.path().join("clock");
    let web = Web::serving(&place.word, place.folder.path(), |command| {
        command.env("DOCKET_CLOCK_FILE", &clock);
    });
    let made = place.beside(&["key", "create", "--profile", "viewer", "--name", "short", "--expires", "1m"]);
    let key = format!("Bearer {}", made["secret"].as_str().expect("a secret"));
    list(&web, Some(&key)).with(200);
    std::fs::write(&clock, "120000").expect("a clock");
    assert_eq!(heard(401, || list(&web, Some(&key))).reason(401), "key_expired");
    assert_eq!(list(&web, None).reason(401), "credential_missing", "time alone opens no door");
}

#[test]
fn the_same_on_postgres_where_a_key_is_made_elsewhere() {
    let database = Database::new();
    let place = Place::new(|_| database.url());
    let web = place.serve();
    list(&web, None).with(200);
    let key = place.key("ci");
    // A write asks in its own transaction, whatever was heard of.
    let refused = add(&web, None);
    assert!([401, 403].contains(&refused.status), "{refused:?}");
    assert_eq!(refused.reason(refused.status), "credential_missing");
    add(&web, Some(&key)).with(201);
    assert_eq!(heard(401, || list(&web, None)).reason(401), "credential_missing");
    place.beside(&["key", "revoke", "ci"]);
    assert_eq!(heard(401, || list(&web, Some(&key))).reason(401), "key_revoked");
    assert_eq!(add(&web, None).reason(401), "credential_missing", "nobody is let in instead");
}

#[test]
fn whoever_waits_at_the_door_takes_nobodys_turn() {
    let database = Database::new();
    let place = Place::new(|_| database.url());
    std::fs::write(place.folder.path().join("docket.toml"), "[server]\nin_flight = 1\n").expect("a file");
    let web = place.serve();
    let key = place.key("ci");
    heard(401, || list(&web, None));
    list(&web, Some(&key)).with(200);
    std::thread::scope(|scope| {
        // Meanwhile no key can be looked up; the one that was let in is remembered for a moment.
        scope.spawn(|| {
            database.run("BEGIN; LOCK TABLE api_keys IN ACCESS EXCLUSIVE MODE; SELECT pg_sleep(1.5)::text; COMMIT");
        });
        std::thread::sleep(Duration::from_millis(150));
        let stranger = format!("{}0000", &key[..key.len() - 4]);
        let refused = scope.spawn({
            let web = &web;
            move || list(web, Some(&stranger)).status
        });
        std::thread::sleep(Duration::from_millis(150));
        list(&web, Some(&key)).with(200);
        assert!(!refused.is_finished(), "nobody waited at the door");
        assert_eq!(refused.join().expect("an answer"), 401);
    });
}

#[test]
fn requests_do_not_ask_for_keys_one_by_one() {
    let place = Place::new(|folder| format!("sqlite:{}", folder.join("work.db").display()));
    let web = place.serve();
    list(&web, None).with(200);
    let asked = || {
        let text = String::from_utf8(web.to("GET", "/metrics", &[], None).body).expect("text");
        let line = text.lines().find(|line| line.starts_with("docket_store_asked_total")).map(ToOwned::to_owned);
        line.and_then(|line| line.rsplit(' ').next()?.parse::<u64>().ok()).expect("a count")
    };
    let (begun, before) = (Instant::now(), asked());
    for _ in 0..100 {
        list(&web, None).with(200);
    }
    let seconds = begun.elapsed().as_secs() + 2;
    let one = asked() - before;
    // One for each list, and one each second for the keys.
    assert!(one <= 100 + seconds, "{one} questions for 100 lists in {seconds} s");
}
