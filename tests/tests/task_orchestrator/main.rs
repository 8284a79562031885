//! The `task-orchestrator` surface through the real program: every documented example and every sentence of behaviour.
//!
//! Each test has a server and a database of its own. That text and structured content are the same JSON is checked by
//! the client in every call.
#![expect(clippy::needless_pass_by_value, reason = "arguments are made on the spot, for the call alone")]

mod actors;
mod belonging;
mod blanks;
mod claims;
mod closing;
mod context;
mod deletions;
mod dependencies;
mod errors;
mod held;
mod idempotency;
mod items;
mod keys;
mod limits;
mod next;
mod notes;
mod official;
mod overview;
mod protocol;
mod search;
mod selector;
mod tree;
mod updates;
mod workflow;

use std::fs::File;
use std::path::PathBuf;
use std::process::Command;

use docket_tests::mcp::Server;
use serde_json::{Value, json};
use tempfile::TempDir;

/// Schemas that most tests of notes and gates use.
const SCHEMAS: &str = r#"
work_item_schemas:
  feature-task:
    notes:
      - { key: requirements, role: queue, required: true, description: "What is wanted", guidance: "List what must hold" }
      - { key: hints, role: queue, required: false, description: "What may help" }
      - { key: done-criteria, role: work, required: true, description: "How it was done", guidance: "Say what changed", skill: writer }
      - { key: verdict, role: review, required: true, description: "Whether it holds" }
  quick:
    notes:
      - { key: outcome, role: work, required: true, description: "What came of it" }
  container: { lifecycle: permanent, notes: [] }
  by-hand: { lifecycle: manual, notes: [] }
  lively: { lifecycle: auto-reopen, notes: [] }
  strict-parent:
    notes:
      - { key: wrap-up, role: work, required: true, description: "What the parts add up to" }
traits:
  needs-security-review:
    notes:
      - { key: security, role: review, required: true, description: "What could be abused" }
"#;

/// A server with a database of its own.
struct World {
    server: Server,
    folder: TempDir,
}

impl World {
    /// Without schemas.
    fn new() -> Self {
        Self::with("")
    }

    /// With the schemas of [`SCHEMAS`].
    fn with_schemas() -> Self {
        Self::with(SCHEMAS)
    }

    /// With a configuration file.
    fn with(config: &str) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        if !config.is_empty() {
            let place = folder.path().join(".taskorchestrator");
            std::fs::create_dir(&place).expect("a folder");
            std::fs::write(place.join("config.yaml"), config).expect("a file");
        }
        let server = start(&folder, &[], &[]);
        Self { server, folder }
    }

    /// With more arguments and variables of the environment.
    fn started(config: &str, arguments: &[&str], variables: &[(&str, &str)]) -> Self {
        let mut world = Self::with(config);
        world.server = start(&world.folder, arguments, variables);
        world
    }

    /// The same database behind another process.
    fn restarted(self) -> Self {
        self.server.kill();
        let server = start(&self.folder, &[], &[]);
        Self { server, folder: self.folder }
    }

    /// Another process on the same database.
    fn another(&self) -> Server {
        start(&self.folder, &[], &[])
    }

    fn ok(&self, tool: &str, arguments: Value) -> Value {
        self.server.ok(tool, arguments)
    }

    fn err(&self, tool: &str, arguments: Value) -> Value {
        self.server.err(tool, arguments)
    }

    /// Makes an item and returns its id.
    fn item(&self, title: &str) -> String {
        self.made(json!({ "title": title }))
    }

    /// Makes an item with these fields and returns its id.
    fn made(&self, item: Value) -> String {
        let answer = self.ok("manage_items", json!({ "operation": "create", "items": [item] }));
        assert_eq!(answer["failed"], 0, "{answer}");
        text(&answer["items"][0]["id"])
    }

    /// Makes a child and returns its id.
    fn child(&self, parent: &str, title: &str) -> String {
        self.made(json!({ "title": title, "parentId": parent }))
    }

    /// Makes one dependency: `from` blocks `to`.
    fn blocks(&self, from: &str, to: &str) {
        let pair = json!([{ "fromItemId": from, "toItemId": to }]);
        let answer = self.ok("manage_dependencies", json!({ "operation": "create", "dependencies": pair }));
        assert_eq!(answer["created"], 1, "{answer}");
    }

    /// Moves an item and returns the row of the transition.
    fn advance(&self, item: &str, trigger: &str) -> Value {
        self.moved(json!({ "itemId": item, "trigger": trigger }))
    }

    /// Moves an item by a whole transition and returns its row.
    fn moved(&self, transition: Value) -> Value {
        self.ok("advance_item", json!({ "transitions": [transition] }))["results"][0].clone()
    }

    /// Moves an item that must move.
    fn moves(&self, item: &str, trigger: &str) -> Value {
        let row = self.advance(item, trigger);
        assert_eq!(row["applied"], true, "{row}");
        row
    }

    /// Writes a note.
    fn note(&self, item: &str, key: &str, role: &str) {
        let note = json!({ "itemId": item, "key": key, "role": role, "body": format!("text of {key}") });
        let answer = self.ok("manage_notes", json!({ "operation": "upsert", "notes": [note] }));
        assert_eq!(answer["upserted"], 1, "{answer}");
    }

    /// An item in full.
    fn get(&self, item: &str) -> Value {
        self.ok("query_items", json!({ "operation": "get", "id": item }))
    }

    /// Claims an item and returns the row.
    fn claim(&self, agent: &str, item: &str) -> Value {
        self.ok("claim_item", claiming(agent, json!([{ "itemId": item }]), json!([])))["claimResults"][0].clone()
    }
}

fn start(folder: &TempDir, arguments: &[&str], variables: &[(&str, &str)]) -> Server {
    let arguments: Vec<&str> =
        ["--surface", "task-orchestrator"].into_iter().chain(arguments.iter().copied()).collect();
    start_as(folder, &arguments, |command| _ = command.envs(variables.iter().copied()))
}

/// A server whose log goes into a file.
fn start_saying(folder: &TempDir, log: File) -> Server {
    start_as(folder, &["--surface", "task-orchestrator"], |command| _ = command.stderr(log))
}

fn start_as(folder: &TempDir, arguments: &[&str], change: impl FnOnce(&mut Command)) -> Server {
    let database: PathBuf = folder.path().join("docket.db");
    Server::start_with(&database, arguments, |command| {
        command.env("AGENT_CONFIG_DIR", folder.path()).env_remove("DEGRADED_MODE_POLICY").env_remove("DOCKET_ACTOR");
        change(command);
    })
}

/// The arguments of `claim_item` with a fresh request id.
fn claiming(agent: &str, claims: Value, releases: Value) -> Value {
    json!({ "actor": subagent(agent), "claims": claims, "releases": releases, "requestId": fresh() })
}

fn subagent(id: &str) -> Value {
    json!({ "id": id, "kind": "subagent" })
}

/// A new UUID.
fn fresh() -> String {
    uuid::Uuid::new_v4().to_string()
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_else(|| panic!("no text: {value}")).to_owned()
}

/// The names of an object's fields, sorted.
fn names(value: &Value) -> Vec<&str> {
    let mut names: Vec<&str> = value.as_object().expect("an object").keys().map(String::as_str).collect();
    names.sort_unstable();
    names
}

/// The texts that stand at a field of every row.
fn each(rows: &Value, field: &str) -> Vec<String> {
    rows.as_array().expect("rows").iter().map(|row| text(&row[field])).collect()
}
