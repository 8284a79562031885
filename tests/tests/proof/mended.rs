//! A real program with a real test: a crate whose test fails, a script that works as an agent does by the command line and mends
//! the source, the same test that passes then, and a reviewer who closes.

use std::process::Command;

use docket_tests::program::docket;
use docket_tests::repository::Repository;
use serde_json::{Value, json};

use super::{checked, results, text};

const TASK: &str = "PROO-1";

const MANIFEST: &str = "[package]\nname = \"sums\"\nversion = \"0.1.0\"\nedition = \"2021\"\n\n[workspace]\n";
/// Written by nobody's build: what a check adds to the work tree counts for nothing.
const LOCK: &str = "version = 4\n\n[[package]]\nname = \"sums\"\nversion = \"0.1.0\"\n";
const SOURCE: &str = "\
pub fn sum(numbers: &[i64]) -> i64 {
    numbers.iter().skip(1).sum()
}

#[test]
fn every_number_counts() {
    assert_eq!(sum(&[1, 2, 3]), 6);
}
";

/// What an agent does: begins, looks, mends, says how far it is, shows it, and hands over.
const AGENT: &str = r#"
set -eu
session=$(docket session begin PROO-1 --json | sed -n 's/.*"id": "\([0-9A-Z]*\)".*/\1/p' | head -n 1)
docket check run PROO-1 > seen.log && exit 1
docket session heartbeat "$session" "the first number is left out" --percent 50
sed -i 's/\.skip(1)//' src/lib.rs
docket check run PROO-1 >> seen.log
git -c user.name=t -c user.email=t@example.org commit --quiet --all --message "every number counts"
docket session finish "$session" "every number counts" --head "$(git rev-parse HEAD)"
"#;

fn crate_with_a_mistake() -> Repository {
    let repository = Repository::new("[\"cargo test --offline --locked\"]");
    std::fs::create_dir(repository.path().join("src")).expect("a folder");
    repository.write("Cargo.toml", MANIFEST);
    repository.write("Cargo.lock", LOCK);
    repository.write("src/lib.rs", SOURCE);
    repository.write(".gitignore", ".docket/\ntarget/\nseen.log\n");
    repository.commit("sums");
    repository
}

/// The states of the runs of the task, the newest first, and what the first of them said.
fn runs(repository: &Repository) -> (Vec<String>, String) {
    let found = repository.docket_json(&["check", "runs", TASK]);
    let runs = found["runs"].as_array().expect("runs");
    let states = runs.iter().map(|run| text(&run["state"])).collect();
    let log = |run: &Value| text(&repository.docket_json(&["check", "log", &text(&run["id"])])["text"]);
    (states, runs.last().map(log).unwrap_or_default())
}

#[test]
fn a_test_that_fails_is_mended_by_an_agent_and_closed_by_a_reviewer() {
    let repository = crate_with_a_mistake();
    let planner = repository.server(repository.path(), "cairn", "human:planner", None);
    let check = json!([{ "desc": "the tests pass", "cmd": "cargo test --offline --locked", "timeout": 600 }]);
    let task = checked(&planner, "Sums are too small", check);
    let refused = planner.err("transition", json!({ "id": task, "to": "done" }));
    assert!(refused.to_string().contains("every_number_counts"), "the test itself says why: {refused}");
    // The agent has the program by its name, and nothing else of the tests.
    let path = std::env::var("PATH").unwrap_or_default();
    let path = format!("{}:{path}", link_to(docket(), &repository).display());
    let mut agent = Command::new("sh");
    agent.args(["-c", AGENT]).current_dir(repository.path()).env("PATH", path);
    agent.env("DOCKET_ACTOR", "agent:ann").env("DOCKET_DB", repository.word());
    agent.env("GIT_CONFIG_GLOBAL", "/dev/null").env_remove("DOCKET_PROJECT");
    let ran = agent.output().expect("it runs");
    let said = format!("{}{}", String::from_utf8_lossy(&ran.stdout), String::from_utf8_lossy(&ran.stderr));
    assert!(
        ran.status.success(),
        "{said}{}",
        std::fs::read_to_string(repository.path().join("seen.log")).unwrap_or_default()
    );
    let (states, first) = runs(&repository);
    // Asked for once more on the same files, it was not made again.
    assert_eq!(states, ["passed", "failed"], "{first}");
    assert!(first.contains("test every_number_counts ... FAILED"), "{first}");
    let shown = planner.ok("get", json!({ "id": task }));
    assert_eq!((&shown["status"], results(&shown)), (&json!("in_review"), vec!["pass".to_owned()]));
    let reviewer = repository.server(repository.path(), "cairn", "human:rita", None);
    let closed = reviewer.ok("transition", json!({ "id": task, "to": "done" }));
    assert_eq!((&closed["status"], runs(&repository).0.len()), (&json!("done"), 2), "it was not made again");
    let sessions = reviewer.ok("list_sessions", json!({ "task": task }));
    assert_eq!(sessions["sessions"][0]["summary"], "every number counts", "{sessions}");
}

/// A folder in which the program has its own name, whatever the file is called.
fn link_to(program: &std::path::Path, repository: &Repository) -> std::path::PathBuf {
    let folder = repository.path().join(".docket/bin");
    std::fs::create_dir(&folder).expect("a folder");
    std::os::unix::fs::symlink(program, folder.join("docket")).expect("a link");
    folder
}
