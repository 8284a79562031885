//! `list` and `list_sessions`: every filter, alone and together.

use serde_json::{Value, json};

use crate::{World, each, text};

#[test]
fn every_filter_of_tasks_leaves_what_it_says() {
    let world = World::new();
    let bob = world.actor("agent:bob");
    let first = world.task("one");
    let second = world.waiting("two", &[&first]);
    let third = world.task("three");
    bob.ok("claim", json!({ "id": third }));
    assert_eq!(world.list(json!({})), [first.clone(), second.clone(), third.clone()], "the oldest first");
    assert_eq!(world.list(json!({ "ready": true, "status": "backlog" })), [first.clone(), third.clone()]);
    assert_eq!(world.list(json!({ "ready": false })), std::slice::from_ref(&second));
    assert_eq!(world.list(json!({ "assignee": "agent:bob" })), std::slice::from_ref(&third));
    assert_eq!(world.list(json!({ "assignee": "bob" })), std::slice::from_ref(&third));
    assert!(world.list(json!({ "assignee": "agent:ann" })).is_empty());
    world.to(&first, "in_progress");
    assert_eq!(world.list(json!({ "status": "in_progress" })), std::slice::from_ref(&first));
    let row = world.ok("list", json!({ "assignee": "agent:bob" }))["tasks"][0].clone();
    assert_eq!((&row["assignee"], &row["ready"], &row["deps"]), (&json!("agent:bob"), &json!(true), &json!([])));
    let page = world.ok("list", json!({ "limit": 2 }));
    let rest = world.ok("list", json!({ "limit": 2, "cursor": page["next_cursor"] }));
    assert_eq!(each(&page["tasks"], "id"), [first, second]);
    assert_eq!((each(&rest["tasks"], "id"), rest.get("next_cursor")), (vec![third], None));
    for bad in
        [json!({ "execution": "lost" }), json!({ "limit": 0 }), json!({ "cursor": "x" }), json!({ "state": "x" })]
    {
        assert_eq!(world.err("list", bad.clone())["code"], "VALIDATION", "{bad}");
    }
}

#[test]
fn tasks_are_listed_by_how_the_attempts_at_them_fare() {
    let world = World::new();
    let bob = world.actor("agent:bob");
    let [idle, silent, busy, done] = ["idle", "silent", "busy", "done"].map(|title| world.task(title));
    let quiet = text(&world.begin(&silent, "k1")["id"]);
    let handed = text(&world.begin(&done, "k2")["id"]);
    world.ok("finish", json!({ "session": handed, "summary": "all done" }));
    assert_eq!(world.list(json!({ "execution": "active" })), std::slice::from_ref(&silent));
    world.ahead(301);
    world.becomes(&quiet, "stalled");
    let begin = json!({ "task": busy, "expected_actor": "agent:bob", "idempotency_key": "k3" });
    let working = text(&bob.ok("begin", begin)["id"]);
    let in_execution = |health: &str| world.list(json!({ "execution": health }));
    assert_eq!(in_execution("active"), std::slice::from_ref(&busy));
    assert_eq!(in_execution("stalled"), std::slice::from_ref(&silent));
    assert_eq!(in_execution("awaiting_review"), std::slice::from_ref(&done));
    assert_eq!(world.list(json!({ "execution": "active", "assignee": "agent:bob" })), std::slice::from_ref(&busy));
    assert!(world.list(json!({ "execution": "active", "assignee": "agent:ann" })).is_empty());
    assert!(world.list(json!({ "execution": "awaiting_review", "status": "in_progress" })).is_empty());
    world.to(&done, "done");
    assert!(in_execution("awaiting_review").is_empty());
    assert_eq!(world.list(json!({ "status": "backlog" })), [idle]);

    let sessions = |filter: Value| each(&world.ok("list_sessions", filter)["sessions"], "id");
    assert_eq!(sessions(json!({})), [working.clone(), handed.clone(), quiet.clone()], "the newest first");
    assert_eq!(sessions(json!({ "task": busy })), std::slice::from_ref(&working));
    assert_eq!(sessions(json!({ "actor": "agent:ann" })), [handed.clone(), quiet.clone()]);
    assert_eq!(sessions(json!({ "status": "active" })), [working.clone(), quiet.clone()]);
    assert_eq!(sessions(json!({ "status": "finished" })), std::slice::from_ref(&handed));
    assert_eq!(sessions(json!({ "health": "stalled" })), std::slice::from_ref(&quiet));
    assert_eq!(sessions(json!({ "health": "finished" })), std::slice::from_ref(&handed));
    assert_eq!(
        sessions(json!({ "health": "active", "actor": "agent:bob", "task": busy })),
        std::slice::from_ref(&working)
    );
    assert!(sessions(json!({ "health": "active", "status": "finished" })).is_empty());
    let page = world.ok("list_sessions", json!({ "limit": 1 }));
    let next = world.ok("list_sessions", json!({ "limit": 2, "cursor": page["next_cursor"] }));
    assert_eq!((each(&page["sessions"], "id"), each(&next["sessions"], "id")), (vec![working], vec![handed, quiet]));
    assert_eq!(world.err("list_sessions", json!({ "health": "well" }))["code"], "VALIDATION");
}
