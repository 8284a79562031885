//! Checks by tools: writing them, what a packet shows, and what only a person does.

use serde_json::{Value, json};

use crate::{World, agent, text};

fn two() -> Value {
    json!([{ "desc": "zebra tests", "cmd": "zebra --all", "timeout": 30 }, { "desc": "zebra looked" }])
}

#[test]
fn checks_are_added_replaced_and_shown_with_words_apart() {
    let world = World::new();
    let key = world.item("One");
    let set = world.ok("contract", json!({ "id": key, "checks": two() }));
    assert_eq!(set["trusted"]["verification"], "command", "{set}");
    assert_eq!(
        set["trusted"]["checks"]["rows"],
        json!([
            { "index": 0, "status": "pending", "type": "command", "timeout": 30 },
            { "index": 1, "status": "pending", "type": "manual" },
        ])
    );
    assert_eq!(set["untrusted"]["checks"]["rows"][0], json!({ "desc": "zebra tests", "cmd": "zebra --all" }));
    for read in [
        world.get(&key),
        world.ok("get", json!({ "id": key, "profile": "compact", "include": ["checks"] })),
        world.ok("contract", json!({ "id": key })),
        world.ok("work", json!({ "phase": "start", "id": key, "actor": agent("a") })),
    ] {
        assert_eq!(read["trusted"]["checks"]["rows"][1]["type"], "manual", "{read}");
        assert_eq!(read["untrusted"]["checks"]["rows"][0]["cmd"], "zebra --all", "{read}");
        assert!(!read["trusted"].to_string().contains("zebra"), "{read}");
    }
    let more = world.ok("contract", json!({ "id": key, "checks": [{ "desc": "third" }], "actor": agent("a") }));
    assert_eq!(more["trusted"]["checks"]["rows"].as_array().map(Vec::len), Some(3), "{more}");
    let less = world.ok(
        "contract",
        json!({ "id": key, "checks": [{ "desc": "third" }], "replace": true, "version": more["trusted"]["version"], "actor": agent("a") }),
    );
    assert_eq!(less["untrusted"]["checks"]["rows"], json!([{ "desc": "third" }]), "{less}");
    let none = world.ok("contract", json!({ "id": key, "checks": null, "replace": true, "actor": agent("a") }));
    assert!(none["trusted"].get("checks").is_none(), "{none}");
}

#[test]
fn what_does_not_fit_is_refused() {
    let world = World::new();
    let key = world.item("One");
    for (arguments, reason, field) in [
        (json!({ "checks": [{ "desc": "x", "comand": "true" }] }), "unknown_field", "checks[0].comand"),
        (json!({ "checks": [{ "desc": "x", "cmd": "true", "cwd": ".." }] }), "outside_worktree", "checks[0].cwd"),
        (json!({ "checks": [{ "desc": "x", "cmd": "true", "timeout": -1 }] }), "bad_value", "checks[0].timeout"),
        (json!({ "checks": "x" }), "bad_value", "checks"),
        (json!({ "checks": null }), "bad_value", "checks"),
        (json!({ "checks": [], "run": {} }), "bad_value", "checks"),
        (json!({ "run": {}, "brief": {} }), "bad_value", "run"),
        (json!({ "run": { "only": [-1] } }), "bad_value", "run.only"),
        (json!({ "run": { "only": ["x"] } }), "bad_value", "run.only"),
        (json!({ "run": { "all": true } }), "unknown_field", "run.all"),
        (json!({ "cancel": "x" }), "bad_id", "cancel"),
    ] {
        let mut call = arguments.clone();
        call["id"] = json!(key);
        let error = world.err("contract", call);
        assert_eq!((&error["reason"], &error["field"]), (&json!(reason), &json!(field)), "{arguments}: {error}");
    }
    world.ok("contract", json!({ "id": key, "checks": two() }));
    // Here too a command runs only where a person or the operator lets it.
    let refused = world.err("contract", json!({ "id": key, "run": {} }));
    assert_eq!(
        (&refused["reason"], &refused["code"]),
        (&json!("check_not_approved"), &json!("FORBIDDEN")),
        "{refused}"
    );
    let refused = world.err("contract", json!({ "id": key, "run": { "only": [9] } }));
    assert_eq!((&refused["reason"], &refused["code"]), (&json!("bad_value"), &json!("VALIDATION")), "{refused}");
    // Whoever calls a tool is an agent, whatever it says of itself.
    for act in [json!({ "approve": [0] }), json!({ "attest": 1 })] {
        let mut call = act;
        call["id"] = json!(key);
        call["actor"] = json!({ "id": "ann", "kind": "user" });
        assert_eq!(world.err("contract", call)["reason"], "not_yours");
    }
}

#[test]
fn a_refused_close_names_checks_without_their_words() {
    let world = World::new();
    let key = world.item("One");
    world.ok("contract", json!({ "id": key, "checks": two() }));
    world.moves(&key, "start");
    let error = world.err("advance", json!({ "id": key, "to": "complete" }));
    let refusal = &error["refusals"][0];
    assert_eq!(
        (&refusal["gate"], &refusal["message"]),
        (&json!("checks"), &json!("checks have not passed")),
        "{error}"
    );
    let open = json!([{ "index": 0, "status": "pending" }, { "index": 1, "status": "pending" }]);
    assert_eq!(refusal["checks"], open, "{error}");
    assert!(!error.to_string().contains("zebra"), "{error}");
}

#[test]
fn runs_are_found_in_pages_and_given_up() {
    let world = World::new();
    let key = world.item("One");
    let checks: Vec<Value> = (0..3).map(|number| json!({ "desc": format!("zebra {number}"), "cmd": "true" })).collect();
    world.ok("contract", json!({ "id": key, "checks": checks }));
    world.moves(&key, "start");
    world.submits(&key);
    let first = world.ok("find", json!({ "what": "runs", "id": key, "limit": 2 }));
    let second = world.ok("find", json!({ "what": "runs", "id": key, "cursor": first["trusted"]["cursor"] }));
    let rows = |page: &Value| page["trusted"]["rows"].as_array().cloned().unwrap_or_default();
    assert_eq!((rows(&first).len(), rows(&second).len()), (2, 1), "{first} {second}");
    assert!(second["trusted"].get("cursor").is_none(), "{second}");
    assert!(
        !first["trusted"].to_string().contains("zebra") && first["untrusted"].to_string().contains("zebra"),
        "{first}"
    );
    let run = text(&rows(&first)[0]["run"]);
    assert_eq!(world.err("find", json!({ "what": "runs", "id": key, "cursor": "x" }))["reason"], "bad_cursor");
    let log = world.ok("find", json!({ "what": "log", "id": run }));
    assert_eq!((&log["trusted"]["run"]["state"], &log["trusted"]["log"]["logBytes"]), (&json!("queued"), &json!(0)));
    let other = world.item("Two");
    assert_eq!(world.err("contract", json!({ "id": other, "cancel": run }))["code"], "NOT_FOUND");
    let cancelled = world.ok("contract", json!({ "id": key, "cancel": run }));
    assert_eq!(cancelled["trusted"]["runs"]["rows"][0]["state"], "cancelled", "{cancelled}");
    assert_eq!(world.err("contract", json!({ "id": key, "cancel": run }))["reason"], "run_ended");
}
