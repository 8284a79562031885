//! A blank id, key, name or word is a mistake, never "all of them".

use serde_json::{Value, json};

use crate::{World, claiming, fresh};

const BLANKS: [&str; 2] = ["", " \t"];

/// Checks that each call is refused because this field is blank.
fn refused<const N: usize>(world: &World, calls: [(&str, Value, &str); N]) {
    for (tool, arguments, field) in calls {
        let error = world.err(tool, arguments.clone());
        assert_eq!(
            (&error["code"], &error["reason"], &error["field"]),
            (&json!("VALIDATION_ERROR"), &json!("blank"), &json!(field)),
            "{tool} {arguments}: {error}"
        );
    }
}

#[test]
fn a_blank_narrows_no_search_to_everything() {
    let world = World::new();
    let id = world.item("a");
    for blank in BLANKS {
        let search = |field: &'static str| ("query_items", json!({ "operation": "search", field: blank }), field);
        refused(
            &world,
            [
                search("query"),
                search("parentId"),
                search("role"),
                search("priority"),
                search("type"),
                search("tags"),
                search("claimStatus"),
                search("sortBy"),
                search("sortOrder"),
                search("createdAfter"),
                ("query_items", json!({ "operation": "search", "tags": "," }), "tags"),
                ("query_items", json!({ "operation": "overview", "itemId": blank }), "itemId"),
                ("query_notes", json!({ "operation": "list", "itemId": id, "role": blank }), "role"),
                ("query_dependencies", json!({ "itemId": id, "direction": blank }), "direction"),
                ("query_dependencies", json!({ "itemId": id, "type": blank }), "type"),
                ("get_context", json!({ "itemId": blank }), "itemId"),
                ("get_context", json!({ "since": blank }), "since"),
                ("get_next_item", json!({ "parentId": blank }), "parentId"),
                ("get_next_item", json!({ "role": blank }), "role"),
                ("get_blocked_items", json!({ "parentId": blank }), "parentId"),
            ],
        );
    }
}

#[test]
fn a_blank_widens_no_deletion() {
    let world = World::new();
    let (a, b) = (world.item("a"), world.item("b"));
    world.note(&a, "k", "work");
    world.blocks(&a, &b);
    for blank in BLANKS {
        let unlink = |more: Value| {
            let mut arguments = json!({ "operation": "delete", "fromItemId": a, "toItemId": b });
            arguments.as_object_mut().expect("fields").extend(more.as_object().expect("fields").clone());
            arguments
        };
        refused(
            &world,
            [
                ("manage_notes", json!({ "operation": "delete", "itemId": a, "key": blank }), "key"),
                ("manage_notes", json!({ "operation": "delete", "ids": [fresh()], "itemId": blank }), "itemId"),
                ("manage_dependencies", unlink(json!({ "type": blank })), "type"),
                ("manage_dependencies", unlink(json!({ "id": blank })), "id"),
                ("manage_dependencies", unlink(json!({ "toItemId": blank, "deleteAll": true })), "toItemId"),
            ],
        );
    }
    assert_eq!(world.ok("query_notes", json!({ "operation": "list", "itemId": a }))["total"], 1);
    assert_eq!(world.ok("query_dependencies", json!({ "itemId": a }))["counts"]["outgoing"], 1);
}

#[test]
fn a_blank_puts_work_nowhere_else() {
    let world = World::new();
    let id = world.item("a");
    for blank in BLANKS {
        let create = |more: &'static str, value: Value| json!({ "operation": "create", "items": [{ "title": "t" }], more: value });
        let take = |field: &str| claiming("x", json!([{ "selector": { field: blank } }]), json!([]));
        let actor = json!({ "id": "x", "kind": "user", "parent": blank });
        refused(
            &world,
            [
                ("create_work_tree", json!({ "root": { "title": "r" }, "parentId": blank }), "parentId"),
                ("create_work_tree", json!({ "root": { "title": "r", "type": blank } }), "root.type"),
                ("manage_items", create("parentId", json!(blank)), "parentId"),
                ("manage_items", create("actor", actor), "actor.parent"),
                ("complete_tree", json!({ "rootId": blank, "itemIds": [id] }), "rootId"),
                ("complete_tree", json!({ "itemIds": [id], "trigger": blank }), "trigger"),
                ("claim_item", take("parentId"), "claims[0].selector.parentId"),
                ("claim_item", take("tags"), "claims[0].selector.tags"),
                ("claim_item", take("type"), "claims[0].selector.type"),
                ("claim_item", take("role"), "claims[0].selector.role"),
            ],
        );
    }
    assert_eq!(world.ok("query_items", json!({ "operation": "search", "role": "queue" }))["total"], 1);
}
