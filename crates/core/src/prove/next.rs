//! Runs that wait in the queue, made by whoever they are for.

use std::collections::BTreeSet;
use std::time::Duration;

use super::here::Making;
use super::{Here, Prover, Runs, Subject, is_known, knows_a_tree};
use crate::checks::Look;
use crate::command::{Report, TakeRun};
use crate::engine::{Call, Engine};
use crate::error::{Error, Kind, Reason};
use crate::limits;
use crate::model::{Check, Definition, ItemId, ItemRef, Run, RunEnd, RunState, Taking, Text, Turn};
use crate::store::{Around, ProjectRef, RunFilter, Scope, Slice};

/// What a look at the queue came to.
#[derive(Clone, Debug)]
pub enum Next {
    /// A run was made, or tried: there may be more.
    Made(Box<Run>),
    /// There is nothing to make now.
    Nothing {
        /// When there will be, as far as that is known: something is looked at again, or another runner counts as gone by then.
        look_again: Option<Duration>,
    },
}

/// A work tree with whoever makes runs in it, and which of those that wait it takes.
#[derive(Clone, Copy, Debug)]
pub struct Lane<'l> {
    /// Who makes them.
    pub prover: &'l dyn Prover,
    /// Which ones.
    pub taking: &'l Taking,
}

/// A run that waits and may be made now.
#[derive(Clone, Debug)]
pub struct Due {
    run: Run,
    lane: usize,
    subject: Subject,
    allowed: Vec<Definition>,
}

impl Due {
    /// The run, as it waits.
    pub fn run(&self) -> &Run {
        &self.run
    }

    /// The work tree that takes it, by its place among those that were asked for.
    pub fn lane(&self) -> usize {
        self.lane
    }
}

/// What a look at the queue saw.
#[derive(Clone, Debug, Default)]
pub struct Waiting {
    /// What may be made now, the oldest first.
    pub due: Vec<Due>,
    /// When there will be more, as far as that is known.
    pub look_again: Option<Duration>,
}

impl Waiting {
    fn look_in(&mut self, millis: i64) {
        let left = Duration::from_millis(millis.unsigned_abs());
        self.look_again = Some(self.look_again.map_or(left, |earlier| earlier.min(left)));
    }
}

impl Engine {
    /// Makes every run that waits for the work tree of this process and may be made here: for whoever has just handed something
    /// in, or has just begun. Goes on for as long as there is something to look at again later, unless somebody else in this
    /// process begins the same: the last one sees to everything.
    pub async fn make_waiting(&self, call: &Call, project: &ProjectRef) -> Result<usize, Error> {
        let Some(Runs::Here(here)) = &self.runs else { return Ok(0) };
        let number = self.held.keep();
        let mut made = 0;
        while self.held.is_keeper(number) {
            let pause = self.make_due(here, call, project, &mut made).await?;
            let Some(pause) = pause else { break };
            (here.sleep)(pause).await;
        }
        Ok(made)
    }

    /// Makes what waits now; says how long until there is more to do.
    async fn make_due(
        &self,
        here: &Here,
        call: &Call,
        project: &ProjectRef,
        made: &mut usize,
    ) -> Result<Option<Duration>, Error> {
        let prover = here.prover.as_ref();
        let taking = Taking::Own(prover.place().cloned());
        loop {
            let seed = call.seed.wrapping_add((*made as u128 + 1) << 32);
            let call = Call { seed, ..call.clone() };
            match self.make_next_run(prover, &taking, &call, project).await {
                Ok(Next::Made(_)) => *made += 1,
                Ok(Next::Nothing { look_again }) => return Ok(look_again),
                Err(error) if error.kind == Kind::Permanent => return Err(error),
                Err(error) => {
                    tracing::warn!(error = &error as &dyn std::error::Error, "the queue of checks cannot be read");
                    return Ok(Some(Duration::from_millis(limits::RUN_PAUSE_MS.unsigned_abs())));
                }
            }
        }
    }

    /// Takes the oldest run of a project that waits and is this prover's to make, if there is one, and makes it. What it could
    /// not make before is left to others, or for later. A command waits until there is room for it in the work tree.
    pub async fn make_next_run(
        &self,
        prover: &dyn Prover,
        taking: &Taking,
        call: &Call,
        project: &ProjectRef,
    ) -> Result<Next, Error> {
        let lane = Lane { prover, taking };
        let (mut room, mut step) = (None, 0);
        for _ in 0..limits::PROVE_ROUNDS {
            let waiting = self.waiting_runs(&[lane], project, &|_, _| true).await?;
            if waiting.due.is_empty() {
                return Ok(Next::Nothing { look_again: waiting.look_again });
            }
            for due in waiting.due {
                if due.run.needs_room() && room.is_none() {
                    room = prover.room_now();
                    if room.is_none() {
                        room = Some(prover.room().await);
                        // What waits may be something else by now.
                        break;
                    }
                }
                step += 2;
                if let Some(made) = self.try_one(lane, call, due, step).await? {
                    return Ok(Next::Made(Box::new(made)));
                }
            }
        }
        // Whenever it looked others were quicker: there is enough of them.
        Ok(Next::Nothing { look_again: Some(Duration::from_millis(limits::RUN_PAUSE_MS.unsigned_abs())) })
    }

    /// The oldest runs of a project that wait and may be made now, each with the first work tree that takes it and has room for
    /// it. A page of them at the most: there may be more once these are made.
    pub async fn waiting_runs(
        &self,
        lanes: &[Lane<'_>],
        project: &ProjectRef,
        has_room: &(dyn Fn(usize, &Run) -> bool + Sync),
    ) -> Result<Waiting, Error> {
        let mut filter = RunFilter {
            visible: self.access.projects.clone(),
            project: project.clone(),
            open_only: true,
            limit: limits::PAGE,
            ..RunFilter::default()
        };
        let mut waiting = Waiting::default();
        loop {
            let page = self.store.runs(&filter).await?;
            filter.after = page.last().map(|run| run.id);
            let is_last = page.len() < limits::PAGE;
            let lane_of = |run: &Run| lanes.iter().position(|lane| lane.taking.includes(run));
            let mine: Vec<(Run, usize)> =
                page.into_iter().filter_map(|run| lane_of(&run).map(|lane| (run, lane))).collect();
            let seen = if mine.is_empty() { Slice::default() } else { self.subjects(&mine).await? };
            for (run, lane) in mine {
                let Some(here) = lanes.get(lane) else { continue };
                match run.turn(here.prover.name(), seen.now) {
                    Turn::Never => {}
                    Turn::At(at) => waiting.look_in(at.as_millis() - seen.now.as_millis()),
                    Turn::Now if !has_room(lane, &run) => {}
                    Turn::Now => waiting.due.extend(self.due(*here, run, lane, &seen)?),
                }
            }
            if is_last || !waiting.due.is_empty() {
                return Ok(waiting);
            }
        }
    }

    /// Takes a run that waits and makes it, unless another does meanwhile.
    pub async fn make_run(&self, lane: Lane<'_>, call: &Call, due: Due) -> Result<Option<Run>, Error> {
        self.try_one(lane, call, due, 2).await
    }

    /// A run of which it is known what it is about, unless nobody lets it run.
    fn due(&self, lane: Lane<'_>, run: Run, place: usize, seen: &Slice) -> Result<Option<Due>, Error> {
        // An item that went away takes its runs with it.
        let Some(item) = seen.items.get(&run.item) else { return Ok(None) };
        let subject = Subject::of(seen, item)?;
        let allowed = subject.allowed(lane.prover.allowed());
        let check = subject.checks.iter().find(|check| check.definition() == run.definition);
        if check.is_some_and(|check| !check.is_approved() && !allowed.contains(&run.definition)) {
            self.listener.barred(&run, &subject.project.key(subject.item.number));
            return Ok(None);
        }
        Ok(Some(Due { run, lane: place, subject, allowed }))
    }

    /// The items of runs, with their checks, as of one moment.
    async fn subjects(&self, runs: &[(Run, usize)]) -> Result<Slice, Error> {
        let items: BTreeSet<ItemId> = runs.iter().map(|(run, _)| run.item).collect();
        let scope = Scope {
            items: items.into_iter().map(ItemRef::Id).collect(),
            around: Around { briefs: true, ..Around::default() },
            visible: self.access.projects.clone(),
            ..Scope::default()
        };
        Ok(self.store.view(&scope).await?)
    }

    /// Takes a run and makes it, unless another does.
    async fn try_one(&self, lane: Lane<'_>, call: &Call, due: Due, step: usize) -> Result<Option<Run>, Error> {
        let Lane { prover, taking } = lane;
        let Due { run: waiting, subject, allowed, .. } = due;
        let take = TakeRun { run: waiting.id, runner: prover.name().clone(), allowed, taking: taking.clone() };
        let taken = match self.run_alone(call, take, step).await {
            Ok(taken) => taken.runs.into_iter().next().unwrap_or(waiting),
            // Another was quicker, or somebody changed the check meanwhile.
            Err(error) if matches!(error.reason, Reason::RunEnded | Reason::CheckNotApproved) => {
                return Ok(None);
            }
            Err(error) => return Err(error),
        };
        if taken.state != RunState::Running {
            return Ok(None);
        }
        self.listener.begins(&taken, 1, 1);
        let Some(report) = self.settled(prover, &taken, &subject).await else {
            let making = Making { run: taken, back: true, next: None, subject: &subject, step: step + 1 };
            return self.perform(prover, call, making).await.map(Some);
        };
        let ended = self.end(prover, call, &taken, report, true, None, step + 1).await?;
        self.listener.ends(&ended);
        Ok(Some(ended))
    }

    /// What can be said of a run without making it: nothing changed since the last, or the work tree cannot be looked at.
    async fn settled(&self, prover: &dyn Prover, run: &Run, subject: &Subject) -> Option<Report> {
        let check = subject.checks.iter().find(|check| check.definition() == run.definition)?;
        if run.again || !knows_a_tree(std::slice::from_ref(check)) {
            return None;
        }
        let tree = match prover.tree(&subject.project).await {
            Ok(tree) => tree,
            Err(error) => {
                let why = Text::parse(&error.message).unwrap_or_else(|_| Text::empty());
                let end = RunEnd::NotMade { why: why.clone(), passing: true };
                return Some(Report { log: why, ..Report::undone(end) });
            }
        };
        let look = Look { tree, since: subject.now };
        let since = Some(check).filter(|check| is_known(subject, check, &look)).and_then(Check::current)?.run?;
        Some(Report { tree: look.tree, ..Report::undone(RunEnd::Unchanged { since }) })
    }
}
