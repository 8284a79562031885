//! Who is told what while others work: nobody is woken by a sign of life, whoever waits for an item hears that it may start,
//! and what still waits for a person is said.

use std::time::Duration;

use serde_json::{Value, json};

use crate::{World, agent, each, text};

#[test]
fn nobody_is_woken_because_somebody_is_still_at_it() {
    let world = World::new();
    let key = world.plan(json!([{ "title": "x", "status": "ready" }])).remove(0);
    let start = json!({ "phase": "start", "id": key, "runtime": { "model": "small" }, "actor": agent("ann") });
    let session = text(&world.ok("work", start)["trusted"]["session"]);
    let cursor = world.ok("wait", json!({ "id": key, "timeoutMs": 0 }))["trusted"]["cursor"].clone();
    world.ok("work", json!({ "phase": "heartbeat", "session": session, "percent": 10, "actor": agent("ann") }));
    world.ok("work", json!({ "phase": "heartbeat", "id": key, "ttlSeconds": 3600, "actor": agent("ann") }));
    for waited in [json!({ "id": key, "timeoutMs": 0, "cursor": cursor }), json!({ "timeoutMs": 0 })] {
        assert_eq!(world.ok("wait", waited.clone())["trusted"]["code"], "WAIT_TIMEOUT", "{waited}");
    }
    let beats = json!({ "id": key, "timeoutMs": 0, "verbs": ["session-beat"] });
    let from = world.ok("wait", beats.clone())["trusted"]["cursor"].clone();
    world.ok("work", json!({ "phase": "heartbeat", "session": session, "percent": 20, "actor": agent("ann") }));
    let mut asked = beats;
    asked["cursor"] = from;
    assert_eq!(world.ok("wait", asked)["trusted"]["code"], "CHANGED_SINCE_CURSOR", "whoever asks for them hears them");
    world.ok("annotate", json!({ "id": key, "comment": "halfway", "actor": agent("ann") }));
    let told = world.ok("wait", json!({ "id": key, "timeoutMs": 5000, "cursor": cursor }));
    assert_eq!(told["trusted"]["code"], "CHANGED_SINCE_CURSOR", "{told}");
    let actions = each(&told["trusted"]["events"], "action");
    assert_eq!(actions, ["commented"], "{told}");
    let activity = each(&world.ok("find", json!({ "what": "activity", "id": key }))["trusted"]["rows"], "action");
    assert_eq!(activity.iter().filter(|action| *action == "claimed").count(), 1, "{activity:?}");
    assert!(!activity.contains(&"session-beat".to_owned()), "{activity:?}");
    let only = json!({ "what": "activity", "id": key, "verbs": ["session-beat"] });
    // That by the name of the item is one of the session too.
    assert_eq!(world.ok("find", only)["trusted"]["rows"].as_array().map(Vec::len), Some(3));
}

#[test]
fn whoever_waits_for_an_item_hears_that_it_waits_for_nothing_more() {
    let world = World::new();
    let first = world.plan(json!([{ "title": "first", "status": "ready" }])).remove(0);
    let second = world.plan(json!([{ "title": "second", "status": "ready", "blockedBy": [first] }])).remove(0);
    let other = world.another(&[]);
    let begun = world.ok("wait", json!({ "id": second, "timeoutMs": 0 }));
    assert_eq!(begun["trusted"]["code"], "WAIT_TIMEOUT");
    let cursor = begun["trusted"]["cursor"].clone();
    let closed = std::thread::scope(|scope| {
        let waiting = scope.spawn(|| other.ok("wait", json!({ "id": second, "timeoutMs": 60_000, "cursor": cursor })));
        std::thread::sleep(Duration::from_millis(300));
        world.moves(&first, "start");
        world.moves(&first, "complete");
        waiting.join().expect("an answer")
    });
    assert!(["TASK_CHANGED", "CHANGED_SINCE_CURSOR"].contains(&text(&closed["trusted"]["code"]).as_str()), "{closed}");
    assert_eq!(closed["trusted"]["items"][0]["key"], json!(second), "{closed}");
    // It is told once, and also to whoever was not waiting when it happened.
    let since = |cursor: &Value| world.ok("wait", json!({ "id": second, "timeoutMs": 0, "cursor": cursor }));
    assert_eq!(since(&cursor)["trusted"]["code"], "CHANGED_SINCE_CURSOR");
    assert_eq!(since(&closed["trusted"]["cursor"])["trusted"]["code"], "WAIT_TIMEOUT");
    world.moves(&first, "reopen");
    assert_eq!(since(&closed["trusted"]["cursor"])["trusted"]["code"], "CHANGED_SINCE_CURSOR", "it waits again");
}

#[test]
fn what_waits_for_a_persons_word_is_not_ready_to_be_done() {
    let world = World::new();
    let brief = json!({ "objective": "so", "acceptanceCriteria": ["it works"] });
    let key = world.plan(json!([{ "title": "x", "status": "ready", "brief": brief }])).remove(0);
    world.ok("contract", json!({ "id": key, "checks": [{ "desc": "Ann likes it" }] }));
    let packet = world.ok("work", json!({ "phase": "start", "id": key, "actor": agent("ann") }));
    let next = packet["trusted"]["next"].to_string();
    assert!(next.contains("work finish") && next.contains("a person attests checks 0"), "{next}");
    let proofs = json!([{ "id": "c1", "passed": true }]);
    world.ok("contract", json!({ "id": key, "verify": proofs, "actor": agent("ann") }));
    let verdict = || world.get(&key)["trusted"]["verdict"].clone();
    assert_eq!(
        (&verdict()["readyForReview"], &verdict()["readyForDone"]),
        (&json!(true), &json!(false)),
        "{}",
        verdict()
    );
    let refused = world.err("advance", json!({ "id": key, "to": "complete" }));
    assert_eq!(refused["code"], "RULE_BLOCKED", "the gate says the same");
}
