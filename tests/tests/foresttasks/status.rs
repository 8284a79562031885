//! The status machine: the way from intake to the end, what leads where, and closing by force.

use serde_json::json;

use crate::{World, each, text};

#[test]
fn a_task_goes_from_intake_to_done() {
    let world = World::new();
    let task = world.made(json!({ "title": "t", "status": "braindump" }));
    for status in ["backlog", "ready", "in_progress", "in_review", "done"] {
        let moved = world.to(&task, status);
        assert_eq!(moved["status"], status);
        assert!(moved["legalNextStates"].is_array(), "{moved}");
    }
    assert_eq!(world.status(&task), "done");
}

#[test]
fn a_move_says_where_one_can_go_from_there() {
    let world = World::new();
    let task = world.task("t");
    let next = each_text(&world.to(&task, "in_progress")["legalNextStates"]);
    assert!(next.contains(&"in_review".to_owned()) && next.contains(&"cancelled".to_owned()), "{next:?}");
    assert!(!next.contains(&"done".to_owned()), "done is reached by way of review: {next:?}");
    let next = each_text(&world.to(&task, "in_review")["legalNextStates"]);
    assert!(next.contains(&"done".to_owned()), "{next:?}");
}

fn each_text(list: &serde_json::Value) -> Vec<String> {
    list.as_array().expect("a list").iter().map(text).collect()
}

#[test]
fn done_is_reached_by_way_of_review_alone() {
    let world = World::new();
    let task = world.task("t");
    for _ in 0..2 {
        let refused = world.not_to(&task, "done");
        assert_eq!((&refused["code"], &refused["rule"]), (&json!("RULE_BLOCKED"), &json!("review")), "{refused}");
        if world.status(&task) == "ready" {
            world.to(&task, "in_progress");
        }
    }
    assert_eq!(world.not_to(&world.task("u"), "in_review")["code"], "RULE_BLOCKED");
}

#[test]
fn intake_is_not_handed_out_until_it_is_promoted() {
    let world = World::new();
    let task = world.made(json!({ "title": "loose note", "status": "braindump" }));
    assert!(world.queue().is_empty());
    assert_eq!(world.ok("work", json!({ "phase": "start" }))["found"], false);
    let refused = world.err("work", json!({ "phase": "start", "id": task }));
    assert_eq!(refused["code"], "RULE_BLOCKED");
    for promoted in ["backlog", "ready"] {
        world.to(&task, promoted);
        assert_eq!(world.queue(), std::slice::from_ref(&task), "{promoted}");
    }
}

#[test]
fn a_word_that_is_no_status_is_a_slip() {
    let world = World::new();
    let task = world.task("t");
    let error = world.not_to(&task, "finished");
    assert_eq!((&error["code"], &error["field"]), (&json!("VALIDATION"), &json!("status")), "{error}");
    assert!(text(&error["message"]).contains("in_review"), "{error}");
    assert_eq!(world.code("task", json!({ "action": "create", "title": "t", "status": "finished" })), "VALIDATION");
}

#[test]
fn a_parent_does_not_close_over_open_tasks() {
    let world = World::new();
    let parent = world.task("parent");
    let child = world.child(&parent, "child");
    let below = world.child(&child, "grandchild");
    world.to(&parent, "in_progress");
    world.to(&parent, "in_review");
    for status in ["done", "cancelled"] {
        let refused = world.not_to(&parent, status);
        assert_eq!((&refused["code"], &refused["rule"]), (&json!("RULE_BLOCKED"), &json!("descendants")), "{refused}");
        assert!(text(&refused["message"]).contains(&child), "{refused}");
    }
    // One that waits for a person is open all the same.
    world.finish(&below);
    world.ok("task", json!({ "action": "ask", "id": child, "question": "?" }));
    assert_eq!(world.not_to(&parent, "done")["rule"], "descendants");
    world.to(&child, "cancelled");
    world.to(&parent, "done");
}

#[test]
fn cascade_close_closes_the_whole_subtree_by_force() {
    for status in ["done", "cancelled"] {
        let world = World::new();
        let parent = world.task("parent");
        let children = [world.child(&parent, "a"), world.child(&parent, "b")];
        let below = world.child(&children[0], "c");
        let closed = world.ok("task", json!({ "action": "cascade_close", "id": parent, "status": status }));
        assert_eq!((closed["status"].as_str(), closed["closedCount"].as_u64()), (Some(status), Some(4)), "{closed}");
        let order = each_id(&closed["closed"]);
        let at = |id: &str| order.iter().position(|known| known == id).expect("closed");
        assert!(at(&below) < at(&children[0]) && at(&children[1]) < at(&parent), "from below: {order:?}");
        for task in [&parent, &children[0], &children[1], &below] {
            assert_eq!(world.status(task), status);
        }
    }
    let world = World::new();
    let task = world.task("t");
    assert_eq!(world.code("task", json!({ "action": "cascade_close", "id": task, "status": "ready" })), "VALIDATION");
}

fn each_id(list: &serde_json::Value) -> Vec<String> {
    list.as_array().expect("a list").iter().map(text).collect()
}

#[test]
fn a_status_with_a_rank_is_one_unit() {
    let world = World::new();
    let task = world.task("t");
    let call = json!({ "action": "status", "id": task, "status": "in_progress", "rank": 2, "requestId": "once" });
    let first = world.ok("task", call.clone());
    assert_eq!((&first["from"], &first["status"]), (&json!("ready"), &json!("in_progress")), "{first}");
    assert_eq!(world.ok("task", call), first, "a retry answers the same");
    world.criteria(&task, json!(["it works"]));
    let refused = json!({ "action": "status", "id": task, "status": "in_review", "rank": 9 });
    assert_eq!(world.err("task", refused)["rule"], "criteria");
    let row = &world.ok("find", json!({ "action": "list", "fields": ["rank"] }))["tasks"][0];
    assert_eq!((&row["status"], &row["rank"]), (&json!("in_progress"), &json!(2)), "neither was done");
}

#[test]
fn a_rank_is_a_place_in_the_column() {
    let world = World::new();
    let task = world.task("t");
    let placed = world.ok("task", json!({ "action": "status", "id": task, "status": "ready", "rank": 3 }));
    assert_eq!((&placed["status"], &placed["rank"]), (&json!("ready"), &json!(3)), "it need not move: {placed}");
    world.ok("task", json!({ "action": "status", "id": task, "status": "in_progress", "rank": -1 }));
    let row = &world.ok("find", json!({ "action": "list", "fields": ["rank"] }))["tasks"][0];
    assert_eq!((&row["status"], &row["rank"]), (&json!("in_progress"), &json!(-1)));
}

#[test]
fn a_closed_task_can_be_opened_again() {
    let world = World::new();
    let task = world.task("t");
    world.finish(&task);
    assert_eq!(world.code("work", json!({ "phase": "start", "id": task })), "CONFLICT");
    world.to(&task, "ready");
    assert_eq!(each(&world.ok("find", json!({ "action": "queue" }))["queue"], "id"), [task]);
}

#[test]
fn blocked_is_no_status() {
    let world = World::new();
    let task = world.task("t");
    let error = world.not_to(&task, "blocked");
    assert_eq!((&error["code"], &error["field"]), (&json!("VALIDATION"), &json!("status")), "{error}");
    for (tool, call) in [
        ("task", json!({ "action": "create", "title": "t", "status": "blocked" })),
        ("task", json!({ "action": "status", "id": task, "status": "blocked", "rank": 1 })),
        ("bulk", json!({ "action": "import", "markdown": "- a", "mode": "apply", "status": "blocked" })),
        ("work", json!({ "phase": "finish", "taskId": task, "action": "apply", "targetStatus": "blocked" })),
    ] {
        assert_eq!(world.code(tool, call.clone()), "VALIDATION", "{call}");
    }
    for status in ["in_progress", "in_review", "ready"] {
        let next = each_text(&world.to(&task, status)["legalNextStates"]);
        let aside = ["blocked".to_owned(), "waiting_for_input".to_owned()];
        assert!(!next.iter().any(|name| aside.contains(name)), "{status}: {next:?}");
    }
    assert_eq!(world.ok("find", json!({ "action": "list" }))["total"], 1);
}

#[test]
fn only_a_question_parks_a_task() {
    let world = World::new();
    let task = world.task("t");
    world.begin(&task);
    for (tool, call) in [
        ("task", json!({ "action": "status", "id": task, "status": "waiting_for_input" })),
        ("task", json!({ "action": "status", "id": task, "status": "waiting_for_input", "rank": 1 })),
        ("task", json!({ "action": "create", "title": "t", "status": "waiting_for_input" })),
        ("bulk", json!({ "action": "import", "markdown": "- a", "mode": "apply", "status": "waiting_for_input" })),
        ("work", json!({ "phase": "finish", "taskId": task, "action": "apply", "targetStatus": "waiting_for_input" })),
    ] {
        let refused = world.err(tool, call.clone());
        assert!(text(&refused["message"]).contains("ask"), "{call}: {refused}");
    }
    assert_eq!(world.status(&task), "in_progress");
    world.ok("task", json!({ "action": "ask", "id": task, "question": "?" }));
    assert_eq!(world.status(&task), "waiting_for_input");
    let waiting = world.ok("find", json!({ "action": "list", "needsHuman": true }));
    assert_eq!(each(&waiting["tasks"], "id"), [task], "and there it is in the inbox");
}

#[test]
fn force_goes_past_neither_what_others_hold_nor_checks_that_failed() {
    let world = World::new();
    let parent = world.task("parent");
    let (mine, theirs) = (world.child(&parent, "mine"), world.child(&parent, "theirs"));
    world.actor("agent:bob").ok("work", json!({ "phase": "start", "id": theirs }));
    for status in ["done", "cancelled"] {
        let refused = world.err("task", json!({ "action": "cascade_close", "id": parent, "status": status }));
        assert_eq!((&refused["code"], &refused["rule"]), (&json!("RULE_BLOCKED"), &json!("ownership")), "{refused}");
        assert_eq!(refused["taskId"], json!(theirs));
        assert_eq!(world.status(&mine), "ready", "it closes all or nothing");
    }
    let parent = world.task("another");
    let (plain, checked) = (world.child(&parent, "plain"), world.child(&parent, "checked"));
    world.operate(&["check", "add", &checked, "ann likes it"]);
    world.operate(&["check", "attest", &checked, "0=fail", "--note", "no"]);
    let refused = world.err("task", json!({ "action": "cascade_close", "id": parent, "status": "done" }));
    assert_eq!((&refused["code"], &refused["rule"]), (&json!("RULE_BLOCKED"), &json!("checks")), "{refused}");
    assert_eq!(refused["violations"][0]["checks"], json!([{ "index": 0, "status": "fail" }]), "{refused}");
    assert_eq!(world.status(&plain), "ready");
    let given_up = world.ok("task", json!({ "action": "cascade_close", "id": parent, "status": "cancelled" }));
    assert_eq!(given_up["closedCount"], 3, "what is given up need not be shown");
}

#[test]
fn nothing_is_made_as_if_it_had_been_reviewed() {
    let world = World::new();
    for status in ["in_review", "done"] {
        let error = world.err("task", json!({ "action": "create", "title": "t", "status": status }));
        assert_eq!((&error["code"], &error["field"]), (&json!("VALIDATION"), &json!("status")), "{error}");
        let import = json!({ "action": "import", "markdown": "- a", "mode": "apply", "status": status });
        assert_eq!(world.code("bulk", import), "VALIDATION", "{status}");
    }
    let ticked = json!({ "action": "import", "markdown": "- [x] a", "mode": "apply" });
    assert_eq!(world.ok("bulk", ticked)["tasks"][0]["status"], "done", "what was ticked off was done before");
}

/// `task {status}` and then a person: without `work finish`, that gives it back by itself.
#[test]
fn a_person_closes_what_an_agent_moved_into_review() {
    let world = World::new();
    let task = world.task("t");
    world.begin(&task);
    world.to(&task, "in_review");
    assert_eq!(world.guard(&task)["assignee"], serde_json::Value::Null);
    world.operate(&["advance", &task, "complete"]);
    assert_eq!(world.status(&task), "done");
}
