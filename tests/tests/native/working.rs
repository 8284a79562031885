//! `work`, `advance`, `contract` and `ask`: the loop of an agent and what can keep it.

use serde_json::{Value, json};

use crate::{World, agent, each, text};

fn contract() -> Value {
    json!({ "objective": "so", "acceptanceCriteria": ["one", { "text": "two", "verifier": "human" }] })
}

#[test]
fn one_call_finds_claims_and_begins_and_answers_all_there_is_to_know() {
    let world = World::new();
    let keys = world.plan(json!([
        { "title": "up", "status": "braindump", "intent": "why", "brief": { "context": "around it" },
          "children": [{ "title": "low", "status": "ready", "priority": "low" }, { "title": "high", "status": "ready", "priority": "high", "brief": contract() }] },
    ]));
    let packet = world.ok("work", json!({ "phase": "start", "actor": agent("ann") }));
    let trusted = &packet["trusted"];
    assert_eq!((&trusted["key"], &trusted["status"]), (&json!(keys[2]), &json!("in_progress")), "{packet}");
    assert_eq!(trusted["fence"], 1);
    assert_eq!(packet["untrusted"]["brief"]["objective"], "so");
    assert_eq!(packet["untrusted"]["criteria"]["c2"]["text"], "two");
    assert_eq!(packet["untrusted"]["parent"]["brief"]["context"], "around it", "in full the first time");
    assert_eq!(trusted["next"], json!(["work finish with verify c1"]), "c2 is a person's");
    // The same agent is told of the same parent in short.
    let second = world.ok("work", json!({ "phase": "start", "actor": agent("ann") }));
    assert_eq!(second["trusted"]["key"], json!(keys[1]));
    assert_eq!(second["trusted"]["autoReleased"], json!([keys[2]]));
    assert!(
        second["untrusted"]["parent"]["brief"].is_null() && second["untrusted"]["parent"]["intent"] == "why",
        "{second}"
    );
    let start = |who: &str, wish: &str| {
        let packet =
            world.ok("work", json!({ "phase": "start", "id": keys[1], "actor": agent(who), "parentContext": wish }));
        world.ok("work", json!({ "phase": "release", "id": keys[1], "actor": agent(who) }));
        packet["untrusted"]["parent"].clone()
    };
    assert!(start("ann", "force")["brief"].is_object());
    assert!(start("bob", "summary")["brief"].is_null());
    assert!(start("bob", "none").is_null());
    let none = json!({ "phase": "start", "id": keys[1], "actor": agent("bob"), "parentContext": "none" });
    assert_eq!(world.ok("work", none)["trusted"]["parent"]["key"], json!(keys[0]), "where to look it up");
    world.ok("work", json!({ "phase": "release", "id": keys[1], "actor": agent("bob") }));
    assert!(start("bob", "auto")["brief"].is_object(), "another agent");
}

#[test]
fn there_may_be_nothing_to_do_and_work_may_be_waited_for() {
    let world = World::new();
    let start = |who: &str, more: Value| {
        let mut arguments = json!({ "phase": "start", "actor": agent(who) });
        arguments.as_object_mut().expect("an object").extend(more.as_object().cloned().expect("an object"));
        world.ok("work", arguments)["trusted"].clone()
    };
    assert_eq!(start("ann", json!({}))["outcome"], "queue_empty");
    let key = world.plan(json!([{ "title": "x", "status": "ready", "tags": ["red"] }])).remove(0);
    assert_eq!(start("ann", json!({ "tags": ["blue"] }))["outcome"], "none_eligible");
    std::thread::scope(|scope| {
        let waiting = scope.spawn(|| start("ann", json!({ "tags": ["green"], "waitMs": 20_000 })));
        std::thread::sleep(std::time::Duration::from_millis(200));
        let made = world.plan(json!([{ "title": "y", "status": "ready", "tags": ["green"] }]));
        assert_eq!(waiting.join().expect("an answer")["key"], json!(made[0]));
    });
    // What somebody began and left is handed out again.
    assert_eq!(start("bob", json!({ "ttlSeconds": 1 }))["key"], json!(key));
    assert_eq!(start("cid", json!({}))["outcome"], "queue_empty");
    std::thread::sleep(std::time::Duration::from_millis(1_200));
    let left = start("cid", json!({}));
    assert_eq!((&left["key"], &left["fence"]), (&json!(key), &json!(2)), "{left}");
    let lost = world.err("work", json!({ "phase": "heartbeat", "id": key, "fence": 1, "actor": agent("bob") }));
    assert_eq!(lost["code"], "CONFLICT", "{lost}");
    let repeat = json!({ "requestId": "same" });
    let first = start("dan", json!({ "requestId": "same", "waitMs": 0 }));
    assert_eq!(first, start("dan", repeat), "nothing was found, and nothing was burnt");
}

#[test]
fn the_queue_shows_what_a_start_would_hand_out_in_that_order() {
    let world = World::new();
    let keys = world.plan(json!([
        { "title": "left", "status": "ready", "priority": "high" },
        { "title": "hard", "status": "ready", "priority": "high", "capabilities": ["gpu"] },
        { "title": "low", "status": "ready", "priority": "low" },
    ]));
    let queue = |more: Value| {
        let mut call = json!({ "what": "queue" });
        call.as_object_mut().expect("an object").extend(more.as_object().cloned().expect("an object"));
        each(&world.ok("find", call)["trusted"]["rows"], "key")
    };
    world.ok("work", json!({ "phase": "start", "id": keys[0], "actor": agent("ann") }));
    assert_eq!(queue(json!({})), std::slice::from_ref(&keys[2]));
    world.ok("work", json!({ "phase": "release", "id": keys[0], "actor": agent("ann") }));
    assert_eq!(queue(json!({})), [keys[0].clone(), keys[2].clone()], "what was given back is ready work");
    assert_eq!(queue(json!({ "capabilities": ["gpu"] })), [keys[0].clone(), keys[1].clone(), keys[2].clone()]);
    assert_eq!(
        queue(json!({ "roles": ["queue"] })),
        [keys[1].clone(), keys[2].clone()],
        "a role is looked at as it is"
    );
    for expected in [&keys[0], &keys[2]] {
        let packet = world.ok("work", json!({ "phase": "start", "actor": agent(expected) }));
        assert_eq!(packet["trusted"]["key"], json!(expected), "{packet}");
    }
    let none = world.ok("work", json!({ "phase": "start", "actor": agent("bob") }));
    assert_eq!(none["trusted"]["outcome"], "none_eligible", "{none}");
}

#[test]
fn whoever_takes_work_up_is_told_what_was_said_last() {
    let world = World::new();
    let key = world.plan(json!([{ "title": "x", "status": "ready" }])).remove(0);
    for number in 0..5 {
        world.ok("annotate", json!({ "id": key, "comment": format!("word {number}") }));
        // What is said within the same millisecond has no order.
        std::thread::sleep(std::time::Duration::from_millis(2));
    }
    world.ok("annotate", json!({ "id": key, "comment": "long ".repeat(300) }));
    let packet = world.ok("work", json!({ "phase": "start", "actor": agent("ann") }));
    let comments = packet["untrusted"]["comments"].as_array().expect("comments");
    assert_eq!((comments.len(), &comments[1]["body"]), (3, &json!("word 4")), "{packet}");
    assert!(text(&comments[0]["body"]).len() <= 600 && packet["trusted"]["commentsCut"].is_string(), "{packet}");
}

/// What work is looked for goes with no name: it is refused, and not dropped.
#[test]
fn a_start_by_name_refuses_what_it_does_not_read() {
    let world = World::new();
    let keys = world.plan(json!([{ "title": "up", "children": [{ "title": "x", "status": "ready" }] }]));
    for (argument, value) in [
        ("under", json!(keys[0])),
        ("tags", json!(["red"])),
        ("type", json!("bug")),
        ("capabilities", json!(["gpu"])),
        ("waitMs", json!(1000)),
    ] {
        let mut call = json!({ "phase": "start", "id": keys[1], "actor": agent("ann") });
        call[argument] = value;
        let refused = world.err("work", call);
        assert_eq!((&refused["code"], &refused["field"]), (&json!("VALIDATION"), &json!(argument)), "{refused}");
    }
    assert_eq!(world.status(&keys[1]), "ready", "nothing was begun");
    let call = json!({ "phase": "start", "id": keys[1], "project": "default", "ttlSeconds": 60, "runtime": {},
        "knowledge": true, "parentContext": "none", "actor": agent("ann"), "requestId": "r" });
    assert_eq!(world.ok("work", call)["trusted"]["key"], json!(keys[1]), "the rest goes with it");
}

/// The answer that is retried may be the one that was lost, and the parent's texts with it.
#[test]
fn a_retried_start_tells_of_the_parent_again() {
    let world = World::new();
    world.plan(json!([{ "title": "up", "status": "braindump", "description": "all of it", "children": [
        { "title": "x", "status": "ready" }, { "title": "y", "status": "ready" },
    ] }]));
    let start = |request: &str| {
        let packet = world.ok("work", json!({ "phase": "start", "actor": agent("ann"), "requestId": request }));
        packet["untrusted"]["parent"]["description"].clone()
    };
    assert_eq!(start("one"), "all of it");
    assert_eq!(start("one"), "all of it", "the same request");
    assert_eq!(start("two"), Value::Null, "another is told in short");
    assert_eq!(start("two"), Value::Null, "however often it comes");
}

#[test]
fn a_retried_start_gives_the_same_item() {
    let world = World::new();
    world.plan(json!([{ "title": "x", "status": "ready" }, { "title": "y", "status": "ready" }]));
    let call = json!({ "phase": "start", "actor": agent("ann"), "requestId": "once" });
    let first = world.ok("work", call.clone());
    assert_eq!(world.ok("work", call)["trusted"]["key"], first["trusted"]["key"]);
    let other =
        world.err("work", json!({ "phase": "start", "actor": agent("ann"), "requestId": "once", "tags": ["red"] }));
    assert_eq!(other["reason"], "request_id_reused", "{other}");
}

#[test]
fn finishing_previews_or_applies_and_a_refusal_names_every_gate() {
    let world = World::new();
    let keys = world.plan(json!([{ "title": "x", "ref": "x", "status": "ready", "brief": contract() }, { "title": "next", "status": "ready", "blockedBy": ["x"] }]));
    let (key, next) = (&keys[0], &keys[1]);
    let packet = world.ok("work", json!({ "phase": "start", "id": key, "actor": agent("ann") }));
    let call = |more: Value| {
        let mut arguments =
            json!({ "phase": "finish", "id": key, "fence": packet["trusted"]["fence"], "actor": agent("ann") });
        arguments.as_object_mut().expect("an object").extend(more.as_object().cloned().expect("an object"));
        arguments
    };
    let preview = world.ok("work", call(json!({ "preview": true, "to": "complete", "comment": "not kept" })));
    assert_eq!(preview["trusted"]["applied"], false);
    assert_eq!(each(&preview["trusted"]["blockers"][0]["unproved"], "id"), ["c1", "c2"], "{preview}");
    let refused = world.err(
        "work",
        call(json!({ "to": "complete", "comment": "not kept", "verify": [{ "id": "c1", "passed": true }] })),
    );
    assert_eq!((&refused["code"], &refused["item"]), (&json!("RULE_BLOCKED"), &json!(key)), "{refused}");
    assert_eq!(each(&refused["refusals"][0]["unproved"], "id"), ["c2"], "what was verified counts for the move");
    let read = world.ok("get", json!({ "id": key, "include": ["comments"] }));
    assert!(
        read["untrusted"]["comments"].is_null() && read["trusted"]["verdict"]["criteria"][0]["status"] == "open",
        "nothing was kept: {read}"
    );
    let reviewed = world.ok("work", call(json!({ "verify": [{ "id": "c1", "passed": true, "note": "seen" }], "links": [{ "kind": "pr", "ref": "7", "url": "https://example.org/7" }] })));
    assert_eq!(
        (&reviewed["trusted"]["to"], &reviewed["trusted"]["verdict"]["c1"]),
        (&json!("in_review"), &json!("pass")),
        "{reviewed}"
    );
    // A person signs off, and what waited is unblocked.
    let agents =
        world.err("contract", json!({ "id": key, "verify": [{ "id": "c2", "passed": true }], "actor": agent("ann") }));
    assert_eq!((&agents["code"], &agents["reason"]), (&json!("RULE_BLOCKED"), &json!("not_yours")), "{agents}");
    world.signs_off(key, "c2");
    let done = world.ok("advance", json!({ "id": key, "to": "complete", "actor": agent("ann") }));
    assert_eq!(done["trusted"]["moves"][0]["unblocked"], json!([next]), "{done}");
    for (arguments, field) in [
        (json!({}), "phase"),
        (json!({ "phase": "sleep" }), "phase"),
        (json!({ "phase": "heartbeat" }), "id"),
        (json!({ "phase": "start", "ttlSeconds": 0 }), "ttlSeconds"),
        (json!({ "phase": "start", "waitMs": 60_001 }), "waitMs"),
        (json!({ "phase": "start", "comment": "no" }), "comment"),
        (json!({ "phase": "finish", "id": key, "verify": [{ "id": "c9", "passed": true }] }), "verify[0].id"),
        (json!({ "phase": "finish", "id": key, "verify": [{ "id": "c1" }] }), "verify[0].passed"),
        (json!({ "phase": "finish", "id": key, "links": [{ "kind": "pr" }] }), "links[0].ref"),
    ] {
        let refused = world.err("work", arguments);
        assert_eq!(refused["field"], json!(field), "{refused}");
    }
    let stranger = world.err("work", json!({ "phase": "release", "id": next, "actor": agent("bob") }));
    assert_eq!(stranger["reason"], "not_claimed_by_you");
}

#[test]
fn moves_go_by_trigger_or_status_alone_or_in_a_batch() {
    let world = World::new();
    let keys = world.plan(json!([{ "title": "a", "status": "ready" }, { "title": "b", "ref": "b" }, { "title": "c", "blockedBy": ["b"] }]));
    assert_eq!(world.moves(&keys[0], "start")["to"], "in_progress");
    assert_eq!(world.moves(&keys[0], "in_review")["to"], "in_review");
    let refused = world.err("advance", json!({ "id": keys[2], "to": "start" }));
    assert_eq!(refused["refusals"][0]["blockers"], json!([{ "item": keys[1], "is": "queue", "must": "terminal" }]));
    assert_eq!(world.err("advance", json!({ "id": keys[0], "to": "nowhere" }))["code"], "RULE_BLOCKED");
    let moves = json!([{ "id": keys[0], "to": "complete" }, { "id": keys[2], "to": "start" }]);
    let dry = world.ok("advance", json!({ "moves": moves, "dryRun": true }));
    assert_eq!((&dry["trusted"]["dryRun"], world.status(&keys[0]).as_str()), (&json!(true), "in_review"));
    let atomic = world.err("advance", json!({ "moves": moves, "atomic": true }));
    assert_eq!(
        (atomic["code"].as_str(), world.status(&keys[0]).as_str()),
        (Some("RULE_BLOCKED"), "in_review"),
        "{atomic}"
    );
    let each_own = world.ok("advance", json!({ "moves": moves }));
    assert_eq!(each_own["trusted"]["moves"][0]["to"], "done");
    assert_eq!(each_own["trusted"]["moves"][1]["error"]["code"], "RULE_BLOCKED", "{each_own}");
    assert_eq!(
        world.err("advance", json!({ "id": keys[1], "to": "start", "version": 9 }))["reason"],
        "version_mismatch"
    );
    assert_eq!(world.err("advance", json!({ "moves": [] }))["field"], "moves");
    assert_eq!(world.err("advance", json!({ "moves": moves, "id": keys[0] }))["field"], "moves");
    assert_eq!(world.err("advance", json!({ "id": keys[0] }))["field"], "to");
}

#[test]
fn a_subtree_is_closed_by_gates_or_by_force_whole() {
    let world = World::new();
    let keys = world.plan(json!([{ "title": "root", "children": [{ "title": "a", "ref": "a" }, { "title": "b", "blockedBy": ["a"], "brief": contract() }] }]));
    let refused = world.err("advance", json!({ "id": keys[0], "tree": true, "force": true }));
    assert_eq!(refused["code"], "RULE_BLOCKED", "b's criteria are not shown: {refused}");
    assert_eq!(world.status(&keys[1]), "backlog", "by force nothing was closed");
    let each_own = world.ok("advance", json!({ "id": keys[0], "tree": true }));
    assert_eq!(each_own["trusted"]["closed"], json!([keys[1]]), "{each_own}");
    assert_eq!(each_own["trusted"]["refused"][0]["key"], json!(keys[2]), "{each_own}");
    assert_eq!(world.status(&keys[0]), "backlog", "what is beneath it keeps it open");
    world.moves(&keys[1], "reopen");
    let dry = world.ok("advance", json!({ "id": keys[0], "tree": true, "to": "cancel", "dryRun": true }));
    assert_eq!(dry["trusted"]["closed"].as_array().expect("keys").len(), 3, "{dry}");
    assert_ne!(world.status(&keys[0]), "cancelled");
    world.ok("advance", json!({ "id": keys[0], "tree": true, "to": "cancel" }));
    assert_eq!(world.status(&keys[2]), "cancelled");
    assert_eq!(world.err("advance", json!({ "id": keys[0], "tree": true, "to": "start" }))["field"], "to");
    assert_eq!(world.err("advance", json!({ "id": keys[0], "tree": true, "summary": "x" }))["field"], "summary");
}

#[test]
fn a_brief_is_merged_or_replaced_and_criteria_keep_their_names() {
    let world = World::new();
    let key = world.item("x");
    let set =
        |brief: Value, replace: bool| world.ok("contract", json!({ "id": key, "brief": brief, "replace": replace }));
    let first = set(json!({ "objective": "so", "acceptanceCriteria": ["one", "two"] }), false);
    assert_eq!(each(&first["trusted"]["verdict"]["criteria"], "id"), ["c1", "c2"]);
    world.ok("contract", json!({ "id": key, "verify": [{ "id": "c2", "passed": true }] }));
    let merged = set(
        json!({ "objective": null, "context": "around", "acceptanceCriteria": ["two", { "text": "three", "hard": false }] }),
        false,
    );
    let criteria = &merged["trusted"]["verdict"]["criteria"];
    assert_eq!(criteria, &json!([{ "id": "c2", "status": "pass" }, { "id": "c3", "status": "open", "hard": false }]));
    let now = world.ok("contract", json!({ "id": key }));
    assert_eq!(now["untrusted"]["brief"], json!({ "context": "around" }));
    set(json!({ "constraints": ["never"] }), true);
    let now = world.ok("contract", json!({ "id": key }));
    assert_eq!(now["untrusted"], json!({ "brief": { "constraints": ["never"] } }));
    let stale = world.err("contract", json!({ "id": key, "brief": {}, "version": 1 }));
    assert_eq!(stale["code"], "CONFLICT", "{stale}");
    assert_eq!(world.err("contract", json!({ "id": key, "brief": { "goal": "x" } }))["field"], "brief.goal");
    assert_eq!(world.err("contract", json!({ "id": key, "brief": {}, "verify": [] }))["field"], "verify");
    assert_eq!(world.err("contract", json!({ "id": key, "verify": [] }))["reason"], "too_few");
}

#[test]
fn a_question_parks_the_item_and_its_answer_brings_it_back() {
    let world = World::new();
    let key = world.plan(json!([{ "title": "x", "status": "ready" }])).remove(0);
    world.ok("work", json!({ "phase": "start", "actor": agent("ann") }));
    let asked =
        world.ok("ask", json!({ "id": key, "question": "which?", "options": ["a", "b"], "actor": agent("ann") }));
    assert_eq!(
        (&asked["trusted"]["state"], &asked["trusted"]["status"]),
        (&json!("open"), &json!("waiting_for_input")),
        "{asked}"
    );
    assert_eq!(
        world.ok("work", json!({ "phase": "start", "actor": agent("bob") }))["trusted"]["outcome"],
        "queue_empty"
    );
    assert_eq!(world.err("ask", json!({ "id": key, "question": "again?" }))["reason"], "question_open");
    let answered = world.ok("ask", json!({ "id": key, "answer": "a", "actor": { "id": "eve", "kind": "user" } }));
    assert_eq!(
        (&answered["trusted"]["state"], &answered["trusted"]["status"]),
        (&json!("answered"), &json!("ready")),
        "{answered}"
    );
    let packet = world.ok("work", json!({ "phase": "start", "actor": agent("bob") }));
    assert_eq!(packet["untrusted"]["question"]["answer"], "a", "whoever takes it up knows the answer");
    assert_eq!(world.err("ask", json!({ "id": key, "answer": "b" }))["reason"], "question_closed");
    let asked = world.ok("ask", json!({ "id": key, "question": "or?", "actor": agent("bob") }));
    let withdrawn = world.ok("ask", json!({ "questionId": text(&asked["trusted"]["questionId"]), "withdraw": true }));
    assert_eq!(withdrawn["trusted"]["state"], "cancelled", "{withdrawn}");
    for arguments in [
        json!({ "id": key }),
        json!({ "id": key, "question": "x", "answer": "y" }),
        json!({ "id": key, "answer": "y", "withdraw": true }),
    ] {
        assert_eq!(world.err("ask", arguments)["field"], "question");
    }
}

#[test]
fn the_packet_tells_which_notes_are_expected() {
    let folder = tempfile::tempdir().expect("a folder");
    let rules = "[schemas.default]\nnotes = [\n  { key = \"plan\", phase = \"queue\", required = true, guidance = \"Say how\" },\n  \
                 { key = \"cause\", phase = \"work\", required = true, description = \"Why it broke\" },\n  \
                 { key = \"aside\", phase = \"work\", skill = \"writing\" },\n]\n";
    std::fs::write(folder.path().join("docket.toml"), rules).expect("written");
    let world = World { server: crate::start(&folder, &[]), folder };
    let key = world.plan(json!([{ "title": "x", "status": "ready" }])).remove(0);
    let packet = world.ok("work", json!({ "phase": "start", "id": key, "actor": agent("ann") }))["trusted"].clone();
    assert_eq!(
        packet["notes"],
        json!([{ "key": "plan", "about": "Say how" }]),
        "it waits for its first phase: {packet}"
    );
    assert_eq!(packet["next"][0], "annotate notes plan, then advance start");
    world.ok("annotate", json!({ "id": key, "notes": [{ "key": "plan", "body": "so" }], "actor": agent("ann") }));
    world.ok("advance", json!({ "id": key, "to": "start", "actor": agent("ann") }));
    let packet = world.ok("work", json!({ "phase": "start", "id": key, "actor": agent("ann") }))["trusted"].clone();
    let cause = json!({ "key": "cause", "about": "Why it broke" });
    assert_eq!(packet["notes"], json!([cause, { "key": "aside", "optional": true, "skill": "writing" }]), "{packet}");
    world.ok("annotate", json!({ "id": key, "notes": [{ "key": "cause", "body": "so" }], "actor": agent("ann") }));
    let packet = world.ok("work", json!({ "phase": "start", "id": key, "actor": agent("ann") }))["trusted"].clone();
    assert_eq!(crate::each(&packet["notes"], "key"), ["aside"], "what is written is not asked for: {packet}");
}

#[test]
fn health_counts_all_there_are_and_says_what_it_did_not_look_at() {
    let folder = tempfile::tempdir().expect("a folder");
    let rules = "[schemas.default]\nnotes = [{ key = \"cause\", phase = \"work\", required = true }]\n";
    std::fs::write(folder.path().join("docket.toml"), rules).expect("written");
    let world = World { server: crate::start(&folder, &[]), folder };
    let make = |count: usize| {
        let items: Vec<Value> = (0..count).map(|number| json!({ "title": format!("item {number}") })).collect();
        let keys = world.plan(json!(items));
        let moves: Vec<Value> = keys.iter().map(|key| json!({ "id": key, "to": "start" })).collect();
        world.ok("advance", json!({ "moves": moves }));
    };
    let health = || world.ok("find", json!({ "what": "health" }))["trusted"].clone();
    make(20);
    let few = health();
    assert!(few.get("activeTotal").is_none() && few.get("stalledTotal").is_none() && few.get("cut").is_none(), "{few}");
    assert_eq!(few["stalled"].as_array().map(Vec::len), Some(20));
    make(1);
    let more = health();
    assert_eq!((&more["activeTotal"], &more["stalledTotal"]), (&json!(21), &json!(21)), "{more}");
    assert_eq!(
        (more["active"].as_array().map(Vec::len), more["stalled"].as_array().map(Vec::len)),
        (Some(20), Some(20))
    );
    assert!(more["cut"].is_string() && more.get("stalledAmong").is_none(), "{more}");
    make(190);
    let many = health();
    assert_eq!(
        (&many["activeTotal"], &many["stalledTotal"], &many["stalledAmong"]),
        (&json!(211), &json!(200), &json!(200)),
        "{many}"
    );
}
