//! Connections: how one is opened, and how readers and units of work share them.
//!
//! A connection is lent for one read or one unit of work. One whose last use did not run to its end (its caller went away,
//! or a transaction was left open) is thrown away, since nobody knows what it still has open. One that was idle for a
//! while is asked whether it lives, because servers and the routers on the way to them drop what is idle.
//!
//! Whoever finds none waits in a line. That others are before it is no reason to turn it away, as long as they are served, or wait for
//! their turn with other processes: only where the line stands still without that, or is too long for how quickly it moves, it is told
//! soon that it came for nothing.

use std::ops::{Deref, DerefMut};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use docket_core::plant::{Bug, planted};
use docket_core::store::StoreError;
use serde::de::DeserializeOwned;
use sqlx::postgres::PgConnection;
use sqlx::{AssertSqlSafe, ConnectOptions, Row};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, TryAcquireError};

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
pub(crate) async fn in_time<T>(
    patience: Option<Duration>,
    answer: impl Future<Output = Result<T, sqlx::Error>>,
) -> Result<T, sqlx::Error> {
    let Some(patience) = patience else { return answer.await };
    let silent = || sqlx::Error::Io(std::io::Error::new(std::io::ErrorKind::TimedOut, "the server does not answer"));
    tokio::time::timeout(patience, answer).await.unwrap_or_else(|_| Err(silent()))
}

/// How long a connection is waited for.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Patience {
    /// Nobody waits longer than this for a line that does not move while somebody before it is at work.
    pub(crate) standstill: Duration,
    /// How long the others before somebody may take, as quickly as the line moves of late.
    pub(crate) moving: Duration,
    /// Nobody waits longer than this.
    pub(crate) longest: Duration,
}

/// Those who wait for a connection, and how they get on.
#[derive(Debug)]
struct Line {
    waiting: usize,
    /// How many connections were given back so far.
    given_back: usize,
    /// How many of those who have one wait for their turn to use it.
    at_turn: usize,
    /// When one was last given back or opened, or somebody's turn came.
    moved: Instant,
    /// How long it takes from one that is given back to the next, of late; nothing while nobody waits, and at the beginning less than
    /// it is.
    pace: Duration,
    /// From when on it is measured.
    measured: Instant,
}

impl Line {
    fn new() -> Self {
        let now = Instant::now();
        Self { waiting: 0, given_back: 0, at_turn: 0, moved: now, pace: Duration::ZERO, measured: now }
    }

    fn begin(&mut self) {
        if self.waiting == 0 {
            (self.pace, self.measured) = (Duration::ZERO, Instant::now());
        }
        self.waiting += 1;
    }

    fn opened(&mut self) {
        self.moved = Instant::now();
        self.measured = self.moved;
    }

    fn given_back(&mut self) {
        self.moved = Instant::now();
        self.given_back += 1;
        self.pace = (self.pace + (self.moved - self.measured)) / 2;
        self.measured = self.moved;
    }
}

/// Somebody's place in the line; left however the wait ends.
struct Waiting<'p> {
    pool: &'p Pool,
    since: Instant,
    /// How many waited before, and how many connections had been given back by then.
    before: usize,
    given_back: usize,
}

impl<'p> Waiting<'p> {
    fn behind_others(pool: &'p Pool) -> Self {
        let mut line = pool.line();
        line.begin();
        Self { pool, since: Instant::now(), before: line.waiting - 1, given_back: line.given_back }
    }

    /// When it is to be looked at again how the line gets on; none when it came for nothing.
    fn next_look(&self) -> Option<Instant> {
        let (now, patience, line) = (Instant::now(), self.pool.patience, self.pool.line());
        let left = self.before.saturating_sub(line.given_back - self.given_back);
        let ahead = line.pace.saturating_mul(u32::try_from(left).unwrap_or(u32::MAX));
        let end = self.since + patience.longest;
        let still = line.moved.max(self.since) + patience.standstill;
        // Where all wait for other processes to let them in, nobody can do more about it with another connection.
        let stands = still <= now && line.at_turn < self.pool.most;
        let is_in_vain = stands || end <= now || ahead > patience.moving;
        (!is_in_vain).then(|| if still <= now { now + patience.standstill } else { still }.min(end))
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.pool.line().waiting -= 1;
    }
}

/// Connections that are lent, so many at a time.
#[derive(Debug)]
pub(crate) struct Pool {
    connector: Arc<Connector>,
    permits: Arc<Semaphore>,
    most: usize,
    patience: Patience,
    line: Mutex<Line>,
    idle: Mutex<Vec<Link>>,
}

impl Pool {
    pub(crate) fn new(connector: Arc<Connector>, most: usize, patience: Patience) -> Self {
        let most = most.max(1);
        let (permits, line) = (Arc::new(Semaphore::new(most)), Mutex::new(Line::new()));
        Self { connector, permits, most, patience, line, idle: Mutex::default() }
    }

    /// Takes in a connection that was opened for something else.
    pub(crate) fn adopt(&self, link: Link) {
        self.idle().push(Link { fresh: false, used: Instant::now(), ..link });
    }

    /// A connection; `None` when it would have to be waited for too long.
    pub(crate) async fn lease(self: &Arc<Self>) -> Result<Option<Lease>, StoreError> {
        let permit = match Arc::clone(&self.permits).try_acquire_owned() {
            Ok(permit) => permit,
            Err(TryAcquireError::Closed) => return Err(failed("the store is closed")),
            Err(TryAcquireError::NoPermits) => match self.wait().await? {
                Some(permit) => permit,
                None => return Ok(None),
            },
        };
        let link = match self.living().await {
            Some(link) => link,
            None => self.open().await.map_err(store_error)?,
        };
        Ok(Some(Lease { pool: Arc::clone(self), link: Some(link), _permit: permit }))
    }

    /// Waits in line for a connection to be given back.
    async fn wait(&self) -> Result<Option<OwnedSemaphorePermit>, StoreError> {
        let waiting = Waiting::behind_others(self);
        let mut permit = std::pin::pin!(Arc::clone(&self.permits).acquire_owned());
        while let Some(look) = waiting.next_look() {
            match tokio::time::timeout_at(look.into(), permit.as_mut()).await {
                Ok(Ok(permit)) => return Ok(Some(permit)),
                Ok(Err(_)) => return Err(failed("the store is closed")),
                Err(_) => {}
            }
        }
        Ok(None)
    }

    /// A new connection.
    async fn open(&self) -> Result<Link, sqlx::Error> {
        let link = self.connector.connect().await?;
        self.line().opened();
        Ok(link)
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

    fn idle(&self) -> MutexGuard<'_, Vec<Link>> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn line(&self) -> MutexGuard<'_, Line> {
        self.line.lock().unwrap_or_else(PoisonError::into_inner)
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
        self.link = Some(self.pool.open().await?);
        Ok(())
    }

    /// Begins a transaction whose first statements wait for its turn.
    pub(crate) async fn begin_in_turn(&mut self, statements: &str) -> Result<(), sqlx::Error> {
        let at_turn = AtTurn::new(&self.pool);
        let begun = self.begin(statements).await;
        drop(at_turn);
        begun
    }
}

/// Somebody who has a connection and waits for a turn; over however that ends.
struct AtTurn(Arc<Pool>);

impl AtTurn {
    fn new(pool: &Arc<Pool>) -> Self {
        pool.line().at_turn += 1;
        Self(Arc::clone(pool))
    }
}

impl Drop for AtTurn {
    fn drop(&mut self) {
        let mut line = self.0.line();
        line.at_turn -= 1;
        line.moved = Instant::now();
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
        self.pool.line().given_back();
    }
}
