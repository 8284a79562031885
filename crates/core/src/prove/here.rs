//! Checks that are made in this process, for whoever waits.

use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use super::{Here, Proved, Prover, Room, Subject, Wanted, Why, agreed, is_known, knows_a_tree};
use crate::checks::{Look, standing};
use crate::command::{EndRun, OrderRuns, Report, RunsOrdered, TakeRun};
use crate::engine::{Call, Engine};
use crate::error::{Error, Kind, Reason};
use crate::limits;
use crate::model::{Check, CheckStanding, ItemRef, Run, RunId, RunState, Taking, Timestamp};
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

/// By whom a run was made that was not begun at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum By {
    /// By this call, when it was its turn.
    Us,
    /// By another call or process, perhaps on a work tree that was another then.
    Others,
}

impl Engine {
    pub(super) async fn prove_here(
        &self,
        here: &Here,
        call: &Call,
        project: ProjectRef,
        item: ItemRef,
        wanted: Wanted,
        why: Why,
    ) -> Result<Proved, Error> {
        let prover = here.prover.as_ref();
        let mut subject = self.subject(project.clone(), item.clone()).await?;
        let since = subject.now;
        let places = crate::command::places(&wanted.only, &subject.checks, "only")?;
        // Nothing is known of any tree: then there is nothing to compare it with.
        let mut look = self.looked(prover, &subject, since).await?;
        let known = knows_a_tree(&subject.checks);
        let runnable = |index: &usize| subject.checks.get(*index).filter(|check| check.kind.is_runnable());
        let same =
            |index: &usize| runnable(index).is_some_and(|check| !wanted.again && is_known(&subject, check, &look));
        let (mut unchanged, mut open): (Vec<usize>, Vec<usize>) =
            places.into_iter().filter(|index| runnable(index).is_some()).partition(same);
        let mut done: Vec<Run> = Vec::new();
        for round in 0..limits::PROVE_ROUNDS {
            if open.is_empty() {
                break;
            }
            // Where there is no room they are queued, and each is taken when there is: a run's time begins when it is made.
            let room = room_for(prover, &subject, &open);
            let skip = (0..subject.checks.len()).filter(|index| !open.contains(index)).collect();
            let order = OrderRuns {
                project: project.clone(),
                item: item.clone(),
                only: wanted.only.clone(),
                again: wanted.again,
                unchanged: if round == 0 { unchanged.clone() } else { skip },
                runner: room.is_some().then(|| prover.name().clone()),
                allowed: here.lets(call, &subject, why),
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
            drop(room);
            let (followed, joined) =
                self.follow_all(here, (call, why), others, &subject, step + 1 + limits::CHECKS * 2).await?;
            done.extend(followed);
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
        let ended = self.execute_patiently(self.step(call, step), Arc::new(end)).await?;
        Ok(ended.runs.into_iter().next().unwrap_or_else(|| run.clone()))
    }

    /// What a prover reports, unless somebody gives the run up meanwhile: then it is dropped, and ends with that. That nobody can
    /// say so for the moment is no reason to.
    async fn unless_given_up(&self, run: &Run, report: impl Future<Output = Report>) -> Result<Option<Report>, Error> {
        let given_up = async {
            let mut known = None;
            loop {
                match self.stands(run, known).await {
                    Ok((RunState::Running, head)) => known = Some(head),
                    Ok(_) => return Ok(()),
                    Err(error) if error.kind == Kind::Permanent => return Err(error),
                    Err(error) => self.pause(error).await?,
                }
            }
        };
        match first(report, given_up).await {
            Ok(report) => Ok(Some(report)),
            Err(given_up) => given_up.map(|()| None),
        }
    }

    /// How a run that is being made stands, once something was committed after what is known.
    async fn stands(&self, run: &Run, known: Option<u64>) -> Result<(RunState, u64), Error> {
        let Some(known) = known else { return Ok((RunState::Running, self.store.head().await?)) };
        let head = self.store.changed(known).await?;
        let seen = self.store.view(&Scope { run_ids: vec![run.id], ..Scope::default() }).await?;
        Ok((seen.runs.get(&run.id).map_or(RunState::Cancelled, |run| run.state), head))
    }

    /// Waits until the store may have more time, where there is a clock to wait by.
    async fn pause(&self, error: Error) -> Result<(), Error> {
        let Some(runs) = &self.runs else { return Err(error) };
        runs.timer()(Duration::from_millis(error.retry_after_ms.unwrap_or(limits::PATIENCE_MS))).await;
        Ok(())
    }

    /// Waits for runs that were not begun at once; says which checks others have made.
    async fn follow_all(
        &self,
        here: &Here,
        asked: (&Call, Why),
        runs: Vec<Run>,
        subject: &Subject,
        step: usize,
    ) -> Result<(Vec<Run>, Vec<usize>), Error> {
        let (mut done, mut joined) = (Vec::with_capacity(runs.len()), Vec::new());
        for (place, other) in runs.into_iter().enumerate() {
            let (run, by) = self.follow(here, asked, other, subject, step + place * 2).await?;
            joined.extend(Some(run.check).filter(|_| by == By::Others));
            done.push(run);
        }
        Ok((done, joined))
    }

    /// Waits for a run that another process makes, or another call in this one; takes it over where nobody does.
    async fn follow(
        &self,
        here: &Here,
        asked: (&Call, Why),
        run: Run,
        subject: &Subject,
        step: usize,
    ) -> Result<(Run, By), Error> {
        let prover = here.prover.as_ref();
        let mut room = (!run.needs_room()).then(Room::default);
        let mut told = false;
        loop {
            let head = self.store.head().await?;
            let seen = self.store.view(&Scope { run_ids: vec![run.id], ..Scope::default() }).await?;
            let Some(known) = seen.runs.get(&run.id) else { return Ok((run, By::Others)) };
            match known.state_at(seen.now) {
                RunState::Passed | RunState::Failed | RunState::Cancelled => return Ok((known.clone(), By::Others)),
                RunState::Running => {
                    // Others may use it meanwhile.
                    room = room.filter(|_| !run.needs_room());
                    let left = known.due_at.map_or(0, |due| due.as_millis() - seen.now.as_millis()).max(0);
                    let left = Duration::from_millis(left.unsigned_abs() + 1);
                    if !std::mem::replace(&mut told, true) {
                        self.listener.follows(known, left);
                    }
                    let lost = (here.sleep)(left);
                    first(self.store.changed(head), lost).await.map_or(Ok(()), |newer| newer.map(|_| ()))?;
                }
                RunState::Queued | RunState::Lost if room.is_none() => {
                    match first(self.store.changed(head), prover.room()).await {
                        Ok(newer) => _ = newer?,
                        Err(found) => room = Some(found),
                    }
                }
                RunState::Queued | RunState::Lost => {
                    if let Some(made) = self.take_over(here, asked, &run, subject, step).await? {
                        return Ok((made, By::Us));
                    }
                }
            }
        }
    }

    /// Takes a run that nobody makes, and makes it; nothing, where another was quicker.
    async fn take_over(
        &self,
        here: &Here,
        (call, why): (&Call, Why),
        run: &Run,
        subject: &Subject,
        step: usize,
    ) -> Result<Option<Run>, Error> {
        let prover = here.prover.as_ref();
        let allowed = here.lets(call, subject, why);
        let take = TakeRun { run: run.id, runner: prover.name().clone(), allowed, taking: Taking::Asked };
        let run = match self.run_alone(call, take, step).await {
            Ok(taken) => taken.runs.into_iter().next().unwrap_or_else(|| run.clone()),
            Err(error) if error.reason == Reason::RunEnded => return Ok(None),
            Err(error) => return Err(error),
        };
        if run.state != RunState::Running {
            return Ok(Some(run));
        }
        self.listener.begins(&run, 1, 1);
        let making = Making { run, back: true, next: None, subject, step: step + 1 };
        self.perform(prover, call, making).await.map(Some)
    }
}

/// Room for those of these checks that need some, if there is any at this moment.
fn room_for(prover: &dyn Prover, subject: &Subject, open: &[usize]) -> Option<Room> {
    let in_tree = |index: &usize| subject.checks.get(*index).is_some_and(|check| check.kind.needs_room());
    if open.iter().any(in_tree) { prover.room_now() } else { Some(Room::default()) }
}

/// What one of two comes to, whichever is first; the other is dropped.
async fn first<A, B>(one: impl Future<Output = A>, other: impl Future<Output = B>) -> Result<A, B> {
    let (mut one, mut other) = (pin!(one), pin!(other));
    std::future::poll_fn(|context| match one.as_mut().poll(context) {
        Poll::Ready(one) => Poll::Ready(Ok(one)),
        Poll::Pending => other.as_mut().poll(context).map(Err),
    })
    .await
}

/// Whether a check that others made has a result of what is there now, or is not there any more.
fn counts(checks: &[Check], index: usize, look: &Look) -> bool {
    let stands = checks.get(index).map(|check| standing(check, Some(look)));
    matches!(stands, None | Some(CheckStanding::Pass | CheckStanding::Fail))
}
