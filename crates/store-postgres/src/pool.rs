//! Connections: how one is opened, and how readers and units of work share them.
//!
//! A connection is lent for one read or one unit of work. One whose last use did not run to its end (its caller went away,
//! or a transaction was left open) is thrown away, since nobody knows what it still has open. One that was idle for a
//! while is asked whether it lives, because servers and the routers on the way to them drop what is idle.

use std::ops::{Deref, DerefMut};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use docket_core::plant::{Bug, planted};
use docket_core::store::StoreError;
use serde::de::DeserializeOwned;
use sqlx::postgres::PgConnection;
use sqlx::{AssertSqlSafe, ConnectOptions, Row};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::error::{Trouble, corrupt, failed, is_lost, store_error};
use crate::options::{self, PostgresOptions};
use crate::script::Script;

/// What this process has asked of the database.
#[derive(Debug, Default)]
pub(crate) struct Counters {
    pub(crate) round_trips: AtomicU64,
    pub(crate) commits: AtomicU64,
    pub(crate) retries: AtomicU64,
}

/// Every statement has an index made for it, and how many rows it will meet is known to nobody: a planner that has counted
/// a table whose items nearly all have one parent would read it whole for each step of a walk.
const BY_INDEX: [(&str, &str); 2] = [("enable_seqscan", "off"), ("jit", "off")];

/// Opens connections to one database.
#[derive(Debug)]
pub(crate) struct Connector {
    pub(crate) options: PostgresOptions,
    pub(crate) counters: Counters,
}

impl Connector {
    pub(crate) fn new(options: PostgresOptions) -> Self {
        Self { options, counters: Counters::default() }
    }

    pub(crate) async fn connect(self: &Arc<Self>) -> Result<Link, sqlx::Error> {
        // Behind a pooler the statements of one connection may end up on another, which does not know them.
        let server = self.options.server.clone();
        let server = if self.options.pooled {
            server.statement_cache_capacity(0)
        } else {
            // To plan a statement takes longer than to run it, and its plan does not depend on its values.
            let settings = [("plan_cache_mode", "force_generic_plan")].into_iter().chain(BY_INDEX);
            server.statement_cache_capacity(options::PREPARED_STATEMENTS).options(settings)
        };
        let connection = tokio::time::timeout(options::CONNECT_WAIT, server.connect())
            .await
            .map_err(|_| sqlx::Error::PoolTimedOut)??;
        Ok(Link {
            connection,
            connector: Arc::clone(self),
            whole: true,
            in_transaction: false,
            fresh: true,
            patience: Some(self.options.answer_timeout),
            used: Instant::now(),
        })
    }
}

/// One connection.
#[derive(Debug)]
pub(crate) struct Link {
    connection: PgConnection,
    connector: Arc<Connector>,
    whole: bool,
    in_transaction: bool,
    /// Whether it has not been used yet: what goes wrong then is not that it was idle for too long.
    fresh: bool,
    /// How long an answer may take; as long as it does while tables are made, changed or cleaned up.
    pub(crate) patience: Option<Duration>,
    used: Instant,
}

impl Link {
    /// Begins a transaction; what follows may hold several statements without values.
    pub(crate) async fn begin(&mut self, statements: &str) -> Result<(), sqlx::Error> {
        // Stays so until the transaction has ended: a connection that is given back before is thrown away.
        self.in_transaction = true;
        // A pooler takes no settings with a connection, and one that is set may serve somebody else next.
        let settings = if self.connector.options.pooled {
            BY_INDEX.map(|(name, value)| format!("; SET LOCAL {name} = {value}")).concat()
        } else {
            String::new()
        };
        self.send(&format!("BEGIN ISOLATION LEVEL READ COMMITTED{statements}{settings}")).await
    }

    /// Begins to see the database as it is at this moment. The connection is thrown away when it is given back.
    pub(crate) async fn freeze(&mut self) -> Result<(), sqlx::Error> {
        self.in_transaction = true;
        self.send("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY").await
    }

    /// Ends the transaction.
    pub(crate) async fn commit(&mut self) -> Result<(), sqlx::Error> {
        self.send("COMMIT").await?;
        self.in_transaction = false;
        Ok(())
    }

    /// Undoes the transaction.
    pub(crate) async fn rollback(&mut self) -> Result<(), sqlx::Error> {
        self.send("ROLLBACK").await?;
        self.in_transaction = false;
        Ok(())
    }

    /// Runs statements without values, in one round trip.
    pub(crate) async fn send(&mut self, statements: &str) -> Result<(), sqlx::Error> {
        self.count();
        self.whole = false;
        let sent = sqlx::raw_sql(AssertSqlSafe(statements.to_owned()));
        in_time(self.patience, sqlx::Executor::execute(&mut self.connection, sent)).await?;
        self.whole = true;
        Ok(())
    }

    /// Runs a statement that returns one row: one JSON text. Reads that. Outside a transaction it is asked once more where
    /// the connection turns out to have been idle for too long.
    pub(crate) async fn ask<T: DeserializeOwned>(&mut self, script: Script) -> Result<T, Trouble> {
        if self.fresh || self.in_transaction {
            return self.ask_once(script).await;
        }
        match self.ask_once(script.clone()).await {
            Err(Trouble::Sql(error)) if is_lost(&error) => {
                *self = self.connector.connect().await.map_err(Trouble::Sql)?;
                self.ask_once(script).await
            }
            answer => answer,
        }
    }

    async fn ask_once<T: DeserializeOwned>(&mut self, script: Script) -> Result<T, Trouble> {
        // A pooler may give each message another server unless they are in one transaction, and a statement is prepared by
        // one message and run by the next.
        let wrapped = self.connector.options.pooled && !self.in_transaction;
        if wrapped {
            self.begin(" READ ONLY").await.map_err(Trouble::Sql)?;
        }
        let answer = self.ask_here(script).await;
        if wrapped {
            self.rollback().await.map_err(Trouble::Sql)?;
        }
        answer
    }

    /// The same for a statement that does not only read, and needs no transaction of ours.
    pub(crate) async fn ask_writing<T: DeserializeOwned>(&mut self, script: Script) -> Result<T, Trouble> {
        let wrapped = self.connector.options.pooled && !self.in_transaction;
        if wrapped {
            self.begin("").await.map_err(Trouble::Sql)?;
        }
        let answer = self.ask_here(script).await;
        if wrapped {
            self.commit().await.map_err(Trouble::Sql)?;
        }
        answer
    }

    async fn ask_here<T: DeserializeOwned>(&mut self, script: Script) -> Result<T, Trouble> {
        self.count();
        let (sql, arguments) = script.into_parts().map_err(Trouble::Sql)?;
        // False until the answer is here: also when this future is dropped before.
        self.whole = false;
        let query = sqlx::query_with(AssertSqlSafe(sql), arguments).persistent(!self.connector.options.pooled);
        let answered = in_time(self.patience, query.fetch_optional(&mut self.connection)).await;
        // An error of the server's leaves the connection usable.
        self.whole = !answered.as_ref().is_err_and(is_lost);
        let row = answered.map_err(Trouble::Sql)?;
        let row = row.ok_or_else(|| Trouble::Rows(corrupt("a question was not answered")))?;
        let text: &str = row.try_get_unchecked(0).map_err(Trouble::Sql)?;
        serde_json::from_str(text).map_err(|error| Trouble::Rows(StoreError::Corrupt(Some(error.into()))))
    }

    /// Whether it still answers.
    async fn lives(&mut self) -> bool {
        tokio::time::timeout(options::LIFE_SIGN_WAIT, self.send("")).await.is_ok_and(|answered| answered.is_ok())
    }

    /// Whether an error may only mean that the connection was idle for too long.
    pub(crate) fn may_be_stale(&self, error: &sqlx::Error) -> bool {
        !self.fresh && is_lost(error)
    }

    fn count(&self) {
        self.connector.counters.round_trips.fetch_add(1, Ordering::Relaxed);
    }

    /// Closes the connection and waits for it.
    pub(crate) async fn close(self) {
        if let Err(error) = sqlx::Connection::close(self.connection).await {
            tracing::debug!(error = &error as &dyn std::error::Error, "a connection did not close cleanly");
        }
    }
}

/// An answer, unless it takes so long that the server must be away.
async fn in_time<T>(
    patience: Option<Duration>,
    answer: impl Future<Output = Result<T, sqlx::Error>>,
) -> Result<T, sqlx::Error> {
    let Some(patience) = patience else { return answer.await };
    let silent = || sqlx::Error::Io(std::io::Error::new(std::io::ErrorKind::TimedOut, "the server does not answer"));
    tokio::time::timeout(patience, answer).await.unwrap_or_else(|_| Err(silent()))
}

/// Connections that are lent, so many at a time.
#[derive(Debug)]
pub(crate) struct Pool {
    connector: Arc<Connector>,
    permits: Arc<Semaphore>,
    most: usize,
    patience: Duration,
    idle: Mutex<Vec<Link>>,
}

impl Pool {
    pub(crate) fn new(connector: Arc<Connector>, most: usize, patience: Duration) -> Self {
        let most = most.max(1);
        Self { connector, permits: Arc::new(Semaphore::new(most)), most, patience, idle: Mutex::new(Vec::new()) }
    }

    /// Takes in a connection that was opened for something else.
    pub(crate) fn adopt(&self, link: Link) {
        self.idle().push(Link { fresh: false, used: Instant::now(), ..link });
    }

    /// A connection; `None` when none becomes free in time.
    pub(crate) async fn lease(self: &Arc<Self>) -> Result<Option<Lease>, StoreError> {
        let permit = match tokio::time::timeout(self.patience, Arc::clone(&self.permits).acquire_owned()).await {
            Ok(Ok(permit)) => permit,
            Ok(Err(_)) => return Err(failed("the store is closed")),
            Err(_) => return Ok(None),
        };
        let link = match self.living().await {
            Some(link) => link,
            None => self.connector.connect().await.map_err(store_error)?,
        };
        Ok(Some(Lease { pool: Arc::clone(self), link: Some(link), _permit: permit }))
    }

    /// A connection that was used before, and lives.
    async fn living(&self) -> Option<Link> {
        loop {
            let mut link = self.idle().pop()?;
            if link.used.elapsed() < options::IDLE_TRUSTED || link.lives().await {
                return Some(link);
            }
            // One that is dead is seldom alone, and to ask each of them in vain would take its time.
            self.forget();
        }
    }

    /// Forgets what is idle: after the server went away, all of it is as good as dead.
    pub(crate) fn forget(&self) {
        self.idle().clear();
    }

    /// Turns new callers away, waits for those that are here, and closes what is idle.
    pub(crate) async fn close(&self) {
        let all = u32::try_from(self.most).unwrap_or(u32::MAX);
        if let Ok(permits) = self.permits.acquire_many(all).await {
            self.permits.close();
            drop(permits);
        }
        let idle = std::mem::take(&mut *self.idle());
        for link in idle {
            link.close().await;
        }
    }

    fn idle(&self) -> std::sync::MutexGuard<'_, Vec<Link>> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A connection on loan.
#[derive(Debug)]
pub(crate) struct Lease {
    pool: Arc<Pool>,
    link: Option<Link>,
    _permit: OwnedSemaphorePermit,
}

impl Lease {
    /// Takes another connection instead of one that turned out to be dead.
    pub(crate) async fn renew(&mut self) -> Result<(), sqlx::Error> {
        self.pool.forget();
        self.link = Some(self.pool.connector.connect().await?);
        Ok(())
    }
}

impl Deref for Lease {
    type Target = Link;

    fn deref(&self) -> &Link {
        self.link.as_ref().unwrap_or_else(|| unreachable!("a lease holds its connection until it is dropped"))
    }
}

impl DerefMut for Lease {
    fn deref_mut(&mut self) -> &mut Link {
        self.link.as_mut().unwrap_or_else(|| unreachable!("a lease holds its connection until it is dropped"))
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        let is_clean = |link: &Link| link.whole && !link.in_transaction || planted(Bug::TransactionOfCaller);
        if let Some(link) = self.link.take().filter(is_clean) {
            self.pool.adopt(link);
        }
    }
}
