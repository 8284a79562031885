//! Docket's rows in a Postgres database: many processes, row locks, work that is skipped where others hold it.
//!
//! The crate implements [`docket_core::store::Store`] and holds no rule. Any number of processes may serve one database.
//! See `migrations/postgres` for the schema, and `docs/adr/0008-turns-on-postgres.md` for how writers keep out of each
//! other's way.

mod admin;
mod context;
mod error;
mod library;
mod migrate;
mod options;
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

pub use admin::Frozen;
pub use options::PostgresOptions;

use context::Context;
use pool::{Connector, Lease, Patience, Pool};
use watch::Watch;
use writer::Writer;

/// A Postgres database as a store. Must be opened and used inside a Tokio runtime.
///
/// Units of work that run when it is dropped run to their end, as long as the runtime lives; [`PostgresStore::close`] waits
/// for that.
#[derive(Debug)]
pub struct PostgresStore {
    connector: Arc<Connector>,
    context: Arc<Context>,
    pool: Arc<Pool>,
    watch: Arc<Watch>,
    writer: Arc<Writer>,
}

impl PostgresStore {
    /// Opens a database and brings it to the newest schema. One connection is opened; the others follow when they are
    /// needed.
    pub async fn open(options: PostgresOptions) -> Result<Self, StoreError> {
        #[cfg(feature = "plant")]
        plant::follow_clock_file(Arc::clone(&options.clock_skew));
        let context = Arc::new(Context::new(Arc::clone(&options.clock_skew)));
        let readers = options.readers;
        let connector = Arc::new(Connector::new(options));
        let first = migrate::open(&connector).await?;
        let wait = options::READER_WAIT;
        let patience = Patience { standstill: wait, moving: Duration::MAX, longest: wait };
        let pool = Arc::new(Pool::new(Arc::clone(&connector), readers, patience));
        pool.adopt(first);
        let watch = Watch::start(Arc::clone(&connector), Arc::clone(&pool));
        let writer = Arc::new(Writer::new(Arc::clone(&connector), Arc::clone(&context), Arc::clone(&watch)));
        Ok(Self { connector, context, pool, watch, writer })
    }

    /// The same, but for what is only to be read and has an older schema: it is brought to the newest one first, for which it has
    /// to be written once.
    pub async fn open_newest(options: PostgresOptions) -> Result<Self, StoreError> {
        match Self::open(options.clone()).await {
            Err(StoreError::ReadOnly(_)) if options.read_only => {
                Self::open(options.clone().read_only(false).create(false)).await?.close().await;
                Self::open(options).await
            }
            opened => opened,
        }
    }

    /// Finishes what runs and closes all connections. Later calls fail.
    pub async fn close(&self) {
        self.writer.stop().await;
        self.watch.finish().await;
        self.pool.close().await;
    }

    /// How many round trips to the server this store has made.
    pub fn round_trips(&self) -> u64 {
        self.connector.counters.round_trips.load(Ordering::Relaxed)
    }

    /// How many units of work this store has committed.
    pub fn commits(&self) -> u64 {
        self.connector.counters.commits.load(Ordering::Relaxed)
    }

    /// How many units of work had to be decided again because another was quicker.
    pub fn retries(&self) -> u64 {
        self.connector.counters.retries.load(Ordering::Relaxed)
    }

    /// A connection for one read; turned away when none becomes free in time.
    async fn lease(&self) -> Result<Lease, StoreError> {
        self.pool.lease().await?.ok_or(StoreError::Overloaded)
    }

    /// Asks one question.
    async fn ask<T: serde::de::DeserializeOwned>(&self, script: script::Script) -> Result<T, StoreError> {
        Ok(self.lease().await?.ask(script).await?)
    }
}

impl Drop for PostgresStore {
    fn drop(&mut self) {
        self.watch.stop();
    }
}

#[async_trait]
impl Store for PostgresStore {
    async fn execute(&self, unit: Box<dyn Unit>) -> Result<(), StoreError> {
        self.writer.execute(unit).await
    }

    async fn view(&self, scope: &Scope) -> Result<Slice, StoreError> {
        Ok(read::load(&mut *self.lease().await?, &self.context, scope, None).await?)
    }

    async fn find(&self, filter: &Filter) -> Result<Found, StoreError> {
        read::find(&mut *self.lease().await?, &self.context, filter).await
    }

    async fn tally_children(
        &self,
        parents: &[ItemId],
        most: Option<u64>,
    ) -> Result<BTreeMap<ItemId, ChildTally>, StoreError> {
        read::tally_children(&mut *self.lease().await?, &self.context, parents, most).await
    }

    async fn families(&self, of: &Heads, children: usize) -> Result<Families, StoreError> {
        read::families(&mut *self.lease().await?, &self.context, of, children).await
    }

    async fn tally_claims(&self, project: &ProjectRef, visible: &Visible) -> Result<ClaimTally, StoreError> {
        read::tally_claims(&mut *self.lease().await?, &self.context, project, visible).await
    }

    async fn next_expiry(&self, project: &ProjectRef, visible: &Visible) -> Result<Option<Duration>, StoreError> {
        read::next_expiry(&mut *self.lease().await?, &self.context, project, visible).await
    }

    async fn notes(&self, ids: &[NoteId], visible: &Visible) -> Result<Vec<Note>, StoreError> {
        read::notes_by_id(&mut *self.lease().await?, ids, visible).await
    }

    async fn events(&self, filter: &EventFilter) -> Result<Vec<Event>, StoreError> {
        read::read_events(&mut *self.lease().await?, filter).await
    }

    async fn sessions(&self, filter: &SessionFilter) -> Result<Vec<SessionId>, StoreError> {
        read::find_sessions(&mut *self.lease().await?, filter).await
    }

    async fn runs(&self, filter: &RunFilter) -> Result<Vec<Run>, StoreError> {
        read::read_runs(&mut *self.lease().await?, filter).await
    }

    async fn run_log(&self, run: RunId, visible: &Visible) -> Result<Option<String>, StoreError> {
        read::read_log(&mut *self.lease().await?, run, visible).await
    }

    async fn head(&self) -> Result<u64, StoreError> {
        Ok(self.watch.look().await?.number)
    }

    async fn last_number(&self) -> Result<Option<u64>, StoreError> {
        let mut script = script::Script::default();
        // Transactions that are under way have taken theirs.
        script.set(
            "SELECT json_build_array(pg_is_in_recovery(), CASE WHEN is_called THEN last_value ELSE 0 END)::text FROM events_seq"
                .to_owned(),
        );
        let (standby, last): (bool, u64) = self.ask(script).await?;
        Ok((!standby).then_some(last))
    }

    async fn ready(&self) -> Result<(), StoreError> {
        let mut script = script::Script::default();
        // Not the transaction's own setting: behind a pooler our reads are transactions that only read.
        script.set(
            "SELECT (pg_is_in_recovery() OR current_setting('default_transaction_read_only')::boolean)::text"
                .to_owned(),
        );
        let takes_no_writes: bool = self.ask(script).await?;
        if takes_no_writes { Err(StoreError::Standby(None)) } else { Ok(()) }
    }

    async fn changed(&self, after: u64) -> Result<u64, StoreError> {
        self.watch.changed(after).await
    }

    fn keys_mark(&self) -> Option<u64> {
        self.watch.keys_mark()
    }

    async fn projects(&self) -> Result<Vec<Project>, StoreError> {
        read::all_projects(&mut *self.lease().await?).await
    }

    async fn scan(&self, table: ScanTable, after: Option<String>) -> Result<ScanPage, StoreError> {
        read::scan(&mut *self.lease().await?, table, after.as_deref()).await
    }

    fn asked(&self) -> u64 {
        self.round_trips()
    }
}
