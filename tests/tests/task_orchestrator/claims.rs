//! `claim_item` by name, and what a claim means to the other tools.

use std::thread::sleep;
use std::time::Duration;

use serde_json::{Value, json};

use crate::{World, claiming, fresh, names, subagent, text};

pub(crate) fn claim(world: &World, agent: &str, claims: Value) -> Value {
    world.ok("claim_item", claiming(agent, claims, json!([])))
}

pub(crate) fn release(world: &World, agent: &str, item: &str) -> Value {
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
