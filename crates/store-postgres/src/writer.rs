//! Runs units of work, each in a transaction and a task of its own.
//!
//! A caller who goes away leaves no transaction behind: its unit runs to its end. A unit is let in beside others where its
//! scope suggests that it can be, and alone where it turns out that it cannot. One that lost a race is decided again, alone
//! this time, on what is there now.

mod late;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use docket_core::limits;
use docket_core::plant::{Bug, planted};
use docket_core::store::{ChangeSet, Scope, Slice, Step, StoreError, Unit};

use crate::context::Context;
use crate::error::{Trouble, failed, is_conflict, is_taken, store_error};
use crate::options::{LINE_WAIT, QUEUED_UNITS};
use crate::pool::{Connector, Lease, Link, Patience, Pool};
use crate::queue::{Locked, Turn};
use crate::watch::Watch;
use crate::{read, write};

/// How long a unit that lost a race waits at the most before it tries again, times the number of its tries.
const PAUSE_MS: u64 = 4;

/// What every unit of work shares.
#[derive(Debug)]
pub(crate) struct Writer {
    connector: Arc<Connector>,
    context: Arc<Context>,
    watch: Arc<Watch>,
    pool: Arc<Pool>,
    queued: AtomicUsize,
}

/// A place among the units that run or wait; given back however the unit ends.
struct Place(Arc<Writer>);

impl Place {
    fn take(writer: &Arc<Writer>) -> Self {
        writer.queued.fetch_add(1, Ordering::Relaxed);
        Self(Arc::clone(writer))
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.0.queued.fetch_sub(1, Ordering::Relaxed);
    }
}

/// How an attempt ended.
enum Attempt {
    /// It is committed, or there was nothing to commit.
    Done,
    /// It is written and not committed. Only a planted bug answers so.
    Uncommitted,
    /// It has to be decided again; whether because it must be alone or because it lost a race.
    Again(Lost),
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Lost {
    /// It wants to write what only one that is alone may.
    Turn,
    /// Another was quicker.
    Race,
    /// The connection had been idle for too long.
    Connection,
}

impl Writer {
    pub(crate) fn new(connector: Arc<Connector>, context: Arc<Context>, watch: Arc<Watch>) -> Self {
        let options = &connector.options;
        let patience = Patience { standstill: options.unit_wait, moving: LINE_WAIT, longest: options.lock_timeout };
        let pool = Arc::new(Pool::new(Arc::clone(&connector), options.connections, patience));
        Self { connector, context, watch, pool, queued: AtomicUsize::new(0) }
    }

    /// Runs a unit to its commit; turned away at once when too many wait.
    pub(crate) async fn execute(self: &Arc<Self>, unit: Box<dyn Unit>) -> Result<(), StoreError> {
        let place = Place::take(self);
        if self.queued.load(Ordering::Relaxed) > QUEUED_UNITS + self.connector.options.connections {
            return Err(StoreError::Overloaded);
        }
        if planted(Bug::TransactionOfCaller) {
            return place.0.run(unit).await;
        }
        let running = tokio::spawn(async move { place.0.run(unit).await });
        running.await.unwrap_or_else(|_| Err(failed("a unit of work was given up")))
    }

    /// Lets what runs come to its end, then closes the connections.
    pub(crate) async fn stop(&self) {
        self.pool.close().await;
    }

    async fn run(&self, mut unit: Box<dyn Unit>) -> Result<(), StoreError> {
        let mut lease = self.pool.lease().await?.ok_or(StoreError::Overloaded)?;
        let mut turn = Turn::for_scope(&guard(|| unit.scope())?);
        let mut tries = 0;
        loop {
            let lost = match self.attempt(&mut lease, unit.as_mut(), turn).await? {
                Attempt::Done => return Ok(()),
                Attempt::Uncommitted => {
                    tokio::spawn(async move {
                        tokio::time::sleep(Duration::from_millis(50)).await;
                        lease.commit().await
                    });
                    return Ok(());
                }
                Attempt::Again(lost) => lost,
            };
            match lost {
                // It happens once: whoever is alone may write everything.
                Lost::Turn => {}
                Lost::Connection => lease.renew().await.map_err(store_error)?,
                Lost::Race => {
                    tries += 1;
                    self.connector.counters.retries.fetch_add(1, Ordering::Relaxed);
                    if tries > limits::CONFLICT_RETRIES {
                        return Err(StoreError::Conflict);
                    }
                    pause(tries).await;
                }
            }
            if lost != Lost::Connection {
                turn = Turn::Alone;
            }
        }
    }

    /// Runs a unit once; leaves no transaction open, or a connection that will be thrown away.
    async fn attempt(&self, lease: &mut Lease, unit: &mut dyn Unit, turn: Turn) -> Result<Attempt, StoreError> {
        let scope = guard(|| unit.scope())?;
        let patience = self.connector.options.lock_timeout;
        let outside = planted(Bug::LookedOutside);
        let opening = if outside { String::new() } else { turn.statements(&scope, patience) };
        if let Err(error) = lease.begin_in_turn(&opening).await {
            if lease.may_be_stale(&error) {
                return Ok(Attempt::Again(Lost::Connection));
            }
            return self.give_up(lease, Trouble::Sql(error), turn).await;
        }
        let seen_as = if outside { Turn::Alone } else { turn };
        let decided = match self.decide(lease, unit, scope, seen_as).await {
            Ok(decided) => decided,
            Err(trouble) => return self.give_up(lease, trouble, turn).await,
        };
        let (changes, seen) = match decided {
            Decided::Nothing => {
                lease.rollback().await.map_err(store_error)?;
                return Ok(Attempt::Done);
            }
            Decided::NotAlone => {
                lease.rollback().await.map_err(store_error)?;
                return Ok(Attempt::Again(Lost::Turn));
            }
            Decided::Write(changes, seen) => (changes, seen),
        };
        if outside {
            lease.rollback().await.map_err(store_error)?;
            tokio::time::sleep(Duration::from_millis(5)).await;
            lease.begin("").await.map_err(store_error)?;
        }
        if planted(Bug::ToldBeforeCommit) {
            self.watch.committed(!changes.keys.is_empty());
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        match self.persist(lease, &changes, &seen).await {
            Ok(true) => {}
            Ok(false) => {
                lease.rollback().await.map_err(store_error)?;
                return Ok(Attempt::Again(Lost::Race));
            }
            Err(trouble) => return self.give_up(lease, trouble, turn).await,
        }
        if planted(Bug::AnswerBeforeCommit) {
            return Ok(Attempt::Uncommitted);
        }
        // Whether a commit that was not answered has happened, nobody knows: it is never tried again.
        lease.commit().await.map_err(store_error)?;
        self.connector.counters.commits.fetch_add(1, Ordering::Relaxed);
        if !changes.events.is_empty() && !planted(Bug::ToldBeforeCommit) {
            self.watch.committed(!changes.keys.is_empty());
        }
        late::die_at(2);
        Ok(Attempt::Done)
    }

    /// Shows the unit what it wants to see until it has decided.
    async fn decide(&self, link: &mut Link, unit: &mut dyn Unit, scope: Scope, turn: Turn) -> Result<Decided, Trouble> {
        let mut locked = Locked::default();
        let mut seen = self.look(link, &scope, turn, &mut locked).await?;
        for _ in 0..=limits::LOOK_ROUNDS {
            match guard(|| unit.decide(&seen)).map_err(Trouble::Rows)? {
                Step::Nothing if locked.skipped => return Ok(Decided::NotAlone),
                Step::Nothing => return Ok(Decided::Nothing),
                Step::Look(scope) => seen.absorb(self.look(link, &scope, turn, &mut locked).await?),
                Step::Commit(changes) if turn == Turn::Shared && !locked.covers(&changes, &seen) => {
                    return Ok(Decided::NotAlone);
                }
                Step::Commit(changes) => return Ok(Decided::Write(changes, Box::new(seen))),
            }
        }
        Err(Trouble::Rows(failed("a unit of work wanted to look further than it may")))
    }

    async fn look(&self, link: &mut Link, scope: &Scope, turn: Turn, locked: &mut Locked) -> Result<Slice, Trouble> {
        let picked = match turn {
            Turn::Shared => read::lock(link, &self.context, scope, locked).await?,
            Turn::Alone => None,
        };
        read::load(link, &self.context, scope, picked.as_deref()).await
    }

    async fn persist(&self, link: &mut Link, changes: &ChangeSet, seen: &Slice) -> Result<bool, Trouble> {
        late::die_at(0);
        let written = match late::apart(changes) {
            Some((rows, rest)) => late::write(link, &rows, &rest, seen).await?,
            None => write::write(link, changes, seen, seen.now).await?,
        };
        late::die_at(1);
        Ok(written)
    }

    /// Undoes a transaction that went wrong, and says whether it is worth another try.
    async fn give_up(&self, lease: &mut Lease, trouble: Trouble, turn: Turn) -> Result<Attempt, StoreError> {
        // Where this fails, too, the connection is thrown away with its transaction.
        let _ = lease.rollback().await;
        match trouble {
            // Beside others, what was free when it was looked at may be taken by now. Who is alone must not meet that.
            Trouble::Sql(error) if is_conflict(&error) || turn == Turn::Shared && is_taken(&error) => {
                tracing::debug!(error = &error as &dyn std::error::Error, "a unit of work lost a race");
                Ok(Attempt::Again(Lost::Race))
            }
            Trouble::Rows(StoreError::Conflict) => Ok(Attempt::Again(Lost::Race)),
            trouble => Err(trouble.into()),
        }
    }
}

/// What a unit decided.
enum Decided {
    Nothing,
    /// It cannot go on beside others.
    NotAlone,
    Write(Box<ChangeSet>, Box<Slice>),
}

/// Runs foreign code: what panics there fails its own unit and nothing else.
fn guard<T>(run: impl FnOnce() -> T) -> Result<T, StoreError> {
    catch_unwind(AssertUnwindSafe(run)).map_err(|_| failed("a unit of work panicked"))
}

/// Waits a little, each time longer and never quite as long as another that lost at the same time.
async fn pause(tries: usize) {
    let most = PAUSE_MS * u64::try_from(tries).unwrap_or(1);
    let spread = u64::from(uuid::Uuid::now_v7().as_bytes()[15]) % most.max(1);
    tokio::time::sleep(Duration::from_millis(spread)).await;
}
