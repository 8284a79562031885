//! Connections: how one is opened, and the few that readers share.
//!
//! The pool never looks whether a connection is alive, because a file has no peer that could be gone. What it does look
//! at is whether the last use of a connection ran to its end: one that was left half-way (its caller went away, or a
//! statement failed inside a transaction) is thrown away, since nobody knows what it still has open.

use std::num::NonZero;
use std::ops::{Deref, DerefMut};
use std::path::PathBuf;
use std::pin::pin;
use std::sync::atomic::{AtomicU8, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};

use docket_core::store::StoreError;
use serde::de::DeserializeOwned;
use sqlx::sqlite::{SqliteConnectOptions, SqliteConnection, SqliteRow};
use sqlx::{AssertSqlSafe, ConnectOptions, Row};
use tokio::sync::{Semaphore, SemaphorePermit};

use crate::error::{Trouble, corrupt, failed, store_error};
use crate::options::{self, SqliteOptions};
use crate::script::Script;

/// What this process has asked of the database.
#[derive(Debug, Default)]
pub(crate) struct Counters {
    pub(crate) statements: AtomicU64,
    pub(crate) round_trips: AtomicU64,
    pub(crate) commits: AtomicU64,
}

/// What the file lets us do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Access {
    /// Read and write, as far as the file system allows.
    Write,
    /// Read.
    Read,
    /// Read a file beside which no log can be made, in a folder that cannot be written.
    Frozen,
}

/// Opens connections to one file.
#[derive(Debug)]
pub(crate) struct Connector {
    pub(crate) options: SqliteOptions,
    pub(crate) counters: Counters,
    access: AtomicU8,
    /// How long an answer is waited for without going to sleep.
    awake: Duration,
}

impl Connector {
    pub(crate) fn new(options: SqliteOptions) -> Self {
        let access = if options.read_only { Access::Read } else { Access::Write };
        // On a single processor whoever waits awake keeps the other from working.
        let processors = std::thread::available_parallelism().map_or(1, NonZero::get);
        let awake = if processors > 1 { options::AWAKE } else { Duration::ZERO };
        Self { options, counters: Counters::default(), access: AtomicU8::new(access as u8), awake }
    }

    pub(crate) fn access(&self) -> Access {
        match self.access.load(Ordering::Relaxed) {
            access if access == Access::Write as u8 => Access::Write,
            access if access == Access::Read as u8 => Access::Read,
            _ => Access::Frozen,
        }
    }

    pub(crate) fn set_access(&self, access: Access) {
        self.access.store(access as u8, Ordering::Relaxed);
    }

    /// Whether there is a log beside the database that holds anything.
    pub(crate) fn has_log(&self) -> bool {
        let mut log = self.options.path.clone().into_os_string();
        log.push("-wal");
        std::fs::metadata(PathBuf::from(log)).is_ok_and(|log| log.len() > 0)
    }

    /// A connection that waits for locks as long as the options say.
    pub(crate) async fn connect(self: &Arc<Self>, create: bool) -> Result<Link, sqlx::Error> {
        self.connect_waiting(create, self.options.busy_timeout).await
    }

    /// A connection that is told at once when somebody else holds the lock.
    pub(crate) async fn connect_impatient(self: &Arc<Self>) -> Result<Link, sqlx::Error> {
        self.connect_waiting(false, Duration::ZERO).await
    }

    async fn connect_waiting(self: &Arc<Self>, create: bool, patience: Duration) -> Result<Link, sqlx::Error> {
        let access = self.access();
        let connection = SqliteConnectOptions::new()
            .filename(&self.options.path)
            .create_if_missing(create)
            .read_only(access != Access::Write)
            .immutable(access == Access::Frozen)
            .busy_timeout(patience)
            .statement_cache_capacity(options::PREPARED_SCRIPTS)
            .row_buffer_size(options::ROWS_AHEAD)
            .foreign_keys(true)
            .pragma("synchronous", self.options.durability.pragma())
            .pragma("temp_store", "MEMORY")
            .pragma("cache_size", format!("-{}", options::CACHE_KIB))
            .pragma("wal_autocheckpoint", options::CHECKPOINT_PAGES.to_string())
            .thread_name(|number| format!("docket-sqlite-{number}"))
            .disable_statement_logging()
            .connect()
            .await?;
        Ok(Link { connection, connector: Arc::clone(self), whole: true })
    }
}

/// One connection.
#[derive(Debug)]
pub(crate) struct Link {
    connection: SqliteConnection,
    connector: Arc<Connector>,
    /// Whether its last use ran to its end: otherwise nobody knows what it still has open.
    pub(crate) whole: bool,
}

impl Link {
    /// Runs all statements of a script in one round trip and returns the rows of all. After an error, later statements
    /// have not run and a transaction may be open.
    pub(crate) async fn run(&mut self, script: Script) -> Result<Vec<SqliteRow>, sqlx::Error> {
        self.count(&script);
        let (sql, arguments) = script.into_parts()?;
        // False until the answer is here: also when this future is dropped before.
        self.whole = false;
        let query = sqlx::query_with(AssertSqlSafe(sql), arguments);
        let rows = soon(self.connector.awake, query.fetch_all(&mut self.connection)).await?;
        self.whole = true;
        Ok(rows)
    }

    /// Runs a script whose last statement, and no other, returns a row: one JSON text. Reads that.
    pub(crate) async fn ask<T: DeserializeOwned>(&mut self, script: Script) -> Result<T, Trouble> {
        self.count(&script);
        let (sql, arguments) = script.into_parts().map_err(Trouble::Sql)?;
        self.whole = false;
        // Asked for the first row alone, the connection ends the statement and then hands the row over: one message. Asked
        // for all, it hands the row over and then says that there are no more: two, and we would be woken for each.
        let query = sqlx::query_with(AssertSqlSafe(sql), arguments);
        let row = soon(self.connector.awake, query.fetch_optional(&mut self.connection)).await.map_err(Trouble::Sql)?;
        self.whole = true;
        let row = row.ok_or_else(|| Trouble::Rows(corrupt("a question was not answered")))?;
        let text: &str = row.try_get_unchecked(0).map_err(Trouble::Sql)?;
        serde_json::from_str(text).map_err(|error| Trouble::Rows(StoreError::Corrupt(Some(error.into()))))
    }

    fn count(&self, script: &Script) {
        let counters = &self.connector.counters;
        counters.round_trips.fetch_add(1, Ordering::Relaxed);
        counters.statements.fetch_add(script.statements(), Ordering::Relaxed);
    }

    /// Closes the file and waits for it.
    pub(crate) async fn close(self) {
        if let Err(error) = sqlx::Connection::close(self.connection).await {
            tracing::debug!(error = &error as &dyn std::error::Error, "a connection did not close cleanly");
        }
    }
}

/// Waits for an answer from the thread of a connection, at first without going to sleep.
///
/// Most answers are there after some ten microseconds, and to be woken takes about as long again. While it waits, this
/// thread gives way to every other that could run, and the runtime to every other task.
async fn soon<T>(awake: Duration, answer: impl Future<Output = T>) -> T {
    let mut answer = pin!(answer);
    let begun = Instant::now();
    while begun.elapsed() < awake {
        // Nobody need be woken: that would cost the other thread more than its work does.
        if let Poll::Ready(answer) = answer.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
            return answer;
        }
        std::thread::yield_now();
        tokio::task::yield_now().await;
    }
    answer.await
}

/// The connections that readers share.
#[derive(Debug)]
pub(crate) struct Pool {
    connector: Arc<Connector>,
    permits: Semaphore,
    idle: Mutex<Vec<Link>>,
}

impl Pool {
    pub(crate) fn new(connector: Arc<Connector>) -> Self {
        let permits = Semaphore::new(connector.options.readers.max(1));
        Self { connector, permits, idle: Mutex::new(Vec::new()) }
    }

    /// Takes in a connection that was opened for something else.
    pub(crate) fn adopt(&self, link: Link) {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner).push(link);
    }

    /// A connection for one read; turned away when none becomes free in time.
    pub(crate) async fn lease(&self) -> Result<Lease<'_>, StoreError> {
        let permit = match tokio::time::timeout(options::READER_WAIT, self.permits.acquire()).await {
            Ok(Ok(permit)) => permit,
            Ok(Err(_)) => return Err(failed("the store is closed")),
            Err(_) => return Err(StoreError::Overloaded),
        };
        let idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner).pop();
        let link = match idle {
            Some(link) => link,
            None => self.connector.connect(false).await.map_err(store_error)?,
        };
        Ok(Lease { pool: self, link: Some(link), _permit: permit })
    }

    /// Turns new reads away and closes what is idle.
    pub(crate) async fn close(&self) {
        self.permits.close();
        let idle = std::mem::take(&mut *self.idle.lock().unwrap_or_else(PoisonError::into_inner));
        for link in idle {
            link.close().await;
        }
    }
}

/// A connection on loan.
pub(crate) struct Lease<'p> {
    pool: &'p Pool,
    link: Option<Link>,
    _permit: SemaphorePermit<'p>,
}

impl Deref for Lease<'_> {
    type Target = Link;

    fn deref(&self) -> &Link {
        self.link.as_ref().unwrap_or_else(|| unreachable!("a lease holds its connection until it is dropped"))
    }
}

impl DerefMut for Lease<'_> {
    fn deref_mut(&mut self) -> &mut Link {
        self.link.as_mut().unwrap_or_else(|| unreachable!("a lease holds its connection until it is dropped"))
    }
}

impl Drop for Lease<'_> {
    fn drop(&mut self) {
        if let Some(link) = self.link.take().filter(|link| link.whole) {
            self.pool.adopt(link);
        }
    }
}
