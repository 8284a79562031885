//! `requestId`: the name of one call of one tool, whatever that came to be.

use serde_json::{Value, json};

use crate::{World, agent, text};

fn used(world: &World, tool: &str, arguments: Value) {
    let error = world.err(tool, arguments.clone());
    assert_eq!(
        (&error["reason"], &error["field"]),
        (&json!("request_id_reused"), &json!("requestId")),
        "{tool} {arguments}: {error}"
    );
}

#[test]
fn another_operation_of_the_same_tool_is_another_request() {
    let world = World::new();
    let (a, b) = (world.item("a"), world.item("b"));
    let total = || world.ok("find", json!({ "what": "list" }))["trusted"]["total"].clone();
    world.ok("plan", json!({ "items": [{ "title": "x" }], "requestId": "one" }));
    used(&world, "plan", json!({ "markdown": "- [ ] y", "requestId": "one" }));
    assert_eq!(total(), 3);
    world.ok("annotate", json!({ "id": a, "comment": "words", "requestId": "one" }));
    used(&world, "annotate", json!({ "id": a, "notes": [{ "key": "k", "body": "words" }], "requestId": "one" }));
    used(&world, "annotate", json!({ "id": a, "edges": [{ "to": b }], "requestId": "one" }));
    used(&world, "annotate", json!({ "id": a, "attention": "look", "requestId": "one" }));
    world.ok("contract", json!({ "id": a, "brief": { "objective": "words" }, "requestId": "one" }));
    used(&world, "contract", json!({ "id": a, "checks": [{ "desc": "c", "cmd": "true" }], "requestId": "one" }));
    world.ok("remove", json!({ "items": [b], "requestId": "one" }));
    used(&world, "remove", json!({ "notesOf": { "id": a }, "requestId": "one" }));
    used(&world, "remove", json!({ "items": [a], "requestId": "one" }));
    assert_eq!(total(), 2);
    let error = world.another(&[]).err("plan", json!({ "markdown": "- [ ] y", "requestId": "one" }));
    assert_eq!(error["reason"], "request_id_reused", "behind another process too");
}

#[test]
fn a_start_that_notes_an_attempt_is_answered_again_as_a_whole() {
    let world = World::new();
    world.plan(json!([{ "title": "x", "status": "ready" }, { "title": "y", "status": "ready" }]));
    let start = json!({ "phase": "start", "runtime": { "model": "small" }, "actor": agent("ann"), "requestId": "one" });
    let first = world.ok("work", start.clone());
    let again = world.ok("work", start.clone());
    let told = |packet: &Value| (text(&packet["trusted"]["key"]), text(&packet["trusted"]["session"]));
    assert_eq!(told(&again), told(&first));
    let mut other = start;
    other["runtime"] = json!({ "model": "large" });
    used(&world, "work", other);
    let key = first["trusted"]["key"].clone();
    let beat = json!({ "phase": "heartbeat", "id": key, "actor": agent("ann"), "requestId": "one" });
    used(&world, "work", beat);
    let release = json!({ "phase": "release", "id": key, "actor": agent("ann"), "requestId": "one" });
    used(&world, "work", release);
    world.ok("work", json!({ "phase": "release", "id": key, "actor": agent("ann"), "requestId": "two" }));
}
