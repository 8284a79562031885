//! More than a server's database can do: who comes to their turn soon waits for it, all others are told at once to come again, and
//! nobody is let go for it who is only busy.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use docket_tests::mcp::{Answer, Server};
use docket_tests::own_postgres::{put_to_sleep, signal};
use docket_tests::postgres::Database;
use docket_tests::web::Reply;
use serde_json::json;

use crate::desk::Desk;

/// Says that it is over however a test ends.
struct Over<'a>(&'a AtomicBool);

impl Drop for Over<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Processes of the database server that have stopped, and go on when this is dropped.
struct Asleep(Vec<u32>);

impl Asleep {
    /// All that serve a program on this database.
    fn all_of(database: &Database) -> Self {
        let processes = database.ask(
            "SELECT string_agg(pid::text, ' ') FROM pg_stat_activity WHERE datname = current_database() \
             AND application_name = 'docket' AND pid <> pg_backend_pid()",
        );
        let processes: Vec<u32> = processes.split(' ').map(|process| process.parse().expect("a process")).collect();
        put_to_sleep(&processes);
        Self(processes)
    }
}

impl Drop for Asleep {
    fn drop(&mut self) {
        self.0.iter().for_each(|process| signal("CONT", *process));
    }
}

/// Reads that nobody can answer do not pile up: as many wait as there are connections, the others are turned away at once.
#[test]
fn readers_over_capacity_are_turned_away_at_once() {
    let desk = Desk::new();
    desk.make("one").with(201);
    let url = desk.database.url();
    let holder = std::thread::spawn(move || {
        let runtime = tokio::runtime::Runtime::new().expect("a runtime");
        let hold = "BEGIN; LOCK TABLE items IN ACCESS EXCLUSIVE MODE; SELECT pg_sleep(3); COMMIT";
        runtime.block_on(docket_store_postgres::testing::run(&url, hold)).expect("it slept");
    });
    std::thread::sleep(Duration::from_millis(500));
    let answers: Vec<(Reply, Duration)> = std::thread::scope(|scope| {
        let readers: Vec<_> = (0..20)
            .map(|_| {
                scope.spawn(|| {
                    let begun = Instant::now();
                    (desk.web.get("/items"), begun.elapsed())
                })
            })
            .collect();
        // A server that has much to do is there: were it let go for that, all would come to the others.
        std::thread::sleep(Duration::from_millis(100));
        for _ in 0..5 {
            let begun = Instant::now();
            assert_eq!(desk.web.to("GET", "/readyz", &[], None).status, 200, "it is busy, and not away");
            assert!(begun.elapsed() < Duration::from_millis(900), "{:?}", begun.elapsed());
            std::thread::sleep(Duration::from_millis(150));
        }
        readers.into_iter().map(|reader| reader.join().expect("an answer")).collect()
    });
    let (served, shed): (Vec<_>, Vec<_>) = answers.into_iter().partition(|(reply, _)| reply.status == 200);
    assert!(!served.is_empty() && shed.len() >= 10, "{} served and {} turned away", served.len(), shed.len());
    for (reply, took) in shed {
        assert_eq!(reply.error(503)["kind"], json!("shedding"));
        // A quarter of a second, and what a busy machine adds.
        assert!(took < Duration::from_millis(900), "turned away after {took:?}");
    }
    holder.join().expect("the holder");
    assert_eq!(desk.total(), json!(1));
}

/// The same of tools of another system, in its words.
#[test]
fn readers_over_capacity_are_told_when_to_come_again_by_tools_too() {
    let desk = Desk::new();
    desk.make("one").with(201);
    let server = Server::try_start_on(&desk.database.url(), desk.folder.path(), &[], |_| {}).expect("it starts");
    let url = desk.database.url();
    let holder = std::thread::spawn(move || {
        let runtime = tokio::runtime::Runtime::new().expect("a runtime");
        let hold = "BEGIN; LOCK TABLE items IN ACCESS EXCLUSIVE MODE; SELECT pg_sleep(2); COMMIT";
        runtime.block_on(docket_store_postgres::testing::run(&url, hold)).expect("it slept");
    });
    std::thread::sleep(Duration::from_millis(500));
    let search = json!({ "name": "query_items", "arguments": { "operation": "search" } });
    let asked: Vec<_> = (0..20).map(|_| server.ask("tools/call", search.clone()).1).collect();
    let answers: Vec<Answer> = asked
        .into_iter()
        .map(|one| Answer::read("query_items", &one.recv_timeout(Duration::from_secs(20)).expect("an answer")))
        .collect();
    holder.join().expect("the holder");
    let (shed, rest): (Vec<Answer>, Vec<Answer>) = answers.into_iter().partition(|answer| answer.is_error);
    assert!(shed.len() >= 10 && !rest.is_empty(), "{} shed, {} served", shed.len(), rest.len());
    for answer in shed {
        let error = &answer.content["error"];
        assert_eq!(
            (&error["kind"], &error["code"], &error["retryAfterMs"]),
            (&json!("shedding"), &json!("DATABASE_ERROR"), &json!(250)),
            "{error}"
        );
        assert!(error.get("contendedItemId").is_none(), "{error}");
    }
}

/// A database that went away while many asked looks like one that has much to do, but not for long: connections are taken by those who
/// wait for its answer in vain, and whether it is there cannot even be asked.
#[test]
fn a_database_that_is_silent_while_many_ask_is_not_taken_for_busy() {
    let desk = Desk::new();
    desk.make("one").with(201);
    let over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let ends = Over(&over);
        for _ in 0..16 {
            scope.spawn(|| {
                while !over.load(Ordering::Relaxed) {
                    desk.web.get("/items");
                }
            });
        }
        std::thread::sleep(Duration::from_millis(500));
        desk.web.readyz_says(200);
        let asleep = Asleep::all_of(&desk.database);
        let silent = Instant::now();
        let mut said = Vec::new();
        while said.last() != Some(&503) {
            assert!(silent.elapsed() < Duration::from_secs(10), "it is taken for busy");
            said.push(desk.web.to("GET", "/readyz", &[], None).status);
            std::thread::sleep(Duration::from_millis(100));
        }
        // As long as it may only be busy it is: all would come to the others.
        assert!(silent.elapsed() > Duration::from_secs(2) && said[0] == 200, "{said:?} within {:?}", silent.elapsed());
        drop(asleep);
        let awake = Instant::now();
        while desk.web.to("GET", "/readyz", &[], None).status != 200 {
            assert!(awake.elapsed() < Duration::from_secs(10), "it does not come back");
            std::thread::sleep(Duration::from_millis(50));
        }
        drop(ends);
    });
    assert_eq!(desk.total(), json!(1));
}

/// That others write before oneself is no reason to be turned away, as long as one comes to one's turn soon.
#[test]
fn writers_who_take_turns_all_get_one() {
    let desk = Desk::on(Database::new(), "docket_connections=2");
    // Before the first has its connection, none is given back.
    desk.make("first").with(201);
    desk.whenever("PERFORM pg_sleep(0.02);");
    std::thread::scope(|scope| {
        let desk = &desk;
        let writers: Vec<_> =
            (0..30).map(|number| scope.spawn(move || desk.make(&format!("writer {number}")))).collect();
        for writer in writers {
            writer.join().expect("an answer").with(201);
        }
    });
    assert_eq!(desk.total(), json!(31));
}

/// Another process is at work alone, as one that imports is: those who wait for that are no reason to send others away.
#[test]
fn writers_whom_another_process_keeps_waiting_all_get_their_turn() {
    let desk = Desk::on(Database::new(), "docket_connections=2");
    desk.make("first").with(201);
    let url = desk.database.url();
    let holder = std::thread::spawn(move || {
        let runtime = tokio::runtime::Runtime::new().expect("a runtime");
        let hold = "BEGIN; SELECT pg_advisory_xact_lock((53440::bigint << 48)); SELECT pg_sleep(2); COMMIT";
        runtime.block_on(docket_store_postgres::testing::run(&url, hold)).expect("it slept");
    });
    std::thread::sleep(Duration::from_millis(500));
    std::thread::scope(|scope| {
        let desk = &desk;
        let writers: Vec<_> =
            (0..8).map(|number| scope.spawn(move || desk.make(&format!("writer {number}")))).collect();
        for writer in writers {
            writer.join().expect("an answer").with(201);
        }
    });
    holder.join().expect("the holder");
    assert_eq!(desk.total(), json!(9));
}

/// Where it would take too long they are told so at once, though the line moves.
#[test]
fn writers_who_would_wait_too_long_are_turned_away_soon() {
    let desk = Desk::on(Database::new(), "docket_connections=2");
    desk.make("first").with(201);
    desk.whenever("PERFORM pg_sleep(0.1);");
    let answers: Vec<(Reply, Duration)> = std::thread::scope(|scope| {
        let desk = &desk;
        let writers: Vec<_> = (0..120)
            .map(|number| {
                scope.spawn(move || {
                    let begun = Instant::now();
                    (desk.make(&format!("writer {number}")), begun.elapsed())
                })
            })
            .collect();
        writers.into_iter().map(|writer| writer.join().expect("an answer")).collect()
    });
    let (made, shed): (Vec<_>, Vec<_>) = answers.into_iter().partition(|(reply, _)| reply.status == 201);
    assert!(made.len() >= 20 && shed.len() >= 40, "{} were made and {} turned away", made.len(), shed.len());
    let mut after: Vec<Duration> = shed.iter().map(|(_, took)| *took).collect();
    after.sort_unstable();
    // At the beginning it is not known yet how quickly the line moves.
    let (half, last) = (after[after.len() / 2], after[after.len() - 1]);
    assert!(half < Duration::from_millis(600) && last < Duration::from_millis(1500), "turned away after {after:?}");
    for (reply, _) in &shed {
        assert_eq!(reply.error(503)["kind"], json!("shedding"));
    }
    desk.whenever("");
    assert_eq!(desk.total(), json!(made.len() + 1));
}

/// Writes that find no connection are turned away as soon; one that waits for a row that somebody holds is put off.
#[test]
fn writers_over_capacity_are_turned_away_at_once() {
    let desk = Desk::on(Database::new(), "docket_connections=2");
    desk.whenever("PERFORM pg_sleep(2);");
    let answers: Vec<(Reply, Duration)> = std::thread::scope(|scope| {
        let desk = &desk;
        let writers: Vec<_> = (0..12)
            .map(|number| {
                scope.spawn(move || {
                    let begun = Instant::now();
                    (desk.make(&format!("writer {number}")), begun.elapsed())
                })
            })
            .collect();
        writers.into_iter().map(|writer| writer.join().expect("an answer")).collect()
    });
    let (made, shed): (Vec<_>, Vec<_>) = answers.into_iter().partition(|(reply, _)| reply.status == 201);
    assert!(!made.is_empty() && shed.len() >= 9, "{} were made and {} turned away", made.len(), shed.len());
    for (reply, took) in &shed {
        let error = reply.error(503);
        assert_eq!(error["kind"], json!("shedding"), "{error}");
        assert!(error["retryAfterMs"].is_u64() && !reply.header("retry-after").is_empty(), "{error}");
        // A quarter of a second, and what a busy machine adds.
        assert!(*took < Duration::from_millis(900), "turned away after {took:?}");
    }
    desk.whenever("");
    assert_eq!(desk.total(), json!(made.len()));
}
