//! `query_items` with `search`: filters, pages, order.

use serde_json::{Value, json};

use crate::{World, each, fresh, names, text};

fn search(world: &World, mut filter: Value) -> Value {
    filter["operation"] = json!("search");
    world.ok("query_items", filter)
}

fn titles(world: &World, mut filter: Value) -> Vec<String> {
    filter["sortBy"] = json!("createdAt");
    filter["sortOrder"] = json!("asc");
    each(&search(world, filter)["items"], "title")
}

#[test]
fn rows_are_short_and_leave_out_what_is_not_set() {
    let world = World::new();
    let parent = world.item("bare");
    world.made(json!({ "title": "full", "parentId": parent, "tags": "a,b", "type": "y", "statusLabel": "l", "description": "d", "summary": "s" }));
    let answer = search(&world, json!({ "sortOrder": "asc" }));
    assert_eq!(names(&answer), ["items", "limit", "offset", "returned", "total"]);
    assert_eq!(names(&answer["items"][0]), ["depth", "id", "key", "priority", "role", "title"]);
    assert_eq!(
        names(&answer["items"][1]),
        ["depth", "id", "key", "parentId", "priority", "role", "statusLabel", "tags", "title", "type"]
    );
    assert_eq!((&answer["limit"], &answer["offset"]), (&json!(50), &json!(0)));
}

#[test]
fn each_filter_keeps_what_it_names() {
    let world = World::new();
    let root = world.made(json!({ "title": "Root", "tags": "a", "priority": "high" }));
    world.made(
        json!({ "title": "Child one", "parentId": root, "tags": "b", "type": "bug", "summary": "the JWT handler" }),
    );
    world.made(json!({ "title": "Child two", "parentId": root, "tags": "ab", "role": "work", "priority": "high" }));
    for (filter, expected) in [
        (json!({}), vec!["Root", "Child one", "Child two"]),
        (json!({ "parentId": root }), vec!["Child one", "Child two"]),
        (json!({ "depth": 0 }), vec!["Root"]),
        (json!({ "role": "work" }), vec!["Child two"]),
        (json!({ "role": "work", "priority": "high", "limit": 20, "offset": 0 }), vec!["Child two"]),
        (json!({ "priority": "high" }), vec!["Root", "Child two"]),
        (json!({ "tags": "a" }), vec!["Root"]),
        (json!({ "tags": "a, b" }), vec!["Root", "Child one"]),
        (json!({ "type": "bug" }), vec!["Child one"]),
        (json!({ "type": "bu" }), vec![]),
        (json!({ "query": "child" }), vec!["Child one", "Child two"]),
        (json!({ "query": "jwt" }), vec!["Child one"]),
        (json!({ "query": "child jwt" }), vec!["Child one"]),
        (json!({ "query": "***" }), vec![]),
    ] {
        assert_eq!(titles(&world, filter.clone()), expected, "{filter}");
    }
    let error = world.err("query_items", json!({ "operation": "search", "parentId": fresh() }));
    assert_eq!((&error["code"], &error["field"]), (&json!("RESOURCE_NOT_FOUND"), &json!("parentId")));
}

#[test]
fn a_search_for_more_words_than_are_looked_for_finds_no_more_than_was_asked_for() {
    let world = World::new();
    let words = |count: usize| (0..count).map(|n| format!("word{n}")).collect::<Vec<_>>().join(" ");
    world.item(&words(17));
    assert_eq!(titles(&world, json!({ "query": words(16) })).len(), 1);
    let again = format!("{} {}", words(16), words(16));
    assert_eq!(titles(&world, json!({ "query": again })).len(), 1, "each counts once");
    let error = world.err("query_items", json!({ "operation": "search", "query": words(17) }));
    assert_eq!((&error["reason"], &error["field"]), (&json!("too_many"), &json!("query")));
    assert!(text(&error["message"]).contains("16"), "{error}");
}

#[test]
fn times_bound_a_search_from_both_sides() {
    let world = World::new();
    let id = world.item("first");
    let made = text(&world.get(&id)["createdAt"]);
    std::thread::sleep(std::time::Duration::from_millis(15));
    world.item("second");
    std::thread::sleep(std::time::Duration::from_millis(15));
    world.moves(&id, "start");
    let moved = text(&world.get(&id)["roleChangedAt"]);
    assert_eq!(titles(&world, json!({ "createdAfter": made })), ["second"]);
    assert_eq!(titles(&world, json!({ "createdBefore": moved })), ["first", "second"]);
    assert_eq!(
        titles(&world, json!({ "createdAfter": "2000-01-01T00:00:00+02:00", "createdBefore": made })),
        Vec::<String>::new()
    );
    assert_eq!(titles(&world, json!({ "roleChangedBefore": moved })), ["second"]);
    assert_eq!(titles(&world, json!({ "modifiedBefore": moved })), ["second"]);
    assert_eq!(titles(&world, json!({ "modifiedAfter": made, "roleChangedAfter": made })), ["first", "second"]);
    for bad in ["yesterday", "2026-01-01T00:00:00", "2026-13-01T00:00:00Z", "2999-01-01T00:00:00Z"] {
        let error = world.err("query_items", json!({ "operation": "search", "createdAfter": bad }));
        assert_eq!((&error["code"], &error["field"]), (&json!("VALIDATION_ERROR"), &json!("createdAfter")), "{bad}");
    }
    let error =
        world.err("query_items", json!({ "operation": "search", "modifiedAfter": moved, "modifiedBefore": made }));
    assert!(text(&error["message"]).contains("before modifiedBefore"));
}

#[test]
fn pages_say_how_much_there_is() {
    let world = World::new();
    let items: Vec<Value> = (0..7).map(|n| json!({ "title": format!("item {n}") })).collect();
    world.ok("manage_items", json!({ "operation": "create", "items": items }));
    let page = search(&world, json!({ "limit": 3, "offset": 3, "sortOrder": "asc" }));
    assert_eq!(each(&page["items"], "title"), ["item 3", "item 4", "item 5"]);
    let numbers = |page: &Value| {
        [&page["total"], &page["returned"], &page["limit"], &page["offset"]].map(|n| n.as_u64().expect("a number"))
    };
    assert_eq!(numbers(&page), [7, 3, 3, 3]);
    assert_eq!(numbers(&search(&world, json!({ "offset": 6, "limit": 5 }))), [7, 1, 5, 6]);
    assert_eq!(numbers(&search(&world, json!({ "offset": 60 }))), [7, 0, 50, 60]);
    assert_eq!(numbers(&search(&world, json!({ "limit": 100_000, "offset": -4 }))), [7, 7, 200, 0]);
    assert_eq!(numbers(&search(&world, json!({ "limit": 0 }))), [7, 1, 1, 0]);
    assert_eq!(
        each(&search(&world, json!({ "limit": 2 }))["items"], "title"),
        ["item 6", "item 5"],
        "the newest first"
    );
}

#[test]
fn lists_run_the_way_that_is_asked_for() {
    let world = World::new();
    world.ok(
        "manage_items",
        json!({ "operation": "create", "items": [
            { "title": "b", "priority": "low", "complexity": 5 }, { "title": "c", "priority": "high" }, { "title": "a", "complexity": 1 },
        ]}),
    );
    let c = search(&world, json!({ "query": "c" }))["items"][0]["id"].clone();
    std::thread::sleep(std::time::Duration::from_millis(5));
    world.ok("manage_items", json!({ "operation": "update", "items": [{ "id": c, "summary": "touched" }] }));
    for (by, order, expected) in [
        ("title", "asc", ["a", "b", "c"]),
        ("title", "desc", ["c", "b", "a"]),
        ("priority", "desc", ["c", "a", "b"]),
        ("priority", "asc", ["b", "a", "c"]),
        ("complexity", "asc", ["a", "b", "c"]),
        ("createdAt", "asc", ["b", "c", "a"]),
        ("modifiedAt", "desc", ["c", "b", "a"]),
    ] {
        assert_eq!(
            each(&search(&world, json!({ "sortBy": by, "sortOrder": order }))["items"], "title"),
            expected,
            "{by} {order}"
        );
    }
    let error = world.err("query_items", json!({ "operation": "search", "sortBy": "id;drop" }));
    assert_eq!((&error["code"], &error["field"]), (&json!("VALIDATION_ERROR"), &json!("sortBy")));
}

#[test]
fn ancestors_come_with_every_row_where_asked_for() {
    let world = World::new();
    let root = world.item("root");
    world.child(&root, "leaf");
    let answer = search(&world, json!({ "includeAncestors": true, "sortOrder": "asc" }));
    assert_eq!(answer["items"][0]["ancestors"], json!([]));
    assert_eq!(answer["items"][1]["ancestors"], json!([{ "id": root, "title": "root", "depth": 0 }]));
}

#[test]
fn claims_can_be_searched_for_and_never_say_whose_they_are() {
    let world = World::new();
    let (held, expired) = (world.item("held"), world.item("expired"));
    world.item("free");
    world.claim("agent-1", &held);
    world.ok("claim_item", crate::claiming("agent-2", json!([{ "itemId": expired, "ttlSeconds": 1 }]), json!([])));
    std::thread::sleep(std::time::Duration::from_millis(1100));
    for (status, title, claimed) in
        [("claimed", "held", true), ("expired", "expired", false), ("unclaimed", "free", false)]
    {
        let answer = search(&world, json!({ "claimStatus": status }));
        assert_eq!(each(&answer["items"], "title"), [title], "{status}");
        assert_eq!(answer["items"][0]["isClaimed"], claimed, "{status}");
        assert!(!answer.to_string().contains("agent-"), "{answer}");
    }
    assert!(search(&world, json!({}))["items"][0].get("isClaimed").is_none());
    assert_eq!(
        world.err("query_items", json!({ "operation": "search", "claimStatus": "mine" }))["field"],
        "claimStatus"
    );
}
