//! The `foresttasks` surface through the real program: every row of its tables and every sentence of its rules.
//!
//! Each test has a database of its own. That text and structured content agree is checked by the client in every call.
#![expect(clippy::needless_pass_by_value, reason = "arguments are made on the spot, for the call alone")]

mod briefs;
mod bulk;
mod criteria;
mod errors;
mod flags;
mod kb;
mod lists;
mod parents;
mod projects;
mod protocol;
mod questions;
mod queue;
mod reads;
mod required;
mod retries;
mod scopes;
mod status;
mod trust;
mod work;

use std::path::PathBuf;
use std::process::Command;

use docket_tests::mcp::Server;
use docket_tests::program::docket;
use serde_json::{Value, json};
use tempfile::TempDir;

/// A server with a database of its own.
struct World {
    server: Server,
    folder: TempDir,
}

impl World {
    fn new() -> Self {
        Self::started(&["--actor", "agent:ann"])
    }

    /// With these arguments.
    fn started(arguments: &[&str]) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let server = start(&folder, arguments);
        Self { server, folder }
    }

    /// Another process on the same database, for another actor: `agent:bob`.
    fn actor(&self, actor: &str) -> Server {
        start(&self.folder, &["--actor", actor])
    }

    /// The same database behind another process.
    fn restarted(self) -> Self {
        self.server.kill();
        let server = start(&self.folder, &["--actor", "agent:ann"]);
        Self { server, folder: self.folder }
    }

    /// Runs the program for an operator.
    fn operate(&self, arguments: &[&str]) {
        let mut command = Command::new(docket());
        command.arg("--db").arg(format!("sqlite:{}", database(&self.folder).display())).args(arguments);
        let ran = command.current_dir(self.folder.path()).output().expect("the program");
        assert!(ran.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&ran.stderr));
    }

    fn ok(&self, tool: &str, arguments: Value) -> Value {
        self.server.ok(tool, arguments)
    }

    fn err(&self, tool: &str, arguments: Value) -> Value {
        self.server.err(tool, arguments)
    }

    /// The code of a call that must fail.
    fn code(&self, tool: &str, arguments: Value) -> String {
        text(&self.err(tool, arguments)["code"])
    }

    /// Makes a task that is ready to be worked on, and returns its id.
    fn task(&self, title: &str) -> String {
        self.made(json!({ "title": title, "status": "ready" }))
    }

    /// Makes a task with these fields and returns its id.
    fn made(&self, mut task: Value) -> String {
        task["action"] = json!("create");
        text(&self.ok("task", task)["task"]["id"])
    }

    /// Makes a ready task beneath another.
    fn child(&self, parent: &str, title: &str) -> String {
        self.made(json!({ "title": title, "status": "ready", "parentTaskId": parent }))
    }

    /// Moves a task that must move.
    fn to(&self, task: &str, status: &str) -> Value {
        self.ok("task", json!({ "action": "status", "id": task, "status": status }))
    }

    /// The failure of a move that must not be made.
    fn not_to(&self, task: &str, status: &str) -> Value {
        self.err("task", json!({ "action": "status", "id": task, "status": status }))
    }

    /// Brings a ready task to its end.
    fn finish(&self, task: &str) {
        for status in ["in_progress", "in_review", "done"] {
            self.to(task, status);
        }
    }

    /// A task as `get_task` shows it.
    fn get(&self, task: &str) -> Value {
        self.ok("get_task", json!({ "id": task }))
    }

    fn guard(&self, task: &str) -> Value {
        self.get(task)["guard"].clone()
    }

    fn status(&self, task: &str) -> String {
        text(&self.guard(task)["status"])
    }

    /// The ids of the tasks that can be claimed, the best first.
    fn queue(&self) -> Vec<String> {
        each(&self.ok("find", json!({ "action": "queue" }))["queue"], "id")
    }

    /// Relates two tasks.
    fn relate(&self, from: &str, kind: &str, to: &str) {
        self.ok("annotate", json!({ "type": "relation", "fromTaskId": from, "kind": kind, "toTaskId": to }));
    }

    /// Gives a task these acceptance criteria.
    fn criteria(&self, task: &str, criteria: Value) -> Value {
        let patch = json!({ "acceptanceCriteria": criteria });
        self.ok("contract", json!({ "action": "brief_merge", "id": task, "patch": patch }))
    }

    /// Records what was found of a criterion.
    fn verify(&self, task: &str, criterion: &str, status: &str) -> Value {
        let verify =
            json!({ "action": "verify_criterion", "taskId": task, "criterionId": criterion, "status": status });
        self.ok("contract", verify)
    }

    /// Claims a task.
    fn begin(&self, task: &str) -> Value {
        self.ok("work", json!({ "phase": "start", "id": task }))
    }
}

fn database(folder: &TempDir) -> PathBuf {
    folder.path().join("docket.db")
}

fn start(folder: &TempDir, arguments: &[&str]) -> Server {
    let arguments: Vec<&str> = ["--surface", "foresttasks"].into_iter().chain(arguments.iter().copied()).collect();
    Server::start_with(&database(folder), &arguments, |command| {
        command.env_remove("DOCKET_ACTOR").env_remove("DOCKET_PROJECT");
    })
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_else(|| panic!("no text: {value}")).to_owned()
}

/// The names of an object's fields, sorted.
fn names(value: &Value) -> Vec<&str> {
    let mut names: Vec<&str> =
        value.as_object().unwrap_or_else(|| panic!("no object: {value}")).keys().map(String::as_str).collect();
    names.sort_unstable();
    names
}

/// The texts that stand at a field of every row.
fn each(rows: &Value, field: &str) -> Vec<String> {
    rows.as_array().unwrap_or_else(|| panic!("no rows: {rows}")).iter().map(|row| text(&row[field])).collect()
}
