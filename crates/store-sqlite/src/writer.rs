//! The one writer: units of work come in by a queue of fixed length, and those that wait together share a commit.
//!
//! The writer is a task of its own, so that a caller who goes away leaves no transaction behind: its unit runs to its end.
//! It waits for nothing while it holds the database's lock but the database itself. A caller who is alone is served in
//! place, in one go: to wake the writer and be woken by it would cost as much as a third of the commit.

mod desk;
mod late;

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use docket_core::store::{StoreError, Unit};
use tokio::sync::{MappedMutexGuard, Mutex, MutexGuard, mpsc, oneshot};

use crate::context::Context;
use crate::disk::Disk;
use crate::error::failed;
use crate::options::{BATCH_UNITS, QUEUED_UNITS};
use crate::place::{has_threads, in_place, run_apart};
use crate::pool::{Connector, Link};
use crate::watch::Watch;

use desk::Desk;

type Reply = oneshot::Sender<Result<(), StoreError>>;

/// A unit that waits for its turn.
type Job = (Box<dyn Unit>, Reply);

enum Message {
    Run(Box<dyn Unit>, Reply),
    Stop(oneshot::Sender<()>),
}

/// What a writer looks at beside the database, and tells of what it does.
#[derive(Debug)]
pub(crate) struct Around {
    pub(crate) watch: Arc<Watch>,
    pub(crate) disk: Arc<Disk>,
}

/// The way to the writer.
#[derive(Debug)]
pub(crate) struct Writer {
    queue: mpsc::Sender<Message>,
    desk: Arc<Mutex<Desk>>,
    /// How many callers are on their way to a commit.
    callers: AtomicUsize,
    /// Whether the writer has a thread of its own.
    apart: bool,
}

impl Writer {
    /// Starts the writer. It ends when this handle is gone and all that was queued has been run.
    pub(crate) fn start(connector: Arc<Connector>, context: Arc<Context>, around: Around) -> Result<Self, StoreError> {
        let (queue, messages) = mpsc::channel(QUEUED_UNITS);
        let shared = Arc::new(Mutex::new(Desk::new(connector, context, around)));
        let served = serve(Arc::clone(&shared), messages);
        run_apart("docket-writer", served).map_err(|error| StoreError::Failed(Box::new(error)))?;
        Ok(Self { queue, desk: shared, callers: AtomicUsize::new(0), apart: has_threads() })
    }

    /// The writer's connection, where nobody uses it: unlike those of readers it still knows the pages of its own last
    /// commits. The writer waits until it is given back, so it is for quick looks alone.
    pub(crate) fn idle(&self) -> Option<MappedMutexGuard<'_, Link>> {
        let desk = self.desk.try_lock().ok()?;
        MutexGuard::try_map(desk, Desk::idle_link).ok()
    }

    /// Runs a unit to its commit; turned away at once when too many wait.
    pub(crate) async fn execute(&self, unit: Box<dyn Unit>) -> Result<(), StoreError> {
        let caller = Caller::come(&self.callers);
        let unit = if caller.is_alone && self.apart {
            match self.run_here(unit) {
                Ok(done) => return done,
                Err(unit) => unit,
            }
        } else {
            unit
        };
        let (reply, answer) = oneshot::channel();
        self.queue.try_send(Message::Run(unit, reply)).map_err(|error| match error {
            mpsc::error::TrySendError::Full(_) => StoreError::Overloaded,
            mpsc::error::TrySendError::Closed(_) => failed("the store is closed"),
        })?;
        answer.await.unwrap_or_else(|_| Err(failed("the writer is gone")))
    }

    /// Runs a unit in place, in one go; gives it back where that would mean to wait for somebody.
    fn run_here(&self, unit: Box<dyn Unit>) -> Result<Result<(), StoreError>, Box<dyn Unit>> {
        match self.desk.try_lock() {
            Ok(mut desk) => in_place(|| desk.run_now(unit)),
            Err(_) => Err(unit),
        }
    }

    /// Lets the writer finish what is queued, then ends it.
    pub(crate) async fn stop(&self) {
        let (done, stopped) = oneshot::channel();
        if self.queue.send(Message::Stop(done)).await.is_ok() {
            let _ = stopped.await;
        }
    }
}

/// Somebody on the way to a commit, counted as long as that takes.
struct Caller<'c> {
    callers: &'c AtomicUsize,
    is_alone: bool,
}

impl<'c> Caller<'c> {
    fn come(callers: &'c AtomicUsize) -> Self {
        Self { callers, is_alone: callers.fetch_add(1, Ordering::Relaxed) == 0 }
    }
}

impl Drop for Caller<'_> {
    fn drop(&mut self) {
        self.callers.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Runs what is queued, batch by batch, until it is told to stop.
async fn serve(desk: Arc<Mutex<Desk>>, mut messages: mpsc::Receiver<Message>) {
    let mut taken = Vec::with_capacity(BATCH_UNITS);
    let mut stopped = None;
    while stopped.is_none() && messages.recv_many(&mut taken, BATCH_UNITS).await > 0 {
        let mut units = VecDeque::with_capacity(taken.len());
        for message in taken.drain(..) {
            match message {
                Message::Run(unit, reply) => units.push_back((unit, reply)),
                Message::Stop(done) => stopped = Some(done),
            }
        }
        if !units.is_empty() {
            desk.lock().await.run(units).await;
        }
    }
    desk.lock().await.close();
    if let Some(done) = stopped {
        let _ = done.send(());
    }
}
