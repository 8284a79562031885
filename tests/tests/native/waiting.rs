//! `wait`.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::{World, each};

#[test]
fn waiting_ends_with_the_code_of_what_happened() {
    let world = World::new();
    let key = world.plan(json!([{ "title": "x", "status": "ready" }])).remove(0);
    let at = world.ok("wait", json!({ "id": key, "statuses": ["ready"] }));
    assert_eq!(at["trusted"]["code"], "ALREADY_AT_STATUS");
    let begin = Instant::now();
    let over = world.ok("wait", json!({ "id": key, "timeoutMs": 300 }));
    assert_eq!(over["trusted"]["code"], "WAIT_TIMEOUT");
    assert!(
        begin.elapsed() >= Duration::from_millis(300) && over["trusted"]["items"][0]["status"] == "ready",
        "{over}"
    );
    // What happens between two waits is told by the next.
    world.ok("edit", json!({ "ids": [key], "patch": { "title": "y" } }));
    let since = world.ok("wait", json!({ "id": key, "timeoutMs": 5000, "cursor": over["trusted"]["cursor"] }));
    assert_eq!(since["trusted"]["code"], "CHANGED_SINCE_CURSOR", "{since}");
    assert_eq!(since["trusted"]["events"][0]["action"], "edited");
    // What happens while somebody waits is told at once, to another process too.
    let other = world.another(&[]);
    let cursor = since["trusted"]["cursor"].clone();
    std::thread::scope(|scope| {
        let waiting =
            scope.spawn(|| other.ok("wait", json!({ "id": key, "statuses": ["in_progress"], "timeoutMs": 20_000 })));
        std::thread::sleep(Duration::from_millis(300));
        world.ok("edit", json!({ "ids": [key], "patch": { "title": "z" } }));
        world.moves(&key, "start");
        let changed = waiting.join().expect("an answer");
        assert_eq!(changed["trusted"]["code"], "TASK_CHANGED", "{changed}");
        assert_eq!(changed["trusted"]["items"][0]["status"], "in_progress");
    });
    // Also that there is nothing left to wait for.
    let doomed = world.item("doomed");
    std::thread::scope(|scope| {
        let waiting = scope.spawn(|| other.ok("wait", json!({ "id": doomed, "timeoutMs": 20_000 })));
        std::thread::sleep(Duration::from_millis(300));
        let begin = Instant::now();
        world.ok("remove", json!({ "items": [doomed] }));
        let deleted = waiting.join().expect("an answer");
        assert_eq!(deleted["trusted"]["code"], "TASK_DELETED", "{deleted}");
        assert!(begin.elapsed() < Duration::from_secs(10), "at once: {:?}", begin.elapsed());
    });
    world.ok("remove", json!({ "items": [key] }));
    let gone = world.ok("wait", json!({ "id": key, "timeoutMs": 5000, "cursor": cursor }));
    assert_eq!(gone["trusted"]["code"], "TASK_DELETED", "{gone}");
    assert_eq!(world.err("wait", json!({ "id": key }))["code"], "NOT_FOUND");
    for (arguments, code) in [
        (json!({ "timeoutMs": -1 }), "INVALID_TIMEOUT"),
        (json!({ "timeoutMs": 60_001 }), "INVALID_TIMEOUT"),
        (json!({ "timeoutMs": "soon" }), "INVALID_TIMEOUT"),
        (json!({ "cursor": "made up" }), "INVALID_PARAMS"),
        (json!({ "verbs": ["danced"] }), "INVALID_PARAMS"),
    ] {
        assert_eq!(world.err("wait", arguments.clone())["code"], code, "{arguments}");
    }
}

/// Whoever comes too late to see an item at a status hears that it was there, and hears it once.
#[test]
fn a_status_that_was_reached_and_left_between_two_waits_is_told_by_the_next() {
    let world = World::new();
    let key = world.plan(json!([{ "title": "x", "status": "ready", "tags": ["red"] }])).remove(0);
    let wait = |watch: &Value, cursor: &Value| {
        let mut arguments = watch.clone();
        arguments["timeoutMs"] = json!(0);
        arguments["cursor"] = cursor.clone();
        world.ok("wait", arguments)["trusted"].clone()
    };
    let watches = [
        json!({ "id": key, "statuses": ["in_review"] }),
        json!({ "tags": ["red"], "statuses": ["in_review"] }),
        json!({ "statuses": ["in_review"] }),
    ];
    let begun: Vec<Value> = watches.iter().map(|watch| wait(watch, &Value::Null)["cursor"].clone()).collect();
    for status in ["in_progress", "in_review", "ready"] {
        world.moves(&key, status);
    }
    for (watch, cursor) in watches.iter().zip(&begun) {
        let told = wait(watch, cursor);
        assert_eq!(told["code"], "CHANGED_SINCE_CURSOR", "{watch}: {told}");
        let events = told["events"].as_array().expect("events");
        assert_eq!((events.len(), &events[0]["action"]), (1, &json!("moved")), "only what brought it there: {told}");
        assert_eq!(told["items"][0]["status"], "ready", "as it is now: {told}");
        assert_eq!(wait(watch, &told["cursor"])["code"], "WAIT_TIMEOUT", "{watch}: it is told once");
    }
    let made = wait(&json!({ "statuses": ["ready"] }), &Value::Null)["cursor"].clone();
    let brief = world.plan(json!([{ "title": "y", "status": "ready" }])).remove(0);
    world.moves(&brief, "in_progress");
    let told = wait(&json!({ "statuses": ["ready"] }), &made);
    assert_eq!(
        (&told["code"], &told["events"][0]["action"]),
        (&json!("CHANGED_SINCE_CURSOR"), &json!("created")),
        "{told}"
    );
    // What went by and is gone is told, too: where it came is known.
    let cursor = wait(&json!({ "statuses": ["done"] }), &Value::Null)["cursor"].clone();
    world.moves(&brief, "in_review");
    world.moves(&brief, "done");
    world.ok("remove", json!({ "items": [brief] }));
    assert_eq!(wait(&json!({ "statuses": ["done"] }), &cursor)["events"][0]["action"], "moved");
}

#[test]
fn a_filter_is_waited_for_and_no_change_of_it_is_missed() {
    let world = World::new();
    let begin = world.ok("wait", json!({ "tags": ["red"], "timeoutMs": 0 }));
    assert_eq!(begin["trusted"]["code"], "WAIT_TIMEOUT");
    let mut cursor = begin["trusted"]["cursor"].clone();
    let (mut made, mut told) = (Vec::new(), Vec::new());
    for round in 0..5 {
        world.item("no tag");
        for n in 0..=round {
            made.extend(world.plan(json!([{ "title": format!("{round} {n}"), "tags": ["red"] }])));
        }
        let changed = world.ok("wait", json!({ "tags": ["red"], "timeoutMs": 5000, "cursor": cursor }));
        assert_eq!(changed["trusted"]["code"], "CHANGED_SINCE_CURSOR", "{changed}");
        told.extend(each(&changed["trusted"]["events"], "item"));
        cursor = changed["trusted"]["cursor"].clone();
    }
    assert_eq!(told, made, "each once, in order");
    let another = world.err("wait", json!({ "tags": ["blue"], "cursor": cursor }));
    assert_eq!((&another["code"], &another["field"]), (&json!("INVALID_PARAMS"), &json!("cursor")));
}

#[test]
fn a_status_that_no_workflow_has_is_not_waited_for() {
    let world = World::new();
    let begin = Instant::now();
    let refused = world.err("wait", json!({ "statuses": ["in_progres"], "timeoutMs": 20_000 }));
    assert_eq!((&refused["code"], &refused["field"]), (&json!("INVALID_PARAMS"), &json!("statuses[0]")), "{refused}");
    assert!(refused["message"].as_str().is_some_and(|line| line.contains("did you mean \"in_progress\"")), "{refused}");
    assert!(begin.elapsed() < Duration::from_secs(10));
}
