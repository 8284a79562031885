//! Moves, claims, the queue, notes and edges.

use std::time::{Duration, Instant};

use docket_tests::web::Web;
use serde_json::json;

#[test]
fn an_item_moves_and_says_what_follows() {
    let web = Web::start();
    let (first, second) = (web.item("First"), web.item("Second"));
    web.post("/edges", &json!({"from": first, "to": second})).with(201);
    let path = format!("/items/{first}/transitions");
    let moved = web.post(&path, &json!({"trigger": "complete", "summary": "done"}));
    assert_eq!(moved.with(200)["unblocked"][0]["title"], json!("Second"));
    assert_eq!(moved.header("etag"), "\"2\"");
    let reopened = web.post(&path, &json!({"status": "queue"}));
    assert!(matches!(reopened.status, 200 | 409), "{}", reopened.status);
    for (body, reason) in [
        (json!({}), "missing_field"),
        (json!({"trigger": "start", "status": "work"}), "bad_value"),
        (json!({"trigger": "cascade"}), "unknown_value"),
        (json!({"trigger": "START"}), "unknown_value"),
        (json!({"triger": "start"}), "unknown_field"),
        (json!({"trigger": null}), "missing_field"),
    ] {
        assert_eq!(web.post(&path, &body).reason(422), reason, "{body}");
    }
    assert_eq!(web.post("/items/DEFA-9/transitions", &json!({"trigger": "start"})).reason(404), "not_found");
}

#[test]
fn one_holds_an_item_at_a_time_and_only_its_own_page_says_who() {
    let web = Web::start();
    let item = web.item("Wanted");
    let path = format!("/items/{item}/claim");
    let ann = [("x-docket-actor", "user:ann")];
    let bob = [("x-docket-actor", "subagent:bob")];
    let held = web.send("PUT", &path, &ann, Some(br#"{"ttlSeconds": 60}"#)).with(200);
    assert_eq!((&held["claim"]["holder"], &held["fence"]), (&json!("ann"), &json!(1)));
    let refused = web.send("PUT", &path, &bob, None);
    let error = refused.error(409);
    assert_eq!((&error["code"], &error["reason"]), (&json!("CONFLICT"), &json!("already_claimed")));
    assert!(error["retryAfterMs"].as_u64().is_some_and(|wait| wait > 50_000 && wait <= 60_000), "{error}");
    assert!(refused.header("retry-after").parse::<u64>().is_ok_and(|wait| wait > 50), "{refused:?}");
    assert!(!String::from_utf8_lossy(&refused.body).contains("ann"), "the holder is not told");
    assert!(!String::from_utf8_lossy(&web.get("/items").body).contains("holder"));
    assert_eq!(web.get(&format!("/items/{item}")).with(200)["claim"]["holder"], json!("ann"));

    // A stale holder writes nothing: not with an old fence, not with a forged one.
    let own = format!("/items/{item}");
    assert_eq!(web.send("PATCH", &own, &bob, Some(br#"{"title":"x"}"#)).status, 409);
    assert_eq!(web.send("PATCH", &own, &ann, Some(br#"{"title":"x","fence":7}"#)).reason(403), "foreign_claim");
    web.send("PATCH", &own, &ann, Some(br#"{"title":"Mine","fence":1}"#)).with(200);

    assert_eq!(web.send("DELETE", &path, &bob, None).reason(409), "not_claimed_by_you");
    web.send("DELETE", &path, &ann, None).with(204);
    assert_eq!(web.send("PUT", &path, &bob, None).with(200)["fence"], json!(2));
    assert_eq!(web.send("PATCH", &own, &ann, Some(br#"{"title":"Late","fence":1}"#)).reason(409), "claim_lost");
    assert_eq!(web.get(&own).with(200)["title"], json!("Mine"));

    for ttl in ["0", "-1", "1e18", "9223372036854775807", "\"900\"", "0.5"] {
        let body = format!("{{\"ttlSeconds\": {ttl}}}");
        assert_eq!(web.send("PUT", &path, &bob, Some(body.as_bytes())).reason(422), "bad_ttl", "{ttl}");
    }
    web.send("PUT", &path, &bob, Some(br#"{"ttlSeconds": null}"#)).with(200);
    web.send("POST", &format!("/items/{item}/transitions"), &bob, Some(br#"{"trigger":"complete"}"#)).with(200);
    assert_eq!(web.send("PUT", &path, &bob, None).reason(409), "terminal");
    assert_eq!(web.send("PUT", "/items/DEFA-9/claim", &bob, None).reason(404), "not_found");
}

#[test]
fn the_best_ready_work_is_handed_out_at_once_or_when_there_is_some() {
    let web = Web::start();
    let low = web.post("/items", &json!({"title": "Low", "priority": "low"})).with(201)["item"]["key"].clone();
    let high = web.post("/items", &json!({"title": "High", "priority": "high"})).with(201)["item"]["key"].clone();
    let queue = web.get("/queue").with(200);
    assert_eq!((&queue["items"][0]["item"]["key"], &queue["items"][1]["item"]["key"]), (&high, &low));
    let offer = web.send("POST", "/queue/claim", &[("x-docket-actor", "subagent:a")], None).with(200);
    assert_eq!((&offer["item"]["key"], &offer["held"]["fence"]), (&high, &json!(1)));
    let offer = web.send("POST", "/queue/claim", &[("x-docket-actor", "subagent:b")], Some(b"{}")).with(200);
    assert_eq!(offer["item"]["key"], low);
    let nothing = web.send("POST", "/queue/claim", &[("x-docket-actor", "subagent:c")], Some(b"{}")).with(200);
    assert!(nothing.get("held").is_none(), "{nothing}");
    for (body, reason) in [
        (json!({"waitMs": 60_001}), "bad_value"),
        (json!({"waitMs": -1}), "bad_value"),
        (json!({"role": "nope"}), "unknown_value"),
        (json!({"capabilities": [""]}), "blank"),
    ] {
        assert_eq!(web.post("/queue/claim", &body).reason(422), reason, "{body}");
    }
    // A waiter is woken by the commit, not by the clock.
    std::thread::scope(|scope| {
        let waiter = scope.spawn(|| {
            let begun = Instant::now();
            let body = br#"{"waitMs": 20000}"#;
            let offer = web.send("POST", "/queue/claim", &[("x-docket-actor", "subagent:d")], Some(body)).with(200);
            (offer["item"]["title"].clone(), begun.elapsed())
        });
        std::thread::sleep(Duration::from_millis(300));
        web.item("Late");
        let (title, took) = waiter.join().expect("an answer");
        assert_eq!(title, json!("Late"));
        assert!(took < Duration::from_secs(5), "{took:?}");
    });
}

#[test]
fn notes_are_written_shown_and_removed() {
    let web = Web::start();
    let item = web.item("Noted");
    let path = format!("/items/{item}/notes/plan%20b");
    assert_eq!(web.get(&path).reason(404), "not_found");
    let written = web.json("PUT", &path, &json!({"body": "First <b>this</b>", "phase": "work"})).with(200);
    assert_eq!((&written["note"]["key"], &written["note"]["phase"]), (&json!("plan b"), &json!("work")));
    assert_eq!(web.get(&path).with(200)["body"], json!("First <b>this</b>"));
    assert_eq!(web.get(&format!("/items/{item}/notes")).with(200)["notes"].as_array().map(Vec::len), Some(1));
    web.delete(&path).with(204);
    assert_eq!(web.delete(&path).reason(404), "not_found");
    for (body, reason) in [
        (json!({}), "missing_field"),
        (json!({"body": "a\u{0}b"}), "bad_char"),
        (json!({"body": "x".repeat(256 * 1024 + 1)}), "too_long"),
        (json!({"body": "x", "phase": "terminal"}), "bad_value"),
        (json!({"body": 5}), "bad_value"),
    ] {
        assert_eq!(web.json("PUT", &path, &body).reason(422), reason);
    }
    assert_eq!(web.json("PUT", &format!("/items/{item}/notes/%20"), &json!({"body": "x"})).reason(422), "blank");
    assert_eq!(web.json("PUT", "/items/DEFA-9/notes/k", &json!({"body": "x"})).reason(404), "not_found");
}

#[test]
fn edges_never_close_a_circle() {
    let web = Web::start();
    let keys: Vec<String> = (0..3).map(|number| web.item(&format!("N{number}"))).collect();
    let edge = |from: usize, to: usize| json!({"from": keys[from], "to": keys[to]});
    let made = web.post("/edges", &edge(0, 1)).with(201);
    web.post("/edges", &edge(1, 2)).with(201);
    assert_eq!(web.post("/edges", &edge(0, 1)).reason(409), "duplicate");
    assert_eq!(web.post("/edges", &edge(2, 0)).reason(422), "cycle");
    assert_eq!(web.post("/edges", &edge(2, 2)).reason(422), "self_edge");
    assert_eq!(web.post("/edges", &json!({"from": "DEFA-9", "to": keys[0]})).reason(404), "not_found");
    assert_eq!(
        web.post("/edges", &json!({"from": keys[0], "to": keys[2], "kind": "likes"})).reason(422),
        "unknown_value"
    );
    let path = format!("/edges/{}", made["id"].as_str().expect("an id"));
    assert_eq!(web.delete(&path).with(200)["id"], made["id"]);
    assert_eq!(web.delete(&path).reason(404), "not_found");
    assert_eq!(web.delete("/edges/nonsense").reason(422), "bad_id");
    let gone = web.delete(&format!("/edges?from={}&to={}", keys[1], keys[2])).with(200);
    assert_eq!(gone["edges"].as_array().map(Vec::len), Some(1));
    assert_eq!(web.delete("/edges?from=DEFA-1").reason(422), "missing_field");
}
