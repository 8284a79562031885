//! What lies beside a database and is not its own: the log of another one that took its place, and journals.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use docket_core::model::Item;
use docket_core::store::{ChangeSet, Filter, Scope, Store, StoreError};
use docket_store_sqlite::{Durability, Lost, SqliteOptions, SqliteStore, verify_backup};
use rusqlite::Connection;
use tempfile::TempDir;

use crate::support::{Bench, Put, fast, item};

/// What a journal begins with once it counts.
const MAGIC: [u8; 8] = [0xd9, 0xd5, 0x05, 0xf9, 0x20, 0xa1, 0x63, 0xd7];
const SECTOR: usize = 512;

fn database(folder: &TempDir) -> PathBuf {
    folder.path().join("docket.db")
}

fn beside(folder: &TempDir, suffix: &str) -> PathBuf {
    folder.path().join(format!("docket.db{suffix}"))
}

/// What the database holds, and its log, if there is one.
fn bytes(folder: &TempDir) -> (Vec<u8>, Option<Vec<u8>>) {
    (fs::read(database(folder)).expect("a database"), fs::read(beside(folder, "-wal")).ok())
}

fn numbered(bench: &Bench, numbers: std::ops::RangeInclusive<u32>) -> Vec<Item> {
    numbers.map(|number| item(&bench.project, number, &format!("{number} {}", "word ".repeat(50)))).collect()
}

async fn count(store: &SqliteStore) -> u64 {
    let all = Filter { limit: 0, count: true, ..Filter::default() };
    store.find(&all).await.expect("items").total
}

/// A journal by which SQLite makes the database as long as it says, after putting back one page, if any.
fn journal(pages: usize, page: usize, first: Option<&[u8]>) -> Vec<u8> {
    let mut bytes = MAGIC.to_vec();
    let nonce: u32 = 7;
    let number = |number: usize| u32::try_from(number).expect("a small number").to_be_bytes();
    for word in [number(first.iter().len()), nonce.to_be_bytes(), number(pages), number(SECTOR), number(page)] {
        bytes.extend(word);
    }
    bytes.resize(SECTOR, 0);
    if let Some(first) = first {
        // Of every 200th byte, from the end, and never of the first one.
        let places = (1..).map_while(|step| first.len().checked_sub(step * 200)).take_while(|place| *place > 0);
        let sum = places.fold(nonce, |sum, place| sum.wrapping_add(first[place].into()));
        bytes.extend(number(1));
        bytes.extend(first);
        bytes.extend(sum.to_be_bytes());
    }
    bytes
}

/// The length of a page of a database, and how many it has.
fn pages(database: &Path) -> (usize, usize) {
    let bytes = fs::read(database).expect("a database");
    let page = usize::from(u16::from_be_bytes([bytes[16], bytes[17]]));
    (page, bytes.len() / page)
}

/// A database of some pages, that nobody uses and that has no log.
async fn settled() -> (TempDir, u64) {
    let bench = Bench::new().await;
    bench.put_items(&numbered(&bench, 1..=200)).await;
    bench.store.close().await;
    assert!(!beside(&bench.folder, "-wal").exists());
    (bench.folder, 200)
}

#[tokio::test]
async fn a_log_is_not_put_into_a_database_that_took_the_place_of_its_own() {
    let (bench, other) = (Bench::new().await, Bench::new().await);
    other.put_items(&numbered(&other, 1..=300)).await;
    other.store.close().await;
    bench.put_items(&numbered(&bench, 1..=100)).await;
    fs::rename(database(&other.folder), database(&bench.folder)).expect("put in its place");
    let before = bytes(&bench.folder);
    assert!(before.1.as_ref().is_some_and(|log| !log.is_empty()), "the log of the old one was left");
    let store = &bench.store;
    // The first of a kind loses the connection that it had, and the next one would open another.
    for round in 0..3 {
        let more = ChangeSet { new_items: numbered(&bench, 1000..=1000), ..ChangeSet::default() };
        let backup = bench.folder.path().join(format!("{round}.db"));
        let refused = [
            store.execute(Box::new(Put(more))).await.err(),
            store.view(&Scope::default()).await.err(),
            store.find(&Filter::default()).await.err(),
            store.integrity().await.err(),
            store.unfiled().await.err(),
            store.misfiled().await.err(),
            store.clear_search().await.err(),
            store.recount().await.err(),
            store.compact().await.err(),
            store.backup_to(&backup).await.err(),
        ];
        for (which, refused) in refused.iter().enumerate() {
            assert!(matches!(refused, Some(StoreError::Replaced)), "{round}, {which}: {refused:?}");
            assert_eq!(bytes(&bench.folder), before, "{round}, {which}");
        }
    }
    bench.store.close().await;
    assert_eq!(bytes(&bench.folder), before, "the end of the old one changes nothing either");
    fs::remove_file(beside(&bench.folder, "-wal")).expect("moved away");
    let store = SqliteStore::open(fast(&bench.folder)).await.expect("the new one is whole");
    assert_eq!((count(&store).await, store.integrity().await.expect("findings")), (300, Vec::<String>::new()));
}

#[tokio::test]
async fn a_journal_that_cannot_be_the_databases_own_is_refused() {
    let (folder, items) = settled().await;
    let (page, has) = pages(&database(&folder));
    let first = fs::read(database(&folder)).expect("a database")[..page].to_vec();
    let mut other = first.clone();
    other[200] ^= 1;
    let uncounted = {
        let mut bytes = journal(has, page, Some(&other));
        bytes[8..12].fill(0xff);
        bytes
    };
    let more_follows = [journal(has, page, None), journal(1, page, None)].concat();
    let cases = [
        ("cuts pages off", journal(1, page, None)),
        ("empties it", journal(0, page, None)),
        ("puts another first page back", journal(has, page, Some(&other))),
        ("does so without saying how many", uncounted),
        ("cuts pages off and puts the first back", journal(2, page, Some(&first))),
        ("goes on with another header", more_follows),
        ("has pages of another length", journal(has, page * 2, None)),
    ];
    for (what, bytes_of) in cases {
        fs::write(beside(&folder, "-journal"), &bytes_of).expect("a journal");
        let before = bytes(&folder);
        for options in [fast(&folder), fast(&folder).create(false), fast(&folder).create(false).read_only(true)] {
            let refused = SqliteStore::open(options).await.expect_err(what);
            assert!(matches!(&refused, StoreError::Unfit(told) if told.contains("-journal")), "{what}: {refused:?}");
        }
        let refused = verify_backup(&database(&folder)).await.expect_err(what);
        assert!(matches!(refused, StoreError::Unfit(_)), "{what}: {refused:?}");
        assert_eq!(bytes(&folder), before, "{what}");
        assert_eq!(fs::read(beside(&folder, "-journal")).expect("a journal"), bytes_of, "{what}");
    }
    fs::remove_file(beside(&folder, "-journal")).expect("moved away");
    let store = SqliteStore::open(fast(&folder)).await.expect("nothing happened to it");
    assert_eq!(count(&store).await, items);
    assert_eq!(store.integrity().await.expect("findings"), Vec::<String>::new());
}

/// SQLite looks beside the file itself, wherever a link to it lies.
#[tokio::test]
async fn a_link_to_a_database_leads_to_what_lies_beside_it() {
    let (folder, items) = settled().await;
    let (page, _) = pages(&database(&folder));
    let elsewhere = tempfile::tempdir().expect("a folder");
    let (link, further) = (elsewhere.path().join("link.db"), elsewhere.path().join("further.db"));
    std::os::unix::fs::symlink(database(&folder), &link).expect("a link");
    std::os::unix::fs::symlink("link.db", &further).expect("a link to it");
    let by = |path: &Path| SqliteOptions::new(path).create(true).durability(Durability::Normal);
    fs::write(beside(&folder, "-journal"), journal(1, page, None)).expect("a journal");
    let before = bytes(&folder);
    for path in [&link, &further] {
        for options in [by(path), by(path).create(false).read_only(true)] {
            let refused = SqliteStore::open(options).await.expect_err("it is not its own");
            assert!(matches!(&refused, StoreError::Unfit(told) if told.contains("-journal")), "{refused:?}");
            assert_eq!(bytes(&folder), before, "nothing was cut off");
        }
    }
    fs::remove_file(beside(&folder, "-journal")).expect("moved away");
    // What lies beside the link is nobody's concern.
    fs::write(elsewhere.path().join("link.db-journal"), journal(1, page, None)).expect("a journal");
    let store = SqliteStore::open(by(&link)).await.expect("whole");
    assert_eq!(count(&store).await, items);
    store.close().await;
    // One that leads nowhere yet is where the database is made.
    let (made, to) = (elsewhere.path().join("made.db"), elsewhere.path().join("to.db"));
    std::os::unix::fs::symlink(&made, &to).expect("a link");
    fs::write(elsewhere.path().join("made.db-wal"), vec![7_u8; 40_000]).expect("a log");
    let refused = SqliteStore::open(by(&to)).await.expect_err("a log without its database");
    assert!(matches!(&refused, StoreError::Unfit(told) if told.contains("-wal")), "{refused:?}");
}

/// Whoever serves it ends then: until it is started again it is of no use to anybody.
#[tokio::test]
async fn a_database_that_was_replaced_is_lost_and_one_that_was_moved_away_and_back_is_not() {
    let bench = Bench::new().await;
    bench.put_items(&numbered(&bench, 1..=3)).await;
    let store = std::sync::Arc::clone(&bench.store);
    let mut lost = tokio::spawn(async move { store.lost().await });
    let (place, aside) = (database(&bench.folder), bench.folder.path().join("aside.db"));
    fs::rename(&place, &aside).expect("moved away");
    let refused = bench.store.find(&Filter::default()).await.expect_err("it is not there");
    assert!(matches!(refused, StoreError::Replaced), "{refused:?}");
    fs::rename(&aside, &place).expect("moved back");
    let early = tokio::time::timeout(Duration::from_millis(600), &mut lost).await;
    assert!(early.is_err(), "it is there again");
    assert_eq!(count(&bench.store).await, 3);
    fs::rename(&place, &aside).expect("moved away");
    bench.store.find(&Filter::default()).await.expect_err("it is not there");
    let lost = tokio::time::timeout(Duration::from_secs(10), lost).await.expect("soon").expect("no panic");
    assert_eq!(lost, Lost::Replaced);
}

#[tokio::test]
async fn a_journal_that_comes_while_the_database_is_used_harms_nobody() {
    let bench = Bench::new().await;
    bench.put_items(&numbered(&bench, 1..=200)).await;
    bench.store.compact().await.expect("copied");
    let (page, _) = pages(&database(&bench.folder));
    fs::write(beside(&bench.folder, "-journal"), journal(1, page, None)).expect("a journal");
    assert_eq!(count(&bench.store).await, 200, "who is connected goes on");
    bench.put_items(&numbered(&bench, 201..=210)).await;
    let refused = bench.store.integrity().await.expect_err("who is not is refused");
    assert!(matches!(refused, StoreError::Unfit(_)), "{refused:?}");
    fs::remove_file(beside(&bench.folder, "-journal")).expect("moved away");
    assert_eq!(bench.store.integrity().await.expect("findings"), Vec::<String>::new());
    assert_eq!(count(&bench.store).await, 210);
}

/// The machine may go down after the first page was written and before the journal was taken away.
#[tokio::test]
async fn a_switch_to_the_log_that_was_broken_off_is_taken_back_and_done_again() {
    let (folder, items) = settled().await;
    let logged = fs::read(database(&folder)).expect("a database");
    let raw = Connection::open(database(&folder)).expect("a connection");
    raw.execute_batch("PRAGMA journal_mode = DELETE").expect("as a backup is");
    drop(raw);
    let before = fs::read(database(&folder)).expect("a database");
    assert_eq!((&logged[18..20], &before[18..20]), (&[2, 2][..], &[1, 1][..]));
    let (page, has) = pages(&database(&folder));
    for counted in [true, false] {
        fs::write(database(&folder), &logged).expect("a database");
        let mut journal = journal(has, page, Some(&before[..page]));
        if !counted {
            journal[8..12].fill(0xff);
        }
        fs::write(beside(&folder, "-journal"), journal).expect("a journal");
        let store = SqliteStore::open(fast(&folder).create(false)).await.expect("as nothing had happened");
        assert_eq!(count(&store).await, items);
        assert_eq!(store.integrity().await.expect("findings"), Vec::<String>::new());
        store.close().await;
        assert!(!beside(&folder, "-journal").exists());
        assert_eq!(fs::read(database(&folder)).expect("a database")[18..20], [2, 2], "switched");
    }
    // One that was just made: nothing was in it.
    fs::write(database(&folder), &logged[..page]).expect("a database");
    fs::write(beside(&folder, "-journal"), journal(0, page, None)).expect("a journal");
    let store = SqliteStore::open(fast(&folder)).await.expect("a new database");
    assert_eq!(count(&store).await, 0);
}

#[tokio::test]
async fn what_is_left_of_a_journal_that_counts_no_more_is_nobodys_concern() {
    let (folder, items) = settled().await;
    let (page, _) = pages(&database(&folder));
    let mut ended = journal(1, page, None);
    ended[..28].fill(0);
    for left in [vec![], ended, journal(1, page, None)[..20].to_vec(), b"not a journal".to_vec()] {
        fs::write(beside(&folder, "-journal"), left).expect("a file");
        let store = SqliteStore::open(fast(&folder)).await.expect("whole");
        assert_eq!(count(&store).await, items);
        assert_eq!(store.integrity().await.expect("findings"), Vec::<String>::new());
        store.close().await;
    }
}
