//! The queue: what can be claimed, in which order, and reads of it that only say what changed.

use serde_json::json;

use crate::World;

#[test]
fn the_queue_is_compact_and_has_no_time() {
    let world = World::new();
    world.task("t");
    let compact = world.ok("find", json!({ "action": "queue" }));
    assert!(compact.get("generatedAt").is_none() && compact["queue"][0].get("createdAt").is_none(), "{compact}");
    for full in [json!({ "action": "queue", "detail": "full" }), json!({ "action": "queue", "profile": "full" })] {
        let full = world.ok("find", full);
        assert!(full["generatedAt"].is_string() && full["queue"][0]["createdAt"].is_string(), "{full}");
    }
}

#[test]
fn the_queue_says_only_what_changed() {
    let world = World::new();
    let task = world.task("t");
    let first = world.ok("find", json!({ "action": "queue" }));
    let since = |token: &serde_json::Value| json!({ "action": "queue", "since": token });
    let same = world.ok("find", since(&first["readToken"]));
    assert_eq!(same, json!({ "unchanged": true, "readToken": first["readToken"] }));
    world.begin(&task);
    let changed = world.ok("find", since(&first["readToken"]));
    assert_eq!((&changed["changed"], &changed["queue"]), (&json!(["queue"]), &json!([])));
    assert_ne!(changed["readToken"], first["readToken"]);
    assert_eq!(world.code("find", since(&json!("made up"))), "VALIDATION");
}

#[test]
fn claimed_blocked_and_parked_work_is_not_in_it() {
    let world = World::new();
    let [free, claimed, parked, blocked] = ["free", "claimed", "parked", "blocked"].map(|title| world.task(title));
    world.begin(&claimed);
    world.ok("task", json!({ "action": "ask", "id": parked, "question": "?" }));
    world.relate(&free, "blocks", &blocked);
    assert_eq!(world.queue(), [free]);
}

#[test]
fn what_somebody_began_and_left_can_be_claimed_again() {
    let world = World::new();
    let task = world.task("t");
    world.ok("work", json!({ "phase": "start", "id": task, "ttlSeconds": 1 }));
    std::thread::sleep(std::time::Duration::from_millis(1300));
    let queue = world.ok("find", json!({ "action": "queue" }))["queue"].clone();
    assert_eq!((&queue[0]["id"], &queue[0]["abandoned"]), (&json!(task), &json!(true)), "{queue}");
    let [urgent, fresh] =
        ["high", "medium"].map(|priority| world.made(json!({ "title": "t", "status": "ready", "priority": priority })));
    assert_eq!(world.queue(), [urgent.clone(), task.clone(), fresh.clone()], "by the one ranking");
    let bob = world.actor("agent:bob");
    for expected in [urgent, task, fresh] {
        let read = bob.ok("work", json!({ "phase": "start", "mode": "read" }));
        assert_eq!(read["trusted"]["guard"]["id"], json!(expected), "what is read is what is handed out next");
        assert_eq!(bob.ok("work", json!({ "phase": "start" }))["trusted"]["guard"]["id"], json!(expected));
    }
}

#[test]
fn the_queue_shows_what_this_agent_would_be_handed() {
    let world = World::new();
    let hard = world.made(json!({ "title": "hard", "status": "ready", "requiredCapabilities": ["gpu"] }));
    let red = world.made(json!({ "title": "red", "status": "ready", "labels": ["red"] }));
    let queue = |more: serde_json::Value| {
        let mut call = json!({ "action": "queue" });
        call.as_object_mut().expect("an object").extend(more.as_object().cloned().expect("an object"));
        crate::each(&world.ok("find", call)["queue"], "id")
    };
    assert_eq!(queue(json!({})), std::slice::from_ref(&red));
    assert_eq!(queue(json!({ "capabilities": ["gpu"] })), [hard.clone(), red.clone()]);
    assert_eq!(queue(json!({ "capabilities": ["gpu"], "labels": ["red"] })), [red]);
    let looked = json!({ "phase": "start", "mode": "read", "capabilities": ["gpu"] });
    assert_eq!(world.ok("work", looked)["trusted"]["guard"]["id"], json!(hard));
}

#[test]
fn a_parent_whose_children_are_done_is_offered() {
    let world = World::new();
    let parent = world.task("parent");
    let children = [world.child(&parent, "a"), world.child(&parent, "b")];
    for child in &children {
        world.begin(child);
        assert_eq!(world.status(&parent), "in_progress", "it starts with its child");
        assert!(!world.queue().contains(&parent), "it is being done");
        world.to(child, "in_review");
        world.to(child, "done");
    }
    assert_eq!(world.queue(), std::slice::from_ref(&parent));
    assert_eq!(world.ok("work", json!({ "phase": "start" }))["trusted"]["guard"]["id"], json!(parent));
    // What nobody has thought through yet stays in intake, whatever lies beneath it.
    let note = world.made(json!({ "title": "loose note", "status": "braindump" }));
    world.begin(&world.child(&note, "c"));
    assert_eq!(world.status(&note), "braindump");
}

#[test]
fn profiles_of_the_queue_and_tokens_of_another_question() {
    let world = World::new();
    world.made(json!({ "title": "t", "status": "ready", "labels": ["red"] }));
    let usual = world.ok("find", json!({ "action": "queue" }));
    for profile in ["compact", "work"] {
        let told = world.ok("find", json!({ "action": "queue", "profile": profile }));
        assert_eq!(told["queue"], usual["queue"], "{profile}");
    }
    let red = world.ok("find", json!({ "action": "queue", "labels": ["red"] }));
    let other = world.ok("find", json!({ "action": "queue", "since": red["readToken"] }));
    assert!(other.get("unchanged").is_none() && other["queue"].is_array(), "{other}");
}
