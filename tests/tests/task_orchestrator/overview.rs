//! `query_items` with `overview`: the roots, or one item with its children.

use serde_json::json;

use crate::{World, claiming, each, names};

#[test]
fn one_item_is_shown_in_full_with_its_children_in_short() {
    let world = World::new();
    let root = world.made(json!({ "title": "Auth Feature", "priority": "high", "description": "long" }));
    let done = world.made(json!({ "title": "Design login flow", "parentId": root, "priority": "high", "traits": "x" }));
    world.child(&root, "a");
    world.child(&root, "b");
    world.moves(&done, "complete");
    let answer = world.ok("query_items", json!({ "operation": "overview", "itemId": root }));
    assert_eq!(names(&answer), ["childCounts", "children", "item"]);
    assert_eq!(answer["item"]["description"], "long");
    assert_eq!(answer["childCounts"], json!({ "queue": 2, "work": 0, "review": 0, "blocked": 0, "terminal": 1 }));
    assert_eq!(
        answer["children"][0],
        json!({ "id": done, "key": answer["children"][0]["key"], "parentId": root, "title": "Design login flow", "role": "terminal", "statusLabel": "done", "priority": "high", "depth": 1 })
    );
    assert_eq!(each(&answer["children"], "title"), ["Design login flow", "a", "b"]);
    let error = world.err("query_items", json!({ "operation": "overview", "itemId": crate::fresh() }));
    assert_eq!(error["code"], "RESOURCE_NOT_FOUND");
}

#[test]
fn the_roots_are_shown_with_counts_traits_and_claims() {
    let world = World::new();
    let root = world.made(
        json!({ "title": "Auth Feature", "tags": "backend", "type": "feature", "traits": "needs-migration-review" }),
    );
    world.item("empty");
    let [a, b, _] = ["a", "b", "c"].map(|title| world.child(&root, title));
    let grandchild = world.child(&a, "grandchild");
    world.claim("agent-1", &a);
    world.ok("claim_item", claiming("agent-2", json!([{ "itemId": b, "ttlSeconds": 1 }]), json!([])));
    world.claim("agent-3", &grandchild);
    std::thread::sleep(std::time::Duration::from_millis(1100));
    let answer = world.ok("query_items", json!({ "operation": "overview" }));
    assert_eq!(names(&answer), ["items", "total"]);
    assert_eq!(answer["total"], 2);
    let row = answer["items"].as_array().expect("rows").iter().find(|row| row["id"] == json!(root)).expect("the root");
    assert_eq!(
        *row,
        json!({
            "id": root, "key": row["key"], "title": "Auth Feature", "role": "queue", "priority": "medium", "depth": 0, "tags": "backend", "type": "feature",
            "traits": ["needs-migration-review"],
            "childCounts": { "queue": 3, "work": 0, "review": 0, "blocked": 0, "terminal": 0 },
            "claimSummary": { "active": 1, "expired": 1, "unclaimed": 1 },
        })
    );
    assert!(!answer.to_string().contains("agent-"), "nobody is named");
    let empty =
        answer["items"].as_array().expect("rows").iter().find(|row| row["title"] == "empty").expect("the other");
    assert!(empty.get("traits").is_none() && empty.get("children").is_none());
}

#[test]
fn children_come_with_their_own_counts_where_asked_for() {
    let world = World::new();
    let root = world.item("root");
    let child = world
        .made(json!({ "title": "child", "parentId": root, "tags": "backend", "type": "feature-task", "traits": "t" }));
    world.child(&child, "grandchild");
    let answer = world.ok("query_items", json!({ "operation": "overview", "includeChildren": true }));
    assert_eq!(
        answer["items"][0]["children"],
        json!([{
            "id": child, "key": answer["items"][0]["children"][0]["key"], "parentId": root, "title": "child", "role": "queue", "priority": "medium", "depth": 1, "tags": "backend",
            "type": "feature-task", "traits": ["t"], "childCounts": { "queue": 1, "work": 0, "review": 0, "blocked": 0, "terminal": 0 },
        }])
    );
}

#[test]
fn twenty_roots_are_shown_unless_more_are_asked_for() {
    let world = World::new();
    let items: Vec<_> = (0..25).map(|n| json!({ "title": format!("root {n}") })).collect();
    world.ok("manage_items", json!({ "operation": "create", "items": items }));
    let total = |arguments| world.ok("query_items", arguments)["total"].clone();
    assert_eq!(total(json!({ "operation": "overview" })), 20);
    assert_eq!(total(json!({ "operation": "overview", "limit": 3 })), 3);
    assert_eq!(total(json!({ "operation": "overview", "limit": 100 })), 25);
}

#[test]
fn what_was_cut_is_told() {
    let world = World::new();
    let root = world.item("root");
    let ask = |arguments| world.ok("query_items", arguments);
    for title in ["a", "b", "c", "d", "e"] {
        world.child(&root, title);
    }
    let answer = ask(json!({ "operation": "overview", "itemId": root, "limit": 2 }));
    assert_eq!(each(&answer["children"], "title"), ["a", "b"]);
    assert_eq!(answer["truncated"], true);
    assert_eq!(answer["childCounts"]["queue"], 5, "all of them are counted");
    assert!(ask(json!({ "operation": "overview", "itemId": root, "limit": 5 })).get("truncated").is_none());
    let more: Vec<_> = (0..24).map(|n| json!({ "title": format!("child {n}"), "parentId": root })).collect();
    world.ok("manage_items", json!({ "operation": "create", "items": more }));
    let answer = ask(json!({ "operation": "overview", "itemId": root }));
    assert_eq!((answer["children"].as_array().map(Vec::len), &answer["truncated"]), (Some(20), &json!(true)));

    world.item("other");
    let answer = ask(json!({ "operation": "overview", "limit": 1 }));
    assert_eq!(each(&answer["items"], "title"), ["other"]);
    assert_eq!(answer["truncated"], true);
    let answer = ask(json!({ "operation": "overview", "limit": 2 }));
    assert_eq!((&answer["total"], answer.get("truncated")), (&json!(2), None));
}
