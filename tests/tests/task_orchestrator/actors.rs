//! Actors in arguments: what they show for being who they say, and what they say twice.

use std::fs::{File, read_to_string};

use serde_json::{Value, json};

use crate::{World, claiming, fresh, start_saying};

/// An actor that shows this.
fn showing(proof: Value) -> Value {
    json!({ "id": "agent-1", "kind": "subagent", "proof": proof })
}

#[test]
fn a_blank_proof_is_none() {
    let world = World::new();
    for blank in ["", " ", " \t\n"] {
        let (item, actor) = (world.item("work"), showing(json!(blank)));
        let claim = json!({ "actor": actor, "requestId": fresh(), "claims": [{ "itemId": item }] });
        let claimed = world.ok("claim_item", claim)["claimResults"][0].clone();
        assert_eq!((&claimed["outcome"], &claimed["claimedBy"]), (&json!("success"), &json!("agent-1")), "{blank:?}");
        let moved = world.moved(json!({ "itemId": item, "trigger": "start", "actor": actor }));
        assert_eq!(
            (&moved["applied"], &moved["verification"]["status"]),
            (&json!(true), &json!("unchecked")),
            "{moved}"
        );
        assert_eq!(moved["actor"], json!({ "id": "agent-1", "kind": "subagent" }), "{blank:?}");
        let note = json!([{ "itemId": item, "key": "k", "role": "work", "actor": actor }]);
        let noted = world.ok("manage_notes", json!({ "operation": "upsert", "notes": note }))["notes"][0].clone();
        assert_eq!(noted["verification"]["status"], "unchecked", "{noted}");
    }
}

#[test]
fn whoever_runs_the_server_is_told_of_an_agent_id_that_is_not_the_actors() {
    let mut world = World::new();
    let item = world.item("work");
    let path = world.folder.path().join("stderr.log");
    let log = File::create(&path).expect("a log");
    world.server = start_saying(&world.folder, log);
    let claim = |agent: &str| json!([{ "itemId": item, "agentId": agent }]);
    let warned = || read_to_string(&path).expect("a log").matches("agentId differs from actor.id").count();
    world.ok("claim_item", claiming("agent-1", claim("agent-1"), json!([])));
    assert_eq!(warned(), 0);
    let answer = world.ok("claim_item", claiming("agent-1", claim("agent-2"), json!([])));
    assert_eq!(answer["claimResults"][0]["claimedBy"], "agent-1", "{answer}");
    assert_eq!(warned(), 1);
    assert!(!read_to_string(&path).expect("a log").contains("agent-2"), "what callers write stays out of the log");
}
