//! Bad days of a server's database, as callers over HTTP meet them: each is answered with "come again", and nothing is
//! half done.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use docket_tests::mcp::{Answer, Server};
use docket_tests::own_postgres::{OwnServer, signal};
use docket_tests::postgres::Database;
use docket_tests::web::{Reply, Web};
use serde_json::{Value, json};

/// A server of ours on a database of the tests' cluster.
struct Desk {
    web: Web,
    database: Database,
    folder: tempfile::TempDir,
}

impl Desk {
    fn new() -> Self {
        Self::on(Database::new(), "")
    }

    fn on(database: Database, option: &str) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let mark = if database.url().contains('?') { '&' } else { '?' };
        let url = if option.is_empty() { database.url() } else { format!("{}{mark}{option}", database.url()) };
        Self { web: Web::serving(&url, folder.path(), |_| {}), database, folder }
    }

    /// Makes an item under a name that may be given again.
    fn make(&self, name: &str) -> Reply {
        let body = json!({ "title": name }).to_string();
        self.web.send("POST", "/items", &[("idempotency-key", name)], Some(body.as_bytes()))
    }

    /// What is done whenever an event is written.
    fn whenever(&self, statements: &str) {
        self.database.run(&format!(
            "CREATE OR REPLACE FUNCTION bad_day() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN {statements} RETURN NEW; END $$; \
             DROP TRIGGER IF EXISTS bad_day ON events; \
             CREATE TRIGGER bad_day BEFORE INSERT ON events FOR EACH ROW EXECUTE FUNCTION bad_day()"
        ));
    }

    fn total(&self) -> Value {
        self.web.get("/items").with(200)["total"].clone()
    }
}

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
        let asleep = Self(processes.split(' ').map(|process| process.parse().expect("a process")).collect());
        asleep.0.iter().for_each(|process| signal("STOP", *process));
        asleep
    }
}

impl Drop for Asleep {
    fn drop(&mut self) {
        self.0.iter().for_each(|process| signal("CONT", *process));
    }
}

fn must_come_again(reply: &Reply) {
    let error = reply.error(503);
    assert_eq!(error["kind"], json!("transient"), "{error}");
    assert!(error["retryAfterMs"].is_u64() && !reply.header("retry-after").is_empty(), "{error}");
}

#[test]
fn a_connection_that_is_ended_in_the_middle_is_put_off_and_its_retry_has_one_effect() {
    let desk = Desk::new();
    desk.whenever("PERFORM pg_sleep(1);");
    std::thread::scope(|scope| {
        let asked = scope.spawn(|| desk.make("cut"));
        let sleeping = "SELECT count(pg_terminate_backend(pid))::text FROM pg_stat_activity \
                        WHERE datname = current_database() AND wait_event = 'PgSleep'";
        let begun = Instant::now();
        while desk.database.ask(sleeping) == "0" {
            assert!(begun.elapsed() < Duration::from_secs(5), "it never slept");
            std::thread::sleep(Duration::from_millis(10));
        }
        must_come_again(&asked.join().expect("an answer"));
    });
    desk.whenever("");
    let (first, second) = (desk.make("cut").with(201), desk.make("cut").with(201));
    assert_eq!(first, second);
    assert_eq!(desk.total(), json!(1));
}

#[test]
fn a_statement_that_takes_too_long_is_put_off() {
    let database = Database::new();
    let name = database.ask("SELECT current_database()");
    database.run(&format!("ALTER DATABASE {name} SET statement_timeout = '300ms'"));
    let desk = Desk::on(database, "");
    desk.whenever("PERFORM pg_sleep(3);");
    let begun = Instant::now();
    must_come_again(&desk.make("slow"));
    assert!(begun.elapsed() < Duration::from_secs(2), "{:?}", begun.elapsed());
    desk.whenever("");
    desk.make("slow").with(201);
    assert_eq!(desk.total(), json!(1));
}

/// What Postgres undoes because of others is tried again, and put off when it goes on and on.
#[test]
fn deadlocks_and_races_are_tried_again_and_then_put_off() {
    let desk = Desk::new();
    desk.database.run("CREATE SEQUENCE tries");
    for code in ["40P01", "40001"] {
        // Sequences do not go back with their transactions: the first three tries fail.
        desk.database.run("ALTER SEQUENCE tries RESTART");
        desk.whenever(&format!(
            "IF nextval('tries') <= 3 THEN RAISE EXCEPTION 'a race' USING ERRCODE = '{code}'; END IF;"
        ));
        desk.make(&format!("in the end {code}")).with(201);
        assert_eq!(desk.database.ask("SELECT last_value::text FROM tries"), "4", "{code}");
        desk.database.run("ALTER SEQUENCE tries RESTART");
        desk.whenever(&format!("PERFORM nextval('tries'); RAISE EXCEPTION 'a race' USING ERRCODE = '{code}';"));
        must_come_again(&desk.make(&format!("never {code}")));
        assert_eq!(desk.database.ask("SELECT last_value::text FROM tries"), "4", "once, and three times again: {code}");
        desk.whenever("");
    }
    assert_eq!(desk.total(), json!(2));
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
    let (shed, served): (Vec<Answer>, Vec<Answer>) = answers.into_iter().partition(|answer| answer.is_error);
    assert!(shed.len() >= 10 && !served.is_empty(), "{} shed, {} served", shed.len(), served.len());
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

#[test]
fn a_restart_is_a_gap_and_nothing_more() {
    let server = OwnServer::start();
    server.run("CREATE DATABASE work TEMPLATE template0 ENCODING 'UTF8'");
    let folder = tempfile::tempdir().expect("a folder");
    let web = Web::serving(&server.url("work"), folder.path(), |_| {});
    let make = |name: &str| {
        let body = json!({ "title": name }).to_string();
        web.send("POST", "/items", &[("idempotency-key", name)], Some(body.as_bytes()))
    };
    make("before").with(201);
    web.readyz_says(200);
    server.stop();
    web.readyz_says(503);
    must_come_again(&make("after"));
    must_come_again(&web.get("/items"));
    assert_eq!(web.to("GET", "/healthz", &[], None).status, 200, "the process is there all the same");
    server.start_again();
    web.readyz_says(200);
    make("after").with(201);
    make("after").with(201);
    assert_eq!(web.get("/items").with(200)["total"], json!(2));
    // Nobody writes for now: an operator, or a provider whose disk is full, has said so.
    server.run("ALTER DATABASE work SET default_transaction_read_only = on");
    server.ask("SELECT count(pg_terminate_backend(pid))::text FROM pg_stat_activity WHERE datname = 'work'");
    must_come_again(&make("not now"));
    assert_eq!(make("not now").reason(503), "store_read_only");
    web.readyz_says(503);
    web.get("/items").with(200);
}

/// A server whose machine lost its power closes no connection and answers nothing.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_that_is_silent_is_given_up() {
    use docket_core::store::{Scope, Store, StoreError};
    let database = Database::new();
    let mut options = docket_store_postgres::PostgresOptions::parse(&database.url()).expect("an address");
    (options.connections, options.readers, options.answer_timeout) = (1, 1, Duration::from_millis(500));
    let store = docket_store_postgres::PostgresStore::open(options).await.expect("a store");
    store.view(&Scope::default()).await.expect("an answer");
    let process: u32 = database
        .ask("SELECT min(pid)::text FROM pg_stat_activity WHERE datname = current_database() AND application_name = 'docket' AND pid <> pg_backend_pid()")
        .parse()
        .expect("a process");
    signal("STOP", process);
    let begun = Instant::now();
    // It is asked in vain, and once more on another connection, which is answered.
    let answered = store.view(&Scope::default()).await;
    signal("CONT", process);
    assert!(answered.is_ok(), "{answered:?}");
    assert!(begun.elapsed() < Duration::from_secs(3), "{:?}", begun.elapsed());
    let unhurried = tokio::time::timeout(Duration::from_secs(5), store.integrity()).await;
    assert!(matches!(unhurried, Ok(Ok(_) | Err(StoreError::Busy(_)))), "{unhurried:?}");
}

/// The same with connections that were idle for a while: they are given up together, not one after the other.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn idle_connections_that_went_silent_are_given_up_together() {
    use docket_core::store::{Scope, Store};
    let database = Database::new();
    let store = std::sync::Arc::new(database.open().await);
    let readers: Vec<_> = (0..8)
        .map(|_| {
            let store = std::sync::Arc::clone(&store);
            tokio::spawn(async move { store.view(&Scope::default()).await.map(drop) })
        })
        .collect();
    for reader in readers {
        reader.await.expect("no panic").expect("an answer");
    }
    let processes = database.ask(
        "SELECT string_agg(pid::text, ' ') FROM pg_stat_activity WHERE datname = current_database() AND application_name = 'docket' \
         AND state = 'idle' AND pid <> pg_backend_pid()",
    );
    let processes: Vec<u32> = processes.split(' ').map(|process| process.parse().expect("a process")).collect();
    assert!(processes.len() > 1, "one connection shows nothing");
    // For as long as they are believed to live without a question.
    tokio::time::sleep(Duration::from_millis(5200)).await;
    let all = |name| {
        for process in &processes {
            signal(name, *process);
        }
    };
    all("STOP");
    let begun = Instant::now();
    let answered = store.view(&Scope::default()).await;
    all("CONT");
    assert!(answered.is_ok(), "{answered:?}");
    assert!(begun.elapsed() < Duration::from_millis(3500), "{:?}", begun.elapsed());
}

/// Who waits for an item while the database goes away is told so, and goes on where it was.
#[test]
fn a_wait_that_the_database_leaves_is_broken_off_and_goes_on_later() {
    let server = OwnServer::start();
    server.run("CREATE DATABASE work TEMPLATE template0 ENCODING 'UTF8'");
    let folder = tempfile::tempdir().expect("a folder");
    let web = Web::serving(&server.url("work"), folder.path(), |_| {});
    let call = |tool: &str, arguments: Value| web.tool("docket", &[], tool, &arguments).ok();
    let made = call("plan", json!({ "items": [{ "title": "x" }] }));
    let key = made["trusted"]["items"][0]["key"].clone();
    let broken = std::thread::scope(|scope| {
        let waiting = scope.spawn(|| call("wait", json!({ "id": key, "timeoutMs": 60_000 })));
        std::thread::sleep(Duration::from_millis(700));
        server.stop();
        waiting.join().expect("an answer")
    });
    assert_eq!(broken["trusted"]["code"], json!("WAIT_INTERRUPTED"), "{broken}");
    server.start_again();
    // The first call after the server came back may find a connection that is none any more.
    let begun = Instant::now();
    while web.to("GET", "/readyz", &[], None).status != 200 {
        assert!(begun.elapsed() < Duration::from_secs(10), "it does not come back");
        std::thread::sleep(Duration::from_millis(100));
    }
    call("edit", json!({ "ids": [key], "patch": { "title": "y" } }));
    let since = call("wait", json!({ "id": key, "timeoutMs": 5000, "cursor": broken["trusted"]["cursor"] }));
    assert_eq!(since["trusted"]["code"], json!("CHANGED_SINCE_CURSOR"), "{since}");
    assert_eq!(since["trusted"]["events"][0]["action"], json!("edited"), "{since}");
}
