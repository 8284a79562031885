//! What evidence of checks is about: the words of the criterion, the check and the work tree as they were when it was made; and whose
//! word lets a check run, whatever they call themselves.

use std::sync::Arc;

use docket_core::access::{Access, Profile};
use docket_core::command::{ApproveChecks, BriefText, Change, EndRun, NewCheck, NewCriterion, SetBrief};
use docket_core::contract::{Seen, Stage, standing_of, unproved_seen};
use docket_core::engine::Call;
use docket_core::model::{ActorKind, Authority, CheckStanding, CriterionId, ItemId, Role, Run, RunEnd, Standing};
use docket_core::testing::{World, name};
use docket_core::workflow::Workflow;
use docket_core::{Error, Gate, Reason};

use crate::checks::{AFTER, BEFORE, close, close_with, command, end, order, report, run_all, saw, set, text};
use crate::scene::Scene;

/// An item in work with one criterion that a check proves, in a workflow with these gates.
fn proved(gates: Option<&[Gate]>) -> (Scene, ItemId) {
    let mut workflow = Workflow::standard();
    if let Some(gates) = gates {
        workflow.gates = gates.iter().copied().collect();
    }
    let mut scene = Scene::new(workflow);
    let item = scene.item("prove me");
    scene.must(item, docket_core::model::Trigger::Start);
    say(&mut scene, item, "it is fast");
    let proof = NewCheck { proves: Some(CriterionId(1)), ..command("bench") };
    set(&mut scene, item, vec![proof], Authority::Human, None).expect("checks");
    (scene, item)
}

fn say(scene: &mut Scene, item: ItemId, words: &str) {
    let id = scene.world.briefs.contains_key(&item).then_some(CriterionId(1));
    let line = NewCriterion { id, verifier: Some(Authority::Check), ..NewCriterion::saying(text(words)) };
    let brief = BriefText { acceptance_criteria: Change::Set(vec![line]), ..BriefText::default() };
    let set = SetBrief {
        project: World::project(),
        item: item.into(),
        brief,
        replace: false,
        expected_version: None,
        fence: None,
        authority: Authority::Human,
    };
    let call = scene.world.call(None);
    scene.world.run(&call, &set).expect("a brief");
}

fn stands(scene: &Scene, item: ItemId) -> Standing {
    scene.world.briefs[&item].acceptance_criteria[0].standing()
}

fn passes(scene: &mut Scene, run: &Run, tree_changed: bool) -> Result<bool, Error> {
    let call = scene.world.call(None);
    let on = (!tree_changed).then_some(BEFORE);
    let report = docket_core::command::Report { tree_changed, ..report(RunEnd::Exited { code: 0 }, on) };
    let (runner, definition) = (name("here"), run.definition.clone());
    let end = EndRun { run: run.id, runner, definition, report, back: false, next: None };
    scene.world.run(&call, &end).map(|ended| ended.closed)
}

#[test]
fn words_that_change_while_a_check_runs_are_not_shown_by_it() {
    let (mut scene, item) = proved(None);
    let run = order(&mut scene, item, vec![], Some("here")).expect("a run").remove(0);
    say(&mut scene, item, "it is twice as fast");
    passes(&mut scene, &run, false).expect("ended");
    assert_eq!(scene.world.briefs[&item].checks[0].standing(), CheckStanding::Pass, "the check says the same");
    assert_ne!(stands(&scene, item), Standing::Pass, "nobody has shown these words");
    close(&mut scene, item, saw(BEFORE)).expect_err("closed on evidence about other words");
    run_all(&mut scene, item, &[0], Some(BEFORE));
    assert_eq!(stands(&scene, item), Standing::Pass);
    assert_eq!(close(&mut scene, item, saw(BEFORE)), Ok(Role::Terminal));
    // A run that waits is of the words that there are when it begins; a run of another time tells none, and shows none.
    let (mut scene, item) = proved(None);
    let mut run = order(&mut scene, item, vec![], Some("here")).expect("a run").remove(0);
    assert!(run.about.is_some());
    let mut told = serde_json::to_value(&run).expect("JSON");
    told.as_object_mut().expect("an object").remove("about");
    run = serde_json::from_value(told).expect("a run of before");
    scene.world.runs.insert(run.id, run.clone());
    end(&mut scene, &run, RunEnd::Exited { code: 0 }, Some(BEFORE)).expect("ended");
    assert_eq!(stands(&scene, item), Standing::Open);
}

#[test]
fn a_check_that_changes_the_work_tree_shows_nothing() {
    let (mut scene, item) = proved(None);
    let run = order(&mut scene, item, vec![], Some("here")).expect("a run").remove(0);
    passes(&mut scene, &run, true).expect("ended");
    assert_eq!(stands(&scene, item), Standing::Open);
    assert_eq!(
        scene.world.briefs[&item].checks[0].standing(),
        CheckStanding::Stale,
        "whoever does not look is told too"
    );
    // Nor does what was shown before it last.
    run_all(&mut scene, item, &[0], Some(BEFORE));
    assert_eq!(stands(&scene, item), Standing::Pass);
    let run = order(&mut scene, item, vec![], Some("here")).expect("a run").remove(0);
    passes(&mut scene, &run, true).expect("ended");
    let brief = &scene.world.briefs[&item];
    assert_eq!(standing_of(brief, &brief.acceptance_criteria[0], Seen::NotAsked), Standing::Stale);
}

#[test]
fn a_criterion_goes_stale_with_the_check_that_shows_it() {
    let (mut scene, item) = proved(Some(&[Gate::Dependencies, Gate::Criteria]));
    run_all(&mut scene, item, &[0], Some(BEFORE));
    let brief = scene.world.briefs[&item].clone();
    let seen = |digits| standing_of(&brief, &brief.acceptance_criteria[0], Seen::Tree(Some(&saw(digits))));
    assert_eq!((seen(BEFORE), seen(AFTER)), (Standing::Pass, Standing::Stale));
    assert_eq!(unproved_seen(&brief, Stage::Success, Seen::Tree(None)).len(), 1, "nobody has looked");
    let refused = close(&mut scene, item, saw(AFTER)).expect_err("the tree is another");
    assert_eq!(refused.refusals[0].gate, Gate::Criteria);
    assert_eq!(refused.refusals[0].unproved[0].status, Standing::Stale);
    // Whoever can have it made has it made first.
    let call = Call { runs_checks: true, ..scene.world.call(None) };
    assert_eq!(close_with(&mut scene, item, &call).expect_err("to be run").reason, Reason::ChecksNeeded);
    assert_eq!(close(&mut scene, item, saw(BEFORE)), Ok(Role::Terminal));
}

#[test]
fn whoever_wrote_a_check_does_not_approve_it_under_another_name() {
    let mut scene = Scene::new(Workflow::standard());
    let item = scene.item("prove me");
    let shown = |scene: &mut Scene, principal: &str, actor: &str| {
        let access = Access { token: true, ..Access::everywhere(Profile::Maintainer) };
        let mut call = Call { principal: name(principal), access: Arc::new(access), ..scene.world.call(Some(actor)) };
        // They say that they are a person.
        if let Some(by) = &mut call.by {
            by.actor.kind = ActorKind::User;
        }
        call
    };
    let checks = docket_core::command::SetChecks {
        project: World::project(),
        item: item.into(),
        checks: vec![command("one")],
        add: false,
        expected_version: None,
        fence: None,
        authority: Authority::Human,
    };
    let author = shown(&mut scene, "key:k", "ann");
    scene.world.run(&author, &checks).expect("checks");
    let read = scene.world.items[&item].version;
    let approve = ApproveChecks { project: World::project(), item: item.into(), only: vec![], expected_version: read };
    for actor in ["ann", "somebody"] {
        let same = shown(&mut scene, "key:k", actor);
        let refused = scene.world.run(&same, &approve).expect_err(actor);
        assert_eq!(refused.reason, Reason::CheckNotApproved, "{actor}");
    }
    let other = shown(&mut scene, "key:other", "zoe");
    scene.world.run(&other, &approve).expect("another person");
}
