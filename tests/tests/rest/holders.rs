//! Two keys that state the same actor: each has its own claims, whatever names it gives.

use docket_tests::web::Web;
use serde_json::{Value, json};

use crate::callers::{database, key};

#[test]
fn two_keys_that_state_the_same_actor_share_no_claim() {
    let (_folder, database) = database();
    let one = key(&database, &["--profile", "worker", "--name", "one"]);
    let two = key(&database, &["--profile", "worker", "--name", "two"]);
    let web = Web::on(&database, |_| {});
    let send = |key: &str, method: &str, path: &str, body: &Value| {
        let headers = [("authorization", key), ("x-docket-actor", "agent:ann")];
        web.send(method, path, &headers, Some(body.to_string().as_bytes()))
    };
    let held = send(&one, "PUT", "/items/WEB-1/claim", &json!({})).with(200);
    let fence = held["fence"].clone();
    assert!(fence.is_u64(), "{held}");
    // To claim it, write to it, move it, renew it or give it back is for whoever shows the same key.
    assert_eq!(send(&two, "PUT", "/items/WEB-1/claim", &json!({})).reason(409), "already_claimed");
    assert_eq!(send(&two, "PATCH", "/items/WEB-1", &json!({"title": "Mine"})).reason(409), "already_claimed");
    let start = json!({"trigger": "start"});
    assert_eq!(send(&two, "POST", "/items/WEB-1/transitions", &start).status, 409);
    // With what the other was given it is told that it is not its own.
    let stolen = json!({"title": "Mine", "fence": fence});
    assert_eq!(send(&two, "PATCH", "/items/WEB-1", &stolen).reason(403), "foreign_claim");
    let own = json!({"title": "Still in web", "fence": fence});
    assert_eq!(send(&one, "PATCH", "/items/WEB-1", &own).status, 200);
    // Whoever asks for the item sees which of the two holds it, and each key finds its own by the name that it gave.
    let shown = send(&two, "GET", "/items/WEB-1", &json!({})).with(200);
    let holder = shown["claim"]["holder"].as_str().unwrap_or_default().to_owned();
    assert!(holder.starts_with("ann (key:one:") && holder.ends_with(')'), "{shown}");
    let total = |key: &str, name: &str| {
        let name = name.replace(' ', "%20").replace('(', "%28").replace(')', "%29");
        send(key, "GET", &format!("/items?heldBy={name}"), &json!({})).with(200)["total"].clone()
    };
    assert_eq!((total(&one, "ann"), total(&two, "ann"), total(&two, &holder)), (json!(1), json!(0), json!(1)));
    // The event names the actor as it was stated, and the key.
    let events = send(&one, "GET", "/items/WEB-1/events", &json!({}));
    let events = events.with(200).to_string();
    assert!(events.contains("\"ann\"") && events.contains("key:one:"), "{events}");
    // Without keys, names are the local user's, and as ever.
    assert_eq!(send(&one, "DELETE", "/items/WEB-1/claim", &json!({})).status / 100, 2);
    assert_eq!(send(&two, "PUT", "/items/WEB-1/claim", &json!({})).status, 200);
}

/// Writes on WEB-1 that are no moves, over REST.
fn writes() -> [(&'static str, &'static str, Value); 7] {
    [
        ("PATCH", "/items/WEB-1", json!({"title": "Mine"})),
        ("PUT", "/items/WEB-1/notes/plan", json!({"body": "words"})),
        ("PUT", "/items/WEB-1/brief", json!({"acceptanceCriteria": null})),
        ("POST", "/items/WEB-1/evidence", json!({"criteria": [{"id": "c1", "passed": true}]})),
        ("PUT", "/items/WEB-1/checks", json!({"checks": [{"type": "manual", "desc": "look"}]})),
        ("POST", "/items/WEB-1/finish", json!({"comment": "done"})),
        ("POST", "/items/WEB-1/questions", json!({"question": "which?"})),
    ]
}

#[test]
fn a_key_that_names_no_actor_writes_on_nothing_that_another_key_holds() {
    let (_folder, database) = database();
    let [one, two] = ["one", "two"].map(|name| key(&database, &["--profile", "worker", "--name", name]));
    let person = key(&database, &["--profile", "operator", "--name", "bob"]);
    let web = Web::on(&database, |_| {});
    let send = |key: &str, method: &str, path: &str, body: &Value| {
        web.send(method, path, &[("authorization", key)], Some(body.to_string().as_bytes()))
    };
    let criteria = json!({"acceptanceCriteria": ["it works"]});
    send(&one, "PUT", "/items/WEB-1/brief", &criteria).with(200);
    send(&one, "POST", "/items/WEB-1/begin", &json!({})).with(200);
    let before = send(&one, "GET", "/items/WEB-1", &json!({})).with(200);
    for (method, path, body) in writes() {
        assert_eq!(send(&two, method, path, &body).reason(409), "already_claimed", "{method} {path}");
    }
    for (tool, arguments) in [
        ("edit", json!({"items": [{"id": "WEB-1", "title": "Mine"}]})),
        ("contract", json!({"id": "WEB-1", "verify": [{"id": "c1", "passed": true, "note": "seen"}]})),
        ("contract", json!({"id": "WEB-1", "brief": {"acceptanceCriteria": null}})),
        ("annotate", json!({"id": "WEB-1", "notes": [{"key": "plan", "body": "words"}]})),
        ("ask", json!({"id": "WEB-1", "question": "which?"})),
    ] {
        let answer = web.tool("docket", &[("authorization", two.as_str())], tool, &arguments);
        assert!(answer.content.to_string().contains("already_claimed"), "{tool} {arguments}: {}", answer.content);
    }
    assert_eq!(send(&one, "GET", "/items/WEB-1", &json!({})).with(200), before, "nothing was changed");
    // All may speak of it, its holder writes without naming itself, and a person's key sets it right.
    send(&two, "POST", "/items/WEB-1/comments", &json!({"comment": "hm"})).with(201);
    send(&person, "PATCH", "/items/WEB-1", &json!({"title": "Right"})).with(200);
    let shown = web.tool("docket", &[("authorization", one.as_str())], "contract", &writes_of_the_holder());
    assert!(!shown.is_error, "{}", shown.content);
    assert!(send(&one, "GET", "/items/WEB-1", &json!({})).with(200)["claim"].is_object());
}

fn writes_of_the_holder() -> Value {
    json!({"id": "WEB-1", "verify": [{"id": "c1", "passed": true, "note": "seen"}]})
}

#[test]
fn the_dialect_names_a_holder_as_its_caller_does() {
    let (_folder, database) = database();
    let one = key(&database, &["--profile", "worker", "--name", "one"]);
    let two = key(&database, &["--profile", "worker", "--name", "two"]);
    let web = Web::on(&database, |_| {});
    let call = |key: &str, tool: &str, arguments: Value| -> Value {
        let params = json!({"name": tool, "arguments": arguments});
        let message = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}).to_string();
        let headers = [
            ("authorization", key),
            ("accept", "application/json, text/event-stream"),
            ("mcp-protocol-version", "2025-11-25"),
        ];
        let reply = web.to("POST", "/mcp/task-orchestrator?project=web", &headers, Some(message.as_bytes())).with(200);
        reply["result"]["structuredContent"].clone()
    };
    let claim = |request: &str| json!({"claims": [{"itemId": "WEB-1"}], "actor": {"id": "worker-7", "kind": "subagent"}, "requestId": request});
    let held = call(&one, "claim_item", claim("5a0e8b8e-6a52-4c7c-9d0c-0f54f4c3d0a1"));
    assert_eq!(held["claimResults"][0]["outcome"], json!("success"), "{held}");
    assert_eq!(held["claimResults"][0]["claimedBy"], json!("worker-7"), "{held}");
    let refused = call(&two, "claim_item", claim("5a0e8b8e-6a52-4c7c-9d0c-0f54f4c3d0a2"));
    assert_eq!(refused["claimResults"][0]["outcome"], json!("already_claimed"), "{refused}");
    let seen = |key: &str| call(key, "get_context", json!({"itemId": "WEB-1"}))["claimDetail"]["claimedBy"].clone();
    assert_eq!(seen(&one), json!("worker-7"));
    let other = seen(&two).to_string();
    assert!(other.starts_with("\"worker-7 (key:one:"), "{other}");
}
