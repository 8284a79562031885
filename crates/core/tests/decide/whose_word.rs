//! Whose word counts: what only a person may take back, who may answer, and what has to come before an end.

use docket_core::command::{BriefText, Change, EndQuestion, NewCriterion, SetBrief};
use docket_core::model::{Authority, CriterionId, Role};
use docket_core::testing::World;
use docket_core::workflow::Workflow;
use docket_core::{Code, Reason};

use crate::scene::Scene;
use crate::words::{humans, line, text};

#[test]
fn what_a_person_is_to_sign_off_is_taken_out_by_a_person_alone() {
    let mut scene = Scene::new(Workflow::standard());
    let item = scene.item("one");
    scene.criteria(item, vec![line("a"), humans("b")]);
    let agent = |brief: BriefText, replace| SetBrief {
        project: World::project(),
        item: item.into(),
        brief,
        replace,
        expected_version: None,
        fence: None,
        authority: Authority::Agent,
    };
    let list = |lines| BriefText { acceptance_criteria: Change::Set(lines), ..BriefText::default() };
    let weaker = [
        (list(vec![line("a")]), false),
        (list(vec![line("a"), NewCriterion { hard: Some(false), ..line("b") }]), false),
        (list(vec![NewCriterion { verifier: Some(Authority::Agent), ..line("b") }]), false),
        (BriefText { acceptance_criteria: Change::Clear, ..BriefText::default() }, false),
        (BriefText::default(), true),
    ];
    let call = scene.world.call(None);
    for (brief, replace) in weaker {
        let refused = scene.world.run(&call, &agent(brief.clone(), replace)).expect_err("not an agent's to take out");
        assert_eq!((refused.code, refused.reason), (Code::RuleBlocked, Reason::NotYours));
        assert!(refused.message.contains("c2"), "{}", refused.message);
    }
    // What stays may be said in other words, which have to be signed again; the rest is the agent's to write.
    let reworded = NewCriterion { id: Some(CriterionId(2)), ..line("b, and well") };
    scene.world.run(&call, &agent(list(vec![reworded]), false)).expect("the sign-off stays");
    let person = SetBrief { authority: Authority::Human, ..agent(BriefText::default(), true) };
    let by_agent = scene.world.call(Some("ann"));
    assert_eq!(scene.world.run(&by_agent, &person).expect_err("an agent").code, Code::Forbidden);
    scene.world.run(&call, &person).expect("a person");
    scene.world.check();
}

#[test]
fn no_edit_of_a_lower_word_defeats_a_higher_one() {
    use Authority::{Agent, Check, Human};
    let list = |lines| BriefText { acceptance_criteria: Change::Set(lines), ..BriefText::default() };
    let named = |words: &str| NewCriterion { id: Some(CriterionId(1)), ..line(words) };
    let by = |verifier, words: &str| NewCriterion { verifier: Some(verifier), ..line(words) };
    let softened = NewCriterion { hard: Some(false), ..line("a") };
    let cleared = BriefText { acceptance_criteria: Change::Clear, ..BriefText::default() };
    // Who is to show it, whose word says that it does not hold, the edit, and whether an agent may make it.
    for (verifier, failed, edit, may) in [
        (Agent, Some(Human), list(vec![named("a.")]), false),
        (Agent, Some(Check), list(vec![named("a.")]), false),
        (Check, Some(Human), list(vec![named("a.")]), false),
        (Agent, Some(Human), list(vec![line("another")]), false),
        (Agent, Some(Check), list(vec![softened.clone()]), false),
        (Agent, Some(Check), cleared.clone(), false),
        (Agent, Some(Human), list(vec![line("a"), line("more")]), true),
        (Agent, Some(Human), list(vec![by(Human, "a")]), true),
        // Said anew, it is for the same word to show again.
        (Check, Some(Check), list(vec![named("a.")]), true),
        (Human, Some(Human), list(vec![named("a.")]), true),
        // The agent's own word is the agent's to take back.
        (Agent, Some(Agent), list(vec![named("a.")]), true),
        (Agent, Some(Agent), cleared.clone(), true),
        (Agent, None, list(vec![line("another")]), true),
        // What a check is to show is no agent's to make less of, either.
        (Check, None, list(vec![by(Agent, "a")]), false),
        (Check, None, list(vec![softened]), false),
        (Check, None, cleared, false),
        (Check, None, list(vec![named("a.")]), true),
        (Check, None, list(vec![by(Human, "a")]), true),
    ] {
        let mut scene = Scene::new(Workflow::standard());
        let item = scene.item("one");
        scene.criteria(item, vec![by(verifier, "a")]);
        match failed {
            None => {}
            Some(Check) => scene.check_says(item, 1, false),
            Some(word) => drop(scene.verify(item, &[(1, false)], word).expect("a word")),
        }
        let said = format!("{verifier} {failed:?} {edit:?}");
        let outcome = scene.brief(item, edit.clone(), false);
        assert_eq!(outcome.is_ok(), may, "{said}: {outcome:?}");
        if let Err(refused) = outcome {
            assert_eq!((refused.code, refused.reason), (Code::RuleBlocked, Reason::NotYours), "{said}");
            assert!(refused.message.contains("c1"), "{}", refused.message);
            let person = SetBrief {
                project: World::project(),
                item: item.into(),
                brief: edit,
                replace: false,
                expected_version: None,
                fence: None,
                authority: Human,
            };
            let call = scene.world.call(None);
            scene.world.run(&call, &person).unwrap_or_else(|refused| panic!("{said}: {refused:?}"));
        }
        scene.world.check();
    }
}

#[test]
fn whoever_asks_does_not_answer() {
    let mut scene = Scene::new(Workflow::standard());
    let item = scene.item("one");
    let asked = scene.ask(item, "ann").expect("a question");
    let end = |answer: Option<&str>| EndQuestion { question: asked.question.id, answer: answer.map(text) };
    let ann = scene.world.call(Some("ann"));
    let refused = scene.world.run(&ann, &end(Some("this"))).expect_err("its own question");
    assert_eq!((refused.code, refused.reason), (Code::Forbidden, Reason::NotYours));
    let bob = scene.world.call(Some("bob"));
    scene.world.run(&bob, &end(Some("this"))).expect("another agent");
    let asked = scene.ask(item, "ann").expect("another question");
    scene.world.run(&ann, &EndQuestion { question: asked.question.id, answer: None }).expect("taken back");
}

#[test]
fn what_is_parked_says_what_it_waits_for() {
    let mut scene = Scene::new(Workflow::standard());
    let item = scene.item("one");
    scene.ask(item, "ann").expect("a question");
    let refused = scene.begin(item, "bob").expect_err("it waits");
    assert!(refused.message.contains("waits for the answer to a question"), "{}", refused.message);
    assert!(refused.refusals[0].remedy.contains("answer its open question"), "{refused:?}");
}

#[test]
fn nothing_is_finished_that_was_not_begun() {
    let mut scene = Scene::new(Workflow::standard());
    let item = scene.item("one");
    let refused = scene.finish(item, "ann", &[], false).expect_err("not begun");
    assert_eq!((refused.code, refused.reason), (Code::Conflict, Reason::NotReady));
    assert_eq!(scene.get(item).role, Role::Queue);
}
