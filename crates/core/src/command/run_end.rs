//! The end of a run: what its runner saw becomes the result of the check, and what was handed in may close by it.

use serde::Serialize;
use serde_json::{Map, Value};

use super::checks::{take_result, write_checks};
use super::run::{RunsSet, around, named_run, put_runs, record, start};
use crate::access::{Needs, Profile, Reach};
use crate::checks::Look;
use crate::engine::{Call, Command, Decision, Draft, move_by_engine};
use crate::error::{Code, Error, Kind, Reason};
use crate::limits;
use crate::model::{
    Authority, Check, CheckResult, CheckStanding, Declined, Definition, ItemId, ItemRef, Name, Role, Run, RunEnd,
    RunId, RunState, Text, Timestamp, Tree, Trigger, Verb,
};
use crate::plant::{Bug, planted};
use crate::store::{RunChange, Scope, Slice};
use crate::workflow::{Target, WhenFailed};

/// What a runner saw.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Report {
    /// How it ended.
    pub end: RunEnd,
    /// What it said, as far as that is kept.
    pub log: Text,
    /// How much of it is not kept, in bytes.
    pub log_left_out: u64,
    /// The work tree as it was before and after; none where it changed meanwhile, or there is no git.
    pub tree: Option<Tree>,
    /// Whether it changed meanwhile, or could be seen at one of both times only.
    pub tree_changed: bool,
    /// How it was kept apart, as it really was.
    pub sandbox: Option<Name>,
    /// How long whoever was asked wants to be left alone, in seconds.
    pub after_seconds: Option<u32>,
}

/// Ends a run.
#[derive(Clone, Debug, Serialize)]
pub struct EndRun {
    /// The run.
    pub run: RunId,
    /// The runner that made it.
    pub runner: Name,
    /// What was run, as the runner knew it: the result of anything else is refused.
    pub definition: Definition,
    /// What it saw.
    pub report: Report,
    /// Whether the run waits for another runner where this one gave it up or could not make it.
    pub back: bool,
    /// The run that the same runner begins now.
    pub next: Option<RunId>,
}

impl Report {
    /// That nothing was made of it.
    pub fn undone(end: RunEnd) -> Self {
        Self {
            end,
            log: Text::empty(),
            log_left_out: 0,
            tree: None,
            tree_changed: false,
            sandbox: None,
            after_seconds: None,
        }
    }
}

impl Command for EndRun {
    type Output = RunsSet;
    const NAME: &'static str = "end-run";
    const NEEDS: Needs = Needs::new(Profile::Worker, Reach::Item);

    fn scope(&self, _call: &Call) -> Scope {
        Scope { run_ids: std::iter::once(self.run).chain(self.next).collect(), ..Scope::default() }
    }

    fn decide(&self, call: &Call, seen: &Slice) -> Result<Decision<RunsSet>, Error> {
        let found = named_run(seen, self.run)?;
        if seen.looks == 0 {
            let items = vec![ItemRef::Id(found.item)];
            return Ok(Decision::Look(Box::new(Scope { items, around: around(), ..Scope::default() })));
        }
        let mut draft = Draft::new(call, seen);
        let mut run = found.clone();
        if run.state != RunState::Running || run.runner.as_ref() != Some(&self.runner) {
            let message = format!("the run is {}, and not this runner's to end", run.state_at(draft.now));
            return Err(Error::conflict(Reason::RunEnded, message));
        }
        if run.definition != self.definition {
            let message = "what was run is not what was ordered: its result counts for nothing";
            return Err(Error::new(Kind::Permanent, Code::Forbidden, Reason::CheckNotApproved, message));
        }
        let id = run.item;
        self.begin_next(&mut draft, seen);
        let undone = match self.report.end {
            RunEnd::Cancelled | RunEnd::NotMade { .. } => true,
            // Nobody waits for it but the item that was handed in: otherwise whoever asked knows enough.
            RunEnd::NotYet { .. } => self.back && is_handed_in(&draft, id)?,
            RunEnd::Exited { .. }
            | RunEnd::Signalled { .. }
            | RunEnd::TimedOut
            | RunEnd::NotStarted { .. }
            | RunEnd::Fact { .. }
            | RunEnd::Unchanged { .. } => false,
        };
        let (log, log_left_out) = (self.report.log.clone(), self.report.log_left_out);
        run.log_bytes = log.as_str().len() as u64;
        run.log_left_out = log_left_out;
        if undone && self.back {
            self.give_back(&mut run, draft.now);
            record(&mut draft, Verb::RunsOrdered, id, std::slice::from_ref(&run));
            draft.put_run(RunChange { run: run.clone(), log: Some(log) });
            return Ok(Decision::done(draft.finish(), RunsSet { item: id, runs: vec![run], closed: false }));
        }
        let passed = self.passed(&draft, id);
        run.state = match (undone, passed) {
            (true, _) => RunState::Cancelled,
            (false, true) => RunState::Passed,
            (false, false) => RunState::Failed,
        };
        run.end = Some(self.report.end.clone());
        run.ended_at = Some(draft.now);
        run.tree.clone_from(&self.report.tree);
        run.sandbox.clone_from(&self.report.sandbox);
        self.conclude(&mut draft, &run, passed)?;
        draft.put_run(RunChange { run: run.clone(), log: Some(log) });
        let look = Look { tree: run.tree.clone(), since: run.ordered_at };
        let closed = close_if_shown(&mut draft, id, Some(look))?;
        if run.state == RunState::Failed {
            return_if_failed(&mut draft, id)?;
        }
        Ok(Decision::done(draft.finish(), RunsSet { item: id, runs: vec![run], closed }))
    }
}

impl EndRun {
    /// The next of a batch begins now: it did not take as long as all before it.
    fn begin_next(&self, draft: &mut Draft<'_>, seen: &Slice) {
        let mine = |run: &&Run| run.state == RunState::Running && run.runner.as_ref() == Some(&self.runner);
        let Some(next) = self.next.and_then(|id| seen.runs.get(&id)).filter(mine) else { return };
        let mut next = next.clone();
        start(&mut next, &self.runner, draft.now, 0);
        put_runs(draft, Verb::RunTaken, next.item, std::slice::from_ref(&next));
    }

    /// The run waits again: for somebody else where this runner cannot make it, for another day where nothing is known yet.
    fn give_back(&self, run: &mut Run, now: Timestamp) {
        run.state = RunState::Queued;
        (run.runner, run.started_at, run.due_at, run.end) = (None, None, None, None);
        match self.report.end {
            RunEnd::NotMade { passing, .. } => {
                let until = passing.then(|| self.next_look(run, now));
                run.declined.retain(|declined| declined.runner != self.runner);
                if run.declined.len() >= limits::DECLINED {
                    run.declined.remove(0);
                }
                run.declined.push(Declined { runner: self.runner.clone(), until });
            }
            RunEnd::NotYet { .. } => run.next_look_at = Some(self.next_look(run, now)),
            RunEnd::Cancelled
            | RunEnd::Exited { .. }
            | RunEnd::Signalled { .. }
            | RunEnd::TimedOut
            | RunEnd::NotStarted { .. }
            | RunEnd::Fact { .. }
            | RunEnd::Unchanged { .. } => return,
        }
        run.end = Some(self.report.end.clone());
    }

    /// When it is worth to look again: later each time, and not before whoever is asked wants to be asked.
    fn next_look(&self, run: &mut Run, now: Timestamp) -> Timestamp {
        let doubled = limits::RUN_PAUSE_MS.saturating_mul(1 << run.tries.min(16));
        let asked = self.report.after_seconds.unwrap_or(0).min(limits::RUN_PAUSE_ASKED_SECONDS);
        let pause = doubled.min(limits::RUN_PAUSE_MOST_MS).max(i64::from(asked) * 1000);
        run.tries = run.tries.saturating_add(1);
        Timestamp::from_millis(now.as_millis().saturating_add(pause))
    }

    fn passed(&self, draft: &Draft<'_>, item: ItemId) -> bool {
        match &self.report.end {
            RunEnd::Exited { code } => *code == 0,
            RunEnd::Fact { holds, .. } => *holds,
            RunEnd::Unchanged { .. } => draft.brief(item).is_some_and(|brief| {
                let same = |check: &&crate::model::Check| check.definition() == self.definition;
                brief
                    .checks
                    .iter()
                    .find(same)
                    .and_then(crate::model::Check::current)
                    .is_some_and(|result| result.passed)
            }),
            RunEnd::Signalled { .. }
            | RunEnd::TimedOut
            | RunEnd::Cancelled
            | RunEnd::NotStarted { .. }
            | RunEnd::NotMade { .. }
            | RunEnd::NotYet { .. } => false,
        }
    }

    /// The result on the check, if that still says what was run and the run said anything about it. Where nothing changed, the
    /// result of the run that was really made stands.
    fn conclude(&self, draft: &mut Draft<'_>, run: &Run, passed: bool) -> Result<(), Error> {
        let mut data = Map::new();
        data.insert("runs".to_owned(), serde_json::to_value([run]).unwrap_or(Value::Null));
        let known = draft.brief(run.item).cloned();
        let index = known
            .as_ref()
            .and_then(|brief| brief.checks.iter().position(|check| check.definition() == self.definition))
            .or_else(|| planted(Bug::DefinitionNotCompared).then_some(run.check));
        let says_nothing = run.state == RunState::Cancelled || matches!(self.report.end, RunEnd::Unchanged { .. });
        let (Some(mut brief), Some(index), false) = (known, index, says_nothing) else {
            draft.record(Verb::RunEnded, run.item, None, data);
            return Ok(());
        };
        let mut note = self.report.end.to_string();
        if self.report.tree_changed {
            note.push_str("; the work tree changed while it ran, so it counts for nothing");
        }
        let result = CheckResult {
            passed,
            definition: self.definition.clone(),
            tree: run.tree.clone(),
            tree_changed: self.report.tree_changed,
            at: draft.now,
            by: self.runner.clone(),
            asked_by: Some(run.ordered_by.clone()),
            run: Some(run.id),
            note: Some(Text::parse(&note)?),
        };
        take_result(&mut brief, index, result, Authority::Check, run.about.clone());
        write_checks(draft, run.item, brief, Verb::RunEnded, data);
        Ok(())
    }
}

/// Closes an item that was handed in, when everything is shown. The gates decide, as for anybody.
pub(super) fn close_if_shown(draft: &mut Draft<'_>, id: ItemId, look: Option<Look>) -> Result<bool, Error> {
    if !is_handed_in(draft, id)? {
        return Ok(false);
    }
    draft.look(id, look);
    Ok(move_by_engine(draft, id, &Target::Trigger(Trigger::Complete))?.is_ok())
}

/// Takes an item that was handed in, and of which a check has failed, back to work, where its workflow says so. What keeps it
/// from there keeps it in review.
pub(super) fn return_if_failed(draft: &mut Draft<'_>, id: ItemId) -> Result<(), Error> {
    let project = draft.project_of(draft.expect(id)?)?;
    let work = project.workflow.first_of(Role::Work);
    let Some(work) = work.filter(|_| project.workflow.when_failed == WhenFailed::Returns) else { return Ok(()) };
    if is_handed_in(draft, id)? {
        let target = Target::Status(work.name.clone());
        // Refused or not: the failure is on record.
        let _ = move_by_engine(draft, id, &target)?;
    }
    Ok(())
}

/// Whether an item was handed in, and waits in review until it is shown.
fn is_handed_in(draft: &Draft<'_>, id: ItemId) -> Result<bool, Error> {
    let handed_in = draft.brief(id).is_some_and(|brief| brief.closes_when_shown);
    Ok(handed_in && draft.expect(id)?.role == Role::Review)
}

/// Whether an item was handed in and nothing is missing but checks that a runner makes.
pub(super) fn waits_for_runs(draft: &Draft<'_>, id: ItemId) -> Result<bool, Error> {
    let handed_in = is_handed_in(draft, id)?;
    Ok(draft.brief(id).is_some_and(|brief| {
        let (run, said): (Vec<&Check>, Vec<&Check>) = brief.checks.iter().partition(|check| check.kind.is_runnable());
        let holds = |check: &&Check| check.standing() == CheckStanding::Pass;
        handed_in && !run.is_empty() && said.iter().all(holds)
    }))
}
