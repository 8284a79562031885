//! A runner at work: looks at the queue of checks and makes what waits, several at once, each in its own work tree.
//!
//! What may be made and by whom is decided by the engine. Here it is only counted how much is under way: so many runs in all,
//! and in each work tree as many commands as it has room for.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use docket_core::model::{Run, RunId, Taking};
use docket_core::prove::{Due, Lane, Prover};
use docket_core::store::ProjectRef;
use docket_core::{Code, Engine, Error, Kind, Reason};
use docket_runner::linked_to;
use tokio::task::{JoinError, JoinSet};

use crate::config::Configuration;
use crate::database::Place;
use crate::exit::Failure;
use crate::session::Caller;

/// How often it looks though nothing was committed: a runner may have gone away in the middle of a run.
const LOOK_SELDOM: Duration = Duration::from_secs(30);
/// How long it waits when the database turns it away.
const LOOK_AGAIN: Duration = Duration::from_secs(1);

/// What a runner is told.
#[derive(Debug)]
pub(super) struct Orders {
    pub(super) config: Configuration,
    pub(super) database: Place,
    /// The work tree that it was started in.
    pub(super) root: PathBuf,
    /// The folder that it was started in.
    pub(super) cwd: PathBuf,
    /// Whether it makes checks in those that are linked to it, too.
    pub(super) linked: bool,
    /// How many runs it makes at once.
    pub(super) jobs: usize,
    pub(super) project: ProjectRef,
}

/// A work tree, and who makes checks in it.
#[derive(Debug)]
struct Tree {
    root: PathBuf,
    prover: Arc<dyn Prover>,
    taking: Taking,
}

/// A runner with its work trees and what it is at.
pub(super) struct Crew {
    engine: Engine,
    caller: Caller,
    orders: Orders,
    /// The first is the one that it was started in: it takes what is about no work tree.
    trees: Vec<Tree>,
    tasks: JoinSet<(RunId, Result<Option<Run>, Error>)>,
    /// What they are at: it may look like waiting until it is taken.
    under_way: BTreeSet<RunId>,
}

impl Crew {
    pub(super) fn new(engine: Engine, caller: Caller, orders: Orders) -> Result<Self, Failure> {
        let prover = crate::prover::prover_in(&orders.config, orders.root.clone(), &orders.cwd, &orders.database)?;
        let first = Tree { root: orders.root.clone(), taking: Taking::Served(prover.place().cloned()), prover };
        let (trees, tasks, under_way) = (vec![first], JoinSet::new(), BTreeSet::new());
        let mut crew = Self { engine, caller, orders, trees, tasks, under_way };
        crew.find_trees()?;
        Ok(crew)
    }

    /// What its work trees are called.
    pub(super) fn places(&self) -> Vec<String> {
        self.trees.iter().filter_map(|tree| tree.prover.place().map(ToString::to_string)).collect()
    }

    /// Makes what waits now, and what comes to wait meanwhile; then ends.
    pub(super) async fn make_what_waits(&mut self) -> Result<(), Failure> {
        loop {
            self.find_trees()?;
            self.begin_what_waits().await?;
            match self.tasks.join_next().await {
                Some(ended) => self.ended(ended)?,
                None => return Ok(()),
            }
        }
    }

    /// Makes what waits, whenever something does. Ends only with an error that waiting does not mend.
    pub(super) async fn work(&mut self) -> Result<(), Failure> {
        let mut head = 0;
        loop {
            let known = self.engine.head().await;
            let mut pause = LOOK_SELDOM;
            if self.tasks.len() < self.orders.jobs {
                self.find_trees()?;
                match self.begin_what_waits().await {
                    Ok(look_again) => pause = look_again.map_or(LOOK_SELDOM, |pause| pause.min(LOOK_SELDOM)),
                    Err(error) => pause = passing(error)?,
                }
            }
            head = known.unwrap_or(head);
            let is_free = self.tasks.len() < self.orders.jobs;
            // Whatever it was that changed: the next look says whether it matters.
            let changed = tokio::time::timeout(pause, self.engine.changed(head));
            tokio::select! {
                Some(ended) = self.tasks.join_next() => {
                    if let Err(error) = self.ended(ended) {
                        tokio::time::sleep(passing(error)?).await;
                    }
                }
                _ = changed, if is_free => {}
            }
        }
    }

    /// Lets go of everything that is under way: no process of it is left, and whoever clears up puts the runs back.
    pub(super) async fn stop(&mut self) {
        self.tasks.shutdown().await;
    }

    /// Begins what waits, as far as there is room; says when to look again, as far as that is known.
    async fn begin_what_waits(&mut self) -> Result<Option<Duration>, Error> {
        let lanes: Vec<Lane<'_>> =
            self.trees.iter().map(|tree| Lane { prover: tree.prover.as_ref(), taking: &tree.taking }).collect();
        let has_room = |lane: usize, run: &Run| {
            let room = || lanes.get(lane).is_some_and(|lane| lane.prover.room_now().is_some());
            !self.under_way.contains(&run.id) && (!run.needs_room() || room())
        };
        let waiting = self.engine.waiting_runs(&lanes, &self.orders.project, &has_room).await?;
        for due in waiting.due {
            if self.tasks.len() >= self.orders.jobs {
                break;
            }
            self.begin(due);
        }
        Ok(waiting.look_again)
    }

    fn begin(&mut self, due: Due) {
        let Some(tree) = self.trees.get(due.lane()) else { return };
        let room = due.run().needs_room().then(|| tree.prover.room_now());
        // Another of those that were due is in this work tree now.
        if matches!(room, Some(None)) {
            return;
        }
        let (engine, call) = (self.engine.clone(), self.caller.call());
        let (prover, taking, run) = (Arc::clone(&tree.prover), tree.taking.clone(), due.run().id);
        self.under_way.insert(run);
        self.tasks.spawn(async move {
            let lane = Lane { prover: prover.as_ref(), taking: &taking };
            let made = engine.make_run(lane, &call, due).await;
            drop(room);
            (run, made)
        });
    }

    fn ended(&mut self, ended: Result<(RunId, Result<Option<Run>, Error>), JoinError>) -> Result<(), Error> {
        match ended {
            Ok((run, made)) => {
                self.under_way.remove(&run);
                match made {
                    // Its item was removed meanwhile, and the run with it: that concerns none of the others.
                    Err(error) if error.code == Code::NotFound => {
                        tracing::info!(%run, "a run is gone: its item was removed");
                        Ok(())
                    }
                    made => made.map(|_| ()),
                }
            }
            Err(error) => {
                // Which one it was is not told: what is still under way cannot be taken twice in any case.
                self.under_way.clear();
                tracing::error!(error = &error as &dyn std::error::Error, "a run was left in the middle");
                let message = "a run was left in the middle";
                Err(Error::new(Kind::Transient, Code::Unavailable, Reason::StoreFailed, message))
            }
        }
    }

    /// Work trees come and go while it works.
    fn find_trees(&mut self) -> Result<(), Failure> {
        if !self.orders.linked {
            return Ok(());
        }
        let found = linked_to(&self.orders.root);
        let own = self.orders.root.canonicalize().unwrap_or_else(|_| self.orders.root.clone());
        let mut kept = 0;
        self.trees.retain(|tree| {
            kept += 1;
            kept == 1 || found.contains(&tree.root)
        });
        for root in found {
            if root == own || self.trees.iter().any(|tree| tree.root == root) {
                continue;
            }
            let orders = &self.orders;
            let prover = crate::prover::prover_in(&orders.config, root.clone(), &orders.cwd, &orders.database)?;
            self.trees.push(Tree { root, taking: Taking::Own(prover.place().cloned()), prover });
        }
        Ok(())
    }
}

/// How long to wait after an error that may pass; the error itself, where it does not.
fn passing(error: Error) -> Result<Duration, Failure> {
    if error.kind == Kind::Permanent {
        return Err(error.into());
    }
    tracing::warn!(error = &error as &dyn std::error::Error, "the queue of checks cannot be read");
    Ok(LOOK_AGAIN)
}
