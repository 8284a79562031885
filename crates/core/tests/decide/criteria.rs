//! What evidence counts for, and what a brief is worth: functions of one item alone.

use docket_core::contract::{Stage, is_complete, score, unproved, verdict};
use docket_core::model::{
    About, Authority, Brief, Criterion, CriterionId, Evidence, Item, Sections, Standing, Text, Timestamp,
};
use docket_core::testing::{name, rows};

fn text(words: &str) -> Text {
    Text::parse(words).expect("a text")
}

fn criterion(number: u32, verifier: Authority, hard: bool) -> Criterion {
    let text = text(&format!("it holds {number}"));
    Criterion { id: CriterionId(number), text, verifier, hard, instructions: None, evidence: Vec::new() }
}

fn evidence(criterion: &Criterion, authority: Authority, passed: bool) -> Evidence {
    let about = About::of(&criterion.text);
    let at = Timestamp::from_millis(7);
    Evidence { authority, passed, note: Some(text("seen")), by: name("ann"), at, about }
}

/// A criterion with evidence of these authorities.
fn shown(verifier: Authority, words: &[(Authority, bool)]) -> Criterion {
    let mut criterion = criterion(1, verifier, true);
    for (authority, passed) in words {
        criterion.take(evidence(&criterion, *authority, *passed));
    }
    criterion
}

#[test]
fn the_weightiest_word_settles_whichever_came_last() {
    use Authority::{Agent, Check, Human};
    for (verifier, words, standing, by) in [
        (Agent, vec![], Standing::Open, None),
        (Agent, vec![(Agent, true)], Standing::Pass, Some(Agent)),
        (Agent, vec![(Agent, false)], Standing::Fail, Some(Agent)),
        // A lower one never overrides a higher one, before it or after it.
        (Agent, vec![(Check, false), (Agent, true)], Standing::Fail, Some(Check)),
        (Agent, vec![(Agent, true), (Check, false)], Standing::Fail, Some(Check)),
        (Agent, vec![(Human, true), (Check, false), (Agent, false)], Standing::Pass, Some(Human)),
        // The newest word of one authority stands for it.
        (Agent, vec![(Agent, true), (Agent, false)], Standing::Fail, Some(Agent)),
        (Check, vec![(Check, false), (Check, true)], Standing::Pass, Some(Check)),
        // A word below who must show it does not count, and is not stale either.
        (Check, vec![(Agent, true)], Standing::Open, None),
        (Human, vec![(Agent, true), (Check, true)], Standing::Open, None),
        (Human, vec![(Human, true)], Standing::Pass, Some(Human)),
        (Check, vec![(Human, false)], Standing::Fail, Some(Human)),
    ] {
        let criterion = shown(verifier, &words);
        let settled = criterion.settled_by().map(|evidence| evidence.authority);
        assert_eq!((criterion.standing(), settled), (standing, by), "{verifier} with {words:?}");
        let authorities: Vec<Authority> = criterion.evidence.iter().map(|evidence| evidence.authority).collect();
        assert!(authorities.is_sorted_by(|a, b| a < b), "one of each: {authorities:?}");
    }
}

#[test]
fn evidence_is_about_the_words_it_was_given_for() {
    let mut criterion = shown(Authority::Agent, &[(Authority::Agent, true)]);
    let before = criterion.text.clone();
    criterion.text = text("it holds for all");
    assert_eq!(criterion.standing(), Standing::Stale);
    assert_eq!(criterion.settled_by(), None);
    // A word about the present text counts, though a weightier one about the old text is there.
    criterion.take(Evidence { about: About::of(&before), ..evidence(&criterion, Authority::Human, false) });
    criterion.take(evidence(&criterion, Authority::Agent, true));
    assert_eq!(criterion.standing(), Standing::Pass);
    // The old words bring the old evidence back.
    criterion.text = before;
    assert_eq!(criterion.standing(), Standing::Fail);
    // Who shows it may change too: what is left below that is not even stale.
    let mut criterion = shown(Authority::Agent, &[(Authority::Agent, true)]);
    criterion.verifier = Authority::Human;
    assert_eq!(criterion.standing(), Standing::Open);
}

#[test]
fn each_stage_asks_for_its_own_criteria() {
    let (agent, soft, human, check) = (
        criterion(1, Authority::Agent, true),
        criterion(2, Authority::Agent, false),
        criterion(3, Authority::Human, true),
        criterion(4, Authority::Check, true),
    );
    let mut brief =
        Brief { acceptance_criteria: vec![agent, soft, human, check], last_criterion: 4, ..Brief::default() };
    let open = |brief: &Brief, stage| unproved(brief, stage).iter().map(|criterion| criterion.id.0).collect::<Vec<_>>();
    assert_eq!((open(&brief, Stage::Review), open(&brief, Stage::Success)), (vec![1], vec![1, 3, 4]));
    for (index, authority, review, success) in [
        (0, Authority::Agent, vec![], vec![3, 4]),
        (2, Authority::Human, vec![], vec![4]),
        (3, Authority::Check, vec![], vec![]),
    ] {
        let proof = evidence(&brief.acceptance_criteria[index], authority, true);
        brief.acceptance_criteria[index].take(proof);
        assert_eq!((open(&brief, Stage::Review), open(&brief, Stage::Success)), (review, success), "after {index}");
    }
    let said = verdict(Some(&brief));
    assert!(said.ready_for_review && said.ready_for_done);
    assert_eq!((said.counts.pass, said.counts.fail, said.counts.open), (3, 0, 1), "the soft one is still told");
}

#[test]
fn a_verdict_says_how_each_stands_and_by_whom() {
    let passed = shown(Authority::Agent, &[(Authority::Agent, false), (Authority::Check, true)]);
    let mut stale = shown(Authority::Agent, &[(Authority::Agent, true)]);
    (stale.id, stale.text) = (CriterionId(2), text("something else"));
    let mut failed = shown(Authority::Human, &[(Authority::Human, false)]);
    failed.id = CriterionId(3);
    let brief = Brief { acceptance_criteria: vec![passed, stale, failed], last_criterion: 3, ..Brief::default() };
    let said = verdict(Some(&brief));
    assert_eq!((said.ready_for_review, said.ready_for_done), (false, false));
    assert_eq!((said.counts.pass, said.counts.fail, said.counts.open), (1, 1, 1));
    let each: Vec<_> = said.criteria.iter().map(|one| (one.id.to_string(), one.status, one.settled_by)).collect();
    let expected = [
        ("c1".to_owned(), Standing::Pass, Some(Authority::Check)),
        ("c2".to_owned(), Standing::Stale, None),
        ("c3".to_owned(), Standing::Fail, Some(Authority::Human)),
    ];
    assert_eq!(each, expected);
    assert!(
        said.criteria[0].note.is_some() && said.criteria[1].note.is_none(),
        "a note is that of the word that counts"
    );
    for nothing in [verdict(None), verdict(Some(&Brief::default()))] {
        assert!(nothing.ready_for_review && nothing.ready_for_done && nothing.criteria.is_empty());
    }
}

fn item() -> Item {
    let mut item = rows::item(&rows::project("web", "WEB"), 1, "An item");
    item.derived.sections = Sections::default();
    item
}

#[test]
fn the_sections_of_a_brief_are_weighed() {
    let whole = Brief {
        objective: Some(text("a goal")),
        context: Some(text("a background")),
        acceptance_criteria: vec![criterion(1, Authority::Agent, true)],
        constraints: vec![text("never")],
        verification: Some(text("run it")),
        handoff_expectations: Some(text("a summary")),
        last_criterion: 1,
        ..Brief::default()
    };
    let part = |change: fn(&mut Brief)| {
        let mut brief = whole.clone();
        change(&mut brief);
        let mut item = item();
        item.derived.sections = brief.sections();
        score(&item)
    };
    assert_eq!(part(|_| {}), 100);
    assert_eq!(part(|brief| brief.objective = None), 70);
    assert_eq!(part(|brief| brief.objective = Some(text(" \n"))), 70, "blank says nothing");
    assert_eq!(part(|brief| brief.acceptance_criteria.clear()), 70);
    assert_eq!(part(|brief| brief.context = None), 85);
    assert_eq!(part(|brief| brief.verification = None), 90);
    assert_eq!(part(|brief| brief.constraints.clear()), 90);
    assert_eq!(part(|brief| brief.handoff_expectations = None), 95);
    assert_eq!(part(|brief| *brief = Brief::default()), 0);
    assert!(Brief::default().is_empty() && !whole.is_empty());
}

#[test]
fn intent_and_description_stand_in_for_less() {
    let mut item = item();
    assert_eq!((score(&item), is_complete(&item)), (0, false));
    item.intent = Some(text("what for"));
    assert_eq!(score(&item), 20);
    item.description = Some(text("at length"));
    assert_eq!((score(&item), is_complete(&item)), (30, false), "words alone are no contract");
    item.derived.sections = Sections(Sections::CRITERIA);
    assert_eq!((score(&item), is_complete(&item)), (60, true), "an intent, a description and criteria are");
    item.description = None;
    assert_eq!((score(&item), is_complete(&item)), (50, false));
    item.derived.sections = Sections(Sections::CRITERIA | Sections::OBJECTIVE);
    assert_eq!((score(&item), is_complete(&item)), (60, true), "an objective is not counted on top of the intent");
    item.description = Some(text(" "));
    item.derived.sections = Sections(Sections::CRITERIA | Sections::OBJECTIVE | Sections::UNSIGNED);
    assert_eq!(score(&item), 60, "a missing signature is no section");
}

#[test]
fn a_person_is_wanted_until_every_signature_is_there() {
    let mut brief = Brief {
        acceptance_criteria: vec![criterion(1, Authority::Human, false), criterion(2, Authority::Agent, true)],
        last_criterion: 2,
        ..Brief::default()
    };
    assert!(brief.sections().has(Sections::UNSIGNED), "a soft one too: a person asked to be asked");
    let word = evidence(&brief.acceptance_criteria[0], Authority::Check, true);
    brief.acceptance_criteria[0].take(word);
    assert!(brief.wants_a_person());
    let word = evidence(&brief.acceptance_criteria[0], Authority::Human, true);
    brief.acceptance_criteria[0].take(word);
    assert!(!brief.wants_a_person() && !brief.sections().has(Sections::UNSIGNED));
    brief.acceptance_criteria[0].text = text("another thing");
    assert!(brief.wants_a_person(), "what was signed says something else since");
}

#[test]
fn names_of_criteria_are_read_back_and_nothing_else_is() {
    for (said, number) in [("c1", Some(1)), ("C12", Some(12)), (" c3 ", Some(3)), ("c4294967295", Some(u32::MAX))] {
        assert_eq!(said.parse::<CriterionId>().ok().map(|id| id.0), number, "{said}");
    }
    for bad in ["", "c", "c0", "1", "c-1", "c+1", "c1.5", "c4294967296", "d1", "cc1"] {
        assert!(bad.parse::<CriterionId>().is_err(), "{bad}");
    }
}
