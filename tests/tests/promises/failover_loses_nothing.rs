//! P5: an acknowledged write survives a failover to a synchronous standby.
//!
//! Two servers write to a Postgres primary that has a synchronous standby. Under load all processes of the primary are
//! killed, the standby is promoted, and the address that both servers know leads there. Every write that was acknowledged is
//! in the new primary; whoever asks in between is told to come again, and no server says that it is ready; a reader goes on by
//! its cursor and misses nothing. Every second time the standby hears nothing in its last moments: then nothing more is
//! acknowledged. Planted bug it catches: an asynchronous standby, with which all goes on as if nothing was.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use docket_tests::audit;
use docket_tests::own_postgres::{OwnServer, run_on};
use docket_tests::web::{self, Reply, Web};
use serde_json::{Value, json};

use crate::fleet::{must_fail_with, soak};

const WRITERS: usize = 8;
/// How long servers may take to find the new primary.
const BACK_WITHIN: Duration = Duration::from_secs(5);

/// An address that leads to whichever server is the primary: a folder with a link to its socket.
struct Front(tempfile::TempDir);

impl Front {
    fn new() -> Self {
        Self(tempfile::tempdir().expect("a folder"))
    }

    fn lead_to(&self, server: &OwnServer) {
        let (new, link) = (self.0.path().join("new"), self.0.path().join(".s.PGSQL.5432"));
        std::os::unix::fs::symlink(server.folder().join(".s.PGSQL.5432"), &new).expect("a link");
        std::fs::rename(new, link).expect("a link");
    }

    fn url(&self) -> String {
        format!("postgres://docket@localhost/work?host={}", self.0.path().display())
    }
}

/// What the writers did.
#[derive(Default)]
struct Load {
    acknowledged: Mutex<BTreeSet<String>>,
    /// Answers of the gap.
    put_off: AtomicUsize,
    over: AtomicBool,
}

fn write(load: &Load, web: &Web, number: usize, item: &str) {
    for count in 0_u64.. {
        if load.over.load(Ordering::Relaxed) {
            return;
        }
        let token = format!("token-{number}-{count}");
        let path = format!("/api/v1/items/{item}/notes/{token}");
        let body = json!({ "body": token, "phase": "work" }).to_string();
        let reply = web::ask(web.address, "PUT", &path, &[], Some(body.as_bytes())).expect("the server lives");
        if reply.status < 300 {
            load.acknowledged.lock().expect("the list").insert(token);
        } else {
            must_come_again(&reply);
            load.put_off.fetch_add(1, Ordering::Relaxed);
            std::thread::sleep(Duration::from_millis(20));
        }
    }
}

/// Somebody is told that it is only for now, and when to come again.
fn must_come_again(reply: &Reply) {
    let error = reply.error(503);
    assert_eq!(error["kind"], json!("transient"), "{error}");
    assert!(error["retryAfterMs"].is_u64() && !reply.header("retry-after").is_empty(), "{error}");
}

/// Reads events by a cursor until all is over, and those that are left then.
fn read(load: &Load, webs: &[Web; 2]) -> Vec<u64> {
    let mut seen: Vec<u64> = Vec::new();
    for turn in 0.. {
        let last_look = load.over.load(Ordering::Relaxed);
        let after = seen.last().copied().unwrap_or(0);
        let path = format!("/api/v1/events?after={after}&waitMs=300&limit=200");
        let reply = web::ask(webs[turn % 2].address, "GET", &path, &[], None).expect("the server lives");
        if reply.status != 200 {
            assert_ne!(reply.status, 422, "missed events: the log ends before {after}");
            must_come_again(&reply);
            std::thread::sleep(Duration::from_millis(20));
            continue;
        }
        let events = reply.json()["events"].as_array().cloned().unwrap_or_default();
        if events.is_empty() && last_look {
            break;
        }
        seen.extend(events.iter().filter_map(|event| event["seq"].as_u64()));
    }
    seen
}

fn is_ready(web: &Web) -> bool {
    web.to("GET", "/readyz", &[], None).status == 200
}

/// A failover: the primary dies, the standby takes its place.
fn fail_over(front: &Front, webs: &[Web; 2], primary: &OwnServer, standby: &OwnServer, cut: bool) {
    if cut {
        standby.cut_off();
        std::thread::sleep(Duration::from_millis(400));
    }
    primary.kill();
    for web in webs {
        assert!(!is_ready(web), "a server says that it is ready while it has no database");
    }
    std::thread::sleep(Duration::from_millis(300));
    standby.promote();
    front.lead_to(standby);
    let begun = Instant::now();
    while !webs.iter().all(is_ready) {
        assert!(begun.elapsed() < BACK_WITHIN, "the servers do not find the new primary");
        std::thread::sleep(Duration::from_millis(20));
    }
}

fn item(web: &Web) -> String {
    web.item("where tokens are put")
}

fn experiment(rounds: usize, synchronous: bool, cut: impl Fn(usize) -> bool) {
    let front = Front::new();
    let mut primary = OwnServer::start();
    primary.run("CREATE DATABASE work TEMPLATE template0 ENCODING 'UTF8'");
    front.lead_to(&primary);
    let folder = tempfile::tempdir().expect("a folder");
    let start = || Web::serving(&front.url(), folder.path(), |_| {});
    let webs = Arc::new([start(), start()]);
    let items: Vec<String> = (0..WRITERS).map(|_| item(&webs[0])).collect();
    let load = Arc::new(Load::default());
    let standby_of = |primary: &OwnServer| {
        let standby = primary.standby();
        if synchronous {
            primary.wait_for_standbys();
        }
        standby
    };
    let mut standby = standby_of(&primary);
    let writers: Vec<_> = items
        .into_iter()
        .enumerate()
        .map(|(number, item)| {
            let (load, webs) = (Arc::clone(&load), Arc::clone(&webs));
            std::thread::spawn(move || write(&load, &webs[number % 2], number, &item))
        })
        .collect();
    let reader = std::thread::spawn({
        let (load, webs) = (Arc::clone(&load), Arc::clone(&webs));
        move || read(&load, &webs)
    });
    for round in 0..rounds {
        std::thread::sleep(Duration::from_secs(1));
        fail_over(&front, &webs, &primary, &standby, cut(round));
        primary = standby;
        standby = standby_of(&primary);
    }
    std::thread::sleep(Duration::from_millis(500));
    load.over.store(true, Ordering::Relaxed);
    for writer in writers {
        writer.join().expect("a writer");
    }
    let seen = reader.join().unwrap_or_else(|missed| std::panic::resume_unwind(missed));
    drop(standby);
    check(&load, &front, &seen, rounds);
}

#[expect(clippy::print_stdout, reason = "whoever runs it for long wants its figures")]
fn check(load: &Load, front: &Front, seen: &[u64], rounds: usize) {
    let world = audit::check_server(&front.url());
    let stored: BTreeSet<String> = world.notes.values().map(|note| note.body.to_string()).collect();
    let acknowledged = load.acknowledged.lock().expect("the list");
    let lost: Vec<&String> = acknowledged.difference(&stored).collect();
    assert!(
        lost.is_empty(),
        "{} of {} acknowledged writes are lost after {rounds} failovers: {:?}",
        lost.len(),
        acknowledged.len(),
        lost.first()
    );
    let put_off = load.put_off.load(Ordering::Relaxed);
    assert!(acknowledged.len() > 100 && put_off > 0, "{} writes and {put_off} put off show little", acknowledged.len());
    let wanted: Vec<u64> = world.events.iter().map(|event| event.seq).collect();
    assert_eq!(seen, wanted, "the reader missed events");
    println!("{rounds} failovers: {} writes acknowledged, {put_off} put off, none lost", acknowledged.len());
}

#[test]
fn an_acknowledged_write_survives_a_failover() {
    let rounds = if soak() > 1 { 10 } else { 2 };
    experiment(rounds, true, |round| round % 2 == 1);
}

#[test]
fn and_a_standby_that_is_not_waited_for_would_be_seen() {
    must_fail_with(&["acknowledged writes are lost", "missed events"], || experiment(1, false, |_| true));
}

/// A server that only a standby answers reads, puts writes off, and is not ready; when the standby is promoted, all is well.
#[test]
fn a_standby_answers_reads_and_puts_writes_off() {
    let primary = OwnServer::start();
    primary.run("CREATE DATABASE work TEMPLATE template0 ENCODING 'UTF8'");
    let folder: PathBuf = tempfile::tempdir().expect("a folder").keep();
    let first = Web::serving(&primary.url("work"), &folder, |_| {});
    let item = item(&first);
    drop(first);
    let standby = primary.standby();
    let web = Web::serving(&standby.url("work"), Path::new(&folder), |_| {});
    web.get(&format!("/items/{item}")).with(200);
    assert!(!is_ready(&web), "it can write nothing");
    let put = || {
        let key = [("idempotency-key", "the-one-and-only")];
        web.send("POST", "/items", &key, Some(json!({ "title": "Late" }).to_string().as_bytes()))
    };
    let refused = put();
    must_come_again(&refused);
    assert_eq!(refused.reason(503), "store_read_only");
    drop(primary);
    standby.promote();
    assert_eq!(put().with(201)["item"]["title"], json!("Late"));
    assert!(is_ready(&web));
    let all: Value = web.get("/items").with(200);
    assert_eq!(all["total"], json!(2), "{all}");
    std::fs::remove_dir_all(folder).expect("removed");
}

/// A number that was taken before another may be committed after it. A primary knows of those that are under way, and a standby does
/// not: there nobody is given a place from which to go on, so that nobody passes over an event for good.
#[test]
fn a_reader_of_a_standby_passes_over_nothing_that_is_committed_late() {
    let primary = OwnServer::start();
    primary.run("CREATE DATABASE work TEMPLATE template0 ENCODING 'UTF8'");
    let folder = tempfile::tempdir().expect("a folder");
    let writer = Web::serving(&primary.url("work"), folder.path(), |_| {});
    let item = item(&writer);
    let standby = primary.standby();
    primary.wait_for_standbys();
    let reader = Web::serving(&standby.url("work"), folder.path(), |_| {});
    let before = writer.get("/events?limit=200").with(200)["cursor"].as_u64().expect("a number");
    // One that has taken its number, and takes its time.
    run_on(
        &primary.url("work"),
        "CREATE FUNCTION late() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN \
         IF NEW.data::text LIKE '%the slow one%' THEN PERFORM pg_sleep(4); END IF; RETURN NEW; END $$; \
         CREATE TRIGGER late BEFORE INSERT ON events FOR EACH ROW EXECUTE FUNCTION late()",
    );
    std::thread::scope(|scope| {
        let slow = scope.spawn(|| writer.post("/items", &json!({ "title": "the slow one" })).with(201));
        std::thread::sleep(Duration::from_millis(500));
        let quick = json!({ "comment": "the quick one" });
        writer.post(&format!("/items/{item}/comments"), &quick).with(201);
        let begun = Instant::now();
        let mut told = 0;
        while !slow.is_finished() {
            for path in ["/events?limit=200", "/events/stream", "/events?waitMs=200"] {
                let mark = if path.contains('?') { '&' } else { '?' };
                must_come_again(&reader.get(&format!("{path}{mark}after={before}")));
            }
            told += 1;
            assert!(begun.elapsed() < Duration::from_secs(20), "it never ends");
        }
        assert!(told > 0, "nobody asked while it was under way");
        // What is shown to whoever looks back is no place to go on from.
        reader.get("/events?newestFirst=true").with(200);
        slow.join().expect("made");
    });
    let wanted = writer.get(&format!("/events?limit=200&after={before}")).with(200)["events"].clone();
    assert!(wanted.as_array().is_some_and(|events| events.len() == 2), "{wanted}");
    drop((writer, primary));
    standby.promote();
    assert_eq!(reader.get(&format!("/events?limit=200&after={before}")).with(200)["events"], wanted);
}
