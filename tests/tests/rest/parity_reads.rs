//! What the ways in tell of the same rows: tasks, lists, attempts and ready work, by `cairn` and `execution` over stdio and HTTP,
//! by REST and by the command line. Here contents are compared, not only codes.

use std::collections::BTreeMap;

use docket_tests::mcp::Server;
use docket_tests::web::{Web, command_on};
use serde_json::{Value, json};

/// One database, with a way in of each sort.
struct Ground {
    surface: &'static str,
    server: Server,
    web: Web,
    folder: tempfile::TempDir,
}

impl Ground {
    fn new(surface: &'static str) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let rules = format!("[project]\nslug = \"default\"\npreset = \"{surface}\"\n[runner]\nallow = \"all\"\n");
        std::fs::write(folder.path().join("docket.toml"), rules).expect("written");
        let word = format!("sqlite:{}", folder.path().join("work.db").display());
        let arguments = ["--surface", surface, "--actor", "agent:ann"];
        let server = Server::try_start_on(&word, folder.path(), &arguments, |command| {
            command.env_remove("DOCKET_ACTOR");
        });
        let web = Web::serving(&word, folder.path(), |_| {});
        Self { surface, server: server.expect("a server"), web, folder }
    }

    /// What a tool answers, which has to be the same over stdio and HTTP.
    fn read(&self, tool: &str, arguments: &Value) -> Value {
        let stdio = self.server.ok(tool, arguments.clone());
        assert_eq!(stdio, self.by_http(tool, arguments), "{tool} {arguments}");
        stdio
    }

    fn by_http(&self, tool: &str, arguments: &Value) -> Value {
        self.web.tool(self.surface, &[("x-docket-actor", "agent:ann")], tool, arguments).ok()
    }

    fn rest(&self, path: &str) -> Value {
        self.web.send("GET", path, &[("x-docket-actor", "agent:ann")], None).with(200)
    }

    fn cli(&self, words: &[&str]) -> Value {
        let word = format!("sqlite:{}", self.folder.path().join("work.db").display());
        let mut command = command_on(&word, self.folder.path());
        let ran = command.args(["--actor", "agent:ann", "--json"]).args(words).output().expect("it runs");
        assert!(ran.status.success(), "{words:?}: {}", String::from_utf8_lossy(&ran.stderr));
        serde_json::from_slice(&ran.stdout).expect("JSON")
    }

    /// The titles of all items, by their ids, as REST has them.
    fn titles(&self) -> BTreeMap<String, Value> {
        let found = self.rest("/items?limit=200");
        let rows = found["items"].as_array().expect("items").iter();
        rows.map(|item| (item["id"].as_str().unwrap_or_default().to_owned(), item["title"].clone())).collect()
    }
}

/// What a task is, whichever way it is read: the title, the words, the status, what it waits for, and how its checks stand.
fn of_cairn(ground: &Ground, task: &Value) -> Value {
    let title = |dep: &Value| ground.read("get", &json!({ "id": dep }))["title"].clone();
    let deps: Vec<Value> = task["deps"].as_array().expect("deps").iter().map(title).collect();
    let checks = task["checks"].as_array().expect("checks").iter();
    let checks: Vec<Value> = checks
        .map(|check| json!([check["desc"], check["cmd"], check["cwd"], check["timeout"], check["result"]]))
        .collect();
    let whose = task["assignee"].as_str().map(|name| name.trim_start_matches("agent:"));
    json!([task["title"], task["body"], task["status"], task["ready"], whose, deps, checks])
}

/// The same of an item with its edges and checks, as REST and the command line write them.
fn of_item(item: &Value, edges: &Value, checks: &Value, titles: &BTreeMap<String, Value>) -> Value {
    let waits = |edge: &&Value| edge["kind"] == "blocks" && edge["to"] == item["id"];
    let deps = edges.as_array().expect("edges").iter().filter(waits);
    let deps: Vec<Value> = deps.map(|edge| titles[edge["from"].as_str().unwrap_or_default()].clone()).collect();
    let checks = checks.as_array().expect("checks").iter().map(|check| {
        let cwd = if check["cmd"].is_null() { &Value::Null } else { check.get("cwd").unwrap_or(&Value::Null) };
        let cwd = if check["cmd"].is_null() || !cwd.is_null() { cwd.clone() } else { json!(".") };
        json!([check["desc"], check["cmd"], cwd, check["timeoutSeconds"], check["status"]])
    });
    let checks: Vec<Value> = checks.collect();
    let body = item.get("description").cloned().unwrap_or_else(|| json!(""));
    let ready = item["derived"]["blockers"] == 0;
    json!([item["title"], body, item["status"], ready, item["claim"]["holder"], deps, checks])
}

fn same_by_all(ground: &Ground, key: &str) -> Value {
    let (task, titles) = (ground.read("get", &json!({ "id": key })), ground.titles());
    let told = of_cairn(ground, &task);
    let item = ground.rest(&format!("/items/{key}"));
    let (edges, checks) = (ground.rest(&format!("/items/{key}/edges")), ground.rest(&format!("/items/{key}/checks")));
    assert_eq!(told, of_item(&item, &edges["edges"], &checks["checks"], &titles), "cairn and REST of {key}");
    let shown = ground.cli(&["item", "show", key]);
    let checks = ground.cli(&["check", "list", key]);
    assert_eq!(
        told,
        of_item(&shown["item"], &shown["edges"], &checks["checks"], &titles),
        "cairn and the command line of {key}"
    );
    told
}

#[test]
fn a_task_is_told_alike_and_made_alike() {
    let ground = Ground::new("cairn");
    let who = ground.read("identity", &json!({}));
    assert_eq!(who["actor"], "agent:ann", "{who}");
    ground.web.item("Before it");
    let check = json!({ "desc": "it is made", "cmd": "test -f made", "cwd": "sub", "timeout": 60 });
    let seen = json!({ "desc": "somebody likes it" });
    let manual = json!({ "desc": "somebody likes it", "type": "manual" });
    let create = json!({ "title": "It", "body": "At length.", "deps": ["DEFA-1"], "checks": [check, manual] });
    ground.server.ok("create", create.clone());
    ground.by_http("create", &create);
    let made = ground.web.post("/items", &json!({ "title": "It", "description": "At length." })).with(201);
    let key = made["item"]["key"].as_str().expect("a key").to_owned();
    ground.web.post(&format!("/items/{key}/checks"), &json!({ "checks": [check, seen] })).with(200);
    ground.web.post("/edges", &json!({ "from": "DEFA-1", "to": key })).with(201);
    ground.cli(&["item", "add", "It", "--description", "At length."]);
    ground.cli(&["link", "DEFA-1", "blocks", "DEFA-5"]);
    ground.cli(&["check", "add", "DEFA-5", "it is made", "--cmd", "test -f made", "--cwd", "sub", "--timeout", "60s"]);
    ground.cli(&["check", "add", "DEFA-5", "somebody likes it"]);
    let told: Vec<Value> = ["DEFA-2", "DEFA-3", "DEFA-4", "DEFA-5"].map(|key| same_by_all(&ground, key)).to_vec();
    for (other, by) in told[1..].iter().zip(["HTTP", "REST", "the command line"]) {
        assert_eq!(told[0], *other, "made by stdio and by {by}");
    }
    let checks = json!([
        ["it is made", "test -f made", "sub", 60, "pending"],
        ["somebody likes it", null, null, null, "pending"],
    ]);
    assert_eq!(told[0], json!(["It", "At length.", "backlog", false, null, ["Before it"], checks]));
    // Whose it is, what was shown, and what is ready then.
    std::fs::create_dir(ground.folder.path().join("sub")).expect("a folder");
    std::fs::write(ground.folder.path().join("sub/made"), "").expect("a file");
    ground.server.ok("claim", json!({ "id": "DEFA-2" }));
    ground.server.ok("run_checks", json!({ "id": "DEFA-2" }));
    ground.server.ok("transition", json!({ "id": "DEFA-1", "to": "done" }));
    for key in ["DEFA-1", "DEFA-2", "DEFA-3", "DEFA-4", "DEFA-5"] {
        same_by_all(&ground, key);
    }
    lists(&ground);
}

/// Lists name the same tasks, each as it is told alone.
fn lists(ground: &Ground) {
    for (filter, path, words) in [
        (json!({}), "/items?limit=200", vec!["item", "list", "--all"]),
        (json!({ "status": "done" }), "/items?limit=200&status=done", vec!["item", "list", "--status", "done"]),
        (
            json!({ "status": "backlog" }),
            "/items?limit=200&status=backlog",
            vec!["item", "list", "--status", "backlog"],
        ),
    ] {
        let listed = ground.read("list", &filter);
        let tasks = listed["tasks"].as_array().expect("tasks");
        assert!(!tasks.is_empty(), "{filter}");
        for task in tasks {
            let mut alone = ground.read("get", &json!({ "id": task["id"] }));
            for long in ["body", "provenance"] {
                alone.as_object_mut().expect("an object").remove(long);
            }
            // What a program said is for whoever asks for the one task.
            for check in alone["checks"].as_array_mut().into_iter().flatten() {
                for more in ["run", "untrusted"] {
                    check.as_object_mut().expect("an object").remove(more);
                }
            }
            assert_eq!(*task, alone, "{filter}");
        }
        let names = |found: &Value| {
            let mut names: Vec<Value> = found["items"]
                .as_array()
                .expect("items")
                .iter()
                .map(|item| json!([item["title"], item["status"]]))
                .collect();
            names.sort_by_key(Value::to_string);
            names
        };
        let mut told: Vec<Value> = tasks.iter().map(|task| json!([task["title"], task["status"]])).collect();
        told.sort_by_key(Value::to_string);
        assert_eq!(told, names(&ground.rest(path)), "cairn and REST: {filter}");
        assert_eq!(told, names(&ground.cli(&words)), "cairn and the command line: {filter}");
    }
    // What is ready, and whose: as the tasks themselves say it.
    ground.server.ok("create", json!({ "title": "It waits", "deps": ["DEFA-2"] }));
    for (filter, field) in [(json!({ "ready": true }), "ready"), (json!({ "ready": false }), "ready")] {
        let listed = ground.read("list", &filter);
        let tasks = listed["tasks"].as_array().expect("tasks");
        assert!(!tasks.is_empty(), "there are some of both: {filter}");
        for task in tasks {
            assert_eq!(task[field], filter[field], "{task}");
        }
    }
    let mine = ground.read("list", &json!({ "assignee": "agent:ann" }));
    assert_eq!(mine["tasks"].as_array().map(Vec::len), Some(1), "{mine}");
}

/// An attempt as REST and the command line write it, in the words of `cairn`.
fn of_session(session: &Value) -> Value {
    let whose = format!("agent:{}", session["actor"].as_str().unwrap_or_default());
    let said = ["startedAt", "heartbeatAt", "endedAt", "progress", "summary", "head", "reason"];
    let said: Vec<Value> = said.iter().map(|field| session[*field].clone()).collect();
    json!([session["id"], whose, session["state"], session["health"], said])
}

fn of_attempt(session: &Value) -> Value {
    let said = ["started_at", "heartbeat_at", "ended_at", "progress", "summary", "head", "reason"];
    let said: Vec<Value> = said.iter().map(|field| session[*field].clone()).collect();
    json!([session["id"], session["actor"], session["status"], session["health"], said])
}

#[test]
fn an_attempt_is_told_alike() {
    let ground = Ground::new("cairn");
    for (number, title) in ["One", "Two", "Three"].into_iter().enumerate() {
        let key = ground.web.item(title);
        let begin = json!({ "task": key, "expected_actor": "agent:ann", "idempotency_key": format!("k-{number}") });
        let session = ground.server.ok("begin", begin)["id"].clone();
        let progress = json!({ "text": "half", "percent": 50 });
        ground.server.ok("heartbeat", json!({ "session": session, "progress": progress }));
        match number {
            0 => {}
            1 => _ = ground.server.ok("finish", json!({ "session": session, "summary": "It works.", "head": "abc" })),
            _ => _ = ground.server.ok("cancel", json!({ "session": session, "reason": "too hard" })),
        }
    }
    let listed = ground.read("list_sessions", &json!({}));
    let told: Vec<Value> = listed["sessions"].as_array().expect("sessions").iter().map(of_attempt).collect();
    assert_eq!(told.len(), 3, "{listed}");
    for (by, found) in [("REST", ground.rest("/sessions")), ("the command line", ground.cli(&["session", "list"]))] {
        let others: Vec<Value> = found["sessions"].as_array().expect("sessions").iter().map(of_session).collect();
        assert_eq!(told, others, "cairn and {by}");
    }
    for session in listed["sessions"].as_array().expect("sessions") {
        let id = session["id"].as_str().expect("an id");
        let alone = of_attempt(&ground.read("get_session", &json!({ "session": id })));
        assert_eq!(alone, of_attempt(session));
        assert_eq!(alone, of_session(&ground.rest(&format!("/sessions/{id}"))), "cairn and REST");
        assert_eq!(alone, of_session(&ground.cli(&["session", "show", id])), "cairn and the command line");
    }
}

#[test]
fn ready_work_is_told_alike() {
    let ground = Ground::new("execution");
    for (title, priority) in
        [("Later", "low"), ("First", "high"), ("Second", "high"), ("Between", "medium"), ("Waits", "high")]
    {
        ground.cli(&["item", "add", title, "--priority", priority, "--status", "ready"]);
    }
    ground.cli(&["link", "DEFA-1", "blocks", "DEFA-5"]);
    let found = ground.read("get_next_actionable", &json!({ "limit": 20 }));
    // REST and the command line say beside the item whether it is held.
    let items = |rows: &Value| -> Vec<Value> {
        rows.as_array().expect("rows").iter().map(|row| row.get("item").unwrap_or(row).clone()).collect()
    };
    let titles = |rows: &Value| -> Vec<Value> { items(rows).iter().map(|item| item["title"].clone()).collect() };
    assert_eq!(titles(&found["tasks"]), ["First", "Second", "Between", "Later"]);
    assert_eq!(titles(&found["tasks"]), titles(&ground.rest("/queue")["items"]), "execution and REST");
    assert_eq!(titles(&found["tasks"]), titles(&ground.cli(&["next"])["items"]), "execution and the command line");
    let states = |rows: &Value, field: &str| -> Vec<Value> {
        items(rows).iter().map(|item| json!([item["id"], item[field]])).collect()
    };
    assert_eq!(states(&found["tasks"], "state"), states(&ground.rest("/queue")["items"], "status"));
}
