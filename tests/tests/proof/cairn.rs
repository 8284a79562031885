//! The verbs that run checks, and the gate that does.

use docket_tests::repository::Repository;
use serde_json::json;

use super::{checked, results, text};

/// The first task of a database, as the command line names it.
const FIRST: &str = "PROO-1";

#[test]
fn a_failing_check_keeps_a_task_open_until_it_passes() {
    let repository = Repository::new("\"all\"");
    let agent = repository.server(repository.path(), "cairn", "agent:ann", None);
    let task = checked(&agent, "mend it", json!([{ "desc": "it is fixed", "cmd": "sh check.sh" }]));
    let refused = agent.err("transition", json!({ "id": task, "to": "done" }));
    assert!(refused.to_string().contains("checks have not passed"), "{refused}");
    let shown = agent.ok("get", json!({ "id": task }));
    assert_eq!((results(&shown), &shown["status"]), (vec!["fail".to_owned()], &json!("backlog")));
    // Why it failed is told, by the refusal too: the run, how it ended, and what it said last.
    let said = json!({ "note": "exit 1", "output": "looking at broken\n" });
    assert_eq!((&shown["checks"][0]["untrusted"], shown["checks"][0]["run"].is_string()), (&said, true), "{shown}");
    assert_eq!((&refused["checks"][0]["untrusted"], &refused["checks"][0]["index"]), (&said, &json!(0)), "{refused}");
    repository.write("state", "fixed\n");
    let closed = agent.ok("transition", json!({ "id": task, "to": "done" }));
    assert_eq!((results(&closed), &closed["status"]), (vec!["pass".to_owned()], &json!("done")));
    let runs = repository.docket_json(&["check", "runs", FIRST]);
    let states: Vec<&str> =
        runs["runs"].as_array().expect("runs").iter().filter_map(|run| run["state"].as_str()).collect();
    assert_eq!(states, ["passed", "failed"], "the newest first");
    let log = repository.docket_json(&["check", "log", runs["runs"][1]["id"].as_str().expect("an id")]);
    assert_eq!(log["text"], "looking at broken\n");
    assert!(log["run"]["sandbox"].is_string(), "what held it is said: {log}");
}

#[test]
fn a_task_is_not_given_up_past_a_failing_check_either() {
    let repository = Repository::new("\"all\"");
    let agent = repository.server(repository.path(), "cairn", "agent:ann", None);
    let task = checked(&agent, "mend it", json!([{ "desc": "it is fixed", "cmd": "sh check.sh" }]));
    let next = agent.ok("create", json!({ "title": "goes on from there", "deps": [task] }));
    let refused = agent.err("transition", json!({ "id": task, "to": "cancelled" }));
    assert!(refused.to_string().contains("checks have not passed"), "{refused}");
    let shown = agent.ok("get", json!({ "id": task }));
    assert_eq!((results(&shown), &shown["status"]), (vec!["fail".to_owned()], &json!("backlog")), "it was run");
    assert_eq!(agent.ok("get", json!({ "id": next["id"] }))["ready"], false);
    repository.write("state", "fixed\n");
    assert_eq!(agent.ok("transition", json!({ "id": task, "to": "cancelled" }))["status"], "cancelled");
    assert_eq!(agent.ok("get", json!({ "id": next["id"] }))["ready"], true);
}

#[test]
fn run_checks_runs_what_is_asked_for_and_moves_nothing() {
    let repository = Repository::new("\"all\"");
    let agent = repository.server(repository.path(), "cairn", "agent:ann", None);
    let checks = json!([
        { "desc": "passes", "cmd": "true" },
        { "desc": "fails", "cmd": "exit 3" },
        { "desc": "seen by a person", "type": "manual" },
        { "desc": "in a folder", "cmd": "test -f here", "cwd": "sub", "timeout": 10 },
    ]);
    std::fs::create_dir(repository.path().join("sub")).expect("a folder");
    repository.write("sub/here", "");
    let task = checked(&agent, "many", checks);
    let shown = agent.ok("get", json!({ "id": task }));
    assert_eq!(shown["checks"][0], json!({ "desc": "passes", "cmd": "true", "cwd": ".", "result": "pending" }));
    assert_eq!(shown["checks"][2], json!({ "desc": "seen by a person", "type": "manual", "result": "pending" }));
    let only = agent.ok("run_checks", json!({ "id": task, "only": [3] }));
    assert_eq!(results(&only), ["pending", "pending", "pending", "pass"]);
    let all = agent.ok("run_checks", json!({ "id": task }));
    assert_eq!(
        (results(&all), &all["status"]),
        (["pass", "fail", "pending", "pass"].map(str::to_owned).to_vec(), &json!("backlog"))
    );
    let bad = agent.err("run_checks", json!({ "id": task, "only": [9] }));
    assert!(bad.to_string().contains("no check 9"), "{bad}");
    let wrong = agent.err("run_checks", json!({ "id": task, "only": ["x"] }));
    assert!(wrong.to_string().contains("only[0]"), "{wrong}");
}

#[test]
fn a_manual_check_waits_for_a_person() {
    let repository = Repository::new("\"all\"");
    let agent = repository.server(repository.path(), "cairn", "agent:ann", None);
    let checks = json!([{ "desc": "reviewed by a human", "type": "manual" }, { "desc": "passes", "cmd": "true" }]);
    let task = checked(&agent, "look at it", checks);
    let refused = agent.err("transition", json!({ "id": task, "to": "done" }));
    assert!(refused.to_string().contains("reviewed by a human"), "{refused}");
    repository.docket_json(&["check", "attest", FIRST, "0=pass", "--note", "read it"]);
    let closed = agent.ok("transition", json!({ "id": task, "to": "done" }));
    assert_eq!(closed["status"], "done");
    // Reopening is free, and what passed still counts.
    let open = agent.ok("transition", json!({ "id": task, "to": "in_progress" }));
    assert_eq!((text(&open["status"]), results(&open)), ("in_progress".to_owned(), vec!["pass".to_owned(); 2]));
}

#[test]
fn what_the_operator_does_not_allow_does_not_run() {
    let repository = Repository::new("[\"true\"]");
    let agent = repository.server(repository.path(), "cairn", "agent:ann", None);
    let checks = json!([{ "desc": "allowed", "cmd": "true" }, { "desc": "not allowed", "cmd": "touch made" }]);
    let task = checked(&agent, "careful", checks);
    let allowed = agent.ok("run_checks", json!({ "id": task, "only": [0] }));
    assert_eq!(results(&allowed), ["pass", "pending"]);
    let refused = agent.err("run_checks", json!({ "id": task, "only": [1] }));
    assert!(refused.to_string().contains("not approved"), "{refused}");
    let refused = agent.err("transition", json!({ "id": task, "to": "done" }));
    assert!(refused.to_string().contains("not approved"), "{refused}");
    assert!(!repository.path().join("made").exists(), "nothing ran");
    // A person who did not write it lets it run, as it is.
    let read = repository.docket_json(&["check", "list", FIRST])["version"].to_string();
    repository.docket_json(&["check", "approve", FIRST, "--if-version", &read]);
    let run = agent.ok("run_checks", json!({ "id": task, "only": [1] }));
    assert_eq!(text(&run["checks"][1]["desc"]), "not allowed");
    assert!(repository.path().join("made").exists(), "it ran");
}

#[test]
fn a_folder_that_leads_out_is_refused_when_it_is_written_and_when_it_is_used() {
    let repository = Repository::new("\"all\"");
    let agent = repository.server(repository.path(), "cairn", "agent:ann", None);
    for cwd in ["..", "/etc", "a/../../b"] {
        let checks = json!([{ "desc": "out", "cmd": "true", "cwd": cwd }]);
        let refused = agent.err("create", json!({ "title": "out", "checks": checks }));
        assert!(
            refused.to_string().contains("outside_worktree") || refused.to_string().contains("inside the repository"),
            "{refused}"
        );
    }
    std::os::unix::fs::symlink("/etc", repository.path().join("link")).expect("a link");
    let task = checked(&agent, "by a link", json!([{ "desc": "out", "cmd": "true", "cwd": "link" }]));
    let run = agent.ok("run_checks", json!({ "id": task }));
    assert_eq!(results(&run), ["fail"]);
    let note = text(&run["checks"][0]["untrusted"]["note"]);
    assert!(note.contains("outside_worktree"), "{run}");
    let end = repository.docket_json(&["check", "runs", FIRST])["runs"][0]["end"].clone();
    assert_eq!((&end["how"], &end["code"]), (&json!("not_started"), &json!("outside_worktree")), "{end}");
}

#[test]
fn only_the_end_of_what_was_said_is_shown() {
    let repository = Repository::new("\"all\"");
    let agent = repository.server(repository.path(), "cairn", "agent:ann", None);
    let loud = "yes out | head -n 5000; echo the end; false";
    let checks: Vec<_> = (0..7).map(|number| json!({ "desc": format!("{number}"), "cmd": loud })).collect();
    let task = checked(&agent, "loud", json!(checks));
    let ran = agent.ok("run_checks", json!({ "id": task }));
    let rows = ran["checks"].as_array().expect("checks");
    let tails: Vec<&str> = rows.iter().filter_map(|row| row["untrusted"]["output"].as_str()).collect();
    assert_eq!(tails.len(), 5, "the others name their run: {ran}");
    assert!(tails.iter().all(|tail| tail.len() <= 2048 && tail.ends_with("the end\n")), "{tails:?}");
    assert_eq!(rows[0]["untrusted"]["output_truncated"], true);
    assert!(rows[6]["run"].is_string() && rows[6]["untrusted"]["note"] == "exit 1", "{ran}");
    let listed = agent.ok("list", json!({}));
    assert!(!listed.to_string().contains("untrusted"), "a list is short: {listed}");
}

#[test]
fn what_a_check_says_and_how_long_it_may_take() {
    let repository = Repository::new("\"all\"");
    let toml = std::fs::read_to_string(repository.path().join("docket.toml")).expect("docket.toml");
    repository.write("docket.toml", &format!("{toml}[workflow]\ncheck_timeout_default = 1\n"));
    let agent = repository.server(repository.path(), "cairn", "agent:ann", None);
    let checks = json!([
        { "desc": "seen by a person", "type": "manual" },
        { "desc": "too slow", "cmd": "echo heard; echo complained >&2; sleep 600" },
        { "desc": "slow enough", "cmd": "sleep 2", "timeout": 60 },
    ]);
    let task = checked(&agent, "one", checks);
    // Only a person's is asked for: nothing is made, and the task is told as it is.
    let ran = agent.ok("run_checks", json!({ "id": task, "only": [0] }));
    assert_eq!((results(&ran), &ran), (vec!["pending".to_owned(); 3], &agent.ok("get", json!({ "id": task }))));
    let ran = agent.ok("run_checks", json!({ "id": task }));
    assert_eq!(results(&ran), ["pending", "fail", "pass"], "{ran}");
    assert_eq!(ran, agent.ok("get", json!({ "id": task })), "the same as `get` shows");
    assert_eq!(ran["checks"][1]["untrusted"]["note"], "timed out", "{ran}");
    let log = repository.docket_json(&["check", "log", &text(&ran["checks"][1]["run"])]);
    assert!(text(&log["text"]).contains("heard") && text(&log["text"]).contains("complained"), "{log}");
}
