//! P15 over HTTP: a key sees and changes its projects alone.
//!
//! Two servers on one Postgres database with two projects and keys for one of them, and for one item in it. Every operation of the
//! OpenAPI document is asked for the other project's things and for such that are nowhere: both are answered with the same
//! status and the same words, lists hold nothing of it, nothing of it changes, and live events tell nothing of it. The key for one
//! item changes no other. Planted bug it catches: what is shown of items is not limited.

use std::time::Duration;

use docket_core::model::{Item, Verb};
use docket_core::testing::World;
use docket_tests::web::{Reply, Stream, Web, command_on};
use serde_json::{Value, json};

use crate::fleet::{Place, must_fail_with};
use crate::scopes_requests::{LISTS, Request, about_everything, about_items, about_others, about_projects};

const NOWHERE: &str = "00000000-0000-7000-8000-000000000001";
/// What has another form of id, and never was.
const NO_ULID: &str = "01JZK3V5Q8X4R2M7N9P6T1B0CD";
/// A word that only the other project has.
const SECRET: &str = "zebra";

/// Runs the program on the place's database.
pub(crate) fn run(place: &Place, words: &[&str]) -> Value {
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

/// A status, and what was said without what must differ.
fn told(reply: &Reply, id: &str) -> (u16, String) {
    let mut said = String::from_utf8_lossy(&reply.body).replace(id, "X");
    if let Some(at) = said.find("\"requestId\":\"") {
        let end = said[at + 13..].find('"').map_or(said.len(), |end| at + 13 + end);
        said.replace_range(at + 13..end, "");
    }
    (reply.status, said)
}

/// What there is of the other project, by the words that requests name it with.
pub(crate) struct Theirs {
    /// Every id that is nobody else's affair.
    pub(crate) ids: Vec<(&'static str, String)>,
    pub(crate) item: String,
}

impl Theirs {
    pub(crate) fn get(&self, word: &str) -> &str {
        self.ids.iter().find(|(known, _)| *known == word).map_or("", |(_, id)| id.as_str())
    }
}

/// Fills a project with texts that hold a word: an item with everything on it, a run of a check, an attempt, an edge, an entry of knowledge.
pub(crate) fn fill(place: &Place, project: &str, word: &str, who: &str) -> Theirs {
    let within = |words: &[&str]| run(place, &[&["--project", project], words].concat());
    let id = |made: &Value, path: &str| {
        made.pointer(path).and_then(Value::as_str).unwrap_or_else(|| panic!("{made}")).to_owned()
    };
    let other = make(place, project, word);
    within(&["note", "set", &other, "remark", word]);
    within(&["brief", "set", &other, "--objective", word, "--criterion", word]);
    within(&["comment", &other, word]);
    // What a person asked for a worker could not take away.
    within(&["--actor", who, "check", "add", &other, word, "--cmd", word]);
    within(&["item", "edit", &other, "--attention", word]);
    let attempted = make(place, project, &format!("{word} attempted"));
    within(&["check", "add", &attempted, word, "--cmd", "true"]);
    within(&["check", "run", &attempted]);
    let runs = within(&["check", "runs", &attempted]);
    let begun = within(&["--actor", who, "session", "begin", &attempted]);
    let second = make(place, project, &format!("{word} second"));
    // What the command line does not tell the ids of is made over HTTP, before there is any key.
    let web = Web::serving(&place.word(), place.folder(), |_| {});
    let post = |path: &str, body: Value| web.post(path, &body).with(201);
    let asked = post(&format!("/items/{second}/questions"), json!({ "question": word }));
    let link = json!({ "kind": "pr", "ref": word, "url": format!("https://example.com/{word}") });
    post(&format!("/items/{second}/links"), json!({ "links": [link] }));
    let links = web.get(&format!("/items/{second}/links")).with(200);
    post("/edges", json!({ "from": other, "to": second }));
    let edges = web.get(&format!("/items/{second}/edges")).with(200);
    post("/knowledge", json!({ "project": project, "entries": [{ "title": word, "body": word, "tags": [word] }] }));
    let entries = web.get(&format!("/knowledge?project={project}")).with(200);
    let questions = web.get(&format!("/items/{second}/questions")).with(200);
    let notes = web.get(&format!("/items/{other}/notes")).with(200);
    assert!(!asked.is_null());
    let ids = vec![
        ("RUN", id(&runs, "/runs/0/id")),
        ("SESSION", id(&begun, "/session/id")),
        ("QUESTION", id(&questions, "/questions/0/id")),
        ("LINK", id(&links, "/links/0/id")),
        ("EDGE", id(&edges, "/edges/0/id")),
        ("ENTRY", id(&entries, "/entries/0/id")),
        ("NOTE", id(&notes, "/notes/0/id")),
        ("attempted", attempted),
        ("second", second),
        ("item", other.clone()),
    ];
    Theirs { ids, item: other }
}

/// Somebody with a key, and the servers it may go to.
struct Asker<'w> {
    webs: &'w [Web; 2],
    key: String,
    own: String,
    mine: String,
    asked: std::cell::Cell<usize>,
}

impl Asker<'_> {
    fn ask(&self, method: &str, path: &str, body: &Value) -> Reply {
        let names = |text: &str| text.replace("OWN", &self.own).replace("MINE", &self.mine);
        let body = (!body.is_null()).then(|| names(&body.to_string()));
        let kind = if path == "/import" { "application/x-ndjson" } else { "application/json" };
        let headers = [("authorization", self.key.as_str()), ("content-type", kind)];
        self.asked.set(self.asked.get() + 1);
        self.webs[self.asked.get() % 2].send(method, &names(path), &headers, body.as_deref().map(str::as_bytes))
    }

    /// Asks for the other's and for what is nowhere, in the same place: both must be told alike.
    fn compare(&self, (method, path, body): &Request, word: &str, theirs: &str, nowhere: &str) -> u16 {
        let ask = |id: &str| {
            let body = serde_json::from_str(&body.to_string().replace(word, id)).expect("JSON");
            told(&self.ask(method, &path.replace(word, id), &body), id)
        };
        let (one, other) = (ask(theirs), ask(nowhere));
        assert_eq!(one, other, "{method} {path} tells");
        assert!(!one.1.replace("q=zebra", "").contains(SECRET), "{method} {path} tells {}", one.1);
        assert!(one.0 < 500, "{method} {path}: {}", one.1);
        one.0
    }

    /// Everything that can be asked of the other project.
    fn ask_all(&self, theirs: &Theirs) {
        for request in about_items() {
            self.compare(&request, "ID", &theirs.item, NOWHERE);
        }
        for request in about_others() {
            let words = ["RUN", "SESSION", "QUESTION", "LINK", "EDGE", "ENTRY"];
            let word = words.into_iter().find(|word| request.1.contains(word)).expect("a word");
            let nowhere = if word == "EDGE" { NOWHERE } else { NO_ULID };
            self.compare(&request, word, theirs.get(word), nowhere);
        }
        for request in about_projects() {
            self.compare(&request, "SLUG", "other", "none");
        }
        for (method, path, body) in about_everything() {
            let refused = self.ask(method, &path.replace("KEY", "admin"), &body);
            assert_eq!(refused.error(403)["code"], json!("FORBIDDEN"), "{method} {path}");
        }
        for path in LISTS {
            let reply = self.ask("GET", &path.replace("SLUG", "other"), &Value::Null);
            let (status, said) = told(&reply, "other");
            // A search may say again what was searched for.
            let named = theirs.ids.iter().any(|(_, id)| said.contains(id.as_str()));
            let leaks = named || said.replace("q=zebra", "").contains(SECRET) || said.contains("zoe");
            assert!(!leaks && status < 500, "GET {path} tells {said}");
            if path.contains("SLUG") {
                let unknown = told(&self.ask("GET", &path.replace("SLUG", "none"), &Value::Null), "none");
                assert_eq!((status, said), unknown, "GET {path} tells");
            }
        }
    }
}

/// All that was ever done to a project, and its items.
pub(crate) fn of_project(world: &World, prefix: &str) -> (usize, Vec<Item>) {
    let project = world.projects.values().find(|project| project.prefix.as_str() == prefix).expect("a project").id;
    let events = world.events.iter().filter(|event| event.project == project).count();
    (events, world.items.values().filter(|item| item.project == project).cloned().collect())
}

/// Two projects, one of them full, and an item and an entry of one's own.
fn prepared(place: &Place) -> (String, String, Theirs) {
    run(place, &["--project", "mine", "init", "--prefix", "MINE"]);
    run(place, &["project", "set", "other", "--prefix", "OTHER"]);
    let theirs = fill(place, "other", SECRET, "agent:zoe");
    run(place, &["--project", "mine", "learn", "My own", "words"]);
    let entries = run(place, &["--project", "mine", "knowledge", "list"]);
    let mine =
        entries.pointer("/entries/0/id").and_then(Value::as_str).unwrap_or_else(|| panic!("{entries}")).to_owned();
    (make(place, "mine", "my own"), mine, theirs)
}

fn key(place: &Place, words: &[&str]) -> String {
    let made = run(place, &[&["key", "create", "--profile", "maintainer"], words].concat());
    format!("Bearer {}", made["secret"].as_str().expect("a secret"))
}

fn experiment(plant: Option<&'static str>) {
    let place = Place::on_server(plant);
    let (own, mine, theirs) = prepared(&place);
    key(&place, &["--name", "admin"]);
    let key = key(&place, &["--project", "mine"]);
    let webs = [place.web(), place.web()];
    let before = place.read();
    let path = "/events/stream?after=0";
    let mut stream =
        Stream::try_open(webs[1].address, path, &[("authorization", &key)], Duration::from_secs(1)).expect("a stream");
    let asker = Asker { webs: &webs, key, own, mine, asked: std::cell::Cell::new(0) };
    asker.ask_all(&theirs);
    let mut heard = 0;
    while let Some(sent) = stream.next_event() {
        heard += 1;
        assert!(!sent.data.to_string().contains(SECRET), "live events tell of {}", sent.data);
    }
    assert!(heard > 0, "live events tell nothing at all");
    let after = place.check();
    assert_eq!(of_project(&before, "OTHER"), of_project(&after, "OTHER"), "something of the other project has changed");
    let keys = |world: &World| world.events.iter().filter(|event| event.verb == Verb::KeySet).count();
    assert_eq!(keys(&before), keys(&after), "a key was made or changed");
    // And the caller's own is there for all of it.
    asker.ask("GET", "/items/OWN", &Value::Null).with(200);
}

#[test]
fn a_key_sees_and_changes_its_projects_alone() {
    experiment(None);
}

#[test]
fn and_a_read_without_the_limit_would_be_seen() {
    must_fail_with(&["tells"], || experiment(Some("reads-unlimited")));
}

/// A key for one item: it reads its project, and changes nothing but its item.
#[test]
fn a_key_for_one_item_changes_it_alone() {
    let place = Place::on_server(None);
    let (own, mine, theirs) = prepared(&place);
    let sibling = make(&place, "mine", "beside it");
    run(&place, &["--project", "mine", "note", "set", &sibling, "remark", "words"]);
    key(&place, &["--name", "admin"]);
    let key = key(&place, &["--item", &own]);
    let webs = [place.web(), place.web()];
    let before = place.read();
    let asker = Asker { webs: &webs, key, own: own.clone(), mine, asked: std::cell::Cell::new(0) };
    asker.ask_all(&theirs);
    for (method, path, body) in about_items().into_iter().filter(|(_, path, _)| *path != "/events/stream?item=ID") {
        let body = serde_json::from_str(&body.to_string().replace("ID", &sibling)).expect("JSON");
        let reply = asker.ask(method, &path.replace("ID", &sibling), &body);
        assert!(reply.status < 500, "{method} {path}: {}", String::from_utf8_lossy(&reply.body));
        assert!(method != "GET" || reply.status < 400, "GET {path}: its project may be read");
    }
    let after = place.check();
    assert_eq!(of_project(&before, "OTHER"), of_project(&after, "OTHER"), "something of the other project has changed");
    for event in after.events.iter().skip(before.events.len()) {
        let item = event.item.map(|item| item.to_string());
        assert_eq!(item.as_deref(), Some(own.as_str()), "it changed something else: {event:?}");
    }
    asker.ask("PATCH", "/items/OWN", &json!({ "title": "still mine" })).with(200);
    asker.ask("PUT", "/items/OWN/notes/late", &json!({ "body": "words" })).with(200);
}
