//! The same answer on every surface: one list of cases through MCP on stdio, MCP over HTTP, REST and the command line.
//!
//! Each case is a request in the words of three surfaces, with the code that all must answer and what must be true after it.
//! Planted and caught here: a route that maps a code of its own.

use std::path::PathBuf;

use docket_tests::mcp::Server;
use docket_tests::postgres::Database;
use docket_tests::web::{Web, command_on};
use serde_json::{Value, json};

pub(crate) struct Case {
    pub(crate) name: &'static str,
    pub(crate) tool: &'static str,
    pub(crate) arguments: Value,
    pub(crate) rest: (&'static str, &'static str, Value),
    pub(crate) cli: &'static [&'static str],
    /// The code of the failure; nothing where it must succeed.
    pub(crate) code: Option<&'static str>,
    /// Who acts, where it is somebody else than the user.
    pub(crate) actor: Option<&'static str>,
}

fn cases() -> Vec<Case> {
    let case = |name, tool, arguments, rest, cli, code| Case { name, tool, arguments, rest, cli, code, actor: None };
    vec![
        case(
            "make",
            "manage_items",
            json!({"operation": "create", "items": [{"title": "One"}]}),
            ("POST", "/items", json!({"title": "One"})),
            &["item", "add", "One"],
            None,
        ),
        case(
            "make another",
            "manage_items",
            json!({"operation": "create", "items": [{"title": "Two"}]}),
            ("POST", "/items", json!({"title": "Two"})),
            &["item", "add", "Two"],
            None,
        ),
        case(
            "a blank title",
            "create_work_tree",
            json!({"root": {"title": " "}}),
            ("POST", "/items", json!({"title": " "})),
            &["item", "add", " "],
            Some("VALIDATION"),
        ),
        case(
            "an item that is not there",
            "get_context",
            json!({"itemId": "DEFA-99"}),
            ("GET", "/items/DEFA-99/context", Value::Null),
            &["item", "show", "DEFA-99"],
            Some("NOT_FOUND"),
        ),
        case(
            "an id that is none",
            "get_context",
            json!({"itemId": "x"}),
            ("GET", "/items/x/context", Value::Null),
            &["item", "show", "x"],
            Some("VALIDATION"),
        ),
        case(
            "link",
            "manage_dependencies",
            json!({"operation": "create", "dependencies": [{"fromItemId": "DEFA-1", "toItemId": "DEFA-2"}]}),
            ("POST", "/edges", json!({"from": "DEFA-1", "to": "DEFA-2"})),
            &["link", "DEFA-1", "blocks", "DEFA-2"],
            None,
        ),
        case(
            "a circle",
            "manage_dependencies",
            json!({"operation": "create", "dependencies": [{"fromItemId": "DEFA-2", "toItemId": "DEFA-1"}]}),
            ("POST", "/edges", json!({"from": "DEFA-2", "to": "DEFA-1"})),
            &["link", "DEFA-2", "blocks", "DEFA-1"],
            Some("VALIDATION"),
        ),
        case(
            "the same edge",
            "manage_dependencies",
            json!({"operation": "create", "dependencies": [{"fromItemId": "DEFA-1", "toItemId": "DEFA-2"}]}),
            ("POST", "/edges", json!({"from": "DEFA-1", "to": "DEFA-2"})),
            &["link", "DEFA-1", "blocks", "DEFA-2"],
            Some("CONFLICT"),
        ),
    ]
}

fn more_cases() -> Vec<Case> {
    let case = |name, tool, arguments, rest, cli, code| Case { name, tool, arguments, rest, cli, code, actor: None };
    vec![
        case(
            "a move that a gate refuses",
            "advance_item",
            json!({"transitions": [{"itemId": "DEFA-2", "trigger": "start"}]}),
            ("POST", "/items/DEFA-2/transitions", json!({"trigger": "start"})),
            &["advance", "DEFA-2", "start"],
            Some("RULE_BLOCKED"),
        ),
        case(
            "a move",
            "advance_item",
            json!({"transitions": [{"itemId": "DEFA-1", "trigger": "start"}]}),
            ("POST", "/items/DEFA-1/transitions", json!({"trigger": "start"})),
            &["advance", "DEFA-1", "start"],
            None,
        ),
        case(
            "an unknown trigger",
            "advance_item",
            json!({"transitions": [{"itemId": "DEFA-1", "trigger": "jump"}]}),
            ("POST", "/items/DEFA-1/transitions", json!({"trigger": "jump"})),
            &["advance", "DEFA-1", "jump"],
            Some("VALIDATION"),
        ),
        case(
            "write a note",
            "manage_notes",
            json!({"operation": "upsert", "notes": [{"itemId": "DEFA-1", "key": "k", "role": "work", "body": "b"}]}),
            ("PUT", "/items/DEFA-1/notes/k", json!({"body": "b", "phase": "work"})),
            &["note", "set", "DEFA-1", "k", "b", "--phase", "work"],
            None,
        ),
        case(
            "remove a tree's root",
            "manage_items",
            json!({"operation": "delete", "ids": ["DEFA-2"]}),
            ("DELETE", "/items/DEFA-2", Value::Null),
            &["item", "rm", "DEFA-2"],
            None,
        ),
    ]
}

/// Two agents and one item.
fn claim_cases() -> Vec<Case> {
    let case = |name, actor, arguments: Value, rest, cli, code| {
        let mut arguments = arguments;
        arguments["actor"] = json!({"id": actor, "kind": "subagent"});
        arguments["requestId"] = json!(uuid::Uuid::new_v4().to_string());
        Case { name, tool: "claim_item", arguments, rest, cli, code, actor: Some(actor) }
    };
    let claim = || json!({"claims": [{"itemId": "DEFA-3", "ttlSeconds": 600}]});
    let release = || json!({"releases": [{"itemId": "DEFA-3"}]});
    let put = || ("PUT", "/items/DEFA-3/claim", json!({"ttlSeconds": 600}));
    let delete = || ("DELETE", "/items/DEFA-3/claim", Value::Null);
    let claim_words: &[&str] = &["claim", "DEFA-3", "--ttl", "10m"];
    let release_words: &[&str] = &["release", "DEFA-3"];
    let make = Case {
        name: "make a third",
        tool: "manage_items",
        arguments: json!({"operation": "create", "items": [{"title": "Three"}]}),
        rest: ("POST", "/items", json!({"title": "Three"})),
        cli: &["item", "add", "Three"],
        code: None,
        actor: None,
    };
    vec![
        make,
        case("claim", "ann", claim(), put(), claim_words, None),
        case("claim what another holds", "bob", claim(), put(), claim_words, Some("CONFLICT")),
        case("release what another holds", "bob", release(), delete(), release_words, Some("CONFLICT")),
        case("claim again", "ann", claim(), put(), claim_words, None),
        case("release", "ann", release(), delete(), release_words, None),
        case("release what nobody holds", "ann", release(), delete(), release_words, Some("CONFLICT")),
        case(
            "a lease of no time",
            "ann",
            json!({"claims": [{"itemId": "DEFA-3", "ttlSeconds": 0}]}),
            ("PUT", "/items/DEFA-3/claim", json!({"ttlSeconds": 0})),
            &["claim", "DEFA-3", "--ttl", "0s"],
            Some("VALIDATION"),
        ),
        case(
            "claim what is not there",
            "ann",
            json!({"claims": [{"itemId": "DEFA-99"}]}),
            ("PUT", "/items/DEFA-99/claim", json!({})),
            &["claim", "DEFA-99"],
            Some("NOT_FOUND"),
        ),
    ]
}

fn all_cases() -> Vec<Case> {
    cases().into_iter().chain(more_cases()).chain(claim_cases()).collect()
}

/// What a database holds, as far as surfaces can differ in it.
fn effect(web: &Web) -> Value {
    let items = web.get("/items").with(200);
    let shown: Vec<Value> = items["items"]
        .as_array()
        .into_iter()
        .flatten()
        .map(|item| {
            let key = item["key"].as_str().unwrap_or_default();
            let notes = web.get(&format!("/items/{key}/notes")).with(200);
            let notes: Vec<&Value> =
                notes["notes"].as_array().into_iter().flatten().map(|note| &note["body"]).collect();
            let verdict = web.get(&format!("/items/{key}/verdict")).with(200);
            let standing = json!([verdict["counts"], verdict["readyForReview"], verdict["readyForDone"]]);
            json!([key, item["title"], item["status"], item["version"], item["derived"]["blockers"], notes, standing])
        })
        .collect();
    let verbs: Vec<Value> = web.get("/events?limit=200").with(200)["events"]
        .as_array()
        .into_iter()
        .flatten()
        .map(|event| event["verb"].clone())
        .collect();
    let sessions: Vec<Value> = web.get("/sessions").with(200)["sessions"]
        .as_array()
        .into_iter()
        .flatten()
        .map(|one| json!([one["key"], one["actor"], one["state"], one["health"], one["progress"], one["summary"]]))
        .collect();
    json!([shown, verbs, sessions])
}

/// The newest session of a database, for cases that name `SESSION`.
fn newest_session(web: &Web) -> String {
    let found = web.get("/sessions?limit=1").with(200);
    found["sessions"][0]["id"].as_str().unwrap_or("SESSION").to_owned()
}

/// The newest question on the second item, for cases that name `QUESTION`.
fn newest_question(web: &Web) -> String {
    let found = web.get("/items/DEFA-2/questions?limit=1").json();
    found["questions"][0]["id"].as_str().unwrap_or("QUESTION").to_owned()
}

/// A case with the session and the question that it is about.
fn about(case: Case, session: &str, question: &str) -> Filled {
    let (method, path, body) = case.rest;
    let fill = |text: &str| text.replace("SESSION", session).replace("QUESTION", question);
    let json = |value: &Value| serde_json::from_str(&fill(&value.to_string())).expect("JSON");
    Filled {
        name: case.name,
        tool: case.tool,
        arguments: json(&case.arguments),
        rest: (method, fill(path), json(&body)),
        cli: case.cli.iter().map(|word| fill(word)).collect(),
        code: case.code,
        actor: case.actor,
    }
}

/// A case as it is sent.
struct Filled {
    name: &'static str,
    tool: &'static str,
    arguments: Value,
    rest: (&'static str, String, Value),
    cli: Vec<String>,
    code: Option<&'static str>,
    actor: Option<&'static str>,
}

/// A database of its own for a surface: a file, or one on a server.
pub(crate) struct Ground {
    pub(crate) folder: tempfile::TempDir,
    server: Option<Database>,
}

impl Ground {
    pub(crate) fn new(on_server: bool) -> Self {
        Self { folder: tempfile::tempdir().expect("a folder"), server: on_server.then(Database::new) }
    }

    pub(crate) fn word(&self) -> String {
        let file: PathBuf = self.folder.path().join("work.db");
        self.server.as_ref().map_or_else(|| format!("sqlite:{}", file.display()), Database::url)
    }
}

#[test]
fn every_surface_answers_and_does_the_same() {
    compare(false, "task-orchestrator", "", all_cases);
}

#[test]
fn they_do_on_a_server() {
    compare(true, "task-orchestrator", "", all_cases);
}

/// Sends all cases through each way in, with a surface for those of MCP, under a configuration.
pub(crate) fn compare(on_server: bool, tools: &str, toml: &str, cases: fn() -> Vec<Case>) {
    let mut effects: Vec<Vec<Value>> = Vec::new();
    for surface in ["rest", "mcp-http", "mcp-stdio", "cli"] {
        let ground = Ground::new(on_server);
        std::fs::write(ground.folder.path().join("docket.toml"), toml).expect("written");
        std::fs::write(ground.folder.path().join("outline.md"), "- three").expect("written");
        let web = Web::serving(&ground.word(), ground.folder.path(), |_| {});
        let stdio = (surface == "mcp-stdio").then(|| {
            Server::try_start_on(&ground.word(), ground.folder.path(), &["--surface", tools], |_| {}).expect("a server")
        });
        let mut seen = Vec::new();
        for case in cases() {
            let case = about(case, &newest_session(&web), &newest_question(&web));
            let code = match surface {
                "rest" => by_rest(&web, &case),
                "mcp-http" => by_http(&web, tools, &case),
                "mcp-stdio" => by_stdio(stdio.as_ref().expect("a server"), &case),
                _ => by_cli(&ground, &case),
            };
            // The dialect tells of an entry that failed in its own words, without a code.
            let wanted = case.code.map(|wanted| if code.as_deref() == Some(ENTRY) { ENTRY } else { wanted });
            assert_eq!(code.as_deref(), wanted, "{surface}: {}", case.name);
            seen.push(effect(&web));
        }
        effects.push(seen);
    }
    for (at, case) in cases().iter().enumerate() {
        for other in &effects[1..] {
            assert_eq!(effects[0][at], other[at], "after {}", case.name);
        }
    }
}

fn by_rest(web: &Web, case: &Filled) -> Option<String> {
    let (method, path, body) = &case.rest;
    let body = (!body.is_null()).then(|| body.to_string());
    let actor = case.actor.map(|actor| format!("subagent:{actor}"));
    let headers: Vec<(&str, &str)> = actor.iter().map(|actor| ("x-docket-actor", actor.as_str())).collect();
    let reply = web.send(method, path, &headers, body.as_deref().map(str::as_bytes));
    (reply.status >= 400).then(|| reply.json()["error"]["code"].as_str().unwrap_or_default().to_owned())
}

fn by_http(web: &Web, tools: &str, case: &Filled) -> Option<String> {
    let message = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": case.tool, "arguments": case.arguments}});
    let headers = [("accept", "application/json, text/event-stream")];
    let reply = web.to("POST", &format!("/mcp/{tools}"), &headers, Some(message.to_string().as_bytes())).with(200);
    code_of(reply["result"]["isError"] == json!(true), &reply["result"]["structuredContent"])
}

fn by_stdio(server: &Server, case: &Filled) -> Option<String> {
    let answer = server.call(case.tool, case.arguments.clone()).unwrap_or_else(|gone| panic!("{gone:?}"));
    code_of(answer.is_error, &answer.content)
}

/// That an entry of a batch failed.
const ENTRY: &str = "entry failed";

/// The dialect has words of its own for some codes.
fn code_of(is_error: bool, content: &Value) -> Option<String> {
    let failed = content["failed"].as_u64().or(content["summary"]["failed"].as_u64()).unwrap_or(0);
    // A claim and a release tell their outcome each.
    let outcomes = ["claimResults", "releaseResults"].into_iter().filter_map(|results| content[results].as_array());
    let refused = outcomes.flatten().any(|result| result["outcome"] != json!("success"));
    if !is_error && (failed > 0 || refused) {
        return Some(ENTRY.to_owned());
    }
    let code = content["error"]["code"].as_str().map(|code| match code {
        "VALIDATION_ERROR" | "VALIDATION" => "VALIDATION",
        "RESOURCE_NOT_FOUND" | "NOT_FOUND" => "NOT_FOUND",
        "CONFLICT_ERROR" | "DUPLICATE_RESOURCE" | "CONFLICT" => "CONFLICT",
        other => other,
    });
    is_error.then(|| code.unwrap_or("none").to_owned())
}

fn by_cli(ground: &Ground, case: &Filled) -> Option<String> {
    let mut command = command_on(&ground.word(), ground.folder.path());
    if let Some(actor) = case.actor {
        command.args(["--actor", &format!("subagent:{actor}")]);
    }
    let out = command.arg("--json").args(&case.cli).output().expect("it runs");
    if out.status.success() {
        return None;
    }
    let text = String::from_utf8_lossy(&out.stderr).into_owned();
    let line = text.lines().find(|line| line.starts_with('{')).unwrap_or_else(|| panic!("{text}"));
    let error: Value = serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {text}"));
    Some(error["error"]["code"].as_str().unwrap_or_default().to_owned())
}
