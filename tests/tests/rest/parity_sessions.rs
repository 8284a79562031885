//! The same answer on every surface, of sessions: begun, heard of, refused to others; and ended alike by `cairn`, REST and the
//! command line, which are the ways in that end them.

use docket_tests::mcp::Server;
use docket_tests::web::{Web, command_on};
use serde_json::{Value, json};

use crate::parity::{Case, compare};

const TOML: &str = "[project]\nslug = \"default\"\npreset = \"standard\"\n";
const NEVER: &str = "01JZK3V5Q8X4R2M7N9P6T1B0CD";

fn cases() -> Vec<Case> {
    let case = |name, actor, tool, arguments: Value, rest, cli, code| {
        let mut arguments = arguments;
        if tool == "work" {
            arguments["actor"] = json!({"id": actor, "kind": "subagent"});
        }
        Case { name, tool, arguments, rest, cli, code, actor: Some(actor) }
    };
    let begin = |name, actor, code| {
        let start = json!({"phase": "start", "id": "DEFA-1", "runtime": {"model": "small"}});
        let rest = ("POST", "/items/DEFA-1/sessions", json!({"runtime": {"model": "small"}}));
        case(name, actor, "work", start, rest, &["session", "begin", "DEFA-1", "--runtime", "model=small"], code)
    };
    let beat = |name, actor, percent: u16, cli, code| {
        let arguments = json!({"phase": "heartbeat", "session": "SESSION", "progress": "half", "percent": percent});
        let rest = ("POST", "/sessions/SESSION/heartbeat", json!({"text": "half", "percent": percent}));
        case(name, actor, "work", arguments, rest, cli, code)
    };
    let half: &[&str] = &["session", "heartbeat", "SESSION", "half", "--percent", "50"];
    vec![
        make(),
        begin("begin", "ann", None),
        begin("begin what is one's own", "ann", Some("CONFLICT")),
        begin("begin what another holds", "bob", Some("CONFLICT")),
        beat("a sign of life", "ann", 50, half, None),
        beat("one of another", "bob", 50, half, Some("FORBIDDEN")),
        beat(
            "more than all of it",
            "ann",
            101,
            &["session", "heartbeat", "SESSION", "half", "--percent", "101"],
            Some("VALIDATION"),
        ),
        case(
            "of an attempt that never was",
            "ann",
            "work",
            json!({"phase": "heartbeat", "session": NEVER}),
            ("POST", "/sessions/01JZK3V5Q8X4R2M7N9P6T1B0CD/heartbeat", Value::Null),
            &["session", "heartbeat", NEVER],
            Some("NOT_FOUND"),
        ),
        case(
            "a list by a health that is none",
            "ann",
            "find",
            json!({"what": "sessions", "health": "well"}),
            ("GET", "/sessions?health=well", Value::Null),
            &["session", "list", "--health", "well"],
            Some("VALIDATION"),
        ),
        case(
            "hand the item back",
            "ann",
            "work",
            json!({"phase": "release", "id": "DEFA-1"}),
            ("DELETE", "/items/DEFA-1/claim", Value::Null),
            &["release", "DEFA-1"],
            None,
        ),
        beat("a sign of life of what is lost", "ann", 60, half, Some("CONFLICT")),
    ]
}

fn make() -> Case {
    Case {
        name: "make",
        tool: "plan",
        arguments: json!({"items": [{"title": "One", "status": "ready"}]}),
        rest: ("POST", "/items", json!({"title": "One", "status": "ready"})),
        cli: &["item", "add", "One", "--status", "ready"],
        code: None,
        actor: None,
    }
}

#[test]
fn every_surface_answers_and_does_the_same_of_sessions() {
    compare(false, "docket", TOML, cases);
}

#[test]
fn they_do_on_a_server() {
    compare(true, "docket", TOML, cases);
}

/// One way in: begins, is heard of and ends two attempts; what the database holds after each step.
struct Way {
    web: Web,
    folder: tempfile::TempDir,
}

impl Way {
    fn new() -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        std::fs::write(folder.path().join("docket.toml"), "[project]\nslug = \"default\"\npreset = \"cairn\"\n")
            .expect("written");
        let word = format!("sqlite:{}", folder.path().join("work.db").display());
        let web = Web::serving(&word, folder.path(), |_| {});
        web.item("One");
        web.item("Two");
        Self { web, folder }
    }

    fn word(&self) -> String {
        format!("sqlite:{}", self.folder.path().join("work.db").display())
    }

    fn session(&self) -> String {
        let found = self.web.get("/sessions?limit=1").with(200);
        found["sessions"][0]["id"].as_str().unwrap_or_default().to_owned()
    }

    fn holds(&self) -> Value {
        let rows = |path: &str, list: &str, fields: &[&str]| -> Vec<Value> {
            let found = self.web.get(path).with(200);
            let row = |row: &Value| Value::Array(fields.iter().map(|field| row[*field].clone()).collect());
            found[list].as_array().into_iter().flatten().map(row).collect()
        };
        let shown = ["key", "actor", "state", "health", "progress", "summary", "head", "reason", "status", "role"];
        json!([
            rows("/sessions", "sessions", &shown),
            rows("/items", "items", &["key", "status", "version"]),
            rows("/events?limit=200", "events", &["verb"]),
        ])
    }
}

/// The steps in the words of each way in, with `SESSION` for the newest attempt.
type Step = (&'static str, Value, (&'static str, Value), &'static [&'static str]);

fn steps() -> Vec<Step> {
    let begin = |key: &str, task: &str| json!({"task": task, "expected_actor": "agent:ann", "idempotency_key": key});
    vec![
        ("begin", begin("k-1", "DEFA-1"), ("/items/DEFA-1/sessions", json!({})), &["session", "begin", "DEFA-1"]),
        (
            "heartbeat",
            json!({"session": "SESSION", "progress": {"text": "half", "percent": 50}}),
            ("/sessions/SESSION/heartbeat", json!({"text": "half", "percent": 50})),
            &["session", "heartbeat", "SESSION", "half", "--percent", "50"],
        ),
        (
            "finish",
            json!({"session": "SESSION", "summary": "It works.", "head": "abc"}),
            ("/sessions/SESSION/finish", json!({"summary": "It works.", "head": "abc"})),
            &["session", "finish", "SESSION", "It works.", "--head", "abc"],
        ),
        ("begin", begin("k-2", "DEFA-2"), ("/items/DEFA-2/sessions", json!({})), &["session", "begin", "DEFA-2"]),
        (
            "cancel",
            json!({"session": "SESSION", "reason": "too hard"}),
            ("/sessions/SESSION/cancel", json!({"reason": "too hard"})),
            &["session", "cancel", "SESSION", "too hard"],
        ),
    ]
}

#[test]
fn whichever_way_an_attempt_ends_the_same_is_kept_of_it() {
    let ways = [Way::new(), Way::new(), Way::new()];
    let cairn = Server::try_start_on(
        &ways[0].word(),
        ways[0].folder.path(),
        &["--surface", "cairn", "--actor", "agent:ann"],
        |_| {},
    )
    .expect("a server");
    for (verb, arguments, (path, body), words) in steps() {
        let session = ways.each_ref().map(Way::session);
        let fill = |text: &str, way: usize| text.replace("SESSION", &session[way]);
        cairn.ok(verb, serde_json::from_str(&fill(&arguments.to_string(), 0)).expect("JSON"));
        let actor = [("x-docket-actor", "agent:ann")];
        let reply = ways[1].web.send("POST", &fill(path, 1), &actor, Some(body.to_string().as_bytes()));
        assert!(reply.status < 300, "{verb}: {reply:?}");
        let mut command = command_on(&ways[2].word(), ways[2].folder.path());
        command.args(["--actor", "agent:ann"]).args(words.iter().map(|word| fill(word, 2)));
        let out = command.output().expect("it runs");
        assert!(out.status.success(), "{verb}: {}", String::from_utf8_lossy(&out.stderr));
        let held = ways.each_ref().map(Way::holds);
        assert_eq!(held[0], held[1], "cairn and REST after {verb}");
        assert_eq!(held[1], held[2], "REST and the command line after {verb}");
    }
}
