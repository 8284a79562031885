//! `claim_item` by name, and what a claim means to the other tools.

use std::thread::sleep;
use std::time::Duration;

use serde_json::{Value, json};

use crate::{World, claiming, fresh, names, subagent, text};

fn claim(world: &World, agent: &str, claims: Value) -> Value {
    world.ok("claim_item", claiming(agent, claims, json!([])))
}

fn release(world: &World, agent: &str, item: &str) -> Value {
    world.ok("claim_item", claiming(agent, json!([]), json!([{ "itemId": item }])))
}

#[test]
fn a_claim_tells_its_holder_everything() {
    let world = World::new();
    let id = world.item("t");
    let actor = json!({ "id": "worker-agent-7", "kind": "subagent", "parent": "orchestrator-1" });
    let answer = world.ok(
        "claim_item",
        json!({ "claims": [{ "itemId": id, "ttlSeconds": 900 }], "actor": actor, "requestId": fresh() }),
    );
    let row = &answer["claimResults"][0];
    assert_eq!(
        names(row),
        ["claimExpiresAt", "claimedAt", "claimedBy", "fence", "itemId", "originalClaimedAt", "outcome"]
    );
    assert_eq!(
        (&row["itemId"], &row["outcome"], &row["claimedBy"]),
        (&json!(id), &json!("success"), &json!("worker-agent-7"))
    );
    assert_eq!((&row["claimedAt"], &row["fence"]), (&row["originalClaimedAt"], &json!(1)));
    assert_eq!(answer["releaseResults"], json!([]));
    assert_eq!(
        answer["summary"],
        json!({ "claimsTotal": 1, "claimsSucceeded": 1, "claimsFailed": 0, "releasesTotal": 0, "releasesSucceeded": 0, "releasesFailed": 0 })
    );
}

#[test]
fn a_contested_claim_tells_when_and_never_who() {
    let world = World::new();
    let id = world.item("t");
    claim(&world, "agent-1", json!([{ "itemId": id, "ttlSeconds": 420 }]));
    let answer = claim(&world, "agent-2", json!([{ "itemId": id }]));
    let row = &answer["claimResults"][0];
    assert_eq!(
        (&row["outcome"], &row["kind"], &row["contendedItemId"]),
        (&json!("already_claimed"), &json!("transient"), &json!(id))
    );
    let wait = row["retryAfterMs"].as_u64().expect("a time");
    assert!((400_000..=420_000).contains(&wait), "{wait}");
    assert!(!answer.to_string().contains("agent-1"));
    assert_eq!((&answer["summary"]["claimsTotal"], &answer["summary"]["claimsFailed"]), (&json!(1), &json!(1)));
}

#[test]
fn claiming_again_extends_the_lease() {
    let world = World::new();
    let id = world.item("t");
    let first = world.claim("agent-1", &id);
    sleep(Duration::from_millis(20));
    let again = claim(&world, "agent-1", json!([{ "itemId": id, "ttlSeconds": 1800 }]))["claimResults"][0].clone();
    assert_eq!((&again["originalClaimedAt"], &again["fence"]), (&first["originalClaimedAt"], &first["fence"]));
    assert!(text(&again["claimedAt"]) > text(&first["claimedAt"]));
    assert!(text(&again["claimExpiresAt"]) > text(&first["claimExpiresAt"]));
}

#[test]
fn a_new_claim_ends_the_old_one() {
    let world = World::new();
    let (a, b) = (world.item("a"), world.item("b"));
    world.claim("agent-1", &a);
    let answer = claim(&world, "agent-1", json!([{ "itemId": b }]));
    assert_eq!(answer["autoReleased"], json!([a]));
    assert_eq!(world.claim("agent-2", &a)["outcome"], "success");
    assert_eq!(world.claim("agent-2", &b)["outcome"], "already_claimed");
    assert_eq!(world.claim("agent-2", &a)["outcome"], "success", "a failed claim keeps what one had");
}

#[test]
fn claims_of_one_call_end_one_by_one_and_none_ends_another() {
    let world = World::new();
    let (taken, c, d) = (world.item("taken"), world.item("c"), world.item("d"));
    world.claim("agent-1", &taken);
    let missing = fresh();
    let asked = json!([{ "itemId": taken }, { "itemId": missing }, { "itemId": c }, { "itemId": d }, { "itemId": c }]);
    let answer = claim(&world, "agent-3", asked);
    let outcomes: Vec<String> =
        answer["claimResults"].as_array().expect("rows").iter().map(|row| text(&row["outcome"])).collect();
    assert_eq!(outcomes, ["already_claimed", "not_found", "success", "claim_limit", "success"]);
    assert_eq!(answer["claimResults"][3]["itemId"], json!(d));
    assert_eq!((&answer["summary"]["claimsSucceeded"], &answer["summary"]["claimsFailed"]), (&json!(2), &json!(3)));
    assert_eq!(answer.get("autoReleased"), None, "{answer}");
    assert_eq!(world.claim("agent-2", &d)["outcome"], "success");
    assert_eq!(world.claim("agent-1", &c)["outcome"], "already_claimed");
}

#[test]
fn every_open_role_can_be_claimed_and_closed_work_cannot() {
    let world = World::new();
    for role in ["queue", "work", "review", "blocked"] {
        let id = world.made(json!({ "title": role, "role": role }));
        assert_eq!(world.claim("agent-1", &id)["outcome"], "success", "{role}");
    }
    let closed = world.made(json!({ "title": "t", "role": "terminal" }));
    assert_eq!(world.claim("agent-1", &closed), json!({ "itemId": closed, "outcome": "terminal_item" }));
    let missing = fresh();
    assert_eq!(world.claim("agent-1", &missing)["outcome"], "not_found");
    assert_eq!(world.claim("agent-1", "zz")["outcome"], "not_found");
}

#[test]
fn releases_follow_the_claims_of_a_call() {
    let world = World::new();
    let (a, b) = (world.item("a"), world.item("b"));
    let answer = world.ok(
        "claim_item",
        claiming(
            "agent-1",
            json!([{ "itemId": a }]),
            json!([{ "itemId": a }, { "itemId": b }, { "itemId": fresh() }, { "itemId": "zz" }]),
        ),
    );
    let outcomes: Vec<&Value> =
        answer["releaseResults"].as_array().expect("rows").iter().map(|row| &row["outcome"]).collect();
    assert_eq!(outcomes, ["success", "not_claimed_by_you", "not_found", "not_found"]);
    assert_eq!(answer["releaseResults"][0], json!({ "itemId": a, "outcome": "success" }));
    assert_eq!(
        answer["summary"],
        json!({ "claimsTotal": 1, "claimsSucceeded": 1, "claimsFailed": 0, "releasesTotal": 4, "releasesSucceeded": 1, "releasesFailed": 3 })
    );
    world.claim("agent-1", &a);
    assert_eq!(release(&world, "agent-2", &a)["releaseResults"][0]["outcome"], "not_claimed_by_you");
    assert_eq!(release(&world, "agent-1", &a)["releaseResults"][0]["outcome"], "success");
    assert_eq!(world.claim("agent-2", &a)["outcome"], "success");
}

#[test]
fn an_expired_claim_holds_nothing() {
    let world = World::new();
    let id = world.item("t");
    let first = claim(&world, "agent-1", json!([{ "itemId": id, "ttlSeconds": 1 }]))["claimResults"][0].clone();
    sleep(Duration::from_millis(1100));
    let detail = &world.ok("get_context", json!({ "itemId": id }))["claimDetail"];
    assert_eq!((&detail["claimedBy"], &detail["isExpired"]), (&json!("agent-1"), &json!(true)), "expiry is passive");
    assert_eq!(world.moved(json!({ "itemId": id, "trigger": "start", "actor": subagent("agent-3") }))["applied"], true);
    let second = world.claim("agent-2", &id);
    assert_eq!(second["outcome"], "success");
    assert!(second["fence"].as_u64() > first["fence"].as_u64(), "it changed hands");
    assert_eq!(second["originalClaimedAt"], second["claimedAt"]);
}

#[test]
fn arguments_are_checked_before_anything_is_claimed() {
    let world = World::new();
    let id = world.item("t");
    let with = |change: Value| {
        let mut arguments = claiming("agent-1", json!([{ "itemId": id }]), json!([]));
        for (name, value) in change.as_object().expect("fields") {
            arguments[name] = value.clone();
        }
        arguments
    };
    for (change, field) in [
        (json!({ "requestId": null }), "requestId"),
        (json!({ "requestId": "not-a-uuid" }), "requestId"),
        (json!({ "actor": null }), "actor"),
        (json!({ "actor": { "id": " ", "kind": "user" } }), "actor.id"),
        (json!({ "actor": { "id": "x" } }), "actor.kind"),
        (json!({ "claims": [] }), "claims"),
        (json!({ "claims": [{}] }), "claims[0].itemId"),
        (json!({ "claims": "x" }), "claims"),
        (json!({ "claims": [{ "itemId": id, "ttlSecond": 5 }] }), "claims[0].ttlSecond"),
        (json!({ "releases": [{}] }), "releases[0].itemId"),
    ] {
        let error = world.err("claim_item", with(change.clone()));
        assert_eq!((&error["code"], &error["field"]), (&json!("VALIDATION_ERROR"), &json!(field)), "{change}");
    }
    for ttl in [
        json!(0),
        json!(-1),
        json!(86_401),
        json!(0.5),
        json!("900"),
        json!(9_223_372_036_854_775_807_i64),
        json!(1e18),
        json!(true),
    ] {
        let error = world.err("claim_item", with(json!({ "claims": [{ "itemId": id, "ttlSeconds": ttl }] })));
        assert_eq!((&error["reason"], &error["field"]), (&json!("bad_ttl"), &json!("claims[0].ttlSeconds")), "{ttl}");
    }
    assert!(world.ok("get_context", json!({ "itemId": id })).get("claimDetail").is_none(), "nothing was claimed");
    let row = claim(&world, "agent-1", json!([{ "itemId": id, "ttlSeconds": null, "agentId": "somebody-else" }]))["claimResults"][0].clone();
    assert_eq!(row["claimedBy"], "agent-1", "the actor holds it, whatever agentId says");
}

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
fn the_beginning_of_an_id_claims_and_releases() {
    let world = World::new();
    let id = world.item("only");
    let digits: String = id.chars().filter(|c| *c != '-').collect();
    let answer = claim(&world, "agent-1", json!([{ "itemId": digits[..6] }]));
    let row = &answer["claimResults"][0];
    assert_eq!((&row["itemId"], &row["outcome"]), (&json!(id), &json!("success")), "the answer names it whole");
    assert_eq!(world.ok("get_context", json!({ "itemId": id }))["claimDetail"]["claimedBy"], "agent-1");
    let released = release(&world, "agent-1", &digits[..4].to_uppercase())["releaseResults"][0].clone();
    assert_eq!(released["outcome"], "success", "{released}");
    assert!(world.ok("get_context", json!({ "itemId": id })).get("claimDetail").is_none());
    assert_eq!(world.claim("agent-1", "ffff")["outcome"], "not_found", "it begins otherwise");
}

#[test]
fn a_claim_lasts_fifteen_minutes_where_nothing_is_said() {
    let world = World::new();
    let id = world.item("t");
    world.claim("agent-1", &id);
    let wait = world.claim("agent-2", &id)["retryAfterMs"].as_u64().expect("a time");
    assert!((890_000..=900_000).contains(&wait), "{wait}");
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

#[test]
fn a_strict_policy_lets_nobody_claim_unproven() {
    let world = World::started("", &[], &[("DEGRADED_MODE_POLICY", "Reject")]);
    let id = world.item("t");
    let answer = world.ok(
        "claim_item",
        claiming("agent-1", json!([{ "itemId": id }, { "itemId": fresh() }]), json!([{ "itemId": id }])),
    );
    let outcomes: Vec<&Value> =
        answer["claimResults"].as_array().expect("rows").iter().map(|row| &row["outcome"]).collect();
    assert_eq!(outcomes, ["rejected_by_policy", "rejected_by_policy"]);
    assert_eq!(answer["releaseResults"][0]["outcome"], "rejected_by_policy");
    assert_eq!((&answer["summary"]["claimsFailed"], &answer["summary"]["claimsTotal"]), (&json!(2), &json!(2)));
    let row = world.moved(json!({ "itemId": id, "trigger": "start", "actor": subagent("agent-1") }));
    assert_eq!((&row["applied"], &row["errorCode"]), (&json!(false), &json!("rejected_by_policy")));
    assert_eq!(world.get(&id)["role"], "queue");
}

#[test]
fn a_fixed_actor_acts_where_nobody_is_named() {
    let world = World::started("", &["--actor", "orchestrator:boss"], &[]);
    let id = world.item("t");
    world.claim("boss", &id);
    assert_eq!(world.advance(&id, "start")["applied"], true, "the connection's own actor holds it");
    let row = world.moved(json!({ "itemId": id, "trigger": "block", "actor": subagent("helper") }));
    assert_eq!(row["errorCode"], "not_claim_holder");
    let other = world.item("o");
    let row = world.moved(json!({ "itemId": other, "trigger": "start", "actor": subagent("helper") }));
    assert_eq!(row["actor"], json!({ "id": "helper", "kind": "subagent", "parent": "boss" }), "recorded as delegation");
}
