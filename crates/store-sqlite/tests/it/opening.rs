//! Which files are opened, which are refused, and how several openers at once get along.

use std::sync::Arc;

use docket_core::model::{Event, EventId, Inbox, Item, Project, Role, Sections, Verb};
use docket_core::store::{ChangeSet, Scope, Store, StoreError};
use docket_store_sqlite::{SqliteOptions, SqliteStore};
use rusqlite::Connection;
use tempfile::TempDir;

use crate::support::{Bench, Put, event, fast, item, name, note, project};

/// Takes back what later migrations have made.
const FIRST_SCHEMA: &str = "DROP TABLE items_unindexed; CREATE INDEX answers_expiry ON answers (expires_at); DROP TABLE knowledge_counts; DROP TABLE knowledge_vectors; DROP TABLE knowledge_links; \
    DROP TABLE knowledge_facets; DROP TABLE knowledge_words; DROP TABLE knowledge; DROP TABLE api_keys; DROP TABLE briefs; DROP TABLE questions; \
    DROP TABLE comments; DROP TABLE links; DROP TABLE runs; DROP TABLE sessions; DROP INDEX items_inbox; DROP INDEX items_left; \
    ALTER TABLE items DROP COLUMN sections; \
    ALTER TABLE items DROP COLUMN inbox; ALTER TABLE items DROP COLUMN due_at; \
    ALTER TABLE items DROP COLUMN estimate_minutes; ALTER TABLE items DROP COLUMN position; \
    ALTER TABLE items DROP COLUMN attention; ALTER TABLE items DROP COLUMN intent; \
    ALTER TABLE projects DROP COLUMN archived_at; PRAGMA user_version = 1";

/// A database that was just made.
async fn fresh() -> TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    SqliteStore::open(fast(&folder)).await.expect("a new database").close().await;
    folder
}

/// What a database is made of.
fn schema_of(database: &Connection) -> Vec<String> {
    let mut asked =
        database.prepare("SELECT sql FROM sqlite_schema WHERE sql IS NOT NULL ORDER BY name").expect("a question");
    let rows = asked.query_map((), |row| row.get(0)).expect("an answer");
    rows.collect::<Result<_, _>>().expect("texts")
}

fn raw(folder: &TempDir) -> Connection {
    Connection::open(folder.path().join("docket.db")).expect("a connection")
}

async fn refusal(options: SqliteOptions) -> StoreError {
    SqliteStore::open(options).await.expect_err("the file is refused")
}

#[tokio::test]
async fn a_missing_file_is_an_error_unless_it_may_be_made() {
    let folder = tempfile::tempdir().expect("a folder");
    assert!(matches!(refusal(fast(&folder).create(false)).await, StoreError::Failed(_)));
    assert!(!folder.path().join("docket.db").exists(), "a refused open leaves nothing behind");
    SqliteStore::open(fast(&folder)).await.expect("a new database").close().await;
    SqliteStore::open(fast(&folder).create(false)).await.expect("the same database").close().await;
}

#[tokio::test]
async fn a_file_that_is_not_ours_is_left_alone() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("docket.db");
    std::fs::write(&path, "just a text, longer than the header of a database would be, so that it is looked at")
        .expect("a file");
    let before = std::fs::read(&path).expect("a file");
    assert!(matches!(refusal(fast(&folder)).await, StoreError::Foreign));
    assert_eq!(std::fs::read(&path).expect("a file"), before);

    std::fs::remove_file(&path).expect("a file");
    let other = raw(&folder);
    other.execute_batch("CREATE TABLE theirs (x)").expect("a table");
    other.close().expect("closed");
    assert!(matches!(refusal(fast(&folder)).await, StoreError::Foreign));

    std::fs::remove_file(&path).expect("a file");
    std::fs::write(&path, "").expect("a file");
    assert!(matches!(refusal(fast(&folder).create(false)).await, StoreError::Foreign), "empty, and not to be filled");
}

#[tokio::test]
async fn a_database_of_the_first_schema_is_brought_to_the_newest_and_keeps_its_rows() {
    let bench = Bench::new().await;
    let in_review = Item { role: Role::Review, status: name("review"), ..item(&bench.project, 2, "in review") };
    bench.put_items(&[item(&bench.project, 1, "kept"), in_review]).await;
    bench.store.close().await;
    let folder = bench.folder;
    let first = raw(&folder);
    first.execute_batch(FIRST_SCHEMA).expect("the first schema");
    first.close().expect("closed");
    assert!(matches!(refusal(fast(&folder).create(false).read_only(true)).await, StoreError::ReadOnly(_)));
    let store = SqliteStore::open(fast(&folder).create(false)).await.expect("brought to the newest schema");
    let keys = Scope { keys: docket_core::store::KeyReach::All, ..Scope::default() };
    assert!(store.view(&keys).await.expect("a table of keys").keys.is_empty());
    let all = docket_core::store::Filter { limit: 10, count: true, ..docket_core::store::Filter::default() };
    assert_eq!(store.find(&all).await.expect("items").total, 2);
    let waits = docket_core::store::Filter { inbox: Some(true), ..all };
    let waits = store.find(&waits).await.expect("items").items;
    let waits: Vec<(u32, Inbox)> = waits.iter().map(|item| (item.number, item.derived.inbox)).collect();
    assert_eq!(waits, [(2, Inbox(Inbox::REVIEW))], "what is in review waits for a person");
    assert_eq!(store.integrity().await.expect("findings"), Vec::<String>::new());
    assert_eq!(schema_of(&raw(&folder)), schema_of(&raw(&fresh().await)), "and it is like a new one");
    store.close().await;
}

/// Where there is no review, the seventh schema asked nobody to sign off what is at work.
#[tokio::test]
async fn what_waits_for_a_person_where_nothing_is_reviewed_is_told_after_the_upgrade() {
    let bench = Bench::new().await;
    let mut plain = project("plain", "PLA");
    plain.workflow.statuses.retain(|status| status.role != Role::Review);
    let at_work = |of: &Project, number: u32, sections: u8| {
        let status = name("in_progress");
        let mut made = Item { role: Role::Work, status, ..item(of, number, "signed by a person") };
        made.derived.sections = Sections(sections);
        made
    };
    let items = vec![
        at_work(&plain, 1, Sections::UNSIGNED),
        at_work(&plain, 2, 0),
        Item { role: Role::Queue, ..at_work(&plain, 3, Sections::UNSIGNED) },
        at_work(&bench.project, 4, Sections::UNSIGNED),
    ];
    bench.put(ChangeSet { projects: vec![plain], ..ChangeSet::default() }).await;
    bench.put_items(&items).await;
    bench.store.close().await;
    let folder = bench.folder;
    let seventh = raw(&folder);
    seventh.execute_batch("UPDATE items SET inbox = 0; PRAGMA user_version = 7").expect("as an older program left it");
    seventh.close().expect("closed");
    let store = SqliteStore::open(fast(&folder).create(false)).await.expect("brought to the newest schema");
    let waits = docket_core::store::Filter { inbox: Some(true), limit: 9, ..docket_core::store::Filter::default() };
    let waits = store.find(&waits).await.expect("items").items;
    let waits: Vec<(u32, Inbox)> = waits.iter().map(|item| (item.number, item.derived.inbox)).collect();
    assert_eq!(waits, [(1, Inbox(Inbox::SIGN_OFF))]);
    store.close().await;
}

#[tokio::test]
async fn a_newer_schema_is_refused_and_named() {
    let folder = tempfile::tempdir().expect("a folder");
    SqliteStore::open(fast(&folder)).await.expect("a new database").close().await;
    let newer = raw(&folder);
    newer.execute_batch("PRAGMA user_version = 99").expect("a version");
    newer.close().expect("closed");
    assert!(matches!(refusal(fast(&folder)).await, StoreError::Newer { found: 99, known: 8 }));
}

#[tokio::test]
async fn a_damaged_file_is_told_as_such() {
    let bench = Bench::new().await;
    let items: Vec<_> = (1..=200).map(|number| item(&bench.project, number, "an item")).collect();
    bench.put_items(&items).await;
    bench.store.close().await;
    let path = bench.folder.path().join("docket.db");
    let mut bytes = std::fs::read(&path).expect("the file");
    for byte in &mut bytes[100..] {
        *byte = 0xa5;
    }
    std::fs::write(&path, bytes).expect("the file");
    assert!(matches!(refusal(fast(&bench.folder)).await, StoreError::Corrupt(_)));
}

#[tokio::test]
async fn a_read_only_store_reads_and_says_why_it_does_not_write() {
    let bench = Bench::new().await;
    let thing = item(&bench.project, 1, "a thing");
    bench.put_items(std::slice::from_ref(&thing)).await;
    bench.store.close().await;
    let store = SqliteStore::open(fast(&bench.folder).read_only(true)).await.expect("a reader");
    let seen = store.view(&Scope { items: vec![thing.id.into()], ..Scope::default() }).await.expect("a slice");
    assert_eq!(seen.items.get(&thing.id), Some(&thing));
    let more = ChangeSet { new_items: vec![item(&bench.project, 2, "another")], ..ChangeSet::default() };
    assert!(matches!(store.execute(Box::new(Put(more))).await, Err(StoreError::ReadOnly(_))));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn of_many_who_open_a_new_file_at_once_one_makes_it_and_all_get_in() {
    for _ in 0..5 {
        let folder = Arc::new(tempfile::tempdir().expect("a folder"));
        let openers: Vec<_> = (0..8)
            .map(|number| {
                let folder = Arc::clone(&folder);
                tokio::spawn(async move {
                    let store = SqliteStore::open(fast(&folder)).await.expect("everybody gets in");
                    let made = project(&format!("p{number}"), &format!("P{number}"));
                    let changes = ChangeSet { projects: vec![made], ..ChangeSet::default() };
                    store.execute(Box::new(Put(changes))).await.expect("everybody writes");
                    store.close().await;
                })
            })
            .collect();
        for opener in openers {
            opener.await.expect("no panic");
        }
        let store = SqliteStore::open(fast(&folder)).await.expect("a database");
        assert_eq!(store.projects().await.expect("projects").len(), 8);
        assert_eq!(store.integrity().await.expect("findings"), Vec::<String>::new());
    }
}

#[tokio::test]
async fn a_closed_store_refuses_what_comes_later() {
    let bench = Bench::new().await;
    bench.store.close().await;
    assert!(bench.try_put(ChangeSet::default()).await.is_err());
    assert!(bench.store.head().await.is_err());
}

/// That an item was made, with an id as ids of events are.
fn told(made: &Item, number: u32) -> Event {
    let at = u64::try_from(made.created_at.as_millis()).expect("a time after 1970");
    let id = EventId(ulid::Ulid::from_parts(at, number.into()));
    Event { id, ..event(made.project, Some(made.id), Verb::Created, made.created_at) }
}

/// Copies a database with its log to a folder of its own, as a machine that goes down leaves it.
fn left_as_it_is(folder: &TempDir) -> TempDir {
    let left = tempfile::tempdir().expect("a folder");
    for name in ["docket.db", "docket.db-wal"] {
        std::fs::copy(folder.path().join(name), left.path().join(name)).expect("a copy");
    }
    left
}

/// Whoever reads keeps what is newer than its view from being copied out of the log, and with it every page that was written
/// again since: the database by itself is then like nothing it ever was.
#[tokio::test]
async fn a_log_is_taken_although_readers_kept_some_of_it_from_being_copied() {
    let bench = Bench::new().await;
    let reader = raw(&bench.folder);
    let first = item(&bench.project, 1000, "first");
    let events = vec![told(&first, 0)];
    bench.put(ChangeSet { new_items: vec![first.clone()], events, ..ChangeSet::default() }).await;
    // Pages that are free hold what they held before, and look like pages of events to whoever comes to them by a wrong way.
    let notes: Vec<_> = (0..3000).map(|number| note(&first, &format!("n{number}"), &"x".repeat(400))).collect();
    let removed_notes = notes.iter().map(|note| note.id).collect();
    bench.put(ChangeSet { notes, ..ChangeSet::default() }).await;
    reader.execute_batch("PRAGMA wal_checkpoint(TRUNCATE)").expect("copied");
    bench.put(ChangeSet { removed_notes, ..ChangeSet::default() }).await;
    reader.execute_batch("PRAGMA wal_checkpoint(TRUNCATE)").expect("copied");
    let mut looked = 0;
    for number in 1..=800 {
        if number % 3 == 0 {
            let _ = reader.execute_batch("COMMIT");
            reader.execute_batch("BEGIN").expect("a view");
            let _: i64 = reader.query_row("SELECT count(*) FROM events", (), |row| row.get(0)).expect("a number");
        }
        let made = item(&bench.project, number, "logged");
        let events = vec![told(&made, number)];
        let next_numbers = [(bench.project.id, number + 1)].into();
        bench.put(ChangeSet { new_items: vec![made], next_numbers, events, ..ChangeSet::default() }).await;
        if number > 150 && number % 4 == 0 {
            let left = left_as_it_is(&bench.folder);
            let store = SqliteStore::open(fast(&left)).await.unwrap_or_else(|error| panic!("{number}: {error:?}"));
            assert_eq!(store.head().await.expect("a number"), u64::from(number) + 1, "every event is there");
            store.close().await;
            looked += 1;
        }
    }
    assert!(looked > 150);
}

#[tokio::test]
async fn damage_is_not_blamed_on_the_log() {
    let bench = Bench::new().await;
    let items: Vec<Item> = (1..=200).map(|number| item(&bench.project, number, "checked")).collect();
    let events =
        items.iter().map(|made| event(made.project, Some(made.id), docket_core::model::Verb::Created, made.created_at));
    bench.put(ChangeSet { events: events.collect(), new_items: items.clone(), ..ChangeSet::default() }).await;
    let raw = raw(&bench.folder);
    raw.execute_batch("PRAGMA wal_checkpoint(TRUNCATE); UPDATE items_fts_data SET block = x'00' WHERE id > 100")
        .expect("damaged");
    raw.execute_batch("PRAGMA wal_checkpoint(TRUNCATE)").expect("copied");
    drop(raw);
    let last = item(&bench.project, 201, "last");
    let events = vec![told(&last, 201)];
    bench.put(ChangeSet { new_items: vec![last], events, ..ChangeSet::default() }).await;
    let left = left_as_it_is(&bench.folder);
    let store = SqliteStore::open(fast(&left)).await.expect("whoever mends it has to get in");
    assert!(!store.integrity().await.expect("findings").is_empty());
    store.close().await;
}

#[tokio::test]
async fn an_older_database_that_is_only_to_be_read_can_be_brought_to_the_newest_schema_first() {
    let folder = fresh().await;
    let newest = schema_of(&raw(&folder));
    raw(&folder).execute_batch(FIRST_SCHEMA).expect("as it was once");
    let options = fast(&folder).create(false).read_only(true);
    let store = SqliteStore::open_newest(options).await.expect("it can be read");
    assert_eq!(store.head().await.expect("a number"), 0);
    store.close().await;
    assert_eq!(schema_of(&raw(&folder)).len(), newest.len());
}
