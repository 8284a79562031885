//! P14, with the servers that people run: `docket mcp` and `docket runner` killed the hard way in the middle of a check, and
//! `docket check cancel`. What became of the run is told, and another makes it once its time has passed.

use std::process::{Command, Stdio};
use std::time::Duration;

use docket_tests::program::docket;
use docket_tests::repository::Repository;
use docket_tests::web::{Runner, Web};
use serde_json::{Value, json};

use super::no_process_survives::{FUGITIVES, PROMISED, SHELL, alive, eventually, is_off, left_after, mark};

/// A check that goes on for ever while `clock`, which git ignores, is not there, and leaves somebody who would get away.
fn check(mark: &str) -> Value {
    let (_, script) = FUGITIVES[4];
    let fugitive = script.replace("MARK", mark);
    json!([{ "desc": "it ends", "cmd": format!("[ -e clock ] || {{ {fugitive} while :; do sleep 1; done; }} # {SHELL}"), "timeout": 60 }])
}

fn newest(repository: &Repository) -> Value {
    repository.docket_json(&["check", "runs", "PROO-1"])["runs"][0].clone()
}

fn state(repository: &Repository) -> String {
    newest(repository)["state"].as_str().unwrap_or_default().to_owned()
}

/// Turns the clock of those ahead that look at this file: a run's time has passed, and the minute that its runner is given.
fn later(repository: &Repository) {
    repository.write(".docket/ahead", &Duration::from_secs(60 + 61).as_millis().to_string());
}

#[test]
fn nothing_survives_a_docket_mcp_that_is_killed_and_its_run_is_made_again() {
    let repository = Repository::new("\"all\"");
    let mark = mark();
    let agent = repository.server(repository.path(), "cairn", "agent:ann", None);
    let task = agent.ok("create", json!({ "title": "one", "checks": check(&mark) }))["id"].clone();
    let _asked = agent.ask("tools/call", json!({ "name": "run_checks", "arguments": { "id": task } }));
    eventually("a check that runs", || is_off(&mark, 0));
    agent.kill();
    let left = left_after(PROMISED, &mark, 0);
    assert_eq!(left, 0, "{left} survived the server");
    // Nobody could say so: it counts as running until the time that it was given is over.
    assert_eq!(state(&repository), "running");
    repository.write("clock", "");
    later(&repository);
    let clock = repository.path().join(".docket/ahead");
    let arguments = ["--surface", "cairn", "--actor", "agent:bob"];
    let _next = docket_tests::mcp::Server::try_start_on(&repository.word(), repository.path(), &arguments, |command| {
        command.env_remove("DOCKET_ACTOR").env("DOCKET_CLOCK_FILE", &clock);
    })
    .unwrap_or_else(|_| panic!("the server ended at once"));
    eventually("the run made by another", || state(&repository) == "passed");
    assert!(alive(&mark, 0).is_empty());
}

#[test]
fn nothing_survives_a_docket_runner_that_is_killed_and_another_takes_its_run() {
    let repository = Repository::new("\"all\"");
    let mark = mark();
    let agent = repository.server(repository.path(), "cairn", "agent:ann", None);
    agent.ok("create", json!({ "title": "one", "checks": check(&mark) }));
    drop(agent);
    let web = Web::on(&repository.database(), |_| {});
    let mut runner = Runner::beside(&web);
    web.post("/items/PROO-1/submit", &json!({})).with(200);
    eventually("a check that runs", || is_off(&mark, 0));
    runner.kill();
    let left = left_after(PROMISED, &mark, 0);
    assert_eq!(left, 0, "{left} survived the runner");
    assert_eq!(state(&repository), "running");
    repository.write("clock", "");
    let first = newest(&repository)["runner"].clone();
    // Another is there already and waits: it takes the run when its time is over, and not before.
    let clock = repository.path().join(".docket/ahead");
    let _next = Runner::changed(&web, &["--once"], |command| {
        command.env("DOCKET_CLOCK_FILE", &clock);
    });
    std::thread::sleep(Duration::from_secs(1));
    assert_eq!((state(&repository).as_str(), &newest(&repository)["runner"]), ("running", &first));
    later(&repository);
    let _last = Runner::changed(&web, &[], |command| {
        command.env("DOCKET_CLOCK_FILE", &clock);
    });
    eventually("the run made by another", || state(&repository) == "passed");
    assert_ne!(newest(&repository)["runner"], first, "no two runners have a name in common");
    assert!(alive(&mark, 0).is_empty());
}

#[test]
fn nothing_survives_a_command_line_that_is_killed() {
    for words in [["check", "run", "PROO-1"].as_slice(), &["close", "PROO-1"]] {
        let repository = Repository::new("\"all\"");
        let mark = mark();
        let agent = repository.server(repository.path(), "cairn", "agent:ann", None);
        agent.ok("create", json!({ "title": "one", "checks": check(&mark) }));
        drop(agent);
        let mut command = Command::new(docket());
        command.arg("--db").arg(repository.word()).args(words).current_dir(repository.path());
        command.env_remove("DOCKET_ACTOR").stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        let mut child = command.spawn().expect("the program starts");
        eventually("a check that runs", || is_off(&mark, 0));
        child.kill().expect("killed");
        child.wait().expect("it ends");
        let left = left_after(PROMISED, &mark, 0);
        assert_eq!(left, 0, "{left} survived {words:?}");
        assert_eq!(state(&repository), "running");
    }
}

#[test]
fn nothing_survives_docket_check_cancel() {
    let repository = Repository::new("\"all\"");
    let mark = mark();
    let agent = repository.server(repository.path(), "cairn", "agent:ann", None);
    agent.ok("create", json!({ "title": "one", "checks": check(&mark) }));
    drop(agent);
    let web = Web::on(&repository.database(), |_| {});
    let _runner = Runner::beside(&web);
    web.post("/items/PROO-1/submit", &json!({})).with(200);
    eventually("a check that runs", || is_off(&mark, 0));
    let run = newest(&repository)["id"].as_str().unwrap_or_default().to_owned();
    repository.docket_json(&["check", "cancel", &run]);
    let left = left_after(PROMISED, &mark, 0);
    assert_eq!(left, 0, "{left} survived the wish to cancel");
    assert_eq!(state(&repository), "cancelled");
}
