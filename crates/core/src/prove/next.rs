//! Runs that wait in the queue, made by whoever they are for.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use super::here::Making;
use super::{Here, Prover, Runs, Subject, is_known, knows_a_tree};
use crate::checks::Look;
use crate::command::{Report, TakeRun};
use crate::engine::{Call, Engine};
use crate::error::{Error, Kind, Reason};
use crate::limits;
use crate::model::{Check, ItemId, ItemRef, Run, RunEnd, RunState, Taking, Text, Turn};
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
    /// not make before is left to others, or for later.
    pub async fn make_next_run(
        &self,
        prover: &dyn Prover,
        taking: &Taking,
        call: &Call,
        project: &ProjectRef,
    ) -> Result<Next, Error> {
        let mut filter = RunFilter {
            visible: self.access.projects.clone(),
            project: project.clone(),
            open_only: true,
            limit: limits::PAGE,
            ..RunFilter::default()
        };
        let (mut earliest, mut step) = (None, 0);
        loop {
            let page = self.store.runs(&filter).await?;
            filter.after = page.last().map(|run| run.id);
            let is_last = page.len() < limits::PAGE;
            let mine: Vec<Run> = page.into_iter().filter(|run| taking.includes(run)).collect();
            let seen = if mine.is_empty() { Slice::default() } else { self.subjects(&mine).await? };
            for waiting in mine {
                match waiting.turn(prover.name(), seen.now) {
                    Turn::Never => {}
                    Turn::At(at) => {
                        let left = Duration::from_millis((at.as_millis() - seen.now.as_millis()).unsigned_abs());
                        earliest = Some(earliest.map_or(left, |earlier: Duration| earlier.min(left)));
                    }
                    Turn::Now => {
                        step += 2;
                        if let Some(made) = self.try_one(prover, taking, call, waiting, &seen, step).await? {
                            return Ok(Next::Made(Box::new(made)));
                        }
                    }
                }
            }
            if is_last {
                return Ok(Next::Nothing { look_again: earliest });
            }
        }
    }

    /// The items of runs, with their checks, as of one moment.
    async fn subjects(&self, runs: &[Run]) -> Result<Slice, Error> {
        let items: BTreeSet<ItemId> = runs.iter().map(|run| run.item).collect();
        let scope = Scope {
            items: items.into_iter().map(ItemRef::Id).collect(),
            around: Around { briefs: true, ..Around::default() },
            visible: self.access.projects.clone(),
            ..Scope::default()
        };
        Ok(self.store.view(&scope).await?)
    }

    /// Takes a run and makes it, unless another does or nobody lets it run.
    async fn try_one(
        &self,
        prover: &dyn Prover,
        taking: &Taking,
        call: &Call,
        waiting: Run,
        seen: &Slice,
        step: usize,
    ) -> Result<Option<Run>, Error> {
        // An item that went away takes its runs with it.
        let Some(item) = seen.items.get(&waiting.item) else { return Ok(None) };
        let subject = Subject {
            item: item.clone(),
            project: Arc::clone(seen.project_of(item)?),
            checks: seen.briefs.get(&item.id).map(|brief| brief.checks.clone()).unwrap_or_default(),
            now: seen.now,
        };
        let allowed = subject.allowed(prover.allowed());
        let check = subject.checks.iter().find(|check| check.definition() == waiting.definition);
        if check.is_some_and(|check| !check.is_approved() && !allowed.contains(&waiting.definition)) {
            self.listener.barred(&waiting, &subject.project.key(subject.item.number));
            return Ok(None);
        }
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
        let since = Some(check).filter(|check| is_known(check, &look)).and_then(Check::current)?.run?;
        Some(Report { tree: look.tree, ..Report::undone(RunEnd::Unchanged { since }) })
    }
}
