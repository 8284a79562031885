//! Backups, checks, compaction, repair.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use docket_core::doctor::{Refile, Repair};
use docket_core::model::{Derived, Inbox, Item, ItemId, Sections, Tag};
use docket_core::store::{ChangeSet, Filter, Order, Scope, Store, StoreError};
use docket_store_sqlite::{SqliteStore, verify_backup};
use rusqlite::Connection;

use crate::support::{Bench, Put, entry, fast, item, new_uuid};

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
async fn what_knowledge_is_found_by_is_compared_and_put_right() {
    use docket_core::store::KnowledgeChanges;
    let bench = Bench::new().await;
    let entries: Vec<_> = (0..3).map(|number| entry(&bench.project, &format!("valve {number}"), "some text")).collect();
    let knowledge = KnowledgeChanges { new_entries: entries.clone(), ..KnowledgeChanges::default() };
    bench.put(ChangeSet { knowledge, ..ChangeSet::default() }).await;
    assert_eq!(bench.store.misfiled().await.expect("findings"), []);
    let raw = Connection::open(bench.folder.path().join("docket.db")).expect("a connection");
    let id = |place: usize| entries[place].id.0.0.to_be_bytes();
    raw.execute("DELETE FROM knowledge_words WHERE entry_id = ?1 AND word = 'valve'", [id(0)]).expect("one less");
    raw.execute("UPDATE knowledge_facets SET facet = 'tag:x' WHERE entry_id = ?1 AND facet = 'unreviewed'", [id(2)])
        .expect("another");
    raw.execute("UPDATE knowledge_counts SET stored = 77", []).expect("a wrong count");
    assert_eq!(bench.store.misfiled().await.expect("findings"), [entries[0].id, entries[2].id]);
    let found = bench.store.integrity().await.expect("findings");
    assert_eq!(found, ["the number of the knowledge is stored as 77, should be 3"]);
    assert!(bench.store.recount().await.expect("counted"));
    for refile in Refile::of(&bench.store.misfiled().await.expect("findings")) {
        bench.store.execute(Box::new(refile)).await.expect("filed anew");
    }
    assert_eq!(bench.store.misfiled().await.expect("findings"), []);
    assert_eq!(bench.store.integrity().await.expect("findings"), Vec::<String>::new());
    assert!(!bench.store.recount().await.expect("nothing to count"));
}

#[tokio::test]
async fn findings_name_what_is_wrong() {
    let bench = Bench::new().await;
    // As many as the index takes in at once; the last three are put in one by one, and wait for it.
    let items: Vec<Item> = (1..=103).map(|number| item(&bench.project, number, "checked")).collect();
    bench.put_items(&items[..100]).await;
    for item in &items[100..] {
        bench.put_items(std::slice::from_ref(item)).await;
    }
    assert_eq!(bench.store.integrity().await.expect("findings"), Vec::<String>::new());
    let path = bench.folder.path().join("docket.db");
    let raw = Connection::open(path).expect("a connection");
    raw.pragma_update(None, "foreign_keys", false).expect("no foreign keys");
    raw.execute_batch("DELETE FROM items_fts WHERE rowid = 1").expect("broken");
    raw.execute_batch("DELETE FROM items WHERE pk = 2").expect("broken");
    raw.execute_batch("UPDATE items SET tags = '[\"lost\"]' WHERE pk = 3").expect("broken");
    raw.execute_batch("DELETE FROM items_unindexed WHERE pk = 101").expect("broken");
    raw.execute_batch("DELETE FROM items WHERE pk = 102").expect("broken");
    raw.execute_batch("INSERT INTO items_fts (rowid, words) VALUES (103, 'checked')").expect("broken");
    raw.close().expect("closed");
    let findings = bench.store.integrity().await.expect("findings");
    assert_eq!(
        findings,
        [
            "a row of items_unindexed refers to a row that is not in items",
            "items_fts holds words of an item that does not exist",
            "items_fts holds words of an item that still wait for it",
        ]
    );
    assert_eq!(bench.store.unfiled().await.expect("items"), [items[0].id, items[2].id, items[100].id]);
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
    let right = Derived {
        blockers: 3,
        moot: 1,
        unblocks: 2,
        rank: 77,
        offered: false,
        sections: Sections(5),
        inbox: Inbox(Inbox::REVIEW),
    };
    let missing = ItemId::from_uuid(new_uuid());
    bench.store.set_derived(&[(wrong.id, right), (missing, right)]).await.expect("repaired");
    assert_eq!(bench.get(wrong.id).await, Some(Item { derived: right, ..wrong.clone() }));
    bench.store.set_derived(&[(missing, right)]).await.expect("nothing to do");
    let seen = bench.store.view(&Scope { items: vec![wrong.id.into()], ..Scope::default() }).await.expect("a slice");
    assert_eq!(seen.items[&wrong.id].version, wrong.version);
}

#[tokio::test]
async fn what_items_are_found_by_can_be_filed_anew() {
    let bench = Bench::new().await;
    let mut items: Vec<Item> = (1..=3).map(|number| item(&bench.project, number, &format!("filed {number}"))).collect();
    items[1].tags = vec![Tag::parse("kept").expect("a tag")];
    bench.put_items(&items).await;
    assert!(!bench.store.clear_search().await.expect("looked"), "nothing is wrong with it");
    let path = bench.folder.path().join("docket.db");
    let raw = Connection::open(path).expect("a connection");
    raw.pragma_update(None, "foreign_keys", false).expect("no foreign keys");
    raw.execute_batch("DELETE FROM items_unindexed WHERE pk = 1").expect("broken");
    raw.execute_batch("DELETE FROM item_tags").expect("broken");
    raw.execute_batch("INSERT INTO item_tags (tag, item_pk) VALUES ('stray', 3)").expect("broken");
    raw.execute_batch("INSERT INTO items_fts (rowid, words) VALUES (99, 'ghost')").expect("broken");
    raw.close().expect("closed");
    let found = async |filter: Filter| {
        let filter = Filter { limit: 9, order: Order::Asc, ..filter };
        bench.store.find(&filter).await.expect("a list").items.iter().map(|item| item.number).collect::<Vec<_>>()
    };
    let words = |word: &str| Filter { words: vec![word.to_owned()], ..Filter::default() };
    let tag = |tag: &str| Filter { tags: vec![Tag::parse(tag).expect("a tag")], ..Filter::default() };
    assert_eq!(found(words("filed")).await, [2, 3]);
    assert!(bench.store.clear_search().await.expect("cleared"), "it held words of nobody's");
    let unfiled = bench.store.unfiled().await.expect("items");
    assert_eq!(unfiled.len(), 3);
    for repair in Repair::of(&docket_core::doctor::unfiled(unfiled), &items) {
        bench.store.execute(Box::new(repair)).await.expect("repaired");
    }
    assert_eq!(found(words("filed")).await, [1, 2, 3]);
    assert_eq!((found(tag("kept")).await, found(tag("stray")).await), (vec![2], vec![]));
    assert_eq!(bench.store.unfiled().await.expect("items"), []);
    assert_eq!(bench.store.integrity().await.expect("findings"), Vec::<String>::new());
    assert_eq!(bench.get(items[1].id).await.expect("it").version, items[1].version, "a repair is no change");
}

#[tokio::test]
async fn a_backup_of_an_older_schema_is_looked_at_as_it_is() {
    let bench = Bench::new().await;
    bench.put_items(&[item(&bench.project, 1, "kept")]).await;
    let backup = bench.folder.path().join("backup.db");
    bench.store.backup_to(&backup).await.expect("a copy");
    let raw = Connection::open(&backup).expect("a connection");
    raw.execute_batch(
        "DROP TABLE items_unindexed; CREATE INDEX answers_expiry ON answers (expires_at); PRAGMA user_version = 6",
    )
    .expect("as an older program left it");
    drop(raw);
    assert_eq!(verify_backup(&backup).await.expect("findings"), Vec::<String>::new());
    let newer = Connection::open(&backup).expect("a connection");
    newer.execute_batch("PRAGMA user_version = 99").expect("a version");
    drop(newer);
    assert!(verify_backup(&backup).await.is_err(), "that of a newer one is refused");
}
