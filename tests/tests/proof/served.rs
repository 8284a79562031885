//! Ten agents over HTTP, in ten work trees beside one server and one runner: the server runs nothing, the runner makes every
//! check in the work tree of the agent that asks, and a reviewer closes what was shown there.

use std::path::PathBuf;
use std::sync::Barrier;
use std::time::{Duration, Instant};

use docket_tests::repository::{Repository, commit, git, write};
use docket_tests::web::{Runner, Web};
use serde_json::{Value, json};

use super::{checked, results, text};

const AGENTS: usize = 10;
/// Long enough for any machine: what is waited for comes or does not.
const PATIENCE: Duration = Duration::from_mins(1);

/// A repository with a preset, whose runner serves every work tree, and whose database is a file or on a server of its own.
fn desk(preset: &str, on_server: bool) -> Repository {
    let repository = if on_server { Repository::on_server("\"all\"") } else { Repository::new("\"all\"") };
    let rules = format!(
        "[project]\nslug = \"proof\"\npreset = \"{preset}\"\n[runner]\nallow = \"all\"\nworktrees = true\njobs = 4\n"
    );
    repository.write("docket.toml", &rules);
    repository.commit("other rules");
    repository
}

fn worktrees(repository: &Repository) -> Vec<PathBuf> {
    (0..AGENTS).map(|number| repository.worktree(&format!("w{number}"))).collect()
}

/// Mends what the check looks at.
fn mend(place: &std::path::Path) {
    write(place, "state", "fixed\n");
    commit(place, "fixed");
}

/// Calls again for as long as the answer is that a runner is still at it: ten agents share four places.
fn patiently(mut call: impl FnMut() -> docket_tests::mcp::Answer) -> docket_tests::mcp::Answer {
    let given_up = Instant::now() + PATIENCE;
    loop {
        let answer = call();
        let told = answer.content.to_string();
        let waits = answer.is_error && (told.contains("still_running") || told.contains("no_runner"));
        if !waits || Instant::now() > given_up {
            return answer;
        }
    }
}

#[test]
fn ten_agents_over_http_work_in_parallel_and_a_reviewer_closes_what_is_shown() {
    in_parallel_and_closed(false);
}

#[test]
fn on_a_server_they_work_in_parallel_too() {
    in_parallel_and_closed(true);
}

fn in_parallel_and_closed(on_server: bool) {
    let repository = desk("cairn", on_server);
    let planner = repository.server(repository.path(), "cairn", "human:planner", None);
    let check = json!([{ "desc": "it is fixed", "cmd": "sh check.sh" }]);
    let tasks: Vec<String> =
        (0..AGENTS).map(|number| checked(&planner, &format!("part {number}"), check.clone())).collect();
    drop(planner);
    let places = worktrees(&repository);
    let web = Web::serving(&repository.word(), repository.path(), |_| {});
    let _runner = Runner::beside(&web);
    let web = &web;
    std::thread::scope(|scope| {
        for (number, (task, place)) in tasks.iter().zip(&places).enumerate() {
            scope.spawn(move || {
                let (name, tree) = (format!("agent:a{number}"), format!("w{number}"));
                let headers = [("x-docket-actor", name.as_str()), ("x-docket-work-tree", tree.as_str())];
                let call = |tool: &str, arguments: Value| web.tool("cairn", &headers, tool, &arguments);
                let ok = |tool: &str, arguments: Value| patiently(|| call(tool, arguments.clone())).ok();
                assert_eq!(ok("identity", json!({}))["actor"], name);
                let begin = json!({ "task": task, "expected_actor": name, "idempotency_key": format!("k{number}") });
                let session = text(&ok("begin", begin.clone())["id"]);
                assert_eq!(ok("begin", begin)["id"], session, "a retry begins nothing new");
                let broken = ok("run_checks", json!({ "id": task }));
                assert_eq!(results(&broken), ["fail"], "{name} sees its own work tree");
                ok("heartbeat", json!({ "session": session, "progress": "found it" }));
                mend(place);
                let fixed = ok("run_checks", json!({ "id": task }));
                assert_eq!(results(&fixed), ["pass"], "{name}: {fixed}");
                let head = git(place, &["rev-parse", "HEAD"]);
                let finished = ok("finish", json!({ "session": session, "summary": "it is fixed", "head": head }));
                assert_eq!(finished["health"], "awaiting_review", "{finished}");
                assert_ne!(ok("get", json!({ "id": task }))["status"], "done", "finishing closes nothing");
            });
        }
    });
    // In the main work tree nothing is fixed: what was shown elsewhere is not shown there.
    let rita = ("x-docket-actor", "human:rita");
    let main = text(&json!(repository.path().file_name().map(|name| name.to_string_lossy().into_owned())));
    let here = [rita, ("x-docket-work-tree", main.as_str())];
    let refused = patiently(|| web.tool("cairn", &here, "transition", &json!({ "id": tasks[0], "to": "done" }))).err();
    assert!(refused.to_string().contains("checks have not passed"), "{refused}");
    for (number, task) in tasks.iter().enumerate() {
        let tree = format!("w{number}");
        let there = [rita, ("x-docket-work-tree", tree.as_str())];
        let closed = patiently(|| web.tool("cairn", &there, "transition", &json!({ "id": task, "to": "done" }))).ok();
        assert_eq!((&closed["status"], results(&closed)), (&json!("done"), vec!["pass".to_owned()]));
    }
    let sessions = web.tool("cairn", &[rita], "list_sessions", &json!({})).ok();
    assert_eq!(sessions["sessions"].as_array().map(Vec::len), Some(AGENTS), "{sessions}");
}

/// The state of a task, once it is one of those that are waited for.
fn until(web: &Web, task: &str, wanted: &str) {
    let given_up = Instant::now() + PATIENCE;
    loop {
        let shown = web.get(&format!("/items/{task}")).with(200);
        if shown["status"] == wanted {
            return;
        }
        assert!(Instant::now() < given_up, "never {wanted}: {shown}");
        std::thread::sleep(Duration::from_millis(100));
    }
}

#[test]
fn ten_agents_over_http_complete_tasks_that_close_when_they_are_shown() {
    complete_and_shown(false);
}

#[test]
fn on_a_server_they_complete_tasks_too() {
    complete_and_shown(true);
}

fn complete_and_shown(on_server: bool) {
    let repository = desk("execution", on_server);
    // The project is made with the rules of the file.
    drop(repository.server(repository.path(), "execution", "human:planner", None));
    let places = worktrees(&repository);
    let web = Web::serving(&repository.word(), repository.path(), |_| {});
    let _runner = Runner::beside(&web);
    let web = &web;
    for number in 0..AGENTS {
        let made = web.post("/items", &json!({ "title": format!("part {number}"), "status": "ready" })).with(201);
        let check = json!([{ "desc": "it is fixed", "cmd": "sh check.sh" }]);
        web.json("PUT", &format!("/items/{}/checks", text(&made["item"]["id"])), &json!({ "checks": check })).with(200);
    }
    // What comes back is found by whoever looks: nobody hands in before all have found something.
    let all_have_one = &Barrier::new(AGENTS);
    let done: Vec<String> = std::thread::scope(|scope| {
        let agents: Vec<_> = places
            .iter()
            .enumerate()
            .map(|(number, place)| {
                scope.spawn(move || {
                    let (name, tree) = (format!("agent:a{number}"), format!("w{number}"));
                    let headers = [("x-docket-actor", name.as_str()), ("x-docket-work-tree", tree.as_str())];
                    let call = |tool: &str, arguments: Value| web.tool("execution", &headers, tool, &arguments);
                    // Whoever is slower takes the next one: there are as many as agents.
                    let found = call("get_next_actionable", json!({ "limit": 20 })).ok();
                    let ids: Vec<String> =
                        found["tasks"].as_array().into_iter().flatten().map(|task| text(&task["id"])).collect();
                    let mine = ids.into_iter().find(|id| !call("claim_task", json!({ "taskId": id })).is_error);
                    all_have_one.wait();
                    let task = mine.unwrap_or_else(|| panic!("{name} found nothing in {found}"));
                    call("update_task_status", json!({ "taskId": task, "status": "in_progress" })).ok();
                    // Handed in before it is mended: it comes back, and is nobody's.
                    let early = call("complete_task", json!({ "taskId": task })).ok();
                    assert_eq!(early["task"]["state"], "needs_review", "{early}");
                    until(web, &task, "in_progress");
                    mend(place);
                    call("claim_task", json!({ "taskId": task })).ok();
                    let learnings = json!([{ "title": format!("part {number}"), "body": "the file says fixed" }]);
                    let handed_in = call("complete_task", json!({ "taskId": task, "learnings": learnings })).ok();
                    assert_eq!(handed_in["verification"]["kind"], "command", "{handed_in}");
                    until(web, &task, "done");
                    task
                })
            })
            .collect();
        agents.into_iter().map(|agent| agent.join().expect("an agent")).collect()
    });
    let different: std::collections::BTreeSet<&String> = done.iter().collect();
    assert_eq!(different.len(), AGENTS, "no task was done twice");
    for (number, task) in done.iter().enumerate() {
        let runs = web.get(&format!("/items/{task}/runs")).with(200);
        let made: Vec<(&str, bool)> = runs["runs"]
            .as_array()
            .into_iter()
            .flatten()
            .map(|run| {
                let place = run["place"].as_str().unwrap_or_default();
                (run["state"].as_str().unwrap_or_default(), place.starts_with(&format!("w{number}@")))
            })
            .collect();
        assert_eq!(made, [("passed", true), ("failed", true)], "the newest first, in its agent's work tree: {runs}");
    }
    let learned = web.get("/knowledge?limit=50").with(200);
    assert_eq!(learned["entries"].as_array().map(Vec::len), Some(AGENTS), "{learned}");
}

#[test]
fn over_http_evidence_counts_for_the_files_that_it_was_about() {
    for on_server in [false, true] {
        let repository = desk("cairn", on_server);
        repository.write("state", "fixed\n");
        let planner = repository.server(repository.path(), "cairn", "human:planner", None);
        checked(&planner, "one", json!([{ "desc": "it is fixed", "cmd": "sh check.sh" }]));
        drop(planner);
        let web = Web::serving(&repository.word(), repository.path(), |_| {});
        let _runner = Runner::beside(&web);
        let patiently = |path: &str, body: Value| {
            let given_up = Instant::now() + PATIENCE;
            loop {
                let reply = web.post(path, &body);
                if reply.status != 503 || Instant::now() > given_up {
                    return reply;
                }
            }
        };
        let close = || patiently("/items/PROO-1/transitions", json!({ "status": "done" }));
        let ran = patiently("/items/PROO-1/checks/run", json!({})).with(200);
        assert_eq!(ran["checks"][0]["status"], "pass", "{ran}");
        repository.write("state", "broken\n");
        assert_eq!(close().reason(409), "refused_by_gate", "closed on evidence about something else");
        let shown = web.get("/items/PROO-1/checks").with(200);
        assert_eq!(shown["checks"][0]["status"], "fail", "it was made again, on what is there: {shown}");
        repository.write("state", "fixed\n");
        assert_eq!(close().with(200)["toStatus"], "done");
    }
}
