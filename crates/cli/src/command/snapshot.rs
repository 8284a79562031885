//! All rows as of one moment, for `export` and `doctor`: a scan goes page by page, and others may write meanwhile.

use std::path::PathBuf;

use docket_core::model::{Edge, Item, Note, Project};
use docket_core::store::{ScanPage, ScanRows, ScanTable, Store, StoreError};
use docket_store_postgres::Frozen;
use docket_store_sqlite::{SqliteOptions, SqliteStore};

use super::progress::Progress;
use crate::database::Database;
use crate::exit::Failure;
use crate::session::open;

/// How often a scan is begun anew before a copy is made to scan instead.
const TRIES: usize = 2;

/// All rows.
#[derive(Debug, Default)]
pub(super) struct Snapshot {
    pub(super) projects: Vec<Project>,
    pub(super) items: Vec<Item>,
    pub(super) edges: Vec<Edge>,
    pub(super) notes: Vec<Note>,
}

impl Snapshot {
    /// Reads all rows as of one moment.
    pub(super) async fn take(database: &Database, with_notes: bool, progress: &Progress) -> Result<Self, Failure> {
        match database {
            Database::Sqlite(store) => Self::of_file(store, with_notes, progress).await,
            Database::Postgres(store) => {
                Ok(scan(&mut Source::Frozen(store.frozen().await?), with_notes, progress).await?)
            }
        }
    }

    /// Reads all rows of a file; where others keep writing, from a copy that nobody writes to.
    async fn of_file(store: &SqliteStore, with_notes: bool, progress: &Progress) -> Result<Self, Failure> {
        for _ in 0..TRIES {
            let before = store.head().await?;
            let snapshot = scan(&mut Source::Live(store), with_notes, progress).await?;
            if store.head().await? == before {
                return Ok(snapshot);
            }
        }
        let copy = Copy(std::env::temp_dir().join(format!("docket-{}.db", uuid::Uuid::new_v4())));
        store.backup_to(&copy.0).await?;
        let quiet = open(SqliteOptions::new(&copy.0).read_only(true)).await?;
        let snapshot = scan(&mut Source::Live(&quiet), with_notes, progress).await;
        quiet.close().await;
        Ok(snapshot?)
    }
}

/// Where rows come from.
enum Source<'s> {
    /// A store that others may write to meanwhile.
    Live(&'s SqliteStore),
    /// A database as it was at one moment.
    Frozen(Frozen),
}

impl Source<'_> {
    async fn projects(&mut self) -> Result<Vec<Project>, StoreError> {
        match self {
            Self::Live(store) => store.projects().await,
            Self::Frozen(frozen) => frozen.projects().await,
        }
    }

    async fn scan(&mut self, table: ScanTable, after: Option<String>) -> Result<ScanPage, StoreError> {
        match self {
            Self::Live(store) => store.scan(table, after).await,
            Self::Frozen(frozen) => frozen.scan(table, after).await,
        }
    }
}

async fn scan(store: &mut Source<'_>, with_notes: bool, progress: &Progress) -> Result<Snapshot, StoreError> {
    let mut snapshot = Snapshot { projects: store.projects().await?, ..Snapshot::default() };
    let notes = with_notes.then_some(ScanTable::Notes);
    for table in [ScanTable::Items, ScanTable::Edges].into_iter().chain(notes) {
        let mut after = None;
        loop {
            let page = store.scan(table, after).await?;
            match page.rows {
                ScanRows::Items(rows) => snapshot.items.extend(rows),
                ScanRows::Edges(rows) => snapshot.edges.extend(rows),
                ScanRows::Notes(rows) => snapshot.notes.extend(rows),
            }
            progress.at(snapshot.items.len() + snapshot.edges.len() + snapshot.notes.len());
            after = page.next;
            if after.is_none() {
                break;
            }
        }
    }
    Ok(snapshot)
}

/// A file that goes when we do.
struct Copy(PathBuf);

impl Drop for Copy {
    fn drop(&mut self) {
        for suffix in ["", "-wal", "-shm"] {
            let mut path = self.0.clone().into_os_string();
            path.push(suffix);
            // What is not there need not go.
            _ = std::fs::remove_file(path);
        }
    }
}
