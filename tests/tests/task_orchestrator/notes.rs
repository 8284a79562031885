//! `manage_notes` and `query_notes`.

use serde_json::{Value, json};

use crate::{World, each, fresh, names, subagent, text};

fn upsert(world: &World, notes: Value) -> Value {
    world.ok("manage_notes", json!({ "operation": "upsert", "notes": notes }))
}

fn list(world: &World, item: &str) -> Value {
    world.ok("query_notes", json!({ "operation": "list", "itemId": item }))
}

#[test]
fn a_note_is_written_and_the_item_says_what_it_still_needs() {
    let world = World::with_schemas();
    let id = world.made(json!({ "title": "t", "type": "feature-task" }));
    let answer = upsert(&world, json!([{ "itemId": id, "key": "other", "role": "queue", "body": "x" }]));
    let note = &answer["notes"][0];
    assert_eq!(*note, json!({ "id": note["id"], "itemId": id, "key": "other", "role": "queue" }));
    assert_eq!((&answer["upserted"], &answer["failed"]), (&json!(1), &json!(0)));
    assert_eq!(
        answer["itemContext"],
        json!({ id.clone(): { "guidancePointer": "List what must hold", "noteProgress": { "filled": 0, "remaining": 1, "total": 1 } } })
    );
    let answer = upsert(
        &world,
        json!([{ "itemId": id, "key": "requirements", "role": "queue", "body": "The handler must validate." }]),
    );
    assert_eq!(
        answer["itemContext"][&id],
        json!({ "guidancePointer": null, "noteProgress": { "filled": 1, "remaining": 0, "total": 1 } })
    );
    world.moves(&id, "start");
    let answer = upsert(&world, json!([{ "itemId": id, "key": "x", "role": "work" }]));
    assert_eq!(answer["itemContext"][&id]["skillPointer"], "writer");
}

#[test]
fn without_a_schema_or_once_closed_there_is_no_progress() {
    let world = World::with_schemas();
    let nothing = json!({ "guidancePointer": null, "noteProgress": null });
    let bare = world.item("bare");
    assert_eq!(upsert(&world, json!([{ "itemId": bare, "key": "k", "role": "work" }]))["itemContext"][&bare], nothing);
    let closed = world.made(json!({ "title": "t", "type": "quick", "role": "terminal" }));
    assert_eq!(
        upsert(&world, json!([{ "itemId": closed, "key": "k", "role": "work" }]))["itemContext"][&closed],
        nothing
    );
}

#[test]
fn writing_again_replaces_the_note_in_place() {
    let world = World::new();
    let id = world.item("t");
    let first =
        upsert(&world, json!([{ "itemId": id, "key": "k", "role": "queue", "body": "one" }]))["notes"][0]["id"].clone();
    let before = world.ok("query_notes", json!({ "operation": "get", "id": first }));
    std::thread::sleep(std::time::Duration::from_millis(5));
    let second =
        upsert(&world, json!([{ "itemId": id, "key": "k", "role": "work", "body": "two" }]))["notes"][0]["id"].clone();
    assert_eq!(first, second);
    let after = world.ok("query_notes", json!({ "operation": "get", "id": first }));
    assert_eq!((&after["role"], &after["body"]), (&json!("work"), &json!("two")));
    assert_eq!(after["createdAt"], before["createdAt"]);
    assert_ne!(after["modifiedAt"], before["modifiedAt"]);
    upsert(&world, json!([{ "itemId": id, "key": "k", "role": "work" }]));
    assert_eq!(world.ok("query_notes", json!({ "operation": "get", "id": first }))["body"], "");
    assert_eq!(list(&world, &id)["total"], 1);
}

#[test]
fn whoever_writes_is_remembered() {
    let world = World::new();
    let id = world.item("t");
    let actor = json!({ "id": "sub-1", "kind": "subagent", "parent": "orch-1", "proof": "opaque" });
    let answer = upsert(
        &world,
        json!([{ "itemId": id, "key": "a", "role": "queue", "body": "x", "actor": actor }, { "itemId": id, "key": "b", "role": "queue", "body": "y" }]),
    );
    let verification = json!({ "status": "unchecked", "verifier": "noop" });
    // Whoever reads it could send the proof as their own.
    let told = json!({ "id": "sub-1", "kind": "subagent", "parent": "orch-1" });
    assert_eq!((&answer["notes"][0]["actor"], &answer["notes"][0]["verification"]), (&told, &verification));
    assert!(answer["notes"][1].get("actor").is_none());
    let anonymous = world.ok("query_notes", json!({ "operation": "get", "id": answer["notes"][1]["id"] }));
    assert!(anonymous.get("actor").is_none(), "the actor of one note is not lent to another: {anonymous}");
    let stored = world.ok("query_notes", json!({ "operation": "get", "id": answer["notes"][0]["id"] }));
    assert_eq!((&stored["actor"], &stored["verification"]), (&told, &verification));
    let moved = world.moved(json!({ "itemId": id, "trigger": "start", "actor": actor }));
    assert_eq!((&moved["actor"], &moved["verification"]), (&told, &verification));
    let resumed = world.ok("get_context", json!({ "since": "2020-01-01T00:00:00Z" }));
    assert_eq!(resumed["recentTransitions"][0]["actor"], told);
    assert!(!list(&world, &id).to_string().contains("opaque") && !resumed.to_string().contains("opaque"));
    assert_eq!(
        names(&stored),
        ["actor", "body", "createdAt", "id", "itemId", "key", "modifiedAt", "role", "verification"]
    );
}

#[test]
fn an_actor_for_the_whole_call_is_told_where_it_was_kept() {
    let world = World::new();
    let id = world.item("t");
    let (all, own) = (subagent("for-all"), subagent("of-one"));
    let notes = json!([{ "itemId": id, "key": "a", "role": "queue" }, { "itemId": id, "key": "b", "role": "queue", "actor": own }]);
    let answer = world.ok("manage_notes", json!({ "operation": "upsert", "notes": notes, "actor": all }));
    for (row, actor) in answer["notes"].as_array().expect("rows").iter().zip([&all, &own]) {
        let stored = world.ok("query_notes", json!({ "operation": "get", "id": row["id"] }));
        assert_eq!((&row["actor"], &row["verification"]), (actor, &stored["verification"]));
        assert_eq!((&stored["actor"], &stored["verification"]["status"]), (actor, &json!("unchecked")));
    }
    let transitions = json!([{ "itemId": id, "trigger": "start" }]);
    let row = world.ok("advance_item", json!({ "transitions": transitions, "actor": all }))["results"][0].clone();
    assert_eq!((&row["actor"], &row["verification"]["status"]), (&all, &json!("unchecked")));
}

#[test]
fn a_note_of_another_phase_fills_no_gate() {
    let world = World::with_schemas();
    let id = world.made(json!({ "title": "t", "type": "feature-task" }));
    let answer = upsert(&world, json!([{ "itemId": id, "key": "requirements", "role": "review", "body": "x" }]));
    let unfilled = json!({ "guidancePointer": "List what must hold", "noteProgress": { "filled": 0, "remaining": 1, "total": 1 } });
    assert_eq!((&answer["upserted"], &answer["itemContext"][&id]), (&json!(1), &unfilled));
    let row = world.advance(&id, "start");
    assert_eq!((&row["applied"], &row["missingNotes"]), (&json!(false), &json!([{ "key": "requirements" }])));
    for word in ["requirements", "review", "queue"] {
        assert!(text(&row["error"]).contains(word), "{row}");
    }
    let context = world.ok("get_context", json!({ "itemId": id }));
    assert_eq!(context["gateStatus"], json!({ "canAdvance": false, "phase": "queue", "missing": ["requirements"] }));
    let first = &context["schema"][0];
    assert_eq!((&first["exists"], &first["filled"]), (&json!(false), &json!(false)), "{first}");
    world.note(&id, "requirements", "queue");
    assert_eq!(world.advance(&id, "start")["applied"], true, "writing it for its phase puts it right");
}

#[test]
fn bad_notes_fail_alone() {
    let world = World::new();
    let id = world.item("t");
    let good = json!({ "itemId": id, "key": "good", "role": "queue" });
    let answer = upsert(
        &world,
        json!([
            { "key": "k", "role": "queue" }, { "itemId": id, "role": "queue" }, { "itemId": id, "key": "k" }, { "itemId": fresh(), "key": "k", "role": "queue" },
            { "itemId": id, "key": "k", "role": "blocked" }, { "itemId": id, "key": "x".repeat(201), "role": "queue" }, { "itemId": "zz", "key": "k", "role": "queue" },
            { "itemId": id, "key": "k", "role": "queue", "actor": { "kind": "user" } }, { "itemId": id, "key": "k", "role": "queue", "actor": { "id": "x", "kind": "robot" } },
            { "itemId": id, "key": "k", "role": "queue", "body": 5 }, "x", good,
        ]),
    );
    assert_eq!((&answer["upserted"], &answer["failed"]), (&json!(1), &json!(11)));
    for (failure, word) in answer["failures"].as_array().expect("failures").iter().zip([
        "itemId is required",
        "key is required",
        "role is required",
        "no item",
        "queue, work, review",
        "200 characters",
        "UUID",
        "actor.id is required",
        "orchestrator",
        "body must be a string",
        "object",
    ]) {
        assert!(text(&failure["error"]).contains(word), "{failure} should say {word}");
    }
    assert_eq!(names(&answer["itemContext"]), [id.as_str()]);
}

#[test]
fn notes_are_listed_by_phase_and_without_bodies_on_request() {
    let world = World::new();
    let id = world.item("t");
    for (key, role) in [("a", "queue"), ("b", "work"), ("c", "queue")] {
        world.note(&id, key, role);
    }
    let all = list(&world, &id);
    assert_eq!(
        (each(&all["notes"], "key"), &all["total"]),
        (vec!["a".to_owned(), "b".to_owned(), "c".to_owned()], &json!(3))
    );
    assert_eq!(names(&all["notes"][0]), ["body", "createdAt", "id", "itemId", "key", "modifiedAt", "role"]);
    let queue =
        world.ok("query_notes", json!({ "operation": "list", "itemId": id, "role": "queue", "includeBody": false }));
    assert_eq!((each(&queue["notes"], "key"), &queue["total"]), (vec!["a".to_owned(), "c".to_owned()], &json!(2)));
    assert!(queue["notes"][0].get("body").is_none());
    assert_eq!(
        world.err("query_notes", json!({ "operation": "list", "itemId": id, "role": "blocked" }))["field"],
        "role"
    );
    assert_eq!(list(&world, &fresh()), json!({ "notes": [], "total": 0 }), "an item that is not there has no notes");
    assert_eq!(
        world.err("query_notes", json!({ "operation": "list", "itemId": "ffff0000" }))["code"],
        "RESOURCE_NOT_FOUND"
    );
    assert_eq!(world.err("query_notes", json!({ "operation": "list" }))["field"], "itemId");
}

#[test]
fn one_note_is_read_by_its_full_id_alone() {
    let world = World::new();
    assert_eq!(world.err("query_notes", json!({ "operation": "get", "id": fresh() }))["code"], "RESOURCE_NOT_FOUND");
    assert_eq!(world.err("query_notes", json!({ "operation": "get", "id": "abcd" }))["code"], "VALIDATION_ERROR");
    assert_eq!(world.err("query_notes", json!({ "operation": "get" }))["message"], "id is required");
}

#[test]
fn notes_are_deleted_by_id_by_item_and_by_key() {
    let world = World::new();
    let id = world.item("t");
    for key in ["a", "b", "c", "d", "e"] {
        world.note(&id, key, "work");
    }
    let ids = each(&list(&world, &id)["notes"], "id");
    let delete = |arguments: Value| {
        let mut arguments = arguments;
        arguments["operation"] = json!("delete");
        world.ok("manage_notes", arguments)
    };
    let missing = fresh();
    let answer = delete(json!({ "ids": [ids[0], missing, "zz"] }));
    assert_eq!((&answer["deleted"], &answer["failed"]), (&json!(1), &json!(2)));
    let mut failed = each(&answer["failures"], "id");
    failed.sort();
    let mut expected = vec![missing, "zz".to_owned()];
    expected.sort();
    assert_eq!(failed, expected);
    assert_eq!(delete(json!({ "itemId": id, "key": "b" })), json!({ "deleted": 1, "failed": 0 }));
    assert_eq!(
        delete(json!({ "itemId": id, "key": "b" })),
        json!({ "deleted": 0, "failed": 0 }),
        "nothing there is no failure"
    );
    let both = delete(json!({ "ids": [ids[2]], "itemId": id, "key": "d" }));
    assert_eq!(both["deleted"], 2, "both ways of naming count");
    assert_eq!(each(&list(&world, &id)["notes"], "key"), ["e"]);
    assert_eq!(delete(json!({ "itemId": id })), json!({ "deleted": 1, "failed": 0 }));
    for (arguments, code) in [
        (json!({}), "VALIDATION_ERROR"),
        (json!({ "key": "e" }), "VALIDATION_ERROR"),
        (json!({ "ids": [] }), "VALIDATION_ERROR"),
        (json!({ "ids": [fresh()], "key": "e" }), "VALIDATION_ERROR"),
        (json!({ "itemId": "ffff0000" }), "RESOURCE_NOT_FOUND"),
        (json!({ "itemId": fresh(), "key": "e", "fence": 1 }), "RESOURCE_NOT_FOUND"),
    ] {
        let mut arguments = arguments;
        arguments["operation"] = json!("delete");
        assert_eq!(world.err("manage_notes", arguments.clone())["code"], code, "{arguments}");
    }
}

#[test]
fn an_item_that_is_not_there_has_no_notes_to_delete() {
    let world = World::new();
    let id = world.item("t");
    world.note(&id, "a", "work");
    let ids = each(&list(&world, &id)["notes"], "id");
    let delete = |ids: Value, key: Value| {
        let arguments = json!({ "operation": "delete", "ids": ids, "itemId": fresh(), "key": key });
        world.ok("manage_notes", arguments)
    };
    assert_eq!(delete(Value::Null, json!("a")), json!({ "deleted": 0, "failed": 0 }));
    assert_eq!(delete(Value::Null, Value::Null), json!({ "deleted": 0, "failed": 0 }));
    assert_eq!(
        delete(json!(ids), json!("a")),
        json!({ "deleted": 1, "failed": 0 }),
        "those named by id go all the same"
    );
    assert_eq!(list(&world, &id)["total"], 0);
}

#[test]
fn a_note_that_is_too_long_is_warned_about_or_refused() {
    let config = |mode: &str| {
        format!(
            "note_limits: {{ mode: {mode} }}\nwork_item_schemas:\n  t: {{ notes: [ {{ key: short, role: work, maxLength: 5 }} ] }}\n"
        )
    };
    let note = |id: &str| json!([{ "itemId": id, "key": "short", "role": "work", "body": "too long" }]);
    let world = World::with(&config("warn"));
    let id = world.made(json!({ "title": "t", "type": "t" }));
    assert!(text(&upsert(&world, note(&id))["notes"][0]["warning"]).contains('5'));
    let world = World::with(&config("reject"));
    let id = world.made(json!({ "title": "t", "type": "t" }));
    assert_eq!(upsert(&world, note(&id))["failed"], 1);
}

#[test]
fn where_actors_are_asked_for_every_note_and_move_names_one() {
    let world = World::with("actor_authentication: { enabled: true }\n");
    let id = world.item("t");
    let note = |actor: Value| json!({ "itemId": id, "key": "k", "role": "work", "actor": actor });
    let error =
        world.err("manage_notes", json!({ "operation": "upsert", "notes": [note(subagent("a")), note(Value::Null)] }));
    assert_eq!((&error["reason"], &error["field"]), (&json!("actor_required"), &json!("notes[1].actor")));
    assert_eq!(list(&world, &id)["total"], 0, "the whole call is refused");
    let error = world.err("advance_item", json!({ "transitions": [{ "itemId": id, "trigger": "start" }] }));
    assert_eq!(error["field"], "transitions[0].actor");
    assert_eq!(upsert(&world, json!([note(subagent("a"))]))["upserted"], 1);
    let row = world.moved(json!({ "itemId": id, "trigger": "start", "actor": subagent("a") }));
    assert_eq!(row["applied"], true);
    assert_eq!(
        world.ok("manage_notes", json!({ "operation": "delete", "itemId": id }))["deleted"],
        1,
        "deleting needs none"
    );
}
