//! Backups, checks, compaction, repair.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use docket_core::model::{Derived, Item, ItemId};
use docket_core::store::{ChangeSet, Scope, Store, StoreError};
use docket_store_sqlite::{SqliteStore, verify_backup};
use sqlx::{ConnectOptions, Connection, Executor, sqlite::SqliteConnectOptions};

use crate::support::{Bench, Put, fast, item, new_uuid};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_backup_under_load_is_whole_and_opens_as_a_database() {
    let bench = Bench::new().await;
    let done = Arc::new(AtomicBool::new(false));
    let load = {
        let (store, project, done) = (Arc::clone(&bench.store), bench.project.clone(), Arc::clone(&done));
        tokio::spawn(async move {
            let mut number = 0;
            while !done.load(Ordering::Relaxed) {
                number += 2;
                let pair = vec![item(&project, number - 1, "one of two"), item(&project, number, "one of two")];
                let changes = ChangeSet { new_items: pair, ..ChangeSet::default() };
                store.execute(Box::new(Put(changes))).await.expect("written");
            }
        })
    };
    let copies = tempfile::tempdir().expect("a folder");
    for round in 0..3 {
        tokio::time::sleep(std::time::Duration::from_millis(30)).await;
        let copy = copies.path().join(format!("copy {round}.db"));
        bench.store.backup_to(&copy).await.expect("a backup");
        assert_eq!(verify_backup(&copy).await.expect("a database"), Vec::<String>::new());
        let again = bench.store.backup_to(&copy).await;
        assert!(matches!(again, Err(StoreError::Failed(_))), "an earlier backup is never overwritten");
    }
    done.store(true, Ordering::Relaxed);
    load.await.expect("no panic");
    let left: Vec<_> = std::fs::read_dir(copies.path()).expect("a folder").collect();
    assert_eq!(left.len(), 3, "nothing half-made is left");
    std::fs::copy(copies.path().join("copy 2.db"), copies.path().join("docket.db")).expect("restored");
    let restored = SqliteStore::open(fast(&copies)).await.expect("a database");
    let all = docket_core::store::Filter { limit: 0, ..Default::default() };
    let count = restored.find(&all).await.expect("a count").total;
    assert!(count > 0 && count.is_multiple_of(2), "{count} items: never half a unit of work");
    let more = ChangeSet { new_items: vec![item(&bench.project, 999_999, "after")], ..ChangeSet::default() };
    restored.execute(Box::new(Put(more))).await.expect("a restored database can be written");
}

#[tokio::test]
async fn findings_name_what_is_wrong() {
    let bench = Bench::new().await;
    let items: Vec<Item> = (1..=3).map(|number| item(&bench.project, number, "checked")).collect();
    bench.put_items(&items).await;
    assert_eq!(bench.store.integrity().await.expect("findings"), Vec::<String>::new());
    let path = bench.folder.path().join("docket.db");
    let mut raw = SqliteConnectOptions::new().filename(path).foreign_keys(false).connect().await.expect("a connection");
    raw.execute("DELETE FROM items_fts WHERE rowid = 1").await.expect("broken");
    raw.execute("DELETE FROM items WHERE pk = 2").await.expect("broken");
    raw.execute("UPDATE items SET tags = '[\"lost\"]' WHERE pk = 3").await.expect("broken");
    raw.close().await.expect("closed");
    let findings = bench.store.integrity().await.expect("findings");
    assert_eq!(findings.len(), 3, "{findings:?}");
    assert!(verify_backup(&bench.folder.path().join("nothing.db")).await.is_err());
}

#[tokio::test]
async fn compaction_leaves_everything_readable() {
    let bench = Bench::new().await;
    let items: Vec<Item> = (1..=500).map(|number| item(&bench.project, number, "compacted")).collect();
    bench.put_items(&items).await;
    let gone: Vec<ItemId> = items.iter().skip(1).map(|item| item.id).collect();
    bench.put(ChangeSet { removed_items: gone, ..ChangeSet::default() }).await;
    bench.store.compact().await.expect("compacted");
    assert_eq!(bench.get(items[0].id).await.as_ref(), Some(&items[0]));
    assert_eq!(bench.store.integrity().await.expect("findings"), Vec::<String>::new());
}

#[tokio::test]
async fn derived_numbers_can_be_put_right() {
    let bench = Bench::new().await;
    let wrong = item(&bench.project, 1, "wrong");
    bench.put_items(std::slice::from_ref(&wrong)).await;
    let right = Derived { blockers: 3, moot: 1, unblocks: 2, rank: 77, offered: false };
    let missing = ItemId::from_uuid(new_uuid());
    bench.store.set_derived(&[(wrong.id, right), (missing, right)]).await.expect("repaired");
    assert_eq!(bench.get(wrong.id).await, Some(Item { derived: right, ..wrong.clone() }));
    bench.store.set_derived(&[(missing, right)]).await.expect("nothing to do");
    let seen = bench.store.view(&Scope { items: vec![wrong.id.into()], ..Scope::default() }).await.expect("a slice");
    assert_eq!(seen.items[&wrong.id].version, wrong.version);
}
