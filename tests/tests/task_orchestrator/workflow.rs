//! `advance_item`: triggers, gates, cascades, what is unblocked.

use serde_json::{Value, json};

use crate::{World, each, fresh, names, subagent, text};

fn role(world: &World, item: &str) -> String {
    text(&world.get(item)["role"])
}

#[test]
fn a_successful_move_tells_the_whole_story() {
    let world = World::with_schemas();
    let parent = world.item("Auth Feature");
    let id = world.made(json!({ "title": "Task", "parentId": parent, "type": "feature-task" }));
    let next = world.item("Next task");
    let pair = json!([{ "fromItemId": id, "toItemId": next, "unblockAt": "work" }]);
    world.ok("manage_dependencies", json!({ "operation": "create", "dependencies": pair }));
    world.note(&id, "requirements", "queue");
    let answer = world.ok("advance_item", json!({ "transitions": [{ "itemId": id, "trigger": "start" }] }));
    assert_eq!(
        answer,
        json!({
            "results": [{
                "itemId": id, "previousRole": "queue", "newRole": "work", "trigger": "start", "statusLabel": "in-progress", "applied": true,
                "cascadeEvents": [{ "itemId": parent, "title": "Auth Feature", "previousRole": "queue", "targetRole": "work", "applied": true, "trigger": "cascade", "statusLabel": "in-progress" }],
                "unblockedItems": [{ "itemId": next, "title": "Next task" }],
                "expectedNotes": [{ "key": "done-criteria", "role": "work", "required": true, "description": "How it was done", "exists": false, "skill": "writer" }],
                "guidancePointer": "Say what changed", "skillPointer": "writer", "noteProgress": { "filled": 0, "remaining": 1, "total": 1 },
            }],
            "summary": { "total": 1, "succeeded": 1, "failed": 0 },
            "allUnblockedItems": [{ "itemId": next, "title": "Next task" }],
        })
    );
}

#[test]
fn without_a_schema_there_is_little_to_tell() {
    let world = World::new();
    let row = world.moves(&world.item("t"), "start");
    assert_eq!(
        names(&row),
        [
            "applied",
            "cascadeEvents",
            "expectedNotes",
            "itemId",
            "newRole",
            "previousRole",
            "statusLabel",
            "trigger",
            "unblockedItems"
        ]
    );
    for field in ["cascadeEvents", "expectedNotes", "unblockedItems"] {
        assert_eq!(row[field], json!([]), "{field} is always there");
    }
}

#[test]
fn start_goes_through_review_only_where_the_schema_has_it() {
    let world = World::with_schemas();
    let plain = world.item("plain");
    assert_eq!(world.moves(&plain, "start")["newRole"], "work");
    assert_eq!(world.moves(&plain, "start")["newRole"], "terminal");
    let id = world.made(json!({ "title": "t", "type": "feature-task" }));
    for (key, role) in [("requirements", "queue"), ("done-criteria", "work"), ("verdict", "review")] {
        world.note(&id, key, role);
    }
    let roles: Vec<String> = (0..3).map(|_| text(&world.moves(&id, "start")["newRole"])).collect();
    assert_eq!(roles, ["work", "review", "terminal"]);
    let with_trait = world.made(json!({ "title": "t", "type": "quick", "traits": "needs-security-review" }));
    world.moves(&with_trait, "start");
    world.note(&with_trait, "outcome", "work");
    assert_eq!(world.moves(&with_trait, "start")["newRole"], "review", "the trait brings a review");
}

#[test]
fn each_trigger_leads_where_it_says() {
    let world = World::new();
    let id = world.item("t");
    for (trigger, from, to, label) in [
        ("start", "queue", "work", json!("in-progress")),
        ("hold", "work", "blocked", json!("in-progress")),
        ("resume", "blocked", "work", Value::Null),
        ("block", "work", "blocked", json!("blocked")),
        ("cancel", "blocked", "terminal", json!("cancelled")),
        ("reopen", "terminal", "queue", Value::Null),
        ("block", "queue", "blocked", json!("blocked")),
        ("resume", "blocked", "queue", Value::Null),
        ("complete", "queue", "terminal", json!("done")),
    ] {
        let row = world.moves(&id, trigger);
        assert_eq!((&row["previousRole"], &row["newRole"]), (&json!(from), &json!(to)), "{trigger}");
        assert_eq!(row.get("statusLabel").cloned().unwrap_or_default(), label, "{trigger}");
        assert_eq!(world.get(&id).get("statusLabel").cloned().unwrap_or_default(), label, "{trigger}");
    }
}

#[test]
fn moves_that_do_not_exist_are_refused() {
    let world = World::new();
    let item = |role: &str| world.made(json!({ "title": role, "role": role }));
    let (queue, work, blocked, terminal) = (item("queue"), item("work"), item("blocked"), item("terminal"));
    for (id, trigger, word) in [
        (&terminal, "start", "already terminal"),
        (&terminal, "complete", "already terminal"),
        (&terminal, "cancel", "already terminal"),
        (&terminal, "block", "already terminal"),
        (&terminal, "resume", "not blocked"),
        (&blocked, "start", "resume"),
        (&blocked, "complete", "resume"),
        (&blocked, "hold", "already blocked"),
        (&queue, "resume", "not blocked"),
        (&work, "reopen", "not terminal"),
    ] {
        let row = world.advance(id, trigger);
        assert_eq!(names(&row), ["applied", "error", "itemId", "trigger"], "{trigger}: {row}");
        assert_eq!((&row["applied"], &row["trigger"]), (&json!(false), &json!(trigger)));
        assert!(text(&row["error"]).starts_with("Cannot ") && text(&row["error"]).contains(word), "{row}");
    }
}

#[test]
fn start_asks_for_the_notes_of_the_phase_and_complete_for_all() {
    let world = World::with_schemas();
    let id = world.made(json!({ "title": "t", "tags": "feature-task" }));
    let row = world.advance(&id, "start");
    assert_eq!(row["error"], "Gate check failed: required notes not filled for queue phase: requirements");
    assert_eq!(row["missingNotes"], json!([{ "key": "requirements" }]));
    for absent in ["previousRole", "newRole", "expectedNotes", "blockers"] {
        assert!(row.get(absent).is_none(), "{absent} belongs to moves that were made");
    }
    let row = world.advance(&id, "complete");
    assert_eq!(row["error"], "Gate check failed: required notes not filled: requirements, done-criteria, verdict");
    let blank = json!([{ "itemId": id, "key": "requirements", "role": "queue", "body": " \n" }]);
    world.ok("manage_notes", json!({ "operation": "upsert", "notes": blank }));
    assert_eq!(world.advance(&id, "start")["applied"], false, "blank is not filled");
    world.note(&id, "requirements", "queue");
    assert_eq!(world.advance(&id, "start")["applied"], true);
    assert_eq!(world.advance(&id, "block")["applied"], true, "putting aside asks for nothing");
    assert_eq!(world.advance(&id, "resume")["applied"], true);
    assert_eq!(world.advance(&id, "cancel")["applied"], true, "giving up asks for nothing");
    assert_eq!(world.advance(&id, "reopen")["applied"], true, "reopening asks for nothing");
}

#[test]
fn blockers_hold_up_until_they_have_come_far_enough() {
    let world = World::new();
    let (a, b) = (world.item("a"), world.item("b"));
    let pair = json!([{ "fromItemId": a, "toItemId": b, "unblockAt": "work" }]);
    world.ok("manage_dependencies", json!({ "operation": "create", "dependencies": pair }));
    for trigger in ["start", "complete"] {
        let row = world.advance(&b, trigger);
        assert_eq!(
            row["blockers"],
            json!([{ "fromItemId": a, "currentRole": "queue", "requiredRole": "work" }]),
            "{trigger}"
        );
        assert!(text(&row["error"]).contains("1 blocking"), "{row}");
    }
    assert_eq!(world.moves(&a, "start")["unblockedItems"], json!([{ "itemId": b, "title": "b" }]));
    world.moves(&a, "block");
    assert_eq!(world.advance(&b, "start")["applied"], false, "a blocker that is put aside has reached nothing");
    world.moves(&a, "cancel");
    assert_eq!(world.advance(&b, "start")["applied"], true, "a cancelled blocker is out of the way");
}

#[test]
fn only_the_last_blocker_unblocks() {
    let world = World::new();
    let [a, b, c] = ["a", "b", "c"].map(|title| world.item(title));
    world.blocks(&a, &c);
    world.blocks(&b, &c);
    let answer = world.ok(
        "advance_item",
        json!({ "transitions": [{ "itemId": a, "trigger": "complete" }, { "itemId": b, "trigger": "complete" }] }),
    );
    assert_eq!(answer["results"][0]["unblockedItems"], json!([]));
    assert_eq!(answer["results"][1]["unblockedItems"], json!([{ "itemId": c, "title": "c" }]));
    assert_eq!(answer["allUnblockedItems"], json!([{ "itemId": c, "title": "c" }]));
    assert_eq!(answer["summary"], json!({ "total": 2, "succeeded": 2, "failed": 0 }));
}

#[test]
fn a_batch_goes_on_after_a_refusal_and_sees_what_came_before() {
    let world = World::new();
    let (a, b) = (world.item("a"), world.item("b"));
    world.blocks(&a, &b);
    let missing = fresh();
    let answer = world.ok(
        "advance_item",
        json!({ "transitions": [
            { "itemId": b, "trigger": "start" }, { "itemId": missing, "trigger": "start" }, { "itemId": "zz", "trigger": "start" },
            { "itemId": a, "trigger": "COMPLETE" }, { "itemId": b, "trigger": "start" },
        ]}),
    );
    let applied: Vec<&Value> = answer["results"].as_array().expect("rows").iter().map(|row| &row["applied"]).collect();
    assert_eq!(applied, [&json!(false), &json!(false), &json!(false), &json!(true), &json!(true)]);
    assert_eq!(each(&answer["results"], "itemId"), [b.clone(), missing, "zz".to_owned(), a, b]);
    assert_eq!(answer["results"][3]["trigger"], "complete");
    assert_eq!(answer["summary"], json!({ "total": 5, "succeeded": 2, "failed": 3 }));
}

#[test]
fn malformed_transitions_refuse_the_call() {
    let world = World::new();
    let id = world.item("t");
    for (transitions, field) in [
        (json!([]), "transitions"),
        (json!("start"), "transitions"),
        (json!([{ "itemId": id, "trigger": "start" }, "x"]), "transitions[1]"),
        (json!([{ "trigger": "start" }]), "transitions[0].itemId"),
        (json!([{ "itemId": id }]), "transitions[0].trigger"),
        (
            json!([{ "itemId": id, "trigger": "start" }, { "itemId": id, "trigger": "finish" }]),
            "transitions[1].trigger",
        ),
        (json!([{ "itemId": id, "trigger": "cascade" }]), "transitions[0].trigger"),
        (json!([{ "itemId": id, "trigger": "start", "sumary": "x" }]), "transitions[0].sumary"),
    ] {
        let error = world.err("advance_item", json!({ "transitions": transitions }));
        assert_eq!((&error["code"], &error["field"]), (&json!("VALIDATION_ERROR"), &json!(field)), "{transitions}");
    }
    assert_eq!(world.err("advance_item", json!({}))["message"], "transitions is required");
    assert_eq!(role(&world, &id), "queue");
}

#[test]
fn who_moved_it_and_why_is_told_and_kept() {
    let world = World::new();
    let (a, b) = (world.item("a"), world.item("b"));
    let actor = json!({ "id": "sub-1", "kind": "subagent", "parent": "orch-1" });
    let answer = world.ok(
        "advance_item",
        json!({ "transitions": [{ "itemId": a, "trigger": "start", "summary": "because", "actor": actor }, { "itemId": b, "trigger": "start", "actor": { "id": "x", "kind": "robot" } }] }),
    );
    let row = &answer["results"][0];
    assert_eq!((&row["summary"], &row["actor"]), (&json!("because"), &actor));
    assert_eq!(row["verification"], json!({ "status": "unchecked", "verifier": "noop" }));
    assert_eq!(answer["results"][1]["applied"], false, "a bad actor refuses its own move");
    let resumed = world.ok("get_context", json!({ "since": "2020-01-01T00:00:00Z" }));
    assert_eq!(resumed["recentTransitions"][0]["actor"], actor);
    let plain = world.moved(json!({ "itemId": b, "trigger": "start" }));
    assert!(plain.get("actor").is_none() && plain.get("verification").is_none());
}

#[test]
fn starting_a_child_starts_its_ancestors() {
    let world = World::new();
    let root = world.item("root");
    let middle = world.child(&root, "middle");
    let leaf = world.child(&middle, "leaf");
    let row = world.moves(&leaf, "start");
    assert_eq!(each(&row["cascadeEvents"], "itemId"), [middle.clone(), root.clone()]);
    assert_eq!((role(&world, &middle), role(&world, &root)), ("work".to_owned(), "work".to_owned()));
    let other = world.child(&middle, "other");
    assert_eq!(world.moves(&other, "start")["cascadeEvents"], json!([]), "they are at work already");
}

#[test]
fn closing_the_last_child_closes_its_ancestors() {
    let world = World::new();
    let root = world.item("root");
    let middle = world.child(&root, "middle");
    let (a, b) = (world.child(&middle, "a"), world.child(&middle, "b"));
    assert_eq!(world.moves(&a, "complete")["cascadeEvents"], json!([]));
    let row = world.moves(&b, "cancel");
    assert_eq!(
        row["cascadeEvents"][0],
        json!({ "itemId": middle, "title": "middle", "previousRole": "queue", "targetRole": "terminal", "applied": true, "trigger": "cascade", "statusLabel": "done" })
    );
    assert_eq!(each(&row["cascadeEvents"], "itemId"), [middle, root.clone()]);
    assert_eq!(role(&world, &root), "terminal");
}

#[test]
fn a_parent_that_owes_a_note_stays_open_and_says_why() {
    let world = World::with_schemas();
    let parent = world.made(json!({ "title": "parent", "type": "strict-parent" }));
    let child = world.child(&parent, "child");
    let row = world.moves(&child, "complete");
    let event = &row["cascadeEvents"][0];
    assert_eq!(
        (&event["applied"], &event["gateBlocked"], &event["missingNotes"]),
        (&json!(false), &json!(true), &json!(["wrap-up"]))
    );
    assert_eq!(role(&world, &parent), "queue");
}

#[test]
fn lifecycles_say_what_closing_children_does() {
    let world = World::with_schemas();
    for (kind, closes) in [("container", false), ("by-hand", false), ("lively", true)] {
        let parent = world.made(json!({ "title": kind, "type": kind }));
        let child = world.child(&parent, "child");
        let row = world.moves(&child, "complete");
        assert_eq!(row["cascadeEvents"].as_array().map(Vec::len), Some(usize::from(closes)), "{kind}");
        assert_eq!(role(&world, &parent), if closes { "terminal" } else { "queue" }, "{kind}");
        if closes {
            world.child(&parent, "another");
            assert_eq!(role(&world, &parent), "work", "a new child opens it again");
        }
    }
}

#[test]
fn a_child_that_comes_from_anywhere_opens_its_parent_again_where_the_schema_says_so() {
    let world = World::with_schemas();
    for (kind, opened) in [(json!("lively"), "work"), (Value::Null, "terminal"), (json!("by-hand"), "terminal")] {
        let closed = || {
            let parent = world.made(json!({ "title": "parent", "type": kind }));
            world.moves(&parent, "complete");
            parent
        };
        let created = closed();
        world.child(&created, "new");
        assert_eq!(role(&world, &created), opened, "manage_items under {kind}");
        let planted = closed();
        world.ok("create_work_tree", json!({ "root": { "title": "tree" }, "parentId": planted }));
        assert_eq!(role(&world, &planted), opened, "create_work_tree under {kind}");
        let (moved, child) = (closed(), world.item("moved"));
        world.ok("manage_items", json!({ "operation": "update", "items": [{ "id": child, "parentId": moved }] }));
        assert_eq!(world.get(&child)["parentId"], json!(moved));
        assert_eq!(role(&world, &moved), opened, "an update of parentId to {kind}");
    }
}

#[test]
fn the_default_schema_is_a_gate_like_any_other() {
    let world = World::with(
        "work_item_schemas:\n  default: { notes: [ { key: plan, role: queue, required: true } ] }\n  free: { notes: [] }\n",
    );
    for item in [json!({ "title": "t" }), json!({ "title": "t", "type": "unknown", "tags": "none" })] {
        let id = world.made(item.clone());
        let row = world.advance(&id, "start");
        assert_eq!(row["error"], "Gate check failed: required notes not filled for queue phase: plan", "{item}");
        world.note(&id, "plan", "queue");
        assert_eq!(world.advance(&id, "start")["applied"], true, "{item}");
    }
    let free = world.made(json!({ "title": "t", "type": "free" }));
    assert_eq!(world.advance(&free, "start")["applied"], true, "its own schema asks for nothing");
}

#[test]
fn reopening_a_child_reopens_its_parent() {
    let world = World::new();
    let root = world.item("root");
    let child = world.child(&root, "child");
    world.moves(&child, "complete");
    assert_eq!(role(&world, &root), "terminal");
    let row = world.moves(&child, "reopen");
    assert_eq!((&row["previousRole"], &row["newRole"]), (&json!("terminal"), &json!("queue")));
    let event = &row["cascadeEvents"][0];
    assert_eq!(
        (&event["itemId"], &event["previousRole"], &event["targetRole"]),
        (&json!(root), &json!("terminal"), &json!("work"))
    );
    assert!(world.get(&child).get("statusLabel").is_none(), "the label is cleared");
}

#[test]
fn labels_come_from_the_configuration() {
    let world = World::with("status_labels: { start: rolling, complete: shipped }\n");
    let id = world.item("t");
    assert_eq!(world.moves(&id, "start")["statusLabel"], "rolling");
    assert_eq!(world.moves(&id, "complete")["statusLabel"], "shipped");
}

#[test]
fn any_actor_may_move_what_nobody_holds() {
    let world = World::new();
    let id = world.item("t");
    for (trigger, agent) in [("start", "a"), ("block", "b"), ("resume", "c")] {
        assert_eq!(world.moved(json!({ "itemId": id, "trigger": trigger, "actor": subagent(agent) }))["applied"], true);
    }
}
