//! `manage_dependencies` and `query_dependencies`.

use serde_json::{Value, json};

use crate::{World, each, fresh, names, text};

fn create(world: &World, dependencies: Value) -> Value {
    world.ok("manage_dependencies", json!({ "operation": "create", "dependencies": dependencies }))
}

fn pairs(answer: &Value) -> Vec<(String, String)> {
    each(&answer["dependencies"], "fromItemId").into_iter().zip(each(&answer["dependencies"], "toItemId")).collect()
}

fn three(world: &World) -> [String; 3] {
    ["a", "b", "c"].map(|title| world.item(title))
}

#[test]
fn dependencies_are_created_as_they_are_listed() {
    let world = World::new();
    let [a, b, c] = three(&world);
    let answer = create(
        &world,
        json!([{ "fromItemId": a, "toItemId": b, "type": "BLOCKS", "unblockAt": "terminal" }, { "fromItemId": b, "toItemId": c }]),
    );
    let rows = &answer["dependencies"];
    assert_eq!(names(&answer), ["created", "dependencies"]);
    assert_eq!(answer["created"], 2);
    assert_eq!(
        rows[0],
        json!({ "id": rows[0]["id"], "fromItemId": a, "toItemId": b, "type": "BLOCKS", "unblockAt": "terminal" })
    );
    assert_eq!(
        rows[1],
        json!({ "id": rows[1]["id"], "fromItemId": b, "toItemId": c, "type": "BLOCKS" }),
        "what was not said is not shown"
    );
}

#[test]
fn patterns_are_shortcuts_for_lists() {
    let world = World::new();
    let [a, b, c] = three(&world);
    let make = |arguments: Value| {
        let mut arguments = arguments;
        arguments["operation"] = json!("create");
        let answer = world.ok("manage_dependencies", arguments);
        for id in each(&answer["dependencies"], "id") {
            assert_eq!(
                world.ok("manage_dependencies", json!({ "operation": "delete", "id": id })),
                json!({ "id": id, "deleted": 1 })
            );
        }
        answer
    };
    let pair = |from: &String, to: &String| (from.clone(), to.clone());
    assert_eq!(pairs(&make(json!({ "pattern": "linear", "itemIds": [a, b, c] }))), [pair(&a, &b), pair(&b, &c)]);
    assert_eq!(
        pairs(&make(json!({ "pattern": "fan-out", "source": a, "targets": [b, c] }))),
        [pair(&a, &b), pair(&a, &c)]
    );
    let shared = make(json!({ "pattern": "fan-in", "sources": [a, b], "target": c, "unblockAt": "work" }));
    assert_eq!(pairs(&shared), [pair(&a, &c), pair(&b, &c)]);
    assert_eq!(each(&shared["dependencies"], "unblockAt"), ["work", "work"]);
    assert_eq!(
        each(&make(json!({ "pattern": "linear", "itemIds": [a, b], "type": "RELATES_TO" }))["dependencies"], "type"),
        ["RELATES_TO"]
    );
}

#[test]
fn one_fault_and_none_is_made() {
    let world = World::new();
    let [a, b, c] = three(&world);
    create(&world, json!([{ "fromItemId": a, "toItemId": b }]));
    let good = json!({ "fromItemId": b, "toItemId": c });
    for (bad, word) in [
        (json!({ "fromItemId": c, "toItemId": c }), "same item"),
        (json!({ "fromItemId": c, "toItemId": a }), "cycle"),
        (json!({ "fromItemId": a, "toItemId": b }), "already"),
        (json!({ "fromItemId": b, "toItemId": c }), "already"),
        (json!({ "fromItemId": a, "toItemId": c, "type": "RELATES_TO", "unblockAt": "work" }), "unblockAt"),
        (json!({ "fromItemId": a, "toItemId": c, "unblockAt": "blocked" }), "unblockAt"),
        (json!({ "fromItemId": a, "toItemId": c, "type": "NEEDS" }), "BLOCKS"),
        (json!({ "fromItemId": a, "toItemId": fresh() }), "no item"),
        (json!({ "fromItemId": a }), "toItemId is required"),
        (json!({ "fromItemId": "zz", "toItemId": a }), "fromItemId"),
        (json!({ "fromItemId": a, "toItemid": b }), "did you mean \"toItemId\""),
        (json!("x"), "object"),
    ] {
        let answer = create(&world, json!([good, bad]));
        assert_eq!(names(&answer), ["created", "dependencies", "failed", "failures"], "{bad}");
        assert_eq!(
            (&answer["dependencies"], &answer["created"], &answer["failed"]),
            (&json!([]), &json!(0), &json!(2))
        );
        let failures = answer["failures"].as_array().expect("failures");
        assert_eq!((failures.len(), &failures[0]["index"]), (1, &json!(1)), "{bad}: {answer}");
        assert!(text(&failures[0]["error"]).contains(word), "{bad}: {answer} should say {word}");
    }
    let answer = create(&world, json!([{ "fromItemId": a, "toItemId": a }]));
    assert_eq!((&answer["failed"], &answer["failures"][0]["index"]), (&json!(1), &json!(0)));
    let left = world.ok("query_dependencies", json!({ "itemId": b }));
    assert_eq!(left["counts"], json!({ "incoming": 1, "outgoing": 0, "relatesTo": 0 }));
}

#[test]
fn a_cycle_through_both_spellings_is_one() {
    let world = World::new();
    let [a, b, c] = three(&world);
    create(
        &world,
        json!([{ "fromItemId": a, "toItemId": b }, { "fromItemId": c, "toItemId": b, "type": "IS_BLOCKED_BY" }]),
    );
    let answer = create(&world, json!([{ "fromItemId": c, "toItemId": a }]));
    assert!(text(&answer["failures"][0]["error"]).contains("cycle"), "{answer}");
    let answer = create(&world, json!([{ "fromItemId": c, "toItemId": a, "type": "RELATES_TO" }]));
    assert_eq!(answer["created"], 1, "what blocks nothing makes no cycle");
}

#[test]
fn malformed_calls_are_errors() {
    let world = World::new();
    let id = world.item("t");
    for arguments in [
        json!({ "operation": "create" }),
        json!({ "operation": "create", "dependencies": [] }),
        json!({ "operation": "create", "dependencies": [{}], "pattern": "linear" }),
        json!({ "operation": "create", "pattern": "star" }),
        json!({ "operation": "create", "pattern": "linear", "itemIds": [id], "type": "NEEDS" }),
        json!({ "operation": "delete" }),
        json!({ "operation": "delete", "fromItemId": id }),
        json!({ "operation": "delete", "deleteAll": true }),
        json!({ "operation": "delete", "id": "abcd" }),
    ] {
        assert_eq!(world.err("manage_dependencies", arguments.clone())["code"], "VALIDATION_ERROR", "{arguments}");
    }
    for (arguments, word) in [
        (json!({ "pattern": "linear", "itemIds": [id] }), "at least 2"),
        (json!({ "pattern": "linear" }), "itemIds is required"),
        (json!({ "pattern": "fan-out", "targets": [id] }), "source is required"),
        (json!({ "pattern": "fan-out", "source": id, "targets": [] }), "targets"),
        (json!({ "pattern": "fan-in", "sources": [id] }), "target is required"),
    ] {
        let mut arguments = arguments;
        arguments["operation"] = json!("create");
        let answer = world.ok("manage_dependencies", arguments.clone());
        assert_eq!(answer["created"], 0);
        assert!(text(&answer["failures"][0]["error"]).contains(word), "{arguments}: {answer}");
    }
}

#[test]
fn dependencies_are_deleted_by_id_between_two_items_and_all_at_once() {
    let world = World::new();
    let [a, b, c] = three(&world);
    let delete = |arguments: Value| {
        let mut arguments = arguments;
        arguments["operation"] = json!("delete");
        world.ok("manage_dependencies", arguments)
    };
    let missing = fresh();
    assert_eq!(delete(json!({ "id": missing })), json!({ "id": missing, "deleted": 0 }));
    create(
        &world,
        json!([{ "fromItemId": a, "toItemId": b }, { "fromItemId": a, "toItemId": b, "type": "RELATES_TO" }, { "fromItemId": c, "toItemId": a, "type": "IS_BLOCKED_BY" }]),
    );
    assert_eq!(
        delete(json!({ "fromItemId": b, "toItemId": a })),
        json!({ "fromItemId": b, "toItemId": a, "deleted": 0 }),
        "the direction counts"
    );
    assert_eq!(delete(json!({ "fromItemId": a, "toItemId": c }))["deleted"], 0, "as it was written");
    assert_eq!(delete(json!({ "fromItemId": a, "toItemId": b, "type": "RELATES_TO" }))["deleted"], 1);
    assert_eq!(
        delete(json!({ "fromItemId": a, "toItemId": b })),
        json!({ "fromItemId": a, "toItemId": b, "deleted": 1 })
    );
    assert_eq!(delete(json!({ "fromItemId": c, "toItemId": a }))["deleted"], 1);
    create(
        &world,
        json!([{ "fromItemId": a, "toItemId": b }, { "fromItemId": b, "toItemId": c }, { "fromItemId": a, "toItemId": c }]),
    );
    assert_eq!(delete(json!({ "toItemId": b, "deleteAll": true })), json!({ "itemId": b, "deleted": 2 }));
    assert_eq!(delete(json!({ "fromItemId": a, "deleteAll": "true" })), json!({ "itemId": a, "deleted": 1 }));
}

/// Every dependency of an item, by its type.
fn left(world: &World, item: &str) -> Vec<String> {
    let mut left = each(&world.ok("query_dependencies", json!({ "itemId": item }))["dependencies"], "type");
    left.sort();
    left
}

#[test]
fn all_of_one_type_are_deleted_and_the_others_stay() {
    let world = World::new();
    let [a, b, c] = three(&world);
    create(
        &world,
        json!([
            { "fromItemId": a, "toItemId": b }, { "fromItemId": a, "toItemId": c }, { "fromItemId": a, "toItemId": b, "type": "RELATES_TO" },
            { "fromItemId": c, "toItemId": a, "type": "RELATES_TO" }, { "fromItemId": c, "toItemId": b, "type": "IS_BLOCKED_BY" },
        ]),
    );
    let delete = |item: &str, kind: &str| {
        let arguments = json!({ "operation": "delete", "fromItemId": item, "deleteAll": true, "type": kind });
        world.ok("manage_dependencies", arguments)
    };
    assert_eq!(delete(&a, "RELATES_TO"), json!({ "itemId": a, "deleted": 2 }), "in either direction");
    assert_eq!(left(&world, &a), ["BLOCKS", "BLOCKS"]);
    assert_eq!(delete(&c, "IS_BLOCKED_BY"), json!({ "itemId": c, "deleted": 1 }), "as it was written");
    assert_eq!(left(&world, &c), ["BLOCKS"]);
    assert_eq!(delete(&c, "IS_BLOCKED_BY")["deleted"], 0);
}

#[test]
fn what_would_delete_more_than_was_meant_is_refused() {
    let world = World::new();
    let [a, b, c] = three(&world);
    let made = create(&world, json!([{ "fromItemId": a, "toItemId": b }, { "fromItemId": a, "toItemId": c }]));
    let id = &made["dependencies"][0]["id"];
    for (arguments, field) in [
        (json!({ "fromItemId": a, "toItemId": b, "deleteAll": true }), "deleteAll"),
        (json!({ "id": id, "deleteAll": true }), "id"),
        (json!({ "id": id, "fromItemId": a }), "id"),
        (json!({ "id": id, "toItemId": b }), "id"),
        (json!({ "id": id, "type": "RELATES_TO" }), "id"),
        (json!({ "fromItemId": a, "deleteAll": true, "unblockAt": "work" }), "unblockAt"),
        (json!({ "fromItemId": a, "deleteAll": true, "targets": [b] }), "targets"),
    ] {
        let mut arguments = arguments;
        arguments["operation"] = json!("delete");
        let error = world.err("manage_dependencies", arguments.clone());
        assert_eq!((&error["code"], &error["field"]), (&json!("VALIDATION_ERROR"), &json!(field)), "{arguments}");
    }
    assert_eq!(left(&world, &a), ["BLOCKS", "BLOCKS"]);
    let plain = json!({ "operation": "delete", "fromItemId": a, "toItemId": b, "deleteAll": false });
    assert_eq!(world.ok("manage_dependencies", plain)["deleted"], 1);
}

#[test]
fn the_neighbours_of_an_item_are_shown_by_direction_and_type() {
    let world = World::new();
    let [a, b, c] = three(&world);
    let d = world.item("d");
    create(
        &world,
        json!([
            { "fromItemId": a, "toItemId": b, "unblockAt": "work" }, { "fromItemId": b, "toItemId": c, "type": "BLOCKS" },
            { "fromItemId": b, "toItemId": d, "type": "RELATES_TO" }, { "fromItemId": b, "toItemId": d, "type": "IS_BLOCKED_BY" },
        ]),
    );
    let ask = |arguments: Value| {
        let mut arguments = arguments;
        arguments["itemId"] = json!(b);
        world.ok("query_dependencies", arguments)
    };
    let counts = json!({ "incoming": 2, "outgoing": 1, "relatesTo": 1 });
    let all = ask(json!({}));
    assert_eq!(names(&all), ["counts", "dependencies"]);
    assert_eq!((&all["counts"], all["dependencies"].as_array().map(Vec::len)), (&counts, Some(4)));
    let incoming = ask(json!({ "direction": "incoming", "includeItemInfo": true }));
    assert_eq!(incoming["counts"], counts, "counts look past the filter");
    let rows = &incoming["dependencies"];
    assert_eq!(
        rows[0],
        json!({
            "id": rows[0]["id"], "fromItemId": a, "toItemId": b, "type": "BLOCKS", "unblockAt": "work", "effectiveUnblockRole": "work",
            "fromItem": { "title": "a", "role": "queue", "priority": "medium" }, "toItem": { "title": "b", "role": "queue", "priority": "medium" },
        })
    );
    assert_eq!(
        (&rows[1]["fromItemId"], &rows[1]["toItemId"], &rows[1]["type"]),
        (&json!(b), &json!(d), &json!("IS_BLOCKED_BY")),
        "as it was written"
    );
    assert_eq!(rows[1]["effectiveUnblockRole"], "terminal");
    assert_eq!(rows.as_array().map(Vec::len), Some(2));
    let outgoing = ask(json!({ "direction": "outgoing", "type": "BLOCKS" }));
    assert_eq!(pairs(&outgoing), [(b.clone(), c.clone())]);
    let related = ask(json!({ "type": "relates_to" }));
    assert!(related["dependencies"][0].get("effectiveUnblockRole").is_none(), "it waits for nothing");
    assert_eq!(each(&ask(json!({ "type": "IS_BLOCKED_BY" }))["dependencies"], "toItemId"), [d]);
}

#[test]
fn the_whole_graph_is_walked_on_request() {
    let world = World::new();
    let [a, b, c] = three(&world);
    let d = world.item("d");
    create(
        &world,
        json!([{ "fromItemId": b, "toItemId": a, "type": "IS_BLOCKED_BY" }, { "fromItemId": b, "toItemId": c }, { "fromItemId": a, "toItemId": c }, { "fromItemId": c, "toItemId": d, "type": "RELATES_TO" }]),
    );
    let graph =
        |item: &str| world.ok("query_dependencies", json!({ "itemId": item, "neighborsOnly": false }))["graph"].clone();
    for item in [&a, &b, &c] {
        assert_eq!(graph(item), json!({ "chain": [a, b, c], "depth": 2 }));
    }
    assert_eq!(graph(&d), json!({ "chain": [d], "depth": 0 }));
    let nobody = world.ok("query_dependencies", json!({ "itemId": fresh() }));
    assert_eq!(nobody, json!({ "dependencies": [], "counts": { "incoming": 0, "outgoing": 0, "relatesTo": 0 } }));
    assert_eq!(world.err("query_dependencies", json!({}))["field"], "itemId");
    assert_eq!(world.err("query_dependencies", json!({ "itemId": a, "direction": "up" }))["field"], "direction");
}
