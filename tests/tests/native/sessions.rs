//! Attempts on the native surface: `work` notes them, `find` lists them.

use serde_json::json;

use crate::{World, agent, each, text};

#[test]
fn a_start_with_a_runtime_notes_an_attempt() {
    let world = World::new();
    let keys = world.plan(json!([{ "title": "x", "status": "ready" }, { "title": "y", "status": "ready" }]));
    let start = json!({ "phase": "start", "id": keys[0], "runtime": { "model": "small" }, "actor": agent("ann") });
    let packet = world.ok("work", start.clone());
    let session = text(&packet["trusted"]["session"]);
    let beat =
        json!({ "phase": "heartbeat", "session": session, "progress": "half", "percent": 50, "actor": agent("ann") });
    let beat = world.ok("work", beat);
    assert_eq!((&beat["trusted"]["health"], &beat["trusted"]["percent"]), (&json!("active"), &json!(50)));
    assert_eq!((&beat["untrusted"]["progress"], &beat["trusted"]["key"]), (&json!("half"), &json!(keys[0])));
    let foreign = json!({ "phase": "heartbeat", "session": session, "actor": agent("bob") });
    assert_eq!(world.err("work", foreign)["code"], "FORBIDDEN");
    assert_eq!(world.err("work", start)["reason"], "session_open");
    // The best ready work, with an attempt at it; one claim is all an agent may hold.
    let found = world.ok("work", json!({ "phase": "start", "runtime": {}, "actor": agent("ann") }));
    assert_eq!(found["trusted"]["key"], json!(keys[1]));
    let second = text(&found["trusted"]["session"]);
    let plain = world.ok("work", json!({ "phase": "start", "id": keys[0], "actor": agent("bob") }));
    assert!(plain["trusted"].get("session").is_none(), "only where one is asked for");
    let list = |filter: serde_json::Value| {
        let mut arguments = json!({ "what": "sessions" });
        arguments.as_object_mut().expect("an object").extend(filter.as_object().cloned().expect("an object"));
        each(&world.ok("find", arguments)["trusted"]["rows"], "session")
    };
    assert_eq!(list(json!({})), [second.clone(), session.clone()]);
    assert_eq!(list(json!({ "id": keys[0] })), std::slice::from_ref(&session));
    assert_eq!(list(json!({ "health": "lost" })), std::slice::from_ref(&session));
    assert_eq!(list(json!({ "health": "active", "actor": "ann" })), [second]);
    assert!(list(json!({ "state": "finished" })).is_empty());
    let page = world.ok("find", json!({ "what": "sessions", "limit": 1 }));
    let next = list(json!({ "limit": 1, "cursor": page["trusted"]["cursor"] }));
    assert_eq!(next, [session]);
    assert_eq!(world.err("find", json!({ "what": "sessions", "health": "well" }))["code"], "VALIDATION");
    let bad = json!({ "phase": "start", "id": keys[0], "runtime": { "a": [] }, "actor": agent("bob") });
    assert_eq!(world.err("work", bad)["field"], "runtime");
}
