//! The contract in commands: the criteria gate, the inbox, projects that were put away, and briefs in the ranking.

use docket_core::command::{
    Ask, BriefText, Change, Edit, EndQuestion, NewCriterion, Patch, Proof, SetBrief, SetProject, Verify,
};
use docket_core::model::{
    Authority, CriterionId, Inbox, ItemId, QuestionId, QuestionState, Role, Sections, Slug, Standing, Text, Trigger,
};
use docket_core::testing::{World, title};
use docket_core::workflow::{RankBy, Workflow};
use docket_core::{Code, Error, Gate, Reason};

use crate::scene::Scene;

fn text(words: &str) -> Text {
    Text::parse(words).expect("a text")
}

fn line(words: &str, verifier: Authority, hard: bool) -> NewCriterion {
    NewCriterion { verifier: Some(verifier), hard: Some(hard), ..NewCriterion::saying(text(words)) }
}

fn set_brief(scene: &mut Scene, item: ItemId, brief: BriefText, replace: bool) -> Result<u8, Error> {
    let call = scene.world.call(None);
    let set = SetBrief {
        project: World::project(),
        item: item.into(),
        brief,
        replace,
        expected_version: None,
        fence: None,
        authority: Authority::Agent,
    };
    scene.world.run(&call, &set).map(|set| set.score)
}

fn set_criteria(scene: &mut Scene, item: ItemId, lines: Vec<NewCriterion>) {
    let brief = BriefText { acceptance_criteria: Change::Set(lines), ..BriefText::default() };
    set_brief(scene, item, brief, false).expect("a brief");
}

fn verify(scene: &mut Scene, item: ItemId, number: u32, authority: Authority) -> Result<(), Error> {
    let call = scene.world.call(None);
    let proofs = vec![Proof { criterion: CriterionId(number), passed: true, note: None }];
    let verify = Verify { project: World::project(), item: item.into(), proofs, authority, fence: None };
    scene.world.run(&call, &verify).map(|_| ())
}

/// A check's word, which no command takes: what a run of it will leave.
fn check_passed(scene: &mut Scene, item: ItemId, number: u32) {
    use docket_core::model::{About, Evidence};
    let at = scene.world.now;
    let brief = scene.world.briefs.get_mut(&item).expect("a brief");
    let criterion = brief.acceptance_criteria.iter_mut().find(|known| known.id.0 == number).expect("a criterion");
    let by = docket_core::testing::name("ci");
    let about = About::of(&criterion.text);
    criterion.take(Evidence { authority: Authority::Check, passed: true, note: None, by, at, about });
    derive_again(scene, item);
}

fn derive_again(scene: &mut Scene, item: ItemId) {
    let derived = scene.world.derived(&scene.world.items[&item]);
    scene.world.items.get_mut(&item).expect("an item").derived = derived;
}

/// The criteria that a refused move names.
fn unproved(error: &Error) -> Vec<(u32, Standing)> {
    assert_eq!((error.code, error.reason), (Code::RuleBlocked, Reason::RefusedByGate), "{error:?}");
    assert_eq!(error.refusals.iter().map(|refusal| refusal.gate).collect::<Vec<_>>(), [Gate::Criteria]);
    error.refusals[0].unproved.iter().map(|criterion| (criterion.id.0, criterion.status)).collect()
}

fn all_sorts() -> Vec<NewCriterion> {
    vec![
        line("the agent says so", Authority::Agent, true),
        line("the agent may say so", Authority::Agent, false),
        line("a run says so", Authority::Check, true),
        line("a person says so", Authority::Human, true),
    ]
}

#[test]
fn review_asks_for_the_agents_word_and_success_for_all() {
    let mut scene = Scene::new(Workflow::standard());
    let item = scene.item_in("work", Role::Work);
    set_criteria(&mut scene, item, all_sorts());
    let refused = scene.advance(item, Trigger::Start).expect_err("nothing is shown");
    assert_eq!(unproved(&refused), [(1, Standing::Open)]);
    assert!(refused.refusals[0].message.contains("c1 \"the agent says so\" (open, agent)"), "{refused:?}");
    verify(&mut scene, item, 1, Authority::Agent).expect("the agent's word");
    assert_eq!(scene.must(item, Trigger::Start).to_role, Role::Review);
    let refused = scene.advance(item, Trigger::Complete).expect_err("a run and a person are missing");
    assert_eq!(unproved(&refused), [(3, Standing::Open), (4, Standing::Open)]);
    assert!(refused.refusals[0].remedy.contains("person"), "{refused:?}");
    scene.world.check();
    check_passed(&mut scene, item, 3);
    let refused = scene.advance(item, Trigger::Complete).expect_err("a person is missing");
    assert_eq!(unproved(&refused), [(4, Standing::Open)]);
    verify(&mut scene, item, 4, Authority::Human).expect("a person's word");
    assert_eq!(scene.must(item, Trigger::Complete).to_role, Role::Terminal);
}

#[test]
fn evidence_for_other_words_does_not_open_the_gate() {
    let mut scene = Scene::new(Workflow::standard());
    let item = scene.item_in("work", Role::Work);
    set_criteria(&mut scene, item, vec![line("ten tests pass", Authority::Agent, true)]);
    verify(&mut scene, item, 1, Authority::Agent).expect("evidence");
    let changed = NewCriterion { id: Some(CriterionId(1)), ..NewCriterion::saying(text("all tests pass")) };
    set_criteria(&mut scene, item, vec![changed]);
    let refused = scene.advance(item, Trigger::Start).expect_err("what was shown was another thing");
    assert_eq!(unproved(&refused), [(1, Standing::Stale)]);
    // In review already, it is no more done than before.
    verify(&mut scene, item, 1, Authority::Agent).expect("evidence");
    scene.must(item, Trigger::Start);
    set_criteria(
        &mut scene,
        item,
        vec![line("all tests pass", Authority::Agent, true), line("a new one", Authority::Agent, true)],
    );
    let refused = scene.advance(item, Trigger::Complete).expect_err("the new one is open");
    assert_eq!(unproved(&refused), [(2, Standing::Open)]);
    scene.world.check();
}

#[test]
fn giving_up_and_putting_aside_need_no_proof() {
    for trigger in [Trigger::Cancel, Trigger::Block, Trigger::Hold] {
        let mut scene = Scene::new(Workflow::standard());
        let item = scene.item_in("work", Role::Work);
        set_criteria(&mut scene, item, all_sorts());
        scene.must(item, trigger);
        scene.world.check();
    }
    let mut scene = Scene::new(Workflow { gates: [Gate::Dependencies].into(), ..Workflow::standard() });
    let item = scene.item_in("work", Role::Work);
    set_criteria(&mut scene, item, all_sorts());
    scene.must(item, Trigger::Complete);
}

#[test]
fn a_parent_with_open_criteria_is_not_closed_over_by_its_children() {
    let mut scene = Scene::new(Workflow::standard());
    let parent = scene.item("parent");
    let child = scene.child(parent, "child");
    set_criteria(&mut scene, parent, vec![line("it hangs together", Authority::Agent, true)]);
    scene.must(child, Trigger::Complete);
    assert!(scene.get(parent).role.is_open(), "its own criteria are not shown");
    verify(&mut scene, parent, 1, Authority::Agent).expect("evidence");
    scene.must(parent, Trigger::Complete);
    // The same for what is closed all at once.
    let root = scene.item("root");
    let leaf = scene.child(root, "leaf");
    set_criteria(&mut scene, leaf, vec![line("it holds", Authority::Agent, true)]);
    assert_eq!(scene.close_beneath(root, false), [(leaf, false)]);
    assert_eq!(scene.close_beneath(root, true), [(leaf, true)]);
    scene.world.check();
}

#[test]
fn nobody_signs_for_a_person_or_for_a_check() {
    let mut scene = Scene::new(Workflow::standard());
    let item = scene.item_in("work", Role::Work);
    set_criteria(&mut scene, item, all_sorts());
    let before = scene.world.clone();
    let refused = verify(&mut scene, item, 4, Authority::Agent).expect_err("it is for a person");
    assert_eq!(refused.refusals[0].reason, Some(Reason::NotYours));
    let refused = verify(&mut scene, item, 3, Authority::Check).expect_err("checks are run");
    assert_eq!((refused.code, refused.reason), (Code::Forbidden, Reason::NotYours));
    let call = scene.world.call(Some("agent-7"));
    let proofs = vec![Proof { criterion: CriterionId(4), passed: true, note: None }];
    let signed =
        Verify { project: World::project(), item: item.into(), proofs, authority: Authority::Human, fence: None };
    let refused = scene.world.run(&call, &signed).expect_err("an agent is no person");
    assert_eq!((refused.code, refused.reason), (Code::Forbidden, Reason::NotYours));
    assert_eq!((&scene.world.briefs, &scene.world.events), (&before.briefs, &before.events), "nothing was taken in");
}

fn inbox(scene: &Scene, item: ItemId) -> u8 {
    scene.get(item).derived.inbox.0
}

fn ask(scene: &mut Scene, item: ItemId) -> Result<QuestionId, Error> {
    let call = scene.world.call(None);
    let ask = Ask { project: World::project(), item: item.into(), text: text("Which?"), options: vec![], fence: None };
    scene.world.run(&call, &ask).map(|asked| asked.question.id)
}

fn end(scene: &mut Scene, question: QuestionId, answer: Option<&str>) -> Result<(), Error> {
    let call = scene.world.call(None);
    scene.world.run(&call, &EndQuestion { question, answer: answer.map(text) }).map(|_| ())
}

#[test]
fn what_waits_for_a_person_is_in_the_inbox_and_leaves_it() {
    let mut scene = Scene::new(Workflow::standard());
    let item = scene.item_in("work", Role::Work);
    assert_eq!(inbox(&scene, item), 0);
    set_criteria(&mut scene, item, vec![line("a person says so", Authority::Human, true)]);
    assert_eq!(inbox(&scene, item), 0, "a signature is asked for once the work is in review");
    assert!(scene.get(item).derived.sections.has(Sections::UNSIGNED));
    scene.must(item, Trigger::Start);
    assert_eq!(inbox(&scene, item), Inbox::REVIEW | Inbox::SIGN_OFF);
    verify(&mut scene, item, 1, Authority::Human).expect("a person's word");
    assert_eq!(inbox(&scene, item), Inbox::REVIEW);
    let attention = |attention| Patch { attention, ..Patch::of(item.into()) };
    for (change, left) in
        [(Change::Set(text("look!")), Inbox::REVIEW | Inbox::ATTENTION), (Change::Clear, Inbox::REVIEW)]
    {
        let call = scene.world.call(None);
        let edit = Edit { project: World::project(), patches: vec![attention(change)], atomic: true };
        scene.world.run(&call, &edit).expect("an edit");
        assert_eq!(inbox(&scene, item), left);
    }
    scene.must(item, Trigger::Complete);
    assert_eq!(inbox(&scene, item), 0);
    scene.world.check();
}

/// Where work is never in review, nobody would ever be asked to sign it off.
#[test]
fn a_signature_is_asked_for_at_work_where_there_is_no_review() {
    let mut workflow = Workflow::standard();
    workflow.statuses.retain(|status| status.role != Role::Review);
    let mut scene = Scene::new(workflow);
    let item = scene.item("work");
    set_criteria(&mut scene, item, vec![line("a person says so", Authority::Human, true)]);
    assert_eq!(inbox(&scene, item), 0, "it was not begun");
    scene.must(item, Trigger::Start);
    assert_eq!((scene.get(item).role, inbox(&scene, item)), (Role::Work, Inbox::SIGN_OFF));
    scene.world.check();
    // What is kept with items would be wrong at once.
    let refused = change_project(&mut scene, |set| set.workflow = Some(Workflow::standard()));
    assert_eq!(refused.expect_err("items would have to be asked about again").code, Code::Conflict);
    scene.world.check();
    verify(&mut scene, item, 1, Authority::Human).expect("a person's word");
    assert_eq!(inbox(&scene, item), 0);
    scene.must(item, Trigger::Complete);
    assert_eq!(inbox(&scene, item), 0);
    scene.world.check();
}

#[test]
fn a_question_waits_until_it_is_answered_withdrawn_or_left_behind() {
    let mut scene = Scene::new(Workflow::standard());
    let item = scene.item_in("work", Role::Work);
    let state = |scene: &Scene, id: QuestionId| scene.world.questions[&id].state;
    let asked = ask(&mut scene, item).expect("a question");
    assert_eq!((inbox(&scene, item), scene.get(item).status.as_str()), (Inbox::QUESTION, "waiting_for_input"));
    assert_eq!(ask(&mut scene, item).expect_err("one at a time").reason, Reason::QuestionOpen);
    scene.world.check();
    end(&mut scene, asked, Some("That one.")).expect("an answer");
    assert_eq!((inbox(&scene, item), scene.get(item).role), (0, Role::Queue));
    assert_eq!(end(&mut scene, asked, Some("No, this one.")).expect_err("it is over").reason, Reason::QuestionClosed);
    let withdrawn = ask(&mut scene, item).expect("another question");
    end(&mut scene, withdrawn, None).expect("it is taken back");
    assert_eq!((state(&scene, asked), state(&scene, withdrawn)), (QuestionState::Answered, QuestionState::Cancelled));
    let passed = ask(&mut scene, item).expect("a third");
    scene.must(item, Trigger::Cancel);
    assert_eq!((inbox(&scene, item), state(&scene, passed)), (0, QuestionState::Cancelled));
    assert!(scene.world.questions[&passed].ended_by.is_some());
    assert_eq!(ask(&mut scene, item).expect_err("it is closed").reason, Reason::Terminal);
    scene.world.check();
}

fn change_project(scene: &mut Scene, change: impl FnOnce(&mut SetProject)) -> Result<(), Error> {
    let mut set = SetProject {
        slug: Slug::parse("test").expect("a slug"),
        name: None,
        prefix: None,
        workflow: None,
        schemas: None,
        archived: None,
        must_be_new: false,
    };
    change(&mut set);
    let call = scene.world.call(None);
    scene.world.run(&call, &set).map(|_| ())
}

#[test]
fn nothing_changes_in_a_project_that_was_put_away() {
    let mut scene = Scene::new(Workflow::standard());
    let item = scene.item_in("work", Role::Work);
    let question = ask(&mut scene, item).expect("a question");
    change_project(&mut scene, |set| set.archived = Some(true)).expect("put away");
    let since = scene.world.projects.values().next().expect("a project").archived_at;
    assert!(since.is_some());
    let before = scene.world.clone();
    let refusals = [
        scene.create(docket_core::command::NewItem::titled(title("more"))).map(|_| ()),
        scene.advance(item, Trigger::Resume).map(|_| ()),
        scene.put_note(item, "late", "words", None, None),
        set_brief(&mut scene, item, BriefText { objective: Change::Set(text("x")), ..BriefText::default() }, true)
            .map(|_| ()),
        end(&mut scene, question, Some("yes")),
    ];
    for (place, refused) in refusals.into_iter().enumerate() {
        let error = refused.expect_err("it is put away");
        assert_eq!((error.code, error.reason), (Code::Conflict, Reason::Archived), "{place}");
    }
    assert_eq!((&scene.world.items, &scene.world.events), (&before.items, &before.events));
    // Its own rules can be written; saying it again does not move the time.
    change_project(&mut scene, |set| (set.name, set.archived) = (Some(title("Old")), Some(true))).expect("a name");
    assert_eq!(scene.world.projects.values().next().expect("a project").archived_at, since);
    change_project(&mut scene, |set| set.archived = Some(false)).expect("brought back");
    end(&mut scene, question, Some("yes")).expect("an answer");
    scene.world.check();
}

#[test]
fn briefs_come_to_the_front_of_a_ranking_and_nothing_else_does() {
    let older =
        Workflow { ranking: vec![RankBy::Priority, RankBy::Unblocks, RankBy::Complexity], ..Workflow::standard() };
    let mut scene = Scene::new(older.clone());
    let (first, second) = (scene.item("first"), scene.item("second"));
    let ranked = |ranking: Vec<RankBy>| Workflow { ranking, ..older.clone() };
    for other in [
        vec![RankBy::Priority, RankBy::Brief, RankBy::Unblocks, RankBy::Complexity],
        vec![RankBy::Brief, RankBy::Unblocks, RankBy::Priority, RankBy::Complexity],
        vec![RankBy::Brief],
        vec![RankBy::Priority, RankBy::Unblocks],
    ] {
        let refused = change_project(&mut scene, |set| set.workflow = Some(ranked(other.clone())));
        assert_eq!(refused.expect_err("items have their places").reason, Reason::BadValue, "{other:?}");
    }
    change_project(&mut scene, |set| set.workflow = Some(Workflow::standard())).expect("briefs in front");
    scene.world.check();
    let places = |scene: &Scene| (scene.get(first).derived.rank, scene.get(second).derived.rank);
    assert_eq!(places(&scene).0, places(&scene).1);
    let whole = BriefText {
        objective: Change::Set(text("a goal")),
        acceptance_criteria: Change::Set(vec![line("it holds", Authority::Agent, true)]),
        ..BriefText::default()
    };
    assert_eq!(set_brief(&mut scene, second, whole, true).expect("a brief"), 60);
    assert!(places(&scene).1 < places(&scene).0, "what is well said is handed out first");
    scene.world.check();
    let refused = change_project(&mut scene, |set| set.workflow = Some(older.clone()));
    assert_eq!(refused.expect_err("there is no way back").reason, Reason::BadValue);
}

#[test]
fn a_complete_brief_goes_before_a_higher_priority() {
    use docket_core::command::NewItem;
    use docket_core::model::Priority;
    let mut scene = Scene::new(Workflow::standard());
    let high = NewItem { priority: Priority::High, ..NewItem::titled(title("high")) };
    let high = scene.create(high).expect("an item");
    let low = NewItem { priority: Priority::Low, intent: Some(text("why")), ..NewItem::titled(title("low")) };
    let low = scene.create(low).expect("an item");
    assert!(scene.get(high).derived.rank < scene.get(low).derived.rank);
    set_criteria(&mut scene, low, vec![line("it holds", Authority::Agent, true)]);
    assert!(scene.get(high).derived.rank < scene.get(low).derived.rank, "an intent and criteria are not enough");
    let more = BriefText { verification: Change::Set(text("run it")), ..BriefText::default() };
    assert_eq!(set_brief(&mut scene, low, more, false).expect("a brief"), 60);
    assert!(scene.get(low).derived.rank < scene.get(high).derived.rank);
    scene.world.check();
}
