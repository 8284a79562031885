//! All rows as of one moment, for `export` and `doctor`: a server shows its database as it was, a file is scanned again when
//! somebody wrote meanwhile, and copied where others keep writing.

use std::path::PathBuf;
use std::sync::Arc;

use docket_core::Engine;
use docket_core::exchange::Snapshot;
use docket_core::store::{Store, StoreError};
use docket_store_postgres::Frozen;
use docket_store_sqlite::files::files_of;
use docket_store_sqlite::{SqliteOptions, SqliteStore};

use super::progress::Progress;
use crate::database::Database;
use crate::exit::Failure;
use crate::session::open;

/// How often a scan is begun anew before a copy is made to scan instead.
const TRIES: usize = 2;

/// Reads all rows as of one moment.
pub(super) async fn take(database: &Database, with_notes: bool, progress: &Progress) -> Result<Snapshot, Failure> {
    match database {
        Database::Sqlite(store) => of_file(store, with_notes, progress).await,
        Database::Postgres(store) => Ok(of_server(&mut store.frozen().await?, with_notes, progress).await?),
    }
}

/// Reads all rows of a file; where others keep writing, from a copy that nobody writes to.
async fn of_file(store: &Arc<SqliteStore>, with_notes: bool, progress: &Progress) -> Result<Snapshot, Failure> {
    let engine = Engine::new(Arc::clone(store) as Arc<dyn Store>);
    for _ in 0..TRIES {
        if let Some(snapshot) = Snapshot::attempt(&engine, with_notes, |rows| progress.at(rows)).await? {
            return Ok(snapshot);
        }
    }
    let copy = Copy(std::env::temp_dir().join(format!("docket-{}.db", uuid::Uuid::new_v4())));
    store.backup_to(&copy.0).await?;
    let quiet = open(SqliteOptions::new(&copy.0).read_only(true)).await?;
    let engine = Engine::new(Arc::clone(&quiet) as Arc<dyn Store>);
    let snapshot = Snapshot::take(&engine, with_notes).await;
    quiet.close().await;
    Ok(snapshot?)
}

/// Reads all rows of a server's database, which stands still for us while others write.
async fn of_server(frozen: &mut Frozen, with_notes: bool, progress: &Progress) -> Result<Snapshot, StoreError> {
    let mut snapshot = Snapshot { projects: frozen.projects().await?, ..Snapshot::default() };
    for table in Snapshot::tables(with_notes) {
        let mut after = None;
        loop {
            let page = frozen.scan(table, after).await?;
            snapshot.add(page.rows);
            progress.at(snapshot.counts().rows());
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
        for file in files_of(&self.0) {
            // What is not there need not go.
            _ = std::fs::remove_file(file);
        }
    }
}
