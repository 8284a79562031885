//! P15 on this surface: every tool × profile × own, other and unknown.

use std::process::Command;

use docket_tests::program::docket;
use docket_tests::web::Web;
use serde_json::{Value, json};

use crate::{World, text};

/// A word in every text of the other project.
const SECRET: &str = "zebra";

/// Every tool, asked about `ID`.
fn asked(id: &str) -> Vec<(&'static str, Value)> {
    let brief = json!({ "objective": "so" });
    let mut calls = vec![
        ("get", json!({ "id": id })),
        ("get", json!({ "id": id, "profile": "full" })),
        ("find", json!({ "what": "tree", "id": id })),
        ("find", json!({ "what": "why", "id": id })),
        ("find", json!({ "what": "activity", "id": id })),
        ("find", json!({ "what": "list", "parent": id })),
        ("find", json!({ "what": "queue", "under": id })),
        ("wait", json!({ "id": id, "timeoutMs": 0 })),
        ("wait", json!({ "parent": id, "timeoutMs": 0 })),
        ("plan", json!({ "items": [{ "title": "x" }], "parent": id })),
        ("plan", json!({ "items": [{ "title": "x", "blockedBy": [id] }] })),
        ("plan", json!({ "markdown": "# x", "parent": id })),
        ("edit", json!({ "ids": [id], "patch": { "title": "x" } })),
        ("advance", json!({ "id": id, "to": "start" })),
        ("advance", json!({ "moves": [{ "id": id, "to": "start" }] })),
        ("advance", json!({ "id": id, "tree": true })),
        ("annotate", json!({ "id": id, "comment": "x" })),
        ("annotate", json!({ "id": id, "notes": [{ "key": "k", "body": "b" }] })),
        ("annotate", json!({ "id": id, "attention": "x" })),
        ("contract", json!({ "id": id })),
        ("contract", json!({ "id": id, "brief": brief })),
        ("contract", json!({ "id": id, "verify": [{ "id": "c1", "passed": true }] })),
        ("contract", json!({ "id": id, "checks": [{ "desc": "x" }] })),
        ("contract", json!({ "id": id, "run": {} })),
        ("contract", json!({ "id": id, "approve": [] })),
        ("contract", json!({ "id": id, "attest": 0 })),
        ("find", json!({ "what": "runs", "id": id })),
        ("ask", json!({ "id": id, "question": "x" })),
        ("ask", json!({ "id": id, "answer": "x" })),
        ("remove", json!({ "items": [id] })),
        ("remove", json!({ "notesOf": { "id": id } })),
        ("remove", json!({ "edgesOf": { "id": id } })),
    ];
    for phase in ["start", "heartbeat", "finish", "release"] {
        calls.push(("work", json!({ "phase": phase, "id": id })));
    }
    calls
}

#[test]
fn what_another_project_has_is_answered_like_what_never_was() {
    let world = World::new();
    world.ok("admin", json!({ "op": "project.create", "slug": "other", "prefix": "OTHER" }));
    let items = json!([{ "title": SECRET, "status": "ready", "brief": { "objective": SECRET, "acceptanceCriteria": [SECRET] } }]);
    let made = world.ok("plan", json!({ "items": items, "project": "other" }));
    let key = text(&made["trusted"]["items"][0]["key"]);
    let id =
        text(&world.ok("get", json!({ "id": key, "profile": "full", "project": "other" }))["trusted"]["task"]["id"]);
    let own = world.item("mine");
    let narrow = world.another(&["--project", "default"]);
    let unknown = "00000000-0000-7000-8000-000000000001";
    for ((tool, theirs), (_, nobodys)) in asked(&id).into_iter().zip(asked(unknown)) {
        let ask = |arguments: &Value| narrow.call(tool, arguments.clone()).expect("an answer").content.to_string();
        let (told, known) = (ask(&theirs).replace(&id, "X"), ask(&nobodys).replace(unknown, "X"));
        assert_eq!(told, known, "{tool} {theirs} tells");
        assert!(!told.contains(SECRET) && !told.contains(&key), "{tool} {theirs}: {told}");
    }
    for what in ["list", "queue", "blocked", "why", "overview", "health", "inbox", "events", "projects"] {
        let told = narrow.ok("find", json!({ "what": what })).to_string();
        assert!(!told.contains(SECRET) && !told.contains("OTHER"), "{what}: {told}");
    }
    for call in [json!({ "what": "list", "project": "other" }), json!({ "what": "list", "project": "never" })] {
        assert_eq!(narrow.err("find", call)["code"], "NOT_FOUND");
    }
    assert!(narrow.ok("find", json!({ "what": "list" })).to_string().contains(&own));
    let now = world.ok("get", json!({ "id": key, "project": "other" }));
    assert_eq!((&now["trusted"]["guard"]["version"], &now["trusted"]["guard"]["status"]), (&json!(1), &json!("ready")));
}

#[test]
fn a_profile_is_refused_what_it_is_not_offered() {
    let folder = tempfile::tempdir().expect("a folder");
    let database = folder.path().join("work.db");
    let run = |arguments: &[&str]| -> Value {
        let db = format!("sqlite:{}", database.display());
        let mut command = Command::new(docket());
        let out = command
            .args(["--db", &db, "--json"])
            .args(arguments)
            .current_dir(folder.path())
            .output()
            .expect("the program");
        assert!(out.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&out.stderr));
        serde_json::from_slice(&out.stdout).expect("JSON")
    };
    run(&["init"]);
    let profiles = ["viewer", "planner", "worker", "operator", "maintainer"];
    let keys: Vec<String> =
        profiles.iter().map(|profile| text(&run(&["key", "create", "--profile", profile])["secret"])).collect();
    run(&["item", "add", "x"]);
    let web = Web::on(&database, |_| {});
    let rpc = |secret: &str, method: &str, params: Value| {
        let bearer = format!("Bearer {secret}");
        let headers = [("accept", "application/json, text/event-stream"), ("authorization", bearer.as_str())];
        let message = json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params });
        web.to("POST", "/mcp", &headers, Some(message.to_string().as_bytes())).with(200)
    };
    for (profile, secret) in profiles.iter().zip(&keys) {
        let listed = rpc(secret, "tools/list", json!({}));
        let offered: Vec<String> =
            listed["result"]["tools"].as_array().expect("tools").iter().map(|tool| text(&tool["name"])).collect();
        let mut calls = asked("00000000-0000-7000-8000-000000000001");
        calls.push(("admin", json!({ "op": "project.set", "slug": "never", "name": "x" })));
        for (tool, arguments) in calls {
            let answer = rpc(secret, "tools/call", json!({ "name": tool, "arguments": arguments }));
            let code = &answer["result"]["structuredContent"]["error"]["code"];
            let allowed = offered.iter().any(|name| name == tool);
            assert_eq!(allowed, *code != json!("FORBIDDEN"), "{profile} {tool} {arguments}: {answer}");
        }
    }
}
