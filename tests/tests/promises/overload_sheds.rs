//! P12: overload sheds.
//!
//! A database that needs its time for every write gives a server a capacity that does not depend on the machine. First as
//! many callers as the server takes work side by side; then ten times as many do not wait for better times, while others
//! leave unread what they asked for and many more just hold connections. The server does nearly as much as before, turns
//! the excess away at once and says so, stays small, and afterwards all is as it was. Planted bug it catches: whoever comes
//! waits for a turn for as long as it takes.

use std::io::{BufReader, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use docket_tests::web::{Web, converse, request};
use serde_json::json;

use crate::fleet::{Place, must_fail_with, soak};

/// What one write takes in the database, at least.
const WRITE_SECONDS: &str = "0.05";
/// Requests that the server works on at a time, and connections to its database.
const AT_A_TIME: usize = 4;
/// Callers that come in spite of it: each is turned away ten times a second.
const TOO_MANY: usize = 80;
/// How soon the excess is told, and how soon at the worst on a machine that does other things, too.
const TOLD_WITHIN: Duration = Duration::from_millis(250);
const TOLD_AT_WORST: Duration = Duration::from_secs(1);
/// The largest that the server may get, in KiB.
const LARGEST: u64 = 400 * 1024;

/// How callers write.
#[derive(Clone, Copy)]
enum Way {
    Rest,
    Mcp,
}

impl Way {
    /// A request that writes a note on an item.
    fn write(self, address: SocketAddr, item: &str, key: &str) -> Vec<u8> {
        let text = "x".repeat(200);
        match self {
            Self::Rest => {
                let body = json!({ "body": text, "phase": "work" }).to_string();
                request(address, "PUT", &format!("/api/v1/items/{item}/notes/{key}"), &[], Some(body.as_bytes()))
            }
            Self::Mcp => {
                let arguments = json!({ "id": item, "notes": [{ "key": key, "body": text, "phase": "work" }] });
                let body = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call",
                    "params": { "name": "annotate", "arguments": arguments } });
                let accept = [("accept", "application/json, text/event-stream")];
                request(address, "POST", "/mcp/docket", &accept, Some(body.to_string().as_bytes()))
            }
        }
    }
}

/// What callers were answered, and how soon.
#[derive(Default)]
struct Tally {
    done: Vec<Duration>,
    shed: Vec<Duration>,
}

/// Writes notes on a connection that stays open, one after the other, until all is over.
fn caller(way: Way, address: SocketAddr, number: usize, items: &[String], over: &AtomicBool, tally: &Mutex<Tally>) {
    let stream = TcpStream::connect(address).expect("a connection");
    stream.set_nodelay(true).expect("a connection");
    stream.set_read_timeout(Some(Duration::from_secs(30))).expect("a connection");
    let mut stream = BufReader::new(stream);
    let bytes = way.write(address, &items[number % items.len()], &format!("log-{number}"));
    while !over.load(Ordering::Relaxed) {
        let begun = Instant::now();
        let reply = converse(&mut stream, &bytes).expect("an answer");
        let took = begun.elapsed();
        let mut tally = tally.lock().expect("the tally");
        if reply.status < 300 {
            assert!(reply.json()["result"]["isError"] != json!(true), "{}", reply.json());
            tally.done.push(took);
        } else {
            assert_eq!(reply.error(503)["kind"], json!("shedding"), "{}", reply.json());
            assert!(!reply.header("retry-after").is_empty());
            tally.shed.push(took);
        }
    }
}

/// So many callers for so long; what they did each second, and how.
fn run(way: Way, web: &Web, items: &[String], callers: usize, length: Duration) -> (f64, Tally) {
    let (over, tally) = (AtomicBool::new(false), Mutex::new(Tally::default()));
    let begun = Instant::now();
    std::thread::scope(|scope| {
        for number in 0..callers {
            let (over, tally) = (&over, &tally);
            scope.spawn(move || caller(way, web.address, number, items, over, tally));
        }
        std::thread::sleep(length);
        over.store(true, Ordering::Relaxed);
    });
    let tally = tally.into_inner().expect("the tally");
    (rate(tally.done.len(), begun.elapsed()), tally)
}

/// So many each second.
fn rate(count: usize, time: Duration) -> f64 {
    f64::from(u32::try_from(count).expect("few")) / time.as_secs_f64()
}

/// Connections that do nothing, and some that leave unread what they asked for.
fn bystanders(web: &Web, idle: usize) -> Vec<TcpStream> {
    let slow = (0..40).map(|number| {
        let path = if number % 2 == 0 { "/api/v1/events/stream?after=0" } else { "/api/v1/events?limit=200" };
        let mut stream = TcpStream::connect(web.address).expect("a connection");
        stream.write_all(&request(web.address, "GET", path, &[], None)).expect("sent");
        stream
    });
    let idle = (0..idle).map(|_| TcpStream::connect(web.address).expect("a connection"));
    slow.chain(idle).collect()
}

/// The most memory that a process has had, in KiB.
fn largest(web: &Web) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{}/status", web.pid())).expect("the process");
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).expect("a number");
    line.trim().trim_end_matches(" kB").parse().expect("a number")
}

#[expect(clippy::print_stdout, reason = "whoever runs it for long wants its figures")]
fn experiment(way: Way, place: &Place, idle: usize, length: Duration) {
    let items = place.items(TOO_MANY);
    let toml = format!("[server]\nin_flight = {AT_A_TIME}\nheader_timeout_seconds = 120\n");
    std::fs::write(place.folder().join("docket.toml"), toml).expect("docket.toml");
    place.on().run(&format!(
        "CREATE FUNCTION slow() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN PERFORM pg_sleep({WRITE_SECONDS}); RETURN NEW; END $$; \
         CREATE TRIGGER slow BEFORE INSERT ON events FOR EACH ROW EXECUTE FUNCTION slow()"
    ));
    let mark = if place.word().contains('?') { '&' } else { '?' };
    let word = format!("{}{mark}docket_connections={AT_A_TIME}", place.word());
    let web = Web::serving(&word, place.folder(), |command| place.prepare(command));
    let (capacity, calm) = run(way, &web, &items, AT_A_TIME, length / 2);
    assert!(calm.shed.is_empty(), "{} were turned away without need", calm.shed.len());
    let there = bystanders(&web, idle);
    let (goodput, mut tally) = run(way, &web, &items, TOO_MANY, length);
    let offered = rate(tally.done.len() + tally.shed.len(), length);
    assert!(
        tally.shed.len() > tally.done.len(),
        "the excess was not turned away: {} of {}",
        tally.shed.len(),
        tally.done.len()
    );
    tally.shed.sort();
    let at = |share: usize| tally.shed[(tally.shed.len() - 1) * share / 100];
    println!(
        "capacity {capacity:.0}/s; {offered:.0}/s came, {goodput:.0}/s were done; turned away within {:?}, {:?} at 99 %, {:?} at the \
         most; {} MiB at the most",
        at(50),
        at(99),
        at(100),
        largest(&web) / 1024
    );
    assert!(goodput >= 0.8 * capacity, "{goodput:.0}/s of {capacity:.0}/s were done");
    assert!(offered > 8.0 * capacity, "{offered:.0}/s is no crowd");
    assert!(
        at(99) < TOLD_WITHIN && at(100) < TOLD_AT_WORST,
        "turned away after {:?}, {:?} at the most",
        at(99),
        at(100)
    );
    assert!(largest(&web) < LARGEST, "the server had {} KiB", largest(&web));
    let begun = Instant::now();
    web.get(&format!("/items/{}", items[0])).with(200);
    assert!(begun.elapsed() < TOLD_WITHIN, "afterwards a caller waited {:?}", begun.elapsed());
    drop((there, web));
    place.check();
}

#[test]
fn overload_sheds() {
    let (idle, seconds) = if soak() > 1 { (2000, 60) } else { (400, 5) };
    experiment(Way::Rest, &Place::on_server(None), idle, Duration::from_secs(seconds));
}

#[test]
fn overload_sheds_over_mcp() {
    let (idle, seconds) = if soak() > 1 { (2000, 60) } else { (400, 5) };
    experiment(Way::Mcp, &Place::on_server(None), idle, Duration::from_secs(seconds));
}

#[test]
fn and_a_queue_without_end_would_be_seen() {
    must_fail_with(&["the excess was not turned away"], || {
        experiment(Way::Rest, &Place::on_server(Some("queue-unbounded")), 10, Duration::from_secs(3));
    });
}
