//! What is planned: parents that become work when their children are done, and slips that are told at their place.

use serde_json::json;

use crate::{World, agent};

#[test]
fn a_parent_that_its_children_leave_is_the_next_work() {
    let world = World::new();
    let brief = json!({ "acceptanceCriteria": ["all of it"] });
    let keys = world.plan(json!([
        { "title": "epic", "ref": "e", "status": "ready", "brief": brief,
          "children": [{ "title": "a", "status": "ready" }, { "title": "b", "status": "ready" }] },
    ]));
    for key in &keys[1..] {
        world.ok("work", json!({ "phase": "start", "id": key, "actor": agent("ann") }));
        let epic = world.ok("get", json!({ "id": keys[0] }));
        assert_ne!(epic["trusted"]["guard"]["ready"], json!(true), "{epic}");
        world.ok("advance", json!({ "id": key, "to": "complete", "actor": agent("ann") }));
    }
    assert_eq!(world.ok("get", json!({ "id": keys[0] }))["trusted"]["guard"]["ready"], json!(true));
    let packet = world.ok("work", json!({ "phase": "start", "actor": agent("bob") }));
    assert_eq!(packet["trusted"]["key"], json!(keys[0]), "{packet}");
}

#[test]
fn what_is_wrong_with_a_plan_is_told_at_its_place() {
    let world = World::new();
    for (plan, field) in [
        (json!({ "items": [{ "title": "a" }, { "title": "b", "status": "redy" }] }), "items[1].status"),
        (
            json!({ "items": [{ "title": "a", "children": [{ "title": "b", "status": "redy" }] }] }),
            "items[0].children[0].status",
        ),
        (
            json!({ "items": [{ "title": "a" }, { "title": "b", "brief": { "acceptanceCriteria": ["x", "x"] } }] }),
            "items[1].brief.acceptanceCriteria[1]",
        ),
        (json!({ "items": [{ "title": "a", "status": "redy" }] }), "items[0].status"),
        (json!({ "items": [{ "title": "a", "ref": "a" }], "edges": [{ "from": "a", "to": "W-99" }] }), "edges[0].to"),
        (json!({ "items": [{ "title": "a", "ref": "a" }], "edges": [{ "from": "a", "to": "a" }] }), "edges[0]"),
    ] {
        let refused = world.err("plan", plan.clone());
        assert_eq!(refused["field"], json!(field), "{plan}: {refused}");
    }
}
