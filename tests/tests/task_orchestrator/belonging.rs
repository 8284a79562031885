//! An argument that does not belong to the operation is refused: whoever sends it takes it to mean something.

use serde_json::{Value, json};

use crate::{World, fresh, text};

#[test]
fn what_an_operation_does_not_take_is_refused_by_name() {
    let world = World::new();
    let (a, b) = (world.item("a"), world.item("b"));
    let (since, request) = ("2020-01-01T00:00:00Z", fresh());
    let pair = json!([{ "fromItemId": a, "toItemId": b }]);
    for (tool, arguments, field) in [
        ("query_items", json!({ "operation": "get", "id": a, "limit": 3 }), "limit"),
        ("query_items", json!({ "operation": "overview", "offset": 2 }), "offset"),
        ("query_items", json!({ "operation": "overview", "role": "work" }), "role"),
        ("query_items", json!({ "operation": "overview", "itemId": a, "offset": 2 }), "offset"),
        ("query_items", json!({ "operation": "search", "itemId": a }), "itemId"),
        ("query_items", json!({ "operation": "search", "includeChildren": true }), "includeChildren"),
        ("manage_items", json!({ "operation": "create", "items": [{ "title": "t" }], "ids": [a] }), "ids"),
        ("manage_items", json!({ "operation": "create", "items": [{ "title": "t" }], "recursive": true }), "recursive"),
        (
            "manage_items",
            json!({ "operation": "update", "items": [{ "id": a, "title": "t" }], "parentId": b }),
            "parentId",
        ),
        (
            "manage_items",
            json!({ "operation": "update", "items": [{ "id": a, "title": "t" }], "parentId": null }),
            "parentId",
        ),
        (
            "manage_items",
            json!({ "operation": "update", "items": [{ "id": a, "title": "t" }], "traits": "x" }),
            "traits",
        ),
        ("manage_items", json!({ "operation": "delete", "ids": [a], "parentId": b }), "parentId"),
        (
            "manage_notes",
            json!({ "operation": "upsert", "notes": [{ "itemId": a, "key": "k", "role": "work" }], "key": "l" }),
            "key",
        ),
        ("manage_notes", json!({ "operation": "delete", "itemId": a, "notes": [] }), "notes"),
        ("manage_notes", json!({ "operation": "delete", "ids": [fresh()], "key": "k" }), "itemId"),
        ("query_notes", json!({ "operation": "get", "id": fresh(), "role": "work" }), "role"),
        ("query_notes", json!({ "operation": "list", "itemId": a, "id": fresh() }), "id"),
        ("manage_dependencies", json!({ "operation": "create", "dependencies": pair, "itemIds": [a, b] }), "itemIds"),
        (
            "manage_dependencies",
            json!({ "operation": "create", "pattern": "linear", "itemIds": [a, b], "source": a }),
            "source",
        ),
        ("manage_dependencies", json!({ "operation": "create", "dependencies": pair, "fromItemId": a }), "fromItemId"),
        (
            "manage_dependencies",
            json!({ "operation": "delete", "fromItemId": a, "toItemId": b, "itemIds": [a] }),
            "itemIds",
        ),
        ("get_context", json!({ "limit": 5 }), "limit"),
        ("get_context", json!({ "itemId": a, "limit": 5 }), "limit"),
    ] {
        let mut sent = arguments.clone();
        if tool.starts_with("manage") {
            sent["requestId"] = json!(request);
        }
        let error = world.err(tool, sent);
        assert_eq!(
            (&error["code"], &error["field"]),
            (&json!("VALIDATION_ERROR"), &json!(field)),
            "{arguments}: {error}"
        );
    }
    assert_eq!(world.ok("query_items", json!({ "operation": "search" }))["total"], 2, "nothing was made or removed");
    assert_eq!(world.ok("query_dependencies", json!({ "itemId": a }))["counts"]["outgoing"], 0);
    assert_eq!(world.ok("get_context", json!({ "itemId": a, "since": since }))["mode"], "item", "the item wins");
}

#[test]
fn what_an_operation_documents_it_takes_and_null_is_nothing() {
    let world = World::new();
    let items = json!([{ "title": "t" }]);
    let made =
        json!({ "operation": "create", "items": items, "requiresVerification": true, "ids": null, "recursive": null });
    let id = text(&world.ok("manage_items", made)["items"][0]["id"]);
    for (tool, arguments) in [
        (
            "manage_items",
            json!({ "operation": "update", "items": [{ "id": id, "title": "u" }], "requiresVerification": true, "ids": null }),
        ),
        ("query_items", json!({ "operation": "overview", "itemId": id, "includeChildren": true, "offset": null })),
        ("query_items", json!({ "operation": "get", "id": id, "query": null })),
        ("get_context", json!({ "limit": Value::Null, "since": null })),
        ("manage_items", json!({ "operation": "delete", "ids": [id], "requiresVerification": false })),
    ] {
        world.ok(tool, arguments);
    }
}

#[test]
fn whole_numbers_may_be_written_with_a_point() {
    let world = World::new();
    let id = world.made(json!({ "title": "t", "complexity": 5.0 }));
    assert_eq!(world.get(&id)["complexity"], 5);
    assert_eq!(world.ok("query_items", json!({ "operation": "search", "limit": 2.0 }))["limit"], 2);
    assert_eq!(world.err("query_items", json!({ "operation": "search", "limit": 0.5 }))["field"], "limit");
}
