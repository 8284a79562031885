//! `kb`: lists and searches say what they cut, and a text that was cut does not take the whole one's place unnoticed.

use serde_json::{Value, json};

use crate::{World, text};

fn add(world: &World, title: &str, body: &str) -> String {
    text(&world.ok("kb", json!({ "action": "add", "title": title, "body": body }))["entryId"])
}

#[test]
fn what_was_cut_is_said_and_get_shows_it_whole() {
    let world = World::new();
    let long = "parser ".repeat(300);
    let entry = add(&world, "Parser", &long);
    add(&world, "Short parser", "brief");
    for action in [json!({ "action": "search", "query": "parser" }), json!({ "action": "list" })] {
        let found = world.ok("kb", action.clone());
        let rows = found["entries"].as_array().expect("entries");
        assert_eq!(rows.len(), 2, "{action}");
        for row in rows {
            let cut = row["id"] == json!(entry);
            assert_eq!(row.get("truncated"), cut.then_some(&json!(true)), "{action}: {row}");
            assert!(row["untrusted"]["body"].as_str().expect("a text").len() <= 400, "{action}: {row}");
        }
    }
    let whole = world.ok("kb", json!({ "action": "get", "entryId": entry }))["entry"].clone();
    assert_eq!((&whole["untrusted"]["body"], whole.get("truncated")), (&json!(long), None));
}

#[test]
fn an_update_can_say_what_it_has_read() {
    let world = World::new();
    let entry = add(&world, "Parser", "one");
    let update =
        |body: &str, version: Value| json!({ "action": "update", "entryId": entry, "body": body, "version": version });
    world.ok("kb", update("two", json!(1)));
    assert_eq!(world.code("kb", update("three", json!(1))), "CONFLICT");
    assert_eq!(world.code("kb", update("three", json!(-1))), "VALIDATION");
    let shown = world.ok("kb", json!({ "action": "get", "entryId": entry }))["entry"].clone();
    assert_eq!((&shown["untrusted"]["body"], &shown["version"]), (&json!("two"), &json!(2)));
    assert_eq!(shown["untrusted"]["updatedBy"], "ann");
}

#[test]
fn an_error_names_the_field_that_was_sent() {
    let world = World::new();
    let blank = world.err("kb", json!({ "action": "add", "title": "t", "body": "  " }));
    assert!(!blank.to_string().contains("entries[0]"), "{blank}");
}
