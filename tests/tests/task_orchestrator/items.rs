//! `manage_items`, and `query_items` for one item.

use serde_json::{Value, json};

use crate::{World, each, fresh, names, text};

pub(crate) fn create(world: &World, items: Value) -> Value {
    world.ok("manage_items", json!({ "operation": "create", "items": items }))
}

pub(crate) fn update(world: &World, item: Value) -> Value {
    world.ok("manage_items", json!({ "operation": "update", "items": [item] }))
}

pub(crate) fn error_of(answer: &Value) -> String {
    text(&answer["failures"][0]["error"])
}

#[test]
fn children_are_created_under_a_shared_parent() {
    let world = World::new();
    let (parent, other) = (world.item("Feature"), world.item("Other"));
    let answer = world.ok(
        "manage_items",
        json!({ "operation": "create", "parentId": parent, "items": [
            { "title": "Design API schema", "priority": "high", "tags": "task-implementation" },
            { "title": "Write unit tests", "priority": "medium" },
            { "title": "Elsewhere", "parentId": other },
        ]}),
    );
    assert_eq!((&answer["created"], &answer["failed"]), (&json!(3), &json!(0)));
    assert!(answer.get("failures").is_none());
    let first = &answer["items"][0];
    assert_eq!(
        *first,
        json!({
            "id": first["id"], "key": first["key"], "title": "Design API schema", "depth": 1, "role": "queue", "priority": "high",
            "requiresVerification": false, "tags": "task-implementation", "type": null,
        })
    );
    assert_eq!(answer["items"][1]["tags"], Value::Null);
    let under: Vec<String> = each(&answer["items"], "id").iter().map(|id| text(&world.get(id)["parentId"])).collect();
    assert_eq!(under, [parent.clone(), parent, other]);
}

#[test]
fn a_new_item_has_the_documented_defaults() {
    let world = World::new();
    let item = world.get(&world.item("Plain"));
    assert_eq!(
        names(&item),
        [
            "complexity",
            "createdAt",
            "depth",
            "id",
            "key",
            "modifiedAt",
            "priority",
            "role",
            "roleChangedAt",
            "summary",
            "title"
        ]
    );
    assert_eq!((&item["summary"], &item["role"], &item["priority"]), (&json!(""), &json!("queue"), &json!("medium")));
    assert_eq!((&item["complexity"], &item["depth"]), (&Value::Null, &json!(0)));
    let made = text(&item["createdAt"]);
    assert!(made.ends_with('Z') && made.contains('T'), "{made}");
}

#[test]
fn every_field_of_a_new_item_comes_back() {
    let world = World::new();
    let id = world.made(json!({
        "title": "Whole", "description": "at length", "summary": "in short", "role": "work", "statusLabel": "deep", "priority": "LOW",
        "complexity": 7, "tags": "b-tag, a-tag,b-tag", "metadata": "free", "type": "odd", "properties": "{\"x\":1}",
        "requiresVerification": true, "touches": ["src/**"], "needs": ["port-80"], "requiredCapabilities": ["rust"],
    }));
    let item = world.get(&id);
    for (field, value) in [
        ("description", json!("at length")),
        ("summary", json!("in short")),
        ("role", json!("work")),
        ("statusLabel", json!("deep")),
        ("priority", json!("low")),
        ("complexity", json!(7)),
        ("tags", json!("b-tag,a-tag")),
        ("metadata", json!("free")),
        ("type", json!("odd")),
        ("properties", json!("{\"x\":1}")),
        ("requiresVerification", json!(true)),
        ("touches", json!(["src/**"])),
        ("needs", json!(["port-80"])),
        ("requiredCapabilities", json!(["rust"])),
    ] {
        assert_eq!(item[field], value, "{field}");
    }
}

#[test]
fn any_role_can_be_the_first() {
    let world = World::new();
    for role in ["queue", "work", "review", "blocked", "terminal"] {
        let id = world.made(json!({ "title": role, "role": role }));
        assert_eq!(world.get(&id)["role"], role);
    }
}

#[test]
fn bad_entries_fail_alone_and_say_where() {
    let world = World::new();
    let answer = create(
        &world,
        json!([
            { "title": "Good" }, {}, { "title": "  " }, { "title": "x", "role": "done" }, { "title": "x", "priority": "urgent" },
            { "title": "x", "complexity": 11 }, { "title": "x", "parentId": fresh() }, "x", { "title": "x", "prioritiy": "high" },
            { "title": "x", "tags": "no good" }, { "title": "x".repeat(501) }, { "title": "x", "summary": "y".repeat(2001) },
            { "title": "x", "properties": "[1]" }, { "title": "x", "complexity": "5" }, { "title": "Good too" },
        ]),
    );
    assert_eq!((&answer["created"], &answer["failed"]), (&json!(2), &json!(13)));
    assert_eq!(each(&answer["items"], "title"), ["Good", "Good too"]);
    let failures = answer["failures"].as_array().expect("failures");
    assert_eq!(
        failures.iter().map(|failure| failure["index"].as_u64()).collect::<Vec<_>>(),
        (1..14).map(Some).collect::<Vec<_>>()
    );
    for (failure, word) in failures.iter().zip([
        "title is required",
        "blank",
        "role",
        "high, medium or low",
        "from 1 to 10",
        "no item",
        "object",
        "did you mean \"priority\"",
        "tags",
        "500 characters",
        "2000 characters",
        "JSON object",
        "integer",
    ]) {
        assert!(text(&failure["error"]).contains(word), "{failure} should say {word}");
        assert_eq!(names(failure), ["error", "index"]);
    }
}

#[test]
fn three_levels_lie_beneath_a_root_and_no_more() {
    let world = World::new();
    let mut parent = world.item("depth 0");
    for depth in 1..=3 {
        parent = world.child(&parent, &format!("depth {depth}"));
        assert_eq!(world.get(&parent)["depth"], depth);
    }
    let answer = create(&world, json!([{ "title": "too deep", "parentId": parent }]));
    assert_eq!((&answer["created"], &answer["failed"]), (&json!(0), &json!(1)));
    assert!(error_of(&answer).contains("maximum depth of 3"));
}

#[test]
fn expected_notes_follow_type_then_tag_then_default() {
    let world = World::with(
        "work_item_schemas:\n  one: { notes: [ { key: k1, role: queue, required: true, description: first } ] }\n  two: { notes: [ { key: k2, role: work } ] }\n  default: { notes: [ { key: k3, role: review } ] }\n",
    );
    let answer = create(
        &world,
        json!([{ "title": "t", "type": "one", "tags": "two" }, { "title": "t", "tags": "x,two" }, { "title": "t", "type": "none" }]),
    );
    let notes: Vec<&Value> = (0..3).map(|n| &answer["items"][n]["expectedNotes"]).collect();
    assert_eq!(
        *notes[0],
        json!([{ "key": "k1", "role": "queue", "required": true, "description": "first", "exists": false }])
    );
    assert_eq!(notes[1][0]["key"], "k2");
    assert_eq!(notes[1][0]["required"], false);
    assert_eq!(notes[2][0]["key"], "k3");
    assert_eq!(answer["items"][0]["type"], "one");
}

#[test]
fn without_a_schema_no_notes_are_expected() {
    let world = World::with_schemas();
    let answer = create(&world, json!([{ "title": "t", "tags": "nothing" }]));
    assert!(answer["items"][0].get("expectedNotes").is_none());
}

#[test]
fn verification_is_asked_for_on_items_alone() {
    let world = World::new();
    let answer = world.ok(
        "manage_items",
        json!({ "operation": "create", "requiresVerification": true, "items": [{ "title": "a" }, { "title": "b", "requiresVerification": true }] }),
    );
    assert_eq!(answer["items"][0]["requiresVerification"], false);
    assert_eq!(answer["items"][1]["requiresVerification"], true);
    let row = update(&world, json!({ "id": answer["items"][0]["id"], "requiresVerification": "true" }));
    assert_eq!(row["items"][0]["requiresVerification"], true);
}

#[test]
fn a_recursive_delete_counts_what_went_with_it() {
    let world = World::new();
    let root = world.item("root");
    for n in 0..2 {
        let child = world.child(&root, &format!("child {n}"));
        world.child(&child, "grandchild");
    }
    let answer = world.ok("manage_items", json!({ "operation": "delete", "ids": [root], "recursive": true }));
    assert_eq!(answer, json!({ "ids": [root], "deleted": 5, "failed": 0, "descendantsDeleted": 4 }));
    assert_eq!(world.err("query_items", json!({ "operation": "get", "id": root }))["code"], "RESOURCE_NOT_FOUND");
}

#[test]
fn an_item_with_children_is_not_deleted_by_itself() {
    let world = World::new();
    let root = world.item("root");
    let children = [world.child(&root, "a"), world.child(&root, "b")];
    let answer = world.ok("manage_items", json!({ "operation": "delete", "ids": [root] }));
    assert_eq!((&answer["deleted"], &answer["failed"], &answer["ids"]), (&json!(0), &json!(1), &json!([])));
    assert!(error_of(&answer).contains("2 child"));
    let answer =
        world.ok("manage_items", json!({ "operation": "delete", "ids": [children[0], children[1], root, root] }));
    assert_eq!((&answer["deleted"], &answer["failed"]), (&json!(3), &json!(0)), "the same item twice is one item");
    assert!(answer.get("descendantsDeleted").is_none());
}

#[test]
fn deletes_fail_one_by_one_and_take_notes_and_dependencies_along() {
    let world = World::new();
    let (a, b) = (world.item("a"), world.item("b"));
    world.blocks(&a, &b);
    world.note(&a, "k", "work");
    let missing = fresh();
    let answer = world.ok("manage_items", json!({ "operation": "delete", "ids": [missing, "zz", a] }));
    assert_eq!((&answer["ids"], &answer["deleted"], &answer["failed"]), (&json!([a]), &json!(1), &json!(2)));
    assert_eq!(each(&answer["failures"], "id"), [missing, "zz".to_owned()]);
    let left = world.ok("query_dependencies", json!({ "itemId": b }));
    assert_eq!(left["counts"], json!({ "incoming": 0, "outgoing": 0, "relatesTo": 0 }));
    assert_eq!(world.ok("query_notes", json!({ "operation": "list", "itemId": a }))["total"], 0);
}

#[test]
fn an_item_is_found_by_id_key_and_prefix() {
    let world = World::new();
    let id = world.item("only");
    let digits: String = id.chars().filter(|c| *c != '-').collect();
    for spelling in [id.to_uppercase(), digits[..4].to_owned(), digits[..12].to_uppercase(), digits] {
        assert_eq!(world.get(&spelling)["id"], json!(id), "{spelling}");
    }
    world.item("made in the same minute");
    let error = world.err("query_items", json!({ "operation": "get", "id": id[..4] }));
    assert_eq!((&error["code"], &error["reason"]), (&json!("VALIDATION_ERROR"), &json!("ambiguous_id")));
    let keys: Vec<String> =
        text(&error["message"]).split("could be ").nth(1).expect("candidates").split(", ").map(str::to_owned).collect();
    assert_eq!(keys.len(), 2);
    assert!(keys.iter().any(|key| world.get(key)["id"] == json!(id)), "one of {keys:?} is the item");
}

#[test]
fn ancestors_lead_from_the_root_to_the_parent() {
    let world = World::new();
    let root = world.item("root");
    let middle = world.child(&root, "middle");
    let leaf = world.child(&middle, "leaf");
    let way = |id: &str| {
        world.ok("query_items", json!({ "operation": "get", "id": id, "includeAncestors": true }))["ancestors"].clone()
    };
    assert_eq!(
        way(&leaf),
        json!([{ "id": root, "title": "root", "depth": 0 }, { "id": middle, "title": "middle", "depth": 1 }])
    );
    assert_eq!(way(&root), json!([]));
    assert!(world.get(&leaf).get("ancestors").is_none());
}

#[test]
fn an_item_put_aside_shows_where_it_came_from() {
    let world = World::new();
    let id = world.item("t");
    world.moves(&id, "start");
    world.moves(&id, "block");
    let item = world.get(&id);
    assert_eq!((&item["role"], &item["previousRole"]), (&json!("blocked"), &json!("work")));
    let scoped = world.ok("query_items", json!({ "operation": "overview", "itemId": id }));
    assert_eq!(scoped["item"]["previousRole"], "work");
}
