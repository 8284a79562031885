//! P13: a disconnect harms nobody.
//!
//! Callers send whole requests, on every kind of route, and hang up at a random moment, while the server has one or two
//! connections to its database. After each round no transaction is left open, and the next caller is served at once. In the
//! end nothing is under way, nothing waits, and the rows are what the events say. Planted bug it catches: the transaction
//! belongs to the request, and its connection is lent on as it was left.

use std::io::Write as _;
use std::net::TcpStream;
use std::time::{Duration, Instant};

use docket_core::testing::acts::Dice;
use docket_tests::web::{Web, request};
use serde_json::{Value, json};

use crate::fleet::{Place, must_fail_with, soak};

const CALLERS: u64 = 8;
const ROUNDS: u64 = 30;
/// How long the next caller may take on a machine that does other things, too.
const NEXT_WITHIN: Duration = Duration::from_secs(2);

fn some_request(dice: &mut Dice, items: &[String]) -> (&'static str, String, Value) {
    let item = &items[usize::try_from(dice.roll(items.len() as u64)).expect("small")];
    let api = |path: &str| format!("/api/v1{path}");
    match dice.roll(10) {
        0 | 1 => ("POST", api("/items"), json!({ "title": "by somebody who left" })),
        2 => ("PATCH", api(&format!("/items/{item}")), json!({ "summary": "left" })),
        3 => ("PUT", api(&format!("/items/{item}/claim")), json!({ "ttlSeconds": 5 })),
        4 => ("POST", api(&format!("/items/{item}/transitions")), json!({ "trigger": "start" })),
        5 => ("POST", api("/edges"), json!({ "from": items[0], "to": item })),
        6 => ("GET", api(&format!("/events?waitMs={}", dice.roll(3000))), Value::Null),
        7 => ("POST", api("/queue/claim"), json!({ "waitMs": 3000, "ttlSeconds": 5 })),
        8 => ("GET", api(&format!("/items/{item}/context")), Value::Null),
        _ => {
            let create = json!({ "operation": "create", "items": [{ "title": "by MCP" }] });
            let call = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": { "name": "manage_items", "arguments": create } });
            ("POST", "/mcp/task-orchestrator".to_owned(), call)
        }
    }
}

/// Sends a request and hangs up some time later.
fn leave(web: &Web, seed: u64, items: &[String]) {
    let mut dice = Dice::new(seed);
    let (method, path, body) = some_request(&mut dice, items);
    let body = (!body.is_null()).then(|| body.to_string());
    let actor = format!("agent:leaver-{}", dice.roll(4));
    let headers = [("x-docket-actor", actor.as_str()), ("accept", "application/json, text/event-stream")];
    let bytes = request(web.address, method, &path, &headers, body.as_deref().map(str::as_bytes));
    let mut stream = TcpStream::connect(web.address).expect("a connection");
    stream.write_all(&bytes).expect("sent");
    std::thread::sleep(Duration::from_micros(dice.roll(12_000)));
}

/// Waits until no transaction is open; one that runs to its end without its caller may be, for a moment.
fn nothing_is_left_open(place: &Place) {
    let open = "SELECT count(*)::text FROM pg_stat_activity WHERE datname = current_database() AND state LIKE 'idle in transaction%'";
    let begun = Instant::now();
    while place.on().ask(open) != "0" {
        assert!(begun.elapsed() < Duration::from_secs(3), "a transaction was left open");
        std::thread::sleep(Duration::from_millis(20));
    }
}

fn gauge(web: &Web, name: &str) -> u64 {
    let metrics = String::from_utf8(web.to("GET", "/metrics", &[], None).body).expect("text");
    let line = metrics.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' ')).expect("a number");
    line.parse().expect("a number")
}

fn experiment(place: &Place, connections: Option<usize>, rounds: u64) {
    let items = place.items(6);
    let mut address = place.word();
    if let Some(connections) = connections {
        let mark = if address.contains('?') { '&' } else { '?' };
        address = format!("{address}{mark}docket_connections={connections}");
    }
    let web = Web::serving(&address, place.folder(), |command| place.prepare(command));
    for round in 0..rounds {
        std::thread::scope(|scope| {
            for caller in 0..CALLERS {
                let (web, items) = (&web, &items);
                scope.spawn(move || leave(web, round * CALLERS + caller, items));
            }
        });
        if connections.is_some() {
            nothing_is_left_open(place);
        }
        let begun = Instant::now();
        let made = web.item(&format!("round {round}"));
        web.get(&format!("/items/{made}")).with(200);
        assert!(begun.elapsed() < NEXT_WITHIN, "the next caller waited {:?} in round {round}", begun.elapsed());
    }
    let begun = Instant::now();
    // The one who asks is under way.
    while gauge(&web, "docket_http_waiters") + gauge(&web, "docket_http_requests_in_flight") > 1 {
        assert!(begun.elapsed() < Duration::from_secs(5), "something of those who left is still under way");
        std::thread::sleep(Duration::from_millis(20));
    }
    drop(web);
    let world = place.check();
    let made = world.items.values().filter(|item| item.title.as_str().starts_with("round ")).count();
    assert_eq!(made as u64, rounds);
    assert!(world.items.values().any(|item| item.title.as_str() == "by somebody who left"), "nobody got anything done");
}

#[test]
fn a_disconnect_harms_nobody() {
    experiment(&Place::new(None), None, ROUNDS * u64::from(soak()));
}

#[test]
fn nor_with_one_connection_to_a_server() {
    experiment(&Place::on_server(None), Some(1), ROUNDS * u64::from(soak()));
}

#[test]
fn nor_with_two() {
    experiment(&Place::on_server(None), Some(2), ROUNDS * u64::from(soak()));
}

#[test]
fn and_a_transaction_that_goes_with_its_caller_would_be_seen() {
    must_fail_with(&["was left open", "the next caller waited", "503"], || {
        experiment(&Place::on_server(Some("transaction-of-caller")), Some(2), ROUNDS);
    });
}
