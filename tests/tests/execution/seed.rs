//! What the surface promises, a sentence a test: who may call what, what a repeat answers, what is shown and what is cut.

use docket_tests::repository::Repository;
use serde_json::{Value, json};

use crate::World;
use crate::verification::{begun, desk, status};

/// A name for a request.
fn named(number: u32) -> String {
    format!("00000000-0000-4000-8000-{number:012}")
}

#[test]
fn a_repeat_is_answered_unchanged_and_another_body_is_refused() {
    let world = World::new();
    let (task, other) = (world.task("work", &["--description", "at length"]), world.task("other", &[]));
    let claim = json!({ "taskId": task, "requestId": named(1) });
    let claimed = world.ann.ok("claim_task", claim.clone());
    assert_eq!(claimed["task"]["description"], "at length", "what is claimed is shown whole");
    let begin = json!({ "taskId": task, "status": "in_progress", "note": "on it", "requestId": named(2) });
    let moved = world.ann.ok("update_task_status", begin.clone());
    let beat = world.ann.ok("update_task_status", json!({ "taskId": task, "status": "in_progress" }));
    assert_ne!(beat["lease"]["expiresAt"], moved["lease"]["expiresAt"]);
    assert_eq!(world.ann.ok("claim_task", claim), claimed, "as it was answered, though it is in progress by now");
    assert_eq!(world.ann.ok("update_task_status", begin), moved);
    let end = json!({ "taskId": task, "output": "works", "requestId": named(3) });
    let done = world.ann.ok("complete_task", end.clone());
    // The name is that of calls of one tool.
    let also = world.ann.ok("claim_task", json!({ "taskId": other, "requestId": named(3) }));
    assert_eq!(also["task"]["id"], json!(other), "{also}");
    world.operate(&["advance", &task, "reopen"]);
    assert_eq!(world.ann.ok("complete_task", end), done, "as it was answered, though it was opened again");
    for (tool, arguments) in [
        ("claim_task", json!({ "taskId": other, "requestId": named(1) })),
        ("claim_task", json!({ "taskId": task, "requestId": named(3) })),
        ("update_task_status", json!({ "taskId": task, "status": "needs_review", "requestId": named(2) })),
        ("complete_task", json!({ "taskId": task, "output": "else", "requestId": named(3) })),
    ] {
        let refused = world.ann.err(tool, arguments);
        assert_eq!(
            (&refused["reason"], &refused["field"]),
            (&json!("request_id_reused"), &json!("requestId")),
            "{tool}"
        );
    }
}

#[test]
fn only_two_statuses_can_be_said() {
    let world = World::new();
    let task = world.task("work", &[]);
    world.ann.ok("claim_task", json!({ "taskId": task }));
    for bad in ["done", "ready", "claimed", "cancelled", "IN_PROGRESS", ""] {
        let refused = world.ann.err("update_task_status", json!({ "taskId": task, "status": bad }));
        assert_eq!((&refused["code"], &refused["field"]), (&json!("validation.failed"), &json!("status")), "{bad}");
    }
    assert_eq!(world.ann.ok("claim_task", json!({ "taskId": task }))["task"]["state"], "claimed");
}

#[test]
fn a_heartbeat_keeps_its_note_and_extends_the_lease_unless_told_not_to() {
    let world = World::new();
    let task = world.task("work", &[]);
    world.ann.ok("claim_task", json!({ "taskId": task, "leaseSec": 60 }));
    let say = |note: Value, heartbeat: Value| {
        let mut sent = json!({ "taskId": task, "status": "in_progress" });
        for (name, value) in [("note", note), ("heartbeat", heartbeat)] {
            if !value.is_null() {
                sent[name] = value;
            }
        }
        world.ann.ok("update_task_status", sent)["lease"].clone()
    };
    let begun = say(Value::Null, Value::Null);
    assert_eq!(begun["leaseSec"], 60, "as long as it was asked for");
    assert_eq!(say(Value::Null, json!(false)), begun, "told not to");
    let beat = say(json!("half way"), Value::Null);
    assert!(beat["expiresAt"].as_str() > begun["expiresAt"].as_str(), "{beat} after {begun}");
    let comments = world.operate(&["comment", &task]);
    assert!(comments.to_string().contains("half way"), "{comments}");
}

#[test]
fn what_is_handed_over_is_made_and_what_was_learned_still_comes() {
    let (repository, agent) = desk();
    let task = begun(&repository, &agent, "looked at", &[&["Ann likes it"]]);
    let over = agent.ok("update_task_status", json!({ "taskId": task, "status": "needs_review", "note": "look" }));
    assert_eq!((&over["task"]["state"], &over["lease"]), (&json!("needs_review"), &Value::Null), "nobody holds it");
    let bob = repository.server(repository.path(), "execution", "agent:bob", None);
    assert_eq!(bob.err("complete_task", json!({ "taskId": task }))["code"], "task.already_claimed");
    let learnings = json!([{ "title": "Ann", "body": "likes short errors" }]);
    let done = agent.ok("complete_task", json!({ "taskId": task, "learnings": learnings }));
    assert_eq!((&done["task"]["state"], &done["verification"]["kind"]), (&json!("needs_review"), &json!("manual")));
    let entry = done["knowledgeEntryIds"][0].as_str().expect("an entry");
    assert_eq!(repository.docket_json(&["knowledge", "show", entry])["sourceItem"], json!(task));
    repository.docket_json(&["check", "attest", &task, "0=pass"]);
    assert_eq!(status(&repository, &task), "done", "it closes by itself when it is shown");
}

#[test]
fn a_task_is_completed_straight_from_its_claim_whatever_it_owes() {
    let (repository, agent) = desk();
    for (title, checks, state) in
        [("free", &[][..], "done"), ("owing", &[&["A person likes it"][..]][..], "needs_review")]
    {
        let task = made(&repository, title, checks);
        agent.ok("claim_task", json!({ "taskId": task }));
        let done = agent.ok("complete_task", json!({ "taskId": task, "output": "works" }));
        assert_eq!(done["task"]["state"], state, "{title}");
    }
}

fn made(repository: &Repository, title: &str, checks: &[&[&str]]) -> String {
    let made = repository.docket_json(&["item", "add", title]);
    let id = made.pointer("/items/0/item/id").or(made.pointer("/item/id")).or(made.get("id"));
    let task = id.and_then(Value::as_str).unwrap_or_else(|| panic!("no id in {made}")).to_owned();
    for check in checks {
        repository.docket_json(&[&["check", "add", &task][..], check].concat());
    }
    task
}

#[test]
fn a_task_that_is_wired_to_a_repository_says_which() {
    let (repository, agent) = desk();
    let merged = ["Merged", "--pull-request", "acme/parser#31"];
    made(&repository, "wired", &[&merged]);
    made(&repository, "plain", &[]);
    let tasks = agent.ok("get_next_actionable", json!({}))["tasks"].clone();
    assert_eq!((&tasks[0]["title"], &tasks[1]["title"]), (&json!("wired"), &json!("plain")));
    let row = json!({ "provider": "github", "name": "acme/parser", "pullRequest": 31 });
    assert_eq!((&tasks[0]["repository"], tasks[1].get("repository")), (&row, None), "{tasks}");
}

#[test]
fn long_texts_are_cut_in_the_list_and_said_to_be() {
    let world = World::new();
    let (title, long) = ("t".repeat(900), "länger ".repeat(2000));
    let task = world.task(&title, &["--description", &long, "--summary", "short"]);
    let listed = world.next(json!({}))[0].clone();
    assert_eq!(listed["truncated"], json!(["title", "description"]), "{listed}");
    assert_eq!(listed["title"].as_str().map(str::len), Some(200));
    assert_eq!(listed["description"].as_str().map(|text| text.chars().count()), Some(600));
    assert_eq!(listed["summary"], "short");
    let claimed = world.ann.ok("claim_task", json!({ "taskId": task }));
    assert_eq!((claimed["task"]["title"].as_str(), claimed["task"].get("truncated")), (Some(title.as_str()), None));
    assert_eq!(claimed["task"]["description"].as_str().map(str::len), Some(long.trim_end().len().max(long.len())));
}

#[test]
fn a_digest_has_the_best_three_that_score_half_or_more() {
    let world = World::new();
    for number in 0..4 {
        world.operate(&["learn", &format!("Parser number {number}"), "how the parser backtracks"]);
    }
    world.operate(&["learn", "Cooking", "how to boil an egg"]);
    world.task("Parser backtracks", &[]);
    let references = world.next(json!({}))[0]["knowledge"]["references"].clone();
    let references = references.as_array().expect("references");
    assert_eq!(references.len(), 3, "{references:?}");
    for reference in references {
        assert!(reference["score"].as_f64().expect("a score") >= 0.5, "{reference}");
        assert!(reference["title"].as_str().expect("a title").starts_with("Parser"), "{reference}");
        assert_eq!(reference["reviewState"], "unreviewed");
    }
}

#[test]
fn a_search_that_fails_keeps_no_work_from_anybody() {
    let world = World::new();
    // Nothing to look for in it: the search cannot even be asked.
    world.task("???", &[]);
    let found = world.next(json!({}));
    assert_eq!((found.len(), &found[0]["knowledge"]), (1, &json!({ "references": [] })));
}

#[test]
fn a_claim_does_not_count_and_learnings_do() {
    let world = World::new();
    std::fs::write(world.folder.path().join("docket.toml"), "[limits]\nknowledge_stored = 1\n").expect("a file");
    let agent = world.agent("agent:ann");
    let learnings = json!([{ "title": "a", "body": "b" }]);
    for (title, kept) in [("first", true), ("second", false)] {
        let task = world.task(title, &[]);
        agent.ok("claim_task", json!({ "taskId": task }));
        let complete = json!({ "taskId": task, "learnings": learnings });
        if kept {
            let done = agent.ok("complete_task", complete);
            assert_eq!(done["knowledgeEntryIds"].as_array().map(Vec::len), Some(1));
        } else {
            assert_eq!(agent.err("complete_task", complete)["code"], "quota.exceeded");
            let again = agent.ok("claim_task", json!({ "taskId": task }));
            assert_eq!(again["task"]["state"], "claimed", "nothing of it was done");
        }
    }
}

#[test]
fn whoever_only_reads_is_offered_the_list_alone() {
    use docket_core::access::{Access, Profile};
    let surface = docket_mcp_server::surface("execution").expect("a surface");
    let offered = |profile| -> Vec<String> {
        let access = Access::everywhere(profile);
        let tools = surface.tools().iter();
        let may = tools.filter(|tool| surface.needs(&tool.name).is_none_or(|needs| access.allows(needs)));
        may.map(|tool| tool.name.to_string()).collect()
    };
    assert_eq!(offered(Profile::Viewer), ["get_next_actionable"]);
    assert_eq!(offered(Profile::Worker).len(), 4);
}

#[test]
fn a_claim_that_runs_out_gives_the_task_back() {
    let world = World::new();
    let task = world.task("work", &[]);
    let id = task.as_str();
    // The shortest lease an operator gives: it is over before anybody asks.
    world.operate(&["--actor", "subagent:gone", "claim", id, "--ttl", "5s"]);
    let given_up = std::time::Instant::now() + std::time::Duration::from_mins(5);
    while world.next(json!({})).is_empty() {
        assert!(std::time::Instant::now() < given_up, "it was never offered again");
        std::thread::sleep(std::time::Duration::from_millis(200));
    }
    let claimed = world.ann.ok("claim_task", json!({ "taskId": task }));
    assert_eq!((&claimed["task"]["state"], &claimed["lease"]["fence"]), (&json!("claimed"), &json!(2)));
}

#[test]
fn a_plan_is_listed_alone_and_tasks_are_named_by_their_keys_too() {
    let world = World::new();
    let key = |task: &str| {
        let shown = world.operate(&["item", "show", task]);
        let key = shown.pointer("/item/key").or(shown.get("key")).and_then(Value::as_str);
        key.unwrap_or_else(|| panic!("no key in {shown}")).to_owned()
    };
    let plan = world.task("plan", &[]);
    let step = world.task("step", &["--parent", &plan]);
    world.task("detail", &["--parent", &step]);
    world.task("elsewhere", &[]);
    for named in [plan.clone(), key(&plan)] {
        let found = world.next(json!({ "planId": named }));
        let mut titles = crate::titles(&found);
        titles.sort_unstable();
        assert_eq!(titles, ["detail", "step"], "what lies beneath {named}");
    }
    let unknown = json!({ "planId": "00000000-0000-7000-8000-000000000009" });
    assert_eq!(world.ann.err("get_next_actionable", unknown)["code"], "task.not_found");
    let step = key(&step);
    assert_eq!(world.ann.ok("claim_task", json!({ "taskId": step }))["task"]["title"], "step");
    world.ann.ok("update_task_status", json!({ "taskId": step, "status": "in_progress" }));
    assert_eq!(world.ann.err("claim_task", json!({ "taskId": step, "leaseSec": 3601 }))["code"], "validation.failed");
    let detail = world.next(json!({ "planId": step }))[0]["id"].as_str().expect("an id").to_owned();
    world.ann.ok("claim_task", json!({ "taskId": detail }));
    assert_eq!(world.ann.ok("complete_task", json!({ "taskId": key(&detail) }))["task"]["state"], "done");
}
