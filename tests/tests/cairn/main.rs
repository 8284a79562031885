//! The `cairn` surface through the real program: every verb, every example and every rule that does not need checks.
//!
//! Each test has a database of its own. That text and structured content agree is checked by the client in every call.

mod lists;
mod protocol;
mod sessions;
mod tasks;

use std::path::PathBuf;
use std::process::Command;
use std::time::{Duration, Instant};

use docket_tests::mcp::Server;
use docket_tests::program::docket;
use serde_json::{Value, json};
use tempfile::TempDir;

/// How long something may take that must happen.
const PATIENCE: Duration = Duration::from_mins(1);

/// A server with a database of its own.
struct World {
    server: Server,
    folder: TempDir,
}

impl World {
    /// For `agent:ann`.
    fn new() -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let server = start(&folder, "agent:ann");
        Self { server, folder }
    }

    /// Another process on the same database, for another actor.
    fn actor(&self, actor: &str) -> Server {
        start(&self.folder, actor)
    }

    /// Runs the program for an operator and returns what it prints.
    fn operate(&self, arguments: &[&str]) -> String {
        let mut command = Command::new(docket());
        command.arg("--db").arg(format!("sqlite:{}", database(&self.folder).display())).args(arguments);
        let ran = command.current_dir(self.folder.path()).output().expect("the program");
        assert!(ran.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&ran.stderr));
        String::from_utf8_lossy(&ran.stdout).into_owned()
    }

    fn ok(&self, tool: &str, arguments: Value) -> Value {
        self.server.ok(tool, arguments)
    }

    fn err(&self, tool: &str, arguments: Value) -> Value {
        self.server.err(tool, arguments)
    }

    /// Makes a task and returns its id.
    fn task(&self, title: &str) -> String {
        text(&self.ok("create", json!({ "title": title }))["id"])
    }

    /// Makes a task that waits for others.
    fn waiting(&self, title: &str, deps: &[&str]) -> String {
        text(&self.ok("create", json!({ "title": title, "deps": deps }))["id"])
    }

    fn to(&self, task: &str, status: &str) -> Value {
        self.ok("transition", json!({ "id": task, "to": status }))
    }

    fn get(&self, task: &str) -> Value {
        self.ok("get", json!({ "id": task }))
    }

    /// Begins a session as the connection's actor.
    fn begin(&self, task: &str, key: &str) -> Value {
        self.ok("begin", json!({ "task": task, "expected_actor": "agent:ann", "idempotency_key": key }))
    }

    /// Turns the clock of all its processes ahead.
    fn ahead(&self, seconds: i64) {
        std::fs::write(clock(&self.folder), (seconds * 1000).to_string()).expect("a file");
    }

    /// Waits until a session fares like this.
    fn becomes(&self, session: &str, health: &str) -> Value {
        let begun = Instant::now();
        loop {
            let found = self.ok("get_session", json!({ "session": session }));
            if found["health"] == health {
                return found;
            }
            assert!(begun.elapsed() < PATIENCE, "it never became {health}: {found}");
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// The ids of the tasks of a list.
    fn list(&self, filter: Value) -> Vec<String> {
        each(&self.ok("list", filter)["tasks"], "id")
    }
}

fn database(folder: &TempDir) -> PathBuf {
    folder.path().join("docket.db")
}

fn clock(folder: &TempDir) -> PathBuf {
    folder.path().join("clock")
}

fn start(folder: &TempDir, actor: &str) -> Server {
    Server::start_with(&database(folder), &["--surface", "cairn", "--actor", actor], |command| {
        command.env_remove("DOCKET_ACTOR").env_remove("DOCKET_PROJECT").env("DOCKET_CLOCK_FILE", clock(folder));
    })
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_else(|| panic!("no text: {value}")).to_owned()
}

/// The texts that stand at a field of every row.
fn each(rows: &Value, field: &str) -> Vec<String> {
    rows.as_array().unwrap_or_else(|| panic!("no rows: {rows}")).iter().map(|row| text(&row[field])).collect()
}

/// What was done to a task, in order.
fn did(task: &Value) -> Vec<String> {
    each(&task["provenance"], "did")
}
