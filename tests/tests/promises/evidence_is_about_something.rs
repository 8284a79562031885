//! P10: evidence counts only for what it was about: its check as it says it, its criterion as it says it, the files as
//! they are.

use docket_tests::repository::Repository;
use serde_json::{Value, json};

use crate::fleet::must_fail_with;

fn result(task: &Value) -> &str {
    task["checks"][0]["result"].as_str().unwrap_or_default()
}

/// What somebody does to the files.
type Change = fn(&Repository);

/// A check passes; then the files change so that it would not; then the task is closed.
fn experiment(plant: Option<&str>) {
    let repository = Repository::new("\"all\"");
    let agent = repository.server(repository.path(), "cairn", "agent:ann", plant);
    let checks = json!([{ "desc": "it is fixed", "cmd": "sh check.sh" }]);
    let make = || {
        let made = agent.ok("create", json!({ "title": "prove it", "checks": checks }));
        made["id"].as_str().expect("an id").to_owned()
    };
    let changes: [(&str, Change); 6] = [
        ("a file that git knows", |repository| repository.write("state", "broken\n")),
        ("a commit", |repository| {
            repository.write("state", "broken\n");
            repository.commit("broken again");
        }),
        ("a file that git does not know yet", |repository| {
            repository.write("check.sh", "test ! -e new\n");
            repository.write("new", "");
        }),
        ("a file that is gone", |repository| {
            std::fs::remove_file(repository.path().join("state")).expect("it is there");
        }),
        ("a file that git is told to take as unchanged", |repository| {
            repository.git(&["update-index", "--assume-unchanged", "state"]);
            repository.write("state", "broken\n");
        }),
        ("a file that git is told to pass over", |repository| {
            repository.git(&["update-index", "--skip-worktree", "state"]);
            repository.write("state", "broken\n");
        }),
    ];
    for (what, change) in changes {
        repository.write("check.sh", "test \"$(cat state)\" = fixed && test ! -e new\n");
        repository.write("state", "fixed\n");
        repository.git(&["update-index", "--no-assume-unchanged", "state"]);
        let _ = std::fs::remove_file(repository.path().join("new"));
        let task = make();
        let run = agent.ok("run_checks", json!({ "id": task }));
        assert_eq!(result(&run), "pass", "{what}");
        change(&repository);
        let closing = agent.call("transition", json!({ "id": task, "to": "done" })).expect("a server");
        assert!(closing.is_error, "{what}: closed on evidence about something else");
        let shown = agent.ok("get", json!({ "id": task }));
        assert_eq!(result(&shown), "fail", "{what}: it was run again, on what is there");
    }
}

#[test]
fn evidence_counts_for_the_files_that_it_was_about() {
    experiment(None);
}

#[test]
fn and_a_tree_that_is_not_compared_would_be_seen() {
    must_fail_with(&["closed on evidence about something else"], || experiment(Some("tree-not-compared")));
}

#[test]
fn evidence_counts_for_the_check_that_it_was_about() {
    let repository = Repository::new("\"all\"");
    repository.write("state", "fixed\n");
    let agent = repository.server(repository.path(), "cairn", "agent:ann", None);
    let made =
        agent.ok("create", json!({ "title": "prove it", "checks": [{ "desc": "it is fixed", "cmd": "sh check.sh" }] }));
    let task = made["id"].as_str().expect("an id").to_owned();
    assert_eq!(result(&agent.ok("run_checks", json!({ "id": task }))), "pass");
    repository.write(".docket/checks.json", "[{\"desc\": \"it is fixed\", \"cmd\": \"false\"}]");
    repository.docket_json(&["check", "set", "PROO-1", "--file", ".docket/checks.json"]);
    assert_eq!(result(&agent.ok("get", json!({ "id": task }))), "pending", "an edit voids the result");
    agent.err("transition", json!({ "id": task, "to": "done" }));
    assert_eq!(result(&agent.ok("get", json!({ "id": task }))), "fail");
}

#[test]
fn evidence_counts_for_the_words_that_it_was_about() {
    let repository = Repository::new("\"all\"");
    repository.write("docket.toml", "[project]\nslug = \"proof\"\npreset = \"standard\"\n[runner]\nallow = \"all\"\n");
    repository.write("state", "fixed\n");
    repository.commit("fixed");
    let docket = |words: &[&str]| repository.docket_json(words);
    let says = |words: &str| {
        let criterion = json!({ "id": "c1", "text": words, "verifier": "check" });
        let brief = json!({ "objective": "it works", "acceptanceCriteria": [criterion] });
        repository.write(".docket/brief.json", &brief.to_string());
        docket(&["brief", "set", "PROO-1", "--file", ".docket/brief.json"]);
    };
    let stands = || {
        let verdict = docket(&["verdict", "PROO-1"]);
        verdict["criteria"][0]["status"].as_str().unwrap_or_else(|| panic!("no criterion: {verdict}")).to_owned()
    };
    docket(&["item", "add", "prove it", "--criterion", "The file says fixed."]);
    docket(&["check", "add", "PROO-1", "it is fixed", "--cmd", "sh check.sh", "--proves", "c1"]);
    docket(&["start", "PROO-1"]);
    docket(&["check", "run", "PROO-1"]);
    assert_eq!(stands(), "pass");
    says("The file says fixed, and says so twice.");
    assert_eq!(stands(), "stale", "it was shown of other words");
    let closing = repository.docket(repository.path(), &["advance", "PROO-1", "complete", "--json"]);
    let said = String::from_utf8_lossy(&closing.stderr).into_owned();
    assert!(!closing.status.success(), "closed on evidence about other words");
    assert!(said.contains("c1") && said.contains("(stale, check)"), "{said}");
    // Made anew it is about these words.
    docket(&["check", "run", "PROO-1"]);
    assert_eq!(stands(), "pass");
    docket(&["close", "PROO-1"]);
}
