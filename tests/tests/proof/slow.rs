//! Checks that take longer than a caller over HTTP waits: nothing is made twice, and nothing is lost.

use std::time::{Duration, Instant};

use docket_tests::repository::Repository;
use docket_tests::web::{Reply, Runner, Web};
use serde_json::{Value, json};

use super::{checked, results, text};

/// Long enough for any machine: what is waited for comes or does not.
const PATIENCE: Duration = Duration::from_mins(3);
/// How long a call over HTTP waits for checks, and what a machine that does much else may need beyond that.
const WAITED: std::ops::Range<Duration> = Duration::from_secs(19)..Duration::from_secs(45);

/// Runs until the file `clock` is there, which git ignores.
const SLOW: &str = "while [ ! -e clock ]; do sleep 0.1; done";

/// A server and its runner beside a repository, with tasks that have this check.
fn desk(check: &str, tasks: usize) -> (Repository, Web, Runner, Vec<String>) {
    let repository = Repository::new("\"all\"");
    let rules = "[project]\nslug = \"proof\"\npreset = \"cairn\"\n[runner]\nallow = \"all\"\njobs_per_worktree = 4\n";
    repository.write("docket.toml", rules);
    repository.commit("other rules");
    let planner = repository.server(repository.path(), "cairn", "human:planner", None);
    let check = json!([{ "desc": "it ends", "cmd": check }]);
    let tasks = (0..tasks).map(|number| checked(&planner, &format!("part {number}"), check.clone())).collect();
    drop(planner);
    let web = Web::on(&repository.database(), |_| {});
    let runner = Runner::with(&web, &["--jobs", "4"]);
    (repository, web, runner, tasks)
}

/// Calls a tool of `cairn` as somebody who wants to be told how far it is.
fn call(web: &Web, tool: &str, arguments: &Value) -> Reply {
    let call = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call",
        "params": { "name": tool, "arguments": arguments, "_meta": { "progressToken": "p" } } });
    let headers = [("accept", "application/json, text/event-stream"), ("x-docket-actor", "agent:ann")];
    web.to("POST", "/mcp/cairn", &headers, Some(call.to_string().as_bytes()))
}

/// The messages of an answer that is a stream: what was told meanwhile, and the answer.
fn told(reply: &Reply) -> (Vec<Value>, Value) {
    assert_eq!((reply.status, reply.header("content-type")), (200, "text/event-stream"));
    let text = String::from_utf8_lossy(&reply.body).into_owned();
    let mut messages: Vec<Value> = text
        .lines()
        .filter_map(|line| line.strip_prefix("data:"))
        .filter_map(|data| serde_json::from_str(data.trim()).ok())
        .collect();
    let answer = messages.pop().unwrap_or_else(|| panic!("nothing was answered: {text}"));
    (messages, answer["result"]["structuredContent"].clone())
}

/// The runs of the task that was made as this one, by the short key that the command line takes.
fn runs(repository: &Repository, number: usize) -> Vec<Value> {
    repository.docket_json(&["check", "runs", &format!("PROO-{number}")])["runs"]
        .as_array()
        .cloned()
        .unwrap_or_default()
}

#[test]
fn a_check_that_outlasts_its_caller_is_made_once_and_its_result_is_found() {
    let (repository, web, _runner, tasks) = desk(SLOW, 2);
    let (web, tasks) = (&web, &tasks);
    std::thread::scope(|scope| {
        for (tool, arguments, task) in [
            ("run_checks", json!({ "id": tasks[0] }), &tasks[0]),
            ("transition", json!({ "id": tasks[1], "to": "done" }), &tasks[1]),
        ] {
            scope.spawn(move || {
                let begun = Instant::now();
                let (meanwhile, answer) = told(&call(web, tool, &arguments));
                assert!(WAITED.contains(&begun.elapsed()), "{tool} waited for {:?}", begun.elapsed());
                // Whoever waits is told that it goes on.
                assert!(meanwhile.len() >= 2, "{tool}: {meanwhile:?}");
                for message in &meanwhile {
                    assert_eq!(
                        (&message["method"], &message["params"]["progressToken"]),
                        (&json!("notifications/progress"), &json!("p")),
                        "{tool}"
                    );
                }
                let error = &answer["error"];
                assert_eq!(
                    (&error["reason"], &error["kind"]),
                    (&json!("still_running"), &json!("transient")),
                    "{tool}: {answer}"
                );
                let shown = web.tool("cairn", &[], "get", &json!({ "id": task })).ok();
                assert!(shown["checks"][0]["under_way"].is_string(), "{tool}: {shown}");
                assert_eq!((results(&shown), &shown["status"]), (vec!["pending".to_owned()], &json!("backlog")));
            });
        }
    });
    let error = web.tool("cairn", &[], "get", &json!({ "id": "nothing" })).err();
    assert_ne!(error["reason"], "still_running");
    repository.write("clock", "");
    // Who ran them reads what came of it, as it was told to; who closes calls again, and joins what is made.
    let given_up = Instant::now() + PATIENCE;
    let shown = loop {
        let shown = web.tool("cairn", &[], "get", &json!({ "id": tasks[0] })).ok();
        if shown["checks"][0].get("under_way").is_none() {
            break shown;
        }
        assert!(Instant::now() < given_up, "it never ended: {shown}");
        std::thread::sleep(Duration::from_millis(100));
    };
    assert_eq!(results(&shown), ["pass"], "{shown}");
    let closed = web.tool("cairn", &[], "transition", &json!({ "id": tasks[1], "to": "done" })).ok();
    assert_eq!(closed["status"], "done");
    for number in 1..=tasks.len() {
        let made = runs(&repository, number);
        let passed: Vec<&Value> = made.iter().filter(|run| run["end"]["how"] == "exited").collect();
        assert_eq!(passed.len(), 1, "it was made once: {made:?}");
    }
}

#[test]
fn whoever_waited_in_vain_is_told_not_to_run_it_again() {
    let (_repository, web, runner, tasks) = desk("true", 1);
    drop(runner);
    let (_, answer) = told(&call(&web, "run_checks", &json!({ "id": tasks[0] })));
    let error = &answer["error"];
    assert_eq!(error["reason"], "no_runner", "{answer}");
    let message = text(&error["message"]);
    for words in ["`docket runner`", "Do not run them again", "`get` shows `under_way`"] {
        assert!(message.contains(words), "{words}: {message}");
    }
    // It waits, and whoever begins to make checks makes this one.
    let _runner = Runner::beside(&web);
    let given_up = Instant::now() + PATIENCE;
    while results(&web.tool("cairn", &[], "get", &json!({ "id": tasks[0] })).ok()) != ["pass"] {
        assert!(Instant::now() < given_up, "it was never made");
        std::thread::sleep(Duration::from_millis(100));
    }
}

#[test]
fn callers_of_cairn_are_told_which_check_runs() {
    let repository = Repository::new("\"all\"");
    let agent = repository.server(repository.path(), "cairn", "agent:ann", None);
    let steps = |tool: &str, arguments: Value| {
        let call = json!({ "name": tool, "arguments": arguments, "_meta": { "progressToken": "p" } });
        let (_, answer) = agent.ask("tools/call", call);
        answer.recv_timeout(PATIENCE).expect("an answer");
        let mut heard = Vec::new();
        while let Some(message) = agent.hear(Duration::from_millis(10)) {
            assert_eq!(message["method"], "notifications/progress", "{message}");
            heard.push(text(&message["params"]["message"]));
        }
        heard.retain(|step| step != "still under way");
        heard
    };
    let task = checked(&agent, "zebra", json!([{ "desc": "zebra", "cmd": "sh check.sh" }]));
    let told = |state: &str| vec!["check 0: run 1 of 1 begins".to_owned(), format!("check 0: {state}")];
    assert_eq!(steps("run_checks", json!({ "id": task })), told("failed"));
    repository.write("state", "fixed\n");
    assert_eq!(steps("transition", json!({ "id": task, "to": "done" })), told("passed"));
    // And of the native surface, where work is finished.
    let native = repository.server(repository.path(), "docket", "subagent:a", None);
    let made = native.ok("plan", json!({ "items": [{ "title": "Mend it" }] }));
    let key = text(&made["trusted"]["items"][0]["key"]);
    native.ok("contract", json!({ "id": key, "checks": [{ "desc": "zebra", "cmd": "sh check.sh" }] }));
    native.ok("work", json!({ "phase": "start", "id": key }));
    let finish = json!({ "phase": "finish", "id": key, "to": "done" });
    let call = json!({ "name": "work", "arguments": finish, "_meta": { "progressToken": "p" } });
    let (_, answer) = native.ask("tools/call", call);
    let done = answer.recv_timeout(PATIENCE).expect("an answer");
    let mut heard = Vec::new();
    while let Some(message) = native.hear(Duration::from_millis(10)) {
        heard.push(text(&message["params"]["message"]));
    }
    heard.retain(|step| step != "still under way");
    assert_eq!(heard, told("passed"), "{done}");
}
