//! The loop of an agent, a unit a step: taken, said to be on its way, handed over, completed.

use docket_core::command::{
    Attest, Complete, Completed, Learning, NewCheck, Progress, Progressed, SetChecks, Stage, Take, Taken,
};
use docket_core::model::{
    Authority, CheckKind, ItemId, ItemRef, Name, Role, RunState, Source, Trigger, Ttl, VerificationKind,
};
use docket_core::testing::{World, title};
use docket_core::workflow::Workflow;
use docket_core::{Code, Error, Gate, Reason};

use crate::scene::Scene;
use crate::words::text;

impl Scene {
    fn take(&mut self, item: ItemId, actor: &str) -> Result<Taken, Error> {
        let call = self.world.call(Some(actor));
        self.world.run(&call, &Take { project: World::project(), item: item.into(), ttl: None })
    }

    fn say(
        &mut self,
        item: ItemId,
        actor: &str,
        to: Stage,
        note: Option<&str>,
        renew: bool,
    ) -> Result<Progressed, Error> {
        let call = self.world.call(Some(actor));
        let note = note.map(text);
        self.world.run(&call, &Progress { project: World::project(), item: item.into(), to, note, renew })
    }

    fn end(&mut self, item: ItemId, actor: &str, learned: &[&str]) -> Result<Completed, Error> {
        let call = self.world.call(Some(actor));
        let learning = |about: &&str| Learning { title: title(about), body: text("so it is"), tags: Vec::new() };
        let learnings = learned.iter().map(learning).collect();
        let output = Some(text("did it"));
        self.world.run(&call, &Complete { project: World::project(), item: item.into(), output, learnings })
    }

    fn comments_on(&self, item: ItemId) -> Vec<&str> {
        self.world
            .comments
            .values()
            .filter(|comment| comment.item == item)
            .map(|comment| comment.body.as_str())
            .collect()
    }

    fn holder(&self, item: ItemId) -> Option<&Name> {
        self.get(item).live_claim(self.world.now).map(|claim| &claim.holder)
    }
}

/// A task that owes these checks.
fn owing(checks: Vec<CheckKind>) -> (Scene, ItemId) {
    let mut scene = Scene::new(Workflow::execution());
    let item = scene.item("task");
    if !checks.is_empty() {
        let call = scene.world.call(None);
        let checks = checks.into_iter().map(|kind| NewCheck { desc: text("shown"), kind, proves: None }).collect();
        let set = SetChecks {
            project: World::project(),
            item: item.into(),
            checks,
            add: false,
            expected_version: None,
            fence: None,
            authority: Authority::Human,
        };
        scene.world.run(&call, &set).expect("checks");
    }
    (scene, item)
}

fn command() -> CheckKind {
    CheckKind::Command { cmd: text("true"), cwd: None, timeout_seconds: None }
}

fn attest(scene: &mut Scene, item: ItemId) {
    let call = scene.world.call(None);
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

#[test]
fn who_holds_it_is_told_the_lease_as_it_is_and_nobody_else_gets_one() {
    let (mut scene, item) = owing(vec![]);
    let taken = scene.take(item, "ann").expect("taken");
    assert_eq!(taken.item.claim.as_ref(), Some(&taken.held.claim));
    scene.world.pass(100);
    let before = scene.world.events.len();
    let again = scene.take(item, "ann").expect("the same");
    assert_eq!((&again.held, scene.world.events.len()), (&taken.held, before), "nothing is written");
    let call = scene.world.call(Some("ann"));
    let longer = Take { project: World::project(), item: item.into(), ttl: Ttl::parse(3600).ok() };
    assert_eq!(scene.world.run(&call, &longer).expect("the same").held, taken.held);
    let refused = scene.take(item, "bob").expect_err("held");
    assert_eq!((refused.reason, refused.contended_item), (Reason::AlreadyClaimed, Some(item)));
    let first = scene.item("first");
    scene.link(first, item, None);
    let blocked = scene.item("blocked");
    scene.link(first, blocked, None);
    assert_eq!(scene.take(blocked, "bob").expect_err("blocked").reason, Reason::NotReady);
    scene.world.check();
}

#[test]
fn a_task_is_taken_by_whatever_it_is_called() {
    let (mut scene, item) = owing(vec![]);
    let made = &scene.world.items[&item];
    let key = ItemRef::Key(scene.world.projects[&made.project].key(made.number));
    let call = scene.world.call(Some("ann"));
    let take = Take { project: World::project(), item: key, ttl: None };
    assert_eq!(scene.world.run(&call, &take).expect("taken").item.id, item);
    scene.world.check();
}

#[test]
fn only_the_holder_says_how_far_it_is() {
    let (mut scene, item) = owing(vec![]);
    for to in [Stage::Work, Stage::Review] {
        let refused = scene.say(item, "ann", to, None, true).expect_err("nobody holds it");
        assert_eq!((refused.code, refused.reason), (Code::Conflict, Reason::NotClaimedByYou));
    }
    scene.take(item, "ann").expect("taken");
    assert_eq!(scene.say(item, "bob", Stage::Work, None, true).expect_err("ann's").reason, Reason::NotClaimedByYou);
    assert_eq!(scene.end(item, "bob", &[]).expect_err("ann's").reason, Reason::NotClaimedByYou);
    assert_eq!(scene.get(item).role, Role::Queue);
    scene.say(item, "ann", Stage::Work, None, true).expect("begun");
    scene.end(item, "ann", &[]).expect("done");
    let over = scene.say(item, "ann", Stage::Work, None, true).expect_err("done is done");
    assert!(over.refusals.iter().any(|refusal| refusal.gate == Gate::Transition), "{over:?}");
    scene.world.check();
}

#[test]
fn said_again_it_is_a_sign_of_life_and_the_note_is_kept() {
    let (mut scene, item) = owing(vec![]);
    scene.take(item, "ann").expect("taken");
    let begun = scene.say(item, "ann", Stage::Work, Some("on my way"), true).expect("begun");
    assert_eq!((begun.item.role, begun.comment), (Role::Work, None), "the note went with the move");
    let told = scene.world.events.iter().any(|event| event.data.to_string().contains("on my way"));
    assert!(told, "{:?}", scene.world.events.last());
    scene.world.pass(100);
    let ends = |scene: &Scene| scene.get(item).claim.as_ref().and_then(|claim| claim.expires_at);
    let before = ends(&scene);
    let beat = scene.say(item, "ann", Stage::Work, None, false).expect("no sign of life was wanted");
    assert_eq!((ends(&scene), beat.comment), (before, None));
    let beat = scene.say(item, "ann", Stage::Work, Some("half way"), true).expect("a sign of life");
    assert!(ends(&scene) > before && beat.comment.is_some());
    assert_eq!(beat.item.claim, scene.get(item).claim, "the answer is what was written");
    assert_eq!(scene.comments_on(item), ["half way"]);
    let blank = scene.say(item, "ann", Stage::Work, Some("  "), true).expect_err("a blank note");
    assert_eq!((blank.reason, blank.field.as_deref()), (Reason::Blank, Some("note")));
    scene.world.check();
}

#[test]
fn what_is_handed_over_is_shown_and_closes_and_its_learnings_still_come() {
    let (mut scene, item) = owing(vec![CheckKind::Manual, command()]);
    scene.take(item, "ann").expect("taken");
    let over = scene.say(item, "ann", Stage::Review, Some("look"), true).expect("handed over from where it was");
    assert_eq!((over.item.role, over.runs.len()), (Role::Review, 1));
    assert_eq!(over.runs[0].state, RunState::Queued);
    assert!(scene.world.briefs[&item].closes_when_shown);
    assert_eq!(scene.holder(item), None, "whoever reviews it need not wait");
    let done = scene.end(item, "ann", &["flags"]).expect("who handed it over still says what came of it");
    assert_eq!((done.verification, done.item.role), (VerificationKind::Command, Role::Review));
    assert!(done.runs.is_empty(), "they wait already");
    assert_eq!(scene.world.entries[&done.entries[0]].source, Source::TaskCompletion);
    assert_eq!(scene.comments_on(item), ["did it"]);
    assert_eq!(scene.get(item).claim, None);
    assert_eq!(scene.end(item, "ann", &["more"]).expect_err("it is ended").reason, Reason::NotClaimedByYou);
    scene.world.check();
}

#[test]
fn a_stranger_does_not_complete_what_another_handed_over() {
    let (mut scene, item) = owing(vec![CheckKind::Manual]);
    scene.take(item, "ann").expect("taken");
    scene.say(item, "ann", Stage::Review, None, true).expect("handed over");
    assert_eq!(scene.end(item, "bob", &["x"]).expect_err("not bob's").reason, Reason::NotClaimedByYou);
    assert!(scene.world.entries.is_empty());
    attest(&mut scene, item);
    assert_eq!(scene.get(item).role, Role::Terminal, "it closed by itself");
    scene.world.check();
}

#[test]
fn a_task_is_completed_from_wherever_its_holder_has_it() {
    for (checks, kind, role) in [
        (vec![], VerificationKind::None, Role::Terminal),
        (vec![CheckKind::Manual], VerificationKind::Manual, Role::Review),
        (vec![command()], VerificationKind::Command, Role::Review),
    ] {
        for begun in [false, true] {
            let (mut scene, item) = owing(checks.clone());
            scene.take(item, "ann").expect("taken");
            if begun {
                scene.say(item, "ann", Stage::Work, None, true).expect("begun");
            }
            let done = scene.end(item, "ann", &["one"]).unwrap_or_else(|error| panic!("{kind:?} {begun}: {error}"));
            assert_eq!((done.verification, done.item.role), (kind, role), "begun: {begun}");
            assert_eq!((done.eta_seconds, done.entries.len()), (kind.eta_seconds(), 1));
            assert_eq!(scene.holder(item), None);
            assert_eq!(done.item.version, scene.get(item).version, "the answer is what was written");
            scene.world.check();
        }
    }
}

#[test]
fn what_a_person_asked_for_can_be_reviewed_at_once() {
    let (mut scene, item) = owing(vec![]);
    scene.take(item, "ann").expect("taken");
    scene.say(item, "ann", Stage::Review, None, true).expect("handed over");
    scene.advance_as(item, Trigger::Complete, Some("bob")).expect("nobody's lease stands in the way");
    assert_eq!(scene.get(item).role, Role::Terminal);
}

#[test]
fn only_what_is_to_be_done_is_taken() {
    let (mut scene, item) = owing(vec![CheckKind::Manual]);
    scene.must(item, Trigger::Block);
    let aside = scene.take(item, "bob").expect_err("put aside");
    assert_eq!(aside.reason, Reason::NotReady);
    scene.must(item, Trigger::Resume);
    scene.take(item, "ann").expect("taken");
    scene.say(item, "ann", Stage::Review, None, true).expect("handed over");
    let shown = scene.take(item, "bob").expect_err("it is to be shown, not to be done");
    assert_eq!(shown.reason, Reason::NotReady);
    // Found wanting it is work again, and anybody's.
    let call = scene.world.call(None);
    let (project, item_ref) = (World::project(), item.into());
    let (check, passed, note, tree, expected_version) = (0, false, None, None, None);
    let no = Attest { project, item: item_ref, check, passed, note, tree, expected_version };
    scene.world.run(&call, &no).expect("a no");
    assert_eq!(scene.get(item).role, Role::Work);
    scene.take(item, "bob").expect("found again");
    // So is what its holder left in the middle.
    let ends = scene.get(item).claim.as_ref().and_then(|claim| claim.expires_at).expect("a lease");
    scene.world.now = ends.plus_seconds(1);
    scene.take(item, "cid").expect("abandoned");
    scene.world.check();
}
