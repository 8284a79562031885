//! Many who follow events: each is read once for all of them, nobody misses one or hears one twice, nobody hears what is not
//! theirs, and while nothing happens the store is not asked.
//!
//! Planted bug that is caught: `reads-unlimited`, by which a stream tells what its caller may not see.

use std::collections::BTreeSet;
use std::io::Write;
use std::time::{Duration, Instant};

use docket_tests::web::{Stream, Web};
use serde_json::{Value, json};

use crate::callers::{database, key};

/// How often the store has asked its database so far.
pub(crate) fn asked(web: &Web, headers: &[(&str, &str)]) -> u64 {
    let metrics = String::from_utf8(web.to("GET", "/metrics", headers, None).body).expect("text");
    let line = metrics.lines().find_map(|line| line.strip_prefix("docket_store_asked_total "));
    line.unwrap_or_else(|| panic!("no count in {metrics}")).parse().expect("a number")
}

/// Sends a request on a connection of its own, and does not wait for the answer.
fn begin(web: &Web, request: &str) -> std::net::TcpStream {
    let mut stream = web.connect();
    stream.write_all(request.as_bytes()).expect("sent");
    stream
}

#[test]
fn a_commit_is_read_once_however_many_follow() {
    let web = Web::start();
    let item = web.item("Watched");
    let mut streams: Vec<Stream> = (0..60).map(|_| Stream::open(&web, "/events/stream", &[])).collect();
    let edit = |number: usize| {
        web.json("PATCH", &format!("/items/{item}"), &json!({"summary": format!("s{number}")})).with(200);
    };
    edit(0);
    for stream in &mut streams {
        assert_eq!(stream.next_event().expect("an event").name, "edited");
    }
    let before = asked(&web, &[]);
    for number in 1..=10 {
        edit(number);
        for stream in &mut streams {
            let sent = stream.next_event().expect("an event");
            assert_eq!(sent.data["data"]["set"]["summary"], json!(format!("s{number}")));
        }
    }
    let each = (asked(&web, &[]) - before) / 10;
    assert!(each <= 8, "{each} round trips for a commit that 60 follow");
}

#[test]
fn who_waits_while_nothing_happens_asks_nothing() {
    let web = Web::start();
    let item = web.item("Held for long");
    web.send("PUT", &format!("/items/{item}/claim"), &[("x-docket-actor", "agent:holder")], Some(b"{}")).with(200);
    let streams: Vec<Stream> = (0..20).map(|_| Stream::open(&web, "/events/stream", &[])).collect();
    let host = web.address;
    let mut waiting = Vec::new();
    for number in 0..20 {
        waiting.push(begin(&web, &format!("GET /api/v1/events?waitMs=20000 HTTP/1.1\r\nhost: {host}\r\n\r\n")));
        let body = format!("{{\"waitMs\":20000,\"tags\":[\"t{}\"]}}", number % 3);
        waiting.push(begin(
            &web,
            &format!(
                "POST /api/v1/queue/claim HTTP/1.1\r\nhost: {host}\r\nx-docket-actor: agent:a{number}\r\n\
                 content-type: application/json\r\ncontent-length: {}\r\n\r\n{body}",
                body.len()
            ),
        ));
    }
    std::thread::sleep(Duration::from_secs(2));
    // What it costs to ask, after a while in which it is looked at anew whether there are keys.
    let first = asked(&web, &[]);
    std::thread::sleep(Duration::from_millis(1500));
    let second = asked(&web, &[]);
    std::thread::sleep(Duration::from_secs(4));
    let third = asked(&web, &[]);
    assert_eq!(third - second, second - first, "the store was asked while nothing happened");
    drop((streams, waiting));
}

#[test]
fn a_stream_that_begins_while_much_happens_hears_everything_once() {
    let web = Web::start();
    let item = web.item("Busy");
    let all = std::thread::scope(|scope| {
        let readers: Vec<_> = (0..12_u64)
            .map(|number| {
                let web = &web;
                scope.spawn(move || {
                    // Some from the beginning, some from where they happen to come in.
                    std::thread::sleep(Duration::from_millis(number * 60));
                    let path = if number % 3 == 2 { "/events/stream" } else { "/events/stream?after=0" };
                    let mut stream = Stream::open(web, path, &[]);
                    let mut heard = Vec::new();
                    loop {
                        let sent = stream.next_event().expect("an event");
                        heard.push(sent.id);
                        if sent.data["data"]["set"]["summary"] == json!("last") {
                            return heard;
                        }
                    }
                })
            })
            .collect();
        for number in 0..150 {
            web.json("PATCH", &format!("/items/{item}"), &json!({"summary": format!("s{number}")})).with(200);
        }
        std::thread::sleep(Duration::from_millis(500));
        web.json("PATCH", &format!("/items/{item}"), &json!({"summary": "last"})).with(200);
        readers.into_iter().map(|reader| reader.join().expect("a reader")).collect::<Vec<_>>()
    });
    let mut there = Vec::new();
    while let Some(event) =
        web.get(&format!("/events?limit=200&after={}", there.last().unwrap_or(&0))).with(200)["events"]
            .as_array()
            .filter(|events| !events.is_empty())
    {
        there.extend(event.iter().filter_map(|event| event["seq"].as_u64()));
    }
    for (number, heard) in all.into_iter().enumerate() {
        let came_late = number % 3 == 2;
        let first = there.iter().position(|seq| *seq == heard[0]).expect("an event that is there");
        let from = if came_late { first } else { 0 };
        assert_eq!(heard, there[from..], "all of them, in order, each once");
    }
}

#[test]
fn a_reader_that_is_slow_hears_everything_once() {
    let web = Web::start();
    let mut slow = Stream::open(&web, "/events/stream", &[]);
    let mut quick = Stream::open(&web, "/events/stream", &[]);
    let long = "x".repeat(20_000);
    let mut made = 0;
    for _ in 0..20 {
        let items: Vec<Value> =
            (0..40).map(|n| json!({"title": format!("i{}", made + n), "description": long})).collect();
        web.post("/bulk/items", &json!({ "items": items })).with(200);
        for number in 0..40 {
            let sent = quick.next_event().expect("an event");
            assert_eq!(sent.data["data"]["title"], json!(format!("i{}", made + number)));
        }
        made += 40;
    }
    // Far more than is kept for followers and on the way to this one.
    for number in 0..made {
        let sent = slow.next_event().expect("an event");
        assert_eq!(sent.data["data"]["title"], json!(format!("i{number}")), "in order, each once");
    }
}

/// What a limited caller hears live, and what it finds in the pages afterwards.
fn limited(plant: Option<&str>) -> (BTreeSet<u64>, BTreeSet<u64>) {
    let (_folder, database) = database();
    let worker = key(&database, &["--profile", "worker", "--project", "web"]);
    let chief = key(&database, &["--profile", "maintainer"]);
    let web = Web::on(&database, |command| {
        if let Some(bug) = plant {
            command.env("DOCKET_PLANT", bug);
        }
    });
    let worker = [("authorization", worker.as_str())];
    let mut stream = Stream::open(&web, "/events/stream?after=0", &worker);
    let mut second = Stream::open(&web, "/events/stream", &[("authorization", chief.as_str())]);
    let post = |path: &str, body: Value| {
        web.send("POST", path, &[("authorization", chief.as_str())], Some(body.to_string().as_bytes()))
    };
    // Within the one, within the other, across both ways; and an end.
    for project in ["web", "api"] {
        post("/items", json!({"title": "Another", "project": project})).with(201);
    }
    for (from, to) in [("WEB-1", "WEB-2"), ("API-1", "API-2"), ("API-1", "WEB-1"), ("WEB-2", "API-2")] {
        post("/edges", json!({"from": from, "to": to, "kind": "relates-to"})).with(201);
    }
    post("/items", json!({"title": "End", "project": "web"})).with(201);
    let ends = |sent: &docket_tests::web::Sent| sent.data["data"]["title"] == json!("End");
    while !ends(&second.next_event().expect("an event")) {}
    let mut heard = BTreeSet::new();
    loop {
        let sent = stream.next_event().expect("an event");
        assert!(heard.insert(sent.id), "twice");
        if ends(&sent) {
            break;
        }
    }
    let pages = web.send("GET", "/events?limit=200", &worker, None).with(200);
    let found = pages["events"].as_array().into_iter().flatten().filter_map(|event| event["seq"].as_u64()).collect();
    (heard, found)
}

#[test]
fn a_caller_hears_what_it_may_see_and_nothing_else() {
    let (heard, found) = limited(None);
    assert_eq!(heard, found);
    assert!(heard.len() >= 5, "{heard:?}");
}

#[test]
fn and_a_stream_without_that_limit_would_be_seen() {
    let (heard, found) = limited(Some("reads-unlimited"));
    assert!(heard.len() > found.len(), "{heard:?} {found:?}");
}

#[test]
fn work_whose_lease_runs_out_goes_to_who_waits_for_it() {
    let web = Web::start();
    let item = web.item("Left behind");
    let claim = format!("/items/{item}/claim");
    let begun = Instant::now();
    web.send("PUT", &claim, &[("x-docket-actor", "agent:dead")], Some(br#"{"ttlSeconds":2}"#)).with(200);
    let body = Some(&br#"{"waitMs":20000}"#[..]);
    let offer = web.send("POST", "/queue/claim", &[("x-docket-actor", "agent:heir")], body).with(200);
    assert_eq!(offer["item"]["title"], json!("Left behind"));
    let took = begun.elapsed();
    assert!(took > Duration::from_millis(1500) && took < Duration::from_secs(3), "{took:?}");
}
