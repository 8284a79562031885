//! P6 over REST: a retry takes effect once, whatever operation it is of and whichever replica it reaches.
//!
//! Every operation of the document that takes an `Idempotency-Key` is sent several times at the same time to two servers on one
//! database, one answer is not waited for, and one of the servers is killed and replaced before it is sent once more to each. It
//! takes effect in one unit of work, and all answers are equal. Planted bug it catches: the answer is not kept.

use std::io::Write as _;
use std::net::TcpStream;
use std::time::{Duration, Instant};

use docket_tests::web::{self, Reply, Runner, Web, command_on};
use serde_json::{Value, json};

use crate::fleet::{Place, must_fail_with, request};
use crate::openapi::Document;

/// Copies that are waited for.
const COPIES: usize = 4;
/// After so many operations a server is killed.
const KILL_EVERY: usize = 8;

/// The version of an item that was made and then given its checks.
const WITH_CHECKS: u64 = 2;

/// How long an answer may take, with all tries.
const PATIENCE: Duration = Duration::from_secs(30);

/// A method, an address and a body, with words in capitals for what is made for it.
type Operation = (&'static str, &'static str, Value);

fn on_items() -> Vec<Operation> {
    let manual = json!({ "checks": [{ "desc": "look", "type": "manual" }] });
    let link = json!({ "links": [{ "kind": "a", "ref": "b", "url": "https://example.com/" }] });
    vec![
        ("POST", "/items", json!({ "title": "new" })),
        ("PATCH", "/items/ITEM", json!({ "title": "new" })),
        ("DELETE", "/items/ITEM", Value::Null),
        ("POST", "/items/ITEM/begin", json!({})),
        ("PUT", "/items/ITEM/brief", json!({ "objective": "new" })),
        ("PATCH", "/items/BRIEFED/brief", json!({ "objective": "new" })),
        ("DELETE", "/items/BRIEFED/brief", Value::Null),
        ("PUT", "/items/ITEM/checks", manual.clone()),
        ("POST", "/items/ITEM/checks", manual),
        ("POST", "/items/WRITTEN/checks/approve", json!({ "version": WITH_CHECKS })),
        ("POST", "/items/APPROVED/checks/run", json!({})),
        ("POST", "/items/MANUAL/checks/0/attest", json!({ "passed": true })),
        ("PUT", "/items/ITEM/claim", json!({})),
        ("DELETE", "/items/HELD/claim", Value::Null),
        ("POST", "/items/PARENT/close-beneath", json!({})),
        ("POST", "/items/PARENT/close-tree", json!({})),
        ("POST", "/items/ITEM/comments", json!({ "comment": "words" })),
        ("POST", "/items/BRIEFED/evidence", json!({ "criteria": [{ "id": "c1", "passed": true }] })),
        ("POST", "/items/BEGUN/finish", json!({ "comment": "words" })),
        ("PUT", "/items/ITEM/knowledge/ENTRY", Value::Null),
        ("DELETE", "/items/CITING", Value::Null),
        ("POST", "/items/ITEM/links", link),
        ("PUT", "/items/ITEM/notes/log", json!({ "body": "words", "phase": "work" })),
        ("DELETE", "/items/NOTED/notes/log", Value::Null),
        ("POST", "/items/ITEM/questions", json!({ "question": "which?" })),
        ("POST", "/items/ITEM/sessions", json!({ "runtime": { "model": "small" } })),
        ("POST", "/items/BEGUN/submit", json!({ "output": "words" })),
        ("POST", "/items/ITEM/transitions", json!({ "trigger": "start" })),
    ]
}

fn in_bulk() -> Vec<Operation> {
    let note = json!({ "item": "ITEM", "key": "log", "body": "words", "phase": "work" });
    vec![
        ("POST", "/bulk/claims", json!({ "claims": [{ "item": "ITEM" }] })),
        ("POST", "/bulk/edges", json!({ "edges": [{ "from": "ITEM", "to": "OTHER" }] })),
        ("POST", "/bulk/items", json!({ "items": [{ "title": "new" }] })),
        ("PATCH", "/bulk/items", json!({ "items": [{ "item": "ITEM", "title": "new" }] })),
        ("POST", "/bulk/items/patch", json!({ "ids": ["ITEM"], "patch": { "title": "new" } })),
        ("POST", "/bulk/items/remove", json!({ "items": ["ITEM"] })),
        ("PUT", "/bulk/notes", json!({ "notes": [note] })),
        ("POST", "/bulk/transitions", json!({ "transitions": [{ "item": "ITEM", "trigger": "start" }] })),
        ("POST", "/trees", json!({ "root": { "title": "root" } })),
        ("POST", "/projects/default/import-markdown", json!({ "markdown": "- one" })),
    ]
}

fn on_the_rest() -> Vec<Operation> {
    vec![
        ("POST", "/edges", json!({ "from": "ITEM", "to": "OTHER" })),
        ("DELETE", "/edges/EDGE", Value::Null),
        ("DELETE", "/edges?ENDS", Value::Null),
        ("DELETE", "/links/LINK", Value::Null),
        ("POST", "/knowledge", json!({ "entries": [{ "title": "new", "body": "words" }] })),
        ("PATCH", "/knowledge/ENTRY", json!({ "title": "new" })),
        ("POST", "/knowledge/ENTRY/review", json!({ "reviewed": true, "version": 1 })),
        ("DELETE", "/knowledge/ENTRY", Value::Null),
        ("POST", "/questions/QUESTION/answer", json!({ "answer": "this" })),
        ("POST", "/questions/QUESTION/withdraw", Value::Null),
        ("POST", "/queue/claim", json!({})),
        ("POST", "/runs/RUN/cancel", Value::Null),
        ("POST", "/sessions/SESSION/heartbeat", json!({ "text": "here" })),
        ("POST", "/sessions/SESSION/finish", json!({ "summary": "words" })),
        ("POST", "/sessions/SESSION/cancel", json!({ "reason": "words" })),
        ("POST", "/keys", json!({ "profile": "viewer" })),
        ("POST", "/keys/KEY/rotate", Value::Null),
        ("DELETE", "/keys/KEY", Value::Null),
        ("PATCH", "/projects/default", json!({ "name": "New" })),
        ("PATCH", "/projects/default/settings", json!({ "maxDepth": 4 })),
        // From here on there are several projects, and everything else would have to say which.
        ("POST", "/projects", json!({ "slug": "another" })),
        ("POST", "/import", json!("IMPORT")),
    ]
}

/// Two servers on one database, and somebody who may do everything, beside somebody else whose checks that one may let run.
struct Replicas<'p> {
    place: &'p Place,
    webs: [Web; 2],
    key: String,
    other: String,
}

impl Replicas<'_> {
    fn new(place: &Place) -> Replicas<'_> {
        place.web();
        let key = |profile: &str| {
            let mut command = command_on(&place.word(), place.folder());
            let made = command.args(["--json", "key", "create", "--profile", profile, "--name", profile]).output();
            let made: Value = serde_json::from_slice(&made.expect("it runs").stdout).expect("JSON");
            format!("Bearer {}", made["secret"].as_str().expect("a secret"))
        };
        let [key, other] = ["maintainer", "worker"].map(key);
        Replicas { place, webs: [place.web(), place.web()], key, other }
    }

    /// Somebody else writes a check on an item.
    fn write_check(&self, item: &str) {
        let headers = [("authorization", self.other.as_str()), ("content-type", "application/json")];
        let body = json!({ "checks": [{ "desc": "it runs", "cmd": "true" }] }).to_string();
        self.webs[0].send("PUT", &format!("/items/{item}/checks"), &headers, Some(body.as_bytes())).with(200);
    }

    /// Sends a request until it is answered for good: what a client does that retries.
    fn insist(&self, at: usize, (method, path, body): (&str, &str, &str), more: &[(&str, &str)]) -> Reply {
        let kind = if path == "/import" { "application/x-ndjson" } else { "application/json" };
        let headers = [&[("authorization", self.key.as_str()), ("content-type", kind)], more].concat();
        let body = (!body.is_empty()).then_some(body.as_bytes());
        let begun = Instant::now();
        loop {
            let address = self.webs[at % 2].address;
            let reply = web::ask(address, method, &format!("/api/v1{path}"), &headers, body);
            // What is put off or turned away was not done.
            let undone = |reply: &Reply| reply.status >= 400 && reply.json()["error"]["kind"] != json!("permanent");
            match reply.filter(|reply| !undone(reply)) {
                Some(reply) => return reply,
                None => std::thread::sleep(Duration::from_millis(20)),
            }
            assert!(begun.elapsed() < PATIENCE, "{method} {path} is not answered");
        }
    }

    /// Sends a request and hangs up before there is an answer.
    fn leave(&self, at: usize, (method, path, body): (&str, &str, &str), name: &str) {
        let address = self.webs[at % 2].address;
        let kind = if path == "/import" { "application/x-ndjson" } else { "application/json" };
        let headers = [("authorization", self.key.as_str()), ("content-type", kind), ("idempotency-key", name)];
        let body = (!body.is_empty()).then_some(body.as_bytes());
        let bytes = web::request(address, method, &format!("/api/v1{path}"), &headers, body);
        let Ok(mut stream) = TcpStream::connect(address) else { return };
        let _ = stream.write_all(&bytes);
    }

    fn made(&self, method: &str, path: &str, body: &Value, more: &[(&str, &str)]) -> Value {
        let body = if body.is_null() { String::new() } else { body.to_string() };
        let reply = self.insist(0, (method, path, &body), more);
        assert!(reply.status < 300, "{method} {path}: {}", String::from_utf8_lossy(&reply.body));
        if reply.body.is_empty() { Value::Null } else { reply.json() }
    }

    fn put(&self, path: &str, body: &Value) {
        self.made("PUT", path, body, &[]);
    }

    /// The first id that is told at one of these places.
    fn id(&self, method: &str, path: &str, body: &Value, at: &str) -> String {
        let made = self.made(method, path, body, &[]);
        let id = made.pointer(at).and_then(Value::as_str);
        id.unwrap_or_else(|| panic!("{method} {path} tells no id at {at}: {made}")).to_owned()
    }

    fn item(&self) -> String {
        self.id("POST", "/items", &json!({ "title": "an item" }), "/item/id")
    }

    /// Makes what a word stands for.
    fn make(&self, word: &str) -> String {
        let item = self.item();
        let own = |part: &str| format!("/items/{item}/{part}");
        match word {
            "ITEM" | "OTHER" => {}
            "NOTED" => self.put(&own("notes/log"), &json!({ "body": "words", "phase": "work" })),
            "BRIEFED" => self.put(&own("brief"), &json!({ "acceptanceCriteria": ["it works"] })),
            "HELD" => self.put(&own("claim"), &json!({})),
            "MANUAL" => self.put(&own("checks"), &json!({ "checks": [{ "desc": "look", "type": "manual" }] })),
            "BEGUN" => _ = self.made("POST", &own("begin"), &json!({}), &[]),
            "PARENT" => _ = self.made("POST", "/items", &json!({ "title": "a child", "parent": item }), &[]),
            "WRITTEN" => self.write_check(&item),
            "CITING" => {
                let entry = self.make("ENTRY");
                self.put(&own(&format!("knowledge/{entry}")), &Value::Null);
                return format!("{item}/knowledge/{entry}");
            }
            "APPROVED" => {
                self.write_check(&item);
                self.made("POST", &own("checks/approve"), &json!({ "version": WITH_CHECKS }), &[]);
            }
            "RUN" => {
                let item = self.make("APPROVED");
                let own = |part: &str| format!("/items/{item}/{part}");
                self.made("POST", &own("submit"), &json!({ "output": "words" }), &[]);
                return self.id("GET", &own("runs"), &Value::Null, "/runs/0/id");
            }
            "EDGE" => return self.id("POST", "/edges", &json!({ "from": item, "to": self.item() }), "/id"),
            "ENDS" => {
                let to = self.item();
                self.made("POST", "/edges", &json!({ "from": item, "to": to }), &[]);
                return format!("from={item}&to={to}");
            }
            "LINK" => {
                let link = json!({ "kind": "a", "ref": "b", "url": "https://example.com/" });
                return self.id("POST", &own("links"), &json!({ "links": [link] }), "/links/0");
            }
            "QUESTION" => return self.id("POST", &own("questions"), &json!({ "question": "which?" }), "/question/id"),
            "SESSION" => return self.id("POST", &own("sessions"), &json!({ "runtime": {} }), "/session/id"),
            "ENTRY" => {
                let entry = json!({ "title": "an entry", "body": "words" });
                return self.id("POST", "/knowledge", &json!({ "entries": [entry] }), "/entries/0");
            }
            "KEY" => return self.id("POST", "/keys", &json!({ "profile": "viewer" }), "/key/id"),
            other => panic!("nobody knows what {other} is"),
        }
        item
    }

    /// A request with everything made that it names.
    fn prepared(&self, (method, path, body): &Operation) -> (String, String) {
        if *body == json!("IMPORT") {
            return ((*path).to_owned(), self.exported());
        }
        let mut text = format!("{path}\n{}", if body.is_null() { String::new() } else { body.to_string() });
        let words = text.split(|c: char| !c.is_ascii_uppercase()).filter(|word| word.len() > 2);
        let mut words: Vec<String> = words.map(str::to_owned).collect();
        words.dedup();
        for word in words {
            text = text.replacen(&word, &self.make(&word), 1);
        }
        let (path, body) = text.split_once('\n').unwrap_or_else(|| panic!("{method} without a line"));
        (path.to_owned(), body.to_owned())
    }

    /// A project that another database has exported.
    fn exported(&self) -> String {
        let reply = self.insist(0, ("GET", "/export", ""), &[]);
        let all = String::from_utf8(reply.body).expect("UTF-8");
        let lines: Vec<Value> = all.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
        let mut project = lines.iter().find(|line| line.get("project").is_some()).expect("a project").clone();
        project["project"]["id"] = json!("00000000-0000-7000-8000-0000000000aa");
        project["project"]["slug"] = json!("brought");
        project["project"]["prefix"] = json!("BRO");
        format!("{}\n{project}\n", lines[0])
    }

    fn last_event(&self) -> u64 {
        let found = self.made("GET", "/events?newestFirst=true&limit=1", &Value::Null, &[]);
        found["events"][0]["seq"].as_u64().unwrap_or(0)
    }

    /// Tries an operation: sends it at the same time, and once more to each server when all is over.
    fn try_it(&mut self, number: usize, operation: &Operation) {
        let (method, template, _) = operation;
        let (path, body) = self.prepared(operation);
        let (sent, name) = ((*method, path.as_str(), body.as_str()), request());
        let named = [("idempotency-key", name.as_str())];
        let before = self.last_event();
        // What it orders somebody has to make before it is answered, and what comes of it is no effect of the request's.
        let runs = template.ends_with("/checks/run");
        let runner = runs.then(|| Runner::beside(&self.webs[1]));
        let this = &*self;
        let mut replies: Vec<Reply> = std::thread::scope(|scope| {
            let copies = (0..COPIES).map(|at| scope.spawn(move || this.insist(at, sent, &named))).collect::<Vec<_>>();
            this.leave(number, sent, &name);
            copies.into_iter().map(|copy| copy.join().expect("an answer")).collect()
        });
        if number.is_multiple_of(KILL_EVERY) {
            self.webs[0].signal("KILL");
            let _ = self.webs[0].end(Duration::from_secs(10));
            self.webs[0] = self.place.web();
        }
        replies.extend([0, 1].map(|at| self.insist(at, sent, &named)));
        drop(runner);
        check_answers(&format!("{method} {template}"), &replies);
        let told = self.made("GET", &format!("/events?after={before}&limit=200"), &Value::Null, &[]);
        let mut events = told["events"].as_array().expect("events").clone();
        events.retain(|event| !runs || event["verb"] == json!("runs-ordered"));
        let mut units: Vec<String> = events.iter().map(|event| event["unit"].to_string()).collect();
        units.dedup();
        assert_eq!(units.len(), 1, "{method} {template} took effect {} times: {told}", units.len());
    }
}

/// All are alike; of those that make a secret one at the most shows it, and the others say that it was shown.
fn check_answers(what: &str, replies: &[Reply]) {
    let told = |reply: &Reply| (reply.status, String::from_utf8_lossy(&reply.body).into_owned());
    if ["POST /keys", "POST /keys/KEY/rotate"].contains(&what) {
        let (shown, late): (Vec<_>, Vec<_>) = replies.iter().partition(|reply| reply.status < 300);
        assert!(
            shown.len() <= 1,
            "{what} was answered in two ways: {:?}",
            replies.iter().map(told).collect::<Vec<_>>()
        );
        for reply in late {
            assert_eq!(reply.reason(422), "request_id_reused", "{what}");
            let said = reply.error(422)["message"].to_string();
            assert!(said.contains("was answered before"), "{what} is told that it is another request: {said}");
        }
        return;
    }
    let first = told(&replies[0]);
    assert!(first.0 < 300, "{what} was refused: {first:?}");
    for reply in replies {
        assert_eq!(told(reply), first, "{what} was answered in two ways");
    }
}

fn experiment(place: &Place) {
    let document = Document::read();
    let mut left = document.retried();
    let mut replicas = Replicas::new(place);
    let operations = [on_items(), in_bulk(), on_the_rest()].concat();
    for (number, operation) in operations.iter().enumerate() {
        let path = operation.1.replace("CITING", "ITEM/knowledge/ENTRY");
        left.remove(&document.meant(operation.0, &path));
        replicas.try_it(number, operation);
    }
    assert!(left.is_empty(), "these take an Idempotency-Key, and nobody tried them twice: {left:?}");
    drop(replicas);
    place.check();
}

#[test]
fn a_retry_of_any_operation_takes_effect_once() {
    experiment(&Place::new(None));
}

#[test]
fn it_does_on_a_server_too() {
    experiment(&Place::on_server(None));
}

#[test]
fn and_an_answer_that_is_forgotten_would_be_seen() {
    for place in [Place::new, Place::on_server] {
        must_fail_with(&["was answered in two ways", "took effect"], || experiment(&place(Some("answers-forgotten"))));
    }
}
