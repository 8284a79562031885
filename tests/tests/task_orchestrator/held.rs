//! What a claim keeps others from, and what a fence keeps its holder from.

use std::thread::sleep;
use std::time::Duration;

use serde_json::{Value, json};

use crate::claims::{claim, release};
use crate::{World, subagent, text};

#[test]
fn only_the_holder_moves_a_claimed_item() {
    let world = World::new();
    let id = world.item("t");
    world.claim("agent-1", &id);
    for actor in [Value::Null, subagent("agent-2")] {
        for trigger in ["start", "complete", "block", "hold", "cancel"] {
            let row = world.moved(json!({ "itemId": id, "trigger": trigger, "actor": actor }));
            assert_eq!((&row["applied"], &row["errorCode"]), (&json!(false), &json!("not_claim_holder")), "{trigger}");
            assert_eq!((&row["errorKind"], &row["contendedItemId"]), (&json!("transient"), &json!(id)));
            assert!(row["retryAfterMs"].as_u64().is_some_and(|wait| (890_000..=900_000).contains(&wait)), "{row}");
            assert!(!row.to_string().contains("agent-1"), "{row}");
        }
    }
    assert_eq!(world.moved(json!({ "itemId": id, "trigger": "start", "actor": subagent("agent-1") }))["applied"], true);
    assert_eq!(
        world.moved(json!({ "itemId": id, "trigger": "complete", "actor": subagent("agent-1") }))["applied"],
        true
    );
    assert!(world.ok("get_context", json!({ "itemId": id })).get("claimDetail").is_none(), "closing ends the claim");
}

#[test]
fn what_waiting_does_not_mend_is_permanent_and_names_no_time() {
    let world = World::with_schemas();
    let id = world.made(json!({ "title": "t", "type": "feature-task" }));
    let fence = world.claim("agent-1", &id)["fence"].as_u64().expect("a fence");
    let kinds = |transition: Value| {
        let row = world.moved(transition);
        assert_eq!(row["applied"], false, "{row}");
        (row["errorKind"].clone(), row["retryAfterMs"].clone(), text(&row["errorCode"]))
    };
    let holder = |code: &str| (json!("permanent"), Value::Null, code.to_owned());
    let start = json!({ "itemId": id, "trigger": "start", "actor": subagent("agent-2") });
    assert_eq!(kinds(start), holder("not_claim_holder"), "a note is missing as well");
    let forged = json!({ "itemId": id, "trigger": "block", "actor": subagent("agent-2"), "fence": fence });
    assert_eq!(kinds(forged), holder("not_claim_holder"), "the fence is another agent's");
}

#[test]
fn putting_aside_and_taking_up_again_are_the_holders() {
    let world = World::new();
    let id = world.item("t");
    world.moves(&id, "block");
    world.claim("agent-1", &id);
    for actor in [Value::Null, subagent("agent-2")] {
        let row = world.moved(json!({ "itemId": id, "trigger": "resume", "actor": actor }));
        assert_eq!((&row["applied"], &row["errorCode"]), (&json!(false), &json!("not_claim_holder")), "{row}");
    }
    assert_eq!(world.get(&id)["role"], "blocked");
    assert_eq!(
        world.moved(json!({ "itemId": id, "trigger": "resume", "actor": subagent("agent-1") }))["applied"],
        true
    );
}

#[test]
fn a_tree_is_closed_around_what_others_hold() {
    let world = World::new();
    let root = world.item("root");
    let (held, free) = (world.child(&root, "held"), world.child(&root, "free"));
    world.claim("agent-1", &held);
    let close = |more: Value| {
        let mut arguments = json!({ "itemIds": [held, free] });
        arguments.as_object_mut().expect("fields").extend(more.as_object().expect("fields").clone());
        world.ok("complete_tree", arguments)
    };
    for more in [json!({}), json!({ "trigger": "cancel" }), json!({ "actor": subagent("agent-2") })] {
        let answer = close(more.clone());
        let rows = answer["results"].as_array().expect("rows");
        let row = rows.iter().find(|row| row["itemId"] == json!(held)).expect("its row");
        assert_eq!((&row["applied"], &row["skipped"]), (&json!(false), &json!(true)), "{more}: {row}");
        assert!(text(&row["skippedReason"]).contains("claimed by"), "{more}: {row}");
        assert!(!answer.to_string().contains("agent-1"), "{answer}");
        assert_eq!(world.get(&held)["role"], "queue");
    }
    assert_eq!(world.get(&free)["role"], "terminal", "what nobody holds is closed by the first call");
    let row = &close(json!({ "actor": subagent("agent-1") }))["results"];
    assert!(row.as_array().expect("rows").iter().any(|row| row["applied"] == json!(true)), "{row}");
    assert_eq!(world.get(&held)["role"], "terminal");
}

#[test]
fn without_an_actor_words_may_be_changed_and_nothing_removed() {
    let world = World::new();
    let (root, other) = (world.item("root"), world.item("other"));
    let id = world.child(&root, "t");
    world.claim("agent-1", &id);
    for ids in [json!([id]), json!([root])] {
        let answer = world.ok("manage_items", json!({ "operation": "delete", "ids": ids, "recursive": true }));
        assert_eq!((&answer["deleted"], &answer["failed"]), (&json!(0), &json!(1)), "{answer}");
        assert!(text(&answer["failures"][0]["error"]).contains("naming the actor"), "{answer}");
    }
    let edited =
        world.ok("manage_items", json!({ "operation": "update", "items": [{ "id": id, "summary": "by anybody" }] }));
    assert_eq!(edited["updated"], 1);
    world.note(&id, "k", "work");
    assert_eq!(world.ok("manage_notes", json!({ "operation": "delete", "itemId": id }))["deleted"], 1);
    world.blocks(&other, &id);
    assert_eq!(world.get(&id)["summary"], "by anybody");
}

#[test]
fn a_fence_goes_with_whatever_is_done_around_an_item() {
    let world = World::new();
    let (id, other) = (world.item("t"), world.item("other"));
    let fence = claim(&world, "agent-1", json!([{ "itemId": id }]))["claimResults"][0]["fence"].clone();
    let with = |mut arguments: Value, fence: &Value| {
        arguments["fence"] = fence.clone();
        arguments["actor"] = subagent("agent-1");
        arguments
    };
    let edge =
        json!({ "operation": "create", "dependencies": [{ "fromItemId": id, "toItemId": other }], "fenceOf": id });
    let unlink = json!({ "operation": "delete", "toItemId": other, "deleteAll": true, "fenceOf": id });
    let notes = json!({ "operation": "delete", "itemId": id });
    let note = |key: &str| {
        let note = json!({ "itemId": id, "key": key, "role": "work", "actor": subagent("agent-1") });
        world.ok("manage_notes", json!({ "operation": "upsert", "notes": [note] }))["notes"][0]["id"].clone()
    };
    let by_id = json!({ "operation": "delete", "ids": [note("a")] });
    let forged = json!(99);
    for (tool, arguments) in
        [("manage_dependencies", &edge), ("manage_dependencies", &unlink), ("manage_notes", &notes)]
    {
        let error = world.err(tool, with(arguments.clone(), &forged));
        assert_eq!(
            (&error["code"], &error["contendedItemId"]),
            (&json!("not_claim_holder"), &json!(id)),
            "{arguments}"
        );
    }
    assert_eq!(world.ok("manage_notes", with(by_id.clone(), &forged))["failed"], 1);
    let closing = json!({ "itemIds": [id] });
    assert_eq!(world.err("complete_tree", with(closing.clone(), &forged))["code"], "not_claim_holder");
    let delete = json!({ "operation": "delete", "ids": [other] });
    assert_eq!(world.ok("manage_items", with(delete.clone(), &forged))["failed"], 1);
    note("b");
    assert_eq!(world.ok("manage_dependencies", with(edge.clone(), &fence))["created"], 1);
    assert_eq!(world.ok("manage_dependencies", with(unlink, &fence))["deleted"], 1);
    assert_eq!(world.ok("manage_notes", with(by_id, &fence))["deleted"], 1);
    assert_eq!(world.ok("manage_notes", with(notes, &fence))["deleted"], 1);
    assert_eq!(world.ok("complete_tree", with(closing, &fence))["summary"]["completed"], 1);
    assert_eq!(world.ok("manage_items", with(json!({ "operation": "delete", "ids": [id] }), &fence))["deleted"], 1);
}

#[test]
fn a_fence_that_would_be_passed_over_is_refused() {
    let world = World::new();
    let (id, other) = (world.item("t"), world.item("other"));
    let note = json!({ "itemId": id, "key": "k", "role": "work" });
    let edge = json!({ "fromItemId": id, "toItemId": other });
    for (tool, arguments, field) in [
        ("manage_items", json!({ "operation": "create", "items": [{ "title": "x" }], "fence": 1 }), "fence"),
        ("manage_items", json!({ "operation": "update", "items": [{ "id": id, "title": "x" }], "fence": 1 }), "fence"),
        ("manage_notes", json!({ "operation": "upsert", "notes": [note], "fence": 1 }), "fence"),
        ("manage_dependencies", json!({ "operation": "create", "dependencies": [edge], "fence": 1 }), "fenceOf"),
        ("manage_dependencies", json!({ "operation": "create", "dependencies": [edge], "fenceOf": id }), "fence"),
        (
            "manage_dependencies",
            json!({ "operation": "delete", "fromItemId": id, "toItemId": other, "fence": 1 }),
            "fenceOf",
        ),
        ("complete_tree", json!({ "rootId": id, "fence": -1 }), "fence"),
    ] {
        let error = world.err(tool, arguments.clone());
        assert_eq!((&error["code"], &error["field"]), (&json!("VALIDATION_ERROR"), &json!(field)), "{arguments}");
    }
    assert_eq!(world.get(&id)["title"], "t");
}

#[test]
fn an_actor_of_one_entry_is_not_lent_to_the_others() {
    let world = World::new();
    let (held, other) = (world.item("held"), world.item("other"));
    world.claim("agent-1", &held);
    let answer = world.ok(
        "advance_item",
        json!({ "transitions": [
            { "itemId": other, "trigger": "start", "actor": subagent("agent-1") }, { "itemId": held, "trigger": "start" },
            { "itemId": other, "trigger": "block" },
        ]}),
    );
    let rows = &answer["results"];
    assert_eq!((&rows[0]["applied"], &rows[0]["actor"]["id"]), (&json!(true), &json!("agent-1")));
    assert_eq!((&rows[1]["applied"], &rows[1]["errorCode"]), (&json!(false), &json!("not_claim_holder")));
    assert_eq!(rows[2]["applied"], true);
    let moves = &world.ok("get_context", json!({ "since": "2020-01-01T00:00:00Z" }))["recentTransitions"];
    assert!(moves[0].get("actor").is_none(), "nobody said who put it aside: {}", moves[0]);
    assert_eq!(moves[1]["actor"]["id"], "agent-1");
}

#[test]
fn cascades_pass_by_claims() {
    let world = World::new();
    let parent = world.item("parent");
    let child = world.child(&parent, "child");
    world.claim("agent-1", &parent);
    let row = world.moved(json!({ "itemId": child, "trigger": "start", "actor": subagent("agent-2") }));
    assert_eq!((&row["applied"], &row["cascadeEvents"][0]["applied"]), (&json!(true), &json!(true)));
}

#[test]
fn a_stated_actor_cannot_write_on_somebody_elses_item() {
    let world = World::new();
    let id = world.item("t");
    world.claim("agent-1", &id);
    let edit = |actor: Value| {
        world.ok(
            "manage_items",
            json!({ "operation": "update", "items": [{ "id": id, "title": "new" }], "actor": actor }),
        )
    };
    assert_eq!(edit(subagent("agent-2"))["failed"], 1);
    assert_eq!(edit(subagent("agent-1"))["updated"], 1);
    let note = |agent: &str| {
        let note = json!({ "itemId": id, "key": "k", "role": "work", "actor": subagent(agent) });
        world.ok("manage_notes", json!({ "operation": "upsert", "notes": [note] }))
    };
    assert_eq!(note("agent-2")["failed"], 1);
    assert_eq!(note("agent-1")["upserted"], 1);
    let delete =
        |agent: &str| world.ok("manage_items", json!({ "operation": "delete", "ids": [id], "actor": subagent(agent) }));
    assert_eq!(delete("agent-2")["failed"], 1);
    assert_eq!(delete("agent-1")["deleted"], 1);
}

#[test]
fn an_old_fence_writes_nothing() {
    let world = World::new();
    let id = world.item("t");
    let old = claim(&world, "agent-1", json!([{ "itemId": id, "ttlSeconds": 1 }]))["claimResults"][0]["fence"].clone();
    sleep(Duration::from_millis(1100));
    world.claim("agent-2", &id);
    release(&world, "agent-2", &id);
    let row = world.moved(json!({ "itemId": id, "trigger": "start", "actor": subagent("agent-1"), "fence": old }));
    assert_eq!(
        (&row["applied"], &row["errorCode"]),
        (&json!(false), &json!("claim_lost")),
        "not even when it is free again"
    );
    let note = json!({ "itemId": id, "key": "k", "role": "work", "body": "late", "fence": old });
    assert_eq!(world.ok("manage_notes", json!({ "operation": "upsert", "notes": [note] }))["failed"], 1);
    assert_eq!(
        world.ok(
            "manage_items",
            json!({ "operation": "update", "items": [{ "id": id, "title": "late", "fence": old }] })
        )["failed"],
        1
    );
    let forged = world.moved(json!({ "itemId": id, "trigger": "start", "fence": 99 }));
    assert_eq!((&forged["applied"], &forged["errorCode"]), (&json!(false), &json!("not_claim_holder")));
    assert_eq!(world.get(&id)["title"], "t");
    let fence = world.claim("agent-1", &id)["fence"].clone();
    assert_eq!(
        world.moved(json!({ "itemId": id, "trigger": "start", "actor": subagent("agent-1"), "fence": fence }))["applied"],
        true
    );
}
