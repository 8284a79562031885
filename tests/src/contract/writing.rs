//! Units of work: those that fail alone, those that meet, and costs that do not grow with rows.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use docket_core::model::{EdgeKind, Item, ItemId, Title, Verb};
use docket_core::store::{
    Around, ChangeSet, ClaimState, EdgeReach, Filter, ItemChange, NoteReach, Scope, StoreError, Touched, Unit,
};

use super::support::{
    Bench, ClaimBest, Edit, LooksForEver, Panics, Put, brief, child, comment, edge, event, item, link, name, note,
    question,
};

/// Runs units that come at the same time.
async fn together(bench: &Bench, units: Vec<Box<dyn Unit>>) -> Vec<Result<(), StoreError>> {
    let running: Vec<_> = units
        .into_iter()
        .map(|unit| {
            let store = Arc::clone(&bench.store);
            tokio::spawn(async move { store.execute(unit).await })
        })
        .collect();
    let mut results = Vec::new();
    for unit in running {
        results.push(unit.await.expect("no panic"));
    }
    results
}

fn adds(bench: &Bench, number: u32) -> Box<dyn Unit> {
    Box::new(Put(ChangeSet { new_items: vec![item(&bench.project, number, "added")], ..ChangeSet::default() }))
}

/// A unit that fails harms no other.
///
/// The bugs this would catch: a failing unit whose half-written rows stay, or that takes its neighbours with it.
pub async fn a_unit_that_fails_harms_no_other(bench: Bench) {
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
        let failed: Vec<bool> = together(&bench, units).await.iter().map(Result::is_err).collect();
        let expected: &[bool] = if last { &[false, true, false, true, true] } else { &[false, true, true, false] };
        assert_eq!(failed, expected);
    }
    let all = docket_core::store::Filter { order: docket_core::store::Order::Asc, limit: 50, ..Default::default() };
    let mut numbers: Vec<u32> =
        bench.store.find(&all).await.expect("items").items.iter().map(|item| item.number).collect();
    numbers.sort_unstable();
    assert_eq!(numbers, [1, 2, 11, 12, 100], "what failed left nothing");
    assert_eq!(bench.store.head().await.expect("a number"), 0);
    bench.is_sound().await;
    assert!(bench.store.execute(Box::new(Put(half))).await.is_err(), "alone it fails as well");
    bench.put_items(&[item(&bench.project, 200, "the writer lives")]).await;
}

/// A unit runs to its end without its caller.
pub async fn a_unit_runs_to_its_end_without_its_caller(bench: Bench) {
    let store = Arc::clone(&bench.store);
    let _ = tokio::time::timeout(Duration::from_micros(1), store.execute(adds(&bench, 8))).await;
    bench.store.close().await;
    let store = bench.other().await;
    let all = docket_core::store::Filter { limit: 9, ..Default::default() };
    let found = store.find(&all).await.expect("items");
    assert!(found.items.iter().any(|item| item.number == 8), "queued before the store was closed");
}

/// Two agents never get the same item.
pub async fn two_agents_never_get_the_same_item(bench: Bench) {
    let items: Vec<Item> = (1..=120).map(|number| item(&bench.project, number, "wanted")).collect();
    bench.put_items(&items).await;
    let others = [Arc::clone(&bench.store), bench.other().await, bench.other().await];
    let got: Arc<Mutex<Vec<ItemId>>> = Arc::default();
    let agents: Vec<_> = (0..130)
        .map(|number| {
            let (store, got) = (Arc::clone(&others[number % 3]), Arc::clone(&got));
            let holder = name(&format!("agent {number}"));
            let project = bench.project.id;
            tokio::spawn(async move { store.execute(Box::new(ClaimBest { project, holder, got })).await })
        })
        .collect();
    for agent in agents {
        agent.await.expect("no panic").expect("no error");
    }
    let filter = Filter { limit: 200, claim: Some(ClaimState::Claimed), ..Filter::default() };
    let mut claimed = bench.store.find(&filter).await.expect("items").items;
    assert_eq!(claimed.len(), 120, "every item is handed out, while anybody wants one");
    assert!(claimed.iter().all(|item| item.fence.0 == 1), "none is handed out twice");
    claimed.sort_by_key(|item| item.claim.as_ref().map(|claim| claim.holder.clone()));
    claimed.dedup_by_key(|item| item.claim.as_ref().map(|claim| claim.holder.clone()));
    assert_eq!(claimed.len(), 120, "to another agent each");
}

/// A unit sees what the one before it wrote.
pub async fn a_unit_sees_what_the_one_before_it_wrote(bench: Bench) {
    let counted = item(&bench.project, 1, "0");
    bench.put_items(std::slice::from_ref(&counted)).await;
    let touched = Touched { content: true, ..Touched::default() };
    let count = |item: &mut Item| {
        let next = item.title.as_str().parse::<u32>().expect("a number") + 1;
        item.title = Title::parse(&next.to_string()).expect("a title");
    };
    let units = (0..40).map(|_| Box::new(Edit(counted.id, touched, count)) as Box<dyn Unit>).collect();
    assert!(together(&bench, units).await.iter().all(Result::is_ok));
    assert_eq!(bench.get(counted.id).await.expect("the item").title.as_str(), "40");
}

/// Removed items take their notes edges and words with them.
pub async fn removed_items_take_their_notes_edges_and_words_with_them(bench: Bench) {
    let root = item(&bench.project, 1, "root");
    let (a, b) = (child(&root, 2, "a", &bench.project), child(&root, 3, "b", &bench.project));
    bench
        .put(ChangeSet {
            new_items: vec![root.clone(), a.clone(), b.clone()],
            new_edges: vec![edge(EdgeKind::Blocks, &a, &b)],
            notes: vec![note(&a, "n", "x"), note(&b, "n", "y")],
            ..ChangeSet::default()
        })
        .await;
    assert!(bench.try_put(ChangeSet { removed_items: vec![root.id], ..ChangeSet::default() }).await.is_err());
    let moved = ItemChange {
        item: Item { parent: None, depth: 0, ..b.clone() },
        read_version: 1,
        read_fence: 0,
        touched: Touched { content: true, ..Touched::default() },
    };
    let changes = ChangeSet { changed_items: vec![moved], removed_items: vec![a.id, root.id], ..ChangeSet::default() };
    bench.put(changes).await;
    let around = Around { edges: EdgeReach::Shown, notes: NoteReach::Heads, ..Around::default() };
    let scope = Scope { items: vec![root.id.into(), a.id.into(), b.id.into()], around, ..Scope::default() };
    let seen = bench.store.view(&scope).await.expect("a slice");
    assert_eq!((seen.items.len(), seen.edges.len(), seen.note_heads.len()), (1, 0, 1));
    bench.is_sound().await;
}

/// Costs do not grow with rows.
pub async fn costs_do_not_grow_with_rows(bench: Bench) {
    let root = item(&bench.project, 1, "root");
    bench.put_items(std::slice::from_ref(&root)).await;
    let mut number = 2;
    // The rules of the project are read once.
    bench.get(root.id).await;
    let mut costs = Vec::new();
    for size in [1, 50] {
        let items: Vec<Item> = (0..size)
            .map(|_| {
                number += 1;
                child(&root, number, "child", &bench.project)
            })
            .collect();
        let before = bench.store.round_trips();
        bench
            .put(ChangeSet {
                notes: items.iter().map(|item| note(item, "n", "text")).collect(),
                new_edges: items.iter().map(|item| edge(EdgeKind::RelatesTo, item, &root)).collect(),
                briefs: items.iter().map(|item| (item.id, brief("a goal"))).collect(),
                questions: items.iter().map(|item| question(item, "which?")).collect(),
                comments: items.iter().map(|item| comment(item, "words")).collect(),
                links: items.iter().map(|item| link(item, "abc")).collect(),
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
        assert_eq!((seen.questions.len(), seen.comments.len(), seen.links.len()), (size, size, size));
        assert!(seen.briefs.len() >= size);
        costs.push(bench.store.round_trips() - before);
    }
    assert_eq!(costs[0], costs[1]);
}
