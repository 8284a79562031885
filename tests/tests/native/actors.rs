//! Actors in arguments, and what they show for being who they say.

use serde_json::json;

use crate::World;

#[test]
fn a_blank_proof_is_none() {
    let world = World::new();
    for blank in ["", " ", " \t"] {
        let actor = json!({ "id": "ann", "kind": "subagent", "proof": blank });
        let key = world.plan(json!([{ "title": "x", "status": "ready" }])).remove(0);
        world.ok("work", json!({ "phase": "start", "id": key, "actor": actor }));
        world.ok("annotate", json!({ "id": key, "comment": "mine", "actor": actor }));
        world.ok("work", json!({ "phase": "release", "id": key, "actor": actor }));
    }
}
