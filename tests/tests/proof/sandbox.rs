//! What keeps a check from writing elsewhere is told where it matters: in the log of a command that failed by it.

use docket_tests::repository::Repository;
use serde_json::{Value, json};

use super::{checked, results, text};

fn newest_log(repository: &Repository) -> Value {
    let runs = repository.docket_json(&["check", "runs", "PROO-1"]);
    repository.docket_json(&["check", "log", &text(&runs["runs"][0]["id"])])
}

#[test]
fn a_command_that_may_not_write_somewhere_is_told_what_to_do() {
    let outside = tempfile::tempdir().expect("a folder");
    let repository = Repository::new("\"all\"");
    let place = outside.path().join("made");
    let command = format!("touch {}", place.display());
    let agent = repository.server(repository.path(), "cairn", "agent:ann", None);
    let task = checked(&agent, "one", json!([{ "desc": "writes elsewhere", "cmd": command }]));
    let ran = agent.ok("run_checks", json!({ "id": task }));
    let log = newest_log(&repository);
    let confined = log["run"]["sandbox"]
        .as_str()
        .is_some_and(|sandbox| sandbox.contains("landlock") && !sandbox.contains("files open"));
    let hinted = text(&log["text"]).contains("[runner] writable");
    assert_eq!(hinted, confined, "{log}");
    assert_eq!(results(&ran), [if confined { "fail" } else { "pass" }]);
    // Where the operator allows it, it works, and nothing is hinted at.
    let toml = std::fs::read_to_string(repository.path().join("docket.toml")).expect("docket.toml");
    repository.write("docket.toml", &format!("{toml}writable = [\"{}\"]\n", outside.path().display()));
    drop(agent);
    let agent = repository.server(repository.path(), "cairn", "agent:ann", None);
    assert_eq!(results(&agent.ok("run_checks", json!({ "id": task }))), ["pass"]);
    assert!(place.exists() && !text(&newest_log(&repository)["text"]).contains("writable"));
}

#[test]
fn no_log_tells_a_key_or_a_password() {
    let repository = Repository::new("\"all\"");
    let agent = repository.server(repository.path(), "cairn", "agent:ann", None);
    let key = text(&repository.docket_json(&["key", "create", "--profile", "viewer", "--name", "ci"])["secret"]);
    let says = format!("echo using {key}; echo 'DB_PASSWORD=hunter-two'; echo token count 3");
    let task = checked(&agent, "one", json!([{ "desc": "talks", "cmd": says }]));
    agent.ok("run_checks", json!({ "id": task }));
    assert_eq!(newest_log(&repository)["text"], "using [redacted]\nDB_PASSWORD=[redacted]\ntoken count 3\n");
}
