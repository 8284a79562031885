//! P15 on every MCP surface, by profile: a caller does what its profile and its limits allow, hears of
//! another project what it hears of nothing, and is offered no tool that it can do nothing with.
//!
//! Keys of each profile for one of two projects, and keys for one item, make every call of `scopes_tools` three times, on two
//! servers in turn: about things of their own, of the other project, and that never were. A tool, a word that tells one what to do, or an argument that is
//! not named there fails the test. Planted bugs it catches: what is shown of items is not limited; a profile is not looked at.

use std::cell::{Cell, RefCell};

use docket_core::access::Profile;
use docket_core::testing::World;
use docket_tests::web::Web;
use serde_json::{Value, json};

use crate::fleet::{Place, must_fail_with, request};
use crate::scopes_dialects::{cairn, execution, task_orchestrator};
use crate::scopes_forest::foresttasks;
use crate::scopes_over_http::{Theirs, fill, of_project, run};
use crate::scopes_tools::{Call, Reach, Surface, WORDS, native};

const SECRET: &str = "zebra";

/// Somebody with a key.
struct Asker {
    name: String,
    profile: Profile,
    /// Whether the key is for one item.
    one_item: bool,
    bearer: String,
    /// Whom its key makes it.
    actor: String,
    own: Theirs,
}

impl Asker {
    fn new(place: &Place, profile: Profile, one_item: bool) -> Self {
        let name = format!("{profile}{}", if one_item { "-of-one" } else { "" });
        let own = fill(place, "mine", &format!("plain-{name}"), &format!("agent:{name}"));
        Self { name, profile, one_item, bearer: String::new(), actor: String::new(), own }
    }

    /// Gets its key; from now on nobody is served without one.
    fn with_key(mut self, place: &Place) -> Self {
        let limit = if self.one_item { ["--item", self.own.item.as_str()] } else { ["--project", "mine"] };
        let words = ["key", "create", "--profile", self.profile.as_str(), "--name", &self.name];
        let made = run(place, &[&words[..], &limit[..]].concat());
        self.bearer = format!("Bearer {}", made["secret"].as_str().expect("a secret"));
        self.actor = format!("key:{}:{}", self.name, &made["key"]["id"].as_str().expect("an id")[28..]);
        self
    }

    fn post(&self, web: &Web, surface: &str, method: &str, params: &Value) -> Value {
        let headers = [("accept", "application/json, text/event-stream"), ("authorization", self.bearer.as_str())];
        let message = json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params });
        web.to("POST", &format!("/mcp/{surface}"), &headers, Some(message.to_string().as_bytes())).with(200)
    }

    /// What a call says, with these names for the words of its arguments.
    fn ask(&self, web: &Web, surface: &str, call: &Call, name: impl Fn(&str, &'static str) -> String) -> String {
        let text = call.arguments.to_string().replace("OWN", &self.own.item);
        let mut text = text.replace("REQUEST", &request()).replace("ACTOR", &self.actor);
        for (word, nobodys) in WORDS {
            text = text.replace(word, &name(word, nobodys));
        }
        let arguments: Value = serde_json::from_str(&text).expect("JSON");
        let params = json!({ "name": call.tool, "arguments": arguments });
        let answer = self.post(web, surface, "tools/call", &params);
        let result = &answer["result"];
        assert!(result.is_object(), "{} {}: {answer}", call.tool, call.arguments);
        let mut said = result["structuredContent"].clone();
        forget(&mut said);
        format!("{} {said}", result["isError"])
    }

    /// Whether it may make a call about its own.
    fn may(&self, call: &Call) -> bool {
        let reach = if self.one_item { Reach::Item } else { Reach::Project };
        self.profile >= call.least && (call.reads() || reach >= call.reach)
    }
}

/// Leaves out what differs each time.
fn forget(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            for name in ["now", "asOf", "readToken", "until", "cursor", "leaseUntil", "since"] {
                fields.remove(name);
            }
            fields.values_mut().for_each(forget);
        }
        Value::Array(rows) => rows.iter_mut().for_each(forget),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

/// Whether a caller was told that it may not.
fn refused(said: &str) -> bool {
    let words = [
        "needs the profile",
        "one item alone",
        "concerns all projects",
        "profile_too_low",
        "out_of_scope",
        "only a person",
    ];
    ["FORBIDDEN", "auth.forbidden"].iter().any(|code| said.contains(code))
        && words.iter().any(|word| said.contains(word))
}

struct Experiment<'e> {
    webs: [Web; 2],
    asked: Cell<usize>,
    theirs: &'e Theirs,
    /// What was not as it should be: all of it is told at once.
    wrong: RefCell<Vec<String>>,
}

impl Experiment<'_> {
    /// One of the servers, and the next time the other.
    fn web(&self) -> &Web {
        self.asked.set(self.asked.get() + 1);
        &self.webs[self.asked.get() % 2]
    }

    /// Every call of a surface, by one caller.
    fn ask_all(&self, asker: &Asker, surface: &Surface) {
        let list = asker.post(self.web(), surface.name, "tools/list", &json!({}));
        let tools = list["result"]["tools"].as_array().expect("tools").clone();
        let offered = |tool: &str| tools.iter().any(|known| known["name"] == json!(tool));
        for call in &surface.calls {
            self.compare(asker, surface, call);
            self.own(asker, surface, call);
            // What it could not do at all is not offered, and what is not offered it cannot do.
            let any = surface.calls.iter().any(|other| other.tool == call.tool && asker.may(other));
            self.hold(any || !offered(call.tool), || {
                format!("{} is offered {}, and may do nothing with it", asker.name, call.tool)
            });
            let writes = !call.reads() && asker.may(call);
            self.hold(!writes || offered(call.tool), || {
                format!("{} may {} {}, and is not offered it", asker.name, call.tool, call.arguments)
            });
        }
        for uri in surface.resources {
            let read = |names: &dyn Fn(&str, &'static str) -> String| {
                let mut uri = (*uri).to_owned();
                for (word, nobodys) in WORDS {
                    uri = uri.replace(word, &names(word, nobodys));
                }
                let said = asker.post(self.web(), surface.name, "resources/read", &json!({ "uri": uri })).to_string();
                said.replace(&uri, "X")
            };
            let told = read(&|word, _| self.name(word)).replace(&self.theirs.item, "X").replace("other", "X");
            let untold = read(&|_, nobodys| nobodys.to_owned());
            let untold = WORDS.iter().fold(untold, |said, (_, nobodys)| said.replace(nobodys, "X"));
            self.hold(told == untold, || format!("{}: {uri} tells {told}, not {untold}", asker.name));
        }
    }

    fn hold(&self, right: bool, otherwise: impl FnOnce() -> String) {
        if !right {
            self.wrong.borrow_mut().push(otherwise());
        }
    }

    /// What the other project calls it.
    fn name(&self, word: &str) -> String {
        match word {
            "TASK" => self.theirs.item.clone(),
            "SLUG" => "other".to_owned(),
            _ => self.theirs.get(word).to_owned(),
        }
    }

    /// The other's and what never was are told alike.
    fn compare(&self, asker: &Asker, surface: &Surface, call: &Call) {
        let what = format!("{} {} {}", asker.name, call.tool, call.arguments);
        let mut told = asker.ask(self.web(), surface.name, call, |word, _| self.name(word));
        let mut untold = asker.ask(self.web(), surface.name, call, |_, nobodys| nobodys.to_owned());
        for (word, nobodys) in WORDS {
            let quoted = |name: &str| format!("\\\"{name}\\\"");
            let theirs = self.name(word);
            told = told.replace(&quoted(&theirs), "X");
            untold = untold.replace(&quoted(nobodys), "X");
            if word != "SLUG" {
                told = told.replace(&theirs, "X");
                untold = untold.replace(nobodys, "X");
            }
        }
        let [told, untold] = [told, untold].map(|said| timeless(&said.replace("\"query\":\"zebra\"", "")));
        let names_it = WORDS.iter().any(|(word, _)| call.arguments.to_string().contains(word));
        if names_it {
            self.hold(told == untold, || format!("{what} tells {told}, not {untold}"));
        }
        let leaks = told.contains(SECRET) || told.contains("OTHER-") || told.contains("zoe");
        self.hold(!leaks, || format!("{what} tells {told}"));
    }

    /// A caller does what it may to its own, and nothing else.
    fn own(&self, asker: &Asker, surface: &Surface, call: &Call) {
        // A key for one item has nothing else of its own.
        if asker.one_item && !call.is_about_items() {
            return;
        }
        let said = asker.ask(self.web(), surface.name, call, |word, _| match word {
            "TASK" => asker.own.item.clone(),
            "SLUG" => "mine".to_owned(),
            _ => asker.own.get(word).to_owned(),
        });
        let (may, refused) = (asker.may(call), refused(&said));
        let (name, tool, arguments) = (&asker.name, call.tool, &call.arguments);
        self.hold(!may || !refused, || format!("{name} was kept from {tool} {arguments}: {said}"));
        self.hold(may || refused, || format!("{name} was let do {tool} {arguments}: {said}"));
    }
}

/// An answer without how long a claim lasts yet, which is less each time.
fn timeless(said: &str) -> String {
    let mut parts = said.split("retryAfterMs");
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |all, part| {
        let begins = part.find(|c: char| c.is_ascii_digit()).unwrap_or(part.len());
        all + part[begins..].trim_start_matches(|c: char| c.is_ascii_digit())
    })
}

fn by<'w>(world: &'w World, name: &'w str) -> impl Iterator<Item = &'w docket_core::model::Event> {
    // A key acts under its name and the end of its id.
    let of = move |event: &docket_core::model::Event| {
        let key = event.principal.as_str().strip_prefix("key:")?.rsplit_once(':')?;
        Some(key.0 == name)
    };
    world.events.iter().filter(move |event| of(event) == Some(true))
}

fn experiment(place: &Place, surfaces: &[Surface]) {
    run(place, &["--project", "mine", "init", "--prefix", "MINE"]);
    run(place, &["project", "set", "other", "--prefix", "OTHER"]);
    let theirs = fill(place, "other", SECRET, "agent:zoe");
    let mut askers: Vec<Asker> = Profile::ALL.into_iter().map(|profile| Asker::new(place, profile, false)).collect();
    askers.extend([Profile::Worker, Profile::Maintainer].map(|profile| Asker::new(place, profile, true)));
    run(place, &["key", "create", "--profile", "maintainer", "--name", "admin"]);
    let askers: Vec<Asker> = askers.into_iter().map(|asker| asker.with_key(place)).collect();
    let webs = [place.web(), place.web()];
    let before = place.read();
    let whole = askers.iter().find(|asker| asker.profile == Profile::Maintainer && !asker.one_item).expect("one");
    for surface in surfaces {
        let list = whole.post(&webs[0], surface.name, "tools/list", &json!({}));
        surface.names_all(list["result"]["tools"].as_array().expect("tools"));
    }
    let experiment = Experiment { webs, asked: Cell::new(0), theirs: &theirs, wrong: RefCell::default() };
    for asker in &askers {
        for surface in surfaces {
            experiment.ask_all(asker, surface);
        }
    }
    let wrong = experiment.wrong.take();
    assert!(wrong.is_empty(), "{} wrong:\n{}", wrong.len(), wrong.join("\n"));
    let after = place.check();
    assert_eq!(of_project(&before, "OTHER"), of_project(&after, "OTHER"), "something of the other project has changed");
    for asker in &askers {
        let mut done = by(&after, &asker.name).peekable();
        assert_eq!(
            done.peek().is_some(),
            asker.profile > Profile::Viewer,
            "{} has done too much or nothing",
            asker.name
        );
        for event in done.filter(|_| asker.one_item) {
            let item = event.item.map(|item| item.to_string());
            assert_eq!(item.as_ref(), Some(&asker.own.item), "{} changed something else: {event:?}", asker.name);
        }
    }
}

#[test]
fn a_caller_does_and_hears_what_its_profile_and_limits_allow_by_every_tool() {
    experiment(&Place::new(None), &[native(), foresttasks()]);
}

#[test]
fn and_by_every_tool_of_the_other_dialects() {
    experiment(&Place::new(None), &[task_orchestrator(), cairn(), execution()]);
}

#[test]
fn and_on_a_server_by_two_replicas() {
    let surfaces = [task_orchestrator(), cairn(), execution(), foresttasks(), native()];
    experiment(&Place::on_server(None), &surfaces);
}

#[test]
fn and_reads_without_the_limit_would_be_seen_by_tools_too() {
    must_fail_with(&["tells"], || experiment(&Place::new(Some("reads-unlimited")), &[native(), foresttasks()]));
}

#[test]
fn and_reads_without_the_limit_would_be_seen_by_the_other_dialects_too() {
    let surfaces = || [task_orchestrator(), cairn(), execution()];
    must_fail_with(&["tells"], || experiment(&Place::new(Some("reads-unlimited")), &surfaces()));
}

#[test]
fn and_a_profile_that_is_not_looked_at_would_be_seen() {
    must_fail_with(&["was let do"], || experiment(&Place::new(Some("profile-ignored")), &[native(), foresttasks()]));
}
