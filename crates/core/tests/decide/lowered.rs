//! Limits that an operator has lowered: what is new is held to them, and what was there before is left alone.

use std::sync::Arc;

use docket_core::access::Access;
use docket_core::command::{
    Ask, BriefText, Change, Claim, ClaimOutcome, ClaimRequest, Create, Edit, EndRun, NewCheck, NewCriterion, NewItem,
    NotePut, Patch, Proof, PutNotes, Renew, Report, SetBrief, Verify,
};
use docket_core::engine::Call;
use docket_core::limits::Lowered;
use docket_core::model::{Authority, CriterionId, RunEnd, Tag, Text, Ttl};
use docket_core::testing::{World, name, title};
use docket_core::{Code, Error, Reason};

use crate::checks::{checked, command, order, set};
use crate::scene::Scene;

fn call(scene: &mut Scene, limits: Lowered) -> Call {
    Call { access: Arc::new(Access { limits, ..Access::default() }), ..scene.world.call(Some("ann")) }
}

fn create(items: Vec<NewItem>) -> Create {
    Create {
        project: World::project(),
        items,
        edges: vec![],
        notes: vec![],
        blank_notes: false,
        room_below: false,
        atomic: true,
    }
}

fn text(words: &str) -> Text {
    Text::parse(words).expect("a text")
}

fn told(error: &Error) -> (Code, Reason, Option<&str>) {
    (error.code, error.reason, error.field.as_deref())
}

#[test]
fn texts_and_lists_are_held_to_the_lower_limit() {
    let mut scene = Scene::task_orchestrator();
    let item = scene.item("x");
    let limits = Lowered { title_bytes: 8, text_bytes: 10, tags: 1, ..Lowered::NOT };
    let call = call(&mut scene, limits);
    let refused = |error: Error| (error.code, error.reason, error.field.clone().unwrap_or_default());
    let make = |scene: &mut Scene, new: NewItem| scene.world.run(&call, &create(vec![new])).map(|_| ());
    make(&mut scene, NewItem::titled(title("12345678"))).expect("as long as may be");
    let error = make(&mut scene, NewItem::titled(title("123456789"))).expect_err("one too long");
    assert_eq!(told(&error), (Code::Validation, Reason::TooLong, Some("title")));
    assert!(error.message.contains("at most 8 bytes"), "{}", error.message);
    let long = NewItem { description: Some(text("12345678901")), ..NewItem::titled(title("y")) };
    let error = make(&mut scene, long).expect_err("one too long");
    assert_eq!(refused(error), (Code::Validation, Reason::TooLong, "description".to_owned()));
    let tags = ["a", "b"].map(|tag| Tag::parse(tag).expect("a tag")).to_vec();
    let error = make(&mut scene, NewItem { tags, ..NewItem::titled(title("y")) }).expect_err("one too many");
    assert_eq!(refused(error), (Code::Validation, Reason::TooMany, "tags".to_owned()));
    let put =
        NotePut { item: item.into(), key: name("k"), phase: None, body: text("12345678901"), by: None, fence: None };
    let put = PutNotes { project: World::project(), notes: vec![put], atomic: true };
    let error = scene.world.run(&call, &put).expect_err("one too long");
    assert_eq!(refused(error), (Code::Validation, Reason::TooLong, "body".to_owned()));
    assert!(scene.world.notes.is_empty());
}

#[test]
fn what_was_longer_before_stays_and_may_be_worked_on() {
    let mut scene = Scene::task_orchestrator();
    let item = scene.create(NewItem {
        description: Some(text("a long description")),
        tags: ["a", "b"].map(|tag| Tag::parse(tag).expect("a tag")).to_vec(),
        ..NewItem::titled(title("a long title"))
    });
    let item = item.expect("an item");
    let call = call(&mut scene, Lowered { title_bytes: 4, text_bytes: 4, tags: 1, ..Lowered::NOT });
    let edit = |patch| Edit { project: World::project(), patches: vec![patch], atomic: true };
    let touch = Patch { requires_verification: Some(true), ..Patch::of(item.into()) };
    scene.world.run(&call, &edit(touch)).expect("nothing of that is new");
    let rename = Patch { title: Some(title("another long one")), ..Patch::of(item.into()) };
    let error = scene.world.run(&call, &edit(rename)).expect_err("that is");
    assert_eq!(told(&error), (Code::Validation, Reason::TooLong, Some("title")));
    let shorter = Patch { title: Some(title("abcd")), ..Patch::of(item.into()) };
    scene.world.run(&call, &edit(shorter)).expect("short enough");
}

#[test]
fn batches_and_leases_too() {
    let mut scene = Scene::task_orchestrator();
    let item = scene.item("x");
    let call = call(&mut scene, Lowered { batch: 2, lease_seconds: 60, ..Lowered::NOT });
    let three = (0..3).map(|_| NewItem::titled(title("y"))).collect();
    let error = scene.world.run(&call, &create(three)).expect_err("one too many");
    assert_eq!((error.code, error.reason), (Code::Validation, Reason::BatchTooLarge));
    let claim = |ttl: Option<i64>| Claim {
        project: World::project(),
        claims: vec![ClaimRequest { item: item.into(), ttl: ttl.map(|ttl| Ttl::parse(ttl).expect("a lease")) }],
        releases: vec![],
        ready_only: false,
    };
    let error = scene.world.run(&call, &claim(Some(61))).expect_err("too long");
    assert_eq!(told(&error), (Code::Validation, Reason::BadTtl, Some("ttlSeconds")));
    // What the workflow says is cut to what the operator says.
    let held = scene.world.run(&call, &claim(None)).expect("an answer").claims.remove(0).outcome;
    let ClaimOutcome::Held(held) = held else { panic!("{held:?}") };
    assert_eq!(held.claim.ttl_seconds, 60);
    let held = scene.world.run(&call, &claim(Some(60))).expect("an answer").claims.remove(0).outcome;
    assert!(matches!(held, ClaimOutcome::Held(_)));
}

#[test]
fn a_lease_that_was_longer_is_renewed_for_as_long_as_may_be() {
    let mut scene = Scene::task_orchestrator();
    let item = scene.item("x");
    let before = call(&mut scene, Lowered::NOT);
    let claims = vec![ClaimRequest { item: item.into(), ttl: Some(Ttl::parse(900).expect("a lease")) }];
    let claim = Claim { project: World::project(), claims, releases: vec![], ready_only: false };
    scene.world.run(&before, &claim).expect("held");
    let lowered = call(&mut scene, Lowered { lease_seconds: 300, ..Lowered::NOT });
    let renew = |ttl: Option<Ttl>| Renew { project: World::project(), item: item.into(), ttl, fence: None };
    let renewed = scene.world.run(&lowered, &renew(None)).expect("nobody loses it for that");
    assert_eq!(renewed.held.claim.ttl_seconds, 300);
    let error = scene.world.run(&lowered, &renew(Ttl::parse(900).ok())).expect_err("what is stated is held to it");
    assert_eq!(told(&error), (Code::Validation, Reason::BadTtl, Some("ttlSeconds")));
}

/// Docket says itself how a check ended: whoever has it run cannot say less.
#[test]
fn how_a_check_ended_is_nobodys_text() {
    let check = NewCheck { proves: Some(CriterionId(1)), ..command("true") };
    let (mut scene, item) = checked(vec![]);
    let line = NewCriterion { verifier: Some(Authority::Check), ..NewCriterion::saying(text("it runs")) };
    let brief = BriefText { acceptance_criteria: Change::Set(vec![line]), ..BriefText::default() };
    let set_brief = SetBrief {
        project: World::project(),
        item: item.into(),
        brief,
        replace: false,
        expected_version: None,
        fence: None,
        authority: Authority::Agent,
    };
    let call = call(&mut scene, Lowered::NOT);
    scene.world.run(&call, &set_brief).expect("a brief");
    set(&mut scene, item, vec![check], Authority::Human, None).expect("checks");
    let run = order(&mut scene, item, vec![], Some("here")).expect("a run").remove(0);
    let report = Report { tree_changed: true, ..Report::undone(RunEnd::Exited { code: 1 }) };
    let end = EndRun { run: run.id, runner: name("here"), definition: run.definition, report, back: false, next: None };
    let lowered = Call {
        access: Arc::new(Access { limits: Lowered { text_bytes: 10, ..Lowered::NOT }, ..Access::default() }),
        ..call
    };
    scene.world.run(&lowered, &end).expect("on record");
    let evidence = &scene.world.briefs[&item].acceptance_criteria[0].evidence;
    assert!(evidence[0].note.as_ref().is_some_and(|note| note.as_str().len() > 10), "{evidence:?}");
}

#[test]
fn what_is_said_beside_criteria_and_questions_is_held_to_it_too() {
    let mut scene = Scene::task_orchestrator();
    let item = scene.item("x");
    let before = call(&mut scene, Lowered::NOT);
    let lowered = call(&mut scene, Lowered { text_bytes: 10, ..Lowered::NOT });
    let brief = |words: &str, how: Option<&str>| {
        let line = NewCriterion {
            instructions: how.map_or(Change::Keep, |how| Change::Set(text(how))),
            ..NewCriterion::saying(text(words))
        };
        let brief = BriefText { acceptance_criteria: Change::Set(vec![line]), ..BriefText::default() };
        SetBrief {
            project: World::project(),
            item: item.into(),
            brief,
            replace: false,
            expected_version: None,
            fence: None,
            authority: Authority::Agent,
        }
    };
    // What reads otherwise is another criterion.
    let note = |words: &str| Verify {
        project: World::project(),
        item: item.into(),
        proofs: vec![Proof { criterion: CriterionId(2), passed: true, note: Some(text(words)) }],
        authority: Authority::Agent,
        fence: None,
    };
    let ask = |option: &str| Ask {
        project: World::project(),
        item: item.into(),
        text: text("which?"),
        options: vec![text(option)],
        fence: None,
    };
    let long = "12345678901";
    let refused = scene.world.run(&lowered, &brief("short", Some(long))).expect_err("too long");
    assert_eq!(told(&refused), (Code::Validation, Reason::TooLong, Some("instructions")));
    scene.world.run(&before, &brief("short", Some(long))).expect("before it was lowered");
    scene.world.run(&lowered, &brief("other", Some(long))).expect("these instructions are not new");
    let refused = scene.world.run(&lowered, &note(long)).expect_err("too long");
    assert_eq!(told(&refused), (Code::Validation, Reason::TooLong, Some("note")));
    scene.world.run(&lowered, &note("1234567890")).expect("as long as may be");
    let refused = scene.world.run(&lowered, &ask(long)).expect_err("too long");
    assert_eq!(told(&refused), (Code::Validation, Reason::TooLong, Some("options")));
    scene.world.run(&lowered, &ask("1234567890")).expect("as long as may be");
}
