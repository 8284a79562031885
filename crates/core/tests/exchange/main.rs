//! Export and import over plain rows: what goes out comes in as it was, with everything that follows from it, and what does
//! not fit is refused with its line.
//!
//! Planted bug it catches: items brought before their briefs and questions are known have another place and another inbox.

mod before;
mod knowledge;
mod sessions;

use docket_core::Reason;
use docket_core::command::{
    Advance, Ask, BriefText, Change, Create, EndQuestion, MoveRequest, NewCriterion, NewItem, NewLink, Parent, Proof,
    Remark, SetBrief, SetProject, Verify,
};
use docket_core::model::{Authority, CriterionId, Inbox, ItemId, QuestionState, Role, Slug, Text, Trigger, Url};
use docket_core::testing::{World, name, title};
use docket_core::workflow::{Schemas, Target, Workflow};
use serde_json::{Value, json};

fn text(words: &str) -> Text {
    Text::parse(words).expect("a text")
}

fn create(world: &mut World, new: NewItem) -> ItemId {
    let call = world.call(None);
    let create = Create {
        project: World::project(),
        items: vec![new],
        edges: vec![],
        notes: vec![],
        blank_notes: false,
        room_below: false,
        atomic: true,
    };
    world.run(&call, &create).expect("an answer").items.remove(0).expect("an item").item.id
}

/// One item in review with everything on it, one that waits for an answer, one with a question of each other sort, one bare.
fn scene() -> (World, [ItemId; 4]) {
    let mut world = World::new(Workflow::standard(), Schemas::default());
    let review = NewItem { role: Some(Role::Review), intent: Some(text("why")), ..NewItem::titled(title("in review")) };
    let review = create(&mut world, review);
    let parent = Some(Parent::Existing(review.into()));
    let asked = create(&mut world, NewItem { parent, position: Some(-3), ..NewItem::titled(title("asked")) });
    let talked =
        NewItem { attention: Some(text("look")), estimate_minutes: Some(30), ..NewItem::titled(title("talked of")) };
    let talked = create(&mut world, talked);
    let bare = create(&mut world, NewItem::titled(title("bare")));
    brief(&mut world, review);
    for item in [talked, talked, asked] {
        let call = world.call(Some("ann"));
        let options = vec![text("yes"), text("no")];
        let ask = Ask { project: World::project(), item: item.into(), text: text("Is it?"), options, fence: None };
        let question = world.run(&call, &ask).expect("a question").question.id;
        let answer = (world.questions.len() == 1).then(|| text("yes"));
        if item == talked {
            let call = world.call(Some("bob"));
            world.run(&call, &EndQuestion { question, answer }).expect("an end");
        }
    }
    for words in ["first", "second"] {
        let call = world.call(Some("bob"));
        let url = Url::parse("https://example.com/pull/7").expect("an address");
        let link = NewLink { kind: name("pr"), reference: name(words), url, title: Some(title("A change")) };
        let comment = Some(text(words));
        let links = vec![link];
        let remark = Remark { project: World::project(), item: talked.into(), comment, links, fence: None };
        world.run(&call, &remark).expect("a remark");
    }
    world.check();
    (world, [review, asked, talked, bare])
}

/// A brief with a criterion that is shown, one that a person has yet to sign, and one whose number is not used again.
fn brief(world: &mut World, item: ItemId) {
    let line = |words: &str, verifier| NewCriterion { verifier: Some(verifier), ..NewCriterion::saying(text(words)) };
    let lines =
        vec![line("it runs", Authority::Agent), line("it is liked", Authority::Human), line("gone", Authority::Agent)];
    for lines in [lines.clone(), lines[..2].to_vec()] {
        let brief = BriefText {
            objective: Change::Set(text("a goal")),
            acceptance_criteria: Change::Set(lines),
            constraints: Change::Set(vec![text("never")]),
            ..BriefText::default()
        };
        let call = world.call(None);
        let set = SetBrief {
            project: World::project(),
            item: item.into(),
            brief,
            replace: true,
            expected_version: None,
            fence: None,
            authority: Authority::Agent,
        };
        world.run(&call, &set).expect("a brief");
    }
    let call = world.call(Some("ann"));
    let proofs = vec![Proof { criterion: CriterionId(1), passed: true, note: Some(text("seen")) }];
    let authority = Authority::Agent;
    let verify = Verify { project: World::project(), item: item.into(), proofs, authority, fence: None };
    world.run(&call, &verify).expect("evidence");
}

fn kinds(rows: &[Value]) -> Vec<String> {
    rows.iter().flat_map(|row| row.as_object().expect("an object").keys().cloned()).collect()
}

/// It was put there when moves still led there.
#[test]
fn what_waits_without_a_question_comes_in_as_it_went_out_and_gets_on() {
    let mut world = World::new(Workflow::standard(), Schemas::default());
    let item = create(&mut world, NewItem { role: Some(Role::Work), ..NewItem::titled(title("waits")) });
    let call = world.call(None);
    let ask = Ask { project: World::project(), item: item.into(), text: text("Is it?"), options: vec![], fence: None };
    world.run(&call, &ask).expect("a question");
    let mut rows = world.export();
    rows.retain(|row| row.get("question").is_none());
    let mut copy = World::empty();
    copy.import(&rows).expect("an import");
    assert_eq!(copy.export(), rows, "as it went out");
    let waits = &copy.items[&item];
    assert_eq!((waits.status.as_str(), waits.derived.inbox.0), ("waiting_for_input", 0));
    let mut moved = copy.clone();
    let call = moved.call(None);
    let resume = MoveRequest::of(item.into(), Target::Trigger(Trigger::Resume));
    moved.run(&call, &Advance { project: World::project(), moves: vec![resume], atomic: true }).expect("a way out");
    assert_eq!(moved.items[&item].role, Role::Work);
    let call = copy.call(None);
    let asked = copy.run(&call, &ask).expect("a question, at last").question.id;
    assert_eq!(copy.items[&item].derived.inbox.0, Inbox::QUESTION);
    let call = copy.call(Some("bob"));
    copy.run(&call, &EndQuestion { question: asked, answer: Some(text("yes")) }).expect("an answer");
    assert!(copy.items[&item].role.is_open() && copy.items[&item].role != Role::Blocked);
    copy.check();
}

#[test]
fn what_goes_out_comes_in_with_all_that_follows_from_it() {
    let (world, [review, asked, talked, _]) = scene();
    let rows = world.export();
    assert_eq!(
        kinds(&rows),
        [
            "docket", "project", "item", "item", "item", "item", "brief", "question", "question", "question",
            "comment", "comment", "link", "link"
        ]
    );
    let mut copy = World::empty();
    assert_eq!(copy.import(&rows).expect("an import"), 12);
    copy.check();
    assert_eq!(copy.export(), rows);
    assert_eq!(copy.items, world.items, "with the times and versions they had, and the same places");
    assert_eq!((&copy.briefs, &copy.questions), (&world.briefs, &world.questions));
    assert_eq!((&copy.comments, &copy.links), (&world.comments, &world.links));
    assert_eq!(copy.items[&review].derived.inbox.0, Inbox::REVIEW | Inbox::SIGN_OFF);
    assert_eq!(copy.items[&asked].derived.inbox.0, Inbox::QUESTION);
    assert_eq!(copy.items[&talked].derived.inbox.0, Inbox::ATTENTION);
    assert_eq!(copy.briefs[&review].last_criterion, 3, "the number of a line that is gone is not given again");
    let open: Vec<ItemId> = copy
        .questions
        .values()
        .filter(|question| question.state == QuestionState::Open)
        .map(|question| question.item)
        .collect();
    assert_eq!(open, [asked]);
    // What came in goes on as if it had been made here.
    let id = *copy.questions.iter().find(|(_, question)| question.item == asked).expect("a question").0;
    let call = copy.call(None);
    copy.run(&call, &EndQuestion { question: id, answer: Some(text("no")) }).expect("an answer");
    copy.check();
}

#[test]
fn a_project_that_was_put_away_comes_in_put_away() {
    let (mut world, _) = scene();
    let call = world.call(None);
    let away = SetProject {
        slug: Slug::parse("test").expect("a slug"),
        name: None,
        prefix: None,
        workflow: None,
        schemas: None,
        archived: Some(true),
        must_be_new: false,
    };
    world.run(&call, &away).expect("put away");
    let rows = world.export();
    let mut copy = World::empty();
    copy.import(&rows).expect("an import");
    copy.check();
    assert_eq!(copy.projects, world.projects);
    // Nothing comes in afterwards.
    let mut more = rows.clone();
    more.truncate(2);
    let (_, [_, _, _, bare]) = scene();
    let mut row = rows.iter().find(|row| row["item"]["id"] == json!(bare)).expect("a row").clone();
    row["item"]["id"] = json!("01a00000-0000-7000-8000-000000000000");
    row["item"]["number"] = json!(99);
    row["item"].as_object_mut().expect("an object").remove("key");
    more.push(row);
    assert_eq!(copy.import(&more).expect_err("it is put away").1.reason, Reason::Archived);
}

#[test]
fn the_first_form_is_still_read_and_a_later_one_is_not() {
    let (world, _) = scene();
    let mut rows: Vec<Value> = world
        .export()
        .into_iter()
        .filter(|row| ["docket", "project", "item"].iter().any(|kind| row.get(kind).is_some()))
        .collect();
    assert_eq!(rows[0], json!({ "docket": 3 }));
    rows[0] = json!({ "docket": 1 });
    for row in &mut rows {
        if let Some(item) = row.get_mut("item").and_then(Value::as_object_mut) {
            for field in ["intent", "attention", "estimateMinutes", "position"] {
                item.remove(field);
            }
        }
    }
    let mut second = rows.clone();
    second[0] = json!({ "docket": 2 });
    assert_eq!(World::empty().import(&second).expect("an import of the form between"), 4);
    let mut copy = World::empty();
    assert_eq!(copy.import(&rows).expect("an import"), 4);
    copy.check();
    assert!(copy.items.values().all(|item| !item.derived.inbox.has(Inbox::QUESTION)), "no question came with them");
    for version in [json!(0), json!(4), json!("2"), json!(null)] {
        rows[0] = json!({ "docket": version });
        let (line, error) = World::empty().import(&rows).expect_err("another form");
        assert_eq!((line, error.reason), (Some(1), Reason::BadValue), "{version}");
    }
}

/// The place of the first row of a kind.
fn first(rows: &[Value], kind: &str) -> usize {
    rows.iter().position(|row| row.get(kind).is_some()).unwrap_or_else(|| panic!("no {kind}"))
}

#[test]
fn what_does_not_fit_is_refused_whole_and_with_its_line() {
    refused(&spoiled_rows());
    refused(&spoiled_briefs());
}

type Spoil = fn(&mut Vec<Value>) -> usize;

const NOBODY: &str = "01a00000-0000-7000-8000-000000000000";

fn change(rows: &mut [Value], kind: &str, field: &str, value: Value) -> usize {
    let at = first(rows, kind);
    rows[at][kind][field] = value;
    at
}

fn again(rows: &mut Vec<Value>, kind: &str) -> usize {
    let row = rows[first(rows, kind)].clone();
    rows.push(row);
    rows.len() - 1
}

fn spoiled_rows() -> Vec<(&'static str, Reason, Spoil)> {
    vec![
        ("a brief of no item", Reason::NotFound, |rows| change(rows, "brief", "item", json!(NOBODY))),
        ("a question on no item", Reason::NotFound, |rows| change(rows, "question", "item", json!(NOBODY))),
        ("a comment on no item", Reason::NotFound, |rows| change(rows, "comment", "item", json!(NOBODY))),
        ("a link of no item", Reason::NotFound, |rows| change(rows, "link", "item", json!(NOBODY))),
        ("two briefs", Reason::Duplicate, |rows| again(rows, "brief")),
        ("a question twice", Reason::Duplicate, |rows| again(rows, "question")),
        ("a comment twice", Reason::Duplicate, |rows| again(rows, "comment")),
        ("a link twice", Reason::Duplicate, |rows| again(rows, "link")),
        ("a question twice in another spelling", Reason::Duplicate, |rows| {
            let at = again(rows, "question");
            let id = rows[at]["question"]["id"].as_str().expect("an id").to_lowercase();
            rows[at]["question"]["id"] = json!(id);
            first(rows, "question")
        }),
        ("two open questions", Reason::QuestionOpen, |rows| {
            let open = rows.iter().position(|row| row["question"]["state"] == json!("open")).expect("an open one");
            let mut row = rows[open].clone();
            row["question"]["id"] = json!("01ARZ3NDEKTSV4RRFFQ69G5FAV");
            rows.push(row);
            rows.len() - 1
        }),
        ("an open question with an answer", Reason::BadValue, |rows| {
            let open = rows.iter().position(|row| row["question"]["state"] == json!("open")).expect("an open one");
            rows[open]["question"]["answer"] = json!("yes");
            open
        }),
        ("an answer that nobody gave", Reason::BadValue, |rows| {
            let at = rows.iter().position(|row| row["question"]["state"] == json!("answered")).expect("one");
            rows[at]["question"].as_object_mut().expect("an object").remove("endedBy");
            at
        }),
        ("too many options", Reason::TooMany, |rows| change(rows, "question", "options", json!(vec!["x"; 21]))),
        ("a blank option", Reason::Blank, |rows| change(rows, "question", "options", json!(["x", " "]))),
        ("an address that runs something", Reason::BadValue, |rows| {
            change(rows, "link", "url", json!("javascript:alert(1)"))
        }),
        ("another kind of row", Reason::UnknownField, |rows| {
            rows.push(json!({ "thing": { "id": NOBODY } }));
            rows.len() - 1
        }),
    ]
}

fn spoiled_briefs() -> Vec<(&'static str, Reason, Spoil)> {
    vec![
        ("too many constraints", Reason::TooMany, |rows| change(rows, "brief", "constraints", json!(vec!["x"; 51]))),
        ("a number above the highest", Reason::BadValue, |rows| change(rows, "brief", "lastCriterion", json!(1))),
        ("a criterion twice", Reason::Duplicate, |rows| {
            let at = first(rows, "brief");
            let one = rows[at]["brief"]["acceptanceCriteria"][0].clone();
            rows[at]["brief"]["acceptanceCriteria"].as_array_mut().expect("a list").push(one);
            at
        }),
        ("two words of one authority", Reason::Duplicate, |rows| {
            let at = first(rows, "brief");
            let evidence = &mut rows[at]["brief"]["acceptanceCriteria"][0]["evidence"];
            let one = evidence[0].clone();
            evidence.as_array_mut().expect("a list").push(one);
            at
        }),
        ("a slip of the pen", Reason::UnknownField, |rows| change(rows, "brief", "objectiv", json!("a goal"))),
        ("a slip of the pen deep inside", Reason::UnknownField, |rows| {
            let at = first(rows, "brief");
            rows[at]["brief"]["acceptanceCriteria"][1]["verifer"] = json!("human");
            at
        }),
        ("a brief without an item", Reason::MissingField, |rows| {
            let at = first(rows, "brief");
            rows[at]["brief"].as_object_mut().expect("an object").remove("item");
            at
        }),
    ]
}

fn refused(spoils: &[(&str, Reason, Spoil)]) {
    let (world, _) = scene();
    let rows = world.export();
    for (what, reason, spoil) in spoils {
        let mut spoiled = rows.clone();
        let at = spoil(&mut spoiled);
        let mut copy = World::empty();
        let (line, error) = copy.import(&spoiled).expect_err(what);
        assert_eq!((error.reason, line), (*reason, Some(at + 1)), "{what}: {error:?}");
        assert!(copy.items.is_empty() && copy.events.is_empty(), "{what}");
    }
}

#[test]
fn an_open_question_on_closed_work_is_refused() {
    let (world, [_, asked, ..]) = scene();
    let mut rows = world.export();
    let at = rows.iter().position(|row| row["item"]["id"] == json!(asked)).expect("a row");
    let fields = [("status", json!("done")), ("role", json!("terminal")), ("outcome", json!("success"))];
    for (field, value) in fields {
        rows[at]["item"][field] = value;
    }
    rows[at]["item"].as_object_mut().expect("an object").remove("previousStatus");
    let (line, error) = World::empty().import(&rows).expect_err("nobody could answer it");
    let open = rows.iter().position(|row| row["question"]["state"] == json!("open")).expect("an open one");
    assert_eq!((error.reason, line), (Reason::BadValue, Some(open + 1)), "{error:?}");
}

#[test]
fn what_is_here_already_is_refused() {
    let (world, _) = scene();
    let rows = world.export();
    let mut copy = world.clone();
    let (line, error) = copy.import(&rows).expect_err("it is here");
    assert_eq!((error.reason, line), (Reason::Duplicate, Some(3)), "{error:?}");
    // A question or a link of another item that has its id.
    for kind in ["question", "link"] {
        let mut copy = World::empty();
        copy.import(&rows).expect("an import");
        let item = rows.iter().rev().find(|row| row["item"]["key"] == json!("T-4")).expect("the bare one");
        let mut item = item.clone();
        item["item"]["id"] = json!("01a00000-0000-7000-8000-000000000000");
        item["item"]["number"] = json!(99);
        item["item"]["key"] = json!("T-99");
        let mut row = rows[first(&rows, kind)].clone();
        row[kind]["item"] = item["item"]["id"].clone();
        let (line, error) = copy.import(&[rows[0].clone(), rows[1].clone(), item, row]).expect_err("it is here");
        assert_eq!((error.reason, line), (Reason::Duplicate, Some(4)), "{kind}: {error:?}");
    }
}

#[test]
fn one_project_takes_along_what_is_its_own() {
    let (world, _) = scene();
    let mut whole = world.snapshot();
    let project = *world.projects.keys().next().expect("a project");
    assert_eq!(whole.narrow(project), 0);
    assert_eq!(whole.rows().expect("rows"), world.export());
    whole.narrow(docket_core::testing::rows::project("other", "O").id);
    assert_eq!(whole.counts().rows(), 0);
}
