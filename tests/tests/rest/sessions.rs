//! Sessions over REST: from their beginning to their end, and the lists of them.

use serde_json::{Value, json};

use crate::contract::standard;

fn id(value: &Value) -> String {
    value.as_str().unwrap_or_else(|| panic!("{value} is no text")).to_owned()
}

#[test]
fn an_attempt_is_begun_heard_of_and_finished() {
    let web = standard();
    web.item("One");
    let body = json!({"runtime": {"model": "small", "attempt": 1}, "ttlSeconds": 600});
    let begun = web.post("/items/DEFA-1/sessions", &body).with(201);
    assert_eq!((&begun["health"], &begun["key"]), (&json!("active"), &json!("DEFA-1")));
    assert_eq!((&begun["held"]["fence"], &begun["started"]["toStatus"]), (&json!(1), &json!("in_progress")));
    let session = id(&begun["session"]["id"]);
    let beat = web.post(&format!("/sessions/{session}/heartbeat"), &json!({"text": "lexing", "percent": 10})).with(200);
    assert_eq!((&beat["session"]["progress"]["percent"], &beat["health"]), (&json!(10), &json!("active")));
    assert!(beat["claimExpiresAt"].is_string());
    web.send("POST", &format!("/sessions/{session}/heartbeat"), &[], None).with(200);
    let shown = web.get(&format!("/sessions/{session}")).with(200);
    assert_eq!((&shown["progress"]["text"], &shown["status"]), (&json!("lexing"), &json!("in_progress")));
    let finish = |body: &Value| web.post(&format!("/sessions/{session}/finish"), body);
    assert_eq!(finish(&json!({"summary": " "})).reason(422), "blank");
    assert_eq!(finish(&json!({})).reason(422), "missing_field");
    let ended = finish(&json!({"summary": "It lexes.", "head": "abc"})).with(200);
    assert_eq!((&ended["health"], &ended["role"]), (&json!("awaiting_review"), &json!("review")));
    assert_eq!(finish(&json!({"summary": "Again."})).reason(409), "session_ended");
    assert!(web.get("/items/DEFA-1").with(200).get("claim").is_none());
    let verbs: Vec<String> = web.get("/items/DEFA-1/events").with(200)["events"]
        .as_array()
        .expect("events")
        .iter()
        .map(|event| id(&event["verb"]))
        .collect();
    for verb in ["session-begun", "session-beat", "session-ended"] {
        assert!(verbs.iter().any(|known| known == verb), "{verb} is not among {verbs:?}");
    }
    let only = web.get("/items/DEFA-1/events?verbs=session-beat").with(200);
    assert_eq!(only["events"].as_array().map(Vec::len), Some(2), "one event for each sign of life");
}

#[test]
fn sessions_are_listed_by_what_is_asked_for() {
    let web = standard();
    for number in 1..=3 {
        web.item(&format!("Item {number}"));
    }
    let begin =
        |item: &str| id(&web.send("POST", &format!("/items/{item}/sessions"), &[], None).with(201)["session"]["id"]);
    let first = begin("DEFA-1");
    web.post(&format!("/sessions/{first}/cancel"), &json!({"reason": "enough"})).with(200);
    let second = begin("DEFA-2");
    // One claim is all that an agent may hold here: the second attempt is lost to the third.
    let third = begin("DEFA-3");
    let ids = |query: &str| -> Vec<String> {
        let found = web.get(&format!("/sessions{query}")).with(200);
        found["sessions"].as_array().expect("sessions").iter().map(|one| id(&one["id"])).collect()
    };
    assert_eq!(ids(""), [third.clone(), second.clone(), first.clone()]);
    assert_eq!(ids("?item=DEFA-2"), std::slice::from_ref(&second));
    assert_eq!(ids("?state=active"), [third.clone(), second.clone()]);
    assert_eq!(ids("?health=lost"), std::slice::from_ref(&second));
    assert_eq!(ids("?health=active"), std::slice::from_ref(&third));
    assert_eq!(ids("?health=cancelled&item=DEFA-1"), std::slice::from_ref(&first));
    assert_eq!(ids("?project=default&health=stalled"), Vec::<String>::new());
    assert_eq!(ids("?actor=nobody"), Vec::<String>::new());
    let page = web.get("/sessions?limit=2").with(200);
    assert_eq!(ids(&format!("?limit=2&cursor={}", id(&page["nextCursor"]))), [first]);
    for (query, reason) in [
        ("?health=well", "unknown_value"),
        ("?state=gone", "unknown_value"),
        ("?limit=0", "bad_value"),
        ("?cursor=x", "bad_cursor"),
        ("?agent=x", "unknown_field"),
    ] {
        assert_eq!(web.get(&format!("/sessions{query}")).reason(422), reason, "{query}");
    }
    assert_eq!(web.get("/sessions?item=DEFA-9").reason(404), "not_found");
    assert_eq!(web.get("/sessions/01K7SA4Z0C8R5QY3M2B1N0V9XT").reason(404), "not_found");
    assert_eq!(web.get("/sessions/nonsense").reason(422), "bad_id");
    assert_eq!(web.post(&format!("/sessions/{second}/heartbeat"), &json!({})).reason(409), "claim_lost");
    assert_eq!(web.post(&format!("/sessions/{third}/heartbeat"), &json!({"percent": 101})).reason(422), "bad_value");
    let bad = json!({"runtime": {"a": {"b": 1}}});
    assert_eq!(web.post("/items/DEFA-1/sessions", &bad).reason(422), "bad_value");
    assert_eq!(web.post("/items/DEFA-1/sessions", &json!({"expectedActor": "me"})).reason(409), "actor_mismatch");
}

#[test]
fn a_beginning_that_is_retried_begins_once() {
    let web = standard();
    web.item("One");
    let begin = || web.send("POST", "/items/DEFA-1/sessions", &[("idempotency-key", "b-1")], None);
    let first = begin().with(201);
    assert_eq!(begin().with(201), first);
    assert_eq!(web.send("POST", "/items/DEFA-1/sessions", &[], None).reason(409), "session_open");
}
