//! A database among the files of the work: what is noted in it is no change of the work.

use docket_tests::mcp::Server;
use docket_tests::repository::Repository;
use serde_json::json;

use super::{checked, results};

#[test]
fn a_database_in_the_work_tree_makes_no_result_stale() {
    let repository = Repository::new("\"all\"");
    repository.write("state", "fixed\n");
    repository.commit("fixed");
    // As in the guide: beside the files, and ignored by nothing.
    let start = || {
        let arguments = ["--surface", "cairn", "--actor", "agent:ann"];
        let started = Server::try_start_on("sqlite:work.db", repository.path(), &arguments, |command| {
            command.env_remove("DOCKET_ACTOR");
        });
        started.unwrap_or_else(|_| panic!("the server ended at once"))
    };
    let agent = start();
    let task = checked(&agent, "mend it", json!([{ "desc": "it is fixed", "cmd": "sh check.sh" }]));
    assert!(repository.git(&["status", "--porcelain"]).contains("work.db"), "git sees it");
    let ran = agent.ok("run_checks", json!({ "id": task }));
    assert_eq!(results(&ran), ["pass"]);
    agent.ok("note", json!({ "id": task, "text": "the database is another one by now" }));
    let stands = || {
        let told = repository_json(&repository, &["check", "list", "PROO-1"]);
        told["checks"][0]["status"].as_str().unwrap_or_default().to_owned()
    };
    assert_eq!(stands(), "pass");
    agent.ok("transition", json!({ "id": task, "to": "done" }));
    let runs = || repository_json(&repository, &["check", "runs", "PROO-1"])["runs"].as_array().map(Vec::len);
    assert_eq!(runs(), Some(1), "it was not made again");
    // Committed by mistake, it is none of the work either.
    repository.commit("everything");
    agent.ok("transition", json!({ "id": task, "to": "in_progress" }));
    agent.ok("run_checks", json!({ "id": task }));
    let before = runs();
    agent.ok("transition", json!({ "id": task, "to": "done" }));
    assert_eq!(runs(), before, "it was not made again");
    // The work itself counts as ever.
    repository.write("state", "broken\n");
    agent.ok("transition", json!({ "id": task, "to": "in_progress" }));
    let refused = agent.err("transition", json!({ "id": task, "to": "done" }));
    assert!(refused.to_string().contains("checks have not passed"), "{refused}");
}

fn repository_json(repository: &Repository, words: &[&str]) -> serde_json::Value {
    let mut command = std::process::Command::new(docket_tests::program::docket());
    command.args(["--db", "sqlite:work.db", "--json"]).args(words);
    let ran = command.current_dir(repository.path()).env_remove("DOCKET_ACTOR").output().expect("it runs");
    assert!(ran.status.success(), "{words:?}: {}", String::from_utf8_lossy(&ran.stderr));
    serde_json::from_slice(&ran.stdout).expect("JSON")
}
