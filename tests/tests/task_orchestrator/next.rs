//! `get_next_item`, `get_next_status` and `get_blocked_items`.

use serde_json::{Value, json};

use crate::{World, each, fresh, names};

fn next(world: &World, arguments: Value) -> Value {
    world.ok("get_next_item", arguments)
}

#[test]
fn ready_work_is_ranked_by_priority_and_then_the_easiest() {
    let world = World::new();
    for (title, priority, complexity) in
        [("d", "low", json!(1)), ("c", "medium", Value::Null), ("b", "high", json!(9)), ("a", "high", json!(2))]
    {
        world.made(json!({ "title": title, "priority": priority, "complexity": complexity }));
    }
    let answer = next(&world, json!({ "limit": 20 }));
    assert_eq!(each(&answer["recommendations"], "title"), ["a", "b", "c", "d"]);
    assert_eq!(answer["total"], 4);
    let row = &answer["recommendations"][2];
    assert_eq!(
        *row,
        json!({ "itemId": row["itemId"], "key": row["key"], "title": "c", "role": "queue", "priority": "medium", "complexity": null })
    );
    assert_eq!(each(&next(&world, json!({}))["recommendations"], "title"), ["a"], "one, when nothing is said");
}

#[test]
fn details_and_ancestors_come_on_request() {
    let world = World::new();
    let parent = world.item("parent");
    let id = world.made(json!({ "title": "Design login flow", "parentId": parent, "priority": "high", "complexity": 2, "summary": "Create wireframes", "tags": "task-implementation" }));
    world.item("elsewhere");
    let answer =
        next(&world, json!({ "parentId": parent, "limit": 3, "includeDetails": true, "includeAncestors": true }));
    assert_eq!(
        answer,
        json!({
            "recommendations": [{
                "itemId": id, "key": answer["recommendations"][0]["key"], "title": "Design login flow", "role": "queue", "priority": "high", "complexity": 2, "summary": "Create wireframes",
                "tags": "task-implementation", "parentId": parent, "ancestors": [{ "id": parent, "title": "parent", "depth": 0 }],
            }],
            "total": 1,
        })
    );
}

#[test]
fn what_waits_or_is_claimed_is_not_recommended() {
    let world = World::new();
    let [a, b, c] = ["a", "b", "c"].map(|title| world.item(title));
    world.blocks(&a, &b);
    world.claim("agent-1", &c);
    assert_eq!(each(&next(&world, json!({ "limit": 5 }))["recommendations"], "title"), ["a"]);
    let all = next(&world, json!({ "limit": 5, "includeClaimed": true }));
    let claimed: Vec<(String, Value)> = each(&all["recommendations"], "title")
        .into_iter()
        .zip(all["recommendations"].as_array().expect("rows").iter().map(|row| row["isClaimed"].clone()))
        .collect();
    assert_eq!(claimed, [("a".to_owned(), json!(false)), ("c".to_owned(), json!(true))]);
    assert!(!all.to_string().contains("agent-1"));
    world.moves(&a, "complete");
    assert_eq!(each(&next(&world, json!({ "limit": 5 }))["recommendations"], "title"), ["b"]);
}

#[test]
fn every_open_role_can_be_asked_for() {
    let world = World::new();
    for role in ["queue", "work", "review", "blocked", "terminal"] {
        world.made(json!({ "title": role, "role": role }));
    }
    for role in ["queue", "work", "review", "blocked"] {
        assert_eq!(each(&next(&world, json!({ "role": role, "limit": 5 }))["recommendations"], "title"), [role]);
    }
    assert_eq!(world.err("get_next_item", json!({ "role": "terminal" }))["field"], "role");
    for limit in [json!(0), json!(21), json!(-1), json!("3")] {
        assert_eq!(world.err("get_next_item", json!({ "limit": limit }))["field"], "limit", "{limit}");
    }
}

#[test]
fn two_hundred_blocked_items_do_not_hide_the_ready_one() {
    let world = World::new();
    let blocker = world.made(json!({ "title": "blocker", "priority": "low" }));
    let items: Vec<Value> = (0..200).map(|n| json!({ "title": format!("waits {n}"), "priority": "high" })).collect();
    let made = world.ok("manage_items", json!({ "operation": "create", "items": items }));
    let targets = each(&made["items"], "id");
    world.ok(
        "manage_dependencies",
        json!({ "operation": "create", "pattern": "fan-out", "source": blocker, "targets": targets }),
    );
    assert_eq!(each(&next(&world, json!({ "limit": 20 }))["recommendations"], "title"), ["blocker"]);
}

#[test]
fn the_next_status_is_told_without_moving() {
    let world = World::with_schemas();
    let ask = |id: &str| world.ok("get_next_status", json!({ "itemId": id }));
    let id = world.item("t");
    let ready = |current: &str, to: &str, place: &str| json!({ "recommendation": "Ready", "currentRole": current, "nextRole": to, "trigger": "start", "progressionPosition": place });
    assert_eq!(ask(&id), ready("queue", "work", "1/3"));
    world.moves(&id, "start");
    assert_eq!(ask(&id), ready("work", "terminal", "2/3"));
    let reviewed = world.made(json!({ "title": "t", "type": "feature-task" }));
    assert_eq!(ask(&reviewed), ready("queue", "work", "1/4"), "notes are not looked at");
    let in_work = world.made(json!({ "title": "t", "type": "feature-task", "role": "work" }));
    assert_eq!(ask(&in_work), ready("work", "review", "2/4"));
    world.moves(&id, "hold");
    assert_eq!(
        ask(&id),
        json!({ "recommendation": "Blocked", "currentRole": "blocked", "suggestion": "Use 'resume' trigger to return to previous role" })
    );
    world.moves(&id, "cancel");
    let closed = ask(&id);
    assert_eq!((&closed["recommendation"], &closed["currentRole"]), (&json!("Terminal"), &json!("terminal")));
    assert_eq!(names(&closed), ["currentRole", "reason", "recommendation"]);
    let (a, b) = (world.item("a"), world.item("b"));
    world.blocks(&a, &b);
    assert_eq!(
        ask(&b),
        json!({ "recommendation": "Blocked", "currentRole": "queue", "blockers": [{ "fromItemId": a, "currentRole": "queue", "requiredRole": "terminal" }] })
    );
    assert_eq!(world.err("get_next_status", json!({ "itemId": fresh() }))["code"], "RESOURCE_NOT_FOUND");
}

#[test]
fn what_is_held_up_is_listed_with_what_holds_it_up() {
    let world = World::new();
    let parent = world.item("parent");
    let blocker = world.item("Design login flow");
    let id = world.made(json!({ "title": "Implement JWT handler", "parentId": parent, "priority": "high", "complexity": 5, "summary": "Handle JWT", "tags": "task-implementation" }));
    let pair = json!([{ "fromItemId": blocker, "toItemId": id, "unblockAt": "terminal" }]);
    world.ok("manage_dependencies", json!({ "operation": "create", "dependencies": pair }));
    let answer = world.ok("get_blocked_items", json!({ "includeItemDetails": true, "includeAncestors": true }));
    assert_eq!(
        answer,
        json!({
            "blockedItems": [{
                "itemId": id, "title": "Implement JWT handler", "role": "queue", "priority": "high", "complexity": 5, "blockType": "dependency",
                "blockedBy": [{ "itemId": blocker, "title": "Design login flow", "role": "queue", "unblockAt": "terminal", "effectiveUnblockRole": "terminal", "satisfied": false }],
                "blockerCount": 1, "summary": "Handle JWT", "tags": "task-implementation",
                "ancestors": [{ "id": parent, "title": "parent", "depth": 0 }],
            }],
            "total": 1,
        })
    );
    let plain = world.ok("get_blocked_items", json!({}));
    for absent in ["summary", "tags", "ancestors"] {
        assert!(plain["blockedItems"][0].get(absent).is_none(), "{absent}");
    }
    world.moves(&blocker, "complete");
    assert_eq!(world.ok("get_blocked_items", json!({})), json!({ "blockedItems": [], "total": 0 }));
}

#[test]
fn a_list_of_blocked_items_that_is_cut_says_so_and_goes_on() {
    let world = World::new();
    let fill = |count: usize, parent: Option<&str>| {
        let items: Vec<Value> = (0..count)
            .map(|n| json!({ "title": format!("aside {n}"), "role": "blocked", "parentId": parent }))
            .collect();
        let made = world.ok("manage_items", json!({ "operation": "create", "items": items }));
        each(&made["items"], "id")
    };
    let mut made: Vec<String> = (0..2).flat_map(|_| fill(200, None)).collect();
    let whole = world.ok("get_blocked_items", json!({}));
    assert_eq!((&whole["total"], names(&whole)), (&json!(400), vec!["blockedItems", "total"]), "nothing is left out");
    made.extend(fill(3, None));
    let first = world.ok("get_blocked_items", json!({}));
    assert_eq!((&first["total"], &first["truncated"]), (&json!(400), &json!(true)));
    let rest = world.ok("get_blocked_items", json!({ "cursor": first["nextCursor"] }));
    assert_eq!((&rest["total"], names(&rest)), (&json!(3), vec!["blockedItems", "total"]));
    let mut listed = each(&first["blockedItems"], "itemId");
    listed.extend(each(&rest["blockedItems"], "itemId"));
    listed.sort();
    made.sort();
    assert_eq!(listed, made, "each of them once");
    let elsewhere = json!({ "cursor": first["nextCursor"], "parentId": made[0] });
    for arguments in [json!({ "cursor": "nonsense" }), elsewhere] {
        assert_eq!(world.err("get_blocked_items", arguments.clone())["reason"], "bad_cursor", "{arguments}");
    }
    assert_eq!(world.err("get_blocked_items", json!({ "cursor": " " }))["field"], "cursor");
}

#[test]
fn an_item_put_aside_is_listed_even_without_blockers() {
    let world = World::new();
    let (parent, done) = (world.item("parent"), world.item("done"));
    let (aside, waiting) = (world.child(&parent, "aside"), world.item("waiting"));
    world.blocks(&done, &aside);
    world.moves(&done, "complete");
    world.moves(&aside, "block");
    world.moves(&waiting, "hold");
    let closed = world.item("closed");
    world.moves(&closed, "cancel");
    let answer = world.ok("get_blocked_items", json!({}));
    assert_eq!(each(&answer["blockedItems"], "blockType"), ["explicit", "explicit"]);
    let row = answer["blockedItems"]
        .as_array()
        .expect("rows")
        .iter()
        .find(|row| row["itemId"] == json!(aside))
        .expect("its row");
    assert_eq!((&row["blockerCount"], &row["blockedBy"][0]["satisfied"]), (&json!(0), &json!(true)));
    assert!(row["blockedBy"][0].get("unblockAt").is_none());
    assert_eq!(each(&world.ok("get_blocked_items", json!({ "parentId": parent }))["blockedItems"], "title"), ["aside"]);
}
