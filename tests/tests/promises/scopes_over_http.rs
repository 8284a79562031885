//! P15 over HTTP: a key sees and changes its projects alone.
//!
//! Two servers on one Postgres database with two projects and a key for one of them. Every route that names an item or a
//! project is asked for the caller's own, for another's and for one that is nowhere: another's and nowhere are answered with
//! the same status and the same words, lists hold nothing of it, nothing of it changes, and live events tell nothing of it.
//! Planted bug it catches: what is shown of items is not limited.

use std::time::Duration;

use docket_tests::web::{Reply, Stream, Web, command_on};
use serde_json::{Value, json};

use crate::fleet::{Place, must_fail_with};

const NOWHERE: &str = "00000000-0000-7000-8000-000000000001";
/// A word that only the other project has.
const SECRET: &str = "zebra";

/// Runs the program on the place's database.
fn run(place: &Place, words: &[&str]) -> Value {
    let mut command = command_on(&place.word(), place.folder());
    let out = command.arg("--json").args(words).output().expect("it runs");
    assert!(out.status.success(), "{words:?}: {}", String::from_utf8_lossy(&out.stderr));
    serde_json::from_slice(&out.stdout).expect("JSON")
}

fn make(place: &Place, project: &str, title: &str) -> String {
    let made = run(place, &["--project", project, "item", "add", title]).to_string();
    // Its id is the first that is told.
    let at = made.find("\"id\":\"").expect("an id") + 6;
    made[at..at + 36].to_owned()
}

/// Every request that names an item, with `ID` for it.
fn about_items() -> Vec<(&'static str, &'static str, Value)> {
    let get = |path| ("GET", path, Value::Null);
    vec![
        get("/items/ID"),
        get("/items/ID/context"),
        get("/items/ID/standing"),
        get("/items/ID/why"),
        get("/items/ID/overview"),
        get("/items/ID/tree"),
        get("/items/ID/notes"),
        get("/items/ID/notes/remark"),
        get("/items/ID/edges"),
        get("/items/ID/dossier?profile=full"),
        get("/items/ID/brief"),
        get("/items/ID/verdict"),
        get("/items/ID/questions"),
        get("/items/ID/checks"),
        get("/items/ID/runs"),
        get("/sessions?item=ID"),
        ("POST", "/items/ID/sessions", json!({ "runtime": { "model": "small" } })),
        get("/items/ID/comments"),
        get("/items/ID/links"),
        get("/items/ID/events"),
        get("/events?item=ID"),
        get("/queue?under=ID"),
        get("/items?parent=ID"),
        ("PATCH", "/items/ID", json!({ "title": "new" })),
        ("POST", "/items/ID/transitions", json!({ "trigger": "start" })),
        ("PUT", "/items/ID/claim", json!({})),
        ("DELETE", "/items/ID/claim", Value::Null),
        ("PUT", "/items/ID/notes/late", json!({ "body": "words" })),
        ("DELETE", "/items/ID/notes/remark", Value::Null),
        ("PUT", "/items/ID/brief", json!({ "objective": "new" })),
        ("PATCH", "/items/ID/brief", json!({ "objective": null })),
        ("DELETE", "/items/ID/brief", Value::Null),
        ("POST", "/items/ID/evidence", json!({ "criteria": [{ "id": "c1", "passed": true }] })),
        ("PUT", "/items/ID/checks", json!({ "checks": [{ "desc": "new", "cmd": "true" }] })),
        ("POST", "/items/ID/checks", json!({ "checks": [{ "desc": "more" }] })),
        ("POST", "/items/ID/checks/approve", json!({})),
        ("POST", "/items/ID/checks/0/attest", json!({ "passed": true })),
        ("POST", "/items/ID/checks/run", json!({})),
        ("POST", "/items/ID/submit", json!({ "output": "words" })),
        ("POST", "/items/ID/questions", json!({ "question": "which?" })),
        ("POST", "/items/ID/comments", json!({ "comment": "words" })),
        ("POST", "/items/ID/links", json!({ "links": [{ "kind": "a", "ref": "b", "url": "https://example.com/" }] })),
        ("POST", "/items/ID/begin", json!({})),
        ("POST", "/items/ID/finish", json!({ "preview": true })),
        ("POST", "/items/ID/close-tree", json!({})),
        ("POST", "/bulk/items/patch", json!({ "ids": ["ID"], "patch": { "title": "new" } })),
        ("POST", "/projects/mine/import-markdown", json!({ "markdown": "- one", "parent": "ID" })),
        ("POST", "/items/ID/close-beneath", json!({})),
        ("POST", "/edges", json!({ "from": "ID", "to": "OWN" })),
        ("POST", "/edges", json!({ "from": "OWN", "to": "ID" })),
        ("POST", "/items", json!({ "title": "child", "parent": "ID" })),
        ("POST", "/trees", json!({ "root": { "title": "root" }, "parent": "ID" })),
        ("PATCH", "/bulk/items", json!({ "items": [{ "item": "ID", "title": "new" }] })),
        ("POST", "/bulk/transitions", json!({ "transitions": [{ "item": "ID", "trigger": "start" }] })),
        ("POST", "/bulk/claims", json!({ "claims": [{ "item": "ID" }], "releases": ["ID"] })),
        ("PUT", "/bulk/notes", json!({ "notes": [{ "item": "ID", "key": "late", "body": "words" }] })),
        ("POST", "/bulk/items/remove", json!({ "items": ["ID"] })),
        ("DELETE", "/items/ID", Value::Null),
    ]
}

/// A run and a session that never were.
const NO_ULID: &str = "01JZK3V5Q8X4R2M7N9P6T1B0CD";

/// Every request that names a run as `RUN` or a session as `SESSION`.
fn about_attempts() -> Vec<(&'static str, &'static str, Value)> {
    vec![
        ("GET", "/runs/RUN", Value::Null),
        ("GET", "/runs/RUN/log", Value::Null),
        ("POST", "/runs/RUN/cancel", Value::Null),
        ("GET", "/sessions/SESSION", Value::Null),
        ("POST", "/sessions/SESSION/heartbeat", json!({ "text": "mine" })),
        ("POST", "/sessions/SESSION/finish", json!({ "summary": "mine" })),
        ("POST", "/sessions/SESSION/cancel", json!({ "reason": "mine" })),
    ]
}

/// Every list, and what names a project as `SLUG`.
const LISTS: [&str; 21] = [
    "/sessions",
    "/sessions?health=active",
    "/sessions?project=SLUG",
    "/items",
    "/search?q=zebra",
    "/tree",
    "/queue",
    "/why",
    "/blocked",
    "/overview",
    "/events",
    "/projects",
    "/export",
    "/projects/SLUG",
    "/projects/SLUG/health",
    "/projects/SLUG/activity",
    "/projects/SLUG/estimate",
    "/projects?includeArchived=true",
    "/inbox",
    "/inbox?project=SLUG",
    "/items?project=SLUG",
];

/// A status, and what was said without what must differ.
fn told(reply: &Reply, id: &str) -> (u16, String) {
    let mut said = String::from_utf8_lossy(&reply.body).replace(id, "X");
    if let Some(at) = said.find("\"requestId\":\"") {
        let end = said[at + 13..].find('"').map_or(said.len(), |end| at + 13 + end);
        said.replace_range(at + 13..end, "");
    }
    (reply.status, said)
}

/// An item of the other project with a run of its check and an attempt at it: their ids.
fn attempt(place: &Place) -> [String; 3] {
    let item = make(place, "other", &format!("{SECRET} attempted"));
    run(place, &["--project", "other", "check", "add", &item, SECRET, "--cmd", "true"]);
    run(place, &["--project", "other", "check", "run", &item]);
    let runs = run(place, &["--project", "other", "check", "runs", &item]);
    let made_run = runs["runs"][0]["id"].as_str().expect("a run").to_owned();
    let begun = run(place, &["--project", "other", "--actor", "agent:zoe", "session", "begin", &item]);
    [item, made_run, begun["session"]["id"].as_str().expect("a session").to_owned()]
}

fn experiment(plant: Option<&'static str>) {
    let place = Place::on_server(plant);
    run(&place, &["--project", "mine", "init", "--prefix", "MINE"]);
    run(&place, &["project", "set", "other", "--prefix", "OTHER"]);
    let (own, other) = (make(&place, "mine", "my own"), make(&place, "other", SECRET));
    run(&place, &["--project", "other", "note", "set", &other, "remark", SECRET]);
    run(&place, &["--project", "other", "brief", "set", &other, "--objective", SECRET, "--criterion", SECRET]);
    run(&place, &["--project", "other", "comment", &other, SECRET]);
    run(&place, &["--project", "other", "check", "add", &other, SECRET, "--cmd", SECRET]);
    run(&place, &["--project", "other", "item", "edit", &other, "--attention", SECRET]);
    let [attempted, made_run, session] = attempt(&place);
    let made = run(&place, &["key", "create", "--profile", "maintainer", "--project", "mine"]);
    let key = format!("Bearer {}", made["secret"].as_str().expect("a secret"));
    let webs = [place.web(), place.web()];
    let before = place.read();
    let send = |web: &Web, method: &str, path: &str, body: &Value| {
        let body = (!body.is_null()).then(|| body.to_string().replace("OWN", &own));
        web.send(method, path, &[("authorization", &key)], body.as_deref().map(str::as_bytes))
    };
    let mut stream =
        Stream::try_open(webs[1].address, "/events/stream?after=0", &[("authorization", &key)], Duration::from_secs(1))
            .expect("a stream");
    for (at, (method, path, body)) in about_items().into_iter().enumerate() {
        let ask = |id: &str| {
            let body = serde_json::from_str(&body.to_string().replace("ID", id)).expect("JSON");
            told(&send(&webs[at % 2], method, &path.replace("ID", id), &body), id)
        };
        let (theirs, nowhere) = (ask(&other), ask(NOWHERE));
        assert_eq!(theirs, nowhere, "{method} {path} tells");
        assert!(!theirs.1.contains(SECRET), "{method} {path} tells {}", theirs.1);
        assert!(theirs.0 < 500, "{method} {path}: {}", theirs.1);
    }
    for (at, (method, path, body)) in about_attempts().into_iter().enumerate() {
        let ask =
            |id: &str| told(&send(&webs[at % 2], method, &path.replace("RUN", id).replace("SESSION", id), &body), id);
        let (theirs, nowhere) = (ask(if path.contains("RUN") { &made_run } else { &session }), ask(NO_ULID));
        assert_eq!(theirs, nowhere, "{method} {path} tells");
        assert_eq!(theirs.0, 404, "{method} {path}: {}", theirs.1);
    }
    for (at, path) in LISTS.into_iter().enumerate() {
        let reply = send(&webs[at % 2], "GET", &path.replace("SLUG", "other"), &Value::Null);
        let (status, said) = told(&reply, "other");
        // A search may say again what was searched for.
        let named = [&other, &attempted, &session, &made_run].iter().any(|id| said.contains(id.as_str()));
        let leaks = named || said.replace("q=zebra", "").contains(SECRET) || said.contains("zoe");
        assert!(!leaks && status < 500, "GET {path} tells {said}");
        if path.contains("SLUG") {
            let (unknown, words) =
                told(&send(&webs[at % 2], "GET", &path.replace("SLUG", "none"), &Value::Null), "none");
            assert_eq!((status, said), (unknown, words), "GET {path} tells");
        }
    }
    let mut heard = 0;
    while let Some(sent) = stream.next_event() {
        heard += 1;
        assert!(!sent.data.to_string().contains(SECRET), "live events tell of {}", sent.data);
    }
    assert!(heard > 0, "live events tell nothing at all");
    let after = place.check();
    let theirs = |world: &docket_core::testing::World| {
        let item = world.items.values().find(|item| item.id.to_string() == other).cloned();
        let session = world.sessions.values().find(|known| known.id.to_string() == session).cloned();
        assert!(session.is_some(), "the attempt is gone");
        (item, session, world.notes.values().filter(|note| note.item.to_string() == other).count(), world.edges.len())
    };
    assert_eq!(theirs(&before), theirs(&after), "something of the other project has changed");
    // And the caller's own is there for all of it.
    assert_eq!(send(&webs[0], "GET", &format!("/items/{own}"), &Value::Null).status, 200);
}

#[test]
fn a_key_sees_and_changes_its_projects_alone() {
    experiment(None);
}

#[test]
fn and_a_read_without_the_limit_would_be_seen() {
    must_fail_with(&["tells"], || experiment(Some("reads-unlimited")));
}
