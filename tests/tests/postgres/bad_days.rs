//! Bad days of a server's database, as callers over HTTP meet them: each is answered with "come again", and nothing is
//! half done.

use std::time::{Duration, Instant};

use docket_tests::own_postgres::{OwnServer, put_to_sleep, signal};
use docket_tests::postgres::Database;
use docket_tests::web::{Reply, Web};
use serde_json::{Value, json};

use crate::desk::Desk;

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
    put_to_sleep(&[process]);
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
    put_to_sleep(&processes);
    let begun = Instant::now();
    let answered = store.view(&Scope::default()).await;
    for process in &processes {
        signal("CONT", *process);
    }
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
