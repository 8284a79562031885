//! Many writers at once: no item is held twice, no graph gets a cycle, no cursor passes over an event.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use docket_core::Engine;
use docket_core::command::{
    Advance, Change, Claim, ClaimNext, ClaimRequest, Create, EdgeSpec, Edit, Link, MoveRequest, NewItem, NotePut,
    Parent, Patch, PutNotes, SetProject, Wanted,
};
use docket_core::engine::Call;
use docket_core::model::{
    ActorClaim, ActorKind, Attribution, EdgeKind, ItemId, ItemRef, KeyPrefix, Name, Slug, Text, Title, Trigger, Ttl,
    Verification,
};
use docket_core::store::{EventFilter, ProjectRef, Store};
use docket_core::testing::acts::Dice;
use docket_core::workflow::{Target, Workflow};
use docket_store_postgres::PostgresStore;
use docket_tests::audit;
use docket_tests::postgres::Database;

static CALLS: AtomicU64 = AtomicU64::new(1);

fn call(agent: &str) -> Call {
    let name = Name::parse(agent).expect("a name");
    let actor = ActorClaim { id: name.clone(), kind: ActorKind::Subagent, parent: None, proof: None };
    let seed =
        u128::from(CALLS.fetch_add(1, Ordering::Relaxed)).wrapping_mul(0x9e37_79b9_7f4a_7c15_f39c_c060_5ced_c835);
    let by = Some(Attribution { actor, verification: Verification::unchecked() });
    Call { by, ..Call::new(name, seed) }
}

fn project() -> ProjectRef {
    ProjectRef::Slug(Slug::parse("crowd").expect("a slug"))
}

/// Two stores on one database, as two servers would have, with some items.
async fn two_servers(database: &Database, items: usize) -> (Vec<Arc<PostgresStore>>, Vec<ItemId>) {
    let stores = vec![Arc::new(database.open().await), Arc::new(database.open().await)];
    let engine = Engine::new(Arc::clone(&stores[0]) as Arc<dyn Store>);
    let mut workflow = Workflow::standard();
    workflow.claims.per_agent = 2;
    let set = SetProject {
        slug: Slug::parse("crowd").expect("a slug"),
        name: None,
        prefix: Some(KeyPrefix::parse("C").expect("a prefix")),
        workflow: Some(workflow),
        schemas: None,
        archived: None,
        must_be_new: true,
    };
    engine.run(call("maker"), set).await.expect("a project");
    let mut ids = Vec::new();
    for chunk in (0..items).collect::<Vec<_>>().chunks(100) {
        let new = |n: &usize| NewItem::titled(Title::parse(&format!("item {n}")).expect("a title"));
        let create = Create {
            project: project(),
            items: chunk.iter().map(new).collect(),
            edges: vec![],
            notes: vec![],
            blank_notes: false,
            room_below: false,
            atomic: true,
        };
        let made = engine.run(call("maker"), create).await.expect("items");
        ids.extend(made.items.iter().flatten().map(|made| made.item.id));
    }
    (stores, ids)
}

/// Runs so many workers side by side; each has a number, an engine of one of the servers, and dice.
async fn crowd<F: Future<Output = ()> + Send + 'static>(
    stores: &[Arc<PostgresStore>],
    size: usize,
    work: impl Fn(usize, Engine, Dice) -> F,
) {
    let workers: Vec<_> = (0..size)
        .map(|number| {
            let engine = Engine::new(Arc::clone(&stores[number % stores.len()]) as Arc<dyn Store>);
            tokio::spawn(work(number, engine, Dice::new(number as u64 + 1)))
        })
        .collect();
    for worker in workers {
        worker.await.expect("a worker");
    }
}

/// P1 and P2 in one process group: short leases, agents that claim by name and by turn, write and release.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn claims_never_overlap() {
    let database = Database::new();
    let (stores, ids) = two_servers(&database, 60).await;
    let ids = Arc::new(ids);
    let over = Instant::now() + Duration::from_secs(6);
    crowd(&stores, 24, |number, engine, mut dice| {
        let ids = Arc::clone(&ids);
        async move {
            let agent = format!("agent-{number}");
            while Instant::now() < over {
                let item = ItemRef::Id(ids[usize::try_from(dice.roll(ids.len() as u64)).expect("small")]);
                let ttl = Ttl::parse(1).ok();
                match dice.roll(6) {
                    0..=2 => {
                        let wanted = ClaimNext { project: project(), wanted: Wanted::default(), ttl };
                        engine.run(call(&agent), wanted).await.expect("a claim or none");
                    }
                    3 => {
                        let claims = vec![ClaimRequest { item, ttl }];
                        let claim = Claim { project: project(), claims, releases: vec![], ready_only: false };
                        engine.run(call(&agent), claim).await.expect("an outcome");
                    }
                    4 => {
                        let claim =
                            Claim { project: project(), claims: vec![], releases: vec![item], ready_only: false };
                        engine.run(call(&agent), claim).await.expect("an outcome");
                    }
                    _ => {
                        let key = Name::parse("log").expect("a name");
                        let body = Text::parse(&agent).expect("a text");
                        let note = NotePut { item, key, phase: None, body, by: None, fence: None };
                        let put = PutNotes { project: project(), notes: vec![note], atomic: false };
                        engine.run(call(&agent), put).await.expect("an outcome");
                    }
                }
                if dice.roll(20) == 0 {
                    tokio::time::sleep(Duration::from_millis(dice.roll(1200))).await;
                }
            }
        }
    })
    .await;
    let world = audit::check_store(&*stores[0]).await;
    assert!(world.events.len() > 300, "only {} events: nobody did much", world.events.len());
}

/// The last items of a queue: whoever asks gets one while there is one, and nobody is told that there is none because
/// another looks at it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_last_items_are_all_handed_out() {
    for _ in 0..5 {
        let database = Database::new();
        let (stores, ids) = two_servers(&database, 20).await;
        let got: Arc<std::sync::Mutex<Vec<ItemId>>> = Arc::default();
        crowd(&stores, 20, |number, engine, _| {
            let got = Arc::clone(&got);
            async move {
                let wanted = ClaimNext { project: project(), wanted: Wanted::default(), ttl: None };
                let offer = engine.run(call(&format!("agent-{number}")), wanted).await.expect("an offer");
                got.lock().expect("no panic").push(offer.held.expect("there is work for everybody").item);
            }
        })
        .await;
        let got: BTreeSet<ItemId> = got.lock().expect("no panic").iter().copied().collect();
        assert_eq!(got, ids.into_iter().collect());
    }
}

/// Work on the same paths is not handed out together, however many ask at once.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn work_that_collides_is_handed_out_one_by_one() {
    let database = Database::new();
    let (stores, ids) = two_servers(&database, 12).await;
    let engine = Engine::new(Arc::clone(&stores[0]) as Arc<dyn Store>);
    let patches = ids
        .iter()
        .map(|id| Patch { touches: Some(vec![Name::parse("src/**").expect("a name")]), ..Patch::of(ItemRef::Id(*id)) });
    engine
        .run(call("maker"), Edit { project: project(), patches: patches.collect(), atomic: true })
        .await
        .expect("edited");
    let given = Arc::new(AtomicU64::new(0));
    crowd(&stores, 12, |number, engine, _| {
        let given = Arc::clone(&given);
        async move {
            let wanted = ClaimNext { project: project(), wanted: Wanted::default(), ttl: None };
            let offer = engine.run(call(&format!("agent-{number}")), wanted).await.expect("an offer");
            given.fetch_add(u64::from(offer.held.is_some()), Ordering::Relaxed);
        }
    })
    .await;
    assert_eq!(given.load(Ordering::Relaxed), 1, "all of it touches the same paths");
}

/// Who makes items beside others waits its turn for a number: nobody is refused, and no number is given twice. The bug this
/// catches: two that read the same number, of which the slower one is told that the store failed.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn everybody_who_makes_items_gets_numbers_of_their_own() {
    let database = Database::new();
    let (mut stores, ids) = two_servers(&database, 1).await;
    for _ in 0..2 {
        stores.push(Arc::new(database.open().await));
    }
    let by_id = stores[0].projects().await.expect("projects")[0].id;
    crowd(&stores, 8, |number, engine, _| {
        let parent = ids[0];
        async move {
            for round in 0..40 {
                let mut item = NewItem::titled(Title::parse(&format!("{number} {round}")).expect("a title"));
                // By its id, by its slug, and beneath an item: each is locked in another way.
                let project = if (number + round) % 3 == 0 { project() } else { ProjectRef::Id(by_id) };
                if (number + round) % 5 == 0 {
                    item.parent = Some(Parent::Existing(ItemRef::Id(parent)));
                }
                let create = Create {
                    project,
                    items: vec![item],
                    edges: vec![],
                    notes: vec![],
                    blank_notes: false,
                    room_below: false,
                    atomic: true,
                };
                engine.run(call(&format!("agent-{number}")), create).await.expect("an item");
            }
        }
    })
    .await;
    let world = audit::check_store(&*stores[0]).await;
    let numbers: BTreeSet<u32> = world.items.values().map(|item| item.number).collect();
    assert_eq!(numbers, (1..=321).collect(), "every number once, and none left out");
}

/// What a process commits is told before it goes. The bug this catches: a message that is on its way when the store is
/// closed, so that waiters elsewhere sleep until they look by themselves.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_writer_that_goes_at_once_is_heard() {
    let database = Database::new();
    let (stores, ids) = two_servers(&database, 1).await;
    for round in 0..10 {
        let waiter = Arc::clone(&stores[0]);
        let head = waiter.head().await.expect("a number");
        let waiting = tokio::spawn(async move { (waiter.changed(head).await, Instant::now()) });
        tokio::time::sleep(Duration::from_millis(100)).await;
        let short = Arc::new(database.open().await);
        let engine = Engine::new(Arc::clone(&short) as Arc<dyn Store>);
        let key = Name::parse(&format!("log-{round}")).expect("a name");
        let body = Text::parse("x").expect("a text");
        let note = NotePut { item: ItemRef::Id(ids[0]), key, phase: None, body, by: None, fence: None };
        let put = PutNotes { project: project(), notes: vec![note], atomic: true };
        engine.run(call("short"), put).await.expect("written");
        short.close().await;
        let gone = Instant::now();
        let (number, told) = waiting.await.expect("no panic");
        assert!(number.expect("a number") > head);
        let delay = told.saturating_duration_since(gone);
        assert!(delay < Duration::from_secs(1), "heard {delay:?} after it had gone, in round {round}");
    }
}

/// P9: halves of cycles, moves in the tree, closing against reopening.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_graph_stays_sound() {
    let database = Database::new();
    let (stores, ids) = two_servers(&database, 10).await;
    let ids = Arc::new(ids);
    crowd(&stores, 12, |number, engine, mut dice| {
        let ids = Arc::clone(&ids);
        async move {
            for _ in 0..40 {
                let mut pick = || ItemRef::Id(ids[usize::try_from(dice.roll(ids.len() as u64)).expect("small")]);
                let (a, b) = (pick(), pick());
                let agent = format!("agent-{number}");
                let moved = |trigger| Advance {
                    project: project(),
                    moves: vec![MoveRequest {
                        item: a.clone(),
                        target: Target::Trigger(trigger),
                        summary: None,
                        by: None,
                        fence: None,
                        expected_version: None,
                    }],
                    atomic: false,
                };
                let outcome = match dice.roll(6) {
                    0..=2 => {
                        let edge =
                            EdgeSpec { from: a, to: b, kind: EdgeKind::Blocks, unblock_at: None, inverse: false };
                        engine
                            .run(call(&agent), Link { project: project(), edges: vec![edge], holding: None })
                            .await
                            .err()
                    }
                    3 => {
                        let patch = Patch { parent: Change::Set(b), ..Patch::of(a) };
                        engine
                            .run(call(&agent), Edit { project: project(), patches: vec![patch], atomic: true })
                            .await
                            .err()
                    }
                    4 => engine.run(call(&agent), moved(Trigger::Complete)).await.err(),
                    _ => engine.run(call(&agent), moved(Trigger::Reopen)).await.err(),
                };
                assert!(outcome.as_ref().is_none_or(|error| error.kind == docket_core::Kind::Permanent), "{outcome:?}");
            }
        }
    })
    .await;
    let world = audit::check_store(&*stores[0]).await;
    assert!(!world.edges.is_empty() && world.items.values().any(|item| item.parent.is_some()), "nothing was linked");
}

/// P18: a reader that goes by its cursor meets every event once, while writers commit in another order than they took
/// their numbers.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_cursor_passes_over_nothing() {
    assert_eq!(passed_over(&Database::new()).await, 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn and_a_head_that_is_the_highest_number_committed_would_be_seen() {
    let database = Database::new();
    database.run(
        "CREATE OR REPLACE FUNCTION docket_head(OUT head bigint, OUT settled boolean) LANGUAGE plpgsql VOLATILE AS $$ \
         BEGIN SELECT coalesce(max(seq), 0) INTO head FROM events; settled := true; END $$",
    );
    assert!(passed_over(&database).await > 0, "the planted bug was not seen");
}

/// How many events readers do not meet, one that waits and one that asks all the time.
async fn passed_over(database: &Database) -> u64 {
    let (stores, ids) = two_servers(database, 40).await;
    let over = Arc::new(AtomicBool::new(false));
    let readers: Vec<_> = [(0, true), (1, false)]
        .into_iter()
        .map(|(place, waits)| {
            let (store, over) = (Arc::clone(&stores[place]), Arc::clone(&over));
            tokio::spawn(async move {
                let mut seen: Vec<u64> = Vec::new();
                loop {
                    let last = over.load(Ordering::Relaxed);
                    let filter = EventFilter { after: seen.last().copied(), limit: 50, ..EventFilter::default() };
                    let events = store.events(&filter).await.expect("events");
                    seen.extend(events.iter().map(|event| event.seq));
                    if events.is_empty() && last {
                        return seen;
                    }
                    if events.is_empty() && waits {
                        let after = seen.last().copied().unwrap_or(0);
                        let _ = tokio::time::timeout(Duration::from_millis(300), store.changed(after)).await;
                    }
                }
            })
        })
        .collect();
    let ids = Arc::new(ids);
    crowd(&stores, 16, |number, engine, mut dice| {
        let ids = Arc::clone(&ids);
        async move {
            for _ in 0..60 {
                let item = ItemRef::Id(ids[usize::try_from(dice.roll(ids.len() as u64)).expect("small")]);
                let note = NotePut {
                    item,
                    key: Name::parse(&format!("log-{number}")).expect("a name"),
                    phase: None,
                    body: Text::parse("x").expect("a text"),
                    by: None,
                    fence: None,
                };
                let put = PutNotes { project: project(), notes: vec![note], atomic: true };
                engine.run(call("maker"), put).await.expect("written");
            }
        }
    })
    .await;
    over.store(true, Ordering::Relaxed);
    let all: u64 = database.ask("SELECT count(*)::text FROM events").parse().expect("a number");
    let mut missed = 0;
    for reader in readers {
        let seen = reader.await.expect("no panic");
        let distinct: BTreeSet<u64> = seen.iter().copied().collect();
        assert_eq!(distinct.len(), seen.len(), "an event was met twice");
        missed += all - u64::try_from(seen.len()).expect("few");
    }
    missed
}
