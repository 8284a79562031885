//! What it takes to write, and how: units decide over what they are shown, one transaction for all that are run together.

use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::Ordering;

use docket_core::limits;
use docket_core::model::Timestamp;
use docket_core::plant::{Bug, planted};
use docket_core::store::{ChangeSet, Scope, Slice, Step, StoreError, Unit};
use tokio::sync::oneshot;

use super::{Around, Job, Reply, late};
use crate::context::Context;
use crate::disk::Disk;
use crate::error::{Trouble, again, failed, is_busy, is_unflushed, store_error};
use crate::pool::{Connector, Link};
use crate::queue::Turn;
use crate::read;
use crate::script::Script;
use crate::watch::Watch;
use crate::write;

/// Why a unit was not run to its commit.
enum Fault {
    /// It alone is at fault; the transaction goes on without it.
    Unit(StoreError),
    /// The transaction is lost, and with it what earlier units wrote in it.
    Batch(StoreError),
}

impl Fault {
    fn error(&self) -> &StoreError {
        match self {
            Self::Unit(error) | Self::Batch(error) => error,
        }
    }
}

/// Units that have decided over one slice. Their writes go to the database with whatever comes next.
pub(super) struct Unsent {
    pub(super) changes: Box<ChangeSet>,
    pub(super) now: Timestamp,
    replies: Vec<Reply>,
}

/// The transaction of one batch, from the moment at which the database's lock is held.
struct Batch {
    open: bool,
    wrote: bool,
    committed: bool,
    /// Units that have decided and wait for the commit.
    decided: Vec<Reply>,
    /// The last of them, as long as its writes are not sent.
    unsent: Option<Unsent>,
    /// What was written.
    spent: Vec<ChangeSet>,
}

impl Batch {
    fn begun() -> Self {
        Self { open: true, wrote: false, committed: false, decided: Vec::new(), unsent: None, spent: Vec::new() }
    }

    /// Whether no unit has seen or done anything in it yet.
    fn is_untouched(&self) -> bool {
        !self.wrote && self.decided.is_empty() && self.unsent.is_none()
    }

    /// Notes that the writes of a unit are in the transaction.
    fn sent(&mut self, unit: Unsent) {
        self.wrote = true;
        self.decided.extend(unit.replies);
        self.spent.push(*unit.changes);
    }
}

/// What it takes to write. Whoever has it is the one writer.
#[derive(Debug)]
pub(super) struct Desk {
    connector: Arc<Connector>,
    context: Arc<Context>,
    pub(super) watch: Arc<Watch>,
    disk: Arc<Disk>,
    pub(super) turn: Turn,
    pub(super) link: Option<Link>,
    closed: bool,
}

impl Desk {
    pub(super) fn new(connector: Arc<Connector>, context: Arc<Context>, around: Around) -> Self {
        let turn = Turn::new(&connector.options);
        let Around { watch, disk } = around;
        Self { connector, context, watch, disk, turn, link: None, closed: false }
    }

    /// The connection, if there is one and no transaction was left open on it.
    pub(super) fn idle_link(&mut self) -> Option<&mut Link> {
        self.link.as_mut().filter(|link| link.is_whole())
    }

    /// Runs units to their commits.
    pub(super) async fn run(&mut self, mut units: VecDeque<Job>) {
        while !units.is_empty() {
            let spent = match self.lock().await {
                Ok(()) => self.run_locked(&mut units),
                Err(error) => {
                    for (_, reply) in units.drain(..) {
                        answer(reply, Err(again(&error)));
                    }
                    return;
                }
            };
            self.commit_late().await;
            // To let go of a large change set takes a while: the callers go on first.
            tokio::task::yield_now().await;
            drop(spent);
        }
    }

    /// Runs one unit to its commit, unless somebody else has the database's lock.
    pub(super) fn run_now(&mut self, unit: Box<dyn Unit>) -> Result<Result<(), StoreError>, Box<dyn Unit>> {
        if self.closed || planted(Bug::AnswerBeforeCommit) {
            return Err(unit);
        }
        if !matches!(self.try_lock(), Ok(true)) {
            self.turn.leave();
            return Err(unit);
        }
        let (reply, mut answer) = oneshot::channel();
        drop(self.run_locked(&mut VecDeque::from([(unit, reply)])));
        Ok(answer.try_recv().unwrap_or_else(|_| Err(failed("the writer gave no answer"))))
    }

    /// Runs units in the transaction that was begun, up to its end. Those that a failure of it left out stay.
    fn run_locked(&mut self, waiting: &mut VecDeque<Job>) -> Vec<ChangeSet> {
        let mut batch = Batch::begun();
        // Units that a common slice did not serve; each gets one of its own.
        let mut alone = 0;
        while let Some(job) = waiting.pop_front() {
            let mut jobs = vec![job];
            let mut scope = guard(|| jobs[0].0.scope());
            if alone > 0 {
                alone -= 1;
            } else if let Ok(scope) = &mut scope {
                while let Some((next, _)) = waiting.front()
                    && guard(|| next.scope()).is_ok_and(|other| scope.join(&other))
                {
                    jobs.extend(waiting.pop_front());
                }
            }
            let ran = match scope {
                Ok(scope) => self.run_together(&mut batch, &scope, &mut jobs),
                Err(fault) => Err(fault),
            };
            match ran {
                Ok(()) => {
                    alone += jobs.len();
                    jobs.into_iter().rev().for_each(|job| waiting.push_front(job));
                }
                Err(fault) => {
                    for (_, reply) in jobs {
                        answer(reply, Err(again(fault.error())));
                    }
                    if let Fault::Batch(error) = fault {
                        self.give_up(batch, &error);
                        return Vec::new();
                    }
                }
            }
        }
        self.finish(batch)
    }

    /// Decides units over one slice that serves them all, one after the other; leaves those that it does not serve, of
    /// which a single unit is never one.
    fn run_together(&mut self, batch: &mut Batch, scope: &Scope, jobs: &mut Vec<Job>) -> Result<(), Fault> {
        let is_first = batch.is_untouched();
        let mut slice = self.look(batch, scope)?;
        if is_first {
            self.lock_again().map_err(Fault::Batch)?;
        }
        let mut undecided = Vec::new();
        let mut together: Option<Unsent> = None;
        let mut is_true = true;
        let single = jobs.len() == 1;
        for (mut unit, reply) in std::mem::take(jobs) {
            if !is_true {
                undecided.push((unit, reply));
                continue;
            }
            let step =
                if single { self.decide(batch, unit.as_mut(), &mut slice) } else { guard(|| unit.decide(&slice)) };
            match step {
                Ok(Step::Nothing) => batch.decided.push(reply),
                Ok(Step::Look(_)) => undecided.push((unit, reply)),
                Ok(Step::Commit(changes)) => {
                    is_true = single || slice.follow(&changes);
                    match &mut together {
                        Some(together) => {
                            together.changes.append(*changes);
                            together.replies.push(reply);
                        }
                        None => together = Some(Unsent { changes, now: slice.now, replies: vec![reply] }),
                    }
                }
                Err(Fault::Unit(error)) => answer(reply, Err(error)),
                Err(fault) => {
                    jobs.push((unit, reply));
                    return Err(fault);
                }
            }
        }
        // A slice that served several is not absorbed into: what was decided over it is not in the database yet.
        if together.is_some() {
            batch.unsent = together;
        }
        *jobs = undecided;
        Ok(())
    }

    /// Shows the unit what more it wants to see until it has decided.
    fn decide(&mut self, batch: &mut Batch, unit: &mut dyn Unit, slice: &mut Slice) -> Result<Step, Fault> {
        for _ in 0..=limits::LOOK_ROUNDS {
            match guard(|| unit.decide(slice))? {
                Step::Look(scope) => slice.absorb(self.look(batch, &scope)?),
                step @ (Step::Nothing | Step::Commit(_)) => return Ok(step),
            }
        }
        Err(Fault::Unit(failed("a unit of work wanted to look further than it may")))
    }

    /// Takes the database's lock, after waiting for it if need be. The place in line is kept until the transaction has ended.
    async fn lock(&mut self) -> Result<(), StoreError> {
        loop {
            let error = match self.try_lock() {
                Ok(true) => return Ok(()),
                Ok(false) if self.turn.wait().await => continue,
                Ok(false) => StoreError::Busy(None),
                Err(error) => error,
            };
            self.turn.leave();
            return Err(error);
        }
    }

    /// Takes the database's lock, unless another process has it.
    fn try_lock(&mut self) -> Result<bool, StoreError> {
        self.disk.check()?;
        if !self.turn.has_come() {
            return Ok(false);
        }
        let link = match self.link.take().filter(Link::is_whole) {
            Some(link) => self.connector.check().map(|()| link)?,
            None => self.connector.connect_impatient()?,
        };
        match self.link.insert(link).turn("BEGIN IMMEDIATE") {
            Ok(()) => Ok(true),
            Err(error) if is_busy(&error) => Ok(false),
            Err(error) => {
                self.link = None;
                Err(self.told(error))
            }
        }
    }

    /// Writes what the unit before wants written, and shows a scope.
    fn look(&mut self, batch: &mut Batch, scope: &Scope) -> Result<Slice, Fault> {
        let link = self.link.as_mut().ok_or_else(|| Fault::Batch(failed("the connection is gone")))?;
        let mut before = Script::default();
        let unsent = batch.unsent.take();
        if let Some(unit) = &unsent {
            add_apart(&mut before, unit);
        }
        match (read::load(link, &self.context, scope, &before), unsent) {
            (Ok(slice), unsent) => {
                if let Some(unit) = unsent {
                    batch.sent(unit);
                }
                Ok(slice)
            }
            (Err(Trouble::Rows(error)), unsent) => {
                if let Some(unit) = unsent {
                    batch.sent(unit);
                }
                Err(Fault::Unit(error))
            }
            (Err(Trouble::Sql(error)), None) => Err(Fault::Batch(store_error(error))),
            (Err(Trouble::Sql(error)), Some(unit)) => {
                if !self.undo() {
                    // The writes had gone through; it was the look that failed.
                    batch.sent(unit);
                    return Err(Fault::Batch(store_error(error)));
                }
                refuse(unit, &store_error(error));
                self.look(batch, scope)
            }
        }
    }

    /// Sends the last writes of a batch, and the commit with them.
    fn write_last(&mut self, batch: &mut Batch, unit: Unsent) -> Result<(), StoreError> {
        // Who wrote nothing has an answer already, which a failure of this one must not take away.
        let alone = !batch.wrote && batch.decided.is_empty();
        let mut script = Script::default();
        if alone {
            write::add_changes(&mut script, &unit.changes, unit.now);
        } else {
            add_apart(&mut script, &unit);
        }
        if !planted(Bug::AnswerBeforeCommit) {
            script.add("COMMIT");
        }
        let Some(link) = self.link.as_mut() else { return Err(failed("the connection is gone")) };
        let Err(error) = late::send(link, &script) else {
            batch.sent(unit);
            batch.committed = !planted(Bug::AnswerBeforeCommit);
            batch.open = !batch.committed;
            return Ok(());
        };
        let error = self.told(error);
        // Where the commit failed the savepoint is gone, and so is the batch. Where a write failed, only that is undone.
        if !alone && self.undo() {
            refuse(unit, &error);
            return Ok(());
        }
        batch.sent(unit);
        Err(error)
    }

    /// Takes back what was written since the last savepoint; says no when there is none any more.
    fn undo(&mut self) -> bool {
        let Some(link) = self.link.as_mut() else { return false };
        let mut script = Script::default();
        script.add("ROLLBACK TO unit");
        script.add("RELEASE unit");
        link.run(&script).is_ok()
    }

    /// Ends the batch's transaction and answers its units: only now is what they wrote durable. Returns what was written.
    fn finish(&mut self, mut batch: Batch) -> Vec<ChangeSet> {
        let late_answer = late::answer_of(batch.unsent.as_mut());
        if let Some(unit) = batch.unsent.take()
            && let Err(error) = self.write_last(&mut batch, unit)
        {
            self.give_up(batch, &error);
            return Vec::new();
        }
        let is_late = planted(Bug::AnswerBeforeCommit);
        if batch.open && batch.wrote && !is_late {
            match self.end("COMMIT") {
                Ok(()) => (batch.open, batch.committed) = (false, true),
                Err(error) => {
                    self.give_up(batch, &error);
                    return Vec::new();
                }
            }
        }
        if batch.committed {
            self.turn.leave();
            self.connector.counters.commits.fetch_add(1, Ordering::Relaxed);
            self.watch.committed();
        }
        if let Some((answer, now)) = late_answer.filter(|_| batch.committed)
            && let Err(error) = self.write_answer(answer, now)
        {
            self.give_up(batch, &error);
            return Vec::new();
        }
        for reply in batch.decided {
            answer(reply, Ok(()));
        }
        if batch.open
            && !(is_late && batch.wrote)
            && let Err(error) = self.end("ROLLBACK")
        {
            tracing::warn!(error = &error as &dyn std::error::Error, "a transaction without writes did not end");
            self.link = None;
        }
        self.turn.leave();
        batch.spent
    }

    /// Closes the file. Whoever comes later finds it closed.
    pub(super) fn close(&mut self) {
        self.closed = true;
        if let Some(link) = self.link.take() {
            link.close();
        }
    }

    /// Undoes the batch and tells its units. What was remembered of it may be wrong, the connection is doubtful.
    fn give_up(&mut self, batch: Batch, error: &StoreError) {
        // Fails where SQLite has already rolled back by itself.
        let _ = self.end("ROLLBACK");
        self.context.projects.clear();
        self.link = None;
        self.turn.leave();
        for reply in batch.decided {
            answer(reply, Err(again(error)));
        }
        if let Some(units) = batch.unsent {
            refuse(units, error);
        }
    }

    pub(super) fn end(&mut self, how: &'static str) -> Result<(), StoreError> {
        let Some(link) = self.link.as_mut() else { return Err(failed("the connection is gone")) };
        let mut script = Script::default();
        script.add(how);
        link.run(&script).map_err(|error| self.told(error))
    }

    /// The store's word for a failure to write. One to flush is the last: what was written may be gone.
    fn told(&self, error: rusqlite::Error) -> StoreError {
        if is_unflushed(&error) {
            self.disk.lose();
        }
        self.disk.meaning(store_error(error))
    }
}

/// Adds the writes of a unit so that they can be taken back without the rest of the transaction.
fn add_apart(script: &mut Script, unit: &Unsent) {
    script.add("SAVEPOINT unit");
    write::add_changes(script, &unit.changes, unit.now);
    script.add("RELEASE unit");
}

/// Runs foreign code: what panics there fails its own unit and nothing else.
fn guard<T>(run: impl FnOnce() -> T) -> Result<T, Fault> {
    catch_unwind(AssertUnwindSafe(run)).map_err(|_| Fault::Unit(failed("a unit of work panicked")))
}

fn refuse(units: Unsent, error: &StoreError) {
    for reply in units.replies {
        answer(reply, Err(again(error)));
    }
}

/// The caller may be gone; its unit has run all the same.
fn answer(reply: Reply, result: Result<(), StoreError>) {
    let _ = reply.send(result);
}
