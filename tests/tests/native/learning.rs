//! `learn`, and what becomes of it: found, edited under a guard, used, removed by those who may.

use serde_json::{Value, json};

use crate::{World, agent, text};

fn learned(world: &World, more: Value) -> String {
    let mut sent = json!({ "learned": [{ "title": "Linker", "body": "gcc alone", "tags": ["build"] }] });
    sent.as_object_mut().expect("an object").extend(more.as_object().cloned().expect("an object"));
    text(&world.ok("learn", sent)["trusted"]["entries"][0])
}

fn shown(world: &World, entry: &str) -> Value {
    world.ok("find", json!({ "what": "knowledge", "id": entry }))
}

#[test]
fn what_was_learned_is_found_whole_by_its_id_and_cut_in_a_search() {
    let world = World::new();
    let long = "linker ".repeat(200);
    let sent = json!({ "learned": [{ "title": "Linker", "body": long }] });
    let entry = text(&world.ok("learn", sent)["trusted"]["entries"][0]);
    let found = world.ok("find", json!({ "what": "knowledge", "query": "linker" }));
    assert_eq!(
        (&found["trusted"]["mode"], &found["trusted"]["rows"][0]["truncated"]),
        (&json!("lexical"), &json!(true))
    );
    assert_eq!(shown(&world, &entry)["untrusted"]["body"], json!(long));
    let item = world.item("Mend the linker");
    let packet = world.ok("work", json!({ "phase": "start", "id": item, "knowledge": true, "actor": agent("ann") }));
    assert_eq!(packet["trusted"]["knowledge"][0]["id"], json!(entry), "{packet}");
    assert_eq!(packet["trusted"]["knowledge"][0]["reviewState"], "unreviewed");
}

#[test]
fn an_edit_is_guarded_by_the_version_that_was_read() {
    let world = World::new();
    let entry = learned(&world, json!({}));
    let edit = |more: Value| {
        let mut edit = json!({ "id": entry });
        edit.as_object_mut().expect("an object").extend(more.as_object().cloned().expect("an object"));
        json!({ "edit": edit, "actor": agent("bob") })
    };
    let done = world.ok("learn", edit(json!({ "body": "clang too", "version": 1 })));
    assert_eq!(done["trusted"]["version"], 2);
    assert_eq!(world.err("learn", edit(json!({ "body": "x", "version": 1 })))["reason"], "version_mismatch");
    for (bad, field) in [
        (edit(json!({ "body": "x", "version": -1 })), "edit.version"),
        (edit(json!({ "body": "x", "colour": "red" })), "edit.colour"),
        (json!({ "edit": { "body": "x" } }), "edit.id"),
        (json!({ "edit": "x" }), "edit"),
        (json!({ "learned": [{ "title": "t", "body": " " }] }), "learned[0].body"),
        (json!({ "learned": [{ "title": "t" }] }), "learned[0].body"),
        (json!({}), "learned"),
    ] {
        let refused = world.err("learn", bad.clone());
        assert_eq!((&refused["code"], &refused["field"]), (&json!("VALIDATION"), &json!(field)), "{bad}");
    }
    let now = shown(&world, &entry);
    assert_eq!((&now["untrusted"]["body"], &now["untrusted"]["updatedBy"]), (&json!("clang too"), &json!("bob")));
}

#[test]
fn errors_of_finishing_name_what_was_sent() {
    let world = World::new();
    let item = world.item("work");
    world.ok("work", json!({ "phase": "start", "id": item, "actor": agent("ann") }));
    let finish = json!({ "phase": "finish", "id": item, "actor": agent("ann"), "to": "complete",
        "learned": [{ "title": "t", "body": " " }] });
    assert_eq!(world.err("work", finish)["field"], "learned[0].body");
}

#[test]
fn what_was_learned_is_removed_by_the_tool_that_destroys() {
    let world = World::new();
    let item = world.item("work");
    let entry = learned(&world, json!({ "id": item }));
    let used = world.ok("learn", json!({ "id": item, "used": [entry] }));
    assert_eq!(used["trusted"]["changed"], json!([entry]));
    let links = shown(&world, &entry)["trusted"]["links"].clone();
    assert_eq!(links.as_array().map(Vec::len), Some(2), "produced and used: {links}");
    assert_eq!(world.err("learn", json!({ "remove": [entry] }))["code"], "VALIDATION", "learn destroys nothing");
    assert_eq!(world.ok("remove", json!({ "entries": [entry] }))["trusted"]["removed"], 1);
    let gone = world.err("find", json!({ "what": "knowledge", "id": entry }));
    assert_eq!(gone["code"], "NOT_FOUND");
}
