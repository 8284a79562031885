//! The same act by `cairn` or `execution`, over stdio and HTTP, by the native tools, REST and the command line: the same code,
//! and the same rows after it. Each way in has a database of its own; where it has no word for an act, REST does it for it.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use docket_tests::mcp::{Answer, Server};
use docket_tests::web::{Runner, Web, command_on};
use serde_json::{Value, json};

use crate::parity::Ground;

pub(crate) const NEVER: &str = "01JZK3V5Q8X4R2M7N9P6T1B0CD";
/// Long enough for any machine: what is waited for comes or does not.
const PATIENCE: Duration = Duration::from_mins(2);

/// One act in the words of every way in. `SESSION` stands for the newest attempt.
pub(crate) struct Act {
    name: &'static str,
    actor: &'static str,
    /// In the dialect's words.
    tool: &'static str,
    arguments: Value,
    /// In those of the native tools, where they have some.
    native: Option<(&'static str, Value)>,
    rest: (&'static str, &'static str, Value),
    cli: &'static [&'static str],
    /// The code of the failure, and the dialect's own word for it; nothing where it must succeed.
    code: Option<(&'static str, &'static str)>,
}

impl Act {
    pub(crate) fn new(
        name: &'static str,
        tool: &'static str,
        arguments: Value,
        rest: (&'static str, &'static str, Value),
        cli: &'static [&'static str],
    ) -> Self {
        Self { name, actor: "agent:ann", tool, arguments, native: None, rest, cli, code: None }
    }

    pub(crate) fn native(self, tool: &'static str, arguments: Value) -> Self {
        Self { native: Some((tool, arguments)), ..self }
    }

    pub(crate) fn by(self, actor: &'static str) -> Self {
        Self { actor, ..self }
    }

    /// It must fail so.
    pub(crate) fn fails(self, code: &'static str, theirs: &'static str) -> Self {
        Self { code: Some((code, theirs)), ..self }
    }

    /// The same for a dialect that has no words of its own.
    pub(crate) fn refused(self, code: &'static str) -> Self {
        self.fails(code, code)
    }
}

/// What is done between acts, to the files that checks look at.
pub(crate) enum Step {
    Act(Box<Act>),
    /// From here on the check of the first item passes.
    Mend,
    /// Nothing waits for a runner any more.
    Settle,
}

pub(crate) fn step(act: Act) -> Step {
    Step::Act(Box::new(act))
}

/// A way in with a database of its own.
struct Way {
    name: &'static str,
    dialect: &'static str,
    web: Web,
    servers: BTreeMap<&'static str, Server>,
    _runner: Option<Runner>,
    ground: Ground,
}

const WAYS: [&str; 5] = ["rest", "cli", "native", "dialect", "dialect over http"];

impl Way {
    fn new(name: &'static str, dialect: &'static str, ground: Ground, setup: fn(&Web)) -> Self {
        let folder = &ground.folder;
        let rules = format!(
            "[project]\nslug = \"default\"\npreset = \"{dialect}\"\n[limits]\nknowledge_stored = 3\n[runner]\nallow = \"all\"\n"
        );
        std::fs::write(folder.path().join("docket.toml"), rules).expect("written");
        let web = Web::serving(&ground.word(), folder.path(), |_| {});
        setup(&web);
        let surface = match name {
            "native" => Some("docket"),
            "dialect" => Some(dialect),
            _ => None,
        };
        let start = |actor: &'static str| {
            let word = ground.word();
            let surface = surface.unwrap_or_default();
            let started = Server::try_start_on(&word, folder.path(), &["--surface", surface, "--actor", actor], |_| {});
            (actor, started.unwrap_or_else(|gone| panic!("{gone:?}")))
        };
        let servers = surface.map(|_| ["agent:ann", "agent:bob"].map(start).into_iter().collect()).unwrap_or_default();
        // What a server orders is made by a runner; the others make it themselves, or somebody comes by.
        let runner = matches!(name, "rest" | "native" | "dialect over http").then(|| Runner::beside(&web));
        Self { name, dialect, web, servers, _runner: runner, ground }
    }

    fn fill(&self, text: &str) -> String {
        let found = self.web.get("/sessions?limit=1").with(200);
        text.replace("SESSION", found["sessions"][0]["id"].as_str().unwrap_or(NEVER))
    }

    /// Does it; says with which code it failed.
    fn act(&self, act: &Act) -> Option<String> {
        let json = |value: &Value| serde_json::from_str(&self.fill(&value.to_string())).expect("JSON");
        match (self.name, &act.native) {
            ("cli", _) => self.by_cli(act),
            ("native", Some((tool, arguments))) => code_of(self.servers[act.actor].call(tool, json(arguments))),
            ("dialect", _) => code_of(self.servers[act.actor].call(act.tool, json(&act.arguments))),
            ("dialect over http", _) => {
                let headers = [("x-docket-actor", act.actor)];
                code_of(Ok(self.web.tool(self.dialect, &headers, act.tool, &json(&act.arguments))))
            }
            _ => {
                let (method, path, body) = &act.rest;
                let body = (!body.is_null()).then(|| json(body).to_string());
                let headers = [("x-docket-actor", act.actor)];
                let reply = self.web.send(method, &self.fill(path), &headers, body.as_deref().map(str::as_bytes));
                (reply.status >= 400).then(|| reply.json()["error"]["code"].as_str().unwrap_or_default().to_owned())
            }
        }
    }

    fn by_cli(&self, act: &Act) -> Option<String> {
        let mut command = command_on(&self.ground.word(), self.ground.folder.path());
        command.args(["--actor", act.actor, "--json"]).args(act.cli.iter().map(|word| self.fill(word)));
        let out = command.output().expect("it runs");
        // A check that was made and did not hold was made.
        if out.status.success() || out.status.code() == Some(8) {
            return None;
        }
        let text = String::from_utf8_lossy(&out.stderr).into_owned();
        let line = text.lines().find(|line| line.starts_with('{')).unwrap_or_else(|| panic!("{}: {text}", act.name));
        let error: Value = serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {text}"));
        Some(error["error"]["code"].as_str().unwrap_or_default().to_owned())
    }

    /// Waits until nothing is queued or running; what was handed in by the command line is made by somebody who comes by.
    fn settle(&self) {
        if self.name == "cli" {
            let mut command = command_on(&self.ground.word(), self.ground.folder.path());
            let made = command.args(["runner", "--once"]).output().expect("it runs");
            assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
        }
        let given_up = Instant::now() + PATIENCE;
        while self.effect().to_string().contains("\"queued\"") || self.effect().to_string().contains("\"running\"") {
            assert!(Instant::now() < given_up, "{}: it is never made", self.name);
            std::thread::sleep(Duration::from_millis(50));
        }
    }

    /// What the database holds, as far as ways in can differ in it.
    fn effect(&self) -> Value {
        let list = |path: &str, name: &str| self.web.get(path).with(200)[name].as_array().cloned().unwrap_or_default();
        let picked = |rows: Vec<Value>, fields: &[&str]| -> Vec<Value> {
            rows.iter().map(|row| Value::Array(fields.iter().map(|field| row[*field].clone()).collect())).collect()
        };
        let items: Vec<Value> = list("/items?limit=200", "items")
            .iter()
            .map(|item| {
                let at = format!("/items/{}", item["key"].as_str().unwrap_or_default());
                json!([
                    picked(vec![item.clone()], &["key", "status", "role", "version"]),
                    self.web.get(&at).with(200)["claim"]["holder"],
                    picked(list(&format!("{at}/checks"), "checks"), &["desc", "status"]),
                    picked(list(&format!("{at}/runs"), "runs"), &["check", "state", "orderedBy"]),
                    picked(list(&format!("{at}/comments"), "comments"), &["body", "by"]),
                ])
            })
            .collect();
        let sessions = picked(
            list("/sessions", "sessions"),
            &["key", "actor", "state", "health", "progress", "summary", "head", "reason"],
        );
        let learned = picked(list("/knowledge?limit=50", "entries"), &["title", "body", "source", "reviewed"]);
        // How runs were handed over is another matter here and there.
        let is_run = |event: &&Value| event["verb"].as_str().is_some_and(|verb| verb.starts_with("run"));
        let events = list("/events?limit=200", "events");
        let verbs: Vec<&Value> = events.iter().filter(|event| !is_run(event)).map(|event| &event["verb"]).collect();
        json!({ "items": items, "sessions": sessions, "learned": learned, "events": verbs })
    }
}

fn code_of(answer: Result<Answer, docket_tests::mcp::Gone>) -> Option<String> {
    let answer = answer.unwrap_or_else(|gone| panic!("{gone:?}"));
    answer.is_error.then(|| answer.content["error"]["code"].as_str().unwrap_or("none").to_owned())
}

/// Takes every step by each way in, and compares what was answered and what is there after it; tells of all that differs.
pub(crate) fn compare(on_server: bool, dialect: &'static str, setup: fn(&Web), steps: fn() -> Vec<Step>) {
    let mut effects: Vec<Vec<Value>> = Vec::new();
    let mut wrong: Vec<String> = Vec::new();
    for name in WAYS {
        let way = Way::new(name, dialect, Ground::new(on_server), setup);
        let mut seen = Vec::new();
        let mut steps = steps().into_iter().peekable();
        while let Some(step) = steps.next() {
            match step {
                Step::Mend => std::fs::write(way.ground.folder.path().join("made"), "").expect("written"),
                Step::Settle => way.settle(),
                Step::Act(act) => {
                    let code = way.act(&act);
                    let wanted = act.code.map(|(ours, theirs)| if name.starts_with("dialect") { theirs } else { ours });
                    if code.as_deref() != wanted {
                        wrong.push(format!("{name}: {}: {code:?}, not {wanted:?}", act.name));
                    }
                }
            }
            // How far a runner has come is another matter each time.
            let settles = matches!(steps.peek(), Some(Step::Settle));
            seen.push(if settles { Value::Null } else { way.effect() });
        }
        effects.push(seen);
    }
    for (other, name) in effects[1..].iter().zip(&WAYS[1..]) {
        let differs = (0..other.len()).find(|at| effects[0][*at] != other[*at]);
        wrong.extend(differs.map(|at| {
            let after = match &steps()[at] {
                Step::Act(act) => act.name,
                Step::Mend => "it was mended",
                Step::Settle => "everything was made",
            };
            format!("after {after}:\nrest {}\n{name} {}", effects[0][at], other[at])
        }));
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Four items; the first has a check that fails until it is mended, the second waits for the first, the third has one for a person.
pub(crate) fn desk(web: &Web) {
    for title in ["One", "Two", "Three", "Four"] {
        web.item(title);
    }
    let checks = |item: &str, checks: Value| {
        web.json("PUT", &format!("/items/{item}/checks"), &json!({ "checks": checks })).with(200);
    };
    checks("DEFA-1", json!([{ "desc": "it is made", "cmd": "test -f made" }]));
    checks("DEFA-3", json!([{ "desc": "somebody likes it" }]));
    web.post("/edges", &json!({ "from": "DEFA-1", "to": "DEFA-2" })).with(201);
}
