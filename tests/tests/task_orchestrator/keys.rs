//! `key`: the short name of an item wherever an agent first meets it.

use serde_json::{Value, json};

use crate::{World, claiming, text};

/// The id that a key names.
fn named(world: &World, key: &Value) -> Value {
    world.get(&text(key))["id"].clone()
}

#[test]
fn new_items_are_told_with_their_keys() {
    let world = World::new();
    let made =
        world.ok("manage_items", json!({ "operation": "create", "items": [{ "title": "a" }, { "title": "b" }] }));
    let tree =
        world.ok("create_work_tree", json!({ "root": { "title": "r" }, "children": [{ "ref": "c", "title": "c" }] }));
    let rows = [&made["items"][0], &made["items"][1], &tree["root"], &tree["children"][0]];
    let keys = rows.map(|row| text(&row["key"]));
    let numbers: Vec<&str> = keys.iter().filter_map(|key| key.rsplit('-').next()).collect();
    assert_eq!(numbers, ["1", "2", "3", "4"], "{keys:?}");
    for row in rows {
        assert_eq!(named(&world, &row["key"]), row["id"]);
    }
}

#[test]
fn every_way_to_find_an_item_tells_its_key() {
    let world = World::new();
    let id = world.item("root");
    let child = world.child(&id, "child");
    // A process that has made nothing itself.
    let world = world.restarted();
    let ask = |arguments: Value| world.ok("query_items", arguments);
    let found = ask(json!({ "operation": "search", "parentId": id }))["items"][0].clone();
    let roots = ask(json!({ "operation": "overview", "includeChildren": true }))["items"][0].clone();
    let scoped = ask(json!({ "operation": "overview", "itemId": id }));
    let next = world.ok("get_next_item", json!({ "parentId": id }))["recommendations"][0].clone();
    let context = world.ok("get_context", json!({ "itemId": child }))["item"].clone();
    let claims = json!([{ "selector": { "parentId": id } }]);
    let claimed = world.ok("claim_item", claiming("agent-1", claims, json!([])))["claimResults"][0].clone();
    let whole = world.get(&child);
    for row in [&found, &roots["children"][0], &scoped["children"][0], &next, &context, &claimed, &whole] {
        assert_eq!(named(&world, &row["key"]), json!(child), "{row}");
    }
    for row in [&roots, &scoped["item"]] {
        assert_eq!(named(&world, &row["key"]), json!(id), "{row}");
    }
}
