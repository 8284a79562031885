//! Sessions: identity, begin, heartbeat, finish, cancel, and what a session tells of itself.

use serde_json::{Value, json};

use crate::{World, did, each, text};

#[test]
fn identity_tells_who_is_bound() {
    let world = World::new();
    let identity = world.ok("identity", json!({}));
    assert_eq!(identity["actor"], "agent:ann");
    assert!(identity["client"].is_string() && identity["version"].is_string(), "{identity}");
    assert_eq!(world.actor("human:shah").ok("identity", json!({}))["actor"], "human:shah");
    assert_eq!(world.err("identity", json!({ "actor": "agent:bob" }))["code"], "VALIDATION", "it is no argument");
}

#[test]
fn an_attempt_from_its_beginning_to_its_review_and_the_end_of_its_task() {
    let world = World::new();
    let task = world.task("one");
    let runtime = json!({ "model": "small", "attempt": 1, "sandbox": true });
    let begun = world.ok(
        "begin",
        json!({ "task": task, "expected_actor": "agent:ann", "runtime": runtime, "idempotency_key": "k-1" }),
    );
    let id = text(&begun["id"]);
    assert_eq!((&begun["task"], &begun["actor"], &begun["runtime"]), (&json!(task), &json!("agent:ann"), &runtime));
    assert_eq!((&begun["status"], &begun["health"]), (&json!("active"), &json!("active")));
    let stands = world.get(&task);
    assert_eq!((&stands["status"], &stands["assignee"]), (&json!("in_progress"), &json!("agent:ann")));
    let beat = world.ok("heartbeat", json!({ "session": id, "progress": "the parser reads" }));
    assert_eq!(beat["progress"], json!({ "text": "the parser reads" }));
    let beat = world.ok("heartbeat", json!({ "session": id, "progress": { "percent": 40, "step": "lex" } }));
    assert_eq!(beat["progress"], json!({ "percent": 40, "step": "lex" }));
    let beat = world.ok("heartbeat", json!({ "session": id }));
    assert_eq!(beat["progress"], json!({ "percent": 40, "step": "lex" }), "what was said stays");
    let ended = world.ok("finish", json!({ "session": id, "summary": "It parses.", "head": "3f9c1a7" }));
    assert_eq!((&ended["status"], &ended["health"]), (&json!("finished"), &json!("awaiting_review")));
    assert_eq!((&ended["summary"], &ended["head"]), (&json!("It parses."), &json!("3f9c1a7")));
    assert!(ended["ended_at"].is_string());
    let stands = world.get(&task);
    assert_eq!((&stands["status"], &stands["assignee"]), (&json!("in_review"), &Value::Null), "nothing is closed");
    world.to(&task, "done");
    assert_eq!(world.ok("get_session", json!({ "session": id }))["health"], "finished");
    let told = [
        "created".to_owned(),
        format!("began session {id}"),
        format!("finished session {id}: It parses."),
        "transitioned to done".to_owned(),
    ];
    assert_eq!(did(&world.get(&task)), told);
}

#[test]
fn whoever_is_expected_must_be_who_is_bound() {
    let world = World::new();
    let task = world.task("one");
    for other in ["agent:bob", "human:ann", "ann", "agent:Ann"] {
        let begin = json!({ "task": task, "expected_actor": other, "idempotency_key": "k" });
        let refused = world.err("begin", begin);
        assert_eq!((&refused["code"], &refused["reason"]), (&json!("CONFLICT"), &json!("actor_mismatch")), "{other}");
        let said = text(&refused["message"]);
        assert!(said.contains(other) && said.contains("ann"), "both are named: {said}");
    }
    let missing = json!({ "task": task, "idempotency_key": "k" });
    assert_eq!(world.err("begin", missing)["field"], "expected_actor");
    assert_eq!(world.get(&task)["status"], "backlog");
    assert!(world.ok("list_sessions", json!({}))["sessions"].as_array().is_some_and(Vec::is_empty));
}

#[test]
fn a_retry_with_the_same_key_begins_once() {
    let world = World::new();
    let task = world.task("one");
    let first = world.begin(&task, "k-1");
    assert_eq!(world.begin(&task, "k-1")["id"], first["id"], "the same attempt");
    assert_eq!(world.ok("list_sessions", json!({}))["sessions"].as_array().map(Vec::len), Some(1));
    assert_eq!(did(&world.get(&task)).len(), 2);
    let other = json!({ "task": task, "expected_actor": "agent:ann", "idempotency_key": "k-2" });
    let refused = world.err("begin", other);
    assert_eq!((&refused["code"], &refused["reason"]), (&json!("CONFLICT"), &json!("session_open")));
    assert!(text(&refused["message"]).contains(&text(&first["id"])), "{refused}");
    let second = world.task("two");
    let again = json!({ "task": second, "expected_actor": "agent:ann", "idempotency_key": "k-1" });
    assert_eq!(world.err("begin", again)["reason"], "request_id_reused");
}

#[test]
fn beginning_goes_through_the_gates_and_past_nobody() {
    let world = World::new();
    let bob = world.actor("agent:bob");
    let first = world.task("one");
    let second = world.waiting("two", &[&first]);
    let begin = |task: &str, key: &str| json!({ "task": task, "expected_actor": "agent:bob", "idempotency_key": key });
    let refused = bob.err("begin", begin(&second, "k-1"));
    assert_eq!((&refused["code"], &refused["gates"][0]["gate"]), (&json!("RULE_BLOCKED"), &json!("dependencies")));
    assert_eq!(world.get(&second)["assignee"], Value::Null, "all of it or nothing");
    world.begin(&first, "k-1");
    assert_eq!(bob.err("begin", begin(&first, "k-2"))["reason"], "already_claimed");
    // What is in work already is begun where it stands.
    let third = world.task("three");
    world.to(&third, "in_review");
    bob.ok("begin", begin(&third, "k-3"));
    assert_eq!(world.get(&third)["status"], "in_review");
    let fourth = world.task("four");
    world.to(&fourth, "blocked");
    bob.ok("begin", begin(&fourth, "k-4"));
    let stands = world.get(&fourth);
    assert_eq!((&stands["status"], &stands["assignee"]), (&json!("blocked"), &json!("agent:bob")));
}

#[test]
fn only_its_agent_goes_on_with_a_session_and_only_while_it_lasts() {
    let world = World::new();
    let bob = world.actor("agent:bob");
    let task = world.task("one");
    let id = text(&world.begin(&task, "k-1")["id"]);
    for (tool, more) in [
        ("heartbeat", json!({ "progress": "x" })),
        ("finish", json!({ "summary": "x" })),
        ("cancel", json!({ "reason": "x" })),
    ] {
        let mut arguments = json!({ "session": id });
        arguments.as_object_mut().expect("an object").extend(more.as_object().cloned().expect("an object"));
        assert_eq!(bob.err(tool, arguments)["code"], "FORBIDDEN", "{tool}");
    }
    assert_eq!(bob.ok("get_session", json!({ "session": id }))["health"], "active", "everybody sees it");
    for bad in [json!({ "session": id, "summary": " " }), json!({ "session": id })] {
        assert_eq!(world.err("finish", bad)["code"], "VALIDATION", "a summary is asked for");
    }
    assert_eq!(world.err("cancel", json!({ "session": id, "reason": "" }))["code"], "VALIDATION");
    for progress in [json!(3), json!({ "percent": 101 }), json!({ "done": true })] {
        let refused = world.err("heartbeat", json!({ "session": id, "progress": progress }));
        assert_eq!(refused["field"], "progress", "{refused}");
    }
    let cancelled = world.ok("cancel", json!({ "session": id, "reason": "too hard" }));
    assert_eq!((&cancelled["status"], &cancelled["reason"]), (&json!("cancelled"), &json!("too hard")));
    let stands = world.get(&task);
    assert_eq!((&stands["status"], &stands["assignee"]), (&json!("in_progress"), &Value::Null), "left open");
    for (tool, more) in
        [("heartbeat", json!({})), ("finish", json!({ "summary": "x" })), ("cancel", json!({ "reason": "x" }))]
    {
        let mut arguments = json!({ "session": id });
        arguments.as_object_mut().expect("an object").extend(more.as_object().cloned().expect("an object"));
        assert_eq!(world.err(tool, arguments)["reason"], "session_ended", "{tool}");
    }
    let begin = json!({ "task": task, "expected_actor": "agent:bob", "idempotency_key": "k-1" });
    let next = bob.ok("begin", begin);
    assert_ne!(next["id"], json!(id), "another attempt, by another agent");
    for bad in [json!({ "session": "nonsense" }), json!({})] {
        assert_eq!(world.err("get_session", bad)["code"], "VALIDATION");
    }
    let unknown = json!({ "session": "01K7SA4Z0C8R5QY3M2B1N0V9XT" });
    assert_eq!(world.err("get_session", unknown)["code"], "NOT_FOUND");
}

#[test]
fn an_agent_that_falls_silent_is_stalled_and_one_that_loses_its_task_is_lost() {
    let world = World::new();
    let task = world.task("one");
    let id = text(&world.begin(&task, "k-1")["id"]);
    assert_eq!(world.ok("get_session", json!({ "session": id }))["health"], "active");
    world.ahead(301);
    world.becomes(&id, "stalled");
    assert_eq!(world.ok("heartbeat", json!({ "session": id }))["health"], "active", "heard of again");
    world.to(&task, "done");
    assert_eq!(world.ok("get_session", json!({ "session": id }))["health"], "finished", "it ended with its task");
    assert_eq!(world.err("heartbeat", json!({ "session": id }))["reason"], "claim_lost");
    world.to(&task, "in_progress");
    assert_eq!(world.ok("get_session", json!({ "session": id }))["health"], "lost", "the task is to be done again");
    let again = text(&world.begin(&task, "k-2")["id"]);
    assert_ne!(again, id);
    let lost = world.ok("get_session", json!({ "session": id }));
    assert_eq!((&lost["status"], &lost["health"]), (&json!("lost"), &json!("lost")), "{lost}");
}

#[test]
fn whoever_looks_at_a_session_sees_its_actor_spelled_like_an_assignee() {
    let world = World::new();
    let (bob, human) = (world.actor("agent:bob"), world.actor("human:shah"));
    let (first, second) = (world.task("one"), world.task("two"));
    let id = text(&world.begin(&first, "k-1")["id"]);
    let by_hand = json!({ "task": second, "expected_actor": "human:shah", "idempotency_key": "k-1" });
    let other = text(&human.ok("begin", by_hand)["id"]);
    for server in [&bob, &human] {
        assert_eq!(server.ok("get_session", json!({ "session": id }))["actor"], "agent:ann");
        let listed = server.ok("list_sessions", json!({}));
        assert_eq!(each(&listed["sessions"], "actor"), ["human:shah", "agent:ann"], "{listed}");
        let of_one = server.ok("list_sessions", json!({ "actor": "human:shah" }));
        assert_eq!(each(&of_one["sessions"], "id"), std::slice::from_ref(&other), "what is shown is what is asked for");
    }
    let shown = world.get(&second);
    assert_eq!(shown["assignee"], "human:shah", "{shown}");
}

#[test]
fn the_command_line_sees_and_ends_the_same_sessions() {
    let world = World::new();
    let task = world.task("one");
    let id = text(&world.begin(&task, "k-1")["id"]);
    let shown: Value = serde_json::from_str(&world.operate(&["--json", "session", "show", &id])).expect("JSON");
    assert_eq!((&shown["actor"], &shown["health"]), (&json!("ann"), &json!("active")));
    world.operate(&["--actor", "agent:ann", "session", "heartbeat", &id, "halfway", "--percent", "50"]);
    assert_eq!(world.ok("get_session", json!({ "session": id }))["progress"]["percent"], 50);
    world.operate(&["--actor", "agent:ann", "session", "finish", &id, "done by hand", "--head", "main"]);
    assert_eq!(world.ok("get_session", json!({ "session": id }))["health"], "awaiting_review");
}
