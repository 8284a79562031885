//! Checks in commands: who writes them, who lets them run, what a run leaves, and what the gate makes of it.

use docket_core::checks::Look;
use docket_core::command::{
    ApproveChecks, Attest, BriefText, CancelRun, Change, EndRun, NewCheck, NewCriterion, OrderRuns, Report, SetBrief,
    SetChecks, Submit, TakeRun,
};
use docket_core::engine::Call;
use docket_core::model::{
    Authority, CheckKind, CheckStanding, CriterionId, Folder, ItemId, Role, Run, RunEnd, RunState, Standing, Taking,
    Text, Timestamp, Tree, Trigger, VerificationKind,
};
use docket_core::testing::{World, name, title};
use docket_core::workflow::{Target, Workflow};
use docket_core::{Code, Error, Gate, Reason};

use crate::scene::Scene;

pub(crate) fn text(words: &str) -> Text {
    Text::parse(words).expect("a text")
}

pub(crate) fn tree(digits: &str) -> Tree {
    Tree::parse(digits).expect("a tree")
}

pub(crate) const BEFORE: &str = "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa";
pub(crate) const AFTER: &str = "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb";

pub(crate) fn command(cmd: &str) -> NewCheck {
    let kind = CheckKind::Command { cmd: text(cmd), cwd: None, timeout_seconds: None };
    NewCheck { desc: text(&format!("{cmd} works")), kind, proves: None }
}

pub(crate) fn manual(desc: &str) -> NewCheck {
    NewCheck { desc: text(desc), kind: CheckKind::Manual, proves: None }
}

/// An item in work with these checks.
pub(crate) fn checked(checks: Vec<NewCheck>) -> (Scene, ItemId) {
    let mut scene = Scene::new(Workflow::standard());
    let item = scene.item("prove me");
    scene.must(item, Trigger::Start);
    set(&mut scene, item, checks, Authority::Human, None).expect("checks");
    (scene, item)
}

pub(crate) fn set(
    scene: &mut Scene,
    item: ItemId,
    checks: Vec<NewCheck>,
    authority: Authority,
    actor: Option<&str>,
) -> Result<Vec<CheckStanding>, Error> {
    let call = scene.world.call(actor);
    let project = World::project();
    let set =
        SetChecks { project, item: item.into(), checks, add: false, expected_version: None, fence: None, authority };
    let set = scene.world.run(&call, &set)?;
    Ok(set.checks.iter().map(docket_core::model::Check::standing).collect())
}

pub(crate) fn order(
    scene: &mut Scene,
    item: ItemId,
    only: Vec<usize>,
    runner: Option<&str>,
) -> Result<Vec<Run>, Error> {
    let call = scene.world.call(None);
    let checks = scene.world.briefs[&item].checks.clone();
    let allowed = checks.iter().map(docket_core::model::Check::definition).collect();
    let runner = runner.map(name);
    let order = OrderRuns {
        project: World::project(),
        item: item.into(),
        only,
        again: false,
        unchanged: vec![],
        runner,
        allowed,
    };
    scene.world.run(&call, &order).map(|ordered| ordered.runs)
}

pub(crate) fn report(end: RunEnd, on: Option<&str>) -> Report {
    Report {
        end,
        log: text("said"),
        log_left_out: 0,
        tree: on.map(tree),
        tree_changed: false,
        sandbox: Some(name("none")),
        after_seconds: None,
    }
}

pub(crate) fn end(scene: &mut Scene, run: &Run, how: RunEnd, on: Option<&str>) -> Result<bool, Error> {
    let call = scene.world.call(None);
    let (runner, definition) = (name("here"), run.definition.clone());
    let end = EndRun { run: run.id, runner, definition, report: report(how, on), back: false, next: None };
    scene.world.run(&call, &end).map(|ended| ended.closed)
}

/// Runs everything on a tree, with these exit codes.
pub(crate) fn run_all(scene: &mut Scene, item: ItemId, codes: &[i32], on: Option<&str>) {
    let runs = order(scene, item, vec![], Some("here")).expect("runs");
    assert_eq!(runs.len(), codes.len());
    for (run, code) in runs.iter().zip(codes) {
        end(scene, run, RunEnd::Exited { code: *code }, on).expect("ended");
    }
}

/// Completes an item for somebody who saw this tree.
pub(crate) fn close(scene: &mut Scene, item: ItemId, saw: impl Into<Option<Look>>) -> Result<Role, Error> {
    let mut call = scene.world.call(None);
    call.looks.extend(saw.into().map(|look| (item, look)));
    close_with(scene, item, &call)
}

pub(crate) fn close_with(scene: &mut Scene, item: ItemId, call: &Call) -> Result<Role, Error> {
    use docket_core::command::{Advance, MoveRequest};
    let moves = vec![MoveRequest::of(item.into(), Target::Trigger(Trigger::Complete))];
    let advance = Advance { project: World::project(), moves, atomic: true };
    scene.world.run(call, &advance)?;
    Ok(scene.get(item).role)
}

pub(crate) fn saw(digits: &str) -> Look {
    Look { tree: Some(tree(digits)), since: Timestamp::from_millis(0) }
}

/// How the checks stand that a refused move names.
pub(crate) fn unshown(error: &Error) -> Vec<(usize, CheckStanding)> {
    let refusal = error.refusals.iter().find(|refusal| refusal.gate == Gate::Checks).expect("the gate's no");
    refusal.unshown.iter().map(|check| (check.index, check.status)).collect()
}

#[test]
fn an_item_closes_only_when_every_check_passed_on_what_is_there() {
    use CheckStanding::{Fail, Pending, Stale, Unseen};
    let (mut scene, item) = checked(vec![command("one"), command("two")]);
    let pending = close(&mut scene, item, None).expect_err("nothing was run");
    assert_eq!(unshown(&pending), [(0, Pending), (1, Pending)]);
    run_all(&mut scene, item, &[0, 1], Some(BEFORE));
    assert_eq!(unshown(&close(&mut scene, item, saw(BEFORE)).expect_err("one failed")), [(1, Fail)]);
    run_all(&mut scene, item, &[0, 0], Some(BEFORE));
    let unseen = close(&mut scene, item, None).expect_err("nobody looked at the tree");
    assert_eq!(unshown(&unseen), [(0, Unseen), (1, Unseen)]);
    assert!(unseen.message.contains("nobody has looked") && !unseen.message.contains("stale"), "{unseen}");
    let changed = close(&mut scene, item, saw(AFTER)).expect_err("the tree changed");
    assert_eq!(unshown(&changed), [(0, Stale), (1, Stale)]);
    let no_git = close(&mut scene, item, Some(Look { tree: None, since: Timestamp::from_millis(0) }));
    assert_eq!(unshown(&no_git.expect_err("the tree is gone")), [(0, Stale), (1, Stale)]);
    assert_eq!(close(&mut scene, item, saw(BEFORE)), Ok(Role::Terminal));
}

#[test]
fn without_git_only_what_was_run_just_now_counts() {
    let (mut scene, item) = checked(vec![command("one")]);
    run_all(&mut scene, item, &[0], None);
    let look = |since: i64| Some(Look { tree: None, since: Timestamp::from_millis(since) });
    let later = scene.world.now.as_millis() + 1;
    assert_eq!(unshown(&close(&mut scene, item, look(later)).expect_err("run before")), [(0, CheckStanding::Stale)]);
    let ran_at = scene.world.briefs[&item].checks[0].result.as_ref().expect("a result").at.as_millis();
    assert_eq!(close(&mut scene, item, look(ran_at)), Ok(Role::Terminal));
}

#[test]
fn an_edit_of_a_check_voids_its_result_and_its_approval() {
    let (mut scene, item) = checked(vec![command("one"), command("two")]);
    run_all(&mut scene, item, &[0, 0], Some(BEFORE));
    let call = scene.world.call(None);
    let by_other = Call { principal: name("grace"), ..call };
    let read = scene.world.items[&item].version;
    let approve = ApproveChecks { project: World::project(), item: item.into(), only: vec![], expected_version: read };
    let outdated = ApproveChecks { expected_version: read - 1, ..approve.clone() };
    let refused = scene.world.run(&by_other, &outdated).expect_err("of what was read before");
    assert_eq!(refused.reason, Reason::VersionMismatch);
    scene.world.run(&by_other, &approve).expect("approved by somebody else");
    assert!(scene.world.briefs[&item].checks.iter().all(docket_core::model::Check::is_approved));
    let mut second = command("two");
    second.kind = CheckKind::Command { cmd: text("two"), cwd: Folder::parse("sub").ok(), timeout_seconds: None };
    let standing = set(&mut scene, item, vec![command("one"), second], Authority::Human, None).expect("edited");
    assert_eq!(standing, [CheckStanding::Pass, CheckStanding::Pending]);
    let checks = &scene.world.briefs[&item].checks;
    assert_eq!(checks.iter().map(docket_core::model::Check::is_approved).collect::<Vec<_>>(), [true, false]);
    assert_eq!(unshown(&close(&mut scene, item, saw(BEFORE)).expect_err("not run")), [(1, CheckStanding::Pending)]);
}

#[test]
fn a_result_is_of_what_was_ordered_and_by_who_runs_it() {
    let (mut scene, item) = checked(vec![command("one")]);
    let run = order(&mut scene, item, vec![], Some("here")).expect("a run").remove(0);
    let call = scene.world.call(None);
    let definition = run.definition.clone();
    let passed = || report(RunEnd::Exited { code: 0 }, Some(BEFORE));
    let other =
        EndRun { run: run.id, runner: name("elsewhere"), definition, report: passed(), back: false, next: None };
    assert_eq!(scene.world.run(&call, &other).expect_err("not its run").reason, Reason::RunEnded);
    let definition = docket_core::model::Definition::of(&text("one works"), &CheckKind::Manual);
    let forged = EndRun { run: run.id, runner: name("here"), definition, report: passed(), back: false, next: None };
    let refused = scene.world.run(&call, &forged).expect_err("something else was run");
    assert_eq!((refused.code, refused.reason), (Code::Forbidden, Reason::CheckNotApproved));
    // The check is edited while it runs: the run ends, and says nothing of the check as it is now.
    set(&mut scene, item, vec![command("other")], Authority::Human, None).expect("edited");
    end(&mut scene, &run, RunEnd::Exited { code: 0 }, Some(BEFORE)).expect("ended");
    assert_eq!(scene.world.briefs[&item].checks[0].standing(), CheckStanding::Pending);
    assert_eq!(scene.world.runs[&run.id].state, RunState::Passed);
    let again = end(&mut scene, &run, RunEnd::Exited { code: 0 }, Some(BEFORE));
    assert_eq!(again.expect_err("it ended before").reason, Reason::RunEnded);
}

#[test]
fn only_exit_zero_passes() {
    for (how, passes) in [
        (RunEnd::Exited { code: 0 }, true),
        (RunEnd::Exited { code: 1 }, false),
        (RunEnd::Signalled { signal: 9 }, false),
        (RunEnd::TimedOut, false),
        (RunEnd::NotStarted { why: text("no shell"), code: None }, false),
        (RunEnd::Fact { holds: true, seen: text("merged") }, true),
        (RunEnd::Fact { holds: false, seen: text("open") }, false),
    ] {
        let (mut scene, item) = checked(vec![command("one")]);
        let run = order(&mut scene, item, vec![0], Some("here")).expect("a run").remove(0);
        end(&mut scene, &run, how.clone(), Some(BEFORE)).expect("ended");
        let wanted = if passes { CheckStanding::Pass } else { CheckStanding::Fail };
        assert_eq!(scene.world.briefs[&item].checks[0].standing(), wanted, "{how}");
    }
    let (mut scene, item) = checked(vec![command("one")]);
    let run = order(&mut scene, item, vec![0], Some("here")).expect("a run").remove(0);
    end(&mut scene, &run, RunEnd::Cancelled, Some(BEFORE)).expect("ended");
    assert_eq!(scene.world.briefs[&item].checks[0].standing(), CheckStanding::Pending, "given up is no result");
}

#[test]
fn nobody_runs_what_nobody_let_run() {
    let (mut scene, item) = checked(vec![command("rm -rf")]);
    let call = scene.world.call(None);
    let order = |runner: Option<&str>| OrderRuns {
        project: World::project(),
        item: item.into(),
        only: vec![],
        again: false,
        unchanged: vec![],
        runner: runner.map(name),
        allowed: vec![],
    };
    // Neither here nor by a runner elsewhere: whoever would wait for it learns that at once.
    for runner in [Some("here"), None] {
        let barred = scene.world.run(&call, &order(runner)).expect_err("not approved");
        assert_eq!((barred.code, barred.reason), (Code::Forbidden, Reason::CheckNotApproved));
        assert!(barred.message.contains("docket check approve"), "{barred}");
    }
    let submitted = scene.world.run(&call, &submit(item, None)).expect("it may wait");
    assert_eq!(submitted.unapproved, [0], "it is said what it waits for");
    let waiting = submitted.runs[0].clone();
    let take = TakeRun { run: waiting.id, runner: name("there"), allowed: vec![], taking: Taking::Asked };
    assert_eq!(scene.world.run(&call, &take).expect_err("not approved").reason, Reason::CheckNotApproved);
    let expected_version = scene.world.items[&item].version;
    let approve = ApproveChecks { project: World::project(), item: item.into(), only: vec![0], expected_version };
    let own = scene.world.run(&call, &approve).expect_err("its author");
    assert_eq!((own.code, own.reason), (Code::Forbidden, Reason::CheckNotApproved));
    for way_out in ["another person", "docket check run", "[runner] allow"] {
        assert!(own.message.contains(way_out), "{own}");
    }
    let bot = scene.world.call(Some("bot"));
    assert_eq!(scene.world.run(&bot, &approve).expect_err("an agent").code, Code::Forbidden);
    let grace = Call { principal: name("grace"), ..scene.world.call(None) };
    scene.world.run(&grace, &approve).expect("somebody else");
    let taken = scene.world.run(&call, &take).expect("taken").runs.remove(0);
    assert_eq!((taken.state, taken.runner), (RunState::Running, Some(name("there"))));
    assert_eq!(scene.world.run(&call, &take).expect_err("taken").reason, Reason::RunEnded);
    // Its runner never comes back.
    let due = taken.due_at.expect("a time").as_millis();
    scene.world.now = Timestamp::from_millis(due + 1);
    assert_eq!(scene.world.runs[&taken.id].state_at(scene.world.now), RunState::Lost);
    scene.world.run(&call, &take).expect("taken over");
    let cancel = CancelRun { run: taken.id };
    scene.world.run(&call, &cancel).expect("given up");
    assert_eq!(scene.world.run(&call, &cancel).expect_err("given up before").reason, Reason::RunEnded);
}

#[test]
fn a_person_attests_and_nobody_else() {
    let (mut scene, item) = checked(vec![manual("reviewed by a human"), command("one")]);
    run_all(&mut scene, item, &[0], Some(BEFORE));
    assert_eq!(unshown(&close(&mut scene, item, saw(BEFORE)).expect_err("manual")), [(0, CheckStanding::Pending)]);
    let attest = |check: usize, passed: bool| Attest {
        project: World::project(),
        item: item.into(),
        check,
        passed,
        note: Some(text("looked")),
        tree: None,
        expected_version: None,
    };
    let bot = scene.world.call(Some("bot"));
    assert_eq!(scene.world.run(&bot, &attest(0, true)).expect_err("an agent").code, Code::Forbidden);
    let person = scene.world.call(None);
    assert_eq!(scene.world.run(&person, &attest(1, true)).expect_err("it is run").code, Code::Conflict);
    assert_eq!(scene.world.run(&person, &attest(9, true)).expect_err("no such").code, Code::Validation);
    scene.world.run(&person, &attest(0, false)).expect("a no");
    assert_eq!(unshown(&close(&mut scene, item, saw(BEFORE)).expect_err("a no")), [(0, CheckStanding::Fail)]);
    let person = scene.world.call(None);
    scene.world.run(&person, &attest(0, true)).expect("a yes");
    assert_eq!(close(&mut scene, item, saw(BEFORE)), Ok(Role::Terminal));
}

#[test]
fn what_a_person_asked_for_is_not_an_agents_to_take_away() {
    let (mut scene, item) = checked(vec![command("one")]);
    let refused = set(&mut scene, item, vec![], Authority::Agent, Some("bot")).expect_err("an agent");
    assert_eq!((refused.code, refused.reason), (Code::Forbidden, Reason::NotYours));
    set(&mut scene, item, vec![command("one"), command("two")], Authority::Agent, Some("bot")).expect("more");
    set(&mut scene, item, vec![command("one")], Authority::Agent, Some("bot")).expect("its own again");
    set(&mut scene, item, vec![], Authority::Human, None).expect("a person");
}

#[test]
fn a_check_proves_a_criterion_for_as_long_as_it_says_the_same() {
    let (mut scene, item) = checked(vec![]);
    let line = NewCriterion { verifier: Some(Authority::Check), ..NewCriterion::saying(text("it is fast")) };
    let brief = BriefText { acceptance_criteria: Change::Set(vec![line]), ..BriefText::default() };
    let call = scene.world.call(None);
    let authority = Authority::Human;
    let set_brief = SetBrief {
        project: World::project(),
        item: item.into(),
        brief,
        replace: true,
        expected_version: None,
        fence: None,
        authority,
    };
    scene.world.run(&call, &set_brief).expect("a brief");
    let unknown = NewCheck { proves: Some(CriterionId(7)), ..command("bench") };
    assert_eq!(set(&mut scene, item, vec![unknown], authority, None).expect_err("no c7").code, Code::NotFound);
    let proof = NewCheck { proves: Some(CriterionId(1)), ..command("bench") };
    set(&mut scene, item, vec![proof.clone()], authority, None).expect("checks");
    run_all(&mut scene, item, &[0], Some(BEFORE));
    let standing = |scene: &Scene| scene.world.briefs[&item].acceptance_criteria[0].standing();
    assert_eq!(standing(&scene), Standing::Pass);
    let moved = close(&mut scene, item, saw(AFTER)).expect_err("another tree");
    assert_eq!(unshown(&moved), [(0, CheckStanding::Stale)]);
    let edited = NewCheck { desc: text("benches faster"), ..proof };
    set(&mut scene, item, vec![edited], authority, None).expect("edited");
    assert_eq!(standing(&scene), Standing::Open, "the evidence went with what it was about");
}

#[test]
fn a_unit_that_lacks_only_checks_is_given_up_for_them_to_be_run() {
    let (mut scene, item) = checked(vec![command("one")]);
    let mut call = Call { runs_checks: true, ..scene.world.call(None) };
    let wanted = close_with(&mut scene, item, &call).expect_err("to be run");
    assert_eq!((wanted.reason, wanted.contended_item), (Reason::ChecksNeeded, Some(item)));
    // Whoever has had them run gets the gate's own answer.
    run_all(&mut scene, item, &[1], Some(BEFORE));
    call.looks.insert(item, saw(BEFORE));
    let failed = close_with(&mut scene, item, &call).expect_err("it failed");
    assert_eq!(unshown(&failed), [(0, CheckStanding::Fail)]);
    // A manual one is not worth running the others for.
    let (mut scene, item) = checked(vec![command("one"), manual("seen")]);
    let call = Call { runs_checks: true, ..scene.world.call(None) };
    let refused = close_with(&mut scene, item, &call).expect_err("a person is missing");
    assert_ne!(refused.reason, Reason::ChecksNeeded, "the engine would have them run");
    assert_eq!(unshown(&refused), [(0, CheckStanding::Pending), (1, CheckStanding::Pending)]);
}

pub(crate) fn submit(item: ItemId, output: Option<Text>) -> Submit {
    Submit { project: World::project(), item: item.into(), output, learnings: Vec::new(), fence: None }
}

#[test]
fn work_that_is_handed_in_closes_when_it_is_shown() {
    for (checks, verification, eta) in [
        (vec![], VerificationKind::None, Some(0)),
        (vec![manual("seen")], VerificationKind::Manual, None),
        (vec![command("one")], VerificationKind::Command, Some(30)),
    ] {
        let (mut scene, item) = checked(checks);
        let call = scene.world.call(None);
        let submit = submit(item, Some(text("did it")));
        let submitted = scene.world.run(&call, &submit).expect("handed in");
        assert_eq!((submitted.verification, submitted.eta_seconds), (verification, eta));
        let role = if verification == VerificationKind::None { Role::Terminal } else { Role::Review };
        assert_eq!(submitted.role, role);
        match verification {
            VerificationKind::Manual => {
                let attest = Attest {
                    project: World::project(),
                    item: item.into(),
                    check: 0,
                    passed: true,
                    note: None,
                    tree: None,
                    expected_version: None,
                };
                scene.world.run(&call, &attest).expect("attested");
            }
            VerificationKind::Command => {
                let run = submitted.runs.first().expect("a run that waits").clone();
                let allowed = vec![run.definition.clone()];
                let take = TakeRun { run: run.id, runner: name("here"), allowed, taking: Taking::Asked };
                scene.world.run(&call, &take).expect("taken");
                let closed = end(&mut scene, &run, RunEnd::Exited { code: 0 }, Some(BEFORE)).expect("ended");
                assert!(closed);
            }
            VerificationKind::None | VerificationKind::GithubPr => {}
        }
        assert_eq!(scene.get(item).role, Role::Terminal, "{verification:?}");
    }
}

#[test]
fn bad_checks_are_refused_where_they_are_bad() {
    let (mut scene, item) = checked(vec![]);
    let timed = |seconds| CheckKind::Command { cmd: text("true"), cwd: None, timeout_seconds: Some(seconds) };
    let kind = |kind| NewCheck { kind, ..command("true") };
    let long = "x".repeat(100 * 1024);
    for (check, reason, field) in [
        (NewCheck { desc: text("  "), ..command("true") }, Reason::Blank, "checks[0].desc"),
        (NewCheck { desc: text("empty"), ..command(" ") }, Reason::Blank, "checks[0].cmd"),
        (NewCheck { desc: text("long"), ..command(&long) }, Reason::TooLong, "checks[0].cmd"),
        (command("a\nb"), Reason::BadChar, "checks[0].cmd"),
        (kind(timed(0)), Reason::BadValue, "checks[0].timeout"),
        (kind(timed(1_000_000_000)), Reason::BadValue, "checks[0].timeout"),
    ] {
        let refused = set(&mut scene, item, vec![check], Authority::Human, None).expect_err("bad");
        assert_eq!((refused.code, refused.reason), (Code::Validation, reason), "{refused}");
        assert_eq!(refused.field.as_deref(), Some(field));
    }
    let twice = vec![command("one"), command("one")];
    assert_eq!(set(&mut scene, item, twice, Authority::Human, None).expect_err("twice").reason, Reason::Duplicate);
    let many = (0..51).map(|number| command(&format!("c{number}"))).collect();
    assert_eq!(set(&mut scene, item, many, Authority::Human, None).expect_err("many").reason, Reason::TooMany);
    set(&mut scene, item, vec![command("one")], Authority::Human, None).expect("one");
    assert_eq!(order(&mut scene, item, vec![99], Some("here")).expect_err("no 99").code, Code::Validation);
    assert_eq!(scene.get(item).title, title("prove me"));
}
