//! Bodies that come slowly or never: whoever sends them keeps nobody else from working, and fills nothing that is for all.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::time::{Duration, Instant};

use docket_tests::web::{Reply, Web, parse};
use serde_json::json;

use crate::callers::{database, key};

/// How soon somebody is turned away, and what a busy machine adds.
const AT_ONCE: Duration = Duration::from_millis(900);

fn settings(folder: &Path, toml: &str) {
    std::fs::write(folder.join("docket.toml"), toml).expect("docket.toml");
}

/// The beginning of a request with a body of this length, and so much of that.
fn begin(web: &Web, key: &str, path: &str, length: usize, sent: usize) -> TcpStream {
    let mut stream = web.connect();
    let kind = if path.ends_with("/import") { "application/x-ndjson" } else { "application/json" };
    let head = format!(
        "POST {path} HTTP/1.1\r\nhost: {}\r\nauthorization: {key}\r\nconnection: close\r\ncontent-type: {kind}\r\n\
         content-length: {length}\r\n\r\n",
        web.address
    );
    stream.write_all(head.as_bytes()).expect("sent");
    // The server may have turned it away by now.
    _ = stream.write_all(&vec![b' '; sent]);
    stream
}

/// What is answered before the body is whole.
fn answered(mut stream: TcpStream) -> Reply {
    stream.set_read_timeout(Some(AT_ONCE)).expect("a timeout");
    let mut answer = Vec::new();
    _ = stream.read_to_end(&mut answer);
    assert!(!answer.is_empty(), "nothing was answered");
    parse(&answer)
}

fn add(web: &Web, key: &str, title: &str) -> Reply {
    let body = json!({ "title": title, "project": "web" }).to_string();
    web.send("POST", "/items", &[("authorization", key)], Some(body.as_bytes()))
}

#[test]
fn bodies_that_do_not_come_keep_nobody_from_working() {
    let (folder, database) = database();
    settings(folder.path(), "[server]\nin_flight = 4\n");
    let (viewer, planner) = (key(&database, &["--profile", "viewer"]), key(&database, &["--profile", "planner"]));
    let web = Web::on(&database, |_| {});
    let paths = ["/api/v1/items", "/mcp", "/api/v1/queue/claim", "/api/v1/bulk/items"];
    let half: Vec<_> = (0..32).map(|number| begin(&web, &viewer, paths[number % 4], 1000, 10)).collect();
    std::thread::sleep(Duration::from_millis(300));
    for _ in 0..8 {
        web.send("GET", "/items", &[("authorization", &planner)], None).with(200);
        add(&web, &planner, "Meanwhile").with(201);
    }
    // Nor the one who sends them.
    web.send("GET", "/items", &[("authorization", &viewer)], None).with(200);
    let metrics = web.to("GET", "/metrics", &[("authorization", &viewer)], None).body;
    let metrics = String::from_utf8(metrics).expect("text");
    assert!(metrics.contains("docket_http_requests_in_flight 0\n"), "{metrics}");
    drop(half);
}

#[test]
fn a_caller_has_so_many_bodies_on_their_way_and_others_have_theirs() {
    let (_folder, database) = database();
    let (viewer, planner) = (key(&database, &["--profile", "viewer"]), key(&database, &["--profile", "planner"]));
    let web = Web::on(&database, |_| {});
    let half: Vec<_> = (0..256).map(|_| begin(&web, &viewer, "/api/v1/items", 1000, 10)).collect();
    std::thread::sleep(Duration::from_millis(500));
    let refused = answered(begin(&web, &viewer, "/api/v1/items", 1000, 10));
    assert_eq!(refused.error(503)["kind"], json!("shedding"));
    assert!(!refused.header("retry-after").is_empty());
    add(&web, &planner, "Another's").with(201);
    // One that comes with its head waits for nothing, whoever sends it.
    assert_eq!(add(&web, &viewer, "Too little").error(403)["code"], json!("FORBIDDEN"));
    drop(half);
}

#[test]
fn a_caller_fills_its_share_of_memory_and_not_that_of_others() {
    const WHOLE: usize = 1024 * 1024;
    let (_folder, database) = database();
    let (viewer, planner) = (key(&database, &["--profile", "viewer"]), key(&database, &["--profile", "planner"]));
    let web = Web::on(&database, |_| {});
    // Sixteen megabytes are a caller's; the last byte of each is left out.
    let half: Vec<_> = (0..16).map(|_| begin(&web, &viewer, "/api/v1/items", WHOLE, WHOLE - 1)).collect();
    std::thread::sleep(Duration::from_secs(1));
    let begun = Instant::now();
    let refused = answered(begin(&web, &viewer, "/api/v1/items", WHOLE, WHOLE - 1));
    assert_eq!(refused.error(503)["kind"], json!("shedding"));
    assert!(begun.elapsed() < AT_ONCE, "{:?}", begun.elapsed());
    // The largest that another may send, of which only the size is wrong.
    let padded = format!("{{\"title\":\"Large\",\"project\":\"web\"{}}}", " ".repeat(WHOLE - 64));
    web.send("POST", "/items", &[("authorization", &planner)], Some(padded.as_bytes())).with(201);
    drop(half);
}

#[test]
fn an_import_is_refused_before_it_is_sent() {
    let (_folder, database) = database();
    let (operator, admin) =
        (key(&database, &["--profile", "operator"]), key(&database, &["--profile", "maintainer", "--name", "admin"]));
    let web = Web::on(&database, |_| {});
    let refused = answered(begin(&web, &operator, "/api/v1/import", 8_000_000, 0));
    assert_eq!(refused.reason(403), "profile_too_low");
    let mut first = begin(&web, &admin, "/api/v1/import", 1000, 10);
    std::thread::sleep(Duration::from_millis(300));
    // What has not come yet is in nobody's way.
    let jsonl = [("authorization", admin.as_str()), ("content-type", "application/x-ndjson")];
    let export = web.send("GET", "/export", &jsonl[..1], None);
    assert_eq!(export.status, 200, "{export:?}");
    assert_eq!(web.send("POST", "/import", &jsonl, Some(&export.body)).reason(409), "duplicate");
    first.write_all(&[b' '; 990]).expect("sent");
    let mut answer = Vec::new();
    _ = first.read_to_end(&mut answer);
    let status = parse(&answer).status;
    assert!((200..500).contains(&status), "it is read: {status}");
}
