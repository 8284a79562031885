//! The loop: start claims and hands over, finish previews and applies.

use serde_json::{Value, json};

use crate::{World, each, names, text};

#[test]
fn start_claims_the_best_ready_task_and_moves_it_into_work() {
    let world = World::new();
    let low = world.made(json!({ "title": "low", "status": "ready", "priority": "low" }));
    let high = world.made(json!({ "title": "high", "status": "ready", "priority": "high" }));
    let packet = world.ok("work", json!({ "phase": "start" }));
    assert_eq!((&packet["phase"], &packet["mode"], &packet["found"]), (&json!("start"), &json!("claim"), &json!(true)));
    let trusted = &packet["trusted"];
    assert_eq!((&trusted["guard"]["id"], &trusted["guard"]["status"]), (&json!(high), &json!("in_progress")));
    assert_eq!(trusted["transition"], json!({ "from": "ready", "to": "in_progress" }));
    assert!(trusted["claim"]["expiresAt"].is_string() && trusted["claim"]["fence"].is_u64(), "{trusted}");
    assert!(trusted["guard"].get("title").is_none(), "a title is not the server's word");
    assert_eq!(packet["untrusted"]["title"], "high");
    let next = world.ok("work", json!({ "phase": "start" }));
    assert_eq!(next["trusted"]["guard"]["id"], json!(low));
    assert_eq!(next["trusted"]["claim"]["autoReleased"], json!([]), "whoever goes on with another keeps the first");
    assert_eq!(world.guard(&high)["assignee"]["name"], "ann");
}

#[test]
fn start_by_name_claims_and_read_only_looks() {
    let world = World::new();
    let task = world.task("t");
    let looked = world.ok("work", json!({ "phase": "start", "id": task, "mode": "read" }));
    assert_eq!((&looked["mode"], looked["trusted"].get("claim")), (&json!("read"), None));
    assert_eq!((world.status(&task).as_str(), &world.guard(&task)["assignee"]), ("ready", &Value::Null));
    let unnamed = world.ok("work", json!({ "phase": "start", "mode": "read" }));
    assert_eq!(unnamed["trusted"]["guard"]["id"], json!(task), "the one that would be claimed");
    assert_eq!(world.begin(&task)["mode"], "claim", "the default");
    assert_eq!(world.guard(&task)["assignee"]["name"], "ann");
    assert_eq!(world.code("work", json!({ "phase": "start", "mode": "peek" })), "VALIDATION");
}

/// What is looked for goes with no name, and a lease with no look: both are refused, and not dropped.
#[test]
fn start_refuses_what_it_does_not_read() {
    let world = World::new();
    let task = world.task("t");
    let refuses = |call: Value, more: (&str, Value)| {
        let mut call = call;
        call["phase"] = json!("start");
        call[more.0] = more.1;
        let refused = world.err("work", call);
        assert_eq!((&refused["code"], &refused["field"]), (&json!("VALIDATION"), &json!(more.0)), "{refused}");
    };
    for mode in ["claim", "read"] {
        refuses(json!({ "id": task, "mode": mode }), ("labels", json!(["red"])));
        refuses(json!({ "id": task, "mode": mode }), ("capabilities", json!(["gpu"])));
    }
    for call in [json!({ "mode": "read" }), json!({ "id": task, "mode": "read" })] {
        refuses(call.clone(), ("ttlSeconds", json!(60)));
        refuses(call, ("requestId", json!("r")));
    }
    assert_eq!(world.status(&task), "ready");
}

#[test]
fn without_work_it_says_so() {
    let world = World::new();
    let packet = world.ok("work", json!({ "phase": "start" }));
    assert_eq!((&packet["found"], &packet["trusted"]["guard"]), (&json!(false), &Value::Null));
    assert!(packet["trusted"]["hint"].is_string() && packet["untrusted"] == json!({}), "{packet}");
}

#[test]
fn two_agents_never_get_the_same_task() {
    let world = World::new();
    for number in 0..6 {
        world.task(&format!("t{number}"));
    }
    let bob = world.actor("agent:bob");
    let mut got: Vec<String> = Vec::new();
    for _ in 0..3 {
        for server in [&world.server, &bob] {
            got.push(text(&server.ok("work", json!({ "phase": "start" }))["trusted"]["guard"]["id"]));
        }
    }
    let mut once = got.clone();
    once.sort();
    once.dedup();
    assert_eq!(once.len(), got.len(), "{got:?}");
}

#[test]
fn start_can_be_narrowed_to_labels_and_capabilities() {
    let world = World::new();
    let hard =
        world.made(json!({ "title": "hard", "status": "ready", "labels": ["ml"], "requiredCapabilities": ["gpu"] }));
    assert_eq!(world.ok("work", json!({ "phase": "start" }))["found"], false);
    assert_eq!(
        world.ok("work", json!({ "phase": "start", "capabilities": ["gpu"], "labels": ["web"] }))["found"],
        false
    );
    let packet = world.ok("work", json!({ "phase": "start", "capabilities": ["gpu"], "labels": ["ml"] }));
    assert_eq!(packet["trusted"]["guard"]["id"], json!(hard));
}

#[test]
fn a_packet_says_how_the_criteria_stand_and_what_to_do() {
    let world = World::new();
    let task = world.task("t");
    world.criteria(&task, json!(["it works", { "text": "ok?", "verifier": "human" }]));
    let packet = world.begin(&task);
    let rows = &packet["trusted"]["criteria"];
    assert_eq!(rows[0], json!({ "id": "c1", "status": "open", "verifier": "agent", "hard": true }));
    let actions = packet["trusted"]["actions"].as_array().expect("actions");
    assert_eq!(actions[0], json!({ "tool": "contract", "action": "verify_criteria", "criteria": ["c1"] }));
    assert!(packet["untrusted"]["brief"].as_str().is_some_and(|brief| brief.contains("it works")), "{packet}");
    let next = packet["trusted"]["legalNextStates"].as_array().expect("statuses");
    assert!(next.contains(&json!("in_review")), "{next:?}");
}

#[test]
fn a_preview_changes_nothing() {
    let world = World::new();
    let task = world.task("t");
    world.criteria(&task, json!(["it works"]));
    world.begin(&task);
    let before = world.ok("get_task", json!({ "id": task, "profile": "full" }));
    let finish = |rest: Value| {
        let mut call = rest;
        call["phase"] = json!("finish");
        call["taskId"] = json!(task);
        world.ok("work", call)
    };
    let blocked = finish(json!({ "action": "preview", "finalComment": "c" }));
    assert_eq!(blocked["trusted"]["closureBlockers"][0]["rule"], "criteria", "{blocked}");
    assert_eq!(blocked["trusted"]["transition"], Value::Null);
    let verify = json!([{ "criterionId": "c1", "status": "pass" }]);
    let free = finish(json!({ "verify": verify }));
    assert_eq!(free["action"], "preview", "the default");
    assert_eq!(free["trusted"]["closureBlockers"], json!([]));
    assert_eq!(free["trusted"]["transition"], json!({ "from": "in_progress", "to": "in_review", "applied": false }));
    assert_eq!(free["trusted"]["verdict"]["counts"]["pass"], 1);
    assert!(free["trusted"].get("applied").is_none(), "{free}");
    assert_eq!(world.ok("get_task", json!({ "id": task, "profile": "full" })), before);
}

#[test]
fn apply_does_all_of_it_at_once() {
    let world = World::new();
    let task = world.task("t");
    world.criteria(&task, json!(["it works"]));
    world.begin(&task);
    let call = json!({
        "phase": "finish", "taskId": task, "action": "apply", "finalComment": "done as asked",
        "links": [{ "kind": "pr", "ref": "7", "url": "https://example.test/7" }],
        "verify": [{ "criterionId": "c1", "status": "pass", "note": "ran it" }],
    });
    let packet = world.ok("work", call);
    let trusted = &packet["trusted"];
    assert_eq!(trusted["transition"], json!({ "from": "in_progress", "to": "in_review", "applied": true }));
    assert_eq!((&trusted["applied"]["status"], &trusted["applied"]["verified"]), (&json!("in_review"), &json!(["c1"])));
    assert!(trusted["applied"]["commentId"].is_string() && trusted["applied"]["linkIds"][0].is_string(), "{trusted}");
    assert_eq!(trusted["guard"]["status"], "in_review");
    assert_eq!(packet["untrusted"], json!({}), "it is slim");
    let full = world.ok("get_task", json!({ "id": task, "profile": "full" }));
    assert_eq!(full["sections"]["comments"][0]["body"], "done as asked");
    assert_eq!(full["sections"]["links"][0]["ref"], "7");
    let done =
        world.ok("work", json!({ "phase": "finish", "taskId": task, "action": "apply", "targetStatus": "done" }));
    assert_eq!(done["trusted"]["guard"]["status"], "done");
}

#[test]
fn what_cannot_be_applied_is_not_applied_by_halves() {
    let world = World::new();
    let task = world.task("t");
    world.criteria(&task, json!(["it works", "and that"]));
    world.begin(&task);
    let call = json!({
        "phase": "finish", "taskId": task, "action": "apply", "finalComment": "early",
        "verify": [{ "criterionId": "c1", "status": "pass" }],
    });
    let refused = world.err("work", call);
    assert_eq!((&refused["code"], &refused["rule"]), (&json!("RULE_BLOCKED"), &json!("criteria")));
    let full = world.ok("get_task", json!({ "id": task, "profile": "full" }));
    assert_eq!(full["sections"]["comments"], json!([]));
    assert_eq!(full["guard"]["verdict"]["counts"]["pass"], 0);
    assert_eq!(full["guard"]["status"], "in_progress");
}

#[test]
fn another_agent_cannot_finish_it_and_a_stale_fence_is_told() {
    let world = World::new();
    let task = world.task("t");
    let fence = world.begin(&task)["trusted"]["claim"]["fence"].clone();
    let bob = world.actor("agent:bob");
    let finish = json!({ "phase": "finish", "taskId": task, "action": "apply" });
    assert_eq!(bob.err("work", finish.clone())["code"], "CONFLICT");
    let asked = world.ok("task", json!({ "action": "ask", "id": task, "question": "?" }));
    bob.ok("task", json!({ "action": "answer", "questionId": asked["question"]["id"], "answer": "yes" }));
    bob.ok("work", json!({ "phase": "start", "id": task }));
    let mut late = finish;
    late["fence"] = fence;
    let lost = world.err("work", late);
    assert_eq!((&lost["code"], &lost["reason"]), (&json!("CONFLICT"), &json!("claim_lost")));
}

#[test]
fn the_older_way_leads_there_too() {
    let world = World::new();
    let task = world.task("t");
    world.criteria(&task, json!(["it works"]));
    let first = text(&world.ok("find", json!({ "action": "queue" }))["queue"][0]["id"]);
    world.ok("work", json!({ "phase": "start", "mode": "claim", "id": first }));
    world.get(&first);
    world.ok("annotate", json!({ "type": "comment", "taskId": task, "body": "as asked" }));
    let link = json!({ "type": "link", "taskId": task, "kind": "pr", "ref": "1", "url": "https://example.test/1" });
    assert!(world.ok("annotate", link)["linkId"].is_string());
    world.verify(&task, "c1", "pass");
    world.to(&task, "in_review");
    world.to(&task, "done");
}

#[test]
fn includes_come_with_the_packet() {
    let world = World::new();
    let task = world.task("t");
    world.child(&task, "child");
    let packet = world.ok("work", json!({ "phase": "start", "id": task, "include": ["subtasks", "activity"] }));
    assert_eq!(each(&packet["untrusted"]["subtasks"], "title"), ["child"]);
    assert!(names(&packet["untrusted"]).contains(&"activity"));
    assert!(!names(&packet["untrusted"]).contains(&"relations"));
}

#[test]
fn a_target_that_is_no_status_is_a_slip() {
    let world = World::new();
    let task = world.task("t");
    world.begin(&task);
    for action in ["preview", "apply"] {
        let call = json!({
            "phase": "finish", "taskId": task, "action": action, "targetStatus": "finished", "finalComment": "c",
        });
        let refused = world.err("work", call);
        assert_eq!((&refused["code"], &refused["field"]), (&json!("VALIDATION"), &json!("targetStatus")), "{refused}");
        assert!(text(&refused["message"]).contains("in_review"), "{refused}");
    }
    let full = world.ok("get_task", json!({ "id": task, "profile": "full" }));
    assert_eq!(full["sections"]["comments"], json!([]));
}

#[test]
fn a_finish_of_reviewed_work_asks_where_to() {
    let world = World::new();
    let task = world.task("t");
    world.begin(&task);
    world.to(&task, "in_review");
    let preview = world.ok("work", json!({ "phase": "finish", "taskId": task, "action": "preview" }));
    assert_eq!(preview["trusted"]["closureBlockers"][0]["rule"], "transition", "{preview}");
    assert_eq!(preview["trusted"]["transition"], Value::Null);
    let refused = world.err("work", json!({ "phase": "finish", "taskId": task, "action": "apply" }));
    assert_eq!((&refused["code"], &refused["reason"]), (&json!("CONFLICT"), &json!("not_ready")), "{refused}");
    let line = text(&refused["message"]);
    assert!(line.contains("targetStatus") && !line.contains("--to"), "{line}");
}

#[test]
fn a_packet_of_a_finish_has_these_fields_and_no_others() {
    let world = World::new();
    let task = world.task("t");
    world.begin(&task);
    let trusted = |action: &str| {
        world.ok("work", json!({ "phase": "finish", "taskId": task, "action": action }))["trusted"].clone()
    };
    let all =
        ["applied", "cascades", "closureBlockers", "guard", "legalNextStates", "transition", "unblocked", "verdict"];
    assert_eq!(names(&trusted("preview")), all[1..]);
    assert_eq!(names(&trusted("apply")), all);
}
