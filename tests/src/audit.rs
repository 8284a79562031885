//! Looks at a whole database from outside, after the fact: rows against rules, rows against events, and the history of
//! claims against the promise that no item is ever held twice.

use std::collections::BTreeMap;
use std::path::Path;

use docket_core::exchange::Snapshot;
use docket_core::model::{Claim, Event, ItemId, Timestamp, Verb};
use docket_core::store::{EventFilter, RunFilter, Store};
use docket_core::testing::World;
use docket_store_postgres::{PostgresOptions, PostgresStore};
use docket_store_sqlite::{SqliteOptions, SqliteStore};

/// Everything in a database.
pub fn read(database: &Path) -> World {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build();
    let runtime = runtime.unwrap_or_else(|error| panic!("no runtime: {error}"));
    runtime.block_on(async {
        let store = SqliteStore::open(SqliteOptions::new(database))
            .await
            .unwrap_or_else(|error| panic!("it does not open: {error:?}"));
        let damage = store.integrity().await.unwrap_or_else(|error| panic!("integrity: {error:?}"));
        assert!(damage.is_empty(), "the file is damaged: {damage:?}");
        let world = read_store(&store).await;
        store.close().await;
        world
    })
}

/// Reads a database and checks that its rows obey every rule and are what its events say.
pub fn check(database: &Path) -> World {
    let world = read(database);
    world.check();
    check_claims(&world.events);
    check_times(&world.events);
    world
}

/// Everything in a database on a server.
pub fn read_server(url: &str) -> World {
    on_server(url, async |store| read_store(store).await)
}

/// Reads a database on a server and checks the same.
pub fn check_server(url: &str) -> World {
    on_server(url, async |store| check_store(store).await)
}

fn on_server(url: &str, look: impl AsyncFnOnce(&PostgresStore) -> World) -> World {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build();
    let runtime = runtime.unwrap_or_else(|error| panic!("no runtime: {error}"));
    runtime.block_on(async {
        let options = PostgresOptions::parse(url).unwrap_or_else(|error| panic!("its address: {error}"));
        let store = PostgresStore::open(options).await.unwrap_or_else(|error| panic!("it does not open: {error:?}"));
        let damage = store.integrity().await.unwrap_or_else(|error| panic!("integrity: {error:?}"));
        assert!(damage.is_empty(), "the database is damaged: {damage:?}");
        let world = look(&store).await;
        store.close().await;
        world
    })
}

/// Reads an open store and checks the same, but for the order of times: transactions of a server that do not meet may
/// commit in another order than they began.
pub async fn check_store(store: &dyn Store) -> World {
    let world = read_store(store).await;
    world.check();
    check_claims(&world.events);
    world
}

/// Events are in the order of their times.
pub fn check_times(events: &[Event]) {
    let mut before = None;
    for event in events {
        assert!(before <= Some(event.at), "time ran back at event {}", event.seq);
        before = Some(event.at);
    }
}

/// Every row of an open store.
pub async fn read_store(store: &dyn Store) -> World {
    let (mut rows, mut events) = (Snapshot::default(), Vec::new());
    for table in Snapshot::tables(true) {
        let mut after = None;
        loop {
            let page = store.scan(table, after).await.unwrap_or_else(|error| panic!("{table:?}: {error:?}"));
            rows.add(page.rows);
            after = page.next;
            if after.is_none() {
                break;
            }
        }
    }
    loop {
        let after = events.last().map(|event: &Event| event.seq);
        let filter = EventFilter { after, limit: 1000, ..EventFilter::default() };
        let page = store.events(&filter).await.unwrap_or_else(|error| panic!("events: {error:?}"));
        if page.is_empty() {
            break;
        }
        events.extend(page);
    }
    let projects = store.projects().await.unwrap_or_else(|error| panic!("projects: {error:?}"));
    let now = events.last().map(|event| event.at).unwrap_or_default();
    let mut world = World::of(now, projects, rows.items, rows.edges, rows.notes, events);
    world.briefs.extend(rows.briefs);
    world.questions.extend(rows.questions.into_iter().map(|question| (question.id, question)));
    world.comments.extend(rows.comments.into_iter().map(|comment| (comment.id, comment)));
    world.links.extend(rows.links.into_iter().map(|link| (link.id, link)));
    world.entries.extend(rows.entries.into_iter().map(|entry| (entry.id, entry)));
    let tied = rows.entry_links.into_iter().map(|link| ((link.entry, link.item, link.kind), link));
    world.entry_links.extend(tied);
    world.sessions.extend(rows.sessions.into_iter().map(|session| (session.id, session)));
    loop {
        // No table of an export has them: they are told by what they left.
        let filter = RunFilter { offset: world.runs.len(), limit: 200, ..RunFilter::default() };
        let page = store.runs(&filter).await.unwrap_or_else(|error| panic!("runs: {error:?}"));
        if page.is_empty() {
            break;
        }
        world.runs.extend(page.into_iter().map(|run| (run.id, run)));
    }
    world
}

/// Replays claims in commit order: nobody takes what another holds, fences only grow, time never runs back for an item.
pub fn check_claims(events: &[Event]) {
    let mut held: BTreeMap<ItemId, (Claim, u64)> = BTreeMap::new();
    let mut fences: BTreeMap<ItemId, u64> = BTreeMap::new();
    let mut before: BTreeMap<ItemId, Timestamp> = BTreeMap::new();
    for event in events {
        let Some(item) = event.item else { continue };
        let last = before.insert(item, event.at);
        assert!(last <= Some(event.at), "time ran back at event {} of {item}", event.seq);
        if event.verb == Verb::Removed {
            held.remove(&item);
            continue;
        }
        let set = if event.verb == Verb::Created { &event.data } else { &event.data["set"] };
        if let Some(fence) = set["fence"].as_u64() {
            let last = fences.insert(item, fence).unwrap_or(0);
            assert!(fence >= last, "the fence of {item} shrank at event {}", event.seq);
        }
        match set.get("claim") {
            None => {}
            Some(claim) if claim.is_null() => {
                held.remove(&item);
            }
            Some(claim) => {
                let claim: Claim =
                    serde_json::from_value(claim.clone()).unwrap_or_else(|error| panic!("a claim: {error}"));
                if let Some((other, seq)) = held.get(&item) {
                    let free = other.holder == claim.holder || !other.is_live(event.at);
                    assert!(
                        free,
                        "{item} was given to {} at event {} while {} held it since event {seq}",
                        claim.holder, event.seq, other.holder
                    );
                    let new_hands = other.holder != claim.holder;
                    assert!(
                        !new_hands || set["fence"].is_u64(),
                        "{item} changed hands at event {} under one fence",
                        event.seq
                    );
                }
                held.insert(item, (claim, event.seq));
            }
        }
    }
}
