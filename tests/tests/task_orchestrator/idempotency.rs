//! `requestId`: a retry takes effect once, also behind another process.

use serde_json::{Value, json};

use crate::{World, claiming, fresh, subagent, text};

fn items(world: &World) -> u64 {
    world.ok("query_items", json!({ "operation": "search" }))["total"].as_u64().expect("a number")
}

fn creating(request: &str) -> Value {
    json!({ "operation": "create", "items": [{ "title": "once" }], "actor": subagent("a"), "requestId": request })
}

#[test]
fn every_writing_tool_answers_a_retry_with_its_first_answer() {
    let world = World::new();
    let [a, b, c] = ["a", "b", "c"].map(|title| world.item(title));
    let root = world.item("root");
    world.child(&root, "leaf");
    let actor = subagent("agent-1");
    let calls = [
        ("manage_items", creating(&fresh())),
        ("manage_items", json!({ "operation": "update", "items": [{ "id": a, "title": "x" }], "requestId": fresh() })),
        ("manage_items", json!({ "operation": "delete", "ids": [c], "requestId": fresh() })),
        (
            "manage_notes",
            json!({ "operation": "upsert", "notes": [{ "itemId": a, "key": "k", "role": "work", "actor": actor }], "requestId": fresh() }),
        ),
        ("manage_notes", json!({ "operation": "delete", "itemId": a, "requestId": fresh() })),
        (
            "manage_dependencies",
            json!({ "operation": "create", "dependencies": [{ "fromItemId": a, "toItemId": b }], "requestId": fresh() }),
        ),
        ("manage_dependencies", json!({ "operation": "delete", "fromItemId": a, "toItemId": b, "requestId": fresh() })),
        (
            "advance_item",
            json!({ "transitions": [{ "itemId": a, "trigger": "start", "actor": actor }], "requestId": fresh() }),
        ),
        (
            "create_work_tree",
            json!({ "root": { "title": "t" }, "children": [{ "ref": "c", "title": "c" }], "actor": actor, "requestId": fresh() }),
        ),
        ("complete_tree", json!({ "rootId": root, "requestId": fresh() })),
        ("claim_item", claiming("agent-1", json!([{ "itemId": b }]), json!([]))),
    ];
    let mut first = Vec::new();
    for (tool, arguments) in &calls {
        first.push(world.ok(tool, arguments.clone()));
    }
    let count = items(&world);
    for ((tool, arguments), before) in calls.iter().zip(&first) {
        assert_eq!(&world.ok(tool, arguments.clone()), before, "{tool}");
    }
    let other = world.another();
    for ((tool, arguments), before) in calls.iter().zip(&first) {
        assert_eq!(&other.ok(tool, arguments.clone()), before, "{tool} behind another process");
    }
    let world = world.restarted();
    for ((tool, arguments), before) in calls.iter().zip(&first) {
        assert_eq!(&world.ok(tool, arguments.clone()), before, "{tool} after a restart");
    }
    assert_eq!(items(&world), count);
}

#[test]
fn without_an_id_every_call_is_fresh() {
    let world = World::new();
    world.item("once");
    world.item("once");
    assert_eq!(items(&world), 2);
}

#[test]
fn the_same_id_for_another_request_is_a_conflict() {
    let world = World::new();
    let request = fresh();
    world.ok("manage_items", creating(&request));
    let mut other = creating(&request);
    other["items"][0]["title"] = json!("another");
    let error = world.err("manage_items", other);
    assert_eq!(
        (&error["code"], &error["reason"], &error["field"]),
        (&json!("CONFLICT_ERROR"), &json!("request_id_reused"), &json!("requestId"))
    );
    assert_eq!(items(&world), 1);
}

#[test]
fn a_uuid_is_the_same_id_however_it_is_written() {
    let world = World::new();
    let request = fresh();
    let first = world.ok("manage_items", creating(&request));
    for spelling in [request.to_uppercase(), format!("  {request}\n"), request.replace('-', "")] {
        assert_eq!(world.ok("manage_items", creating(&spelling)), first, "{spelling:?}");
    }
    assert_eq!(items(&world), 1);
}

#[test]
fn an_id_belongs_to_the_actor_who_uses_it() {
    let world = World::new();
    let request = fresh();
    world.ok("manage_items", creating(&request));
    let mut other = creating(&request);
    other["actor"] = subagent("b");
    world.ok("manage_items", other);
    assert_eq!(items(&world), 2);
}

#[test]
fn an_id_belongs_to_the_actor_of_the_first_entry_where_the_call_names_none() {
    let world = World::new();
    let (a, b, request) = (world.item("a"), world.item("b"), fresh());
    let note = |item: &str, agent: &str| {
        let notes = json!([{ "itemId": item, "key": "k", "role": "work", "actor": subagent(agent) }]);
        world.ok("manage_notes", json!({ "operation": "upsert", "notes": notes, "requestId": request }))
    };
    let go = |item: &str, agent: &str| {
        let transitions = json!([{ "itemId": item, "trigger": "start", "actor": subagent(agent) }]);
        world.ok("advance_item", json!({ "transitions": transitions, "requestId": request }))
    };
    assert_eq!((&note(&a, "one")["upserted"], &note(&b, "two")["upserted"]), (&json!(1), &json!(1)));
    assert_eq!(
        (&go(&a, "one")["summary"]["succeeded"], &go(&b, "two")["summary"]["succeeded"]),
        (&json!(1), &json!(1))
    );
    assert_eq!(go(&a, "one")["summary"]["succeeded"], 1, "a retry");
}

#[test]
fn a_tree_is_answered_again_when_its_parent_is_gone() {
    let world = World::new();
    let parent = world.item("parent");
    let tree = json!({ "root": { "title": "r" }, "parentId": parent, "requestId": fresh() });
    let first = world.ok("create_work_tree", tree.clone());
    world.ok("manage_items", json!({ "operation": "delete", "ids": [parent], "recursive": true }));
    assert_eq!(world.ok("create_work_tree", tree), first);
    assert_eq!(items(&world), 0);
}

#[test]
fn an_id_that_is_no_uuid_counts_all_the_same() {
    let world = World::new();
    let first = world.ok("manage_items", creating("my own name"));
    assert_eq!(world.ok("manage_items", creating("my own name")), first);
    let anonymous = json!({ "operation": "create", "items": [{ "title": "anonymous" }], "requestId": "x".repeat(255) });
    let first = world.ok("manage_items", anonymous.clone());
    assert_eq!(world.ok("manage_items", anonymous), first, "without an actor too");
    assert_eq!(items(&world), 2);
    for bad in [json!(""), json!("x".repeat(256)), json!("a\nb"), json!(7)] {
        let error =
            world.err("manage_items", json!({ "operation": "create", "items": [{ "title": "t" }], "requestId": bad }));
        assert_eq!((&error["code"], &error["field"]), (&json!("VALIDATION_ERROR"), &json!("requestId")), "{bad}");
    }
}

#[test]
fn a_refused_call_burns_no_id() {
    let world = World::new();
    let request = fresh();
    let id = world.item("t");
    let complete = json!({ "rootId": fresh(), "requestId": request });
    assert_eq!(world.err("complete_tree", complete)["code"], "RESOURCE_NOT_FOUND");
    let child = world.child(&id, "c");
    let answer = world.ok("complete_tree", json!({ "rootId": id, "requestId": request }));
    assert_eq!(text(&answer["results"][0]["itemId"]), child);
}

#[test]
fn a_partial_batch_is_retried_as_it_was() {
    let world = World::new();
    let arguments =
        json!({ "operation": "create", "items": [{ "title": "good" }, { "title": "" }], "requestId": fresh() });
    let first = world.ok("manage_items", arguments.clone());
    assert_eq!((&first["created"], &first["failed"]), (&json!(1), &json!(1)));
    assert_eq!(world.ok("manage_items", arguments), first);
    assert_eq!(items(&world), 1);
}

/// Checks that this is refused, since its id was used for another call of the tool.
fn used(world: &World, tool: &str, arguments: Value) {
    let error = world.err(tool, arguments.clone());
    assert_eq!(
        (&error["code"], &error["reason"], &error["field"]),
        (&json!("CONFLICT_ERROR"), &json!("request_id_reused"), &json!("requestId")),
        "{tool} {arguments}: {error}"
    );
}

#[test]
fn another_operation_of_the_same_tool_is_another_request() {
    let world = World::new();
    let [a, b, c] = ["a", "b", "c"].map(|title| world.item(title));
    let request = fresh();
    let made = world.ok("manage_items", creating(&request));
    let all = items(&world);
    let with = |request: &str, more: Value| {
        let mut arguments = json!({ "actor": subagent("a"), "requestId": request });
        arguments.as_object_mut().expect("fields").extend(more.as_object().expect("fields").clone());
        arguments
    };
    used(&world, "manage_items", with(&request, json!({ "operation": "delete", "ids": [a] })));
    used(
        &world,
        "manage_items",
        with(&request, json!({ "operation": "update", "items": [{ "id": a, "title": "x" }] })),
    );
    assert_eq!((items(&world), &world.get(&a)["title"]), (all, &json!("a")), "neither was carried out");
    assert_eq!(world.ok("manage_items", creating(&request)), made, "and the first is answered as before");
    // The name is that of calls of one tool: others have it for themselves, also where the engine does the same for them.
    world.ok("create_work_tree", with(&request, json!({ "root": { "title": "root" } })));
    assert_eq!(items(&world), all + 1);
    used(&world, "create_work_tree", with(&request, json!({ "root": { "title": "another" } })));
    let link = |to: &str| json!({ "operation": "create", "dependencies": [{ "fromItemId": a, "toItemId": to }] });
    assert_eq!(world.ok("manage_dependencies", with(&request, link(&b)))["created"], 1);
    used(
        &world,
        "manage_dependencies",
        with(&request, json!({ "operation": "delete", "fromItemId": a, "toItemId": b })),
    );
    used(&world, "manage_dependencies", with(&request, link(&c)));
    let note = json!({ "operation": "upsert", "notes": [{ "itemId": a, "key": "k", "role": "work" }] });
    assert_eq!(world.ok("manage_notes", with(&request, note))["upserted"], 1);
    used(&world, "manage_notes", with(&request, json!({ "operation": "delete", "itemId": a })));
    let other = world.another();
    let error = other.err("manage_items", with(&request, json!({ "operation": "delete", "ids": [a] })));
    assert_eq!(error["reason"], "request_id_reused", "behind another process too");
}

#[test]
fn a_claim_of_what_is_named_and_one_of_what_is_found_share_no_id() {
    let world = World::new();
    let item = world.item("a");
    world.item("b");
    let found = claiming("a", json!([{ "selector": {} }]), json!([{ "itemId": item }]));
    let first = world.ok("claim_item", found.clone());
    assert_eq!(first["claimResults"][0]["outcome"], "success", "{first}");
    assert_eq!(world.ok("claim_item", found.clone()), first, "both of its halves are answered again");
    let mut named = found.clone();
    named["claims"] = json!([{ "itemId": item }]);
    used(&world, "claim_item", named);
    let mut more = found.clone();
    more["releases"] = json!([]);
    used(&world, "claim_item", more);
    let mut releasing = found;
    releasing["claims"] = json!([]);
    used(&world, "claim_item", releasing);
}
