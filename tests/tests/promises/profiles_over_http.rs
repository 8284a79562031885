//! P15 by profile, over HTTP: every operation of the OpenAPI document, asked for with a key of each of the five profiles.
//!
//! Two servers on one Postgres database. Each caller asks about things of its own that nobody else touches. What needs more than
//! its profile is refused as that, and when all of it was asked for nothing has changed; then everything else is asked for, and none
//! of it is refused. Planted bug it catches: a profile is not looked at.

use std::cell::{Cell, RefCell};
use std::collections::BTreeSet;
use std::time::Duration;

use docket_core::access::Profile;
use docket_tests::web::{Reply, Runner, Stream, Web};
use serde_json::{Value, json};

use crate::fleet::{Place, must_fail_with};
use crate::openapi::{Document, Operation};
use crate::scopes_over_http::{Theirs, fill, run};
use crate::scopes_requests::{LISTS, Request, about_everything, about_items, about_others, about_projects, least};

/// It has no end.
const LIVE: &str = "/events/stream?item=ID";

/// Operations that do nothing here, and why.
const NEVER_DONE: [(&str, &str); 4] = [
    // There is one of this name.
    ("POST", "/projects"),
    // The database is not empty, and the file has no rows.
    ("POST", "/import"),
    // A person attests what has no command.
    ("POST", "/items/{id}/checks/{index}/attest"),
    // Its run was given up when the session began.
    ("POST", "/runs/{run}/cancel"),
];

struct Caller {
    profile: Profile,
    bearer: String,
    own: Theirs,
    /// A key that may be changed.
    spare: String,
}

impl Caller {
    fn new(place: &Place, profile: Profile) -> Self {
        let own = fill(place, "mine", &format!("plain-{profile}"), &format!("agent:{profile}"));
        Self { profile, bearer: String::new(), own, spare: format!("spare-{profile}") }
    }

    /// Gets its key; from now on nobody is served without one.
    fn with_key(mut self, place: &Place) -> Self {
        run(place, &["key", "create", "--profile", "viewer", "--name", &self.spare]);
        let made = run(place, &["key", "create", "--profile", self.profile.as_str()]);
        self.bearer = format!("Bearer {}", made["secret"].as_str().expect("a secret"));
        self
    }

    /// A text with names of its own for the words in it.
    fn named(&self, text: &str) -> String {
        let ids =
            [("OWN", self.own.get("second")), ("MINE", self.own.get("ENTRY")), ("SLUG", "mine"), ("KEY", &self.spare)];
        let others = ["RUN", "SESSION", "QUESTION", "LINK", "EDGE", "ENTRY"].map(|word| (word, self.own.get(word)));
        let items = [("ID", self.own.item.as_str())];
        ids.into_iter().chain(others).chain(items).fold(text.to_owned(), |text, (word, id)| text.replace(word, id))
    }
}

struct Experiment {
    webs: [Web; 2],
    /// Somebody else's key.
    admin: String,
    document: Document,
    asked: Cell<usize>,
    /// What somebody was not refused and that had an effect, or an answer.
    done: RefCell<BTreeSet<Operation>>,
    /// What was not as it should be: all of it is told at once.
    wrong: RefCell<Vec<String>>,
}

impl Experiment {
    fn web(&self) -> &Web {
        self.asked.set(self.asked.get() + 1);
        &self.webs[self.asked.get() % 2]
    }

    fn ask(&self, caller: &Caller, (method, path, body): &Request) -> Reply {
        self.send(caller, method, &caller.named(path), body, &[])
    }

    fn send(&self, caller: &Caller, method: &str, path: &str, body: &Value, more: &[(&str, &str)]) -> Reply {
        let body = (!body.is_null()).then(|| caller.named(&body.to_string()));
        let kind = if path == "/import" { "application/x-ndjson" } else { "application/json" };
        let headers = [&[("authorization", caller.bearer.as_str()), ("content-type", kind)], more].concat();
        self.web().send(method, path, &headers, body.as_deref().map(str::as_bytes))
    }

    /// What a caller makes, by the id at a place of the answer.
    fn made(&self, caller: &Caller, path: &str, body: &Value, at: &str) -> String {
        let reply = self.send(caller, "POST", path, body, &[]);
        let id = reply.json().pointer(at).and_then(Value::as_str).map(str::to_owned);
        id.unwrap_or_else(|| panic!("POST {path}: {}", String::from_utf8_lossy(&reply.body)))
    }

    fn item(&self, caller: &Caller) -> String {
        self.made(caller, "/items", &json!({ "title": "more", "project": "mine" }), "/item/id")
    }

    /// Asks about something that was only just made, where what was asked before has left nothing to do, or only its own
    /// key may: an attempt belongs to whoever began it.
    fn ask_of_new(&self, caller: &Caller, request: &Request) -> Reply {
        let (method, path, body) = request;
        let item = || self.item(caller);
        let beneath = |part: &str| format!("/items/{}/{part}", item());
        let path = match (*method, *path) {
            ("POST", path) if path.starts_with("/sessions/SESSION/") => {
                path.replace("SESSION", &self.made(caller, &beneath("sessions"), &json!({}), "/session/id"))
            }
            ("POST", path @ "/questions/QUESTION/withdraw") => {
                let question = json!({ "question": "which?" });
                path.replace("QUESTION", &self.made(caller, &beneath("questions"), &question, "/question/id"))
            }
            ("POST", path @ "/knowledge/ENTRY/review") => {
                let entries = json!({ "entries": [{ "title": "more", "body": "words" }], "project": "mine" });
                path.replace("ENTRY", &self.made(caller, "/knowledge", &entries, "/entries/0"))
            }
            ("POST", path @ "/items/ID/evidence") => {
                let (item, brief) = (item(), json!({ "acceptanceCriteria": ["it works"] }));
                self.send(caller, "PUT", &format!("/items/{item}/brief"), &brief, &[]).with(200);
                path.replace("ID", &item)
            }
            ("POST", path @ "/items/ID/checks/approve") => {
                // What it wrote itself it does not let run, whomever it names as the one who acts.
                let (item, checks) = (item(), json!({ "checks": [{ "desc": "it runs", "cmd": "true" }] }).to_string());
                let another = [("authorization", self.admin.as_str()), ("content-type", "application/json")];
                let written =
                    self.web().send("PUT", &format!("/items/{item}/checks"), &another, Some(checks.as_bytes()));
                written.with(200);
                path.replace("ID", &item)
            }
            ("POST", path @ "/items/ID/finish") => {
                let item = item();
                self.send(caller, "POST", &format!("/items/{item}/begin"), &json!({}), &[]).with(200);
                path.replace("ID", &item)
            }
            ("DELETE", path @ "/items/ID")
            | ("POST", path @ ("/items/ID/begin" | "/items/ID/close-tree" | "/items/ID/transitions")) => {
                path.replace("ID", &item())
            }
            _ => return self.ask(caller, request),
        };
        self.send(caller, method, &path, body, &[])
    }

    /// Asks for what is beyond a caller.
    fn ask_too_much(&self, caller: &Caller, request: &Request) {
        let reply = self.ask(caller, request);
        let said = String::from_utf8_lossy(&reply.body).into_owned();
        if reply.status != 403 || !said.contains("profile_too_low") {
            self.tell(format!("{} was let do {} {}: {} {said}", caller.profile, request.0, request.1, reply.status));
        }
    }

    /// Asks for what a caller may do.
    fn ask_for(&self, caller: &Caller, request: &Request, operation: Operation) {
        if request.1 == LIVE {
            let headers = [("authorization", caller.bearer.as_str())];
            let stream = Stream::try_open(self.web().address, &caller.named(LIVE), &headers, Duration::from_secs(5));
            if let Err(head) = stream {
                self.tell(format!("{} was kept from GET {LIVE}: {head}", caller.profile));
            }
            self.done.borrow_mut().insert(operation);
            return;
        }
        let reply = self.ask_of_new(caller, request);
        if matches!(reply.status, 401 | 403 | 429 | 500..) {
            let said = String::from_utf8_lossy(&reply.body);
            self.tell(format!("{} was kept from {} {}: {} {said}", caller.profile, request.0, request.1, reply.status));
        }
        if reply.status < 400 {
            self.done.borrow_mut().insert(operation);
        }
    }

    fn tell(&self, wrong: String) {
        self.wrong.borrow_mut().push(wrong);
    }

    fn settle(&self) {
        let wrong = self.wrong.take();
        assert!(wrong.is_empty(), "{} wrong:\n{}", wrong.len(), wrong.join("\n"));
    }
}

/// Everything there is to ask for: what ends things comes last.
fn requests() -> Vec<Request> {
    let lists = LISTS.iter().map(|path| ("GET", *path, Value::Null));
    let (reads, writes): (Vec<Request>, Vec<Request>) =
        [about_items(), about_others(), about_projects()].concat().into_iter().partition(|request| request.0 == "GET");
    let (others, items): (Vec<Request>, Vec<Request>) =
        writes.into_iter().partition(|request| !request.1.contains("ID") && !request.2.to_string().contains("ID"));
    lists.chain(reads).chain(others).chain(items).chain(about_everything()).collect()
}

fn experiment(place: &Place) {
    let rules = "[project]\nslug = \"mine\"\n[schemas.default]\nnotes = []\n[runner]\nallow = \"all\"\n";
    std::fs::write(place.folder().join("docket.toml"), rules).expect("written");
    run(place, &["init", "--prefix", "MINE"]);
    let callers: Vec<Caller> = Profile::ALL.into_iter().map(|profile| Caller::new(place, profile)).collect();
    let admin = run(place, &["key", "create", "--profile", "maintainer", "--name", "admin"]);
    let callers: Vec<Caller> = callers.into_iter().map(|caller| caller.with_key(place)).collect();
    let experiment = Experiment {
        webs: [place.web(), place.web()],
        admin: format!("Bearer {}", admin["secret"].as_str().expect("a secret")),
        document: Document::read(),
        asked: Cell::new(0),
        done: RefCell::default(),
        wrong: RefCell::default(),
    };
    // What callers order somebody has to make before they are answered.
    let _runner = Runner::with(experiment.web(), &["--project", "mine"]);
    let before = place.read();
    let requests: Vec<(Request, Operation)> = requests()
        .into_iter()
        .map(|request| {
            let operation = experiment.document.meant(request.0, request.1);
            (request, operation)
        })
        .collect();
    for caller in &callers {
        for (request, _) in requests.iter().filter(|(_, operation)| caller.profile < least(operation)) {
            experiment.ask_too_much(caller, request);
        }
    }
    experiment.settle();
    let after = place.read();
    assert_eq!(before.events.len(), after.events.len(), "what was refused is told as an event");
    assert_eq!(before.items, after.items, "what was refused has changed something");
    for caller in &callers {
        for (request, operation) in requests.iter().filter(|(_, operation)| caller.profile >= least(operation)) {
            experiment.ask_for(caller, request, operation.clone());
        }
    }
    experiment.settle();
    let left: BTreeSet<Operation> = experiment.document.operations();
    let left: BTreeSet<&Operation> =
        left.iter().filter(|operation| !experiment.done.borrow().contains(operation)).collect();
    let known = |operation: &&&Operation| !NEVER_DONE.contains(&(operation.0.as_str(), operation.1.as_str()));
    let left: Vec<_> = left.iter().filter(known).collect();
    assert!(left.is_empty(), "nobody got anything done by these, so it is not known that anybody may: {left:?}");
    place.check();
}

#[test]
fn every_operation_is_for_its_profile_and_those_above() {
    experiment(&Place::on_server(None));
}

#[test]
fn and_a_profile_that_is_not_looked_at_would_be_seen() {
    must_fail_with(&["was let do"], || experiment(&Place::new(Some("profile-ignored"))));
}
