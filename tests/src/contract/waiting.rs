//! Waiting for events of this process and of others.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::{Duration, Instant};

use docket_core::model::{Timestamp, Verb};
use docket_core::store::{ChangeSet, ProjectRef, Scope};

use super::support::{Bench, Put, claim, event, item};

fn something(bench: &Bench) -> ChangeSet {
    let happened = event(bench.project.id, None, Verb::Edited, Timestamp::from_millis(1));
    ChangeSet { events: vec![happened], ..ChangeSet::default() }
}

/// A waiter hears of commits here and in another process.
pub async fn a_waiter_hears_of_commits_here_and_in_another_process(bench: Bench) {
    let other = bench.other().await;
    for round in 1..=6_u64 {
        let waiter = Arc::clone(&bench.store);
        let waiting = tokio::spawn(async move { (waiter.changed(round - 1).await, Instant::now()) });
        tokio::time::sleep(Duration::from_millis(60)).await;
        assert!(!waiting.is_finished(), "nothing has happened yet");
        // As from another process: the two stores share nothing but the database.
        let writer = if round % 2 == 0 { &bench.store } else { &other };
        writer.execute(Box::new(Put(something(&bench)))).await.expect("written");
        let committed = Instant::now();
        let (number, heard) = waiting.await.expect("no panic");
        assert_eq!(number.expect("a number"), round);
        let delay = heard.saturating_duration_since(committed);
        assert!(delay < Duration::from_millis(100), "heard after {delay:?} in round {round}");
    }
}

/// All waiters hear and none looks when none waits.
pub async fn all_waiters_hear_and_none_looks_when_none_waits(bench: Bench) {
    let waiters: Vec<_> = (0..50)
        .map(|_| {
            let store = Arc::clone(&bench.store);
            tokio::spawn(async move { store.changed(0).await })
        })
        .collect();
    // The one that looks for all goes away; another takes over.
    waiters[0].abort();
    tokio::time::sleep(Duration::from_millis(60)).await;
    bench.put(something(&bench)).await;
    for waiter in waiters.into_iter().skip(1) {
        let heard = tokio::time::timeout(Duration::from_secs(2), waiter).await.expect("in time").expect("no panic");
        assert_eq!(heard.expect("a number"), 1);
    }
    assert_eq!(bench.store.changed(0).await.expect("a number"), 1, "what has happened is told at once");
    // What the commit has to say to other processes is said by now.
    tokio::time::sleep(Duration::from_millis(100)).await;
    let before = bench.store.round_trips();
    tokio::time::sleep(Duration::from_millis(150)).await;
    assert_eq!(bench.store.round_trips(), before);
}

/// Who waits while nothing happens asks nothing.
pub async fn who_waits_while_nothing_happens_asks_nothing(bench: Bench) {
    let waiters: Vec<_> = (0..50)
        .map(|_| {
            let store = Arc::clone(&bench.store);
            tokio::spawn(async move { store.changed(0).await })
        })
        .collect();
    // The first look, and where messages are listened for, the look after that has begun.
    tokio::time::sleep(Duration::from_millis(500)).await;
    let before = bench.store.round_trips();
    tokio::time::sleep(Duration::from_secs(2)).await;
    assert_eq!(bench.store.round_trips(), before);
    for waiter in waiters {
        assert!(!waiter.is_finished(), "nothing has happened");
        waiter.abort();
    }
}

/// The next end of a claim is known, in a project or in all that may be seen.
pub async fn the_next_end_of_a_claim_is_known(bench: Bench) {
    let everywhere = None;
    let here = ProjectRef::Id(bench.project.id);
    assert_eq!(bench.store.next_expiry(&here, &everywhere).await.expect("an answer"), None, "nothing is claimed");
    let now = bench.store.view(&Scope::default()).await.expect("a view").now;
    let mut items = Vec::new();
    for (number, left) in [(1, Some(90)), (2, Some(30)), (3, Some(-5)), (4, None)] {
        let mut claimed = item(&bench.project, number, "claimed");
        claimed.claim = Some(claim("agent", left.map(|left: i64| now.as_millis() + left * 1000)));
        items.push(claimed);
    }
    bench.put_items(&items).await;
    for project in [here, ProjectRef::Any, ProjectRef::Slug(bench.project.slug.clone())] {
        let left = bench.store.next_expiry(&project, &everywhere).await.expect("an answer").expect("an end");
        assert!((25..=30).contains(&left.as_secs()), "{left:?} in {project:?}");
    }
    let nowhere = Some(BTreeSet::new());
    assert_eq!(bench.store.next_expiry(&ProjectRef::Any, &nowhere).await.expect("an answer"), None, "out of sight");
}
