//! Docket's rows in one SQLite file: many readers, one writer, units of work that share a commit.
//!
//! The crate implements [`docket_core::store::Store`] and holds no rule. Several processes may serve the same file: what
//! one commits, the others see, and SQLite's own lock settles who writes next. See `migrations/sqlite` for the schema.

mod admin;
mod cells;
mod context;
mod disk;
mod error;
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
    ChildTally, ClaimTally, EventFilter, Filter, Found, ProjectRef, RunFilter, ScanPage, ScanTable, Scope,
    SessionFilter, Slice, Store, StoreError, Unit, Visible,
};

pub use admin::verify_backup;
pub use disk::network;
pub use options::{Durability, SqliteOptions};

use context::Context;
use disk::Disk;
use original::Original;
use place::in_place;
use pool::{Connector, Link, Pool};
use script::Script;
use watch::Watch;
use writer::{Around, Writer};

/// A SQLite file as a store. Must be opened and used inside a Tokio runtime.
///
/// Dropping it lets the writer finish what is queued, as long as the runtime lives; [`SqliteStore::close`] waits for that.
#[derive(Debug)]
pub struct SqliteStore {
    connector: Arc<Connector>,
    context: Arc<Context>,
    original: Arc<Original>,
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
        let original = Arc::new(Original::of(&connector.options.path));
        let pool = Pool::new(Arc::clone(&connector), Arc::clone(&original));
        pool.adopt(first);
        let watch = Arc::new(Watch::new(Arc::clone(&original)));
        let disk = Arc::new(Disk::new(connector.options.path.clone(), connector.options.reserve));
        let around = Around { original: Arc::clone(&original), watch: Arc::clone(&watch), disk: Arc::clone(&disk) };
        let writer = Writer::start(Arc::clone(&connector), Arc::clone(&context), around)?;
        Ok(Self { connector, context, original, pool, watch, disk, writer })
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

    /// Returns when the disk did not keep what was written. Nothing more is written then: the process should end, and what it
    /// acknowledged before be looked at anew.
    pub async fn lost(&self) {
        self.disk.lost().await;
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

#[async_trait]
impl Store for SqliteStore {
    async fn execute(&self, unit: Box<dyn Unit>) -> Result<(), StoreError> {
        self.writer.execute(unit).await
    }

    async fn view(&self, scope: &Scope) -> Result<Slice, StoreError> {
        let quick = read::is_quick(scope);
        let load = |link: &mut Link| Ok(read::load(link, &self.context, scope, &Script::default())?);
        if quick
            && self.original.is_in_place()
            && let Some(mut link) = self.writer.idle()
            && let Ok(slice) = load(&mut link)
        {
            return Ok(slice);
        }
        let mut lease = self.pool.lease().await?;
        if quick { load(&mut lease) } else { in_place(|| load(&mut lease)) }
    }

    async fn find(&self, filter: &Filter) -> Result<Found, StoreError> {
        let mut lease = self.pool.lease().await?;
        in_place(|| read::find(&mut lease, &self.context, filter))
    }

    async fn tally_children(&self, parents: &[ItemId]) -> Result<BTreeMap<ItemId, ChildTally>, StoreError> {
        let mut lease = self.pool.lease().await?;
        in_place(|| read::tally_children(&mut lease, &self.context, parents))
    }

    async fn tally_claims(&self, project: &ProjectRef, visible: &Visible) -> Result<ClaimTally, StoreError> {
        let mut lease = self.pool.lease().await?;
        in_place(|| read::tally_claims(&mut lease, &self.context, project, visible))
    }

    async fn next_expiry(&self, project: &ProjectRef, visible: &Visible) -> Result<Option<Duration>, StoreError> {
        let mut lease = self.pool.lease().await?;
        in_place(|| read::next_expiry(&mut lease, &self.context, project, visible))
    }

    async fn notes(&self, ids: &[NoteId], visible: &Visible) -> Result<Vec<Note>, StoreError> {
        let mut lease = self.pool.lease().await?;
        in_place(|| read::notes_by_id(&mut lease, ids, visible))
    }

    async fn events(&self, filter: &EventFilter) -> Result<Vec<Event>, StoreError> {
        let mut lease = self.pool.lease().await?;
        in_place(|| read::read_events(&mut lease, filter))
    }

    async fn sessions(&self, filter: &SessionFilter) -> Result<Vec<SessionId>, StoreError> {
        let mut lease = self.pool.lease().await?;
        in_place(|| read::find_sessions(&mut lease, filter))
    }

    async fn runs(&self, filter: &RunFilter) -> Result<Vec<Run>, StoreError> {
        let mut lease = self.pool.lease().await?;
        in_place(|| read::read_runs(&mut lease, filter))
    }

    async fn run_log(&self, run: RunId, visible: &Visible) -> Result<Option<String>, StoreError> {
        let mut lease = self.pool.lease().await?;
        in_place(|| read::read_log(&mut lease, run, visible))
    }

    async fn head(&self) -> Result<u64, StoreError> {
        self.watch.look(&self.pool).await
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
        let mut lease = self.pool.lease().await?;
        in_place(|| read::all_projects(&mut lease))
    }

    async fn scan(&self, table: ScanTable, after: Option<String>) -> Result<ScanPage, StoreError> {
        let mut lease = self.pool.lease().await?;
        in_place(|| read::scan(&mut lease, table, after.as_deref()))
    }

    fn asked(&self) -> u64 {
        self.scripts()
    }
}
