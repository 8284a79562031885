//! Servers, connections and callers that go away.

use std::sync::Arc;
use std::time::Duration;

use docket_core::model::{ItemId, Timestamp, Verb};
use docket_core::store::{ChangeSet, Scope, Slice, Step, Store, StoreError, Unit};
use docket_tests::contract::support::{Put, event, item, project};
use docket_tests::postgres::Database;

const CUT: &str = "SELECT count(pg_terminate_backend(pid))::text FROM pg_stat_activity \
                   WHERE datname = current_database() AND pid <> pg_backend_pid()";

fn something() -> ChangeSet {
    let happened = event(project("none", "N").id, None, Verb::Edited, Timestamp::from_millis(1));
    ChangeSet { events: vec![happened], ..ChangeSet::default() }
}

/// The server ends all connections: idle ones are replaced without a word, and a waiter hears what comes after.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn connections_that_were_cut_are_replaced() {
    let database = Database::new();
    let store = Arc::new(database.open().await);
    store.execute(Box::new(Put(something()))).await.expect("written");
    let waiter = Arc::clone(&store);
    let waiting = tokio::spawn(async move { waiter.changed(1).await });
    tokio::time::sleep(Duration::from_millis(200)).await;
    assert!(!waiting.is_finished());
    database.ask(CUT);
    // As from another process: nobody tells the waiter but the server.
    let other = database.open().await;
    other.execute(Box::new(Put(something()))).await.expect("written");
    let heard = tokio::time::timeout(Duration::from_secs(3), waiting).await.expect("in time").expect("no panic");
    assert_eq!(heard.expect("a number"), 2);
    store.view(&Scope::default()).await.expect("a new connection");
    store.execute(Box::new(Put(something()))).await.expect("a new connection");
}

/// A unit whose connection is cut before its commit is told so, as something that may be tried again.
struct CutDuring(Arc<Database>);

impl Unit for CutDuring {
    fn scope(&self) -> Scope {
        Scope { items: vec![ItemId::from_uuid(uuid::Uuid::nil()).into()], ..Scope::default() }
    }

    fn decide(&mut self, _seen: &Slice) -> Step {
        self.0.ask(CUT);
        Step::Commit(Box::new(something()))
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_unit_that_is_cut_writes_nothing_and_says_so() {
    let database = Arc::new(Database::new());
    let store = database.open().await;
    let cut = store.execute(Box::new(CutDuring(Arc::clone(&database)))).await;
    assert!(matches!(cut, Err(StoreError::Busy(_))), "{cut:?}");
    assert_eq!(store.head().await.expect("a number"), 0);
    store.execute(Box::new(Put(something()))).await.expect("the next one is fine");
}

/// P13: callers who go away at every moment leave nothing open, even where there is one connection.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn callers_that_go_away_leave_nothing_open() {
    let database = Database::new();
    let mut options = docket_store_postgres::PostgresOptions::parse(&database.url()).expect("an address");
    (options.connections, options.readers) = (1, 1);
    // What nobody waits for any more is not turned away here, however slow the machine: it is to run to its end.
    options.unit_wait = Duration::from_secs(10);
    let store = docket_store_postgres::PostgresStore::open(options).await.expect("a store");
    let made = project("docket", "DOC");
    let put = |changes| Box::new(Put(changes)) as Box<dyn Unit>;
    store.execute(put(ChangeSet { projects: vec![made.clone()], ..ChangeSet::default() })).await.expect("a project");
    for round in 1..=120_u32 {
        let one = ChangeSet { new_items: vec![item(&made, round, "made by nobody")], ..ChangeSet::default() };
        let patience = Duration::from_micros(u64::from(round) * 40);
        let _ = tokio::time::timeout(patience, store.execute(put(one))).await;
        let _ = tokio::time::timeout(patience, store.view(&Scope::default())).await;
        let seen = store.view(&Scope::default()).await;
        assert!(seen.is_ok(), "the next caller is fine: {seen:?}");
    }
    store.execute(put(something())).await.expect("the next writer is fine");
    let made = database.ask("SELECT count(*)::text FROM items");
    assert_eq!(made, "120", "a unit runs to its end without its caller");
    let idle =
        "SELECT count(*)::text FROM pg_stat_activity WHERE datname = current_database() AND state LIKE 'idle in%'";
    assert_eq!(database.ask(idle), "0", "nothing is left open");
}

/// Who waits too long for a lock is told that the store is busy, and others go on.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_lock_that_is_never_let_go_is_not_waited_for_for_ever() {
    let database = Database::new();
    let mut options = docket_store_postgres::PostgresOptions::parse(&database.url()).expect("an address");
    options.lock_timeout = Duration::from_millis(300);
    let store = docket_store_postgres::PostgresStore::open(options).await.expect("a store");
    let url = database.url();
    let holder = tokio::spawn(async move {
        let hold = "BEGIN; SELECT pg_advisory_xact_lock((53440::bigint << 48)); SELECT pg_sleep(2); COMMIT";
        docket_store_postgres::testing::run(&url, hold).await
    });
    tokio::time::sleep(Duration::from_millis(300)).await;
    let begun = std::time::Instant::now();
    let refused = store.execute(Box::new(Put(something()))).await;
    assert!(matches!(refused, Err(StoreError::Busy(_))), "{refused:?}");
    assert!(begun.elapsed() < Duration::from_secs(1));
    holder.await.expect("no panic").expect("it slept");
    store.execute(Box::new(Put(something()))).await.expect("the lock is free");
}
