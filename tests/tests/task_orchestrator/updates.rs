//! Items that are changed: what is named changes, what is cleared is gone, and everything else stays.

use serde_json::{Value, json};

use crate::items::{create, error_of, update};
use crate::{World, each, fresh, text};

#[test]
fn an_update_changes_only_what_it_names() {
    let world = World::new();
    let id = world.made(json!({ "title": "Before", "description": "kept", "tags": "kept", "complexity": 2 }));
    let answer = update(&world, json!({ "id": id, "priority": "high", "complexity": 3 }));
    let row = &answer["items"][0];
    assert_eq!(*row, json!({ "id": id, "modifiedAt": row["modifiedAt"], "requiresVerification": false }));
    assert_eq!((&answer["updated"], &answer["failed"]), (&json!(1), &json!(0)));
    let item = world.get(&id);
    assert_eq!((&item["priority"], &item["complexity"]), (&json!("high"), &json!(3)));
    assert_eq!(
        (&item["title"], &item["description"], &item["tags"]),
        (&json!("Before"), &json!("kept"), &json!("kept"))
    );
    assert_eq!(item["modifiedAt"], row["modifiedAt"]);
}

/// An item with something in every field that can be empty.
fn full(world: &World) -> String {
    world.made(json!({
        "title": "t", "description": "d", "summary": "s", "statusLabel": "l", "metadata": "m", "tags": "a", "type": "y",
        "properties": "{\"x\":1,\"traits\":[\"t\"]}", "complexity": 4, "touches": ["src/**"], "needs": ["port-80"],
        "requiredCapabilities": ["rust"],
    }))
}

#[test]
fn null_and_a_blank_text_clear_what_can_be_empty() {
    let world = World::new();
    for blank in [json!(null), json!(""), json!(" \n")] {
        let id = full(&world);
        for field in ["description", "statusLabel", "metadata", "properties"] {
            assert!(world.get(&id).get(field).is_some(), "{field}");
            let answer = update(&world, json!({ "id": id, field: blank }));
            assert_eq!(answer["updated"], 1, "{answer}");
            assert!(world.get(&id).get(field).is_none(), "{field} is still there after {blank}");
        }
        assert_eq!(update(&world, json!({ "id": id, "summary": blank }))["updated"], 1);
        assert_eq!(world.get(&id)["summary"], "", "after {blank}");
    }
    let id = full(&world);
    let names = ["complexity", "tags", "type", "touches", "needs", "requiredCapabilities"];
    for field in names {
        assert_eq!(update(&world, json!({ "id": id, field: null }))["updated"], 1, "{field}");
    }
    let cleared = world.get(&id);
    for field in names {
        assert!(cleared.get(field).is_none_or(Value::is_null), "{field} is still there: {cleared}");
    }
    let properties = |item: &Value| serde_json::from_str::<Value>(&text(&item["properties"])).expect("JSON");
    assert_eq!(properties(&cleared), json!({ "x": 1, "traits": ["t"] }), "what was not named is as it was");
    update(&world, json!({ "id": id, "traits": null }));
    assert_eq!(properties(&world.get(&id)), json!({ "x": 1 }));
}

#[test]
fn null_leaves_what_every_item_has() {
    let world = World::new();
    let id = full(&world);
    let before = world.get(&id);
    let nothing = json!({ "id": id, "title": null, "priority": null, "requiresVerification": null, "fence": null });
    assert_eq!(update(&world, nothing)["updated"], 1);
    let mut after = world.get(&id);
    after["modifiedAt"] = before["modifiedAt"].clone();
    assert_eq!(after, before);
}

#[test]
fn a_blank_title_name_or_parent_is_refused() {
    let world = World::new();
    let parent = world.item("parent");
    let id = world.made(json!({ "title": "t", "type": "y", "tags": "a", "priority": "high", "parentId": parent }));
    let before = world.get(&id);
    for field in ["title", "type", "tags", "priority", "parentId"] {
        for blank in ["", " "] {
            let answer = update(&world, json!({ "id": id, "summary": "new", field: blank }));
            assert_eq!((&answer["updated"], &answer["failed"]), (&json!(0), &json!(1)), "{field}");
            let said = error_of(&answer);
            assert!(said.starts_with(&format!("items[0].{field} must not be blank")), "{said}");
        }
    }
    assert_eq!(world.get(&id), before);
    for field in ["title", "type", "priority", "role", "parentId"] {
        let mut item =
            json!({ "title": "t", "description": "", "summary": "", "statusLabel": "", "metadata": "", "tags": "" });
        assert_eq!(create(&world, json!([item]))["created"], 1, "texts and lists may be empty");
        item[field] = json!(" ");
        let answer = create(&world, json!([item]));
        assert_eq!((&answer["created"], &answer["failed"]), (&json!(0), &json!(1)), "{field}");
        assert!(error_of(&answer).contains("must not be blank"), "{answer}");
    }
}

#[test]
fn the_role_is_not_an_update() {
    let world = World::new();
    let id = world.item("t");
    let answer = update(&world, json!({ "id": id, "role": "queue", "title": "changed" }));
    assert_eq!(answer["updated"], 0);
    assert_eq!(answer["failures"][0]["id"], json!(id));
    assert!(error_of(&answer).contains("advance_item"));
    assert_eq!(world.get(&id)["title"], "t");
}

#[test]
fn updates_fail_one_by_one() {
    let world = World::new();
    let id = world.item("t");
    let missing = fresh();
    let answer = world.ok(
        "manage_items",
        json!({ "operation": "update", "items": [{ "title": "x" }, { "id": missing, "title": "x" }, { "id": id, "title": "new" }] }),
    );
    assert_eq!((&answer["updated"], &answer["failed"]), (&json!(1), &json!(2)));
    assert_eq!(each(&answer["failures"], "id"), ["unknown".to_owned(), missing]);
    assert_eq!(world.get(&id)["title"], "new");
}

#[test]
fn an_item_moves_with_everything_beneath_it() {
    let world = World::new();
    let (a, b) = (world.item("a"), world.item("b"));
    let child = world.child(&a, "child");
    let grandchild = world.child(&child, "grandchild");
    update(&world, json!({ "id": child, "parentId": null }));
    assert!(world.get(&child).get("parentId").is_none());
    assert_eq!((&world.get(&child)["depth"], &world.get(&grandchild)["depth"]), (&json!(0), &json!(1)));
    update(&world, json!({ "id": child, "parentId": b }));
    assert_eq!((&world.get(&child)["depth"], &world.get(&grandchild)["depth"]), (&json!(1), &json!(2)));
    for parent in [&child, &grandchild] {
        let answer = update(&world, json!({ "id": child, "parentId": parent }));
        assert_eq!(answer["failed"], 1, "a circle through {parent}");
    }
    let answer = update(&world, json!({ "id": child, "parentId": fresh() }));
    assert_eq!(answer["failed"], 1);
    assert_eq!(world.get(&child)["parentId"], json!(b));
}

#[test]
fn traits_live_in_the_properties() {
    let world = World::with_schemas();
    let answer = create(
        &world,
        json!([{ "title": "t", "type": "quick", "traits": "needs-security-review,other", "properties": "{\"x\":1}" }]),
    );
    let id = text(&answer["items"][0]["id"]);
    assert_eq!(each(&answer["items"][0]["expectedNotes"], "key"), ["outcome", "security"]);
    let properties =
        |id: &str| serde_json::from_str::<Value>(world.get(id)["properties"].as_str().unwrap_or("null")).expect("JSON");
    assert_eq!(properties(&id), json!({ "x": 1, "traits": ["needs-security-review", "other"] }));
    update(&world, json!({ "id": id, "traits": "other" }));
    assert_eq!(properties(&id), json!({ "x": 1, "traits": ["other"] }));
    update(&world, json!({ "id": id, "properties": "{\"y\":2,\"traits\":[\"needs-security-review\"]}" }));
    assert_eq!(properties(&id), json!({ "y": 2, "traits": ["needs-security-review"] }));
    update(&world, json!({ "id": id, "traits": "" }));
    assert_eq!(properties(&id), json!({ "y": 2 }));
    let only = world.made(json!({ "title": "t", "properties": "{\"traits\":[\"a\"]}" }));
    assert_eq!(properties(&only), json!({ "traits": ["a"] }));
    let bad = create(&world, json!([{ "title": "t", "properties": "{\"traits\":\"a\"}" }]));
    assert!(error_of(&bad).contains("array of strings"));
}

#[test]
fn what_a_trait_needs_goes_with_the_trait() {
    let world = World::with(
        "traits:\n  db: { resources: [database] }\n  port: { resources: [port-80, database] }\n\
         work_item_schemas:\n  job: { default_traits: [db] }\n",
    );
    let id = world.made(json!({ "title": "t", "traits": "db,port", "needs": ["own"] }));
    let needs = || {
        let mut needs: Vec<String> = world.get(&id)["needs"].as_array().into_iter().flatten().map(text).collect();
        needs.sort();
        needs
    };
    assert_eq!(needs(), ["database", "own", "port-80"]);
    for (change, left) in [
        (json!({ "id": id, "traits": "db" }), vec!["database", "own"]),
        (json!({ "id": id, "title": "renamed" }), vec!["database", "own"]),
        (json!({ "id": id, "traits": "" }), vec!["own"]),
        (json!({ "id": id, "type": "job" }), vec!["database", "own"]),
        (json!({ "id": id, "type": null }), vec!["own"]),
        (json!({ "id": id, "traits": "db" }), vec!["database", "own"]),
        (json!({ "id": id, "traits": "", "needs": ["database"] }), vec!["database"]),
    ] {
        assert_eq!(update(&world, change.clone())["updated"], 1);
        assert_eq!(needs(), left, "{change}");
    }
}

#[test]
fn numbers_in_properties_keep_their_digits_beside_traits() {
    let world = World::new();
    let written = "{\"n\":12345678901234567890123,\"f\":0.1000,\"traits\":[\"t\"]}";
    let id = world.made(json!({ "title": "t", "properties": written }));
    assert_eq!(world.get(&id)["properties"], written);
    assert_eq!(update(&world, json!({ "id": id, "traits": "" }))["updated"], 1);
    assert_eq!(world.get(&id)["properties"], "{\"n\":12345678901234567890123,\"f\":0.1000}");
}
