//! Runs of checks: ordered, taken by a runner, ended with what it saw, or given up.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::checks::places;
use super::may_close;
use crate::access::{Needs, Profile, Reach};
use crate::engine::{Call, Command, Decision, Draft};
use crate::error::{Code, Error, Kind, Reason};
use crate::limits;
use crate::model::{
    About, Check, Definition, ItemId, ItemRef, Name, Run, RunEnd, RunId, RunState, Taking, Timestamp, Verb,
};
use crate::store::{Around, EdgeReach, NoteReach, ProjectRef, RunChange, Scope, Slice};

/// Everything that closing an item looks at, or ordering what it still owes.
pub(super) fn around() -> Around {
    Around {
        ancestors: true,
        open_children: Some(may_close(1)),
        edges: EdgeReach::Shown,
        notes: NoteReach::Heads,
        briefs: true,
        open_runs: true,
        ..Around::default()
    }
}

/// Orders runs of checks. Nothing is executed by it: a runner takes them. A run of the same check that waits or runs already is
/// joined: nobody makes the same twice at the same time.
#[derive(Clone, Debug, Serialize)]
pub struct OrderRuns {
    /// The project the item is looked up in.
    pub project: ProjectRef,
    /// The item.
    pub item: ItemRef,
    /// Which checks, by place; all that can be run, where none is named.
    pub only: Vec<usize>,
    /// Whether they are made even if nothing changed since.
    pub again: bool,
    /// Those among them that need no run. What follows is what the caller's process knows: a retry may know something else.
    #[serde(skip)]
    pub unchanged: Vec<usize>,
    /// The runner that makes them at once; without one they wait for any.
    #[serde(skip)]
    pub runner: Option<Name>,
    /// What may be run without anybody's approval, because the operator says so.
    #[serde(skip)]
    pub allowed: Vec<Definition>,
}

/// Runs that were ordered, and those that were joined.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunsOrdered {
    /// The item.
    pub item: ItemId,
    /// The runs, in the order of the checks.
    pub runs: Vec<Run>,
    /// Those of them that the caller's runner begins.
    pub started: Vec<RunId>,
    /// Those of these that had waited for any runner.
    pub taken: Vec<RunId>,
    /// The checks that needed no run.
    pub unchanged: Vec<usize>,
    /// The call that it was: whoever gets the answer of an earlier call begins nothing.
    pub call: String,
}

impl RunsOrdered {
    /// How a call is marked in it.
    pub(crate) fn mark(call: &Call) -> String {
        format!("{:032x}", call.seed)
    }
}

/// Takes a run that waits, for a runner.
#[derive(Clone, Debug, Serialize)]
pub struct TakeRun {
    /// The run.
    pub run: RunId,
    /// The runner.
    pub runner: Name,
    /// What it may run without anybody's approval.
    pub allowed: Vec<Definition>,
    /// Which runs it takes: another may have been ordered anew elsewhere since it was seen.
    pub taking: Taking,
}

/// Gives up a run that waits or runs.
#[derive(Clone, Debug, Serialize)]
pub struct CancelRun {
    /// The run.
    pub run: RunId,
}

/// Runs as they are now.
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RunsSet {
    /// The item.
    pub item: ItemId,
    /// The runs, in the order of the checks.
    pub runs: Vec<Run>,
    /// Whether the item was closed by it: it was handed in, and everything is shown now.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub closed: bool,
}

fn not_approved(places: &[usize]) -> Error {
    let named: Vec<String> = places.iter().map(usize::to_string).collect();
    let message = format!(
        "not approved to run: check {}; a person who has read it (`docket check list`) runs it (`docket check run`), a person other \
         than its author approves it exactly as it is (`docket check approve`), or the operator lets it run by [runner] allow in \
         docket.toml",
        named.join(", ")
    );
    Error::new(Kind::Permanent, Code::Forbidden, Reason::CheckNotApproved, message)
}

impl Command for OrderRuns {
    type Output = RunsOrdered;
    const NAME: &'static str = "order-runs";
    const NEEDS: Needs = Needs::new(Profile::Worker, Reach::Item);

    fn scope(&self, _call: &Call) -> Scope {
        let around = Around { briefs: true, open_runs: true, ..Around::default() };
        Scope { project: self.project.clone(), items: vec![self.item.clone()], around, ..Scope::default() }
    }

    fn decide(&self, call: &Call, seen: &Slice) -> Result<Decision<RunsOrdered>, Error> {
        let mut draft = Draft::new(call, seen);
        let id = seen.resolve(&self.item)?.id;
        let checks = draft.brief(id).map(|brief| brief.checks.clone()).unwrap_or_default();
        let is_handed_in = draft.brief(id).is_some_and(|brief| brief.closes_when_shown);
        let by = call.actor()?.clone();
        let (mut barred, mut runs, mut fresh, mut taken) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        let mut before = 0;
        for index in places(&self.only, &checks, "only")? {
            let Some(check) = checks.get(index).filter(|check| check.kind.is_runnable()) else { continue };
            if self.unchanged.contains(&index) {
                continue;
            }
            if !check.is_approved() && !self.allowed.contains(&check.definition()) {
                barred.push(index);
                continue;
            }
            let open = open_run(seen, id, check);
            let waits = open.is_none_or(|open| open.state_at(draft.now) != RunState::Running);
            let mut run = match open {
                Some(open) => open.clone(),
                None => ordered(&mut draft, id, index, check, &by)?,
            };
            run.again |= self.again && waits;
            if let Some(runner) = self.runner.as_ref().filter(|_| waits) {
                before = start(&mut run, runner, draft.now, before);
                run.about = words_of(&draft, id, check);
                // Whoever asks for it here wants to know of what is here.
                run.place.clone_from(&call.place);
            } else if let Some(place) = call.place.as_ref().filter(|place| waits && run.place.as_ref() != Some(place)) {
                // What was handed in is shown by the work tree that it was handed in from, whoever asks for it once more.
                if open.is_none() || !is_handed_in {
                    run.place = Some(place.clone());
                    run.declined.clear();
                }
            }
            let goes_on = self.runner.is_some();
            match open {
                Some(open) if *open == run => {}
                Some(_) if goes_on => taken.push(run.clone()),
                Some(_) | None => fresh.push(run.clone()),
            }
            runs.push(run);
        }
        if !barred.is_empty() {
            return Err(Error { contended_item: Some(id), ..not_approved(&barred) });
        }
        put_runs(&mut draft, Verb::RunsOrdered, id, &fresh);
        put_runs(&mut draft, Verb::RunTaken, id, &taken);
        let ids = |runs: &[Run]| runs.iter().map(|run| run.id).collect::<Vec<_>>();
        let (fresh, taken) = (ids(&fresh), ids(&taken));
        let started = if self.runner.is_some() { [fresh, taken.clone()].concat() } else { Vec::new() };
        let (unchanged, call) = (self.unchanged.clone(), RunsOrdered::mark(call));
        Ok(Decision::done(draft.finish(), RunsOrdered { item: id, runs, started, taken, unchanged, call }))
    }
}

/// The run of exactly this check that waits or runs, if there is one.
fn open_run<'s>(seen: &'s Slice, item: ItemId, check: &Check) -> Option<&'s Run> {
    let definition = check.definition();
    let same = |run: &&Run| run.item == item && run.definition == definition && run.state.is_open();
    seen.runs.values().find(same)
}

/// A run of a check that waits for a runner, with the time that the project gives it where the check names none.
fn ordered(draft: &mut Draft<'_>, item: ItemId, index: usize, check: &Check, by: &Name) -> Result<Run, Error> {
    let project = draft.project_of(draft.expect(item)?)?;
    Ok(Run {
        id: draft.new_run_id(),
        item,
        check: index,
        desc: check.desc.clone(),
        kind: check.kind.clone().within(project.workflow.check_seconds),
        definition: check.definition(),
        state: RunState::Queued,
        again: false,
        ordered_by: by.clone(),
        ordered_at: draft.now,
        place: draft.call.place.clone(),
        runner: None,
        declined: Vec::new(),
        tries: 0,
        next_look_at: None,
        started_at: None,
        due_at: None,
        ended_at: None,
        end: None,
        tree: None,
        about: None,
        sandbox: None,
        log_bytes: 0,
        log_left_out: 0,
    })
}

/// The words of the criterion that a check proves, as they are now.
pub(super) fn words_of(draft: &Draft<'_>, item: ItemId, check: &Check) -> Option<About> {
    let criterion = check.proves.and_then(|id| draft.brief(item)?.criterion(id))?;
    Some(About::of(&criterion.text))
}

/// Queues runs of every check of an item that can be run, in a unit that hands its work in. What failed is made again though
/// nothing in the work tree changed: what was mended may lie outside of it. All of them are about the work tree that the item was
/// handed in from, and what waits is looked at now.
pub(super) fn order_all(draft: &mut Draft<'_>, id: ItemId) -> Result<Vec<Run>, Error> {
    let brief = draft.brief(id).cloned().unwrap_or_default();
    let by = draft.call.actor()?.clone();
    let (mut runs, mut fresh) = (Vec::new(), Vec::new());
    for (index, check) in brief.checks.iter().enumerate().filter(|(_, check)| check.kind.is_runnable()) {
        let open = open_run(draft.seen, id, check);
        let mut run = match open {
            Some(open) => open.clone(),
            None => ordered(draft, id, index, check, &by)?,
        };
        if open.is_none() {
            run.again = check.current().is_some_and(|result| !result.passed);
        }
        if run.state_at(draft.now) != RunState::Running {
            run.place.clone_from(&brief.handed_in_at);
            (run.tries, run.next_look_at) = (0, None);
            run.declined.clear();
        }
        if open != Some(&run) {
            fresh.push(run.clone());
        }
        runs.push(run);
    }
    put_runs(draft, Verb::RunsOrdered, id, &fresh);
    Ok(runs)
}

pub(super) fn put_runs(draft: &mut Draft<'_>, verb: Verb, id: ItemId, runs: &[Run]) {
    if runs.is_empty() {
        return;
    }
    record(draft, verb, id, runs);
    for run in runs {
        draft.put_run(RunChange { run: run.clone(), log: None });
    }
}

/// Begins a run, after others of the same runner that may take so long together; says how long it is with this one.
pub(super) fn start(run: &mut Run, runner: &Name, now: Timestamp, before_ms: i64) -> i64 {
    let patience = before_ms + i64::from(run.kind.timeout_seconds()) * 1000;
    run.state = RunState::Running;
    run.runner = Some(runner.clone());
    run.started_at = Some(now);
    let due = now.as_millis().saturating_add(patience).saturating_add(limits::RUN_GRACE_MS);
    run.due_at = Some(Timestamp::from_millis(due));
    (run.end, run.ended_at, run.next_look_at) = (None, None, None);
    patience
}

pub(super) fn record(draft: &mut Draft<'_>, verb: Verb, item: ItemId, runs: &[Run]) {
    let mut data = Map::new();
    data.insert("runs".to_owned(), serde_json::to_value(runs).unwrap_or(Value::Null));
    draft.record(verb, item, None, data);
}

pub(super) fn named_run(seen: &Slice, id: RunId) -> Result<&Run, Error> {
    seen.runs.get(&id).ok_or_else(|| Error::not_found(format!("no run \"{id}\"")))
}

impl Command for TakeRun {
    type Output = RunsSet;
    const NAME: &'static str = "take-run";
    // As for ordering one and ending it: what may run is said by who let it, and not by who makes it.
    const NEEDS: Needs = Needs::new(Profile::Worker, Reach::Item);

    fn scope(&self, _call: &Call) -> Scope {
        let around = Around { briefs: true, ..Around::default() };
        Scope { run_ids: vec![self.run], around, ..Scope::default() }
    }

    fn decide(&self, call: &Call, seen: &Slice) -> Result<Decision<RunsSet>, Error> {
        let found = named_run(seen, self.run)?;
        let draft = Draft::new(call, seen);
        let mut run = found.clone();
        match run.state_at(draft.now) {
            // One whose runner is gone is taken over.
            RunState::Queued | RunState::Lost => {}
            state @ (RunState::Running | RunState::Passed | RunState::Failed | RunState::Cancelled) => {
                return Err(Error::conflict(Reason::RunEnded, format!("the run is {state} already")));
            }
        }
        if !self.taking.includes(&run) {
            let message = "the run waits for a runner in the work tree it was ordered in";
            return Err(Error::conflict(Reason::RunEnded, message));
        }
        if seen.looks == 0 {
            let scope = Scope { items: vec![ItemRef::Id(run.item)], ..self.scope(call) };
            return Ok(Decision::Look(Box::new(scope)));
        }
        let check = draft
            .brief(run.item)
            .and_then(|brief| brief.checks.iter().find(|check| check.definition() == run.definition));
        let Some(check) = check else {
            // The check is not there any more: there is nothing to run.
            run.state = RunState::Cancelled;
            run.end = Some(RunEnd::Cancelled);
            run.ended_at = Some(draft.now);
            return Ok(one(draft, Verb::RunEnded, run));
        };
        if !check.is_approved() && !self.allowed.contains(&run.definition) {
            return Err(not_approved(&[run.check]));
        }
        start(&mut run, &self.runner, draft.now, 0);
        run.about = words_of(&draft, run.item, check);
        if self.taking == Taking::Asked {
            run.place.clone_from(&call.place);
        } else if let Some(place) = self.taking.place_of(&run) {
            // Whoever ordered it may have named the folder alone.
            run.place = Some(place.clone());
        }
        Ok(one(draft, Verb::RunTaken, run))
    }
}

pub(super) fn one(mut draft: Draft<'_>, verb: Verb, run: Run) -> Decision<RunsSet> {
    record(&mut draft, verb, run.item, std::slice::from_ref(&run));
    draft.put_run(RunChange { run: run.clone(), log: None });
    let item = run.item;
    Decision::done(draft.finish(), RunsSet { item, runs: vec![run], closed: false })
}

impl Command for CancelRun {
    type Output = RunsSet;
    const NAME: &'static str = "cancel-run";
    const NEEDS: Needs = Needs::new(Profile::Worker, Reach::Item);

    fn scope(&self, _call: &Call) -> Scope {
        Scope { run_ids: vec![self.run], ..Scope::default() }
    }

    fn decide(&self, call: &Call, seen: &Slice) -> Result<Decision<RunsSet>, Error> {
        let found = named_run(seen, self.run)?;
        if seen.looks == 0 {
            let items = vec![ItemRef::Id(found.item)];
            return Ok(Decision::Look(Box::new(Scope { items, ..Scope::default() })));
        }
        let draft = Draft::new(call, seen);
        if !found.state.is_open() {
            return Err(Error::conflict(Reason::RunEnded, format!("the run is {} already", found.state)));
        }
        let mut run = found.clone();
        run.state = RunState::Cancelled;
        run.end = Some(RunEnd::Cancelled);
        run.ended_at = Some(draft.now);
        Ok(one(draft, Verb::RunEnded, run))
    }
}
