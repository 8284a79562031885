//! `get` and `find`.

use serde_json::{Map, Value, json};

use crate::{World, each, text};

#[test]
fn a_profile_shows_as_much_as_it_says() {
    let world = World::new();
    let brief = json!({ "objective": "so", "acceptanceCriteria": ["one"] });
    let keys = world.plan(json!([{ "title": "up", "intent": "why", "children": [{ "title": "x", "brief": brief, "description": "long" }] }]));
    let sections = |arguments: Value| -> Vec<String> {
        let read = world.ok("get", arguments);
        let names = |part: &str| {
            read[part].as_object().map(|part| part.keys().cloned().collect::<Vec<_>>()).unwrap_or_default()
        };
        let mut all = [names("trusted"), names("untrusted")].concat();
        all.sort_unstable();
        all.dedup();
        all
    };
    assert_eq!(sections(json!({ "id": keys[1], "profile": "compact" })), ["guard", "task"]);
    assert_eq!(sections(json!({ "id": keys[1] })), ["brief", "guard", "parent", "task", "verdict"]);
    let full = ["activity", "brief", "guard", "parent", "task", "verdict"];
    assert_eq!(sections(json!({ "id": keys[1], "profile": "full" })), full);
    assert_eq!(
        sections(json!({ "id": keys[0], "profile": "compact", "include": ["subtasks"] })),
        ["guard", "subtasks", "task"]
    );
    let read = world.get(&keys[1]);
    assert_eq!(read["trusted"]["guard"]["key"], json!(keys[1]));
    assert_eq!(read["untrusted"]["task"]["description"], "long");
    assert_eq!(read["untrusted"]["parent"]["intent"], "why");
    assert_eq!(read["untrusted"]["verdict"]["c1"]["text"], "one");
    for (arguments, field) in [
        (json!({}), "id"),
        (json!({ "id": keys[0], "profile": "huge" }), "profile"),
        (json!({ "id": keys[0], "include": ["all"] }), "include[0]"),
        (json!({ "id": keys[0], "since": "made up" }), "since"),
        (json!({ "id": keys[0], "sinse": "x" }), "sinse"),
    ] {
        let refused = world.err("get", arguments);
        assert_eq!((&refused["code"], &refused["field"]), (&json!("VALIDATION"), &json!(field)), "{refused}");
    }
    assert_eq!(world.err("get", json!({ "id": "DEFA-99" }))["code"], "NOT_FOUND");
}

/// An earlier read with what changed since: what a client that keeps its copy has.
fn applied(earlier: &Value, delta: &Value) -> Value {
    let mut now = earlier.clone();
    if delta["unchanged"] == json!(true) {
        return now;
    }
    let parts = |value: &Value, part: &str| value[part].as_object().cloned().unwrap_or_default();
    for part in ["trusted", "untrusted"] {
        let mut kept: Map<String, Value> = parts(&now, part);
        let sent = parts(delta, part);
        for section in delta["changed"].as_array().expect("what changed").iter().map(text) {
            kept.remove(&section);
            if let Some(value) = sent.get(&section) {
                kept.insert(section, value.clone());
            }
        }
        now[part] = Value::Object(kept);
    }
    now["readToken"] = delta["readToken"].clone();
    now
}

/// Dice that fall the same way in every run.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % sides
    }
}

#[test]
fn a_delta_laid_over_an_earlier_read_is_the_whole_read() {
    let world = World::with(&["--actor", "user:ann"]);
    let keys =
        world.plan(json!([{ "title": "up", "children": [{ "title": "x", "status": "ready" }, { "title": "y" }] }]));
    let (up, x, y) = (&keys[0], &keys[1], &keys[2]);
    let includes = json!(["parent", "links", "relations", "subtasks", "comments", "notes"]);
    let shapes = [
        json!({ "profile": "compact" }),
        json!({ "profile": "work" }),
        json!({ "profile": "full" }),
        json!({ "profile": "work", "include": includes }),
    ];
    let read = |shape: &Value, since: Option<&Value>| {
        let mut arguments = shape.clone();
        arguments["id"] = json!(x);
        if let Some(since) = since {
            arguments["since"] = since.clone();
        }
        world.ok("get", arguments)
    };
    let mut kept: Vec<Value> = shapes.iter().map(|shape| read(shape, None)).collect();
    let (mut dice, mut changes) = (Dice(7), 0);
    for step in 0..60 {
        let (tool, act) = match dice.roll(12) {
            0 => ("edit", json!({ "ids": [x], "patch": { "title": format!("x {step}"), "intent": null } })),
            1 => ("edit", json!({ "ids": [up], "patch": { "intent": format!("why {step}") } })),
            2 => (
                "contract",
                json!({ "id": x, "brief": { "objective": format!("so {step}"), "acceptanceCriteria": ["one", "two"] } }),
            ),
            3 => ("contract", json!({ "id": x, "brief": { "objective": null, "acceptanceCriteria": null } })),
            4 => ("contract", json!({ "id": x, "verify": [{ "id": "c1", "passed": step % 2 == 0 }] })),
            5 => ("annotate", json!({ "id": x, "comment": format!("said {step}") })),
            6 => ("annotate", json!({ "id": x, "edges": [{ "to": y, "kind": "relates-to" }] })),
            7 => ("remove", json!({ "edgesOf": { "id": x } })),
            8 => ("advance", json!({ "id": x, "to": if step % 2 == 0 { "start" } else { "block" } })),
            9 => ("advance", json!({ "id": x, "to": "resume" })),
            10 => ("ask", json!({ "id": x, "question": format!("which {step}?") })),
            _ => ("ask", json!({ "id": x, "answer": format!("this {step}") })),
        };
        // Some of them are refused where the item stands: then nothing has changed.
        drop(world.server.call(tool, act).expect("an answer"));
        for (shape, kept) in shapes.iter().zip(&mut kept) {
            let delta = read(shape, Some(&kept["readToken"]));
            changes += usize::from(delta["unchanged"] != json!(true));
            *kept = applied(kept, &delta);
            assert_eq!(*kept, read(shape, None), "step {step}, {shape}: {delta}");
        }
    }
    assert!(changes > 40, "too little happened: {changes}");
}

#[test]
fn lists_fit_their_budget_and_go_on_where_they_were_cut() {
    let world = World::new();
    let items: Vec<Value> =
        (0..60).map(|n| json!({ "title": format!("item {n} {}", "word ".repeat(20)), "status": "ready" })).collect();
    let keys = world.plan(json!(items));
    for what in ["list", "queue", "overview", "why", "events"] {
        let mut arguments = json!({ "what": what, "maxTokens": 400 });
        let (mut seen, mut pages) = (Vec::new(), 0);
        loop {
            let page = world.ok("find", arguments.clone());
            assert!(page.to_string().len() < 400 * 6, "{what}: {page}");
            let name = if what == "events" { "item" } else { "key" };
            seen.extend(
                page["trusted"]["rows"]
                    .as_array()
                    .expect("rows")
                    .iter()
                    .filter_map(|row| row[name].as_str())
                    .map(str::to_owned),
            );
            pages += 1;
            let Some(cursor) = page["trusted"]["cursor"].as_str() else { break };
            assert!(page["trusted"]["cut"].is_string(), "{page}");
            arguments["cursor"] = json!(cursor);
        }
        seen.sort_unstable();
        seen.dedup();
        assert!(seen.len() == keys.len() && pages > 3, "{what}: {} in {pages} pages", seen.len());
    }
    let page = world.ok("find", json!({ "what": "list", "limit": 3, "fields": ["id", "version"] }));
    let rows = page["trusted"]["rows"].as_array().expect("rows");
    assert_eq!((rows.len(), &page["trusted"]["total"]), (3, &json!(60)));
    assert!(
        rows[0]["id"].is_string()
            && rows[0]["version"] == 1
            && rows[0]["status"].is_null()
            && page["untrusted"].is_null(),
        "{page}"
    );
    for (arguments, field) in [
        (json!({}), "what"),
        (json!({ "what": "everything" }), "what"),
        (json!({ "what": "list", "limit": 0 }), "limit"),
        (json!({ "what": "list", "limit": 201 }), "limit"),
        (json!({ "what": "list", "maxTokens": 1 }), "maxTokens"),
        (json!({ "what": "list", "fields": ["secret"] }), "fields[0]"),
        (json!({ "what": "list", "cursor": "made up" }), "cursor"),
        (json!({ "what": "tree", "id": keys[0], "cursor": "9" }), "cursor"),
        (json!({ "what": "search" }), "query"),
        (json!({ "what": "list", "sort": "id;drop" }), "sort"),
    ] {
        let refused = world.err("find", arguments);
        assert_eq!(refused["field"], json!(field), "{refused}");
    }
}

#[test]
fn every_list_finds_what_it_is_for() {
    let world = World::with(&["--actor", "user:ann"]);
    let keys = world.plan(json!([
        { "title": "alpha", "ref": "a", "status": "ready", "tags": ["red"], "priority": "high" },
        { "title": "beta", "blockedBy": ["a"], "status": "ready" },
        { "title": "root", "children": [{ "title": "leaf", "children": [{ "title": "deep" }] }] },
    ]));
    let found = |arguments: Value| each(&world.ok("find", arguments)["trusted"]["rows"], "key");
    assert_eq!(found(json!({ "what": "list", "tags": ["red"] })), [keys[0].clone()]);
    assert_eq!(found(json!({ "what": "search", "query": "alp" })), [keys[0].clone()]);
    assert_eq!(found(json!({ "what": "list", "parent": keys[2] })), [keys[3].clone()]);
    assert_eq!(found(json!({ "what": "list", "parent": "", "priority": "high" })), [keys[0].clone()]);
    assert_eq!(found(json!({ "what": "list", "blocked": true })), [keys[1].clone()]);
    assert_eq!(found(json!({ "what": "queue", "tags": ["red"] })), [keys[0].clone()]);
    let tree = world.ok("find", json!({ "what": "tree", "id": keys[2] }));
    assert_eq!(each(&tree["trusted"]["rows"], "key"), keys[2..5]);
    assert_eq!(tree["trusted"]["rows"][2]["depth"], 2);
    assert_eq!(tree["untrusted"][&keys[4]]["title"], "deep");
    let blocked = world.ok("find", json!({ "what": "blocked" }));
    assert_eq!(
        blocked["trusted"]["rows"][0]["blockers"],
        json!([{ "item": keys[0], "is": "queue", "must": "terminal" }])
    );
    let why = world.ok("find", json!({ "what": "why", "id": keys[1] }));
    let reason = &why["trusted"]["rows"][0]["obstacles"][0];
    assert_eq!((&reason["reason"], &reason["item"]), (&json!("waits-for"), &json!(keys[0])), "{why}");
    world.ok("annotate", json!({ "id": keys[0], "attention": "look" }));
    world.ok("ask", json!({ "id": keys[3], "question": "which?" }));
    let inbox = world.ok("find", json!({ "what": "inbox" }));
    let waits: Vec<&Value> =
        inbox["trusted"]["rows"].as_array().expect("rows").iter().map(|row| &row["waits"]).collect();
    assert_eq!(waits, [&json!(["attention"]), &json!(["question"])], "{inbox}");
    assert_eq!(inbox["untrusted"][&keys[3]]["question"]["question"], "which?");
    world.moves(&keys[0], "start");
    let health = world.ok("find", json!({ "what": "health" }));
    assert_eq!(each(&health["trusted"]["active"], "key"), [keys[0].clone()]);
    world.moves(&keys[0], "complete");
    let estimate = world.ok("find", json!({ "what": "estimate", "tags": ["red"] }));
    assert_eq!(estimate["trusted"]["estimate"]["sample"], 1, "{estimate}");
    let activity = world.ok("find", json!({ "what": "activity", "id": keys[0] }));
    assert_eq!(activity["trusted"]["rows"][0]["action"], "moved", "{activity}");
    let projects = world.ok("find", json!({ "what": "projects" }));
    assert_eq!(each(&projects["trusted"]["rows"], "slug"), ["default"]);
    let overview = world.ok("find", json!({ "what": "overview", "fields": ["title"] }));
    let root = overview["trusted"]["rows"].as_array().expect("rows").iter().find(|row| row["key"] == json!(keys[2]));
    assert_eq!(root.expect("the root")["children"], json!({ "blocked": 1 }), "{overview}");
}

#[test]
fn what_waits_for_people_is_one_list_over_all_projects() {
    let world = World::new();
    world.ok("admin", json!({ "op": "project.create", "slug": "other", "prefix": "OTH" }));
    for slug in ["default", "other"] {
        let items = json!([{ "title": "needle", "attention": "look" }]);
        world.ok("plan", json!({ "items": items, "project": slug }));
    }
    // A connection that began when there were several is about all of them.
    let world = world.another(&[]);
    for call in [json!({ "what": "inbox" }), json!({ "what": "search", "query": "needle" })] {
        let all = world.ok("find", call.clone());
        assert_eq!(all["trusted"]["rows"].as_array().expect("rows").len(), 2, "{all}");
        let mut one = call;
        one["project"] = json!("other");
        let one = world.ok("find", one);
        assert_eq!(each(&one["trusted"]["rows"], "key"), ["OTH-1"], "{one}");
    }
    world.ok("find", json!({ "what": "sessions" }));
    assert_eq!(world.err("find", json!({ "what": "list" }))["code"], "PROJECT_REQUIRED");
}

#[test]
fn why_goes_on_where_it_was_cut() {
    let world = World::new();
    let items: Vec<Value> = (0..5).map(|number| json!({ "title": format!("t{number}") })).collect();
    let keys = world.plan(json!(items));
    let first = world.ok("find", json!({ "what": "why", "limit": 3 }));
    let cursor = text(&first["trusted"]["cursor"]);
    let rest = world.ok("find", json!({ "what": "why", "limit": 3, "cursor": cursor }));
    let told = [each(&first["trusted"]["rows"], "key"), each(&rest["trusted"]["rows"], "key")].concat();
    assert_eq!(told, keys);
}

/// Nobody remembers what was read: what the token says is enough, also for another process.
#[test]
fn tokens_hold_after_a_restart_and_in_another_process() {
    let world = World::new();
    let brief = json!({ "objective": "so", "acceptanceCriteria": ["one"] });
    let key = world.plan(json!([{ "title": "x", "brief": brief }])).remove(0);
    let shapes = [json!({ "profile": "compact" }), json!({ "profile": "work" }), json!({ "profile": "full" })];
    let call = |shape: &Value, since: Option<&Value>| {
        let mut arguments = shape.clone();
        arguments["id"] = json!(key);
        if let Some(token) = since {
            arguments["since"] = token.clone();
        }
        arguments
    };
    let before: Vec<Value> = shapes.iter().map(|shape| world.ok("get", call(shape, None))).collect();
    world.server.kill();
    let again = world.another(&[]);
    for (shape, before) in shapes.iter().zip(&before) {
        let same = again.ok("get", call(shape, Some(&before["readToken"])));
        assert_eq!((&same["unchanged"], &same["readToken"]), (&json!(true), &before["readToken"]), "{same}");
    }
    again.ok("contract", json!({ "id": key, "brief": { "objective": "otherwise" } }));
    let third = world.another(&[]);
    for (shape, before) in shapes.iter().zip(&before).skip(1) {
        let delta = third.ok("get", call(shape, Some(&before["readToken"])));
        assert!(delta["changed"].as_array().is_some_and(|changed| changed.contains(&json!("brief"))), "{delta}");
        assert_eq!(applied(before, &delta), third.ok("get", call(shape, None)), "{shape}");
    }
}

#[test]
fn what_other_work_made_redundant_is_told_with_why() {
    let world = World::new();
    let keys = world.plan(json!([
        { "title": "replacement", "status": "ready" }, { "title": "moot", "status": "ready" },
        { "title": "canonical", "status": "ready" }, { "title": "copy", "status": "ready" },
    ]));
    let [replacement, moot, canonical, copy] = [&keys[0], &keys[1], &keys[2], &keys[3]];
    world.ok("annotate", json!({ "id": replacement, "edges": [{ "to": moot, "kind": "supersedes" }] }));
    world.ok("annotate", json!({ "id": copy, "edges": [{ "to": canonical, "kind": "duplicate-of" }] }));
    let flags = |key: &str| {
        let guard = world.get(key)["trusted"]["guard"].clone();
        (guard["superseded"] == json!(true), guard["duplicate"] == json!(true), guard["ready"] == json!(true))
    };
    assert_eq!(flags(moot), (false, false, true), "nothing has shipped");
    assert_eq!(flags(copy), (false, true, false));
    world.moves(replacement, "start");
    world.moves(replacement, "in_review");
    assert_eq!(flags(moot), (true, false, false));
    let why = |key: &str| world.get(key)["trusted"]["task"]["obstacles"][0].clone();
    assert_eq!((&why(moot)["reason"], &why(moot)["item"]), (&json!("superseded-by"), &json!(replacement)));
    assert_eq!((&why(copy)["reason"], &why(copy)["item"]), (&json!("duplicate-of"), &json!(canonical)));
    world.moves(canonical, "cancel");
    assert_eq!(flags(copy), (false, false, true), "it is the one that is left");
}

#[test]
fn a_status_that_there_is_not_is_a_slip_and_no_empty_list() {
    let world = World::new();
    world.item("word");
    for call in [json!({ "what": "list" }), json!({ "what": "search", "query": "word" })] {
        let mut call = call;
        call["status"] = json!("in-progress");
        let refused = world.err("find", call.clone());
        assert_eq!((&refused["code"], &refused["field"]), (&json!("VALIDATION"), &json!("status")), "{refused}");
        assert!(text(&refused["message"]).contains("did you mean \"in_progress\""), "{refused}");
        call["status"] = json!("in_progress");
        assert_eq!(world.ok("find", call)["trusted"]["total"], 0, "nothing stands there, and that is an answer");
    }
}

/// What a queue cannot do is refused, and not left out.
#[test]
fn a_queue_refuses_what_it_does_not_look_at() {
    let world = World::new();
    let keys = world.plan(json!([{ "title": "x", "status": "ready" }, { "title": "y", "status": "ready" }]));
    world.ok("work", json!({ "phase": "start", "id": keys[0], "actor": crate::agent("ann") }));
    for (argument, value) in
        [("roles", json!(["queue", "work"])), ("claim", json!("expired")), ("claim", json!("unclaimed"))]
    {
        let mut call = json!({ "what": "queue" });
        call[argument] = value;
        let refused = world.err("find", call);
        assert_eq!((&refused["code"], &refused["field"]), (&json!("VALIDATION"), &json!(argument)), "{refused}");
    }
    let found = |call: Value| each(&world.ok("find", call)["trusted"]["rows"], "key");
    assert_eq!(found(json!({ "what": "queue", "roles": ["work"], "claim": "claimed" })), [keys[0].clone()]);
    assert_eq!(found(json!({ "what": "queue" })), [keys[1].clone()]);
}

/// What lies behind very many signs of life is told all the same.
#[test]
fn activity_is_not_hidden_by_signs_of_life() {
    let world = World::with(&["--actor", "agent:ann"]);
    let key = world.plan(json!([{ "title": "x", "status": "ready" }])).remove(0);
    world.ok("work", json!({ "phase": "start", "id": key }));
    world.ok("annotate", json!({ "id": key, "comment": "under way" }));
    let lengths = [60, 120];
    for beat in 0..250 {
        world.ok("work", json!({ "phase": "heartbeat", "id": key, "ttlSeconds": lengths[beat % 2] }));
    }
    let read = world.ok("get", json!({ "id": key, "profile": "compact", "include": ["activity"] }));
    let told = each(&read["trusted"]["activity"]["rows"], "action");
    assert_eq!(told, ["commented", "moved", "claimed", "created"], "{read}");
}

/// What work like this has taken is looked for among all that was finished lately, and not among some of it.
#[test]
fn an_estimate_is_of_work_like_this_however_much_else_was_finished_since() {
    let world = World::new();
    let finish = |items: Vec<Value>| {
        let keys = world.plan(json!(items));
        for to in ["start", "complete"] {
            let moves: Vec<Value> = keys.iter().map(|key| json!({ "id": key, "to": to })).collect();
            for part in moves.chunks(100) {
                world.ok("advance", json!({ "moves": part, "atomic": true }));
            }
        }
    };
    let item = |tag: &str| json!({ "title": tag, "status": "ready", "tags": [tag] });
    finish(vec![item("rare")]);
    for _ in 0..3 {
        finish(vec![item("common"); 200]);
    }
    let sample = |tag: &str| {
        let estimate = world.ok("find", json!({ "what": "estimate", "tags": [tag] }))["trusted"]["estimate"].clone();
        estimate["sample"].as_u64().expect("a number")
    };
    assert_eq!(sample("rare"), 1);
    assert!(sample("common") >= 200);
}
