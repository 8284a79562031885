//! The one writer: units of work come in by a queue of fixed length, and those that wait together share a commit.
//!
//! The writer is a task of its own, so that a caller who goes away leaves no transaction behind: its unit runs to its end.
//! It waits for nothing while it holds the database's lock but the database itself.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::Ordering;

use docket_core::limits;
use docket_core::model::Timestamp;
use docket_core::plant::{Bug, planted};
use docket_core::store::{ChangeSet, Scope, Slice, Step, StoreError, Unit};
use tokio::sync::{mpsc, oneshot};

use crate::context::Context;
use crate::error::{Trouble, again, failed, is_busy, store_error};
use crate::options::{BATCH_UNITS, QUEUED_UNITS};
use crate::pool::{Connector, Link};
use crate::queue::Turn;
use crate::read::{self, Opening};
use crate::script::Script;
use crate::watch::Watch;
use crate::write;

type Reply = oneshot::Sender<Result<(), StoreError>>;

enum Message {
    Run(Box<dyn Unit>, Reply),
    Stop(oneshot::Sender<()>),
}

/// The way to the writer.
#[derive(Debug)]
pub(crate) struct Writer {
    queue: mpsc::Sender<Message>,
}

impl Writer {
    /// Starts the writer. It ends when this handle is gone and all that was queued has been run.
    pub(crate) fn start(connector: Arc<Connector>, context: Arc<Context>, watch: Arc<Watch>) -> Self {
        let (queue, messages) = mpsc::channel(QUEUED_UNITS);
        let turn = Turn::new(&connector.options);
        tokio::spawn(Desk { connector, context, watch, turn, link: None }.serve(messages));
        Self { queue }
    }

    /// Runs a unit to its commit; turned away at once when too many wait.
    pub(crate) async fn execute(&self, unit: Box<dyn Unit>) -> Result<(), StoreError> {
        let (reply, answer) = oneshot::channel();
        self.queue.try_send(Message::Run(unit, reply)).map_err(|error| match error {
            mpsc::error::TrySendError::Full(_) => StoreError::Busy(None),
            mpsc::error::TrySendError::Closed(_) => failed("the store is closed"),
        })?;
        answer.await.unwrap_or_else(|_| Err(failed("the writer is gone")))
    }

    /// Lets the writer finish what is queued, then ends it.
    pub(crate) async fn stop(&self) {
        let (done, stopped) = oneshot::channel();
        if self.queue.send(Message::Stop(done)).await.is_ok() {
            let _ = stopped.await;
        }
    }
}

/// Why a unit was not run to its commit.
enum Fault {
    /// It alone is at fault; the transaction goes on without it.
    Unit(StoreError),
    /// The transaction is lost, and with it what earlier units wrote in it.
    Batch(StoreError),
    /// No transaction could be begun.
    Locked(StoreError),
}

/// The transaction of one batch.
#[derive(Default)]
struct Batch {
    open: bool,
    wrote: bool,
    committed: bool,
    /// Units that have decided and wait for the commit.
    decided: Vec<Reply>,
}

/// The place of a unit in its batch.
#[derive(Clone, Copy)]
struct Place {
    alone: bool,
    last: bool,
}

/// What the writer's task owns.
struct Desk {
    connector: Arc<Connector>,
    context: Arc<Context>,
    watch: Arc<Watch>,
    turn: Turn,
    link: Option<Link>,
}

impl Desk {
    async fn serve(mut self, mut messages: mpsc::Receiver<Message>) {
        let mut taken = Vec::with_capacity(BATCH_UNITS);
        let mut stopped = None;
        while stopped.is_none() && messages.recv_many(&mut taken, BATCH_UNITS).await > 0 {
            let mut units = Vec::with_capacity(taken.len());
            for message in taken.drain(..) {
                match message {
                    Message::Run(unit, reply) => units.push((unit, reply)),
                    Message::Stop(done) => stopped = Some(done),
                }
            }
            if !units.is_empty() {
                self.run(units).await;
            }
        }
        if let Some(link) = self.link.take() {
            link.close().await;
        }
        if let Some(done) = stopped {
            let _ = done.send(());
        }
    }

    async fn run(&mut self, units: Vec<(Box<dyn Unit>, Reply)>) {
        let count = units.len();
        let mut batch = Batch::default();
        let mut locked = None;
        for (number, (mut unit, reply)) in units.into_iter().enumerate() {
            if let Some(error) = &locked {
                answer(reply, Err(again(error)));
                continue;
            }
            let place = Place { alone: count == 1, last: number + 1 == count };
            match self.run_unit(&mut batch, unit.as_mut(), place).await {
                Ok(()) => batch.decided.push(reply),
                Err(Fault::Unit(error)) => answer(reply, Err(error)),
                Err(Fault::Batch(error)) => {
                    self.give_up(std::mem::take(&mut batch), &error).await;
                    answer(reply, Err(error));
                }
                Err(Fault::Locked(error)) => {
                    answer(reply, Err(again(&error)));
                    locked = Some(error);
                }
            }
        }
        self.finish(batch).await;
    }

    /// Shows the unit what it wants to see until it has decided, then writes its changes.
    async fn run_unit(&mut self, batch: &mut Batch, unit: &mut dyn Unit, place: Place) -> Result<(), Fault> {
        let scope = guard(|| unit.scope())?;
        let mut slice = if batch.open { self.look(&scope).await? } else { self.begin(batch, &scope).await? };
        for _ in 0..=limits::LOOK_ROUNDS {
            match guard(|| unit.decide(&slice))? {
                Step::Nothing => return Ok(()),
                Step::Look(scope) => slice.absorb(self.look(&scope).await?),
                Step::Commit(changes) => return self.write(batch, &changes, slice.now, place).await,
            }
        }
        Err(Fault::Unit(failed("a unit of work wanted to look further than it may")))
    }

    /// Takes the database's lock and shows a scope in the same round trip.
    async fn begin(&mut self, batch: &mut Batch, scope: &Scope) -> Result<Slice, Fault> {
        loop {
            let attempt = async {
                let link = match self.link.as_mut() {
                    Some(link) => link,
                    None => self.link.insert(self.connector.connect_impatient().await.map_err(Trouble::Sql)?),
                };
                read::load(link, &self.context, scope, Opening::Lock).await
            };
            match attempt.await {
                Ok(slice) => {
                    self.turn.leave();
                    batch.open = true;
                    return Ok(slice);
                }
                Err(Trouble::Rows(error)) => {
                    self.turn.leave();
                    batch.open = true;
                    return Err(Fault::Unit(error));
                }
                Err(Trouble::Sql(error)) if is_busy(&error) => {
                    if !self.turn.wait().await {
                        self.turn.leave();
                        return Err(Fault::Locked(store_error(error)));
                    }
                }
                Err(Trouble::Sql(error)) => {
                    self.turn.leave();
                    return Err(Fault::Batch(store_error(error)));
                }
            }
        }
    }

    async fn look(&mut self, scope: &Scope) -> Result<Slice, Fault> {
        let link = self.link.as_mut().ok_or_else(|| Fault::Batch(failed("the connection is gone")))?;
        read::load(link, &self.context, scope, Opening::Plain).await.map_err(|trouble| match trouble {
            Trouble::Sql(error) => Fault::Batch(store_error(error)),
            Trouble::Rows(error) => Fault::Unit(error),
        })
    }

    /// Writes a change set in one round trip. The last of a batch takes the commit along.
    async fn write(&mut self, batch: &mut Batch, changes: &ChangeSet, now: Timestamp, place: Place) -> Result<(), Fault> {
        let link = self.link.as_mut().ok_or_else(|| Fault::Batch(failed("the connection is gone")))?;
        let place = Place { last: place.last && !planted(Bug::AnswerBeforeCommit), ..place };
        let mut script = Script::default();
        if !place.alone {
            script.add("SAVEPOINT unit");
        }
        write::add_changes(&mut script, changes, now);
        if !place.alone {
            script.add("RELEASE unit");
        }
        if place.last {
            script.add("COMMIT");
        }
        #[cfg(feature = "plant")]
        if let Some(last) = crate::plant::dies_at() {
            for (number, statement) in script.one_by_one().into_iter().enumerate() {
                if number == last {
                    std::process::abort();
                }
                link.run(statement).await.map_err(|error| Fault::Batch(store_error(error)))?;
            }
            (batch.wrote, batch.committed, batch.open) = (true, place.last, !place.last);
            return Ok(());
        }
        let error = match link.run(script).await {
            Ok(_) => {
                batch.wrote = true;
                batch.committed = place.last;
                batch.open = !place.last;
                return Ok(());
            }
            Err(error) => error,
        };
        if place.alone {
            return Err(Fault::Batch(store_error(error)));
        }
        // Where the commit failed the savepoint is gone, and so is the batch. Where a write failed, only that is undone.
        let mut undo = Script::default();
        undo.add("ROLLBACK TO unit");
        undo.add("RELEASE unit");
        match link.run(undo).await {
            Ok(_) => Err(Fault::Unit(store_error(error))),
            Err(_) => Err(Fault::Batch(store_error(error))),
        }
    }

    /// Ends the batch's transaction and answers its units: only now is what they wrote durable.
    async fn finish(&mut self, mut batch: Batch) {
        if planted(Bug::AnswerBeforeCommit) {
            for reply in batch.decided.drain(..) {
                answer(reply, Ok(()));
            }
            tokio::time::sleep(std::time::Duration::from_millis(50)).await;
        }
        if batch.open && batch.wrote {
            match self.end("COMMIT").await {
                Ok(()) => (batch.open, batch.committed) = (false, true),
                Err(error) => return self.give_up(batch, &error).await,
            }
        }
        if batch.committed {
            self.connector.counters.commits.fetch_add(1, Ordering::Relaxed);
            self.watch.committed();
        }
        for reply in batch.decided {
            answer(reply, Ok(()));
        }
        if batch.open
            && let Err(error) = self.end("ROLLBACK").await
        {
            tracing::warn!(error = &error as &dyn std::error::Error, "a transaction without writes did not end");
            self.link = None;
        }
    }

    /// Undoes the batch and tells its units. What was remembered of it may be wrong, the connection is doubtful.
    async fn give_up(&mut self, batch: Batch, error: &StoreError) {
        // Fails where SQLite has already rolled back by itself.
        let _ = self.end("ROLLBACK").await;
        self.context.projects.clear();
        self.link = None;
        for reply in batch.decided {
            answer(reply, Err(again(error)));
        }
    }

    async fn end(&mut self, how: &str) -> Result<(), StoreError> {
        let Some(link) = self.link.as_mut() else { return Err(failed("the connection is gone")) };
        let mut script = Script::default();
        script.add(how);
        link.run(script).await.map(|_| ()).map_err(store_error)
    }
}

/// Runs foreign code: what panics there fails its own unit and nothing else.
fn guard<T>(run: impl FnOnce() -> T) -> Result<T, Fault> {
    catch_unwind(AssertUnwindSafe(run)).map_err(|_| Fault::Unit(failed("a unit of work panicked")))
}

/// The caller may be gone; its unit has run all the same.
fn answer(reply: Reply, result: Result<(), StoreError>) {
    let _ = reply.send(result);
}
