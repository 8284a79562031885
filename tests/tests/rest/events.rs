//! Events: pages, waits and live streams that miss nothing.

use std::time::{Duration, Instant};

use docket_tests::web::{Stream, Web};
use serde_json::json;

#[test]
fn pages_go_on_where_they_ended() {
    let web = Web::start();
    let item = web.item("One");
    web.json("PATCH", &format!("/items/{item}"), &json!({"title": "Two"})).with(200);
    web.post(&format!("/items/{item}/transitions"), &json!({"trigger": "start"})).with(200);
    let mut verbs = Vec::new();
    let mut after = 0;
    loop {
        let page = web.get(&format!("/events?limit=1&after={after}")).with(200);
        let Some(event) = page["events"].as_array().and_then(|events| events.first()) else { break };
        assert_eq!(page["cursor"], event["seq"]);
        after = page["cursor"].as_u64().expect("a number");
        verbs.push(event["verb"].as_str().expect("a verb").to_owned());
    }
    assert_eq!(verbs, ["project-set", "created", "edited", "moved"]);
    let newest = web.get("/events?newestFirst=true&limit=1").with(200);
    assert_eq!(newest["events"][0]["verb"], json!("moved"));
    assert_eq!(web.get("/events?verbs=edited,moved").with(200)["events"].as_array().map(Vec::len), Some(2));
    assert_eq!(web.get(&format!("/items/{item}/events")).with(200)["events"].as_array().map(Vec::len), Some(3));
    for (path, reason) in [
        ("/events?after=-1", "bad_value"),
        ("/events?after=x", "bad_value"),
        ("/events?verbs=nope", "unknown_value"),
        ("/events?waitMs=60001", "bad_value"),
        ("/events?waitMs=5&newestFirst=true", "bad_value"),
        ("/events?item=zz", "bad_id"),
        ("/events?since=today", "bad_value"),
    ] {
        assert_eq!(web.get(path).reason(422), reason, "{path}");
    }
    assert_eq!(web.get("/events?project=nope").reason(404), "not_found");
    // What would not be looked at is not taken.
    let live = [("accept", "text/event-stream")];
    for field in ["newestFirst=true", "limit=5", "cursor=x", "waitMs=5"] {
        assert_eq!(web.get(&format!("/events/stream?{field}")).reason(422), "unknown_field", "{field}");
        assert_eq!(web.send("GET", &format!("/events?{field}"), &live, None).reason(422), "unknown_field", "{field}");
    }
    assert_eq!(web.get(&format!("/items/{item}/events?item=DEFA-2")).reason(422), "unknown_field");
    let page = web.get(&format!("/items/{item}/events?newestFirst=true&limit=1&verbs=moved,edited")).with(200);
    assert_eq!(page["events"][0]["verb"], json!("moved"));
}

#[test]
fn a_wait_ends_with_the_change_or_with_its_time() {
    let web = Web::start();
    let begun = Instant::now();
    let nothing = web.get("/events?waitMs=300").with(200);
    assert_eq!(nothing["events"], json!([]));
    assert!(begun.elapsed() >= Duration::from_millis(300));
    let cursor = nothing["cursor"].as_u64().expect("a cursor");
    std::thread::scope(|scope| {
        let waiter = scope.spawn(|| web.get(&format!("/events?after={cursor}&waitMs=20000&verbs=moved")).with(200));
        std::thread::sleep(Duration::from_millis(200));
        let item = web.item("One");
        web.post(&format!("/items/{item}/transitions"), &json!({"trigger": "start"})).with(200);
        let page = waiter.join().expect("an answer");
        assert_eq!(page["events"][0]["verb"], json!("moved"));
    });
    // What was committed before the wait began is answered at once.
    let begun = Instant::now();
    let page = web.get(&format!("/events?after={cursor}&waitMs=20000")).with(200);
    assert_eq!(page["events"][0]["verb"], json!("created"));
    assert!(begun.elapsed() < Duration::from_secs(5));
}

#[test]
fn a_stream_resumes_where_it_was_and_misses_nothing() {
    let web = Web::start();
    let mut stream = Stream::open(&web, "/events/stream", &[]);
    let first = web.item("First");
    let sent = stream.next_event().expect("an event");
    assert_eq!((sent.name.as_str(), &sent.data["data"]["title"]), ("created", &json!("First")));
    assert_eq!(sent.data["seq"], json!(sent.id));
    drop(stream);
    // Away for a while; then back with the last number, by another spelling of the same address.
    for number in 0..150 {
        web.json("PATCH", &format!("/items/{first}"), &json!({"summary": format!("s{number}")})).with(200);
    }
    let last = sent.id.to_string();
    let headers = [("last-event-id", last.as_str()), ("accept", "text/event-stream")];
    let mut stream = Stream::open(&web, "/events?verbs=edited", &headers);
    for number in 0..150 {
        let sent = stream.next_event().expect("an event");
        assert_eq!(sent.data["data"]["set"]["summary"], json!(format!("s{number}")), "in order, each once");
    }
    web.json("PATCH", &format!("/items/{first}"), &json!({"summary": "live"})).with(200);
    assert_eq!(stream.next_event().expect("live").data["data"]["set"]["summary"], json!("live"));
    let bad = web.send("GET", "/events/stream", &[("last-event-id", "x")], None);
    assert_eq!(bad.reason(422), "bad_value");
}

#[test]
fn a_reader_that_does_not_read_is_let_go_and_harms_nobody() {
    let web = Web::start_with("[server]\nstall_timeout_seconds = 1\n", |_| {});
    let item = web.item("Busy");
    let idle = Stream::open(&web, "/events/stream?after=0", &[]);
    let mut good = Stream::open(&web, "/events/stream", &[]);
    let long = "x".repeat(200_000);
    for number in 0..60 {
        let body = json!({"description": format!("{number}{long}")});
        web.json("PATCH", &format!("/items/{item}"), &body).with(200);
        assert_eq!(good.next_event().expect("an event").name, "edited");
    }
    let begun = Instant::now();
    loop {
        let metrics = String::from_utf8(web.to("GET", "/metrics", &[], None).body).expect("text");
        if metrics.contains("docket_http_event_streams 1\n") {
            assert!(metrics.contains("docket_http_streams_lagged_total 1\n"), "nobody counted it:\n{metrics}");
            break;
        }
        assert!(begun.elapsed() < Duration::from_secs(20), "the idle stream is still there:\n{metrics}");
        std::thread::sleep(Duration::from_millis(100));
    }
    drop(idle);
}

#[test]
fn whoever_follows_from_beyond_the_end_of_the_log_is_told_so() {
    let web = Web::start();
    web.item("First");
    let head = web.get("/events").with(200)["cursor"].as_u64().expect("a number");
    for path in ["/events?after=9999", "/events?after=9999&waitMs=20000"] {
        let refused = web.get(path).error(422);
        assert_eq!((&refused["reason"], &refused["field"]), (&json!("bad_cursor"), &json!("after")), "{refused}");
        let told = refused["message"].as_str().unwrap_or_default();
        assert!(told.contains("too new") && told.contains(&format!("ends at {head}")), "{refused}");
    }
    let refused = web.send("GET", "/events/stream", &[("last-event-id", "9999")], None).error(422);
    assert_eq!((&refused["reason"], &refused["field"]), (&json!("bad_cursor"), &json!("Last-Event-ID")), "{refused}");
    assert_eq!(web.get("/events/stream?after=9999").reason(422), "bad_cursor");
    // The end itself is where everybody waits.
    let page = web.get(&format!("/events?after={head}")).with(200);
    assert_eq!((&page["events"], &page["cursor"]), (&json!([]), &json!(head)));
}
