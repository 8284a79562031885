//! Briefs, evidence, questions, comments and links, and the two verbs that carry them: begin and finish.

use docket_core::command::{
    BriefSet, BriefText, Change, Claim, CloseTree, EndQuestion, NewCriterion, NewItem, Patch, Proof, Remark, Verify,
    Wanted, What,
};
use docket_core::model::{Authority, CriterionId, EdgeKind, Inbox, QuestionState, Role, Standing, Trigger, Url};
use docket_core::testing::{World, name, title};
use docket_core::workflow::{Target, Workflow};
use docket_core::{Code, Error, Gate, Reason};

use crate::scene::Scene;
use crate::words::{humans, line, link, soft, text};

fn gates(error: &Error) -> Vec<Gate> {
    error.refusals.iter().map(|refusal| refusal.gate).collect()
}

#[test]
fn a_merge_keeps_what_is_not_named_and_deletes_what_is_null() {
    let mut scene = Scene::new(Workflow::standard());
    let item = scene.item("one");
    let whole = BriefText {
        objective: Change::Set(text("goal")),
        context: Change::Set(text("where")),
        acceptance_criteria: Change::Set(vec![line("a"), line("b")]),
        constraints: Change::Set(vec![text("never")]),
        ..BriefText::default()
    };
    let set = scene.brief(item, whole, true).expect("a brief");
    assert_eq!((set.score, set.version), (85, 2));
    let merged = BriefText { context: Change::Clear, verification: Change::Set(text("run")), ..BriefText::default() };
    let set = scene.brief(item, merged, false).expect("a brief");
    assert_eq!((set.brief.objective, set.brief.context), (Some(text("goal")), None));
    assert_eq!((set.brief.acceptance_criteria.len(), set.brief.constraints.len()), (2, 1));
    let replaced = BriefText { objective: Change::Set(text("other")), ..BriefText::default() };
    let set = scene.brief(item, replaced, true).expect("a brief");
    assert!(set.brief.acceptance_criteria.is_empty() && set.brief.verification.is_none());
    let cleared = scene.brief(item, BriefText::default(), true).expect("a brief");
    assert!(cleared.brief.is_empty());
    scene.world.check();
}

#[test]
fn criteria_keep_their_names_through_every_edit_and_names_are_never_used_twice() {
    let mut scene = Scene::new(Workflow::standard());
    let item = scene.item("one");
    let ids = |set: &BriefSet| -> Vec<String> {
        set.brief.acceptance_criteria.iter().map(|c| format!("{} {}", c.id, c.text)).collect()
    };
    let set = scene.criteria(item, vec![line("a"), line("b"), line("c")]);
    assert_eq!(ids(&set), ["c1 a", "c2 b", "c3 c"]);
    // Another order, one gone, one new, one renamed by its name.
    let renamed = NewCriterion { id: Some(CriterionId(1)), ..line("A") };
    let set = scene.criteria(item, vec![line("c"), line("new"), renamed]);
    assert_eq!(ids(&set), ["c3 c", "c4 new", "c1 A"]);
    let set = scene.criteria(item, vec![line("b")]);
    assert_eq!(ids(&set), ["c5 b"], "what was gone comes back as another");
    for bad in
        [vec![line("x"), line("x")], vec![NewCriterion { id: Some(CriterionId(9)), ..line("x") }], vec![line(" ")]]
    {
        let brief = BriefText { acceptance_criteria: Change::Set(bad), ..BriefText::default() };
        let refused = scene.brief(item, brief, false).expect_err("a bad list");
        assert!(refused.field.is_some_and(|field| field.starts_with("acceptanceCriteria")), "{}", refused.message);
    }
}

#[test]
fn evidence_is_about_the_text_it_was_given_for() {
    let mut scene = Scene::new(Workflow::standard());
    let item = scene.item("one");
    scene.criteria(item, vec![line("a"), line("b")]);
    let verified = scene.verify(item, &[(1, true), (2, true)], Authority::Agent).expect("evidence");
    assert!(verified.verdict.ready_for_done);
    let edited = NewCriterion { id: Some(CriterionId(1)), ..line("a, and more") };
    let set = scene.criteria(item, vec![edited, line("b")]);
    let standing: Vec<Standing> = set.verdict.criteria.iter().map(|criterion| criterion.status).collect();
    assert_eq!(standing, [Standing::Stale, Standing::Pass]);
    let back = NewCriterion { id: Some(CriterionId(1)), ..line("a") };
    assert!(scene.criteria(item, vec![back, line("b")]).verdict.ready_for_done, "it says the same again");
    scene.world.check();
}

#[test]
fn a_lower_word_never_overrides_a_higher_one() {
    let mut scene = Scene::new(Workflow::standard());
    let item = scene.item("one");
    scene.criteria(item, vec![line("a"), humans("b")]);
    scene.verify(item, &[(1, false)], Authority::Human).expect("a person's word");
    let verified = scene.verify(item, &[(1, true)], Authority::Agent).expect("the agent's");
    assert_eq!(verified.verdict.criteria[0].status, Standing::Fail, "the person's stands");
    let refused = scene.verify(item, &[(2, true)], Authority::Agent).expect_err("not the agent's to show");
    assert_eq!((refused.code, refused.reason), (Code::RuleBlocked, Reason::NotYours));
    assert!(refused.message.contains("c2 \"b\""), "{}", refused.message);
    // A person is nobody's agent, and a check is run, not told.
    let mut call = scene.world.call(Some("ann"));
    let proofs = vec![Proof { criterion: CriterionId(2), passed: true, note: None }];
    let signed = |authority| Verify {
        project: World::project(),
        item: item.into(),
        proofs: proofs.clone(),
        authority,
        fence: None,
    };
    let refused = scene.world.run(&call, &signed(Authority::Human)).expect_err("an agent");
    assert_eq!((refused.code, refused.reason), (Code::Forbidden, Reason::NotYours));
    call.by = None;
    let refused = scene.world.run(&call, &signed(Authority::Check)).expect_err("nobody runs a check by telling");
    assert_eq!(refused.reason, Reason::NotYours);
    scene.world.run(&call, &signed(Authority::Human)).expect("a person");
}

#[test]
fn a_batch_of_evidence_is_taken_whole_or_not_at_all() {
    let mut scene = Scene::new(Workflow::standard());
    let item = scene.item("one");
    scene.criteria(item, vec![line("a")]);
    let before = scene.world.briefs.clone();
    let refused = scene.verify(item, &[(1, true), (7, true)], Authority::Agent).expect_err("no such criterion");
    assert_eq!((refused.code, refused.field.as_deref()), (Code::NotFound, Some("criteria[1]")));
    assert!(refused.message.contains("c7"), "{}", refused.message);
    assert_eq!(scene.world.briefs, before);
    let twice = scene.verify(item, &[(1, true), (1, false)], Authority::Agent).expect_err("twice");
    assert_eq!(twice.reason, Reason::Duplicate);
}

#[test]
fn the_gate_is_staged_and_names_each_criterion() {
    let mut scene = Scene::new(Workflow::foresttasks());
    let item = scene.item("one");
    scene.criteria(item, vec![line("tests pass"), humans("it looks right"), soft("it is pretty")]);
    scene.must(item, Trigger::Start);
    let refused = scene.advance(item, Trigger::Start).expect_err("into review");
    assert_eq!(gates(&refused), [Gate::Criteria]);
    assert_eq!(refused.refusals[0].unproved.len(), 1, "only the agent's own");
    assert!(refused.message.contains("c1 \"tests pass\" (open, agent)"), "{}", refused.message);
    scene.verify(item, &[(1, true)], Authority::Agent).expect("evidence");
    scene.must(item, Trigger::Start);
    assert_eq!(scene.get(item).role, Role::Review);
    assert!(scene.get(item).derived.inbox.has(Inbox::SIGN_OFF), "it waits for a person");
    let refused = scene.advance(item, Trigger::Start).expect_err("into success");
    assert!(refused.message.contains("c2") && !refused.message.contains("c3"), "{}", refused.message);
    scene.verify(item, &[(2, true)], Authority::Human).expect("a sign-off");
    assert!(!scene.get(item).derived.inbox.has(Inbox::SIGN_OFF));
    scene.must(item, Trigger::Start);
    assert_eq!(scene.get(item).role, Role::Terminal);
    scene.world.check();
}

#[test]
fn asking_parks_the_item_and_answering_makes_it_ready() {
    let mut scene = Scene::new(Workflow::standard());
    let item = scene.item("one");
    let begun = scene.begin(item, "ann").expect("work");
    assert_eq!((begun.started.from_status.as_str(), begun.started.to_status.as_str()), ("backlog", "in_progress"));
    let asked = scene.ask(item, "ann").expect("a question");
    assert_eq!((asked.status.as_str(), scene.get(item).claim.as_ref()), ("waiting_for_input", None));
    assert!(scene.get(item).derived.inbox.has(Inbox::QUESTION));
    let refused = scene.ask(item, "ann").expect_err("one at a time");
    assert_eq!(refused.reason, Reason::QuestionOpen);
    let offer = scene.start_next("bob", Wanted::default());
    assert!(offer.held.is_none(), "it is not handed out while it waits");
    let call = scene.world.call(None);
    let end = EndQuestion { question: asked.question.id, answer: Some(text("this")) };
    let answered = scene.world.run(&call, &end).expect("an answer");
    assert_eq!((answered.status.as_str(), answered.question.state), ("ready", QuestionState::Answered));
    let again = scene.world.run(&call, &end).expect_err("answered already");
    assert_eq!(again.reason, Reason::QuestionClosed);
    assert_eq!(scene.start_next("bob", Wanted::default()).item.map(|item| item.id), Some(item));
    scene.world.check();
}

#[test]
fn moving_an_item_out_cancels_its_question() {
    let mut scene = Scene::new(Workflow::standard());
    let item = scene.item("one");
    for status in ["ready", "cancelled"] {
        let asked = scene.ask(item, "ann").expect("a question");
        scene.advance_by(item, Target::Status(name(status)), None, None).expect("a move");
        let question = &scene.world.questions[&asked.question.id];
        assert_eq!(question.state, QuestionState::Cancelled, "{status}");
        assert!(question.ended_by.is_some() && question.ended_at.is_some());
        assert!(!scene.get(item).derived.inbox.has(Inbox::QUESTION));
    }
    assert_eq!(scene.ask(item, "ann").expect_err("closed").reason, Reason::Terminal);
    scene.world.check();
}

#[test]
fn a_question_can_be_taken_back() {
    let mut scene = Scene::new(Workflow::standard());
    let item = scene.item("one");
    let asked = scene.ask(item, "ann").expect("a question");
    let call = scene.world.call(Some("ann"));
    let ended = scene.world.run(&call, &EndQuestion { question: asked.question.id, answer: None }).expect("an end");
    assert_eq!((ended.question.state, ended.status.as_str()), (QuestionState::Cancelled, "ready"));
    scene.world.check();
}

#[test]
fn complete_briefs_come_first() {
    let mut scene = Scene::new(Workflow::standard());
    let thin = scene.item("thin");
    let whole = scene.item("whole");
    scene.criteria(whole, vec![line("a")]);
    let brief = BriefText { objective: Change::Set(text("goal")), ..BriefText::default() };
    scene.brief(whole, brief, false).expect("a brief");
    let urgent = Patch { priority: Some(docket_core::model::Priority::High), ..Patch::of(thin.into()) };
    let call = scene.world.call(None);
    let edit = docket_core::command::Edit { project: World::project(), patches: vec![urgent], atomic: true };
    scene.world.run(&call, &edit).expect("an edit");
    assert_eq!(scene.start_next("ann", Wanted::default()).item.map(|item| item.id), Some(whole));
    assert_eq!(scene.start_next("bob", Wanted::default()).item.map(|item| item.id), Some(thin), "it stays claimable");
    scene.world.check();
}

#[test]
fn what_nobody_may_take_is_not_begun_and_what_is_moot_is_begun_by_name_alone() {
    let mut scene = Scene::new(Workflow::standard());
    let rough = scene.create(NewItem { status: Some(name("braindump")), ..NewItem::titled(title("rough")) });
    let rough = rough.expect("an item");
    assert!(scene.start_next("ann", Wanted::default()).held.is_none(), "a braindump is never handed out");
    let refused = scene.begin(rough, "ann").expect_err("nor begun by name");
    assert_eq!((refused.code, refused.reason), (Code::RuleBlocked, Reason::NotReady));
    let canonical = scene.item("canonical");
    let double = scene.item("double");
    scene.try_link(EdgeKind::DuplicateOf, double, canonical, None).expect("an edge");
    assert_eq!(scene.start_next("ann", Wanted::default()).item.map(|item| item.id), Some(canonical));
    assert!(scene.start_next("bob", Wanted::default()).held.is_none());
    scene.begin(double, "bob").expect("a deliberate override");
    let first = scene.item("first");
    let blocked = scene.item("blocked");
    scene.link(first, blocked, None);
    assert_eq!(gates(&scene.begin(blocked, "cyd").expect_err("blocked")), [Gate::Dependencies]);
    assert!(scene.get(blocked).claim.is_none(), "nothing is claimed where nothing can begin");
    scene.world.check();
}

#[test]
fn abandoned_work_is_handed_out_again() {
    let mut scene = Scene::new(Workflow::standard());
    let item = scene.item("one");
    scene.begin(item, "ann").expect("work");
    let abandoned = Wanted { abandoned: true, ..Wanted::default() };
    assert!(scene.start_next("bob", abandoned.clone()).held.is_none(), "it is held");
    scene.world.pass(901);
    let queue = Wanted { role: Some(Role::Queue), ..Wanted::default() };
    assert!(scene.start_next("bob", queue).held.is_none(), "it is not in the queue");
    let offer = scene.start_next("bob", abandoned.clone());
    assert_eq!(offer.item.map(|item| item.id), Some(item));
    // So is what was given back, and what came back from review.
    let call = scene.world.call(Some("bob"));
    let release = Claim { project: World::project(), claims: vec![], releases: vec![item.into()], ready_only: false };
    scene.world.run(&call, &release).expect("a release");
    assert_eq!(scene.start_next("ann", abandoned.clone()).item.map(|item| item.id), Some(item));
    scene.finish(item, "ann", &[], false).expect("into review");
    assert_eq!(scene.finish(item, "ann", &[], false).expect_err("a second time").reason, Reason::NotReady);
    scene.advance_by(item, Target::Status(name("in_progress")), None, None).expect("sent back");
    assert_eq!(scene.start_next("bob", abandoned.clone()).item.map(|item| item.id), Some(item));
    // Work that somebody moved by hand and never claimed is theirs.
    let other = scene.item_in("other", Role::Work);
    assert!(scene.start_next("cyd", abandoned).held.is_none(), "{other}");
    assert!(scene.start_next("cyd", Wanted::default()).held.is_none(), "{other}");
    scene.world.check();
}

#[test]
fn missing_notes_leave_begun_work_where_it_is() {
    let mut scene = Scene::with_schema(Workflow::standard(), &[("plan", Role::Queue)]);
    let item = scene.typed("one");
    let begun = scene.begin(item, "ann").expect("a claim");
    assert_eq!(begun.started.refusals[0].missing_notes, ["plan"]);
    assert_eq!((scene.get(item).role, begun.started.from_status.as_str()), (Role::Queue, "backlog"));
    assert!(scene.get(item).claim.is_some());
    scene.put_note(item, "plan", "words", Some("ann"), None).expect("a note");
    assert_eq!(scene.begin(item, "ann").expect("work").started.to_status.as_str(), "in_progress");
    scene.world.check();
}

#[test]
fn a_preview_says_what_would_happen_and_does_nothing() {
    let mut scene = Scene::new(Workflow::standard());
    let item = scene.item("one");
    scene.criteria(item, vec![line("a")]);
    scene.begin(item, "ann").expect("work");
    let before = (scene.world.items.clone(), scene.world.briefs.clone(), scene.world.events.len());
    let refused = scene.finish(item, "bob", &[1], false).expect_err("somebody else's");
    assert_eq!(refused.reason, Reason::AlreadyClaimed);
    let preview = scene.finish(item, "ann", &[], true).expect("a preview");
    assert!(!preview.applied && preview.moved.is_none());
    assert_eq!(preview.blockers.iter().map(|refusal| refusal.gate).collect::<Vec<_>>(), [Gate::Criteria]);
    let preview = scene.finish(item, "ann", &[1], true).expect("a preview");
    assert_eq!(preview.moved.map(|moved| moved.to_status), Some(name("in_review")));
    assert_eq!((scene.world.items.clone(), scene.world.briefs.clone(), scene.world.events.len()), before);
    let refused = scene.finish(item, "ann", &[], false).expect_err("not shown");
    assert_eq!(gates(&refused), [Gate::Criteria]);
    assert!(scene.world.comments.is_empty(), "all or nothing");
    let done = scene.finish(item, "ann", &[1], false).expect("an end");
    assert!(done.applied && done.comment.is_some() && done.links.len() == 1 && done.verdict.ready_for_done);
    assert_eq!(scene.get(item).status, name("in_review"));
    assert!(scene.get(item).claim.is_none(), "whoever reviews it need not wait for the lease to run out");
    scene.world.check();
}

#[test]
fn what_is_linked_already_is_not_linked_again() {
    let mut scene = Scene::new(Workflow::standard());
    let item = scene.item("one");
    let remark = Remark {
        project: World::project(),
        item: item.into(),
        comment: None,
        links: vec![link("abc"), link("def"), link("abc")],
        fence: None,
    };
    let call = scene.world.call(Some("ann"));
    let first = scene.world.run(&call, &remark).expect("links");
    let call = scene.world.call(Some("bob"));
    assert_eq!(first.links[0], first.links[2], "nor twice in one call");
    assert_eq!(scene.world.run(&call, &remark).expect("links").links, first.links);
    assert_eq!(scene.world.links.len(), 2);
    assert!(Url::parse("javascript:alert(1)").is_err() && Url::parse("https://").is_err());
    scene.world.check();
}

#[test]
fn a_whole_subtree_is_closed_by_force_but_not_past_what_must_be_shown() {
    let mut scene = Scene::new(Workflow::foresttasks());
    let root = scene.item("root");
    let child = scene.child(root, "child");
    scene.criteria(child, vec![line("a")]);
    let close = |cancel| CloseTree { project: World::project(), what: What::Whole(root.into()), cancel, fence: None };
    let call = scene.world.call(None);
    let refused = scene.world.run(&call, &close(false)).expect_err("not shown");
    assert_eq!((refused.code, gates(&refused)), (Code::RuleBlocked, vec![Gate::Criteria]));
    assert_eq!(scene.get(root).role, Role::Queue, "all or nothing");
    scene.verify(child, &[(1, true)], Authority::Agent).expect("evidence");
    scene.ask(root, "ann").expect("a question");
    scene.world.run(&call, &close(false)).expect("closed past the path by way of review");
    assert!([root, child].iter().all(|id| scene.get(*id).status == name("done")));
    assert!(scene.world.questions.values().all(|question| question.state == QuestionState::Cancelled));
    let other = scene.item("other");
    scene.criteria(other, vec![humans("b")]);
    let cancel = CloseTree { project: World::project(), what: What::Whole(other.into()), cancel: true, fence: None };
    let call = scene.world.call(None);
    scene.world.run(&call, &cancel).expect("given up");
    assert_eq!(scene.get(other).status, name("cancelled"));
    scene.world.check();
}
