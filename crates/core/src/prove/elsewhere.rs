//! Checks that are made by a runner elsewhere, for whoever waits a while.

use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;

use super::{Proved, Wanted, agreed, not_made};
use crate::checks::{Allowed, Look};
use crate::command::OrderRuns;
use crate::engine::{Call, Engine};
use crate::error::{Code, Error, Kind, Reason};
use crate::model::{ItemRef, Run, RunEnd, RunState};
use crate::store::{ProjectRef, Scope};

/// When whoever waited in vain may try again.
const RETRY_MS: u64 = 5_000;

impl Engine {
    pub(super) async fn prove_elsewhere(
        &self,
        time_is_up: impl Future<Output = ()>,
        allowed: &Allowed,
        call: &Call,
        project: ProjectRef,
        item: ItemRef,
        wanted: Wanted,
    ) -> Result<Proved, Error> {
        let mut head = self.store.head().await?;
        let subject = self.subject(project.clone(), item.clone()).await?;
        let since = subject.now;
        let Wanted { only, again } = wanted;
        let allowed = subject.allowed(allowed);
        let order = OrderRuns { project, item, only, again, unchanged: Vec::new(), runner: None, allowed };
        let of_order = Call { request: call.request.clone(), ..self.step(call, 1) };
        let ordered = self.execute(of_order, Arc::new(order)).await?.runs;
        let run_ids: Vec<_> = ordered.iter().map(|run| run.id).collect();
        let mut time_is_up = pin!(time_is_up);
        loop {
            let known = if run_ids.is_empty() {
                std::collections::BTreeMap::new()
            } else {
                self.store.view(&Scope { run_ids: run_ids.clone(), ..Scope::default() }).await?.runs
            };
            let mine: Vec<Run> = ordered.iter().map(|run| known.get(&run.id).unwrap_or(run).clone()).collect();
            if mine.iter().all(|run| !run.state.is_open()) {
                let tree = agreed(&mine);
                return Ok(Proved { look: Look { tree, since }, runs: mine, unchanged: Vec::new() });
            }
            let mut changed = self.store.changed(head);
            let first = std::future::poll_fn(|context| match changed.as_mut().poll(context) {
                Poll::Ready(newer) => Poll::Ready(Some(newer)),
                Poll::Pending => time_is_up.as_mut().poll(context).map(|()| None),
            });
            head = first.await.ok_or_else(|| still_open(&mine))??;
        }
    }
}

/// What was seen of a run that waits because that is not decided yet.
fn not_decided(run: &Run) -> Option<&str> {
    let Some(RunEnd::NotYet { seen }) = &run.end else { return None };
    Some(seen.as_str())
}

fn still_open(runs: &[Run]) -> Error {
    let waits = |run: &&Run| run.state == RunState::Queued;
    let (reason, message) = if let Some(why) = runs.iter().filter(waits).find_map(not_made) {
        (Reason::NoRunner, format!("{why}; it stays queued for another runner"))
    } else if let Some(seen) = runs.iter().filter(waits).find_map(not_decided) {
        (Reason::StillRunning, format!("{seen}: it stays queued, and is looked at again"))
    } else if runs.iter().any(|run| waits(&run)) {
        let message = "no runner has taken the checks yet: they stay queued, and `docket runner` makes them";
        (Reason::NoRunner, message.to_owned())
    } else {
        (Reason::StillRunning, "the checks are still being made, and go on".to_owned())
    };
    Error { retry_after_ms: Some(RETRY_MS), ..Error::new(Kind::Transient, Code::Unavailable, reason, message) }
}
