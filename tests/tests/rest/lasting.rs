//! An answer that goes on does not outlast what its reader was let in by: live events, streams of MCP, long polls.

use std::io::{Read, Write};
use std::path::Path;
use std::time::{Duration, Instant};

use docket_tests::postgres::Database;
use docket_tests::web::{Stream, Web, command_on};
use serde_json::{Value, json};

/// How soon an answer must end; a stream that goes on says so only after fifteen seconds.
const SOON: Duration = Duration::from_secs(6);
/// How long a test listens.
const PATIENCE: Duration = Duration::from_secs(12);

/// A folder, and what `--db` names in it.
struct Place {
    folder: tempfile::TempDir,
    word: String,
}

impl Place {
    fn new(word: impl FnOnce(&Path) -> String) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let word = word(folder.path());
        let place = Self { folder, word };
        // The first server makes the database and its project.
        drop(place.serve());
        place
    }

    fn on_sqlite() -> Self {
        Self::new(|folder| format!("sqlite:{}", folder.join("work.db").display()))
    }

    fn serve(&self) -> Web {
        let clock = self.folder.path().join("clock");
        Web::serving(&self.word, self.folder.path(), |command| {
            command.env("DOCKET_CLOCK_FILE", clock);
        })
    }

    fn run(&self, words: &[&str]) -> Value {
        let out = command_on(&self.word, self.folder.path()).arg("--json").args(words).output().expect("it runs");
        assert!(out.status.success(), "{words:?}: {}", String::from_utf8_lossy(&out.stderr));
        serde_json::from_slice(&out.stdout).expect("JSON")
    }

    fn key(&self, name: &str, words: &[&str]) -> String {
        let made = self.run(&[&["key", "create", "--profile", "worker", "--name", name], words].concat());
        format!("Bearer {}", made["secret"].as_str().expect("a secret"))
    }
}

fn open(web: &Web, key: Option<&str>) -> Stream {
    // A connection that stays open would hide the end of what came over it.
    let close = ("connection", "close");
    let headers: Vec<(&str, &str)> = key.map(|key| ("authorization", key)).into_iter().chain([close]).collect();
    Stream::try_open(web.address, "/events/stream", &headers, PATIENCE).unwrap_or_else(|head| panic!("{head}"))
}

fn must_end(stream: &mut Stream, what: &str) {
    let begun = Instant::now();
    while stream.next_event().is_some() {}
    assert!(begun.elapsed() < SOON, "{what}: the stream goes on");
}

/// Revokes and rotates under open streams; another key's goes on.
fn streams_end_with_their_keys(place: &Place) {
    let keeper = place.key("keeper", &[]);
    let web = place.serve();
    let mut other = open(&web, Some(&keeper));
    for act in ["revoke", "rotate"] {
        let name = format!("for-{act}");
        let mut stream = open(&web, Some(&place.key(&name, &[])));
        place.run(&["item", "add", "Before"]);
        assert!(stream.next_event().is_some(), "{act}: it tells what happens");
        place.run(&["key", act, &name]);
        must_end(&mut stream, act);
    }
    place.run(&["item", "add", "After"]);
    let told = std::iter::from_fn(|| other.next_event()).find(|sent| sent.data.to_string().contains("After"));
    assert!(told.is_some(), "who still has a key goes on being told");
}

#[test]
fn a_stream_ends_when_its_key_is_revoked_or_rotated() {
    streams_end_with_their_keys(&Place::on_sqlite());
}

#[test]
fn the_same_on_postgres() {
    let database = Database::new();
    streams_end_with_their_keys(&Place::new(|_| database.url()));
}

#[test]
fn a_stream_ends_when_its_key_expires() {
    let place = Place::on_sqlite();
    let key = place.key("short", &["--expires", "1m"]);
    let web = place.serve();
    let mut stream = open(&web, Some(&key));
    std::fs::write(place.folder.path().join("clock"), "120000").expect("a clock");
    place.run(&["item", "add", "After its time"]);
    must_end(&mut stream, "expired");
}

#[test]
fn the_first_key_ends_the_streams_of_those_who_had_none() {
    let place = Place::on_sqlite();
    let web = place.serve();
    let mut stream = open(&web, None);
    place.run(&["item", "add", "While it is open"]);
    assert!(stream.next_event().is_some(), "a commit that makes no key ends nothing");
    place.key("first", &[]);
    must_end(&mut stream, "the first key");
}

#[test]
fn streams_of_mcp_and_long_polls_end_too() {
    let place = Place::on_sqlite();
    let key = place.key("short", &[]);
    let web = place.serve();
    let subscribed = json!({ "resourceSubscriptions": ["board://default"] });
    let meta = json!({ "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": { "name": "test", "version": "1" },
        "io.modelcontextprotocol/clientCapabilities": {} });
    let params = json!({ "notifications": subscribed, "_meta": meta });
    let message = json!({ "jsonrpc": "2.0", "id": 7, "method": "subscriptions/listen", "params": params }).to_string();
    let mut stream = web.connect();
    stream.set_read_timeout(Some(PATIENCE)).expect("a timeout");
    let head = format!(
        "POST /mcp HTTP/1.1\r\nhost: {}\r\nauthorization: {key}\r\naccept: application/json, text/event-stream\r\n\
         mcp-protocol-version: 2026-07-28\r\nmcp-method: subscriptions/listen\r\nconnection: close\r\n\
         content-type: application/json\r\ncontent-length: {}\r\n\r\n{message}",
        web.address,
        message.len()
    );
    stream.write_all(head.as_bytes()).expect("sent");
    let mut told = Vec::new();
    let mut piece = [0; 4096];
    while !String::from_utf8_lossy(&told).contains("acknowledged") {
        let length = stream.read(&mut piece).expect("an acknowledgement");
        assert!(length > 0, "{}", String::from_utf8_lossy(&told));
        told.extend_from_slice(&piece[..length]);
    }
    std::thread::scope(|scope| {
        let polling = scope.spawn(|| {
            let begun = Instant::now();
            web.send("GET", "/events?waitMs=20000", &[("authorization", &key)], None).with(200);
            begun.elapsed()
        });
        let waiting = scope.spawn(|| {
            let begun = Instant::now();
            let call = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call",
                "params": { "name": "wait", "arguments": { "timeoutMs": 20_000 } } });
            let headers = [("authorization", key.as_str()), ("accept", "application/json, text/event-stream")];
            let reply = web.to("POST", "/mcp/docket", &headers, Some(call.to_string().as_bytes()));
            assert_eq!(reply.reason(401), "bad_credential");
            begun.elapsed()
        });
        // All are well under way.
        std::thread::sleep(Duration::from_millis(500));
        place.run(&["key", "revoke", "short"]);
        let begun = Instant::now();
        stream.read_to_end(&mut told).expect("it ends");
        assert!(begun.elapsed() < SOON, "the stream goes on");
        assert!(polling.join().expect("an answer") < SOON, "the long poll goes on");
        assert!(waiting.join().expect("an answer") < SOON, "the call goes on");
    });
}
