//! Tasks: create, get, claim, transition, note, and what every write tells.

use serde_json::{Value, json};

use crate::{World, did, each, text};

/// The fields of a task, as its shape has them.
const SHAPE: [&str; 9] = ["assignee", "body", "checks", "deps", "id", "provenance", "ready", "status", "title"];

fn names(value: &Value) -> Vec<&str> {
    let mut names: Vec<&str> = value.as_object().expect("an object").keys().map(String::as_str).collect();
    names.sort_unstable();
    names
}

#[test]
fn a_task_has_the_whole_shape_and_every_write_returns_it() {
    let world = World::new();
    let first = world.task("Set the keys up");
    let made = world.ok(
        "create",
        json!({ "title": "Add idempotency keys", "body": "Dedupe webhook deliveries.", "deps": [first] }),
    );
    assert_eq!(names(&made), SHAPE);
    assert_eq!((&made["title"], &made["body"]), (&json!("Add idempotency keys"), &json!("Dedupe webhook deliveries.")));
    assert_eq!((&made["status"], &made["ready"]), (&json!("backlog"), &json!(false)));
    assert_eq!((&made["deps"], &made["assignee"], &made["checks"]), (&json!([first]), &Value::Null, &json!([])));
    let entry = &made["provenance"][0];
    assert_eq!(names(entry), ["at", "did", "who"]);
    assert_eq!((&entry["who"], &entry["did"]), (&json!("agent:ann"), &json!("created")));
    let id = text(&made["id"]);
    assert_eq!(world.get(&id), made, "what a write returns is what get returns");
    world.to(&first, "done");
    for (tool, more) in [
        ("claim", json!({})),
        ("transition", json!({ "to": "in_progress" })),
        ("note", json!({ "text": "blocked on upstream API change" })),
    ] {
        let mut arguments = json!({ "id": id });
        arguments.as_object_mut().expect("an object").extend(more.as_object().cloned().expect("an object"));
        let task = world.ok(tool, arguments);
        assert_eq!(names(&task), SHAPE, "{tool}");
        assert_eq!(world.get(&id), task, "{tool}");
    }
    let told = ["created", "claimed", "transitioned to in_progress", "noted: blocked on upstream API change"];
    assert_eq!(did(&world.get(&id)), told, "one entry for each write");
}

#[test]
fn an_id_is_its_prefix_and_a_ulid_and_every_other_spelling_will_do() {
    let world = World::new();
    let id = world.task("one");
    let (prefix, ulid) = id.rsplit_once('-').expect("a prefix");
    assert!(ulid.len() == 26 && ulid.chars().all(|c| c.is_ascii_digit() || c.is_ascii_lowercase()), "{id}");
    let shown: Value = serde_json::from_str(&world.operate(&["--json", "item", "list"])).expect("JSON");
    let row = &shown["items"][0];
    let (key, full) = (text(&row["key"]), text(&row["id"]));
    for spelled in
        [id.clone(), id.to_uppercase(), ulid.to_owned(), key.clone(), full.clone(), full[..13].replace('-', "")]
    {
        assert_eq!(world.get(&spelled)["id"], json!(id), "{spelled}");
    }
    assert!(key.starts_with(&format!("{prefix}-")), "{key}");
    let second = world.task("two");
    assert!(second > id, "ids are in the order of time");
    let unknown = format!("{prefix}-01j8x2k7q7f3az0123456789ab");
    let refused = world.err("get", json!({ "id": unknown }));
    assert_eq!((&refused["code"], &refused["field"]), (&json!("NOT_FOUND"), &json!("id")));
    assert!(text(&refused["message"]).contains(&unknown), "in the words of whoever asks: {refused}");
    let refused = world.err("transition", json!({ "id": unknown, "to": "done" }));
    assert!(text(&refused["message"]).contains(&unknown), "{refused}");
    // Numbers that were filled up with zeros, as others write them.
    let filled = key.replacen('-', "-00", 1);
    assert_eq!(world.get(&filled)["id"], json!(id), "{filled}");
    let waits = world.ok("create", json!({ "title": "three", "deps": [filled, id, ulid, key, full] }));
    assert_eq!(waits["deps"], json!([id]), "one task, however it is spelled");
    assert_eq!(world.err("get", json!({ "id": "PROJ-001" }))["code"], "NOT_FOUND");
    assert_eq!(world.err("get", json!({ "id": format!("{prefix}-000") }))["code"], "VALIDATION");
}

#[test]
fn deps_must_exist() {
    let world = World::new();
    let refused = world.err("create", json!({ "title": "two", "deps": ["DEFA-99"] }));
    assert_eq!((&refused["code"], &refused["field"]), (&json!("NOT_FOUND"), &json!("deps[0]")), "{refused}");
    let known = world.task("one");
    let unknown = "DEFA-01j8x2k7q7f3az0123456789ab";
    let refused = world.err("create", json!({ "title": "two", "deps": [known, unknown] }));
    assert_eq!((&refused["code"], &refused["field"]), (&json!("NOT_FOUND"), &json!("deps[1]")), "{refused}");
    assert!(text(&refused["message"]).contains(unknown), "{refused}");
    assert_eq!(world.list(json!({})).len(), 1, "nothing else was made");
    assert_eq!(world.err("create", json!({ "title": " " }))["code"], "VALIDATION");
    assert_eq!(world.err("create", json!({ "body": "x" }))["code"], "VALIDATION");
    let refused = world.err("create", json!({ "title": "x", "assignee": "agent:bob" }));
    assert_eq!((&refused["code"], &refused["reason"]), (&json!("VALIDATION"), &json!("unknown_field")));
}

#[test]
fn nothing_leaves_the_initial_status_before_its_deps_are_closed_and_all_else_is_free() {
    let world = World::new();
    let first = world.task("one");
    let second = world.waiting("two", &[&first]);
    for to in ["in_progress", "in_review", "done", "cancelled", "blocked"] {
        let refused = world.err("transition", json!({ "id": second, "to": to }));
        assert_eq!((&refused["code"], &refused["gates"][0]["gate"]), (&json!("RULE_BLOCKED"), &json!("dependencies")));
        assert_eq!(refused["gates"].as_array().map(Vec::len), Some(1), "{to}: {refused}");
    }
    assert_eq!(world.get(&second)["status"], "backlog");
    world.to(&first, "in_review");
    world.err("transition", json!({ "id": second, "to": "in_progress" }));
    assert_eq!(world.to(&first, "done")["status"], "done");
    assert_eq!(world.get(&second)["ready"], true);
    assert_eq!(world.to(&second, "in_progress")["status"], "in_progress");
    // Once it has left, its deps keep it nowhere: not even when they are opened again.
    assert_eq!(world.to(&first, "in_progress")["status"], "in_progress", "a closed task is opened again");
    assert_eq!(world.get(&second)["ready"], false);
    for to in ["done", "in_review", "blocked", "in_progress", "cancelled", "in_progress"] {
        let moved = world.to(&second, to);
        assert_eq!(moved["status"], to);
        // Whoever was not told of it asks again, and changes nothing.
        assert_eq!(world.to(&second, to), moved, "{to}");
    }
    let refused = world.err("transition", json!({ "id": second, "to": "shipped" }));
    assert!(text(&refused["message"]).contains("shipped"), "{refused}");
}

/// Otherwise whoever could give a task up could bring on what waits for it, whatever its checks say.
#[test]
fn no_closed_status_is_reached_past_a_check() {
    let world = World::new();
    let check = json!([{ "desc": "reviewed by a human", "type": "manual" }]);
    let first = text(&world.ok("create", json!({ "title": "one", "checks": check }))["id"]);
    let second = world.waiting("two", &[&first]);
    for to in ["done", "cancelled"] {
        let refused = world.err("transition", json!({ "id": first, "to": to }));
        assert_eq!(
            (&refused["code"], &refused["gates"][0]["gate"]),
            (&json!("RULE_BLOCKED"), &json!("checks")),
            "{to}"
        );
    }
    assert_eq!((&world.get(&first)["status"], &world.get(&second)["ready"]), (&json!("backlog"), &json!(false)));
    assert_eq!(world.to(&first, "blocked")["status"], "blocked", "all other transitions are free");
    // A person takes the check away, or says that it holds: then there is nothing to be shown.
    world.operate(&["check", "set", "DEFA-1", "--clear"]);
    assert_eq!(world.to(&first, "cancelled")["status"], "cancelled");
    assert_eq!(world.get(&second)["ready"], true);
}

#[test]
fn a_claim_is_whose_a_task_is_and_no_lock() {
    let world = World::new();
    let bob = world.actor("human:bob");
    let task = world.task("one");
    let claimed = world.ok("claim", json!({ "id": task }));
    assert_eq!((&claimed["assignee"], &claimed["status"]), (&json!("agent:ann"), &json!("backlog")));
    assert_eq!(world.ok("claim", json!({ "id": task })), claimed, "what is yours stays so, and nothing is recorded");
    let refused = bob.err("claim", json!({ "id": task }));
    assert_eq!((&refused["code"], &refused["reason"]), (&json!("CONFLICT"), &json!("already_claimed")));
    assert_eq!(bob.ok("get", json!({ "id": task }))["assignee"], "agent:ann", "told alike to everybody");
    // Any number of them, for ever.
    let second = world.task("two");
    world.ok("claim", json!({ "id": second }));
    world.ahead(1_000_000);
    assert_eq!(world.get(&task)["assignee"], "agent:ann");
    assert_eq!(bob.err("claim", json!({ "id": task }))["code"], "CONFLICT");
    // Others move it and write about it all the same.
    let moved = bob.ok("transition", json!({ "id": task, "to": "in_progress" }));
    assert_eq!((&moved["assignee"], &moved["status"]), (&json!("agent:ann"), &json!("in_progress")));
    let noted = bob.ok("note", json!({ "id": task, "text": "looks good" }));
    assert_eq!(each(&noted["provenance"], "who"), ["agent:ann", "agent:ann", "human:bob", "human:bob"]);
    assert_eq!(bob.ok("claim", json!({ "id": world.task("three") }))["assignee"], "human:bob");
}

#[test]
fn of_one_name_the_agent_and_the_person_hold_together() {
    let world = World::new();
    let person = world.actor("human:ann");
    let task = world.task("one");
    let claimed = world.ok("claim", json!({ "id": task }));
    // Where everybody is the user of the machine, a name is one holder, whichever sort it says it is.
    let again = person.ok("claim", json!({ "id": task }));
    assert_eq!(again["provenance"], claimed["provenance"], "what is held already is not claimed again");
    let bob = world.actor("human:bob");
    assert_eq!(bob.err("claim", json!({ "id": task }))["reason"], "already_claimed");
    let session = text(&world.begin(&task, "k-1")["id"]);
    assert_eq!(person.ok("heartbeat", json!({ "session": session }))["health"], "active");
}

#[test]
fn a_note_changes_nothing_else() {
    let world = World::new();
    let task = world.task("one");
    let before = world.get(&task);
    let mut after = world.ok("note", json!({ "id": task, "text": "a word" }));
    assert_eq!(after["provenance"].as_array_mut().expect("a list").pop().expect("an entry")["did"], "noted: a word");
    assert_eq!(after, before);
    assert_eq!(world.err("note", json!({ "id": task, "text": " " }))["code"], "VALIDATION");
}

#[test]
fn a_body_is_what_it_was_after_every_verb() {
    let world = World::new();
    let body = "# Intent\n\n- [ ] one \u{1f980}\n  two\n";
    let id = text(&world.ok("create", json!({ "title": "one", "body": body }))["id"]);
    let session = |key: &str| text(&world.begin(&id, key)["id"]);
    let same = |verb: &str| assert_eq!(world.get(&id)["body"], body, "{verb}");
    let first = session("k-1");
    same("begin");
    world.ok("heartbeat", json!({ "session": first, "progress": "halfway" }));
    same("heartbeat");
    world.ok("finish", json!({ "session": first, "summary": "done" }));
    same("finish");
    let second = session("k-2");
    world.ok("cancel", json!({ "session": second, "reason": "enough" }));
    for (tool, more) in [
        ("claim", json!({})),
        ("note", json!({ "text": "a word" })),
        ("run_checks", json!({})),
        ("transition", json!({ "to": "done" })),
        ("transition", json!({ "to": "backlog" })),
    ] {
        let mut arguments = json!({ "id": id });
        arguments.as_object_mut().expect("an object").extend(more.as_object().cloned().expect("an object"));
        let answer = world.ok(tool, arguments);
        assert_eq!((names(&answer), &answer["body"]), (names(&world.get(&id)), &json!(body)), "{tool}");
        assert_eq!(answer, world.get(&id), "{tool}");
    }
}

#[test]
fn what_waits_and_what_is_put_aside_is_claimed_and_what_is_closed_is_not() {
    let world = World::new();
    let first = world.task("one");
    let second = world.waiting("two", &[&first]);
    let aside = world.task("three");
    world.to(&aside, "blocked");
    for task in [&second, &aside] {
        assert_eq!(world.ok("claim", json!({ "id": task }))["assignee"], "agent:ann", "{task}");
    }
    assert_eq!((&world.get(&second)["ready"], &world.get(&aside)["status"]), (&json!(false), &json!("blocked")));
    world.to(&first, "done");
    let refused = world.err("claim", json!({ "id": first }));
    assert_eq!((&refused["code"], &refused["reason"]), (&json!("CONFLICT"), &json!("terminal")), "{refused}");
}
