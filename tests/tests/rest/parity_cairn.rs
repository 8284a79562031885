//! The same act by `cairn`, over stdio and HTTP, by the native tools, REST and the command line: checks, runs, claims, sessions.

use serde_json::{Value, json};

use crate::parity_surfaces::{Act, NEVER, Step, compare, desk, step};

fn cairn_steps() -> Vec<Step> {
    let moved = |name, id: &'static str, to: &'static str, path, cli| {
        Act::new(name, "transition", json!({ "id": id, "to": to }), ("POST", path, json!({ "status": to })), cli)
            .native("advance", json!({ "id": id, "to": to }))
    };
    let first = "/items/DEFA-1/transitions";
    let close: &[&str] = &["advance", "DEFA-1", "done"];
    let run = |name, only: Value, cli| {
        let mut arguments = json!({ "id": "DEFA-1" });
        if !only.is_null() {
            arguments["only"] = only.clone();
        }
        let body = if only.is_null() { json!({}) } else { json!({ "only": only }) };
        Act::new(name, "run_checks", arguments, ("POST", "/items/DEFA-1/checks/run", body.clone()), cli)
            .native("contract", json!({ "id": "DEFA-1", "run": body }))
    };
    let acts = vec![
        run("checks that fail", Value::Null, &["check", "run", "DEFA-1"]),
        run("a check that is not there", json!([9]), &["check", "run", "DEFA-1", "--only", "9"]).refused("VALIDATION"),
        moved("close what is not shown", "DEFA-1", "done", first, close).refused("RULE_BLOCKED"),
        moved(
            "begin what waits",
            "DEFA-2",
            "in_progress",
            "/items/DEFA-2/transitions",
            &["advance", "DEFA-2", "in_progress"],
        )
        .refused("RULE_BLOCKED"),
        moved("an item that is none", "DEFA-99", "done", "/items/DEFA-99/transitions", &["advance", "DEFA-99", "done"])
            .refused("NOT_FOUND"),
    ];
    let shown = vec![
        run("checks that pass", json!([0]), &["check", "run", "DEFA-1", "--only", "0"]),
        moved("close what is shown", "DEFA-1", "done", first, close),
        moved("open it again", "DEFA-1", "backlog", first, &["advance", "DEFA-1", "backlog"]),
        moved(
            "close what only a person can show",
            "DEFA-3",
            "done",
            "/items/DEFA-3/transitions",
            &["advance", "DEFA-3", "done"],
        )
        .refused("RULE_BLOCKED"),
    ];
    let all = acts.into_iter().map(step).chain([Step::Mend]).chain(shown.into_iter().map(step));
    all.chain(cairn_claims().into_iter().chain(cairn_sessions()).chain(cairn_ends()).map(step)).collect()
}

fn cairn_claims() -> Vec<Act> {
    let claim =
        |name, id: &'static str, path, cli| Act::new(name, "claim", json!({ "id": id }), ("PUT", path, json!({})), cli);
    let words: &[&str] = &["claim", "DEFA-4"];
    vec![
        claim("claim", "DEFA-4", "/items/DEFA-4/claim", words),
        claim("claim what another holds", "DEFA-4", "/items/DEFA-4/claim", words).by("agent:bob").refused("CONFLICT"),
        claim("claim what is not there", "DEFA-99", "/items/DEFA-99/claim", &["claim", "DEFA-99"]).refused("NOT_FOUND"),
        Act::new(
            "a word about it",
            "note",
            json!({ "id": "DEFA-4", "text": "upstream waits" }),
            ("POST", "/items/DEFA-4/comments", json!({ "comment": "upstream waits" })),
            &["comment", "DEFA-4", "upstream waits"],
        )
        .native("annotate", json!({ "id": "DEFA-4", "comment": "upstream waits" })),
        Act::new(
            "no word about it",
            "note",
            json!({ "id": "DEFA-4", "text": " " }),
            ("POST", "/items/DEFA-4/comments", json!({ "comment": " " })),
            &["comment", "DEFA-4", " "],
        )
        .native("annotate", json!({ "id": "DEFA-4", "comment": " " }))
        .refused("VALIDATION"),
    ]
}

fn cairn_sessions() -> Vec<Act> {
    let begin = |name, actor: &'static str, key: &str| {
        let arguments = json!({ "task": "DEFA-4", "expected_actor": actor, "idempotency_key": key });
        Act::new(
            name,
            "begin",
            arguments,
            ("POST", "/items/DEFA-4/sessions", json!({})),
            &["session", "begin", "DEFA-4"],
        )
        .by(actor)
    };
    let beat = |name, percent: u8, cli| {
        let arguments = json!({ "session": "SESSION", "progress": { "text": "half", "percent": percent } });
        let body = json!({ "text": "half", "percent": percent });
        Act::new(name, "heartbeat", arguments, ("POST", "/sessions/SESSION/heartbeat", body), cli).native(
            "work",
            json!({ "phase": "heartbeat", "session": "SESSION", "progress": "half", "percent": percent }),
        )
    };
    let half: &[&str] = &["session", "heartbeat", "SESSION", "half", "--percent", "50"];
    vec![
        begin("begin what another holds", "agent:bob", "k-1").refused("CONFLICT"),
        begin("begin", "agent:ann", "k-2"),
        begin("begin what is begun", "agent:ann", "k-3").refused("CONFLICT"),
        beat("a sign of life", 50, half),
        beat("one of another", 50, half).by("agent:bob").refused("FORBIDDEN"),
        beat("more than all of it", 101, &["session", "heartbeat", "SESSION", "half", "--percent", "101"])
            .refused("VALIDATION"),
        Act::new(
            "of an attempt that never was",
            "heartbeat",
            json!({ "session": NEVER, "progress": "half" }),
            ("POST", "/sessions/01JZK3V5Q8X4R2M7N9P6T1B0CD/heartbeat", json!({ "text": "half" })),
            &["session", "heartbeat", NEVER, "half"],
        )
        .native("work", json!({ "phase": "heartbeat", "session": NEVER, "progress": "half" }))
        .refused("NOT_FOUND"),
    ]
}

/// How attempts end, and what is asked of those that never were.
fn cairn_ends() -> Vec<Act> {
    let end = |name, verb: &'static str, field: &str, words: &str, path, cli| {
        let (mut arguments, mut body) = (json!({ "session": "SESSION" }), json!({}));
        arguments[field] = json!(words);
        body[field] = json!(words);
        Act::new(name, verb, arguments, ("POST", path, body), cli)
    };
    let finish = "/sessions/SESSION/finish";
    vec![
        end("finish without a word", "finish", "summary", " ", finish, &["session", "finish", "SESSION", " "])
            .refused("VALIDATION"),
        end("finish what is another's", "finish", "summary", "mine", finish, &["session", "finish", "SESSION", "mine"])
            .by("agent:bob")
            .refused("FORBIDDEN"),
        end("finish", "finish", "summary", "It works.", finish, &["session", "finish", "SESSION", "It works."]),
        end(
            "give up what is finished",
            "cancel",
            "reason",
            "no",
            "/sessions/SESSION/cancel",
            &["session", "cancel", "SESSION", "no"],
        )
        .refused("CONFLICT"),
        Act::new(
            "look at an attempt that never was",
            "get_session",
            json!({ "session": NEVER }),
            ("GET", "/sessions/01JZK3V5Q8X4R2M7N9P6T1B0CD", Value::Null),
            &["session", "show", NEVER],
        )
        .refused("NOT_FOUND"),
        Act::new(
            "look for a health that is none",
            "list_sessions",
            json!({ "health": "well" }),
            ("GET", "/sessions?health=well", Value::Null),
            &["session", "list", "--health", "well"],
        )
        .native("find", json!({ "what": "sessions", "health": "well" }))
        .refused("VALIDATION"),
    ]
}

#[test]
fn every_way_in_answers_and_does_the_same_as_cairn() {
    compare(false, "cairn", desk, cairn_steps);
}

#[test]
fn they_do_on_a_server() {
    compare(true, "cairn", desk, cairn_steps);
}
