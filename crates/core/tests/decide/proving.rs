//! Runs of checks that are joined, handed back, made again, or not made at all; and what an item is told by them.

use docket_core::checks::{Allowed, Look};
use docket_core::command::{
    Advance, ApproveChecks, Attest, BriefText, Change, EndRun, Learning, MoveRequest, MoveResult, NewCheck,
    NewCriterion, OrderRuns, Report, RunsOrdered, SetBrief, Submit, TakeRun,
};
use docket_core::engine::Call;
use docket_core::model::{
    Authority, CheckStanding, CriterionId, Declined, Definition, ItemId, Role, Run, RunEnd, RunState, Taking,
    Timestamp, Trigger,
};
use docket_core::testing::{World, name, title};
use docket_core::workflow::Target;
use docket_core::{Error, Reason};

use crate::checks::{
    AFTER, BEFORE, checked, close, command, end, manual, order, report, run_all, saw, set, submit, text, unshown,
};
use crate::scene::Scene;

/// Orders everything for a process, or for any runner; what it answers whole.
fn ordered(scene: &mut Scene, item: ItemId, runner: Option<&str>) -> RunsOrdered {
    let call = scene.world.call(None);
    let allowed: Vec<Definition> =
        scene.world.briefs[&item].checks.iter().map(docket_core::model::Check::definition).collect();
    let order = OrderRuns {
        project: World::project(),
        item: item.into(),
        only: vec![],
        again: false,
        unchanged: vec![],
        runner: runner.map(name),
        allowed,
    };
    scene.world.run(&call, &order).expect("ordered")
}

fn take(scene: &mut Scene, run: &Run, runner: &str) -> Result<Run, Error> {
    let call = scene.world.call(None);
    let take =
        TakeRun { run: run.id, runner: name(runner), allowed: vec![run.definition.clone()], taking: Taking::Asked };
    scene.world.run(&call, &take).map(|mut taken| taken.runs.remove(0))
}

#[test]
fn whoever_wants_what_waits_or_runs_already_joins_it() {
    let (mut scene, item) = checked(vec![command("one"), command("two")]);
    let first = ordered(&mut scene, item, None);
    assert_eq!((first.runs.len(), first.started.len()), (2, 0));
    let again = ordered(&mut scene, item, None);
    let ids = |ordered: &RunsOrdered| ordered.runs.iter().map(|run| run.id).collect::<Vec<_>>();
    assert_eq!(ids(&again), ids(&first), "no further runs are queued");
    assert_eq!(scene.world.runs.len(), 2);
    // One is under way elsewhere; a process that makes them itself begins the other alone.
    take(&mut scene, &first.runs[0], "there").expect("taken");
    let here = ordered(&mut scene, item, Some("here"));
    assert_eq!(ids(&here), ids(&first));
    assert_eq!((&here.started, &here.taken), (&vec![first.runs[1].id], &vec![first.runs[1].id]));
    assert_eq!(here.runs[0].runner, Some(name("there")));
    // A runner that does not come back leaves a run that is taken over.
    let due = scene.world.runs[&first.runs[0].id].due_at.expect("a time").as_millis();
    scene.world.now = Timestamp::from_millis(due + 1);
    let over = ordered(&mut scene, item, Some("here"));
    assert!(over.started.contains(&first.runs[0].id), "{over:?}");
    assert_eq!(scene.world.runs.len(), 2);
    // What says something else is another run.
    set(&mut scene, item, vec![command("other")], Authority::Human, None).expect("edited");
    assert_eq!(ordered(&mut scene, item, None).runs.len(), 1);
    assert_eq!(scene.world.runs.len(), 3);
}

#[test]
fn what_is_handed_in_joins_what_waits() {
    let (mut scene, item) = checked(vec![command("one")]);
    let waiting = ordered(&mut scene, item, None).runs.remove(0);
    let call = scene.world.call(None);
    let submitted = scene.world.run(&call, &submit(item, None)).expect("handed in");
    assert_eq!(submitted.runs[0].id, waiting.id);
    assert_eq!(scene.world.runs.len(), 1);
}

#[test]
fn each_run_of_a_batch_takes_its_own_time() {
    let (mut scene, item) = checked(vec![command("one"), command("two")]);
    let begun = ordered(&mut scene, item, Some("here"));
    let dues: Vec<i64> = begun.runs.iter().map(|run| run.due_at.expect("a time").as_millis()).collect();
    assert!(dues[1] - dues[0] >= 120_000, "the second waits for the first: {dues:?}");
    scene.world.now = Timestamp::from_millis(scene.world.now.as_millis() + 5_000);
    let call = scene.world.call(None);
    let [first, second] = [begun.runs[0].clone(), begun.runs[1].clone()];
    let definition = first.definition.clone();
    let report = report(RunEnd::Exited { code: 0 }, Some(BEFORE));
    let next = Some(second.id);
    let end = EndRun { run: first.id, runner: name("here"), definition, report, back: false, next };
    scene.world.run(&call, &end).expect("ended");
    let second = &scene.world.runs[&second.id];
    assert!(second.started_at > first.started_at, "it began when the first ended");
    assert_eq!(second.started_at, scene.world.runs[&first.id].ended_at);
}

#[test]
fn a_runner_that_stops_hands_its_run_back() {
    let (mut scene, item) = checked(vec![command("one")]);
    let waiting = ordered(&mut scene, item, None).runs.remove(0);
    let run = take(&mut scene, &waiting, "here").expect("taken");
    let call = scene.world.call(None);
    let undone = |back| EndRun {
        run: run.id,
        runner: name("here"),
        definition: run.definition.clone(),
        report: Report::undone(RunEnd::Cancelled),
        back,
        next: None,
    };
    scene.world.run(&call, &undone(true)).expect("handed back");
    let back = &scene.world.runs[&run.id];
    assert_eq!((back.state, &back.runner, back.started_at), (RunState::Queued, &None, None));
    take(&mut scene, &waiting, "here").expect("taken again, by anybody");
    scene.world.run(&call, &undone(false)).expect("given up");
    assert_eq!(scene.world.runs[&run.id].state, RunState::Cancelled);
    assert_eq!(scene.world.briefs[&item].checks[0].standing(), CheckStanding::Pending);
}

#[test]
fn what_a_runner_cannot_make_says_nothing_of_the_check_and_waits_for_another() {
    let (mut scene, item) = checked(vec![command("one")]);
    run_all(&mut scene, item, &[0], Some(BEFORE));
    let waiting = ordered(&mut scene, item, None).runs.remove(0);
    let run = take(&mut scene, &waiting, "here").expect("taken");
    let why = RunEnd::NotMade { why: text("the repository /gone cannot be opened"), passing: false };
    let call = scene.world.call(None);
    let definition = run.definition.clone();
    let not_made = |back| EndRun {
        run: run.id,
        runner: name("here"),
        definition: definition.clone(),
        report: Report { log: text("the repository /gone cannot be opened"), ..Report::undone(why.clone()) },
        back,
        next: None,
    };
    scene.world.run(&call, &not_made(true)).expect("told");
    let told = &scene.world.runs[&run.id];
    assert_eq!(
        (told.state, &told.declined, &told.end),
        (RunState::Queued, &vec![Declined { runner: name("here"), until: None }], &Some(why.clone()))
    );
    assert_eq!(scene.world.briefs[&item].checks[0].standing(), CheckStanding::Pass, "it is not red for that");
    let taken = take(&mut scene, &waiting, "there").expect("by another");
    assert_eq!(taken.end, None);
    // Whoever makes it for somebody who waits has nobody to leave it to.
    let (mut scene, item) = checked(vec![command("one")]);
    let run = order(&mut scene, item, vec![], Some("here")).expect("a run").remove(0);
    assert!(!end(&mut scene, &run, why, None).expect("ended"));
    assert_eq!(scene.world.runs[&run.id].state, RunState::Cancelled);
    assert_eq!(scene.world.briefs[&item].checks[0].standing(), CheckStanding::Pending);
}

#[test]
fn a_run_that_needed_no_making_leaves_the_result_of_the_one_that_was_made() {
    let (mut scene, item) = checked(vec![command("one")]);
    run_all(&mut scene, item, &[0], Some(BEFORE));
    let made = scene.world.briefs[&item].checks[0].result.clone().expect("a result");
    let since = made.run.expect("a run");
    for _ in 0..2 {
        let run = order(&mut scene, item, vec![], Some("here")).expect("a run").remove(0);
        end(&mut scene, &run, RunEnd::Unchanged { since }, Some(BEFORE)).expect("ended");
        assert_eq!(scene.world.runs[&run.id].state, RunState::Passed);
        assert_eq!(scene.world.briefs[&item].checks[0].result, Some(made.clone()), "what was made stands");
    }
    assert_eq!(close(&mut scene, item, saw(BEFORE)), Ok(Role::Terminal));
}

#[test]
fn what_failed_is_handed_in_again_and_made_again() {
    let (mut scene, item) = checked(vec![command("one"), command("two")]);
    let call = scene.world.call(None);
    let first = scene.world.run(&call, &submit(item, None)).expect("handed in");
    assert!(first.moved.is_some());
    for (run, code) in first.runs.iter().zip([0, 1]) {
        take(&mut scene, run, "here").expect("taken");
        assert!(!end(&mut scene, run, RunEnd::Exited { code }, Some(BEFORE)).expect("ended"));
    }
    let call = scene.world.call(None);
    let second = scene.world.run(&call, &submit(item, None)).expect("handed in again");
    assert_eq!((second.role, second.moved.is_none(), second.runs.len()), (Role::Review, true, 2));
    assert_eq!(second.version, scene.get(item).version);
    let again: Vec<bool> = second.runs.iter().map(|run| run.again).collect();
    assert_eq!(again, [false, true], "what failed is made though nothing in the tree changed");
    let mut closed = false;
    for run in &second.runs {
        take(&mut scene, run, "here").expect("taken");
        closed = end(&mut scene, run, RunEnd::Exited { code: 0 }, Some(AFTER)).expect("ended");
    }
    assert!(closed);
    assert_eq!(scene.get(item).role, Role::Terminal);
}

#[test]
fn a_criterion_that_a_check_proves_keeps_nothing_from_review() {
    let (mut scene, item) = checked(vec![]);
    let lines = vec![NewCriterion::saying(text("it is fast")), NewCriterion::saying(text("it is small"))];
    let brief = BriefText { acceptance_criteria: Change::Set(lines), ..BriefText::default() };
    let set_brief = SetBrief {
        project: World::project(),
        item: item.into(),
        brief,
        replace: true,
        expected_version: None,
        fence: None,
        authority: Authority::Human,
    };
    let call = scene.world.call(None);
    scene.world.run(&call, &set_brief).expect("a brief");
    let proof = |id| NewCheck { proves: Some(CriterionId(id)), ..command(&format!("bench {id}")) };
    set(&mut scene, item, vec![proof(1)], Authority::Human, None).expect("checks");
    let refused = scene.world.run(&call, &submit(item, None)).expect_err("nothing shows that it is small");
    let unproved: Vec<u32> =
        refused.refusals.iter().flat_map(|refusal| &refusal.unproved).map(|criterion| criterion.id.0).collect();
    assert_eq!(unproved, [2]);
    set(&mut scene, item, vec![proof(1), proof(2)], Authority::Human, None).expect("checks");
    let submitted = scene.world.run(&call, &submit(item, None)).expect("handed in");
    assert_eq!(submitted.role, Role::Review);
    // Into success they are shown or nothing moves.
    let refused = close(&mut scene, item, saw(BEFORE)).expect_err("not shown");
    let unproved: Vec<u32> =
        refused.refusals.iter().flat_map(|refusal| &refusal.unproved).map(|criterion| criterion.id.0).collect();
    assert_eq!(unproved, [1, 2]);
}

#[test]
fn who_closes_what_its_checks_have_closed_meanwhile_is_told_that_it_is_closed() {
    let (mut scene, item) = checked(vec![command("one")]);
    let call = scene.world.call(None);
    let run = scene.world.run(&call, &submit(item, None)).expect("handed in").runs.remove(0);
    let seen = scene.get(item).version;
    take(&mut scene, &run, "here").expect("taken");
    assert!(end(&mut scene, &run, RunEnd::Exited { code: 0 }, Some(BEFORE)).expect("ended"));
    let complete = |expected_version| Advance {
        project: World::project(),
        moves: vec![MoveRequest {
            expected_version,
            ..MoveRequest::of(item.into(), Target::Trigger(Trigger::Complete))
        }],
        atomic: true,
    };
    let mut call = Call { runs_checks: true, ..scene.world.call(None) };
    call.looks.insert(item, saw(BEFORE));
    call.results.insert(item, 1);
    let moved = scene.world.run(&call, &complete(Some(seen))).expect("it is closed");
    let MoveResult::Applied(applied) = &moved.results[0] else { panic!("{moved:?}") };
    assert_eq!((applied.to_role, applied.version), (Role::Terminal, scene.get(item).version));
    // Whoever had nothing made for it comes too late.
    let call = scene.world.call(None);
    scene.world.run(&call, &complete(None)).expect_err("closed before");
}

#[test]
fn results_of_ones_own_checks_are_no_change_that_one_did_not_know_of() {
    let (mut scene, item) = checked(vec![command("one")]);
    let seen = scene.get(item).version;
    run_all(&mut scene, item, &[0], Some(BEFORE));
    assert!(scene.get(item).version > seen);
    let complete = Advance {
        project: World::project(),
        moves: vec![MoveRequest {
            expected_version: Some(seen),
            ..MoveRequest::of(item.into(), Target::Trigger(Trigger::Complete))
        }],
        atomic: true,
    };
    let mut call = scene.world.call(None);
    call.looks.insert(item, saw(BEFORE));
    let refused = scene.world.run(&call, &complete).expect_err("somebody else's results");
    assert_eq!(refused.reason, Reason::VersionMismatch);
    call.results.insert(item, 1);
    scene.world.run(&call, &complete).expect("its own");
}

#[test]
fn only_what_is_run_is_approved() {
    let (mut scene, item) = checked(vec![command("one"), manual("seen")]);
    let grace = Call { principal: name("grace"), ..scene.world.call(None) };
    let expected_version = scene.world.items[&item].version;
    let approve =
        |only: Vec<usize>| ApproveChecks { project: World::project(), item: item.into(), only, expected_version };
    let refused = scene.world.run(&grace, &approve(vec![1])).expect_err("a person makes it");
    assert!(refused.message.contains("attest it instead"), "{refused}");
    let refused = ApproveChecks::unread();
    assert_eq!((refused.reason, refused.field.as_deref()), (Reason::MissingField, Some("version")));
    let set_of = scene.world.run(&grace, &approve(vec![])).expect("approved");
    assert!(set_of.checks[0].is_approved());
    let (mut scene, item) = checked(vec![manual("seen")]);
    let grace = Call { principal: name("grace"), ..scene.world.call(None) };
    let expected_version = scene.world.items[&item].version;
    let none = ApproveChecks { project: World::project(), item: item.into(), only: vec![], expected_version };
    assert!(scene.world.run(&grace, &none).expect_err("nothing").message.contains("no check that is run"));
}

#[test]
fn a_word_that_closes_says_so_and_a_no_asks_for_mending() {
    let (mut scene, item) = checked(vec![manual("seen")]);
    let call = scene.world.call(None);
    scene.world.run(&call, &submit(item, None)).expect("handed in");
    let attest = |passed| Attest {
        project: World::project(),
        item: item.into(),
        check: 0,
        passed,
        note: None,
        tree: None,
        expected_version: None,
    };
    assert!(!scene.world.run(&call, &attest(false)).expect("a no").closed);
    let refused = close(&mut scene, item, None).expect_err("a no");
    let remedy = &refused.refusals[0].remedy;
    assert!(remedy.contains("found wanting") && !remedy.contains("have a person attest"), "{remedy}");
    let call = scene.world.call(None);
    assert!(scene.world.run(&call, &attest(true)).expect("a yes").closed);
    assert_eq!(scene.get(item).role, Role::Terminal);
}

#[test]
fn what_failed_without_a_tree_has_failed_and_is_not_stale() {
    let (mut scene, item) = checked(vec![command("one")]);
    let run = order(&mut scene, item, vec![], Some("here")).expect("a run").remove(0);
    end(&mut scene, &run, RunEnd::NotStarted { why: text("no such folder"), code: None }, None).expect("ended");
    let refused = close(&mut scene, item, saw(BEFORE)).expect_err("it failed");
    assert_eq!(unshown(&refused), [(0, CheckStanding::Fail)]);
    // A pass that changed the tree counts for nothing, and says why.
    let run = order(&mut scene, item, vec![], Some("here")).expect("a run").remove(0);
    let call = scene.world.call(None);
    let (definition, passed) = (run.definition.clone(), report(RunEnd::Exited { code: 0 }, None));
    let report = Report { tree_changed: true, ..passed };
    let ended = EndRun { run: run.id, runner: name("here"), definition, report, back: false, next: None };
    scene.world.run(&call, &ended).expect("ended");
    let note = scene.world.briefs[&item].checks[0].result.as_ref().and_then(|result| result.note.clone());
    assert!(note.is_some_and(|note| note.as_str().contains("the work tree changed while it ran")));
    let refused = close(&mut scene, item, saw(BEFORE)).expect_err("it changed the tree");
    assert_eq!(unshown(&refused), [(0, CheckStanding::Stale)]);
    assert!(refused.message.contains("changed the one it ran on"), "{refused}");
    // Nor does it for whoever sees no tree, as the caller of a runner elsewhere, or where git was broken by it.
    let saw_none = Look { tree: None, since: Timestamp::from_millis(0) };
    let refused = close(&mut scene, item, saw_none).expect_err("it changed the tree");
    assert_eq!(unshown(&refused), [(0, CheckStanding::Stale)]);
}

#[test]
fn work_that_was_handed_in_is_not_closed_by_a_pass_that_changed_its_tree() {
    let (mut scene, item) = checked(vec![command("one")]);
    let call = scene.world.call(None);
    let run = scene.world.run(&call, &submit(item, None)).expect("handed in").runs.remove(0);
    let run = take(&mut scene, &run, "here").expect("taken");
    let report = Report { tree_changed: true, ..report(RunEnd::Exited { code: 0 }, None) };
    let definition = run.definition.clone();
    let ended = EndRun { run: run.id, runner: name("here"), definition, report, back: false, next: None };
    let call = scene.world.call(None);
    assert!(!scene.world.run(&call, &ended).expect("ended").closed);
    assert_eq!(scene.get(item).role, Role::Review);
}

#[test]
fn an_operator_lets_run_exactly_what_is_listed() {
    let (scene, item) = checked(vec![command("one"), command("two"), manual("seen")]);
    let checks = &scene.world.briefs[&item].checks;
    assert_eq!(Allowed::Nothing.barred(checks), [0, 1]);
    assert_eq!(Allowed::These(vec!["two".to_owned(), "one ".to_owned()]).barred(checks), [0]);
    assert_eq!(Allowed::Everything.barred(checks), [0_usize; 0]);
}

#[test]
fn the_last_word_of_a_person_has_a_runner_look_once_more() {
    let (mut scene, item) = checked(vec![command("one"), manual("seen")]);
    let call = scene.world.call(None);
    let run = scene.world.run(&call, &submit(item, None)).expect("handed in").runs.remove(0);
    take(&mut scene, &run, "here").expect("taken");
    assert!(!end(&mut scene, &run, RunEnd::Exited { code: 0 }, Some(BEFORE)).expect("a person is missing"));
    let attest = Attest {
        project: World::project(),
        item: item.into(),
        check: 1,
        passed: true,
        note: None,
        tree: None,
        expected_version: None,
    };
    let call = scene.world.call(None);
    assert!(!scene.world.run(&call, &attest).expect("a yes").closed, "nobody has looked at the work tree");
    let waiting = scene.world.runs.values().find(|run| run.state == RunState::Queued).expect("a run").clone();
    take(&mut scene, &waiting, "here").expect("taken");
    assert!(end(&mut scene, &waiting, RunEnd::Unchanged { since: run.id }, Some(BEFORE)).expect("looked"));
    assert_eq!(scene.get(item).role, Role::Terminal);
}

#[test]
fn what_was_learned_is_kept_with_what_is_handed_in() {
    let (mut scene, item) = checked(vec![manual("seen")]);
    let call = scene.world.call(None);
    let learning = Learning { title: title("Flags"), body: text("Use these"), tags: Vec::new() };
    let submit = Submit { learnings: vec![learning], ..submit(item, None) };
    let submitted = scene.world.run(&call, &submit).expect("handed in");
    let entry = scene.world.entries.get(&submitted.entries[0]).expect("an entry");
    assert_eq!((entry.source_item, entry.title.as_str()), (Some(item), "Flags"));
    assert_eq!(scene.get(item).role, Role::Review);
}

#[test]
fn a_failing_check_leaves_what_was_handed_in_in_review() {
    let (mut scene, item) = checked(vec![command("one")]);
    let call = scene.world.call(None);
    let submit = submit(item, None);
    let run = scene.world.run(&call, &submit).expect("handed in").runs.remove(0);
    let take =
        TakeRun { run: run.id, runner: name("here"), allowed: vec![run.definition.clone()], taking: Taking::Asked };
    scene.world.run(&call, &take).expect("taken");
    assert!(!end(&mut scene, &run, RunEnd::Exited { code: 1 }, Some(BEFORE)).expect("ended"));
    assert_eq!(scene.get(item).role, Role::Review);
}
