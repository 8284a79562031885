//! The native surface `docket` through the real program: each tool and its errors, what it costs, and whose words stand
//! where.
//!
//! Each test has a server and a database of its own. That text and structured content are the same JSON is checked by
//! the client in every call.
#![expect(clippy::needless_pass_by_value, reason = "arguments are made on the spot, for the call alone")]

mod actors;
mod budgets;
mod checks;
mod injection;
mod keys;
mod learning;
mod list;
mod people;
mod planned;
mod reading;
mod retries;
mod scopes;
mod sessions;
mod signs;
mod waiting;
mod working;
mod writing;

use std::path::PathBuf;

use docket_tests::mcp::Server;
use serde_json::{Value, json};
use tempfile::TempDir;

/// A server with a database of its own.
struct World {
    server: Server,
    folder: TempDir,
}

impl World {
    fn new() -> Self {
        Self::with(&[])
    }

    /// With more arguments for the program.
    fn with(arguments: &[&str]) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let server = start(&folder, arguments);
        Self { server, folder }
    }

    /// Another process on the same database.
    fn another(&self, arguments: &[&str]) -> Server {
        start(&self.folder, arguments)
    }

    fn ok(&self, tool: &str, arguments: Value) -> Value {
        self.server.ok(tool, arguments)
    }

    fn err(&self, tool: &str, arguments: Value) -> Value {
        self.server.err(tool, arguments)
    }

    /// Makes items and returns their keys.
    fn plan(&self, items: Value) -> Vec<String> {
        let made = self.ok("plan", json!({ "items": items }));
        each(&made["trusted"]["items"], "key")
    }

    /// Makes an item and returns its key.
    fn item(&self, title: &str) -> String {
        self.plan(json!([{ "title": title }])).remove(0)
    }

    /// Moves an item that must move.
    fn moves(&self, item: &str, to: &str) -> Value {
        self.ok("advance", json!({ "id": item, "to": to }))["trusted"]["moves"][0].clone()
    }

    /// A person signs a criterion off at the command line: no tool does.
    fn signs_off(&self, item: &str, criterion: &str) {
        self.finds(item, &format!("{criterion}=pass"));
    }

    /// A person says how a criterion stands.
    fn finds(&self, item: &str, proof: &str) {
        let database = self.folder.path().join("docket.db");
        let signed = std::process::Command::new(docket_tests::program::docket())
            .args(["--db", &database.display().to_string(), "verify", item, proof, "--as", "human"])
            .output()
            .expect("the program");
        assert!(signed.status.success(), "{}", String::from_utf8_lossy(&signed.stderr));
    }

    /// Hands work in at the command line.
    fn submits(&self, item: &str) {
        let database = self.folder.path().join("docket.db");
        let done = std::process::Command::new(docket_tests::program::docket())
            .args(["--db", &database.display().to_string(), "submit", item])
            .output()
            .expect("the program");
        assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    }

    fn get(&self, item: &str) -> Value {
        self.ok("get", json!({ "id": item }))
    }

    fn status(&self, item: &str) -> String {
        text(&self.get(item)["trusted"]["guard"]["status"])
    }
}

fn start(folder: &TempDir, arguments: &[&str]) -> Server {
    let database: PathBuf = folder.path().join("docket.db");
    let arguments: Vec<&str> = ["--surface", "docket"].into_iter().chain(arguments.iter().copied()).collect();
    Server::start_with(&database, &arguments, |command| {
        command.env_remove("DEGRADED_MODE_POLICY").env_remove("DOCKET_ACTOR");
    })
}

fn agent(id: &str) -> Value {
    json!({ "id": id, "kind": "subagent" })
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_else(|| panic!("no text: {value}")).to_owned()
}

/// The texts that stand at a field of every row.
fn each(rows: &Value, field: &str) -> Vec<String> {
    rows.as_array().unwrap_or_else(|| panic!("no rows: {rows}")).iter().map(|row| text(&row[field])).collect()
}
