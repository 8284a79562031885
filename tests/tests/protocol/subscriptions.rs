//! Subscriptions: for a connection that shook hands, and as a stream in the newest revision.

use std::io::{BufRead, BufReader, Write};
use std::net::TcpStream;
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use docket_tests::mcp::Server;
use docket_tests::web::Web;
use serde_json::{Value, json};

use crate::World;

const SOON: Duration = Duration::from_secs(10);
const QUIET: Duration = Duration::from_millis(700);

fn updated(message: Option<Value>) -> String {
    let message = message.expect("an update");
    assert_eq!(message["method"], json!("notifications/resources/updated"), "{message}");
    message["params"]["uri"].as_str().expect("an address").to_owned()
}

#[test]
fn a_connection_is_told_when_what_it_subscribed_to_changes() {
    let world = World::new();
    let (one, other) = (world.item("One"), world.item("Other"));
    let uri = format!("docket://item/{one}");
    world.result("resources/subscribe", json!({ "uri": uri }));
    world.advance(&other, "start");
    assert_eq!(world.server.hear(QUIET), None, "another item has changed");
    world.advance(&one, "start");
    assert_eq!(updated(world.server.hear(SOON)), uri);
    // A burst is told in few words: each says no more than "read it again".
    for _ in 0..20 {
        world.hand.ok("manage_items", json!({ "operation": "update", "items": [{ "id": one, "summary": "again" }, { "id": other, "summary": "again" }] }));
    }
    assert_eq!(updated(world.server.hear(SOON)), uri);
    let mut told = 1;
    while world.server.hear(QUIET).is_some() {
        told += 1;
    }
    assert!(told <= 20, "told {told} times");
    world.result("resources/unsubscribe", json!({ "uri": uri }));
    world.advance(&one, "complete");
    assert_eq!(world.server.hear(QUIET), None, "nobody subscribes any more");
    // Again, and to the board as well.
    world.result("resources/subscribe", json!({ "uri": "board://default" }));
    world.item("Third");
    assert_eq!(updated(world.server.hear(SOON)), "board://default");
    // What is static can be subscribed to, and never changes.
    world.result("resources/subscribe", json!({ "uri": "docket://workflow" }));
    for uri in ["docket://item/NO-1", "docket://item/no id", "board://nope", "file:///x"] {
        assert_eq!(world.error("resources/subscribe", json!({ "uri": uri }))["code"], json!(-32002), "{uri}");
    }
}

#[test]
fn subscriptions_are_bounded_and_end_with_the_connection() {
    let world = World::new();
    let items: Vec<Value> = (0..101).map(|number| json!({ "title": format!("item {number}") })).collect();
    let made = world.hand.ok("manage_items", json!({ "operation": "create", "items": items }));
    let keys: Vec<&str> =
        made["items"].as_array().expect("items").iter().filter_map(|item| item["key"].as_str()).collect();
    for key in &keys[..100] {
        world.result("resources/subscribe", json!({ "uri": format!("docket://item/{key}") }));
    }
    // The same again is no further one.
    world.result("resources/subscribe", json!({ "uri": format!("docket://item/{}", keys[0]) }));
    let refused = world.error("resources/subscribe", json!({ "uri": format!("docket://item/{}", keys[100]) }));
    assert!(refused["message"].as_str().is_some_and(|message| message.contains("100")), "{refused}");
    let begun = Instant::now();
    let ended = world.server.hang_up(SOON).expect("an end");
    assert!(ended.success() && begun.elapsed() < Duration::from_secs(3), "{ended} after {:?}", begun.elapsed());
}

fn meta() -> Value {
    json!({ "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": { "name": "tests", "version": "1" },
        "io.modelcontextprotocol/clientCapabilities": {} })
}

fn listen(uris: &[&str]) -> Value {
    json!({ "_meta": meta(), "notifications": { "resourceSubscriptions": uris, "toolsListChanged": true } })
}

#[test]
fn a_client_that_shakes_no_hands_listens_to_a_stream() {
    let folder = tempfile::tempdir().expect("a folder");
    let database = folder.path().join("docket.db");
    let server = Server::start_without_hello(&database, &["--surface", "docket"]);
    let answered = server.request("server/discover", json!({ "_meta": meta() })).expect("an answer");
    assert_eq!(answered["result"]["capabilities"]["resources"]["subscribe"], json!(true), "{answered}");
    let hand = Server::start_with(&database, &["--surface", "task-orchestrator"], |_| {});
    let (id, answer) = server.ask("subscriptions/listen", listen(&["board://default", "file:///x"]));
    let told = server.hear(SOON).expect("an acknowledgement");
    assert_eq!(told["method"], json!("notifications/subscriptions/acknowledged"), "{told}");
    assert_eq!(told["params"]["notifications"], json!({ "resourceSubscriptions": ["board://default"] }), "{told}");
    // At once: what is committed after the acknowledgement is not missed.
    hand.ok("manage_items", json!({ "operation": "create", "items": [{ "title": "x" }] }));
    let told = server.hear(SOON);
    assert_eq!(
        told.as_ref().expect("an update")["params"]["_meta"]["io.modelcontextprotocol/subscriptionId"],
        json!(id)
    );
    assert_eq!(updated(told), "board://default");
    // Other calls go on meanwhile, and the stream ends when it is cancelled.
    let read =
        server.request("resources/read", json!({ "_meta": meta(), "uri": "board://default" })).expect("an answer");
    assert!(read["result"]["contents"].is_array(), "{read}");
    server.notify("notifications/cancelled", json!({ "_meta": meta(), "requestId": id }));
    std::thread::sleep(Duration::from_millis(300));
    hand.ok("manage_items", json!({ "operation": "create", "items": [{ "title": "y" }] }));
    assert_eq!(server.hear(QUIET), None, "the stream was cancelled");
    drop(answer);
    // The methods of the older revisions are not there.
    let old =
        server.request("resources/subscribe", json!({ "_meta": meta(), "uri": "board://default" })).expect("an answer");
    assert_eq!(old["error"]["code"], json!(-32601), "{old}");
    // A stream that is open does not keep a server that nobody talks to any more.
    let _open = server.ask("subscriptions/listen", listen(&["board://default"]));
    server.hear(SOON).expect("an acknowledgement");
    let begun = Instant::now();
    assert!(server.hang_up(SOON).is_some_and(|ended| ended.success()), "a clean end");
    assert!(begun.elapsed() < Duration::from_secs(3), "{:?}", begun.elapsed());
}

/// Opens a stream over HTTP; what comes over it arrives here.
fn stream(web: &Web, surface: &str, uris: &[&str]) -> (TcpStream, Receiver<Value>) {
    let message =
        json!({ "jsonrpc": "2.0", "id": 7, "method": "subscriptions/listen", "params": listen(uris) }).to_string();
    let mut stream = web.connect();
    let head = format!(
        "POST /mcp/{surface} HTTP/1.1\r\nhost: {}\r\naccept: application/json, text/event-stream\r\n\
         mcp-protocol-version: 2026-07-28\r\nmcp-method: subscriptions/listen\r\nconnection: close\r\ncontent-type: application/json\r\n\
         content-length: {}\r\n\r\n{message}",
        web.address,
        message.len()
    );
    stream.write_all(head.as_bytes()).expect("sent");
    let (sender, receiver) = channel();
    let reading = stream.try_clone().expect("a copy");
    std::thread::spawn(move || {
        for line in BufReader::new(reading).lines().map_while(Result::ok) {
            let data = line.strip_prefix("data:").map(str::trim).or(line.starts_with('{').then_some(line.as_str()));
            if let Some(message) = data.and_then(|data| serde_json::from_str(data).ok())
                && sender.send(message).is_err()
            {
                return;
            }
        }
    });
    (stream, receiver)
}

#[test]
fn streams_work_over_http() {
    let web = Web::start();
    let key = web.item("First");
    let uri = format!("docket://item/{key}");
    let (_open, heard) = stream(&web, "docket", &[&uri, "docket://item/NO-1"]);
    let told = heard.recv_timeout(SOON).expect("an acknowledgement");
    assert_eq!(told["method"], json!("notifications/subscriptions/acknowledged"), "{told}");
    web.item("Second");
    assert!(heard.recv_timeout(QUIET).is_err(), "another item has changed");
    web.json("PATCH", &format!("/items/{key}"), &json!({ "title": "New" })).with(200);
    assert_eq!(updated(heard.recv_timeout(SOON).ok()), uri);
    // A surface without subscriptions has no streams.
    let (_refused, heard) = stream(&web, "task-orchestrator", &[&uri]);
    let refused = heard.recv_timeout(SOON).expect("an answer");
    assert_eq!(refused["error"]["code"], json!(-32601), "{refused}");
}

/// A stream takes a place for as long as it is open, and gives it back.
#[test]
fn streams_over_http_are_bounded() {
    let web = Web::start_with("[server]\nwaiters = 2\n", |_| {});
    web.item("First");
    let open: Vec<_> = (0..2).map(|_| stream(&web, "docket", &["board://default"])).collect();
    for (_, heard) in &open {
        heard.recv_timeout(SOON).expect("an acknowledgement");
    }
    let (_, heard) = stream(&web, "docket", &["board://default"]);
    let refused = heard.recv_timeout(SOON).expect("an answer");
    assert_eq!(refused["error"]["kind"], json!("shedding"), "{refused}");
    for (stream, _) in &open {
        // The reading thread has a copy of it: only this hangs up.
        stream.shutdown(std::net::Shutdown::Both).expect("hung up");
    }
    let begun = Instant::now();
    loop {
        let (_stream, heard) = stream(&web, "docket", &["board://default"]);
        let told = heard.recv_timeout(SOON).expect("an answer");
        if told["method"] == json!("notifications/subscriptions/acknowledged") {
            break;
        }
        assert!(begun.elapsed() < SOON, "places are not given back: {told}");
        std::thread::sleep(Duration::from_millis(100));
    }
}

#[test]
fn the_board_of_foresttasks_is_followed_too() {
    let folder = tempfile::tempdir().expect("a folder");
    let database = folder.path().join("docket.db");
    let server = Server::start_as(&database, &["--surface", "foresttasks"], json!({}));
    let hand = Server::start_with(&database, &["--surface", "foresttasks"], |_| {});
    hand.ok("task", json!({ "action": "create", "title": "First" }));
    for uri in ["board://default", "foresttasks://workflow"] {
        let answer = server.request("resources/subscribe", json!({ "uri": uri })).expect("an answer");
        assert!(answer["error"].is_null(), "{uri}: {answer}");
    }
    hand.ok("task", json!({ "action": "create", "title": "Second" }));
    assert_eq!(updated(server.hear(SOON)), "board://default");
}
