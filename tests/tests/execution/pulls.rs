//! Tasks that wait for a pull request: open for a while, merged, closed, and a server that is away.

use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use docket_tests::mcp::Server;
use docket_tests::program::docket;
use docket_tests::repository::Repository;
use serde_json::{Value, json};

use crate::stand::{Says, Stand};
use crate::verification::{begun, status, until};

const PATIENCE: Duration = Duration::from_mins(3);
/// Where these tests have the token.
const VARIABLE: &str = "PULLS_TOKEN";
const NAMED: &str = "github_token_variable = \"PULLS_TOKEN\"";
const MERGED: &[&str] = &["It is merged", "--pull-request", "octo/demo#2"];

/// A repository whose pull requests this server knows.
fn desk(stand: &Stand) -> (Repository, Server) {
    desk_saying(stand, "")
}

/// The same with another line in `[runner]`.
fn desk_saying(stand: &Stand, line: &str) -> (Repository, Server) {
    let repository = Repository::new("\"all\"");
    let rules = "[project]\nslug = \"proof\"\npreset = \"execution\"\n[runner]\nallow = \"all\"\ngithub_api";
    repository.write("docket.toml", &format!("{rules} = \"{}\"\n{line}\n", stand.address));
    repository.commit("other rules");
    let agent = repository.server(repository.path(), "execution", "agent:ann", None);
    (repository, agent)
}

fn newest(repository: &Repository, task: &str) -> Value {
    repository.docket_json(&["check", "runs", task])["runs"][0].clone()
}

/// Waits until the newest run of a task was tried and waits again.
fn until_tried(repository: &Repository, task: &str) -> Value {
    let given_up = Instant::now() + PATIENCE;
    loop {
        let run = newest(repository, task);
        if run["tries"].as_u64().unwrap_or(0) > 0 && run["state"] == "queued" {
            return run;
        }
        assert!(Instant::now() < given_up, "it was never tried: {run}");
        std::thread::sleep(Duration::from_millis(200));
    }
}

#[test]
fn a_task_is_done_by_itself_once_its_pull_request_is_merged() {
    let stand = Stand::start(Says::Open);
    let (repository, agent) = desk(&stand);
    let task = begun(&repository, &agent, "wired", &[MERGED]);
    let done = agent.ok("complete_task", json!({ "taskId": task }));
    assert_eq!((&done["task"]["state"], &done["verificationEtaSec"]), (&json!("needs_review"), &json!(60)));
    let waits = until_tried(&repository, &task);
    assert_eq!((&waits["end"]["how"], waits["nextLookAt"].is_string()), (&json!("not_yet"), true), "{waits}");
    assert_eq!(status(&repository, &task), "needs_review");
    let shown = repository.docket_json(&["check", "list", &task]);
    assert_eq!(shown["checks"][0]["status"], "pending", "it has not failed: {shown}");
    stand.say(Says::Merged);
    until(&repository, &task, "done");
    assert!(stand.asked() >= 2);
    assert_eq!(newest(&repository, &task)["state"], "passed");
}

#[test]
fn a_task_whose_pull_request_is_closed_unmerged_is_work_again() {
    let stand = Stand::start(Says::Closed);
    let (repository, agent) = desk(&stand);
    let task = begun(&repository, &agent, "wired", &[MERGED]);
    agent.ok("complete_task", json!({ "taskId": task }));
    until(&repository, &task, "in_progress");
    assert_eq!(newest(&repository, &task)["state"], "failed");
}

/// A runner that is ended with the test.
struct Runner(Child);

impl Drop for Runner {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// A runner beside the agents, with or without the token.
fn runner(repository: &Repository, token: Option<&str>) -> Runner {
    let mut command = Command::new(docket());
    command.arg("--db").arg(format!("sqlite:{}", repository.database().display())).arg("runner");
    command.current_dir(repository.path()).env_remove(VARIABLE).stdout(Stdio::null()).stderr(Stdio::null());
    if let Some(token) = token {
        command.env(VARIABLE, token);
    }
    Runner(command.spawn().expect("a runner"))
}

#[test]
fn what_is_not_shown_without_a_token_is_no_verdict_and_is_asked_about_again() {
    let stand = Stand::private("the-token", Says::Merged);
    let (repository, agent) = desk(&stand);
    let by_branch: &[&str] = &["It is merged", "--pull-request", "octo/demo@fix"];
    let tasks =
        [begun(&repository, &agent, "by number", &[MERGED]), begun(&repository, &agent, "by branch", &[by_branch])];
    for task in &tasks {
        agent.ok("complete_task", json!({ "taskId": task }));
        let waits = until_tried(&repository, task);
        assert_eq!((&waits["end"]["how"], &waits["end"]["passing"]), (&json!("not_made"), &json!(true)), "{waits}");
        assert!(waits["end"]["why"].as_str().is_some_and(|why| why.contains("github_token_variable")), "{waits}");
        assert_eq!(status(&repository, task), "needs_review", "merged work is not given back");
    }
    // Once the operator names the variable and sets it, the same two are found merged.
    let rules = std::fs::read_to_string(repository.path().join("docket.toml")).expect("docket.toml");
    repository.write("docket.toml", &format!("{rules}{NAMED}\n"));
    drop(agent);
    let _runner = runner(&repository, Some("the-token"));
    for task in &tasks {
        until(&repository, task, "done");
    }
}

#[test]
fn a_token_that_is_named_and_not_set_is_told() {
    let stand = Stand::private("the-token", Says::Merged);
    let (repository, agent) = desk_saying(&stand, NAMED);
    let mut command = Command::new(docket());
    command.arg("--db").arg(format!("sqlite:{}", repository.database().display())).args(["runner", "--once"]);
    let ran = command.current_dir(repository.path()).env_remove(VARIABLE).output().expect("it runs");
    let said = String::from_utf8_lossy(&ran.stderr).into_owned();
    assert_eq!(ran.status.code(), Some(3), "{said}");
    assert!(said.contains(VARIABLE) && said.contains("github_token_variable"), "{said}");
    // An agent's server starts without it, and says what is missing when a pull request is asked about.
    let task = begun(&repository, &agent, "wired", &[MERGED]);
    agent.ok("complete_task", json!({ "taskId": task }));
    let given_up = Instant::now() + PATIENCE;
    while newest(&repository, &task)["end"]["how"] != "not_made" {
        assert!(Instant::now() < given_up, "{}", newest(&repository, &task));
        std::thread::sleep(Duration::from_millis(100));
    }
    let why = newest(&repository, &task)["end"]["why"].clone();
    assert!(why.as_str().is_some_and(|why| why.contains(VARIABLE)), "{why}");
    assert_eq!(stand.asked(), 0, "nobody was asked without what is to be shown");
    // This runner declined it for good: another that can is not it, though both may have the same host and number.
    drop(agent);
    let _runner = runner(&repository, Some("the-token"));
    until(&repository, &task, "done");
}

#[test]
fn a_runner_whose_server_was_away_asks_again_when_it_is_back() {
    let stand = Stand::start(Says::Away(503));
    let (repository, agent) = desk(&stand);
    let task = begun(&repository, &agent, "wired", &[MERGED]);
    drop(agent);
    repository.docket_json(&["--actor", "agent:ann", "submit", &task]);
    let _runner = runner(&repository, None);
    let waits = until_tried(&repository, &task);
    assert_eq!((&waits["end"]["how"], &waits["end"]["passing"]), (&json!("not_made"), &json!(true)), "{waits}");
    assert!(waits["declined"][0]["until"].is_string(), "{waits}");
    assert_eq!(status(&repository, &task), "needs_review");
    stand.say(Says::Away(429));
    std::thread::sleep(Duration::from_secs(1));
    stand.say(Says::Merged);
    until(&repository, &task, "done");
}
