//! The writer: shared commits, units that fail alone, and costs that do not grow with rows.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use docket_core::model::{EdgeKind, Item, ItemId, Verb};
use docket_core::store::{
    Around, ChangeSet, EdgeReach, ItemChange, NoteReach, Scope, Slice, Step, Store, StoreError, Touched, Unit,
};
use docket_store_sqlite::SqliteStore;

use crate::support::{Bench, ClaimBest, LooksForEver, Panics, Put, child, edge, event, item, name, note};

/// Holds the writer up until many others wait.
struct Slow(Duration);

impl Unit for Slow {
    fn scope(&self) -> Scope {
        Scope::default()
    }

    fn decide(&mut self, _seen: &Slice) -> Step {
        std::thread::sleep(self.0);
        Step::Nothing
    }
}

/// Runs units that are all queued before the writer takes them.
async fn together(store: &Arc<SqliteStore>, units: Vec<Box<dyn Unit>>) -> Vec<Result<(), StoreError>> {
    let slow = Arc::clone(store);
    let slow = tokio::spawn(async move { slow.execute(Box::new(Slow(Duration::from_millis(200)))).await });
    tokio::time::sleep(Duration::from_millis(50)).await;
    let running: Vec<_> = units
        .into_iter()
        .map(|unit| {
            let store = Arc::clone(store);
            tokio::spawn(async move { store.execute(unit).await })
        })
        .collect();
    slow.await.expect("no panic").expect("it decides in the end");
    let mut results = Vec::new();
    for unit in running {
        results.push(unit.await.expect("no panic"));
    }
    results
}

fn adds(bench: &Bench, number: u32) -> Box<dyn Unit> {
    Box::new(Put(ChangeSet { new_items: vec![item(&bench.project, number, "added")], ..ChangeSet::default() }))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn units_that_wait_together_share_a_commit() {
    let bench = Bench::new().await;
    let before = bench.store.commits();
    let results = together(&bench.store, (1..=64).map(|number| adds(&bench, number)).collect()).await;
    assert!(results.iter().all(Result::is_ok));
    let commits = bench.store.commits() - before;
    assert!((1..=3).contains(&commits), "64 units took {commits} commits");
    assert_eq!(
        bench.store.tally_claims(&docket_core::store::ProjectRef::Any, &None).await.expect("a tally").unclaimed,
        64
    );
}

/// The bugs this would catch: a failing unit whose half-written rows stay, or that takes its neighbours with it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_unit_that_fails_harms_no_other() {
    let bench = Bench::new().await;
    bench.put_items(&[item(&bench.project, 100, "taken")]).await;
    let half = ChangeSet {
        new_items: vec![item(&bench.project, 50, "half"), item(&bench.project, 100, "the number is taken")],
        events: vec![event(bench.project.id, None, Verb::Created, docket_core::model::Timestamp::from_millis(1))],
        ..ChangeSet::default()
    };
    for last in [false, true] {
        let mut units: Vec<Box<dyn Unit>> = vec![adds(&bench, 1 + u32::from(last) * 10), Box::new(Panics)];
        if last {
            units.push(adds(&bench, 12));
            units.push(Box::new(LooksForEver));
            units.push(Box::new(Put(half.clone())));
        } else {
            units.push(Box::new(Put(half.clone())));
            units.push(adds(&bench, 2));
        }
        let failed: Vec<bool> = together(&bench.store, units).await.iter().map(Result::is_err).collect();
        let expected: &[bool] = if last { &[false, true, false, true, true] } else { &[false, true, true, false] };
        assert_eq!(failed, expected);
    }
    let all = docket_core::store::Filter { order: docket_core::store::Order::Asc, limit: 50, ..Default::default() };
    let found = bench.store.find(&all).await.expect("items").items;
    let numbers: BTreeSet<u32> = found.iter().map(|item| item.number).collect();
    assert_eq!(numbers, BTreeSet::from([1, 2, 11, 12, 100]), "what failed left nothing");
    assert_eq!(bench.store.head().await.expect("a number"), 0);
    assert_eq!(bench.store.integrity().await.expect("findings"), Vec::<String>::new());
    assert!(bench.store.execute(Box::new(Put(half))).await.is_err(), "alone it fails as well");
    bench.put_items(&[item(&bench.project, 200, "the writer lives")]).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn who_wrote_nothing_is_not_told_of_a_neighbours_failure() {
    let bench = Bench::new().await;
    bench.put_items(&[item(&bench.project, 100, "taken")]).await;
    let fails = ChangeSet { new_items: vec![item(&bench.project, 100, "taken too")], ..ChangeSet::default() };
    let units: Vec<Box<dyn Unit>> = vec![Box::new(Slow(Duration::ZERO)), Box::new(Put(fails))];
    let failed: Vec<bool> = together(&bench.store, units).await.iter().map(Result::is_err).collect();
    assert_eq!(failed, [false, true]);
}

/// A process that was stopped at the head of the line holds nobody up: the line is a courtesy.
#[tokio::test]
async fn a_line_that_does_not_move_is_passed_by() {
    let bench = Bench::new().await;
    let path = bench.folder.path().join("docket.db");
    let line = std::fs::File::options().create(true).append(true).open(path.with_extension("db-line")).expect("a file");
    line.lock().expect("the head of the line");
    let other = rusqlite::Connection::open(&path).expect("a connection");
    other.execute_batch("BEGIN IMMEDIATE").expect("the lock");
    let (store, put) = (Arc::clone(&bench.store), adds(&bench, 1));
    let writes = tokio::spawn(async move { store.execute(put).await });
    tokio::time::sleep(Duration::from_millis(50)).await;
    other.execute_batch("COMMIT").expect("the lock is free");
    let written = tokio::time::timeout(Duration::from_secs(3), writes).await.expect("it does not wait for the line");
    written.expect("no panic").expect("written");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn too_many_at_once_are_turned_away_at_once() {
    let bench = Bench::new().await;
    // While somebody else writes nobody is served, however quick the disk is.
    let other = rusqlite::Connection::open(bench.folder.path().join("docket.db")).expect("a connection");
    other.execute_batch("BEGIN IMMEDIATE").expect("the lock");
    let store = Arc::clone(&bench.store);
    let units = (1..=600).map(|number| adds(&bench, number)).collect();
    let arriving = tokio::spawn(async move { together(&store, units).await });
    tokio::time::sleep(Duration::from_millis(500)).await;
    other.execute_batch("COMMIT").expect("the lock is free");
    let results = arriving.await.expect("no panic");
    let turned_away = results.iter().filter(|result| matches!(result, Err(StoreError::Overloaded))).count();
    let done = results.iter().filter(|result| result.is_ok()).count();
    assert_eq!(turned_away + done, 600);
    assert!(turned_away >= 300 && done >= 256, "{done} done, {turned_away} turned away");
}

#[tokio::test]
async fn agents_who_ask_together_share_a_look_and_a_commit() {
    let bench = Bench::new().await;
    let items: Vec<Item> = (1..=60).map(|number| item(&bench.project, number, "wanted")).collect();
    bench.put_items(&items).await;
    let got: Arc<Mutex<Vec<ItemId>>> = Arc::default();
    // The project's rules are known from now on.
    bench.get(items[0].id).await;
    let before = (bench.store.commits(), bench.store.scripts());
    // On one thread, all are in the queue before the writer takes its first.
    let mut agents = tokio::task::JoinSet::new();
    for number in 0..64 {
        let (store, got) = (Arc::clone(&bench.store), Arc::clone(&got));
        let claim = ClaimBest { project: bench.project.id, holder: name(&format!("agent {number}")), got };
        agents.spawn(async move { store.execute(Box::new(claim)).await });
    }
    for done in agents.join_all().await {
        done.expect("no error");
    }
    assert_eq!(got.lock().expect("no panic").len(), 60, "the last four found nothing");
    assert_eq!(bench.store.commits() - before.0, 1);
    assert_eq!(bench.store.scripts() - before.1, 2, "one look, one write");
}

#[tokio::test]
async fn costs_do_not_grow_with_rows() {
    let bench = Bench::new().await;
    let root = item(&bench.project, 1, "root");
    bench.put_items(std::slice::from_ref(&root)).await;
    let mut number = 2;
    // The rules of the project are read once.
    bench.get(root.id).await;
    let mut costs = Vec::new();
    // The first leaves neighbours behind for the others to find.
    for size in [1, 1, 50] {
        let items: Vec<Item> = (0..size)
            .map(|_| {
                number += 1;
                let child = child(&root, number, "child", &bench.project);
                // With an id that ends so, it is asked whether the index of words has to catch up.
                let id = ItemId::from_uuid(uuid::Uuid::from_u128(child.id.as_uuid().as_u128() << 8 | 7));
                Item { id, ..child }
            })
            .collect();
        let before = (bench.store.statements(), bench.store.scripts());
        bench
            .put(ChangeSet {
                notes: items.iter().map(|item| note(item, "n", "text")).collect(),
                new_edges: items.iter().map(|item| edge(EdgeKind::RelatesTo, item, &root)).collect(),
                events: items
                    .iter()
                    .map(|item| event(item.project, Some(item.id), Verb::Created, item.created_at))
                    .collect(),
                new_items: items.clone(),
                ..ChangeSet::default()
            })
            .await;
        let change = |item: &Item| ItemChange {
            item: item.clone(),
            read_version: 1,
            read_fence: 0,
            touched: Touched { content: true, words: true, stamp: true, state: true, claim: true, derived: true },
        };
        bench.put(ChangeSet { changed_items: items.iter().map(change).collect(), ..ChangeSet::default() }).await;
        let around = Around {
            ancestors: true,
            subtree: Some(1000),
            subtree_bytes: Some(1 << 20),
            open_children: Some(1000),
            edges: EdgeReach::Shown,
            notes: NoteReach::Heads,
            waits: true,
            gives_way: true,
            component: true,
            briefs: true,
            questions: true,
            comments: Some(9),
            links: true,
            sessions: true,
            open_runs: true,
        };
        let scope = Scope { items: items.iter().map(|item| item.id.into()).collect(), around, ..Scope::default() };
        let seen = bench.store.view(&scope).await.expect("a slice");
        assert!(seen.items.len() > size && seen.edges.len() >= size);
        costs.push((bench.store.statements() - before.0, bench.store.scripts() - before.1));
    }
    assert_eq!(costs[1], costs[2]);
    assert_eq!(costs[2].1, 5, "two scripts to write, one to read");
}
