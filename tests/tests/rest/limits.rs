//! Over capacity, stopping, and a store that is away.

use std::io::{Read, Write};
use std::time::{Duration, Instant};

use docket_tests::postgres::Database;
use docket_tests::web::{Stream, Web, command_on, parse};
use serde_json::{Value, json};

use crate::callers::{database, key};

#[test]
fn the_excess_is_turned_away_at_once() {
    let web = Web::start_with("[server]\nin_flight = 1\nwaiters = 2\nconnections = 12\n", |_| {});
    web.item("One");
    // As many wait as may; the next is told so, and others are served.
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| web.get("/events?waitMs=3000").with(200));
        }
        std::thread::sleep(Duration::from_millis(500));
        let begun = Instant::now();
        let full = web.get("/events?waitMs=3000");
        assert_eq!(full.error(503)["kind"], json!("shedding"));
        assert_eq!((full.reason(503).as_str(), full.header("retry-after")), ("overloaded", "1"));
        assert!(begun.elapsed() < Duration::from_millis(250), "{:?}", begun.elapsed());
        web.get("/items").with(200);
        let claim = web.post("/queue/claim", &json!({"waitMs": 2000, "tags": ["none"]}));
        assert_eq!(claim.reason(503), "overloaded");
    });
    // More connections than there are places.
    let held: Vec<_> = (0..12).map(|_| web.connect()).collect();
    std::thread::sleep(Duration::from_millis(100));
    let begun = Instant::now();
    let mut extra = web.connect();
    let mut answer = Vec::new();
    let _ = extra.read_to_end(&mut answer);
    assert_eq!(parse(&answer).with(503)["error"]["kind"], json!("shedding"));
    assert!(begun.elapsed() < Duration::from_millis(250), "{:?}", begun.elapsed());
    drop(held);
    std::thread::sleep(Duration::from_millis(100));
    web.get("/items").with(200);
}

/// Opens a thousand long polls at once, half for work and half for events; returns the statuses of their answers.
fn a_thousand_long_polls(web: &Web, headers: &str) -> Vec<u16> {
    let host = web.address;
    let mut polls: Vec<_> = (0..1000).map(|_| web.connect()).collect();
    for (number, poll) in polls.iter_mut().enumerate() {
        let request = if number % 2 == 0 {
            format!("GET /api/v1/events?waitMs=6000 HTTP/1.1\r\nhost: {host}\r\nconnection: close\r\n{headers}\r\n")
        } else {
            let body = "{\"waitMs\":6000,\"project\":\"web\",\"tags\":[\"none\"]}";
            format!(
                "POST /api/v1/queue/claim HTTP/1.1\r\nhost: {host}\r\nconnection: close\r\nx-docket-actor: agent:a{number}\r\n\
                 content-type: application/json\r\ncontent-length: {}\r\n{headers}\r\n{body}",
                body.len()
            )
        };
        poll.write_all(request.as_bytes()).expect("sent");
    }
    let mut statuses = Vec::new();
    for mut poll in polls {
        let mut answer = Vec::new();
        poll.read_to_end(&mut answer).expect("an answer");
        statuses.push(parse(&answer).status);
    }
    statuses
}

#[test]
fn a_thousand_long_polls_at_once_are_all_taken() {
    let (_folder, database) = database();
    let web = Web::on(&database, |_| {});
    let statuses = a_thousand_long_polls(&web, "");
    let refused: Vec<_> = statuses.iter().filter(|status| **status != 200).collect();
    assert!(refused.is_empty(), "{} were turned away: {refused:?}", refused.len());
}

#[test]
fn a_thousand_long_polls_of_somebody_with_a_key_are_all_taken() {
    let (_folder, database) = database();
    let worker = key(&database, &["--profile", "worker"]);
    let web = Web::on(&database, |_| {});
    let statuses = a_thousand_long_polls(&web, &format!("authorization: {worker}\r\n"));
    let refused: Vec<_> = statuses.iter().filter(|status| **status != 200).collect();
    assert!(refused.is_empty(), "{} were turned away: {refused:?}", refused.len());
}

#[test]
fn a_server_that_is_told_to_stop_lets_work_end() {
    let mut web = Web::start();
    let mut stream = Stream::open(&web, "/events/stream", &[]);
    let mut waiting = web.connect();
    let wait = format!(
        "POST /api/v1/queue/claim HTTP/1.1\r\nhost: {}\r\ncontent-type: application/json\r\ncontent-length: 17\r\n\r\n{{\"waitMs\": 50000}}",
        web.address
    );
    waiting.write_all(wait.as_bytes()).expect("sent");
    let mut half = web.connect();
    let start = format!(
        "POST /api/v1/items HTTP/1.1\r\nhost: {}\r\ncontent-type: application/json\r\ncontent-length: 16\r\n\r\n{{\"title\"",
        web.address
    );
    half.write_all(start.as_bytes()).expect("sent");
    std::thread::sleep(Duration::from_millis(300));
    let begun = Instant::now();
    web.signal("TERM");
    std::thread::sleep(Duration::from_millis(200));
    assert!(std::net::TcpStream::connect(web.address).is_err(), "no new connection is taken");
    // What was begun is finished; who waits is told that there is nothing yet; a stream ends.
    half.write_all(b":\"Half\"}").expect("sent");
    let mut answer = Vec::new();
    let _ = half.read_to_end(&mut answer);
    assert_eq!(parse(&answer).with(201)["item"]["title"], json!("Half"));
    let mut answer = Vec::new();
    let _ = waiting.read_to_end(&mut answer);
    assert!(parse(&answer).with(200).get("held").is_none());
    assert!(stream.next_event().is_none());
    assert_eq!(web.end(Duration::from_secs(10)), Some(0));
    assert!(begun.elapsed() < Duration::from_secs(10), "{:?}", begun.elapsed());
}

#[test]
fn health_readiness_and_counts() {
    let web = Web::start();
    assert_eq!(web.to("GET", "/healthz", &[], None).body, b"ok\n");
    assert_eq!(web.to("GET", "/readyz", &[], None).body, b"ready\n");
    let named = web.send("GET", "/items", &[("x-request-id", "my-trace.1")], None);
    assert_eq!(named.header("x-request-id"), "my-trace.1");
    for bad in ["a b", "<script>", &*"x".repeat(200)] {
        let given = web.send("GET", "/items", &[("x-request-id", bad)], None);
        assert_eq!(given.header("x-request-id").len(), 32, "{bad}");
    }
    assert_eq!(web.get("/nowhere").reason(404), "not_found");
    assert_eq!(web.send("PUT", "/items", &[], None).error(405)["code"], json!("VALIDATION"));
    assert!(web.send("PUT", "/items", &[], None).header("allow").contains("POST"));
    let metrics = String::from_utf8(web.to("GET", "/metrics", &[], None).body).expect("text");
    for line in [
        "docket_ready 1",
        "docket_http_requests_total{route=\"/api/v1/items\",method=\"GET\",status=\"200\"} 4",
        "docket_http_requests_total{route=\"none\",method=\"GET\",status=\"404\"} 1",
        "docket_http_requests_in_flight 0",
    ] {
        assert!(metrics.lines().any(|found| found == line), "no {line} in\n{metrics}");
    }
}

fn until(there: impl Fn() -> bool) {
    let begun = Instant::now();
    while !there() {
        assert!(begun.elapsed() < Duration::from_secs(4), "it does not come to that");
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// Whoever looks after a server wants to know most how it does when nobody else gets a place.
#[test]
fn counts_are_told_when_there_is_no_place_left_and_to_whoever_has_called_too_often() {
    let database = Database::new();
    let folder = tempfile::tempdir().expect("a folder");
    let toml = "[server]\nin_flight = 1\n[limits]\nburst = 3\nper_second = 1\n";
    std::fs::write(folder.path().join("docket.toml"), toml).expect("docket.toml");
    drop(Web::serving(&database.url(), folder.path(), |_| {}));
    let made =
        command_on(&database.url(), folder.path()).args(["--json", "key", "create", "--profile", "worker"]).output();
    let made: Value = serde_json::from_slice(&made.expect("it runs").stdout).expect("JSON");
    let worker = format!("Bearer {}", made["secret"].as_str().expect("a secret"));
    let web = Web::serving(&database.url(), folder.path(), |_| {});
    assert_eq!(web.to("GET", "/metrics", &[], None).reason(401), "credential_missing");
    let shown = [("authorization", worker.as_str())];
    let counts = || String::from_utf8(web.to("GET", "/metrics", &shown, None).body).expect("text");
    std::thread::scope(|scope| {
        scope.spawn(|| {
            database.run("BEGIN; LOCK TABLE knowledge IN ACCESS EXCLUSIVE MODE; SELECT pg_sleep(5)::text; COMMIT");
        });
        let held = "SELECT count(*)::text FROM pg_locks WHERE relation = 'knowledge'::regclass AND mode = 'AccessExclusiveLock' AND granted";
        until(|| database.ask(held) == "1");
        // It waits for the table, and has the only place.
        scope.spawn(|| web.send("GET", "/knowledge", &shown, None).with(200));
        until(|| counts().contains("docket_http_requests_in_flight 1\n"));
        assert_eq!(web.send("GET", "/items", &shown, None).reason(503), "overloaded");
        assert!(counts().contains("docket_http_requests_in_flight 1\n"), "{}", counts());
        while web.send("GET", "/items", &shown, None).status != 429 {}
        for _ in 0..5 {
            assert!(counts().contains("docket_http_requests_in_flight 1\n"), "{}", counts());
        }
    });
}
