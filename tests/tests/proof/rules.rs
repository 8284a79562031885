//! The rules of `cairn` that tie checks, sessions and provenance together, each as an agent meets it.

use docket_tests::repository::Repository;
use serde_json::{Value, json};

use super::{checked, results, text};

fn provenance(task: &Value) -> Vec<String> {
    task["provenance"].as_array().expect("entries").iter().map(|entry| text(&entry["did"])).collect()
}

#[test]
fn reads_change_nothing_and_every_write_leaves_one_entry() {
    let repository = Repository::new("\"all\"");
    repository.write("state", "fixed\n");
    let agent = repository.server(repository.path(), "cairn", "agent:ann", None);
    let task = checked(&agent, "one", json!([{ "desc": "a", "cmd": "sh check.sh" }, { "desc": "b", "cmd": "true" }]));
    let begin = json!({ "task": task, "expected_actor": "agent:ann", "idempotency_key": "k-1" });
    let mut entries = 1;
    let mut grows_by = |what: &str, by: usize| {
        entries += by;
        let told = provenance(&agent.ok("get", json!({ "id": task })));
        assert_eq!(told.len(), entries, "after {what}: {told:?}");
    };
    grows_by("create", 0);
    let session = text(&agent.ok("begin", begin)["id"]);
    grows_by("begin", 1);
    agent.ok("note", json!({ "id": task, "text": "looking" }));
    grows_by("note", 1);
    agent.ok("run_checks", json!({ "id": task, "only": [0] }));
    grows_by("run_checks", 1);
    agent.ok("run_checks", json!({ "id": task }));
    grows_by("run_checks of two", 1);
    for refused in [json!({ "id": task, "to": "nowhere" }), json!({ "id": task })] {
        agent.err("transition", refused);
    }
    grows_by("what was refused", 0);
    let newest = || repository.docket_json(&["events", "--limit", "1"])["events"][0]["seq"].clone();
    let before = newest();
    for (tool, arguments) in [
        ("identity", json!({})),
        ("list", json!({})),
        ("list", json!({ "ready": true, "status": "backlog", "execution": "active" })),
        ("get", json!({ "id": task })),
        ("get_session", json!({ "session": session })),
        ("list_sessions", json!({ "task": task })),
    ] {
        agent.ok(tool, arguments);
    }
    assert_eq!(newest(), before, "a read left an event");
    agent.ok("finish", json!({ "session": session, "summary": "It works." }));
    grows_by("finish", 1);
    agent.ok("transition", json!({ "id": task, "to": "done" }));
    grows_by("a close whose checks had passed", 1);
}

/// Where it differs: what a close runs is an entry of its own, and a sign of life is none.
#[test]
fn a_close_that_runs_checks_leaves_an_entry_for_them_and_a_heartbeat_none() {
    let repository = Repository::new("\"all\"");
    repository.write("state", "fixed\n");
    let agent = repository.server(repository.path(), "cairn", "agent:ann", None);
    let task = checked(&agent, "one", json!([{ "desc": "a", "cmd": "sh check.sh" }]));
    let begin = json!({ "task": task, "expected_actor": "agent:ann", "idempotency_key": "k-1" });
    let session = text(&agent.ok("begin", begin)["id"]);
    agent.ok("heartbeat", json!({ "session": session, "progress": "looking" }));
    agent.ok("heartbeat", json!({ "session": session }));
    let closed = agent.ok("transition", json!({ "id": task, "to": "done" }));
    let told = provenance(&closed);
    assert_eq!((told[0].as_str(), told.len()), ("created", 4), "{told:?}");
    assert!(told[1].starts_with("began session"), "{told:?}");
    assert_eq!(told[2..], ["ran checks", "transitioned to done"], "{told:?}");
}

#[test]
fn closing_runs_what_has_not_passed_and_nothing_twice() {
    let repository = Repository::new("\"all\"");
    let agent = repository.server(repository.path(), "cairn", "agent:ann", None);
    let checks = json!([{ "desc": "counted", "cmd": "echo ran" }, { "desc": "fixed", "cmd": "sh check.sh" }]);
    let task = checked(&agent, "one", checks);
    agent.ok("run_checks", json!({ "id": task, "only": [0] }));
    let runs = |index: u64| {
        let listed = repository.docket_json(&["check", "runs", "PROO-1"]);
        let rows = listed["runs"].as_array().expect("runs");
        rows.iter().filter(|run| run["check"] == json!(index)).count()
    };
    assert_eq!((runs(0), runs(1)), (1, 0));
    agent.err("transition", json!({ "id": task, "to": "done" }));
    assert_eq!((runs(0), runs(1)), (1, 1), "what had passed was not made again");
    // Another tree: nothing that was shown of the old one counts.
    repository.write("state", "fixed\n");
    let closed = agent.ok("transition", json!({ "id": task, "to": "done" }));
    assert_eq!((text(&closed["status"]), results(&closed)), ("done".to_owned(), vec!["pass".to_owned(); 2]));
    assert_eq!((runs(0), runs(1)), (2, 2));
}

#[test]
fn a_session_is_finished_over_checks_that_fail_and_its_task_is_not_closed_by_it() {
    let repository = Repository::new("\"all\"");
    let agent = repository.server(repository.path(), "cairn", "agent:ann", None);
    let task = checked(&agent, "one", json!([{ "desc": "fixed", "cmd": "sh check.sh" }]));
    let begin = json!({ "task": task, "expected_actor": "agent:ann", "idempotency_key": "k-1" });
    let session = text(&agent.ok("begin", begin)["id"]);
    let finished = agent.ok("finish", json!({ "session": session, "summary": "Not quite.", "head": "main" }));
    assert_eq!((&finished["status"], &finished["health"]), (&json!("finished"), &json!("awaiting_review")));
    let stands = agent.ok("get", json!({ "id": task }));
    assert_eq!((text(&stands["status"]), results(&stands)), ("in_review".to_owned(), vec!["pending".to_owned()]));
    let refused = agent.err("transition", json!({ "id": task, "to": "done" }));
    assert!(refused.to_string().contains("checks have not passed"), "{refused}");
    repository.write("state", "fixed\n");
    assert_eq!(agent.ok("transition", json!({ "id": task, "to": "done" }))["status"], "done");
    let closed = json!({ "task": task, "expected_actor": "agent:ann", "idempotency_key": "k-2" });
    assert_eq!(agent.err("begin", closed)["code"], "CONFLICT", "what is closed is opened first");
}

#[test]
fn a_check_that_takes_longer_than_its_time_fails() {
    let repository = Repository::new("\"all\"");
    let agent = repository.server(repository.path(), "cairn", "agent:ann", None);
    let checks = json!([{ "desc": "slow", "cmd": "sleep 600", "timeout": 1 }, { "desc": "quick", "cmd": "true" }]);
    let task = checked(&agent, "one", checks);
    let run = agent.ok("run_checks", json!({ "id": task }));
    assert_eq!(results(&run), ["fail", "pass"]);
    assert_eq!((&run["checks"][0]["timeout"], run["checks"][1].get("timeout")), (&json!(1), None), "{run}");
}

#[test]
fn a_check_says_what_it_verifies_and_is_of_a_known_sort() {
    let repository = Repository::new("\"all\"");
    let agent = repository.server(repository.path(), "cairn", "agent:ann", None);
    for bad in [
        json!([{ "cmd": "true" }]),
        json!([{ "desc": " ", "cmd": "true" }]),
        json!([{ "desc": "x", "type": "prayer" }]),
        json!([{ "desc": "x", "cmd": "" }]),
        json!([{ "desc": "x", "cmd": "true", "timeout": 0 }]),
        json!([{ "desc": "x", "cmd": "true", "shell": "zsh" }]),
        json!("tests pass"),
    ] {
        let refused = agent.err("create", json!({ "title": "x", "checks": bad }));
        assert_eq!(refused["code"], "VALIDATION", "{bad}: {refused}");
    }
    assert_eq!(agent.ok("list", json!({}))["tasks"], json!([]), "nothing was made");
    let plain = checked(&agent, "by its fields", json!([{ "desc": "looked at" }]));
    assert_eq!(
        agent.ok("get", json!({ "id": plain }))["checks"][0]["type"],
        "manual",
        "without a cmd it is a person's"
    );
}
