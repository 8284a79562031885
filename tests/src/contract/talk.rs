//! Briefs, and what was said about items: questions, comments, links.

use std::sync::Arc;

use docket_core::model::{
    Brief, CommentId, EdgeKind, Item, ItemId, LinkId, Question, QuestionId, QuestionState, Sections, Text, Timestamp,
    Title,
};
use docket_core::store::{
    Around, ChangeSet, EdgeReach, PassedQuestion, ScanRows, ScanTable, Scope, Slice, Step, StoreError, Unit,
};

use super::support::{Bench, brief, child, comment, edge, event, item, link, name, project, question};

async fn view(bench: &Bench, scope: Scope) -> Slice {
    bench.store.view(&scope).await.expect("a slice")
}

fn named(items: &[&Item], around: Around) -> Scope {
    Scope { items: items.iter().map(|item| item.id.into()).collect(), around, ..Scope::default() }
}

fn everything() -> Around {
    Around { briefs: true, questions: true, comments: Some(10), links: true, ..Around::default() }
}

fn text(text: &str) -> Text {
    Text::parse(text).expect("a text")
}

fn answered(question: &Question) -> Question {
    Question {
        state: QuestionState::Answered,
        answer: Some(text("the \"second\"\nof them")),
        ended_by: Some(name("boss")),
        ended_at: Some(Timestamp::from_millis(99)),
        ..question.clone()
    }
}

fn passed(item: &Item) -> PassedQuestion {
    PassedQuestion { item: item.id, by: name("mover"), at: Timestamp::from_millis(77) }
}

/// What was said comes back as it was written, and as it was written again.
pub async fn what_was_said_comes_back_as_it_was_written(bench: Bench) {
    let a = item(&bench.project, 1, "a");
    let asked = question(&a, "which \u{1f980}?");
    let said = comment(&a, "words; DROP TABLE comments;--");
    let mut linked = link(&a, "abc");
    linked.title = Some(Title::parse("a \"title\"").expect("a title"));
    let first = brief("the goal");
    let changes = ChangeSet {
        new_items: vec![a.clone()],
        briefs: vec![(a.id, first.clone())],
        questions: vec![asked.clone()],
        comments: vec![said.clone()],
        links: vec![linked.clone()],
        ..ChangeSet::default()
    };
    bench.put(changes).await;
    let seen = view(&bench, named(&[&a], everything())).await;
    assert_eq!(seen.briefs, [(a.id, first)].into());
    assert_eq!(seen.questions, [(asked.id, asked.clone())].into());
    assert_eq!(seen.comments[&a.id].rows, [said]);
    assert_eq!(seen.links, [(linked.id, linked.clone())].into());
    let second = Brief { constraints: Vec::new(), ..brief("another goal") };
    let ended = answered(&asked);
    let changes = ChangeSet {
        briefs: vec![(a.id, second.clone())],
        questions: vec![ended.clone()],
        removed_links: vec![linked.id],
        ..ChangeSet::default()
    };
    bench.put(changes).await;
    let seen = view(&bench, named(&[&a], everything())).await;
    assert_eq!((seen.briefs, seen.questions), ([(a.id, second)].into(), [(ended.id, ended)].into()));
    assert_eq!(seen.links.len(), 0);
    let seen = view(&bench, named(&[&a], Around::default())).await;
    assert_eq!((seen.briefs.len(), seen.questions.len(), seen.comments.len()), (0, 0, 0), "only where asked for");
}

/// A brief is shown wherever its item is named or near, and not where only an edge leads.
pub async fn a_brief_is_shown_wherever_its_item_is_named_or_near(bench: Bench) {
    let root = item(&bench.project, 1, "root");
    let mid = child(&root, 2, "mid", &bench.project);
    let leaf = child(&mid, 3, "leaf", &bench.project);
    let other = item(&bench.project, 4, "other");
    let items = [root.clone(), mid.clone(), leaf.clone(), other.clone()];
    let changes = ChangeSet {
        new_items: items.to_vec(),
        briefs: items.iter().map(|item| (item.id, brief(item.title.as_str()))).collect(),
        new_edges: vec![edge(EdgeKind::Blocks, &other, &mid)],
        ..ChangeSet::default()
    };
    bench.put(changes).await;
    let shown = |seen: &Slice| seen.briefs.keys().copied().collect::<Vec<ItemId>>();
    let around = Around { briefs: true, edges: EdgeReach::Shown, ..Around::default() };
    let seen = view(&bench, named(&[&mid], around)).await;
    assert!(seen.items.contains_key(&other.id));
    assert_eq!(shown(&seen), [mid.id]);
    assert_eq!(seen.briefs[&mid.id], brief("mid"));
    let seen = view(&bench, named(&[&mid], Around { ancestors: true, ..around })).await;
    assert_eq!(shown(&seen), [root.id, mid.id]);
    let seen = view(&bench, named(&[&root], Around { subtree: Some(9), ..around })).await;
    assert_eq!(shown(&seen), [root.id, mid.id, leaf.id]);
    let seen = view(&bench, named(&[&root], Around { briefs: false, ..around })).await;
    assert_eq!(shown(&seen), []);
}

/// The newest question of each named item is shown, open or not.
pub async fn the_newest_question_of_each_named_item_is_shown(bench: Bench) {
    let (a, b, c) = (item(&bench.project, 1, "a"), item(&bench.project, 2, "b"), item(&bench.project, 3, "c"));
    let old = answered(&question(&a, "old?"));
    let of_b = answered(&question(&b, "of b?"));
    let new = question(&a, "new?");
    let of_c = question(&c, "of c?");
    let changes = ChangeSet {
        new_items: vec![a.clone(), b.clone(), c.clone()],
        // Not in the order of their ids.
        questions: vec![new.clone(), of_c, of_b.clone(), old.clone()],
        ..ChangeSet::default()
    };
    bench.put(changes).await;
    let around = Around { questions: true, ..Around::default() };
    let seen = view(&bench, named(&[&a, &b], around)).await;
    assert_eq!(seen.questions.keys().copied().collect::<Vec<_>>(), [of_b.id, new.id]);
    assert_eq!(seen.question_of(a.id), Some(&new));
    assert_eq!(seen.question_of(b.id), Some(&of_b));
    let scope = Scope { question_ids: vec![old.id], ..named(&[&a, &b], around) };
    let seen = view(&bench, scope).await;
    assert_eq!(seen.questions.keys().copied().collect::<Vec<_>>(), [old.id, of_b.id, new.id]);
}

/// The newest comments of each named item are shown, with a word on whether there are more.
pub async fn the_newest_comments_of_each_named_item_are_shown(bench: Bench) {
    let (a, b, c) = (item(&bench.project, 1, "a"), item(&bench.project, 2, "b"), item(&bench.project, 3, "c"));
    let of_a: Vec<_> = (0..5).map(|number| comment(&a, &format!("word {number}"))).collect();
    let of_b = [comment(&b, "first"), comment(&b, "second")];
    let changes = ChangeSet {
        new_items: vec![a.clone(), b.clone(), c.clone()],
        comments: of_b.iter().chain(of_a.iter().rev()).cloned().collect(),
        ..ChangeSet::default()
    };
    bench.put(changes).await;
    let bodies = |seen: &Slice, item: &Item| {
        let comments = &seen.comments[&item.id];
        (comments.rows.iter().map(|comment| comment.body.to_string()).collect::<Vec<_>>(), comments.truncated)
    };
    let around = |most| Around { comments: Some(most), ..Around::default() };
    // One of them is named twice.
    let seen = view(&bench, named(&[&a, &b, &c, &b], around(2))).await;
    assert_eq!(bodies(&seen, &a), (vec!["word 4".to_owned(), "word 3".to_owned()], true));
    assert_eq!(bodies(&seen, &b), (vec!["second".to_owned(), "first".to_owned()], false));
    assert_eq!(seen.comments.len(), 2);
    let seen = view(&bench, named(&[&a], around(5))).await;
    assert_eq!((seen.comments[&a.id].rows.len(), seen.comments[&a.id].truncated), (5, false));
    let seen = view(&bench, named(&[&a], around(0))).await;
    assert_eq!(bodies(&seen, &a), (vec![], true));
}

/// Links of the named items are shown.
pub async fn links_of_the_named_items_are_shown(bench: Bench) {
    let (a, b) = (item(&bench.project, 1, "a"), item(&bench.project, 2, "b"));
    let (first, second, of_b) = (link(&a, "1"), link(&a, "2"), link(&b, "3"));
    let changes = ChangeSet {
        new_items: vec![a.clone(), b.clone()],
        links: vec![second.clone(), of_b.clone(), first.clone()],
        ..ChangeSet::default()
    };
    bench.put(changes).await;
    let shown = |seen: &Slice| seen.links.keys().copied().collect::<Vec<LinkId>>();
    let around = Around { links: true, ..Around::default() };
    assert_eq!(shown(&view(&bench, named(&[&a], around)).await), [first.id, second.id]);
    let scope = Scope { link_ids: vec![of_b.id], ..named(&[&a], around) };
    assert_eq!(shown(&view(&bench, scope).await), [first.id, second.id, of_b.id]);
    let scope = Scope { link_ids: vec![second.id, of_b.id], ..named(&[&a], Around::default()) };
    assert_eq!(shown(&view(&bench, scope).await), [second.id, of_b.id], "of a named item, only the named");
}

/// Questions and links that are named bring their items.
pub async fn named_questions_and_links_bring_their_items(bench: Bench) {
    let (a, b) = (item(&bench.project, 1, "a"), item(&bench.project, 2, "b"));
    let (asked, linked) = (question(&a, "which?"), link(&b, "1"));
    let changes = ChangeSet {
        new_items: vec![a.clone(), b.clone()],
        questions: vec![asked.clone()],
        links: vec![linked.clone()],
        briefs: vec![(a.id, brief("a")), (b.id, brief("b"))],
        ..ChangeSet::default()
    };
    bench.put(changes).await;
    let nowhere = QuestionId(ulid::Ulid(u128::MAX));
    let scope = Scope { question_ids: vec![asked.id, nowhere, asked.id], ..Scope::default() };
    let seen = view(&bench, scope).await;
    assert_eq!((seen.items.keys().collect::<Vec<_>>(), seen.questions.len()), (vec![&a.id], 1));
    assert_eq!(seen.projects.len(), 1);
    assert_eq!(seen.questions[&asked.id], asked);
    let scope = Scope {
        link_ids: vec![linked.id, LinkId(ulid::Ulid(u128::MAX))],
        around: Around { briefs: true, ..Around::default() },
        ..Scope::default()
    };
    let seen = view(&bench, scope).await;
    assert_eq!((seen.items.keys().collect::<Vec<_>>(), &seen.links), (vec![&b.id], &[(linked.id, linked)].into()));
    assert_eq!(seen.briefs.keys().collect::<Vec<_>>(), [&b.id], "it is near");
}

/// What may not be seen is not shown.
pub async fn what_may_not_be_seen_is_not_shown(bench: Bench) {
    let other = project("other", "OTH");
    let (mine, theirs) = (item(&bench.project, 1, "mine"), item(&other, 1, "theirs"));
    let questions = [question(&mine, "mine?"), question(&theirs, "theirs?")];
    let links = [link(&mine, "1"), link(&theirs, "2")];
    let changes = ChangeSet {
        projects: vec![other.clone()],
        new_items: vec![mine.clone(), theirs.clone()],
        questions: questions.to_vec(),
        links: links.to_vec(),
        comments: vec![comment(&mine, "x"), comment(&theirs, "y")],
        briefs: vec![(mine.id, brief("x")), (theirs.id, brief("y"))],
        ..ChangeSet::default()
    };
    bench.put(changes).await;
    let all = Scope {
        question_ids: questions.iter().map(|question| question.id).collect(),
        link_ids: links.iter().map(|link| link.id).collect(),
        ..named(&[&mine, &theirs], everything())
    };
    let nobody = project("nobody", "NOB").id;
    for visible in [[bench.project.id].into(), [bench.project.id, nobody].into()] {
        let seen = view(&bench, Scope { visible: Some(visible), ..all.clone() }).await;
        assert_eq!(seen.items.keys().collect::<Vec<_>>(), [&mine.id]);
        assert_eq!(seen.questions.keys().collect::<Vec<_>>(), [&questions[0].id]);
        assert_eq!(seen.links.keys().collect::<Vec<_>>(), [&links[0].id]);
        assert_eq!(seen.comments.keys().collect::<Vec<_>>(), [&mine.id]);
        assert_eq!(seen.briefs.keys().collect::<Vec<_>>(), [&mine.id]);
    }
    let seen = view(&bench, all).await;
    assert_eq!((seen.items.len(), seen.questions.len(), seen.links.len()), (2, 2, 2));
}

/// An item has one open question, whoever writes it.
///
/// The bug this would catch: an index that is not unique, or counts questions that have ended.
pub async fn an_item_has_one_open_question(bench: Bench) {
    let (a, b) = (item(&bench.project, 1, "a"), item(&bench.project, 2, "b"));
    let first = question(&a, "first?");
    let asks = |questions: Vec<Question>| ChangeSet { questions, ..ChangeSet::default() };
    bench.put(ChangeSet { new_items: vec![a.clone(), b.clone()], ..asks(vec![first.clone()]) }).await;
    bench.try_put(asks(vec![question(&a, "second?")])).await.expect_err("one is open");
    bench.put(asks(vec![question(&b, "of another item?")])).await;
    // The answer and the next question in one unit, in either order.
    let second = question(&a, "second?");
    bench.put(asks(vec![second.clone(), answered(&first)])).await;
    bench.try_put(asks(vec![question(&a, "third?")])).await.expect_err("the second is open");
    bench.put(asks(vec![answered(&second)])).await;
    bench.put(asks(vec![answered(&question(&a, "asked and answered?")), question(&a, "last?")])).await;
}

/// A question that was passed is cancelled, and makes room for the next in the same unit.
pub async fn a_question_that_was_passed_makes_room_for_the_next(bench: Bench) {
    let (a, b, c) = (item(&bench.project, 1, "a"), item(&bench.project, 2, "b"), item(&bench.project, 3, "c"));
    let before = answered(&question(&a, "before?"));
    let (first, of_b, of_c) = (question(&a, "first?"), question(&b, "of b?"), question(&c, "of c?"));
    let changes = ChangeSet {
        new_items: vec![a.clone(), b.clone(), c.clone()],
        questions: vec![before.clone(), first.clone(), of_b.clone(), of_c.clone()],
        ..ChangeSet::default()
    };
    bench.put(changes).await;
    let next = question(&a, "next?");
    let changes = ChangeSet {
        passed_questions: vec![passed(&a), passed(&b)],
        questions: vec![next.clone()],
        ..ChangeSet::default()
    };
    bench.put(changes).await;
    let ids = [&before, &first, &next, &of_b, &of_c].map(|question| question.id);
    let seen = view(&bench, Scope { question_ids: ids.to_vec(), ..Scope::default() }).await;
    let cancelled = |question: &Question| Question {
        state: QuestionState::Cancelled,
        ended_by: Some(name("mover")),
        ended_at: Some(Timestamp::from_millis(77)),
        ..question.clone()
    };
    assert_eq!(seen.questions[&before.id], before, "what has ended stays as it ended");
    assert_eq!(seen.questions[&first.id], cancelled(&first));
    assert_eq!(seen.questions[&of_b.id], cancelled(&of_b));
    assert_eq!(seen.questions[&of_c.id], of_c, "its item did not move");
    assert_eq!(seen.questions[&next.id], next);
    // Where none is open, none is passed.
    bench.put(ChangeSet { passed_questions: vec![passed(&b)], ..ChangeSet::default() }).await;
}

/// A removed item takes what was said about it with it, and nothing else.
pub async fn a_removed_item_takes_what_was_said_with_it(bench: Bench) {
    let (a, b) = (item(&bench.project, 1, "a"), item(&bench.project, 2, "b"));
    let items = [a.clone(), b.clone()];
    let changes = ChangeSet {
        new_items: items.to_vec(),
        briefs: items.iter().map(|item| (item.id, brief("a goal"))).collect(),
        questions: items.iter().map(|item| question(item, "which?")).collect(),
        comments: items.iter().map(|item| comment(item, "words")).collect(),
        links: items.iter().map(|item| link(item, "abc")).collect(),
        ..ChangeSet::default()
    };
    bench.put(changes).await;
    bench.put(ChangeSet { removed_items: vec![a.id], ..ChangeSet::default() }).await;
    for table in [ScanTable::Briefs, ScanTable::Questions, ScanTable::Comments, ScanTable::Links] {
        let left: Vec<ItemId> = match bench.store.scan(table, None).await.expect("a page").rows {
            ScanRows::Briefs(rows) => rows.iter().map(|(item, _)| *item).collect(),
            ScanRows::Questions(rows) => rows.iter().map(|row| row.item).collect(),
            ScanRows::Comments(rows) => rows.iter().map(|row| row.item).collect(),
            ScanRows::Links(rows) => rows.iter().map(|row| row.item).collect(),
            other => panic!("{other:?}"),
        };
        assert_eq!(left, [b.id], "{table:?}");
    }
    let missing = ChangeSet { comments: vec![comment(&a, "to nobody")], ..ChangeSet::default() };
    bench.try_put(missing).await.expect_err("nothing is said about what is not there");
    bench.is_sound().await;
}

/// What only an edge leads to is shown without its long texts, save those that are counted with its brief, by which its
/// place among ready work changes with its neighbours.
pub async fn a_neighbour_with_a_brief_keeps_what_is_counted_with_it(bench: Bench) {
    let named_item = item(&bench.project, 1, "named");
    let mut plain = item(&bench.project, 2, "plain");
    (plain.description, plain.intent) = (Some(text("long")), Some(text("why")));
    (plain.metadata, plain.properties) = (Some(text("{}")), Some(text("{}")));
    plain.attention = Some(text("look"));
    let mut briefed = Item { number: 3, ..item(&bench.project, 3, "briefed") };
    (briefed.description, briefed.intent) = (Some(text("long")), Some(text("why")));
    briefed.metadata = Some(text("{}"));
    briefed.derived.sections = Sections(Sections::CRITERIA);
    let changes = ChangeSet {
        new_items: vec![named_item.clone(), plain.clone(), briefed.clone()],
        new_edges: vec![edge(EdgeKind::Blocks, &named_item, &plain), edge(EdgeKind::Blocks, &named_item, &briefed)],
        ..ChangeSet::default()
    };
    bench.put(changes).await;
    let around = Around { edges: EdgeReach::Named, ..Around::default() };
    let seen = view(&bench, named(&[&named_item], around)).await;
    assert_eq!(
        seen.items[&plain.id],
        Item { description: None, intent: None, metadata: None, properties: None, ..plain.clone() }
    );
    assert_eq!(seen.items[&briefed.id], Item { metadata: None, ..briefed });
    let seen = view(&bench, named(&[&named_item, &plain], around)).await;
    assert_eq!(seen.items[&plain.id], plain, "a named one is shown whole");
}

/// A project is put away and taken back.
pub async fn a_project_is_put_away_and_taken_back(bench: Bench) {
    let mut home = bench.project.clone();
    for (version, archived_at) in [(2, Some(Timestamp::from_millis(55))), (3, None)] {
        (home.version, home.archived_at) = (version, archived_at);
        bench.put(ChangeSet { projects: vec![home.clone()], ..ChangeSet::default() }).await;
        assert_eq!(bench.store.projects().await.expect("projects"), std::slice::from_ref(&home));
        let seen = view(&bench, Scope { every_project: true, ..Scope::default() }).await;
        assert_eq!(seen.projects[&home.id].archived_at, archived_at);
    }
}

/// Says something about an item that it has seen, and asks what nobody has asked yet.
struct Talks(Item);

impl Unit for Talks {
    fn scope(&self) -> Scope {
        named(&[&self.0], everything())
    }

    fn decide(&mut self, seen: &Slice) -> Step {
        let said = seen.comments.get(&self.0.id).map_or(0, |comments| comments.rows.len());
        let record = event(self.0.project, Some(self.0.id), docket_core::model::Verb::Commented, seen.now);
        let open = seen.question_of(self.0.id).filter(|question| question.state == QuestionState::Open);
        let questions = match open {
            Some(open) => vec![answered(open)],
            None => vec![question(&self.0, "which?")],
        };
        Step::Commit(Box::new(ChangeSet {
            comments: vec![comment(&self.0, &said.to_string())],
            briefs: vec![(self.0.id, brief(&said.to_string()))],
            links: vec![link(&self.0, &said.to_string())],
            removed_links: seen.links.keys().copied().collect(),
            questions,
            events: vec![record],
            ..ChangeSet::default()
        }))
    }
}

/// Units that talk about one item at the same time do not lose each other: each sees what the one before wrote.
pub async fn units_that_talk_about_one_item_do_not_lose_each_other(bench: Bench) {
    let a = item(&bench.project, 1, "a");
    bench.put_items(std::slice::from_ref(&a)).await;
    let stores = [Arc::clone(&bench.store), bench.other().await];
    let running: Vec<_> = (0..9)
        .map(|number| {
            let (store, unit) = (Arc::clone(&stores[number % 2]), Talks(a.clone()));
            tokio::spawn(async move { store.execute(Box::new(unit)).await })
        })
        .collect();
    for unit in running {
        let result: Result<(), StoreError> = unit.await.expect("no panic");
        result.expect("written");
    }
    let seen = view(&bench, named(&[&a], everything())).await;
    let mut said: Vec<(String, CommentId)> =
        seen.comments[&a.id].rows.iter().map(|comment| (comment.body.to_string(), comment.id)).collect();
    said.sort();
    said.dedup_by(|a, b| a.0 == b.0);
    assert_eq!(said.len(), 9, "each knew how much was said before");
    assert_eq!(seen.links.values().map(|link| link.reference.as_str()).collect::<Vec<_>>(), ["8"]);
    assert_eq!(seen.briefs[&a.id], brief("8"));
    let ScanRows::Questions(questions) = bench.store.scan(ScanTable::Questions, None).await.expect("a page").rows
    else {
        panic!("not questions");
    };
    let open = questions.iter().filter(|question| question.state == QuestionState::Open).count();
    assert_eq!((questions.len(), open), (5, 1));
}
