//! Docket's rows in one SQLite file: many readers, one writer, units of work that share a commit.
//!
//! The crate implements [`docket_core::store::Store`] and holds no rule. Several processes may serve the same file: what
//! one commits, the others see, and SQLite's own lock settles who writes next. See `migrations/sqlite` for the schema.

mod admin;
mod cells;
mod context;
mod disk;
mod error;
pub mod files;
mod journal;
mod library;
mod log;
mod migrate;
mod options;
mod original;
mod place;
#[cfg(feature = "plant")]
mod plant;
mod pool;
mod queue;
mod read;
mod row;
mod script;
#[cfg(feature = "testing")]
pub mod testing;
mod watch;
mod write;
mod writer;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use async_trait::async_trait;
use docket_core::model::{Event, ItemId, Note, NoteId, Project, Run, RunId, SessionId};
use docket_core::store::{
    ChildTally, ClaimTally, EventFilter, Families, Filter, Found, Heads, ProjectRef, RunFilter, ScanPage, ScanTable,
    Scope, SessionFilter, Slice, Store, StoreError, Unit, Visible,
};

pub use admin::verify_backup;
pub use disk::network;
pub use options::{Durability, SqliteOptions};

use context::Context;
use disk::Disk;
use place::{has_threads, in_place};
use pool::{Connector, Link, Pool};
use script::Script;
use watch::Watch;
use writer::{Around, Writer};

/// Why a store is of no use any more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lost {
    /// The disk did not keep what was written: the process should end, and what it acknowledged before be looked at anew.
    Disk,
    /// Another file is in the place of the one that was opened, or none, and somebody asked for it.
    Replaced,
}

/// A SQLite file as a store. Must be opened and used inside a Tokio runtime.
///
/// Dropping it lets the writer finish what is queued, as long as the runtime lives; [`SqliteStore::close`] waits for that.
#[derive(Debug)]
pub struct SqliteStore {
    connector: Arc<Connector>,
    context: Arc<Context>,
    pool: Pool,
    watch: Arc<Watch>,
    disk: Arc<Disk>,
    writer: Writer,
}

impl SqliteStore {
    /// Opens a database file, brings it to the newest schema, and starts the writer. One connection is opened; the
    /// others follow when they are needed.
    pub async fn open(options: SqliteOptions) -> Result<Self, StoreError> {
        #[cfg(feature = "plant")]
        plant::follow_clock_file(Arc::clone(&options.clock_skew));
        let context = Arc::new(Context::new(Arc::clone(&options.clock_skew)));
        let connector = Arc::new(Connector::new(options));
        let first = migrate::open(&connector).await?;
        let pool = Pool::new(Arc::clone(&connector));
        pool.adopt(first);
        let watch = Arc::new(Watch::new(Arc::clone(&connector)));
        let disk = Arc::new(Disk::new(connector.options.path.clone(), connector.options.reserve));
        let around = Around { watch: Arc::clone(&watch), disk: Arc::clone(&disk) };
        let writer = Writer::start(Arc::clone(&connector), Arc::clone(&context), around)?;
        Ok(Self { connector, context, pool, watch, disk, writer })
    }

    /// The same, but for what is only to be read and has an older schema: it is brought to the newest one first, for which it has
    /// to be written once.
    pub async fn open_newest(options: SqliteOptions) -> Result<Self, StoreError> {
        match Self::open(options.clone()).await {
            Err(StoreError::ReadOnly(_)) if options.read_only => {
                Self::open(options.clone().read_only(false).create(false)).await?.close().await;
                Self::open(options).await
            }
            opened => opened,
        }
    }

    /// Finishes what is queued and closes the file. Later calls fail.
    pub async fn close(&self) {
        self.writer.stop().await;
        self.pool.close();
    }

    /// Returns when nothing can be read or written any more, until the process is started again.
    pub async fn lost(&self) -> Lost {
        tokio::select! {
            () = self.disk.lost() => Lost::Disk,
            () = self.connector.replaced() => Lost::Replaced,
        }
    }

    /// How many statements this store has prepared, or found prepared. One that is run for several rows counts once.
    pub fn statements(&self) -> u64 {
        self.connector.counters.statements.load(Ordering::Relaxed)
    }

    /// How many scripts those were: a read is one, a write two.
    pub fn scripts(&self) -> u64 {
        self.connector.counters.scripts.load(Ordering::Relaxed)
    }

    /// How many commits the writer has made.
    pub fn commits(&self) -> u64 {
        self.connector.counters.commits.load(Ordering::Relaxed)
    }
}

impl SqliteStore {
    /// A quick look: by the writer's connection, where that is idle. It still knows the pages of its own last commits.
    async fn glance<T>(&self, look: impl Fn(&mut Link) -> Result<T, StoreError>) -> Result<T, StoreError> {
        if self.connector.is_in_place()
            && let Some(mut link) = self.writer.idle()
            && let Ok(found) = look(&mut link)
        {
            return Ok(found);
        }
        look(&mut *self.pool.lease().await?)
    }

    /// A look that may take long: by a connection of the readers, so that the writer can go on meanwhile. Where there is one thread
    /// it could not in any case.
    async fn look<T>(&self, look: impl Fn(&mut Link) -> Result<T, StoreError>) -> Result<T, StoreError> {
        if !has_threads() {
            return self.glance(look).await;
        }
        let mut lease = self.pool.lease().await?;
        in_place(|| look(&mut lease))
    }
}

#[async_trait]
impl Store for SqliteStore {
    async fn execute(&self, unit: Box<dyn Unit>) -> Result<(), StoreError> {
        self.writer.execute(unit).await
    }

    async fn view(&self, scope: &Scope) -> Result<Slice, StoreError> {
        let load = |link: &mut Link| Ok(read::load(link, &self.context, scope, &Script::default())?);
        if read::is_quick(scope) { self.glance(load).await } else { self.look(load).await }
    }

    async fn find(&self, filter: &Filter) -> Result<Found, StoreError> {
        self.look(|link| read::find(link, &self.context, filter)).await
    }

    async fn tally_children(
        &self,
        parents: &[ItemId],
        most: Option<u64>,
    ) -> Result<BTreeMap<ItemId, ChildTally>, StoreError> {
        self.look(|link| read::tally_children(link, &self.context, parents, most)).await
    }

    async fn families(&self, of: &Heads, children: usize) -> Result<Families, StoreError> {
        self.look(|link| read::families(link, &self.context, of, children)).await
    }

    async fn tally_claims(&self, project: &ProjectRef, visible: &Visible) -> Result<ClaimTally, StoreError> {
        self.look(|link| read::tally_claims(link, &self.context, project, visible)).await
    }

    async fn next_expiry(&self, project: &ProjectRef, visible: &Visible) -> Result<Option<Duration>, StoreError> {
        self.look(|link| read::next_expiry(link, &self.context, project, visible)).await
    }

    async fn notes(&self, ids: &[NoteId], visible: &Visible) -> Result<Vec<Note>, StoreError> {
        self.look(|link| read::notes_by_id(link, ids, visible)).await
    }

    async fn events(&self, filter: &EventFilter) -> Result<Vec<Event>, StoreError> {
        self.look(|link| read::read_events(link, filter)).await
    }

    async fn sessions(&self, filter: &SessionFilter) -> Result<Vec<SessionId>, StoreError> {
        self.look(|link| read::find_sessions(link, filter)).await
    }

    async fn runs(&self, filter: &RunFilter) -> Result<Vec<Run>, StoreError> {
        self.look(|link| read::read_runs(link, filter)).await
    }

    async fn run_log(&self, run: RunId, visible: &Visible) -> Result<Option<String>, StoreError> {
        self.look(|link| read::read_log(link, run, visible)).await
    }

    async fn head(&self) -> Result<u64, StoreError> {
        self.watch.look(&self.pool).await
    }

    async fn last_number(&self) -> Result<Option<u64>, StoreError> {
        // Numbers are given by whoever writes, and there is one at a time: nobody heard of another.
        self.head().await.map(Some)
    }

    async fn ready(&self) -> Result<(), StoreError> {
        self.head().await?;
        self.disk.ready()
    }

    async fn changed(&self, after: u64) -> Result<u64, StoreError> {
        self.watch.changed(&self.pool, after).await
    }

    fn keys_mark(&self) -> Option<u64> {
        self.commit_mark()
    }

    fn commit_mark(&self) -> Option<u64> {
        self.watch.mark()
    }

    async fn projects(&self) -> Result<Vec<Project>, StoreError> {
        self.look(read::all_projects).await
    }

    async fn scan(&self, table: ScanTable, after: Option<String>) -> Result<ScanPage, StoreError> {
        self.look(|link| read::scan(link, table, after.as_deref())).await
    }

    fn asked(&self) -> u64 {
        self.scripts()
    }
}
