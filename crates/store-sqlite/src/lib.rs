//! Docket's rows in one SQLite file: many readers, one writer, units of work that share a commit.
//!
//! The crate implements [`docket_core::store::Store`] and holds no rule. Several processes may serve the same file: what
//! one commits, the others see, and SQLite's own lock settles who writes next. See `migrations/sqlite` for the schema.

mod admin;
mod context;
mod error;
mod migrate;
mod options;
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

use async_trait::async_trait;
use docket_core::model::{Event, ItemId, Note, NoteId, Project};
use docket_core::store::{
    ChildTally, ClaimTally, EventFilter, Filter, Found, ProjectRef, ScanPage, ScanTable, Scope, Slice, Store,
    StoreError, Unit, Visible,
};

pub use admin::verify_backup;
pub use options::{Durability, SqliteOptions};

use context::Context;
use pool::{Connector, Pool};
use watch::Watch;
use writer::Writer;

/// A SQLite file as a store. Must be opened and used inside a Tokio runtime.
///
/// Dropping it lets the writer finish what is queued, as long as the runtime lives; [`SqliteStore::close`] waits for that.
#[derive(Debug)]
pub struct SqliteStore {
    connector: Arc<Connector>,
    context: Arc<Context>,
    pool: Pool,
    watch: Arc<Watch>,
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
        let watch = Arc::new(Watch::new());
        let writer = Writer::start(Arc::clone(&connector), Arc::clone(&context), Arc::clone(&watch));
        Ok(Self { connector, context, pool, watch, writer })
    }

    /// Finishes what is queued and closes the file. Later calls fail.
    pub async fn close(&self) {
        self.writer.stop().await;
        self.pool.close().await;
    }

    /// How many statements this store has sent to SQLite.
    pub fn statements(&self) -> u64 {
        self.connector.counters.statements.load(Ordering::Relaxed)
    }

    /// How many round trips to SQLite those took.
    pub fn round_trips(&self) -> u64 {
        self.connector.counters.round_trips.load(Ordering::Relaxed)
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
        if read::is_quick(scope)
            && let Some(mut link) = self.writer.idle()
            && let Ok(slice) = read::load(&mut link, &self.context, scope, script::Script::default()).await
        {
            return Ok(slice);
        }
        let mut lease = self.pool.lease().await?;
        Ok(read::load(&mut lease, &self.context, scope, script::Script::default()).await?)
    }

    async fn find(&self, filter: &Filter) -> Result<Found, StoreError> {
        read::find(&mut *self.pool.lease().await?, &self.context, filter).await
    }

    async fn tally_children(&self, parents: &[ItemId]) -> Result<BTreeMap<ItemId, ChildTally>, StoreError> {
        read::tally_children(&mut *self.pool.lease().await?, &self.context, parents).await
    }

    async fn tally_claims(&self, project: &ProjectRef, visible: &Visible) -> Result<ClaimTally, StoreError> {
        read::tally_claims(&mut *self.pool.lease().await?, &self.context, project, visible).await
    }

    async fn notes(&self, ids: &[NoteId], visible: &Visible) -> Result<Vec<Note>, StoreError> {
        read::notes_by_id(&mut *self.pool.lease().await?, ids, visible).await
    }

    async fn events(&self, filter: &EventFilter) -> Result<Vec<Event>, StoreError> {
        read::read_events(&mut *self.pool.lease().await?, filter).await
    }

    async fn head(&self) -> Result<u64, StoreError> {
        self.watch.look(&self.pool).await
    }

    async fn changed(&self, after: u64) -> Result<u64, StoreError> {
        self.watch.changed(&self.pool, after).await
    }

    async fn projects(&self) -> Result<Vec<Project>, StoreError> {
        read::all_projects(&mut *self.pool.lease().await?).await
    }

    async fn scan(&self, table: ScanTable, after: Option<String>) -> Result<ScanPage, StoreError> {
        read::scan(&mut *self.pool.lease().await?, table, after.as_deref()).await
    }
}
