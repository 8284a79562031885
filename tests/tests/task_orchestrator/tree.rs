//! `create_work_tree` and `complete_tree`.

use serde_json::{Value, json};

use crate::{World, each, fresh, names, subagent, text};

fn example() -> Value {
    json!({
        "root": { "title": "Authentication Feature", "priority": "high", "tags": "feature" },
        "children": [
            { "ref": "t1", "title": "Design login flow", "priority": "high" },
            { "ref": "t2", "title": "Implement JWT handler", "priority": "high" },
            { "ref": "t3", "title": "Write integration tests", "priority": "medium" },
        ],
        "deps": [{ "from": "t1", "to": "t2", "type": "BLOCKS" }, { "from": "t2", "to": "t3", "unblockAt": "work" }],
        "createNotes": false,
    })
}

fn total(world: &World) -> Value {
    world.ok("query_items", json!({ "operation": "search" }))["total"].clone()
}

#[test]
fn a_whole_tree_is_made_in_one_call() {
    let world = World::new();
    let tree = world.ok("create_work_tree", example());
    assert_eq!(names(&tree), ["children", "dependencies", "notes", "root"]);
    let root = &tree["root"];
    assert_eq!(
        *root,
        json!({ "id": root["id"], "key": root["key"], "title": "Authentication Feature", "role": "queue", "depth": 0, "tags": "feature", "schemaMatch": false, "expectedNotes": [] })
    );
    let first = &tree["children"][0];
    assert_eq!(
        *first,
        json!({ "ref": "t1", "id": first["id"], "key": first["key"], "title": "Design login flow", "role": "queue", "depth": 1, "schemaMatch": false, "expectedNotes": [] })
    );
    assert_eq!(each(&tree["children"], "ref"), ["t1", "t2", "t3"]);
    let deps = &tree["dependencies"];
    assert_eq!(deps[0], json!({ "id": deps[0]["id"], "fromRef": "t1", "toRef": "t2", "type": "BLOCKS" }));
    assert_eq!(
        deps[1],
        json!({ "id": deps[1]["id"], "fromRef": "t2", "toRef": "t3", "type": "BLOCKS", "unblockAt": "work" })
    );
    assert_eq!(tree["notes"], json!([]));
    assert_eq!(world.get(&text(&first["id"]))["parentId"], root["id"]);
    let next = world.ok("get_next_item", json!({ "parentId": root["id"], "limit": 20 }));
    assert_eq!(each(&next["recommendations"], "title"), ["Design login flow"], "the others wait");
}

#[test]
fn dependencies_may_name_the_root_and_run_either_way() {
    let world = World::new();
    let tree = world.ok(
        "create_work_tree",
        json!({
            "root": { "title": "r" }, "children": [{ "ref": "a", "title": "a" }, { "ref": "b", "title": "b" }],
            "deps": [{ "from": "a", "to": "b", "type": "IS_BLOCKED_BY" }, { "from": "root", "to": "a", "type": "relates_to" }],
        }),
    );
    assert_eq!(each(&tree["dependencies"], "type"), ["IS_BLOCKED_BY", "RELATES_TO"]);
    let [a, b] = [0, 1].map(|n| text(&tree["children"][n]["id"]));
    let row = world.advance(&a, "start");
    assert_eq!(row["blockers"], json!([{ "fromItemId": b, "currentRole": "queue", "requiredRole": "terminal" }]));
    assert_eq!(world.advance(&b, "start")["applied"], true);
}

#[test]
fn blank_notes_are_made_for_all_that_a_schema_knows() {
    let world = World::with_schemas();
    let tree = world.ok(
        "create_work_tree",
        json!({ "root": { "title": "r" }, "children": [{ "ref": "t1", "title": "c", "type": "feature-task" }], "createNotes": true, "actor": subagent("planner") }),
    );
    let notes = &tree["notes"];
    assert_eq!(each(notes, "key"), ["requirements", "hints", "done-criteria", "verdict"]);
    assert_eq!(notes[0], json!({ "itemRef": "t1", "key": "requirements", "role": "queue", "id": notes[0]["id"] }));
    let child = &tree["children"][0];
    assert_eq!(child["schemaMatch"], true);
    assert_eq!(
        child["expectedNotes"][0],
        json!({ "key": "requirements", "role": "queue", "required": true, "description": "What is wanted", "exists": true })
    );
    let stored = world.ok("query_notes", json!({ "operation": "get", "id": notes[0]["id"] }));
    assert_eq!(
        (&stored["body"], &stored["actor"]["id"], &stored["verification"]["status"]),
        (&json!(""), &json!("planner"), &json!("unchecked"))
    );
    assert_eq!(world.advance(&text(&child["id"]), "start")["applied"], false, "a blank note fills no gate");
}

#[test]
fn root_and_children_come_with_all_that_was_said_of_them() {
    let world = World::with_schemas();
    let said = |title: &str| {
        json!({
            "title": title, "priority": "high", "summary": "in short", "description": "at length", "type": "quick", "tags": "a,b",
            "traits": "needs-security-review", "requiresVerification": true,
        })
    };
    let mut child = said("child");
    child["ref"] = json!("c");
    let tree = world.ok("create_work_tree", json!({ "root": said("root"), "children": [child] }));
    for (row, title) in [(&tree["root"], "root"), (&tree["children"][0], "child")] {
        assert_eq!((&row["tags"], &row["schemaMatch"]), (&json!("a,b"), &json!(true)), "{title}");
        assert_eq!(each(&row["expectedNotes"], "key"), ["outcome", "security"], "the trait adds its note to {title}");
        let item = world.get(&text(&row["id"]));
        for (field, value) in [
            ("title", json!(title)),
            ("priority", json!("high")),
            ("summary", json!("in short")),
            ("description", json!("at length")),
            ("type", json!("quick")),
            ("requiresVerification", json!(true)),
            ("properties", json!("{\"traits\":[\"needs-security-review\"]}")),
        ] {
            assert_eq!(item[field], value, "{field} of {title}");
        }
    }
    let plain = world.ok("create_work_tree", json!({ "root": { "title": "plain" } }));
    assert!(
        world.get(&text(&plain["root"]["id"])).get("requiresVerification").is_none_or(|asked| *asked == json!(false))
    );
}

#[test]
fn every_note_of_a_tree_names_who_planted_it() {
    let world = World::with_schemas();
    let planter = json!({ "id": "planner", "kind": "orchestrator", "parent": "boss" });
    let tree = world.ok(
        "create_work_tree",
        json!({
            "root": { "title": "r", "type": "quick" }, "createNotes": true, "actor": planter,
            "notes": [{ "itemRef": "root", "key": "free", "role": "queue", "body": "words" }],
        }),
    );
    let mut keys = each(&tree["notes"], "key");
    keys.sort();
    assert_eq!(keys, ["free", "outcome"], "one explicit, one blank");
    for id in each(&tree["notes"], "id") {
        let stored = world.ok("query_notes", json!({ "operation": "get", "id": id }));
        assert_eq!((&stored["actor"], &stored["verification"]["status"]), (&planter, &json!("unchecked")), "{stored}");
    }
}

#[test]
fn explicit_notes_win_over_blank_ones() {
    let world = World::with_schemas();
    let tree = world.ok(
        "create_work_tree",
        json!({
            "root": { "title": "Feature X", "type": "quick" }, "children": [{ "ref": "t1", "title": "Task 1", "tags": "feature-task" }],
            "createNotes": true,
            "notes": [
                { "itemRef": "root", "key": "specification", "role": "queue", "body": "Full plan..." },
                { "itemRef": "t1", "key": "requirements", "role": "queue", "body": "Build the thing" },
                { "itemRef": "t1", "key": "empty", "role": "review" },
            ],
        }),
    );
    let made: Vec<String> = each(&tree["notes"], "itemRef")
        .into_iter()
        .zip(each(&tree["notes"], "key"))
        .map(|(item, key)| format!("{item}/{key}"))
        .collect();
    let mut sorted = made.clone();
    sorted.sort();
    assert_eq!(
        sorted,
        [
            "root/outcome",
            "root/specification",
            "t1/done-criteria",
            "t1/empty",
            "t1/hints",
            "t1/requirements",
            "t1/verdict"
        ]
    );
    let task = text(&tree["children"][0]["id"]);
    assert_eq!(world.advance(&task, "start")["applied"], true, "the explicit text fills the gate");
}

#[test]
fn a_note_in_another_phase_than_its_schema_says_refuses_the_tree() {
    let world = World::with_schemas();
    let error = world.err(
        "create_work_tree",
        json!({
            "root": { "title": "r", "type": "quick" },
            "notes": [{ "itemRef": "root", "key": "free", "role": "review" }, { "itemRef": "root", "key": "outcome", "role": "queue", "body": "x" }],
        }),
    );
    assert_eq!(error["code"], "VALIDATION_ERROR");
    for word in ["notes[1]", "outcome", "work", "queue"] {
        assert!(text(&error["message"]).contains(word), "{error} should say {word}");
    }
    assert_eq!(total(&world), 0, "nothing was made");
}

#[test]
fn a_tree_is_planted_where_its_root_has_room_for_children() {
    let world = World::new();
    let mut parent = world.item("depth 0");
    let tree = world.ok("create_work_tree", json!({ "root": { "title": "r" }, "parentId": parent }));
    assert_eq!(tree["root"]["depth"], 1);
    parent = world.child(&parent, "depth 1");
    let tree = world.ok(
        "create_work_tree",
        json!({ "root": { "title": "r" }, "children": [{ "ref": "c", "title": "c" }], "parentId": parent }),
    );
    assert_eq!((&tree["root"]["depth"], &tree["children"][0]["depth"]), (&json!(2), &json!(3)));
    parent = world.child(&parent, "depth 2");
    let error = world.err(
        "create_work_tree",
        json!({ "root": { "title": "r" }, "children": [{ "ref": "c", "title": "c" }], "parentId": parent }),
    );
    assert_eq!((&error["code"], &error["reason"]), (&json!("VALIDATION_ERROR"), &json!("too_deep")));
    let error = world.err("create_work_tree", json!({ "root": { "title": "r" }, "parentId": fresh() }));
    assert_eq!(error["code"], "RESOURCE_NOT_FOUND");
}

#[test]
fn a_tree_without_children_needs_room_for_them_too() {
    let world = World::new();
    let parent = ["a", "b"].iter().fold(world.item("root"), |parent, title| world.child(&parent, title));
    let error = world.err("create_work_tree", json!({ "root": { "title": "r" }, "parentId": parent }));
    assert_eq!((&error["code"], &error["reason"]), (&json!("VALIDATION_ERROR"), &json!("too_deep")));
}

#[test]
fn one_fault_anywhere_and_nothing_is_made() {
    let world = World::new();
    let children = json!([{ "ref": "a", "title": "a" }, { "ref": "b", "title": "b" }]);
    for (fault, word) in [
        (json!({}), "root is required"),
        (json!({ "root": {} }), "root.title is required"),
        (json!({ "root": { "title": "r", "role": "work" } }), "root.role is not known"),
        (json!({ "root": { "title": "r", "priority": "urgent" } }), "root.priority"),
        (json!({ "root": { "title": "r" }, "children": [{ "title": "c" }] }), "children[0].ref is required"),
        (
            json!({ "root": { "title": "r" }, "children": [{ "ref": "a", "title": "x" }, { "ref": "a", "title": "y" }] }),
            "children[1].ref",
        ),
        (json!({ "root": { "title": "r" }, "children": [{ "ref": "root", "title": "x" }] }), "children[0].ref"),
        (json!({ "root": { "title": "r" }, "children": children, "deps": [{ "from": "a", "to": "zz" }] }), "zz"),
        (json!({ "root": { "title": "r" }, "children": children, "deps": [{ "from": "a", "to": "a" }] }), "same item"),
        (
            json!({ "root": { "title": "r" }, "children": children, "deps": [{ "from": "a", "to": "b" }, { "from": "b", "to": "a" }] }),
            "deps[1]",
        ),
        (
            json!({ "root": { "title": "r" }, "children": children, "deps": [{ "from": "a", "to": "b" }, { "from": "a", "to": "b" }] }),
            "twice",
        ),
        (
            json!({ "root": { "title": "r" }, "children": children, "deps": [{ "from": "a", "to": "b", "type": "RELATES_TO", "unblockAt": "work" }] }),
            "unblockAt",
        ),
        (
            json!({ "root": { "title": "r" }, "children": children, "deps": [{ "from": "a", "to": "b", "unblockAt": "blocked" }] }),
            "deps[0].unblockAt",
        ),
        (
            json!({ "root": { "title": "r" }, "children": children, "deps": [{ "from": "a", "to": "b", "type": "NEEDS" }] }),
            "deps[0].type",
        ),
        (json!({ "root": { "title": "r" }, "notes": [{ "itemRef": "zz", "key": "k", "role": "work" }] }), "zz"),
        (
            json!({ "root": { "title": "r" }, "notes": [{ "itemRef": "root", "key": "k", "role": "terminal" }] }),
            "notes[0].role",
        ),
        (
            json!({ "root": { "title": "r" }, "notes": [{ "itemRef": "root", "key": "k" }] }),
            "notes[0].role is required",
        ),
    ] {
        let error = world.err("create_work_tree", fault.clone());
        assert!(text(&error["message"]).contains(word), "{fault}: {error} should say {word}");
    }
    assert_eq!(total(&world), 0);
}

#[test]
fn a_name_that_nothing_has_is_told_with_its_place() {
    let world = World::new();
    let dep = |from: &str, to: &str| json!({ "root": { "title": "r" }, "deps": [{ "from": from, "to": to }] });
    let note =
        json!([{ "itemRef": "root", "key": "k", "role": "work" }, { "itemRef": "zz", "key": "k", "role": "work" }]);
    for (fault, field) in [
        (dep("zz", "root"), "deps[0].from"),
        (dep("root", "zz"), "deps[0].to"),
        (json!({ "root": { "title": "r" }, "notes": note }), "notes[1].itemRef"),
    ] {
        let error = world.err("create_work_tree", fault);
        assert_eq!((&error["reason"], &error["field"]), (&json!("not_found"), &json!(field)), "{error}");
    }
}

/// A feature with three tasks in a row, the second of which owes a note.
fn row_of_three(world: &World) -> (String, [String; 3]) {
    let tree = world.ok(
        "create_work_tree",
        json!({
            "root": { "title": "root" },
            "children": [{ "ref": "a", "title": "Design login flow" }, { "ref": "b", "title": "Implement handler", "type": "quick" }, { "ref": "c", "title": "Write tests" }],
            "deps": [{ "from": "a", "to": "b" }, { "from": "b", "to": "c" }],
        }),
    );
    (text(&tree["root"]["id"]), [0, 1, 2].map(|n| text(&tree["children"][n]["id"])))
}

#[test]
fn a_missing_note_stops_what_depends_on_it() {
    let world = World::with_schemas();
    let (root, [a, b, c]) = row_of_three(&world);
    let answer = world.ok("complete_tree", json!({ "rootId": root, "trigger": "complete" }));
    assert_eq!(
        answer,
        json!({
            "results": [
                { "itemId": a, "title": "Design login flow", "applied": true, "trigger": "complete" },
                { "itemId": b, "title": "Implement handler", "applied": false, "gateErrors": ["missing: outcome"] },
                { "itemId": c, "title": "Write tests", "applied": false, "skipped": true, "skippedReason": "dependency gate failed" },
            ],
            "summary": { "total": 3, "completed": 1, "skipped": 1, "gateFailures": 1 },
        })
    );
    world.note(&b, "outcome", "work");
    let again = world.ok("complete_tree", json!({ "rootId": root }));
    assert_eq!(again["summary"], json!({ "total": 3, "completed": 2, "skipped": 1, "gateFailures": 0 }));
    assert!(text(&again["results"][0]["skippedReason"]).starts_with("Cannot transition"), "already terminal: {again}");
    assert_eq!(world.get(&root)["role"], "queue", "the root is not completed");
}

#[test]
fn cancelling_asks_for_nothing() {
    let world = World::with_schemas();
    let (root, [a, b, c]) = row_of_three(&world);
    let answer = world.ok("complete_tree", json!({ "rootId": root, "trigger": "cancel" }));
    assert_eq!(answer["summary"], json!({ "total": 3, "completed": 3, "skipped": 0, "gateFailures": 0 }));
    for id in [&a, &b, &c] {
        let item = world.get(id);
        assert_eq!((&item["role"], &item["statusLabel"]), (&json!("terminal"), &json!("cancelled")));
    }
    assert_eq!(world.get(&root)["role"], "queue");
}

#[test]
fn a_list_is_closed_in_order_and_its_parents_with_it() {
    let world = World::new();
    let (root, [a, b, c]) = row_of_three(&world);
    let answer = world.ok("complete_tree", json!({ "itemIds": [c, b, a, a] }));
    assert_eq!(each(&answer["results"], "itemId"), [a, b, c], "blockers first, each once");
    assert_eq!(answer["cascadeEvents"][0]["itemId"], json!(root));
    assert_eq!(world.get(&root)["role"], "terminal");
}

#[test]
fn an_item_put_aside_is_skipped_and_holds_nothing_else_up() {
    let world = World::new();
    let root = world.item("root");
    let (aside, other) = (world.child(&root, "aside"), world.child(&root, "other"));
    world.moves(&aside, "block");
    let answer = world.ok("complete_tree", json!({ "rootId": root }));
    assert_eq!(answer["summary"], json!({ "total": 2, "completed": 1, "skipped": 1, "gateFailures": 0 }));
    let row =
        answer["results"].as_array().expect("rows").iter().find(|row| row["itemId"] == json!(aside)).expect("its row");
    assert!(text(&row["skippedReason"]).contains("blocked"), "{row}");
    assert_eq!(world.get(&other)["role"], "terminal");
}

#[test]
fn what_depends_on_an_item_that_stays_open_is_skipped_and_its_parent_is_not() {
    let world = World::with_schemas();
    let root = world.item("root");
    let parent = world.child(&root, "parent");
    let aside = world.made(json!({ "title": "aside", "parentId": parent }));
    let after = world.made(json!({ "title": "after", "parentId": root }));
    world.moves(&aside, "block");
    world.ok(
        "manage_dependencies",
        json!({ "operation": "create", "dependencies": [{ "fromItemId": aside, "toItemId": after }] }),
    );
    let answer = world.ok("complete_tree", json!({ "rootId": root }));
    assert_eq!(answer["summary"], json!({ "total": 3, "completed": 1, "skipped": 2, "gateFailures": 0 }));
    let rows = answer["results"].as_array().expect("rows");
    let row = |id: &str| rows.iter().find(|row| row["itemId"] == json!(id)).expect("its row");
    assert_eq!(row(&after)["skippedReason"], "dependency gate failed");
    assert_eq!(row(&parent)["applied"], true, "a child is no blocker");
    assert!(text(&row(&aside)["skippedReason"]).contains("blocked"), "{answer}");
}

#[test]
fn nothing_beneath_is_nothing_to_do() {
    let world = World::new();
    let answer = world.ok("complete_tree", json!({ "rootId": world.item("alone") }));
    assert_eq!(
        answer,
        json!({ "results": [], "summary": { "total": 0, "completed": 0, "skipped": 0, "gateFailures": 0 } })
    );
}

#[test]
fn exactly_one_of_root_and_items_is_given() {
    let world = World::new();
    let id = world.item("t");
    for (arguments, code) in [
        (json!({}), "VALIDATION_ERROR"),
        (json!({ "rootId": id, "itemIds": [id] }), "VALIDATION_ERROR"),
        (json!({ "itemIds": [] }), "VALIDATION_ERROR"),
        (json!({ "rootId": id, "trigger": "start" }), "VALIDATION_ERROR"),
        (json!({ "rootId": fresh() }), "RESOURCE_NOT_FOUND"),
        (json!({ "itemIds": [fresh()] }), "RESOURCE_NOT_FOUND"),
    ] {
        assert_eq!(world.err("complete_tree", arguments.clone())["code"], code, "{arguments}");
    }
}
