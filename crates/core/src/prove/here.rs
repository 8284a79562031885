//! Checks that are made in this process, for whoever waits.

use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use super::{Here, Proved, Prover, Subject, Wanted, agreed, is_known, knows_a_tree};
use crate::checks::{Look, standing};
use crate::command::{EndRun, OrderRuns, Report, RunsOrdered, TakeRun};
use crate::engine::{Call, Engine};
use crate::error::{Error, Reason};
use crate::limits;
use crate::model::{Check, CheckStanding, Definition, ItemRef, Run, RunId, RunState, Taking, Timestamp};
use crate::store::{ProjectRef, Scope};

/// A run that this process makes.
pub(super) struct Making<'m> {
    /// The run, which is running.
    pub(super) run: Run,
    /// Whether it had waited for any runner, and does so again if this one does not make it.
    pub(super) back: bool,
    /// The run that follows.
    pub(super) next: Option<RunId>,
    /// What it is of.
    pub(super) subject: &'m Subject,
    /// The step of the call that records its end.
    pub(super) step: usize,
}

impl Engine {
    pub(super) async fn prove_here(
        &self,
        here: &Here,
        call: &Call,
        project: ProjectRef,
        item: ItemRef,
        wanted: Wanted,
    ) -> Result<Proved, Error> {
        let prover = here.prover.as_ref();
        let mut subject = self.subject(project.clone(), item.clone()).await?;
        let since = subject.now;
        let places = crate::command::places(&wanted.only, &subject.checks, "only")?;
        // Nothing is known of any tree: then there is nothing to compare it with.
        let mut look = self.looked(prover, &subject, since).await?;
        let known = knows_a_tree(&subject.checks);
        let runnable = |index: &usize| subject.checks.get(*index).filter(|check| check.kind.is_runnable());
        let same = |index: &usize| runnable(index).is_some_and(|check| !wanted.again && is_known(check, &look));
        let (mut unchanged, mut open): (Vec<usize>, Vec<usize>) =
            places.into_iter().filter(|index| runnable(index).is_some()).partition(same);
        let mut done: Vec<Run> = Vec::new();
        for round in 0..limits::PROVE_ROUNDS {
            if open.is_empty() {
                break;
            }
            let skip = (0..subject.checks.len()).filter(|index| !open.contains(index)).collect();
            let order = OrderRuns {
                project: project.clone(),
                item: item.clone(),
                only: wanted.only.clone(),
                again: wanted.again,
                unchanged: if round == 0 { unchanged.clone() } else { skip },
                runner: Some(prover.name().clone()),
                allowed: subject.allowed(&here.lets(call)),
            };
            let step = round * limits::CHECKS * 4 + 1;
            let request = call.request.clone().filter(|_| round == 0);
            let of_order = Call { request, ..self.step(call, step) };
            let mark = RunsOrdered::mark(&of_order);
            let ordered = self.execute(of_order, Arc::new(order)).await?;
            if round == 0 {
                unchanged.clone_from(&ordered.unchanged);
            }
            let mine = ordered.call == mark;
            let (begun, others): (Vec<Run>, Vec<Run>) =
                ordered.runs.iter().cloned().partition(|run| mine && ordered.started.contains(&run.id));
            done.extend(self.make_all(prover, call, begun, &ordered, &subject, step + 1).await?);
            let joined: Vec<usize> = others.iter().map(|run| run.check).collect();
            for (place, other) in others.into_iter().enumerate() {
                let step = step + 1 + limits::CHECKS * 2 + place * 2;
                done.push(self.follow(here, call, other, &subject, step).await?);
            }
            if joined.is_empty() || !mine {
                break;
            }
            // What others made meanwhile counts if it is of what is there now.
            subject = self.subject(project.clone(), item.clone()).await?;
            look = self.looked(prover, &subject, since).await?;
            open = joined.into_iter().filter(|index| !counts(&subject.checks, *index, &look)).collect();
            done.retain(|run| !open.contains(&run.check));
        }
        done.sort_by_key(|run| run.check);
        // Each run was made on a tree that stood still, or on none that is known: what ran may have changed it.
        let seen = agreed(&done).filter(|tree| unchanged.is_empty() || look.tree.as_ref() == Some(tree));
        if !done.is_empty() || !known {
            look.tree = match seen {
                Some(tree) => Some(tree),
                None => prover.tree(&subject.project).await?,
            };
        }
        Ok(Proved { look, runs: done, unchanged })
    }

    async fn looked(&self, prover: &dyn Prover, subject: &Subject, since: Timestamp) -> Result<Look, Error> {
        let tree = if knows_a_tree(&subject.checks) { prover.tree(&subject.project).await? } else { None };
        Ok(Look { tree, since })
    }

    /// Makes runs that this process has begun, one after the other.
    async fn make_all(
        &self,
        prover: &dyn Prover,
        call: &Call,
        runs: Vec<Run>,
        ordered: &RunsOrdered,
        subject: &Subject,
        step: usize,
    ) -> Result<Vec<Run>, Error> {
        let ids: Vec<RunId> = runs.iter().map(|run| run.id).collect();
        let mut done = Vec::with_capacity(runs.len());
        // All of them are held from now on: whoever is dropped in the middle leaves none behind.
        let holds: Vec<_> =
            runs.iter().map(|run| self.held.hold(run, prover.name(), ordered.taken.contains(&run.id))).collect();
        for (place, run) in runs.into_iter().enumerate() {
            self.listener.begins(&run, place + 1, ids.len());
            let (back, next) = (ordered.taken.contains(&run.id), ids.get(place + 1).copied());
            let making = Making { run, back, next, subject, step: step + place };
            done.push(self.perform(prover, call, making).await?);
        }
        drop(holds);
        Ok(done)
    }

    /// Makes one run and records it.
    pub(super) async fn perform(&self, prover: &dyn Prover, call: &Call, making: Making<'_>) -> Result<Run, Error> {
        let Making { run, back, next, subject, step } = making;
        let hold = self.held.hold(&run, prover.name(), back);
        let report = prover.run(&run, &subject.item, &subject.project, self.listener.as_ref());
        let ended = match self.unless_given_up(&run, report).await? {
            Some(report) => self.end(prover, call, &run, report, back, next, step).await,
            None => self.run_named(run.id).await,
        };
        let ended = match ended {
            // Somebody gave it up at the last moment.
            Err(error) if error.reason == Reason::RunEnded => self.run_named(run.id).await?,
            ended => ended?,
        };
        hold.ended();
        self.listener.ends(&ended);
        Ok(ended)
    }

    /// Records what became of a run.
    #[expect(clippy::too_many_arguments, reason = "each says another thing about the end")]
    pub(super) async fn end(
        &self,
        prover: &dyn Prover,
        call: &Call,
        run: &Run,
        report: Report,
        back: bool,
        next: Option<RunId>,
        step: usize,
    ) -> Result<Run, Error> {
        let (runner, definition) = (prover.name().clone(), run.definition.clone());
        let end = EndRun { run: run.id, runner, definition, report, back, next };
        let ended = self.run_alone(call, end, step).await?;
        Ok(ended.runs.into_iter().next().unwrap_or_else(|| run.clone()))
    }

    /// What a prover reports, unless somebody gives the run up meanwhile: then it is dropped, and ends with that.
    async fn unless_given_up(&self, run: &Run, report: impl Future<Output = Report>) -> Result<Option<Report>, Error> {
        let mut report = pin!(report);
        let mut head = self.store.head().await?;
        loop {
            let mut changed = self.store.changed(head);
            let first = std::future::poll_fn(|context| match report.as_mut().poll(context) {
                Poll::Ready(report) => Poll::Ready(Ok(report)),
                Poll::Pending => changed.as_mut().poll(context).map(Err),
            });
            match first.await {
                Ok(report) => return Ok(Some(report)),
                Err(newer) => head = newer?,
            }
            let scope = Scope { run_ids: vec![run.id], ..Scope::default() };
            let stands = self.store.view(&scope).await?.runs.get(&run.id).map(|run| run.state);
            if stands != Some(RunState::Running) {
                return Ok(None);
            }
        }
    }

    /// Waits for a run that another process makes, or another call in this one; takes it over where nobody does.
    async fn follow(&self, here: &Here, call: &Call, run: Run, subject: &Subject, step: usize) -> Result<Run, Error> {
        let prover = here.prover.as_ref();
        let allowed: Vec<Definition> = subject.allowed(&here.lets(call));
        loop {
            let head = self.store.head().await?;
            let seen = self.store.view(&Scope { run_ids: vec![run.id], ..Scope::default() }).await?;
            let Some(known) = seen.runs.get(&run.id) else { return Ok(run) };
            match known.state_at(seen.now) {
                RunState::Passed | RunState::Failed | RunState::Cancelled => return Ok(known.clone()),
                RunState::Running => {
                    let left = known.due_at.map_or(0, |due| due.as_millis() - seen.now.as_millis()).max(0);
                    let lost = (here.sleep)(Duration::from_millis(left.unsigned_abs() + 1));
                    let mut changed = self.store.changed(head);
                    let mut lost = pin!(lost);
                    std::future::poll_fn(|context| match changed.as_mut().poll(context) {
                        Poll::Ready(newer) => Poll::Ready(newer.map(|_| ())),
                        Poll::Pending => lost.as_mut().poll(context).map(Ok),
                    })
                    .await?;
                }
                RunState::Queued | RunState::Lost => {
                    let (runner, allowed) = (prover.name().clone(), allowed.clone());
                    let take = TakeRun { run: run.id, runner, allowed, taking: Taking::Asked };
                    match self.run_alone(call, take, step).await {
                        Ok(taken) => {
                            let run = taken.runs.into_iter().next().unwrap_or_else(|| run.clone());
                            if run.state != RunState::Running {
                                return Ok(run);
                            }
                            self.listener.begins(&run, 1, 1);
                            let making = Making { run, back: true, next: None, subject, step: step + 1 };
                            return self.perform(prover, call, making).await;
                        }
                        // Another was quicker.
                        Err(error) if error.reason == Reason::RunEnded => {}
                        Err(error) => return Err(error),
                    }
                }
            }
        }
    }
}

/// Whether a check that others made has a result of what is there now, or is not there any more.
fn counts(checks: &[Check], index: usize, look: &Look) -> bool {
    let stands = checks.get(index).map(|check| standing(check, Some(look)));
    matches!(stands, None | Some(CheckStanding::Pass | CheckStanding::Fail))
}
