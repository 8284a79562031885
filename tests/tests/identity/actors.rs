//! Actors over REST: who must be named, and what is shown for being them.

use docket_tests::web::{Reply, Web};
use serde_json::{Value, json};

use crate::sign::{Signer, claims, set};

/// A server that checks proofs against this key.
fn serve(signer: &Signer, identity: &str) -> (Web, tempfile::TempDir) {
    let folder = tempfile::tempdir().expect("a folder");
    let toml = format!(
        "[identity]\n{identity}\n[identity.proofs]\njwks_path = \"jwks.json\"\nissuer = \"https://issuer\"\naudience = \"docket\"\n"
    );
    std::fs::write(folder.path().join("jwks.json"), set(&[signer])).expect("keys");
    let word = format!("sqlite:{}", folder.path().join("work.db").display());
    // The first item is there before anybody asks who makes it.
    let web = Web::serving(&word, folder.path(), |_| {});
    web.item("Work");
    drop(web);
    std::fs::write(folder.path().join("docket.toml"), toml).expect("docket.toml");
    (Web::serving(&word, folder.path(), |_| {}), folder)
}

fn claim(web: &Web, headers: &[(&str, &str)]) -> Reply {
    web.send("PUT", "/items/DEFA-1/claim", headers, Some(b"{}"))
}

fn proof(signer: &Signer, sub: &str) -> String {
    signer.sign(&claims(json!({ "sub": sub })))
}

#[test]
fn writes_name_their_actor_where_that_is_asked_for() {
    let signer = Signer::new("k1");
    let (web, _folder) = serve(&signer, "require_actor = true");
    let unnamed = web.post("/items", &json!({"title": "Whose?"})).error(422);
    assert_eq!(
        (&unnamed["reason"], &unnamed["field"]),
        (&json!("actor_required"), &json!("x-docket-actor")),
        "{unnamed}"
    );
    assert_eq!(claim(&web, &[]).reason(422), "actor_required");
    assert_eq!(web.json("PUT", "/items/DEFA-1/notes/plan", &json!({"body": "x"})).reason(422), "actor_required");
    web.get("/items").with(200);
    let ann = ("x-docket-actor", "subagent:ann");
    web.send("POST", "/items", &[ann], Some(br#"{"title":"Ann's"}"#)).with(201);
    claim(&web, &[ann]).with(200);
    // Over MCP the same header says it for all calls of a client.
    let call = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {
        "name": "advance_item", "arguments": {"transitions": [{"itemId": "DEFA-1", "trigger": "start"}]}}});
    let rpc = |headers: &[(&str, &str)]| {
        let accept = [("accept", "application/json, text/event-stream"), ("mcp-protocol-version", "2025-11-25")];
        let headers: Vec<_> = accept.iter().chain(headers).copied().collect();
        web.to("POST", "/mcp/task-orchestrator", &headers, Some(call.to_string().as_bytes())).with(200).to_string()
    };
    assert!(rpc(&[]).contains("actor_required") || rpc(&[]).contains("actor is required"), "{}", rpc(&[]));
    assert!(rpc(&[ann]).contains("\"applied\":true"), "{}", rpc(&[ann]));
}

#[test]
fn a_proof_in_a_header_decides_who_acts() {
    let signer = Signer::new("k1");
    let (web, _folder) = serve(&signer, "degraded_mode_policy = \"reject\"");
    let actor = ("x-docket-actor", "subagent:ann");
    assert_eq!(claim(&web, &[]).reason(403), "rejected_by_policy", "nobody is named");
    assert_eq!(claim(&web, &[actor]).reason(403), "rejected_by_policy", "and nothing is shown");
    let stranger = proof(&Signer::new("k1"), "ann");
    assert_eq!(claim(&web, &[actor, ("x-docket-actor-proof", &stranger)]).reason(403), "rejected_by_policy");
    let bob = proof(&signer, "bob");
    let shown = ("x-docket-actor-proof", bob.as_str());
    claim(&web, &[actor, shown]).with(200);
    assert_eq!(web.get("/items/DEFA-1").with(200)["claim"]["holder"], json!("bob"), "whom the proof names");
    let start = json!({"trigger": "start"}).to_string();
    let moved = web.send("POST", "/items/DEFA-1/transitions", &[actor, shown], Some(start.as_bytes())).with(200);
    let events = web.get("/items/DEFA-1/events").with(200);
    let by: Vec<&Value> =
        events["events"].as_array().expect("events").iter().filter(|event| event["verb"] == "moved").collect();
    assert_eq!(by[0]["by"]["actor"]["id"], json!("bob"), "{moved}");
    assert_eq!(by[0]["by"]["verification"]["status"], json!("verified"), "{events}");
    assert_eq!(by[0]["by"]["verification"]["metadata"]["statedId"], json!("ann"), "{events}");
    assert!(!events.to_string().contains(&bob), "a credential is told");
    for bad in [vec![shown], vec![actor, shown, shown], vec![actor, actor]] {
        assert_eq!(claim(&web, &bad).status, 422, "{bad:?}");
    }
}
