//! `get_context` in its three modes.

use serde_json::{Value, json};

use crate::{World, claiming, each, fresh, names, text};

#[test]
fn one_item_with_its_notes_gate_and_claim() {
    let world = World::with_schemas();
    let id = world.made(json!({ "title": "JWT Handler", "tags": "feature-task" }));
    world.note(&id, "requirements", "queue");
    let claimed = world.claim("agent-worker-42", &id);
    let answer = world.ok("get_context", json!({ "itemId": id }));
    assert_eq!(
        (&answer["mode"], &answer["item"]),
        (
            &json!("item"),
            &json!({ "id": id, "key": answer["item"]["key"], "title": "JWT Handler", "role": "queue", "tags": "feature-task", "depth": 0 })
        )
    );
    assert_eq!(
        answer["schema"][0],
        json!({ "key": "requirements", "role": "queue", "required": true, "description": "What is wanted", "exists": true, "filled": true })
    );
    assert_eq!(
        answer["schema"][2],
        json!({ "key": "done-criteria", "role": "work", "required": true, "description": "How it was done", "exists": false, "filled": false, "skill": "writer" })
    );
    assert_eq!(answer["gateStatus"], json!({ "canAdvance": true, "phase": "queue", "missing": [] }));
    assert_eq!(answer["guidancePointer"], Value::Null);
    assert!(answer.get("skillPointer").is_none());
    assert_eq!(answer["noteProgress"], json!({ "filled": 1, "remaining": 0, "total": 1 }));
    let mut detail = claimed;
    for extra in ["fence", "itemId", "outcome"] {
        detail.as_object_mut().expect("a row").remove(extra);
    }
    detail["isExpired"] = json!(false);
    assert_eq!(answer["claimDetail"], detail);
}

#[test]
fn what_is_missing_points_to_what_to_write() {
    let world = World::with_schemas();
    let id = world.made(json!({ "title": "t", "type": "feature-task" }));
    let answer = world.ok("get_context", json!({ "itemId": id }));
    assert_eq!(answer["gateStatus"], json!({ "canAdvance": false, "phase": "queue", "missing": ["requirements"] }));
    assert_eq!(answer["guidancePointer"], "List what must hold");
    world.note(&id, "requirements", "queue");
    world.moves(&id, "start");
    let answer = world.ok("get_context", json!({ "itemId": id }));
    assert_eq!((&answer["guidancePointer"], &answer["skillPointer"]), (&json!("Say what changed"), &json!("writer")));
    assert_eq!(answer["noteProgress"], json!({ "filled": 0, "remaining": 1, "total": 1 }));
}

#[test]
fn without_a_schema_or_once_closed_there_is_no_progress() {
    let world = World::with_schemas();
    let root = world.item("root");
    let bare = world.child(&root, "bare");
    let answer = world.ok("get_context", json!({ "itemId": bare, "includeAncestors": true }));
    assert_eq!(
        (&answer["schema"], &answer["noteProgress"], &answer["guidancePointer"]),
        (&json!([]), &Value::Null, &Value::Null)
    );
    assert!(answer.as_object().expect("an object").contains_key("noteProgress"), "null is said");
    assert_eq!(answer["item"]["ancestors"], json!([{ "id": root, "title": "root", "depth": 0 }]));
    let closed = world.made(json!({ "title": "t", "type": "quick", "role": "terminal" }));
    let answer = world.ok("get_context", json!({ "itemId": closed, "since": "2020-01-01T00:00:00Z" }));
    assert_eq!((&answer["mode"], &answer["noteProgress"]), (&json!("item"), &Value::Null), "the item wins over since");
    assert_eq!(answer["gateStatus"]["canAdvance"], false);
    world.moves(&bare, "block");
    let answer = world.ok("get_context", json!({ "itemId": bare }));
    assert_eq!(answer["gateStatus"], json!({ "canAdvance": false, "phase": "blocked", "missing": [] }));
    assert_eq!(world.err("get_context", json!({ "itemId": fresh() }))["code"], "RESOURCE_NOT_FOUND");
}

#[test]
fn the_health_of_the_whole() {
    let world = World::with_schemas();
    let root = world.made(json!({ "title": "root", "role": "work", "tags": "x" }));
    let stalled = world.made(json!({ "title": "stalled", "type": "quick", "role": "work", "parentId": root }));
    let review = world.made(json!({ "title": "review", "role": "review" }));
    let aside = world.made(json!({ "title": "aside", "role": "blocked" }));
    world.made(json!({ "title": "queued", "type": "quick" }));
    world.claim("agent-1", &review);
    world.ok("claim_item", claiming("agent-2", json!([{ "itemId": aside, "ttlSeconds": 1 }]), json!([])));
    std::thread::sleep(std::time::Duration::from_millis(1100));
    let answer = world.ok("get_context", json!({}));
    assert_eq!(
        answer,
        json!({
            "mode": "health-check",
            "activeItems": [
                { "id": root, "title": "root", "role": "work", "tags": "x" }, { "id": stalled, "title": "stalled", "role": "work", "tags": null },
                { "id": review, "title": "review", "role": "review", "tags": null },
            ],
            "blockedItems": [{ "id": aside, "title": "aside", "role": "blocked" }],
            "stalledItems": [{ "id": stalled, "title": "stalled", "role": "work", "missingNotes": ["outcome"] }],
            "claimSummary": { "active": 1, "expired": 1 },
        })
    );
    let deep = world.ok("get_context", json!({ "includeAncestors": true }));
    let way = json!([{ "id": root, "title": "root", "depth": 0 }]);
    assert_eq!((&deep["activeItems"][1]["ancestors"], &deep["stalledItems"][0]["ancestors"]), (&way, &way));
    assert_eq!(deep["blockedItems"][0]["ancestors"], json!([]));
}

#[test]
fn a_session_resumes_with_what_moved_meanwhile() {
    let world = World::with_schemas();
    let before = world.item("before");
    world.moves(&before, "complete");
    std::thread::sleep(std::time::Duration::from_millis(20));
    let id = world.made(json!({ "title": "t", "type": "quick" }));
    let since = text(&world.get(&id)["createdAt"]);
    std::thread::sleep(std::time::Duration::from_millis(20));
    let actor = json!({ "id": "sub-1", "kind": "subagent", "parent": "orch-1" });
    world.moved(json!({ "itemId": id, "trigger": "start", "actor": actor }));
    world.moves(&id, "block");
    world.moves(&id, "resume");
    let answer = world.ok("get_context", json!({ "since": since, "includeAncestors": true }));
    assert_eq!(names(&answer), ["activeItems", "mode", "recentTransitions", "since", "stalledItems"]);
    assert_eq!((&answer["mode"], &answer["since"]), (&json!("session-resume"), &json!(since)));
    let moves = &answer["recentTransitions"];
    assert_eq!(each(moves, "trigger"), ["resume", "block", "start"], "the newest first");
    assert_eq!(
        moves[2],
        json!({
            "itemId": id, "fromRole": "queue", "toRole": "work", "trigger": "start", "at": moves[2]["at"], "actor": actor,
            "verification": { "status": "unchecked", "verifier": "noop" },
        })
    );
    assert_eq!(
        answer["activeItems"],
        json!([{ "id": id, "title": "t", "role": "work", "tags": null, "ancestors": [] }])
    );
    assert_eq!(each(&answer["stalledItems"], "id"), [id]);
    for (limit, count) in [(json!(2), 2), (json!(0), 1), (json!(9999), 3)] {
        let answer = world.ok("get_context", json!({ "since": since, "limit": limit }));
        assert_eq!(answer["recentTransitions"].as_array().map(Vec::len), Some(count), "limit {limit}");
    }
    assert_eq!(world.err("get_context", json!({ "since": "2026-01-01" }))["field"], "since");
    let error = world.err("get_context", json!({ "since": "2999-01-01T00:00:00Z" }));
    assert_eq!((&error["code"], &error["field"]), (&json!("VALIDATION_ERROR"), &json!("since")), "still to come");
}

#[test]
fn a_resumed_session_tells_the_last_fifty_moves_where_nothing_is_said() {
    let world = World::new();
    let id = world.item("t");
    for _ in 0..26 {
        let both = json!([{ "itemId": id, "trigger": "block" }, { "itemId": id, "trigger": "resume" }]);
        assert_eq!(world.ok("advance_item", json!({ "transitions": both }))["summary"]["succeeded"], 2);
    }
    let told = |arguments: Value| {
        world.ok("get_context", arguments)["recentTransitions"].as_array().map(Vec::len).expect("transitions")
    };
    assert_eq!(told(json!({ "since": "2020-01-01T00:00:00Z" })), 50);
    assert_eq!(told(json!({ "since": "2020-01-01T00:00:00Z", "limit": 200 })), 52);
}

#[test]
fn a_list_that_is_cut_says_so() {
    let world = World::new();
    let fill = |role: &str, count: usize| {
        let items: Vec<Value> = (0..count).map(|n| json!({ "title": format!("{role} {n}"), "role": role })).collect();
        assert_eq!(world.ok("manage_items", json!({ "operation": "create", "items": items }))["created"], count);
    };
    let ask = |arguments: Value| world.ok("get_context", arguments)["truncated"].clone();
    let since = json!({ "since": "2020-01-01T00:00:00Z" });
    fill("work", 150);
    fill("review", 150);
    fill("blocked", 199);
    assert_eq!((ask(json!({})), ask(since.clone())), (Value::Null, Value::Null), "300 active, but no role is cut");
    fill("blocked", 2);
    assert_eq!(
        (ask(json!({})), ask(since.clone())),
        (json!(true), Value::Null),
        "a resumed session lists no blocked ones"
    );
    fill("review", 51);
    assert_eq!(ask(since), true);
}
