//! Runs that wait: for whom, until when, and what becomes of an item meanwhile.

use docket_core::command::{Attest, EndRun, NewCheck, OrderRuns, Report, Submit, TakeRun};
use docket_core::engine::Call;
use docket_core::model::{
    CheckKind, CheckStanding, Declined, ItemId, Repository, Role, Run, RunEnd, RunState, Taking, Timestamp, Trigger,
    Turn,
};
use docket_core::testing::{World, name};
use docket_core::workflow::{WhenFailed, Workflow};
use docket_core::{Error, Reason, limits};

use crate::checks::{BEFORE, checked, command, end, manual, order, report, set, submit, text};
use crate::scene::Scene;

fn merged() -> NewCheck {
    let repository = Repository::parse("acme/web").expect("a repository");
    let kind = CheckKind::PullRequest { repository, number: Some(31), branch: None };
    NewCheck { desc: text("it is merged"), kind, proves: None }
}

/// Hands an item in from a work tree, or by a server.
fn hand_in(scene: &mut Scene, item: ItemId, place: Option<&str>) -> Vec<Run> {
    let call = Call { place: place.map(name), ..scene.world.call(None) };
    scene.world.run(&call, &submit(item, None)).expect("handed in").runs
}

fn take(scene: &mut Scene, run: &Run, runner: &str, taking: Taking) -> Result<Run, Error> {
    let call = Call { place: Some(name("asker")), ..scene.world.call(None) };
    let take = TakeRun { run: run.id, runner: name(runner), allowed: vec![run.definition.clone()], taking };
    scene.world.run(&call, &take).map(|mut taken| taken.runs.remove(0))
}

/// Takes a run and gives it back, or ends it, with a report.
fn tried(scene: &mut Scene, run: &Run, report: Report) -> Run {
    take(scene, run, "here", Taking::Served(None)).expect("taken");
    let (call, definition) = (scene.world.call(None), run.definition.clone());
    let end = EndRun { run: run.id, runner: name("here"), definition, report, back: true, next: None };
    scene.world.run(&call, &end).expect("told");
    scene.world.runs[&run.id].clone()
}

fn not_yet() -> Report {
    Report::undone(RunEnd::NotYet { seen: text("pull request #31 is open") })
}

fn later(scene: &Scene, millis: i64) -> Timestamp {
    Timestamp::from_millis(scene.world.now.as_millis() + millis)
}

#[test]
fn what_was_ordered_in_a_work_tree_is_made_there() {
    let own = |place: &str| Taking::Own(Some(name(place)));
    let served = |place: &str| Taking::Served(Some(name(place)));
    let (mut scene, item) = checked(vec![command("one"), merged()]);
    let runs = hand_in(&mut scene, item, Some("w1"));
    assert_eq!(runs[0].place, Some(name("w1")));
    for (taking, files, fact) in [
        (own("w1"), true, true),
        (own("w2"), false, false),
        (Taking::Own(None), false, false),
        (served("w1"), true, true),
        (served("w2"), false, true),
        (Taking::Served(None), false, true),
        (Taking::Asked, true, true),
    ] {
        assert_eq!((taking.includes(&runs[0]), taking.includes(&runs[1])), (files, fact), "{taking:?}");
    }
    let refused = take(&mut scene, &runs[0], "there", own("w2")).expect_err("another's work tree");
    assert_eq!(refused.reason, Reason::RunEnded);
    assert_eq!(scene.world.runs[&runs[0].id].state, RunState::Queued);
    take(&mut scene, &runs[0], "here", own("w1")).expect("its own");
    // By a server: a runner takes it, and nobody who works in a work tree of its own.
    let (mut scene, item) = checked(vec![command("one")]);
    let run = hand_in(&mut scene, item, None).remove(0);
    assert!(served("w1").includes(&run) && Taking::Own(None).includes(&run) && !own("w1").includes(&run));
    // Whoever asks for it by name has it made where they are.
    let taken = take(&mut scene, &run, "here", Taking::Asked).expect("asked for");
    assert_eq!(taken.place, Some(name("asker")));
}

#[test]
fn a_work_tree_is_meant_by_its_whole_name_or_by_that_of_its_folder() {
    let (mut scene, item) = checked(vec![command("one")]);
    let run = hand_in(&mut scene, item, Some("w1")).remove(0);
    let own = |place: &str| Taking::Own(Some(name(place)));
    for (place, meant) in [("w1@00ff", true), ("w1", true), ("w2@00ff", false), ("w1@w2@00ff", false), ("@00ff", false)]
    {
        assert_eq!(own(place).includes(&run), meant, "{place}");
        assert_eq!(Taking::Served(Some(name(place))).includes(&run), meant, "{place}");
    }
    let taken = take(&mut scene, &run, "here", own("w1@00ff")).expect("taken");
    assert_eq!(taken.place, Some(name("w1@00ff")), "it is told where it was made");
    // Its whole name is that of one work tree alone.
    assert!(!own("w1@11ee").includes(&taken) && !own("w1").includes(&taken));
}

#[test]
fn whoever_asks_a_server_again_from_elsewhere_wants_to_know_of_that_place() {
    let (mut scene, item) = checked(vec![command("one")]);
    let definition = scene.world.briefs[&item].checks[0].definition();
    let ordered = |scene: &mut Scene, place: Option<&str>| {
        let call = Call { place: place.map(name), ..scene.world.call(None) };
        let (project, item) = (World::project(), item.into());
        let allowed = vec![definition.clone()];
        let order = OrderRuns { project, item, only: vec![], again: false, unchanged: vec![], runner: None, allowed };
        scene.world.run(&call, &order).expect("ordered").runs.remove(0)
    };
    let first = ordered(&mut scene, Some("w1"));
    let second = ordered(&mut scene, Some("w2"));
    assert_eq!((second.id, &second.place), (first.id, &Some(name("w2"))));
    assert_eq!(ordered(&mut scene, None).place, Some(name("w2")), "who is nowhere joins it as it is");
    take(&mut scene, &second, "here", Taking::Own(Some(name("w2")))).expect("taken");
    assert_eq!(ordered(&mut scene, Some("w3")).place, Some(name("w2")), "what runs is joined where it runs");
    scene.world.check();
}

#[test]
fn what_was_handed_in_stays_where_it_was_handed_in_from_whoever_asks_for_it_again() {
    let (mut scene, item) = checked(vec![command("one")]);
    let run = hand_in(&mut scene, item, Some("w1")).remove(0);
    let call = Call { place: Some(name("w2")), ..scene.world.call(None) };
    let (project, allowed) = (World::project(), vec![run.definition.clone()]);
    let order =
        OrderRuns { project, item: item.into(), only: vec![], again: true, unchanged: vec![], runner: None, allowed };
    let ordered = scene.world.run(&call, &order).expect("ordered").runs.remove(0);
    assert_eq!((ordered.id, ordered.place), (run.id, Some(name("w1"))));
    scene.world.check();
}

#[test]
fn handed_in_from_elsewhere_it_is_made_there_and_a_persons_word_moves_nothing() {
    let (mut scene, item) = checked(vec![command("one"), manual("seen")]);
    let run = hand_in(&mut scene, item, Some("w1")).remove(0);
    let again = hand_in(&mut scene, item, Some("w2")).remove(0);
    assert_eq!((again.id, &again.place), (run.id, &Some(name("w2"))));
    take(&mut scene, &run, "here", Taking::Own(Some(name("w2")))).expect("taken");
    end(&mut scene, &run, RunEnd::Exited { code: 0 }, Some(BEFORE)).expect("ended");
    let call = Call { place: Some(name("desk of a person")), ..scene.world.call(None) };
    let (project, item_ref) = (World::project(), item.into());
    let (check, passed, note, tree, expected_version) = (1, true, None, None, None);
    let attest = Attest { project, item: item_ref, check, passed, note, tree, expected_version };
    scene.world.run(&call, &attest).expect("a yes");
    let waiting = scene.world.runs.values().find(|run| run.state == RunState::Queued).expect("one more look");
    assert_eq!(waiting.place, Some(name("w2")), "where it was handed in from");
    scene.world.check();
}

#[test]
fn what_is_not_decided_yet_is_looked_at_again_later_each_time_until_it_is() {
    let (mut scene, item) = checked(vec![merged()]);
    let run = hand_in(&mut scene, item, None).remove(0);
    let mut pause = limits::RUN_PAUSE_MS;
    for round in 1..=10 {
        let now = scene.world.now;
        let waits = tried(&mut scene, &run, not_yet());
        assert_eq!((waits.state, waits.tries, waits.ended_at), (RunState::Queued, round, None));
        assert_eq!(waits.next_look_at, Some(later(&scene, pause)));
        assert_eq!(waits.turn(&name("here"), now), Turn::At(later(&scene, pause)), "nobody asks before");
        assert_eq!(scene.get(item).role, Role::Review);
        assert_eq!(scene.world.briefs[&item].checks[0].standing(), CheckStanding::Pending, "it is not red for that");
        scene.world.now = later(&scene, pause);
        assert_eq!(waits.turn(&name("there"), scene.world.now), Turn::Now);
        pause = (pause * 2).min(limits::RUN_PAUSE_MOST_MS);
    }
    assert_eq!(pause, limits::RUN_PAUSE_MOST_MS);
    // Handed in again it is looked at now.
    let again = hand_in(&mut scene, item, None).remove(0);
    assert_eq!((again.id, again.tries, again.next_look_at), (run.id, 0, None));
    tried(&mut scene, &run, Report::undone(RunEnd::Fact { holds: true, seen: text("merged") }));
    assert_eq!(scene.get(item).role, Role::Terminal);
    scene.world.check();
}

#[test]
fn what_was_closed_unmerged_has_failed_and_so_has_what_nobody_waits_for() {
    let (mut scene, item) = checked(vec![merged()]);
    let run = hand_in(&mut scene, item, None).remove(0);
    let closed = tried(&mut scene, &run, Report::undone(RunEnd::Fact { holds: false, seen: text("closed") }));
    assert_eq!(closed.state, RunState::Failed);
    // Whoever asks whether it is merged, of work that is not handed in, is told that it is not.
    let (mut scene, item) = checked(vec![merged()]);
    let run = order(&mut scene, item, vec![], None).expect("a run").remove(0);
    let told = tried(&mut scene, &run, not_yet());
    assert_eq!(told.state, RunState::Failed);
    assert_eq!(scene.world.briefs[&item].checks[0].standing(), CheckStanding::Fail);
    // What was handed in and taken back is asked about no more.
    let (mut scene, item) = checked(vec![merged()]);
    let run = hand_in(&mut scene, item, None).remove(0);
    scene.must(item, Trigger::Cancel);
    assert_eq!(tried(&mut scene, &run, not_yet()).state, RunState::Failed);
}

#[test]
fn a_runner_that_could_not_for_the_moment_tries_again_and_others_need_not_wait() {
    let (mut scene, item) = checked(vec![merged()]);
    let run = hand_in(&mut scene, item, None).remove(0);
    let outage = |after_seconds| Report {
        after_seconds,
        ..Report::undone(RunEnd::NotMade { why: text("it does not answer"), passing: true })
    };
    let now = scene.world.now;
    let waits = tried(&mut scene, &run, outage(None));
    let until = later(&scene, limits::RUN_PAUSE_MS);
    assert_eq!(
        (waits.state, &waits.declined),
        (RunState::Queued, &vec![Declined { runner: name("here"), until: Some(until) }])
    );
    assert_eq!(waits.turn(&name("here"), now), Turn::At(until));
    assert_eq!(waits.turn(&name("there"), now), Turn::Now);
    assert_eq!(waits.turn(&name("here"), until), Turn::Now);
    // Whoever is asked says how long it wants to be left alone, within bounds.
    let waits = tried(&mut scene, &run, outage(Some(3600)));
    assert_eq!(waits.declined[0].until, Some(later(&scene, 3_600_000)));
    let waits = tried(&mut scene, &run, outage(Some(u32::MAX)));
    assert_eq!(waits.declined[0].until, Some(later(&scene, i64::from(limits::RUN_PAUSE_ASKED_SECONDS) * 1000)));
    assert_eq!(waits.declined.len(), 1, "a runner is remembered once");
    // What it has no means for it leaves to others for good.
    let unable = RunEnd::NotMade { why: text("nobody to ask"), passing: false };
    let waits = tried(&mut scene, &run, Report::undone(unable));
    assert_eq!(waits.turn(&name("here"), later(&scene, i64::from(u32::MAX))), Turn::Never);
    scene.world.check();
}

#[test]
fn what_another_is_at_is_taken_when_it_counts_as_gone() {
    let (mut scene, item) = checked(vec![command("one")]);
    let run = hand_in(&mut scene, item, None).remove(0);
    let taken = take(&mut scene, &run, "there", Taking::Served(None)).expect("taken");
    let due = taken.due_at.expect("a time");
    let Turn::At(at) = taken.turn(&name("here"), scene.world.now) else { panic!("somebody is at it") };
    assert!(at > due);
    assert_eq!(taken.turn(&name("here"), at), Turn::Now);
}

#[test]
fn a_project_says_how_long_a_check_takes_that_does_not() {
    let workflow = Workflow { check_seconds: 7, ..Workflow::standard() };
    assert!(Workflow { check_seconds: 0, ..workflow.clone() }.check().is_err());
    assert!(Workflow { check_seconds: 3_601, ..workflow.clone() }.check().is_err());
    let mut scene = Scene::new(workflow);
    let item = scene.item("prove me");
    scene.must(item, Trigger::Start);
    let mut long = command("two");
    long.kind = CheckKind::Command { cmd: text("two"), cwd: None, timeout_seconds: Some(9) };
    set(&mut scene, item, vec![command("one"), long], docket_core::model::Authority::Human, None).expect("checks");
    let runs = hand_in(&mut scene, item, None);
    assert_eq!([runs[0].kind.timeout_seconds(), runs[1].kind.timeout_seconds()], [7, 9]);
    assert_eq!(runs[0].definition, scene.world.briefs[&item].checks[0].definition(), "what the check says is the same");
}

#[test]
fn what_failed_goes_back_to_work_where_the_workflow_says_so() {
    for (when_failed, role) in [(WhenFailed::Stays, Role::Review), (WhenFailed::Returns, Role::Work)] {
        let failing: [fn(&mut Scene, ItemId); 2] = [
            |scene, item| {
                let run = hand_in(scene, item, None).remove(0);
                tried(scene, &run, report(RunEnd::Exited { code: 1 }, Some(BEFORE)));
            },
            |scene, item| {
                hand_in(scene, item, None);
                let call = scene.world.call(None);
                let (project, item) = (World::project(), item.into());
                let (check, passed, note, tree, expected_version) = (1, false, None, None, None);
                let attest = Attest { project, item, check, passed, note, tree, expected_version };
                scene.world.run(&call, &attest).expect("a no");
            },
        ];
        for fails in failing {
            let mut scene = Scene::new(Workflow { when_failed, ..Workflow::standard() });
            let item = scene.item("prove me");
            scene.must(item, Trigger::Start);
            let checks = vec![command("one"), manual("seen")];
            set(&mut scene, item, checks, docket_core::model::Authority::Human, None).expect("checks");
            fails(&mut scene, item);
            assert_eq!((scene.get(item).role, &scene.get(item).claim), (role, &None), "{when_failed:?}");
            // Mended and handed in again it is looked at again.
            let call = scene.world.call(None);
            let again = scene.world.run(&call, &Submit { ..submit(item, None) }).expect("handed in again");
            assert_eq!((again.role, again.runs.len()), (Role::Review, 1));
            scene.world.check();
        }
    }
}
