//! The `execution` surface through the real program: its loop, its rules and its codes.

mod digests;
mod places;
mod pulls;
mod seed;
mod stand;
mod verification;

use std::process::Command;

use docket_tests::mcp::Server;
use docket_tests::program::docket;
use serde_json::{Value, json};
use tempfile::TempDir;

/// A database of its own, and agents at work on it.
struct World {
    ann: Server,
    folder: TempDir,
}

impl World {
    fn new() -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let ann = server(&folder, "agent:ann");
        Self { ann, folder }
    }

    fn agent(&self, actor: &str) -> Server {
        server(&self.folder, actor)
    }

    /// Runs the program for an operator.
    fn operate(&self, arguments: &[&str]) -> Value {
        let mut command = Command::new(docket());
        command.arg("--db").arg(address(&self.folder)).arg("--json").args(arguments);
        let ran = command.current_dir(self.folder.path()).output().expect("the program");
        assert!(ran.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&ran.stderr));
        serde_json::from_slice(&ran.stdout).unwrap_or(Value::Null)
    }

    fn task(&self, title: &str, more: &[&str]) -> String {
        let made = self.operate(&[&["item", "add", title][..], more].concat());
        let id = made.pointer("/items/0/item/id").or(made.pointer("/item/id")).or(made.get("id"));
        id.and_then(Value::as_str).unwrap_or_else(|| panic!("no id in {made}")).to_owned()
    }

    fn next(&self, arguments: Value) -> Vec<Value> {
        let found = self.ann.ok("get_next_actionable", arguments);
        found["tasks"].as_array().expect("tasks").clone()
    }
}

fn address(folder: &TempDir) -> String {
    format!("sqlite:{}", folder.path().join("docket.db").display())
}

fn server(folder: &TempDir, actor: &str) -> Server {
    let database = folder.path().join("docket.db");
    Server::start_with(&database, &["--surface", "execution", "--actor", actor], |command| {
        command.env_remove("DOCKET_ACTOR").env_remove("DOCKET_PROJECT").current_dir(folder.path());
    })
}

fn titles(tasks: &[Value]) -> Vec<&str> {
    tasks.iter().filter_map(|task| task["title"].as_str()).collect()
}

#[test]
fn there_are_four_tools() {
    let world = World::new();
    let list = world.ann.request("tools/list", json!({})).expect("tools")["result"]["tools"].clone();
    insta::with_settings!({ sort_maps => true }, { insta::assert_json_snapshot!("tools", list) });
}

/// A project that ranks otherwise: what its workflow would hand out first fills more than a page.
#[test]
fn what_is_urgent_is_not_hidden_behind_what_the_workflow_ranks_first() {
    let folder = tempfile::tempdir().expect("a folder");
    let rules =
        "[project]\nslug = \"default\"\npreset = \"execution\"\n[workflow]\nranking = [\"complexity\", \"priority\"]\n";
    std::fs::write(folder.path().join("docket.toml"), rules).expect("a file");
    let ann = server(&folder, "agent:ann");
    let world = World { ann, folder };
    let urgent = [("urgent too", "high", 9), ("urgent", "high", 10)];
    let all = [("in turn", "medium", 1); 220].into_iter().chain(urgent).chain([("later", "low", 1)]);
    let rows: Vec<Value> = all
        .map(|(title, priority, complexity)| json!({ "title": title, "priority": priority, "complexity": complexity }))
        .collect();
    let database = world.folder.path().join("docket.db");
    let maker = Server::start_with(&database, &["--surface", "task-orchestrator"], |command| {
        command.current_dir(world.folder.path());
    });
    for rows in rows.chunks(100) {
        let made = maker.ok("manage_items", json!({ "operation": "create", "items": rows }));
        assert_eq!(made["created"], json!(rows.len()), "{made}");
    }
    assert_eq!(titles(&world.next(json!({ "limit": 3 }))), ["urgent too", "urgent", "in turn"]);
    assert_eq!(titles(&world.next(json!({ "limit": 20, "priorityLte": 499 }))), ["urgent too", "urgent"]);
    assert_eq!(world.next(json!({ "limit": 20, "priorityLte": 500 })).len(), 20);
    assert_eq!(world.next(json!({ "priorityLte": 99 })), Vec::<Value>::new(), "nothing is so urgent");
    let claimed = world.ann.ok("claim_task", json!({ "taskId": world.next(json!({}))[0]["id"] }));
    assert_eq!(claimed["task"]["title"], "urgent too");
    assert_eq!(titles(&world.next(json!({ "priorityLte": 100 }))), ["urgent"]);
}

#[test]
fn the_loop_from_ready_to_done() {
    let world = World::new();
    world.operate(&["learn", "The linker needs gcc", "aws-lc builds with gcc alone", "--tag", "linker"]);
    let task = world.task("Mend the linker", &["--priority", "high"]);
    world.task("Later", &["--priority", "low"]);
    let found = world.next(json!({}));
    assert_eq!(titles(&found), ["Mend the linker", "Later"]);
    assert_eq!((&found[0]["state"], &found[0]["id"]), (&json!("ready"), &json!(task)));
    let references = found[0]["knowledge"]["references"].as_array().expect("references");
    assert_eq!(references.len(), 1, "{found:?}");
    assert_eq!(references[0]["reviewState"], "unreviewed");
    assert!(references[0]["score"].as_f64().expect("a score") >= 0.5);
    assert_eq!(found[1]["knowledge"], json!({ "references": [] }));
    let claimed = world.ann.ok("claim_task", json!({ "taskId": task }));
    assert_eq!((&claimed["task"]["state"], &claimed["lease"]["leaseSec"]), (&json!("claimed"), &json!(900)));
    let again = world.ann.ok("claim_task", json!({ "taskId": task }));
    assert_eq!(claimed["lease"], again["lease"], "the current lease, not a new one");
    assert_eq!(titles(&world.next(json!({}))), ["Later"], "what is claimed is not ready");
    let bob = world.agent("agent:bob");
    assert_eq!(bob.err("claim_task", json!({ "taskId": task }))["code"], "task.already_claimed");
    let moved = json!({ "taskId": task, "status": "in_progress" });
    assert_eq!(bob.err("update_task_status", moved.clone())["code"], "task.already_claimed");
    assert_eq!(bob.err("complete_task", json!({ "taskId": task }))["code"], "task.already_claimed");
    let begun = world.ann.ok("update_task_status", moved.clone());
    assert_eq!(begun["task"]["state"], "in_progress");
    let beat = world.ann.ok("update_task_status", moved.clone());
    assert!(beat["lease"]["expiresAt"].as_str() >= begun["lease"]["expiresAt"].as_str(), "a heartbeat");
    let learnings = json!([{ "title": "Linker flags", "body": "Use -fuse-ld", "tags": ["linker"] }]);
    let done = world.ann.ok("complete_task", json!({ "taskId": task, "output": "works", "learnings": learnings }));
    assert_eq!((&done["task"]["state"], &done["verificationEtaSec"]), (&json!("done"), &json!(0)));
    let entry = done["knowledgeEntryIds"][0].as_str().expect("an entry").to_owned();
    let shown = world.operate(&["knowledge", "show", &entry]);
    assert_eq!((&shown["source"], &shown["sourceItem"]), (&json!("task_completion"), &json!(task)));
    assert_eq!((&shown["links"][0]["kind"], &shown["links"][0]["item"]), (&json!("produced"), &json!(task)));
    assert_eq!(world.ann.err("update_task_status", moved)["code"], "task.invariant_violated", "done is done");
}

#[test]
fn what_is_blocked_cannot_be_claimed_and_order_is_priority_then_age() {
    let world = World::new();
    let first = world.task("first", &[]);
    let second = world.task("second", &[]);
    world.task("urgent", &["--priority", "high"]);
    world.operate(&["link", &first, "blocks", &second]);
    assert_eq!(titles(&world.next(json!({}))), ["urgent", "first"]);
    assert_eq!(titles(&world.next(json!({ "priorityLte": 100 }))), ["urgent"]);
    assert_eq!(titles(&world.next(json!({ "limit": 1 }))), ["urgent"]);
    assert_eq!(world.ann.err("claim_task", json!({ "taskId": second }))["code"], "task.not_actionable");
    for bad in [json!({ "limit": 0 }), json!({ "limit": 21 }), json!({ "priorityLte": 1001 }), json!({ "nonsense": 1 })]
    {
        assert_eq!(world.ann.err("get_next_actionable", bad)["code"], "validation.failed");
    }
    let short = json!({ "taskId": first, "leaseSec": 59 });
    assert_eq!(world.ann.err("claim_task", short)["code"], "validation.failed");
    let unknown = json!({ "taskId": "00000000-0000-7000-8000-000000000009" });
    assert_eq!(world.ann.err("claim_task", unknown)["code"], "task.not_found");
}

#[test]
fn a_quota_that_is_used_up_leaves_the_task_as_it_was() {
    let world = World::new();
    std::fs::write(world.folder.path().join("docket.toml"), "[limits]\nknowledge_stored = 0\n").expect("a file");
    let agent = world.agent("agent:ann");
    let task = world.task("work", &[]);
    agent.ok("claim_task", json!({ "taskId": task }));
    agent.ok("update_task_status", json!({ "taskId": task, "status": "in_progress" }));
    let learnings = json!([{ "title": "a", "body": "b" }]);
    let refused = agent.err("complete_task", json!({ "taskId": task, "learnings": learnings }));
    assert_eq!((&refused["code"], &refused["reason"]), (&json!("quota.exceeded"), &json!("quota_exceeded")));
    let done = agent.ok("complete_task", json!({ "taskId": task }));
    assert_eq!(done["task"]["state"], "done", "without learnings there is nothing to count");
}
