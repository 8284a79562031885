//! Runs that wait for any runner, made by one.

use super::here::Making;
use super::{Prover, Runs, Subject, is_known, knows_a_tree};
use crate::checks::Look;
use crate::command::{Report, TakeRun};
use crate::engine::{Call, Engine};
use crate::error::{Error, Reason};
use crate::limits;
use crate::model::{Check, ItemRef, Run, RunEnd, RunState, Text};
use crate::store::{ProjectRef, RunFilter};

impl Engine {
    /// Makes every run that waits and may be made here: for whoever has just handed something in, or has just begun.
    pub async fn make_waiting(&self, call: &Call, project: &ProjectRef) -> Result<usize, Error> {
        let Some(Runs::Here(here)) = &self.runs else { return Ok(0) };
        let mut made = 0;
        loop {
            let seed = call.seed.wrapping_add((made as u128 + 1) << 32);
            let call = Call { seed, ..call.clone() };
            if self.make_next_run(here.prover.as_ref(), &call, project).await?.is_none() {
                return Ok(made);
            }
            made += 1;
        }
    }

    /// Takes the oldest run that waits in these projects, if there is one that this prover may make, and makes it. One that it
    /// could not make before is left to others.
    pub async fn make_next_run(
        &self,
        prover: &dyn Prover,
        call: &Call,
        project: &ProjectRef,
    ) -> Result<Option<Run>, Error> {
        let filter = RunFilter {
            visible: self.access.projects.clone(),
            project: project.clone(),
            open_only: true,
            limit: limits::PAGE,
            ..RunFilter::default()
        };
        for (place, waiting) in self.store.runs(&filter).await?.into_iter().enumerate() {
            if waiting.declined.contains(prover.name()) {
                continue;
            }
            let subject = self.subject(ProjectRef::Any, ItemRef::Id(waiting.item)).await?;
            if !matches!(waiting.state_at(subject.now), RunState::Queued | RunState::Lost) {
                continue;
            }
            let allowed = subject.allowed(prover.allowed());
            let take = TakeRun { run: waiting.id, runner: prover.name().clone(), allowed };
            let taken = match self.run_alone(call, take, place * 2 + 1).await {
                Ok(taken) => taken.runs.into_iter().next().unwrap_or(waiting),
                // Another was quicker.
                Err(error) if error.reason == Reason::RunEnded => continue,
                Err(error) if error.reason == Reason::CheckNotApproved => {
                    self.listener.barred(&waiting, &subject.project.key(subject.item.number));
                    continue;
                }
                Err(error) => return Err(error),
            };
            if taken.state != RunState::Running {
                continue;
            }
            self.listener.begins(&taken, 1, 1);
            let step = place * 2 + 2;
            let Some(report) = self.settled(prover, &taken, &subject).await else {
                let making = Making { run: taken, back: true, next: None, subject: &subject, step };
                return self.perform(prover, call, making).await.map(Some);
            };
            let ended = self.end(prover, call, &taken, report, true, None, step).await?;
            self.listener.ends(&ended);
            return Ok(Some(ended));
        }
        Ok(None)
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
                return Some(Report { log: why.clone(), ..Report::undone(RunEnd::NotMade { why }) });
            }
        };
        let look = Look { tree, since: subject.now };
        let since = Some(check).filter(|check| is_known(check, &look)).and_then(Check::current)?.run?;
        Some(Report { tree: look.tree, ..Report::undone(RunEnd::Unchanged { since }) })
    }
}
