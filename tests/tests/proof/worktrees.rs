//! Ten agents in ten worktrees, each with work, a heartbeat and a check of its own, and a reviewer that closes.

use docket_tests::repository::{Repository, commit, write};
use serde_json::json;

use super::{checked, results, text};

const AGENTS: usize = 10;

#[test]
fn ten_agents_work_in_parallel_and_a_reviewer_closes_what_is_shown() {
    let repository = Repository::new("\"all\"");
    let planner = repository.server(repository.path(), "cairn", "human:planner", None);
    let check = json!([{ "desc": "it is fixed", "cmd": "sh check.sh" }]);
    let tasks: Vec<String> =
        (0..AGENTS).map(|number| checked(&planner, &format!("part {number}"), check.clone())).collect();
    let places: Vec<_> = (0..AGENTS).map(|number| repository.worktree(&format!("w{number}"))).collect();
    let repository = &repository;
    std::thread::scope(|scope| {
        for (number, (task, place)) in tasks.iter().zip(&places).enumerate() {
            scope.spawn(move || {
                let name = format!("agent:a{number}");
                let agent = repository.server(place, "cairn", &name, None);
                assert_eq!(agent.ok("identity", json!({}))["actor"], name);
                let begin = json!({ "task": task, "expected_actor": name, "idempotency_key": format!("k{number}") });
                let session = text(&agent.ok("begin", begin.clone())["id"]);
                assert_eq!(agent.ok("begin", begin)["id"], session, "a retry begins nothing new");
                let broken = agent.ok("run_checks", json!({ "id": task }));
                assert_eq!(results(&broken), ["fail"], "{name} sees its own worktree");
                agent.ok("heartbeat", json!({ "session": session, "progress": "found it" }));
                write(place, "state", "fixed\n");
                commit(place, "fixed");
                let fixed = agent.ok("run_checks", json!({ "id": task }));
                assert_eq!(results(&fixed), ["pass"]);
                let head = docket_tests::repository::git(place, &["rev-parse", "HEAD"]);
                let finish = json!({ "session": session, "summary": "it is fixed", "head": head });
                let finished = agent.ok("finish", finish);
                assert_eq!(finished["health"], "awaiting_review", "{finished}");
                let shown = agent.ok("get", json!({ "id": task }));
                assert_ne!(shown["status"], "done", "finishing closes nothing");
            });
        }
    });
    // The reviewer looks at each worktree: in the main one nothing is fixed.
    let here = repository.server(repository.path(), "cairn", "human:rita", None);
    let refused = here.err("transition", json!({ "id": tasks[0], "to": "done" }));
    assert!(refused.to_string().contains("checks have not passed"), "{refused}");
    for (task, place) in tasks.iter().zip(&places) {
        let reviewer = repository.server(place, "cairn", "human:rita", None);
        let closed = reviewer.ok("transition", json!({ "id": task, "to": "done" }));
        assert_eq!((&closed["status"], results(&closed)), (&json!("done"), vec!["pass".to_owned()]));
    }
    let sessions = here.ok("list_sessions", json!({}));
    assert_eq!(sessions["sessions"].as_array().map(Vec::len), Some(AGENTS), "{sessions}");
}
