//! The runs that this process is at: when it is told to stop in the middle, they do not have to be waited for until they count
//! as lost.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use crate::command::{EndRun, Report};
use crate::engine::{Call, Engine};
use crate::error::Error;
use crate::model::{Definition, Name, Run, RunEnd, RunId};

/// The runs that are being made by clones of one engine.
#[derive(Debug, Default)]
pub(crate) struct Held {
    runs: Mutex<BTreeMap<RunId, Holding>>,
    /// How many have begun to see to what waits: only the last of them goes on doing so.
    keepers: AtomicU64,
}

#[derive(Clone, Debug)]
struct Holding {
    runner: Name,
    definition: Definition,
    /// It had waited for any runner, and does so again.
    back: bool,
    /// Whoever made it was dropped before its end.
    dropped: bool,
}

/// A run that is being made. Dropped before [`Hold::ended`], it is left to whoever clears up.
pub(crate) struct Hold<'h> {
    held: &'h Held,
    run: RunId,
}

impl Held {
    /// Notes that a run is being made.
    pub(crate) fn hold(&self, run: &Run, runner: &Name, back: bool) -> Hold<'_> {
        let holding = Holding { runner: runner.clone(), definition: run.definition.clone(), back, dropped: false };
        self.with(|held| held.insert(run.id, holding));
        Hold { held: self, run: run.id }
    }

    /// Another begins to see to what waits; the number tells whether it still is the last.
    pub(crate) fn keep(&self) -> u64 {
        self.keepers.fetch_add(1, Ordering::Relaxed) + 1
    }

    /// Whether nobody began to see to what waits after this one.
    pub(crate) fn is_keeper(&self, number: u64) -> bool {
        self.keepers.load(Ordering::Relaxed) == number
    }

    fn with<T>(&self, act: impl FnOnce(&mut BTreeMap<RunId, Holding>) -> T) -> T {
        act(&mut self.runs.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn take(&self, all: bool) -> Vec<(RunId, Holding)> {
        self.with(|held| {
            let given_up: Vec<_> =
                held.iter().filter(|(_, holding)| all || holding.dropped).map(|(id, it)| (*id, it.clone())).collect();
            for (id, _) in &given_up {
                held.remove(id);
            }
            given_up
        })
    }
}

impl Hold<'_> {
    /// The run has ended, and what became of it is on record.
    pub(crate) fn ended(self) {
        self.held.with(|held| held.remove(&self.run));
    }
}

impl Drop for Hold<'_> {
    fn drop(&mut self) {
        self.held.with(|held| held.get_mut(&self.run).into_iter().for_each(|holding| holding.dropped = true));
    }
}

impl Engine {
    /// Gives up the runs whose makers were dropped in the middle: those that somebody asked for here are cancelled, those that
    /// had waited for any runner wait again.
    pub async fn give_up_dropped_runs(&self, call: &Call) -> Result<usize, Error> {
        self.give_up(call, false).await
    }

    /// The same for every run that this process is at, because it ends.
    pub async fn give_up_runs(&self, call: &Call) -> Result<usize, Error> {
        self.give_up(call, true).await
    }

    async fn give_up(&self, call: &Call, all: bool) -> Result<usize, Error> {
        let mut given_up = 0;
        for (step, (run, holding)) in self.held.take(all).into_iter().enumerate() {
            let Holding { runner, definition, back, .. } = holding;
            let report = Report::undone(RunEnd::Cancelled);
            let end = EndRun { run, runner, definition, report, back, next: None };
            match self.run_alone(call, end, step + 1).await {
                Ok(_) => given_up += 1,
                // It ended by itself at the last moment, or somebody else gave it up.
                Err(error) if error.reason == crate::error::Reason::RunEnded => {}
                Err(error) => return Err(error),
            }
        }
        Ok(given_up)
    }
}
