//! Bad input: what is said, and that nothing else happens.

use serde_json::{Value, json};

use crate::{World, fresh, names, text};

#[test]
fn the_envelope_says_kind_code_and_field() {
    let world = World::new();
    let error = world.err("query_items", json!({ "operation": "get", "id": fresh() }));
    assert_eq!(
        (&error["kind"], &error["code"], &error["reason"]),
        (&json!("permanent"), &json!("RESOURCE_NOT_FOUND"), &json!("not_found"))
    );
    assert_eq!(names(&error), ["code", "kind", "message", "reason"]);
    let error = world.err("query_items", json!({ "operation": "get", "id": "../x" }));
    assert_eq!(
        (&error["code"], &error["reason"], &error["field"]),
        (&json!("VALIDATION_ERROR"), &json!("bad_id"), &json!("id"))
    );
}

#[test]
fn unknown_arguments_are_refused_with_the_nearest_known_one() {
    let world = World::new();
    for (tool, arguments, field, hint) in [
        ("manage_items", json!({ "operation": "create", "item": [] }), "item", "items"),
        ("manage_items", json!({ "operation": "create", "items": [], "parent_id": "x" }), "parent_id", "parentId"),
        ("query_items", json!({ "operation": "search", "sort_by": "title" }), "sort_by", "sortBy"),
        ("create_work_tree", json!({ "root": { "title": "t", "pririty": "high" } }), "root.pririty", "priority"),
        ("complete_tree", json!({ "rootID": "x" }), "rootID", "rootId"),
        ("manage_notes", json!({ "operation": "upsert", "note": [] }), "note", "notes"),
        ("query_notes", json!({ "operation": "list", "includeBodies": true }), "includeBodies", "includeBody"),
        ("manage_dependencies", json!({ "operation": "create", "dependancies": [] }), "dependancies", "dependencies"),
        ("query_dependencies", json!({ "itemId": "x", "neighboursOnly": true }), "neighboursOnly", "neighborsOnly"),
        ("advance_item", json!({ "transition": [] }), "transition", "transitions"),
        ("get_next_status", json!({ "id": "x" }), "id", ""),
        ("get_context", json!({ "itemid": "x" }), "itemid", "itemId"),
        ("get_next_item", json!({ "includeDetail": true }), "includeDetail", "includeDetails"),
        ("get_blocked_items", json!({ "includeAncestor": true }), "includeAncestor", "includeAncestors"),
        ("claim_item", json!({ "claim": [] }), "claim", "claims"),
    ] {
        let error = world.err(tool, arguments.clone());
        assert_eq!(
            (&error["reason"], &error["field"]),
            (&json!("unknown_field"), &json!(field)),
            "{tool} {arguments}: {error}"
        );
        if !hint.is_empty() {
            assert!(text(&error["message"]).ends_with(&format!("did you mean \"{hint}\"?")), "{error}");
        }
    }
}

#[test]
fn wrong_types_are_named() {
    let world = World::new();
    for (tool, arguments, message) in [
        ("manage_items", json!({}), "operation is required"),
        ("manage_items", json!({ "operation": 5 }), "operation must be a string, not a number"),
        (
            "manage_items",
            json!({ "operation": "upsert" }),
            "operation must be one of create, update, delete, not \"upsert\"",
        ),
        ("manage_items", json!({ "operation": "create" }), "items is required"),
        ("manage_items", json!({ "operation": "create", "items": [] }), "items must not be empty"),
        (
            "manage_items",
            json!({ "operation": "create", "items": "[]" }),
            "items must be a native JSON array, not a string",
        ),
        (
            "manage_items",
            json!({ "operation": "create", "items": { "title": "t" } }),
            "items must be a native JSON array, not an object",
        ),
        ("manage_items", json!({ "operation": "delete" }), "ids is required"),
        (
            "query_items",
            json!({ "operation": "search", "includeAncestors": "yes" }),
            "includeAncestors must be a boolean, not a string",
        ),
        (
            "query_items",
            json!({ "operation": "search", "limit": 1.5 }),
            "limit must be an integer, not a number with a fraction",
        ),
        ("query_items", json!({ "operation": "get" }), "id is required"),
        ("create_work_tree", json!({ "root": "t" }), "root must be a JSON object, not a string"),
    ] {
        assert_eq!(world.err(tool, arguments.clone())["message"], message, "{tool} {arguments}");
    }
    let listed = world.ok("query_items", json!({ "operation": "search", "includeAncestors": "FALSE" }));
    assert_eq!(listed["total"], 0, "the words true and false will do");
}

#[test]
fn text_that_cannot_be_kept_or_read_is_refused() {
    let world = World::new();
    let create = |item: Value| world.ok("manage_items", json!({ "operation": "create", "items": [item] }));
    for (item, word) in [
        (json!({ "title": "\u{200b}\u{feff}" }), "blank"),
        (json!({ "title": "a\u{0}b" }), "NUL"),
        (json!({ "title": "two\nlines" }), "one line"),
        (json!({ "title": "t", "description": "\u{0}" }), "NUL"),
        (json!({ "title": "t", "tags": "with space" }), "lower-case"),
        (json!({ "title": "t", "tags": "а" }), "lower-case"),
        (json!({ "title": "t", "type": "x".repeat(300) }), "255"),
    ] {
        let answer = create(item.clone());
        assert!(text(&answer["failures"][0]["error"]).contains(word), "{item}: {answer}");
    }
    let long = "y".repeat(5000);
    for error in [
        text(&create(json!({ "title": "t", "priority": long }))["failures"][0]["error"]),
        text(&world.err("query_items", json!({ "operation": "get", "id": long }))["message"]),
        text(&world.err("query_items", json!({ "operation": "get", long.clone(): 1 }))["message"]),
    ] {
        assert!(error.chars().count() < 500, "nothing long is echoed: {} characters", error.chars().count());
    }
}

#[test]
fn words_of_attackers_are_kept_as_they_are() {
    let world = World::new();
    for title in ["'; DROP TABLE items; --", "<script>alert(1)</script>", "%_\\", "\u{202e}abc"] {
        let id = world.item(title);
        assert_eq!(world.get(&id)["title"], title);
        assert_eq!(
            world.ok("query_items", json!({ "operation": "search", "query": title }))["items"]
                .as_array()
                .map(Vec::is_empty),
            Some(title == "%_\\")
        );
    }
}

#[test]
fn batches_have_an_end() {
    let world = World::new();
    let id = world.item("t");
    let many = |value: Value| vec![value; 201];
    let four = |value: Value, more: usize| vec![value; 800 + more];
    let pattern = |more: Value| {
        let mut arguments = json!({ "operation": "create" });
        arguments.as_object_mut().expect("fields").extend(more.as_object().expect("fields").clone());
        arguments
    };
    let tree = |field: &str| json!({ "root": { "title": "t" }, field: four(json!({}), 1) });
    for (tool, arguments, field) in [
        ("manage_items", json!({ "operation": "create", "items": many(json!({ "title": "t" })) }), "items"),
        ("manage_items", json!({ "operation": "delete", "ids": many(json!(id)) }), "ids"),
        ("manage_notes", json!({ "operation": "upsert", "notes": many(json!({})) }), "notes"),
        ("manage_notes", json!({ "operation": "delete", "ids": many(json!(fresh())) }), "ids"),
        ("advance_item", json!({ "transitions": many(json!({ "itemId": id, "trigger": "start" })) }), "transitions"),
        ("complete_tree", json!({ "itemIds": many(json!(id)) }), "itemIds"),
        (
            "create_work_tree",
            json!({ "root": { "title": "t" }, "children": (0..200).map(|n| json!({ "ref": n.to_string(), "title": "t" })).collect::<Vec<_>>() }),
            "children",
        ),
        ("create_work_tree", tree("deps"), "deps"),
        ("create_work_tree", tree("notes"), "notes"),
        ("manage_dependencies", pattern(json!({ "dependencies": four(json!({}), 1) })), "dependencies"),
        (
            "manage_dependencies",
            pattern(json!({ "pattern": "fan-out", "source": id, "targets": four(json!(id), 1) })),
            "targets",
        ),
        (
            "manage_dependencies",
            pattern(json!({ "pattern": "fan-in", "target": id, "sources": four(json!(id), 1) })),
            "sources",
        ),
        ("manage_dependencies", pattern(json!({ "pattern": "linear", "itemIds": four(json!(id), 1) })), "itemIds"),
    ] {
        let error = world.err(tool, arguments);
        assert_eq!((&error["reason"], &error["field"]), (&json!("batch_too_large"), &json!(field)), "{tool}");
    }
    let just = pattern(json!({ "pattern": "fan-out", "source": id, "targets": four(json!(id), 0) }));
    let answer = world.ok("manage_dependencies", just);
    assert_eq!(
        (&answer["failed"], &answer["failures"][0]["index"]),
        (&json!(800), &json!(0)),
        "not too many, but wrong"
    );
    let items: Vec<Value> =
        (0..200).map(|n| json!({ "title": if n == 99 { String::new() } else { format!("item {n}") } })).collect();
    let answer = world.ok("manage_items", json!({ "operation": "create", "items": items }));
    assert_eq!((&answer["created"], &answer["failed"]), (&json!(199), &json!(1)));
}

#[test]
fn ids_are_spelled_exactly() {
    let world = World::new();
    let id = world.item("t");
    for bad in ["abc", "zzzz", "12345678-1234-1234-1234-12345678901", "DOC-0", "../x", "ＡＢＣＤ", ""] {
        let error = world.err("query_items", json!({ "operation": "get", "id": bad }));
        assert_eq!((&error["code"], &error["field"]), (&json!("VALIDATION_ERROR"), &json!("id")), "{bad:?}");
    }
    for bad in [format!("{id} "), format!("{id}\n")] {
        assert_eq!(world.err("query_items", json!({ "operation": "get", "id": bad }))["reason"], "bad_id", "{bad:?}");
    }
}
