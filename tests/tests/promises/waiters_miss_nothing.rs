//! P18: a waiter misses nothing.
//!
//! Two servers on one database, over HTTP. Some readers wait for pages by their cursor, some follow a live stream and come
//! back with the last number they saw; all of them change servers, go away and come back while writers write and servers are
//! killed. Each meets every event once and in order. When all is quiet, one write after the other is seen by every reader
//! before it would have looked by itself. Planted bug it catches: waiters are told before the commit, look, find nothing,
//! and sleep on.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use docket_core::model::Verb;
use docket_core::testing::acts::Dice;
use docket_tests::web::Stream;
use serde_json::{Value, json};

use crate::fleet::{Fleet, Place, must_fail_with, soak};

const REPLICAS: usize = 2;
const WRITERS: usize = 6;
/// Rounds of one write that all must see.
const QUIET: usize = 8;
/// How long one may take to be seen; a waiter that nobody told looks by itself after five seconds.
const SEEN_WITHIN: Duration = Duration::from_secs(2);

/// One who waits for events, and what it has seen of them.
struct Reader {
    /// A live stream, or pages.
    streams: bool,
    /// Only events of this kind.
    verb: Option<Verb>,
    seen: Mutex<Vec<u64>>,
}

impl Reader {
    fn last(&self) -> u64 {
        self.seen.lock().expect("the list").last().copied().unwrap_or(0)
    }

    fn path(&self, page: &str) -> String {
        let verbs = self.verb.map_or_else(String::new, |verb| format!("&verbs={}", verb.as_str()));
        format!("{page}{verbs}")
    }
}

/// What readers and writers share.
struct Scene {
    fleet: Arc<Fleet>,
    items: Vec<String>,
    readers: Vec<Reader>,
    /// Servers are left alone, and readers wait as long as they can.
    calm: AtomicBool,
    done: AtomicBool,
}

impl Scene {
    fn new(place: &Arc<Place>) -> Arc<Self> {
        let reader = |streams, verb| Reader { streams, verb, seen: Mutex::default() };
        let readers = vec![
            reader(false, None),
            reader(false, None),
            reader(true, None),
            reader(true, None),
            reader(false, Some(Verb::Edited)),
            reader(true, Some(Verb::Edited)),
        ];
        let (items, fleet) = (place.items(WRITERS), Fleet::new(place, REPLICAS));
        Arc::new(Self { fleet, items, readers, calm: AtomicBool::default(), done: AtomicBool::default() })
    }

    /// Reads until all is over.
    fn read(&self, number: usize) {
        let reader = &self.readers[number];
        let mut dice = Dice::new(number as u64 + 100);
        // By its cursor alone: pages of another kind move it, too.
        let mut cursor = 0;
        while !self.done.load(Ordering::Relaxed) {
            let patience = if self.calm.load(Ordering::Relaxed) { 20_000 } else { 50 + dice.roll(900) };
            // In the quiet, two of each kind wait at either server.
            let place =
                if self.calm.load(Ordering::Relaxed) { number } else { usize::try_from(dice.roll(2)).expect("small") };
            if reader.streams {
                self.follow(reader, place, Duration::from_millis(patience), &mut dice);
            } else {
                cursor = self.page(reader, place, patience, cursor);
            }
        }
    }

    fn page(&self, reader: &Reader, place: usize, patience: u64, cursor: u64) -> u64 {
        let path = reader.path(&format!("/events?after={cursor}&waitMs={patience}&limit=7"));
        let Some(reply) = self.fleet.send(place, "GET", &path, &[], &Value::Null) else { return cursor };
        if reply.status != 200 {
            assert_eq!(reply.status, 503, "{}", reply.json());
            return cursor;
        }
        let page = reply.json();
        let events = page["events"].as_array().into_iter().flatten();
        let numbers: Vec<u64> = events.map(|event| event["seq"].as_u64().expect("a number")).collect();
        reader.seen.lock().expect("the list").extend(numbers);
        page["cursor"].as_u64().expect("a cursor")
    }

    fn follow(&self, reader: &Reader, place: usize, patience: Duration, dice: &mut Dice) {
        let last = reader.last().to_string();
        let path = reader.path("/events/stream?after=0");
        let opened = Stream::try_open(self.fleet.address(place), &path, &[("last-event-id", &last)], patience);
        let Ok(mut stream) = opened else { return };
        let most = dice.roll(40);
        for count in 0.. {
            let Some(sent) = stream.next_event() else { return };
            reader.seen.lock().expect("the list").push(sent.id);
            // It goes away in the middle, however much there is.
            let calm = self.calm.load(Ordering::Relaxed);
            if self.done.load(Ordering::Relaxed) || !calm && count > most {
                return;
            }
        }
    }

    /// Writes once; says with which number, if it was acknowledged.
    fn write(&self, number: usize, count: u64) -> bool {
        let item = &self.items[number % self.items.len()];
        let (path, method, body) = if count.is_multiple_of(3) {
            (format!("/items/{item}/notes/log-{number}"), "PUT", json!({ "body": format!("{count}"), "phase": "work" }))
        } else {
            (format!("/items/{item}"), "PATCH", json!({ "summary": format!("{number} {count}") }))
        };
        let place = number + usize::try_from(count).expect("small");
        let reply = self.fleet.send(place, method, &path, &[], &body);
        reply.is_some_and(|reply| {
            assert!(matches!(reply.status, 200 | 201 | 503), "{}", reply.json());
            reply.status < 300
        })
    }

    /// Writes until all is over; says how often it was acknowledged.
    fn keep_writing(&self, number: usize) -> usize {
        let mut acknowledged = 0;
        for count in 0.. {
            if self.fleet.is_over() {
                break;
            }
            acknowledged += usize::from(self.write(number, count));
        }
        acknowledged
    }

    /// One write after the other, each seen by all before the next.
    fn quiet(&self, newest: impl Fn() -> u64) {
        for round in 0..QUIET {
            // An edit, which every reader is about.
            assert!(self.write(round, 3 * round as u64 + 1), "the servers are left alone");
            let begun = Instant::now();
            let wanted = newest();
            for (number, reader) in self.readers.iter().enumerate() {
                while reader.last() < wanted {
                    let passed = begun.elapsed();
                    assert!(
                        passed < SEEN_WITHIN,
                        "in round {round} reader {number} was told late: {passed:?} and more"
                    );
                    std::thread::sleep(Duration::from_millis(5));
                }
            }
        }
    }
}

fn experiment(place: Place, storm: Duration) {
    let place = Arc::new(place.over_http());
    let scene = Scene::new(&place);
    let readers: Vec<_> = (0..scene.readers.len())
        .map(|number| {
            let scene = Arc::clone(&scene);
            std::thread::spawn(move || scene.read(number))
        })
        .collect();
    let writers: Vec<_> = (0..if storm.is_zero() { 0 } else { WRITERS })
        .map(|number| {
            let scene = Arc::clone(&scene);
            std::thread::spawn(move || scene.keep_writing(number))
        })
        .collect();
    let (kills, _) = if storm.is_zero() { (0, Duration::ZERO) } else { scene.fleet.torment(18, storm, 500..1500) };
    let written: usize = writers.into_iter().map(|writer| writer.join().expect("a writer")).sum();
    scene.calm.store(true, Ordering::Relaxed);
    // Short waits come to their end, and long ones begin.
    std::thread::sleep(Duration::from_millis(2500));
    let quiet = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        scene.quiet(|| {
            let newest = scene.fleet.send(0, "GET", "/events?newestFirst=true&limit=1", &[], &Value::Null);
            newest.expect("an answer").with(200)["events"][0]["seq"].as_u64().expect("a number")
        });
    }));
    scene.done.store(true, Ordering::Relaxed);
    // Wakes everybody, for the last time.
    let _ = (scene.write(0, 1), scene.write(1, 1));
    for reader in readers {
        reader.join().expect("a reader");
    }
    quiet.unwrap_or_else(|panic| std::panic::resume_unwind(panic));
    check(&scene, &place);
    assert!(storm.is_zero() || kills > 2 && written > 100, "{kills} kills and {written} writes show little");
}

/// Every reader has met every event that it is about, once and in order; those of the last writes it may not have.
fn check(scene: &Scene, place: &Place) {
    let events = place.check().events;
    for (number, reader) in scene.readers.iter().enumerate() {
        let about = events.iter().filter(|event| reader.verb.is_none_or(|verb| verb == event.verb));
        let wanted: Vec<u64> = about.map(|event| event.seq).collect();
        let seen = reader.seen.lock().expect("the list");
        let met: BTreeSet<u64> = seen.iter().copied().collect();
        assert_eq!(met.len(), seen.len(), "reader {number} met an event twice");
        let missed: Vec<&u64> = wanted.iter().filter(|seq| **seq < reader_end(&wanted) && !met.contains(seq)).collect();
        assert!(missed.is_empty(), "reader {number} missed {} events, such as {:?}", missed.len(), missed.first());
        assert!(seen.is_sorted(), "reader {number} met events out of order");
    }
}

/// The number of the first of the two last writes, which nobody has to see.
fn reader_end(wanted: &[u64]) -> u64 {
    wanted.len().checked_sub(2).and_then(|at| wanted.get(at)).copied().unwrap_or(0)
}

#[test]
fn a_waiter_misses_nothing() {
    experiment(Place::on_server(None), Duration::from_secs(8) * soak());
}

#[test]
fn nor_of_a_file() {
    experiment(Place::new(None), Duration::from_secs(6) * soak());
}

#[test]
fn and_a_word_before_the_commit_would_be_seen() {
    must_fail_with(&["was told late"], || experiment(Place::on_server(Some("told-before-commit")), Duration::ZERO));
}
