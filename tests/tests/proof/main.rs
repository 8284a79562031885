//! Checks that really run: a repository of its own, commands that fail and then pass, agents that work and a reviewer that
//! closes, through the real program.
#![expect(clippy::needless_pass_by_value, reason = "arguments are made on the spot, for the call alone")]

mod cairn;
mod crew;
mod database;
mod mended;
mod native;
mod output;
mod rules;
mod sandbox;
mod served;
mod slow;
mod worktrees;

use docket_tests::mcp::Server;
use serde_json::{Value, json};

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_else(|| panic!("no text: {value}")).to_owned()
}

/// How the checks of a task stand, in order.
fn results(task: &Value) -> Vec<String> {
    let checks = task["checks"].as_array().unwrap_or_else(|| panic!("no checks: {task}"));
    checks.iter().map(|check| text(&check["result"])).collect()
}

/// Makes a task with these checks and returns its id.
fn checked(server: &Server, title: &str, checks: Value) -> String {
    text(&server.ok("create", json!({ "title": title, "checks": checks }))["id"])
}
