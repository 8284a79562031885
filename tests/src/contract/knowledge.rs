//! Knowledge: entries, what they are found by, their links and vectors.

use std::sync::Arc;

use docket_core::Engine;
use docket_core::access::Access;
use docket_core::model::{Entry, EntryId, EntryTie, Project, Review, Source, Tag, Text, Timestamp, Title};
use docket_core::query::KnowledgeQuery;
use docket_core::search::question_words;
use docket_core::store::{
    ChangeSet, EntryChange, EntryFilter, Heading, KnowledgeChanges, KnowledgeReach, Posting, ProjectRef, ScanRows,
    ScanTable, Scope, Store, Visible, facet,
};

use super::support::{Bench, entry, entry_link, item, name, project};

pub(super) fn written(knowledge: KnowledgeChanges) -> ChangeSet {
    ChangeSet { knowledge, ..ChangeSet::default() }
}

pub(super) fn added(entries: &[Entry]) -> ChangeSet {
    written(KnowledgeChanges { new_entries: entries.to_vec(), ..KnowledgeChanges::default() })
}

pub(super) fn named(entries: &[&Entry]) -> Scope {
    let entries = entries.iter().map(|entry| entry.id).collect();
    Scope { knowledge: KnowledgeReach { entries, count: true, making: true }, ..Scope::default() }
}

pub(super) fn text(text: &str) -> Text {
    Text::parse(text).expect("a text")
}

pub(super) fn tag(text: &str) -> Tag {
    Tag::parse(text).expect("a tag")
}

async fn ids(bench: &Bench, under: &[Heading], question: &str) -> Vec<Vec<EntryId>> {
    let words = question_words(question);
    let lists = bench.store.postings(&[bench.project.id], &words, under, 100).await.expect("postings");
    lists.into_iter().map(|list| list.entries.into_iter().map(|posting| posting.entry).collect()).collect()
}

/// How many round trips one question is counted as: behind a pooler each is wrapped in others.
async fn one_question(bench: &Bench) -> u64 {
    let before = bench.store.round_trips();
    bench.store.pending(1).await.expect("entries");
    bench.store.round_trips() - before
}

pub(super) fn ask(question: &str) -> KnowledgeQuery {
    KnowledgeQuery { query: question.to_owned(), limit: 5, ..KnowledgeQuery::default() }
}

pub(super) fn engine(bench: &Bench) -> Engine {
    Engine::new(Arc::clone(&bench.store) as Arc<dyn Store>)
}

fn reviewed() -> Review {
    Review { by: name("boss"), at: Timestamp::from_millis(1) }
}

fn limited(bench: &Bench, visible: &Visible) -> Engine {
    let engine = engine(bench);
    engine.limited_to(Access { projects: visible.clone(), ..Access::default() })
}

/// What was learned comes back as it was written, and as it was written again; and is counted.
pub async fn what_was_learned_comes_back_as_it_was_written(bench: Bench) {
    let a = item(&bench.project, 1, "a");
    bench.put_items(std::slice::from_ref(&a)).await;
    let first = Entry {
        tags: vec![tag("build"), tag("x-1")],
        source: Source::TaskCompletion,
        source_item: Some(a.id),
        review: Some(Review { by: name("boss"), at: Timestamp::from_millis(99) }),
        ..entry(&bench.project, "a \"title\" \u{1f980}", "words; DROP TABLE knowledge;--\n'")
    };
    let second = entry(&bench.project, "other", "text");
    let links = vec![entry_link(&first, &a, EntryTie::Produced), entry_link(&first, &a, EntryTie::Used)];
    let knowledge = KnowledgeChanges {
        new_entries: vec![first.clone(), second.clone()],
        links: links.clone(),
        most: Some(2),
        ..KnowledgeChanges::default()
    };
    bench.put(written(knowledge)).await;
    let seen = bench.store.view(&named(&[&first, &second])).await.expect("a slice");
    assert_eq!(seen.knowledge.entries, [(first.id, first.clone()), (second.id, second.clone())].into());
    assert_eq!(seen.knowledge.links_of(first.id).count(), 2);
    assert_eq!(seen.knowledge.stored, 2);
    assert!(seen.projects.contains_key(&bench.project.id), "the project of what is shown is shown");
    let page = bench.store.scan(ScanTable::Entries, None).await.expect("a page");
    assert!(matches!(&page.rows, ScanRows::Entries(rows) if *rows == [first.clone(), second.clone()]));
    let page = bench.store.scan(ScanTable::EntryLinks, None).await.expect("a page");
    assert!(matches!(&page.rows, ScanRows::EntryLinks(rows) if *rows == links), "{:?}", page.rows);
    let after = Entry {
        title: Title::parse("new").expect("a title"),
        source: Source::Agent,
        updated_at: Timestamp::from_millis(98),
        updated_by: name("other"),
        review: None,
        version: 2,
        ..first.clone()
    };
    let knowledge = KnowledgeChanges {
        changed_entries: vec![EntryChange { entry: after.clone(), read_version: 1, words: true, text: true }],
        removed_entries: vec![second.id],
        removed_links: vec![links[1].key()],
        ..KnowledgeChanges::default()
    };
    bench.put(written(knowledge)).await;
    let seen = bench.store.view(&named(&[&first, &second])).await.expect("a slice").knowledge;
    assert_eq!((seen.entries, seen.links, seen.stored), ([(after.id, after)].into(), links[..1].to_vec(), 1));
    bench.is_sound().await;
}

/// Entries are found by their words, the newest first, and by the words of what was changed.
pub async fn entries_are_found_by_their_words_the_newest_first(bench: Bench) {
    let first =
        Entry { tags: vec![tag("linker")], ..entry(&bench.project, "Änderungen am Parser", "retries of queues") };
    let second = entry(&bench.project, "Queue", "the parser and the parser");
    bench.put(added(&[first.clone(), second.clone()])).await;
    let all: &[Heading] = &[];
    assert_eq!(ids(&bench, all, "parsers queue").await, [vec![second.id, first.id], vec![second.id, first.id]]);
    assert_eq!(ids(&bench, all, "anderungen retry nothing").await, [vec![first.id], vec![first.id], vec![]]);
    let words = question_words("parser linker");
    let lists = bench.store.postings(&[bench.project.id], &words, all, 1).await.expect("postings");
    let posting = |entry: &Entry, in_title| Posting { entry: entry.id, in_title };
    let told: Vec<_> = lists.iter().map(|list| (list.entries.clone(), list.beyond)).collect();
    let wanted = [(vec![posting(&second, false)], Some(first.id)), (vec![posting(&first, true)], None)];
    assert_eq!(told, wanted, "one of each, tags as the title; and what was not looked at");
    let pairs = [(first.id, "parser".to_owned()), (second.id, "linker".to_owned()), (second.id, "parser".to_owned())];
    let mut having = bench.store.having(&pairs).await.expect("pairs");
    having.sort_unstable();
    assert_eq!(having, [(0, true), (2, false)]);
    let both = [vec!["parser".to_owned(), "linker".to_owned()], vec!["queue".to_owned()]];
    let walked = bench.store.having_all(&[bench.project.id], &both, all, 9, 9).await.expect("walks");
    let told: Vec<_> = walked.iter().map(|walked| (walked.entries.clone(), walked.cut)).collect();
    assert_eq!(told, [(vec![first.id], false), (vec![second.id, first.id], false)]);
    let walked = bench.store.having_all(&[bench.project.id], &both, all, 1, 9).await.expect("walks");
    let told: Vec<_> = walked.iter().map(|walked| (walked.entries.clone(), walked.cut)).collect();
    assert_eq!(told, [(vec![], true), (vec![second.id], true)], "one step is not enough, and that is said");
    let after = Entry { body: text("something else"), version: 2, ..second.clone() };
    let change = EntryChange { entry: after, read_version: 1, words: true, text: true };
    bench.put(written(KnowledgeChanges { changed_entries: vec![change], ..KnowledgeChanges::default() })).await;
    assert_eq!(
        ids(&bench, all, "parser else queue").await,
        [vec![first.id], vec![second.id], vec![second.id, first.id]]
    );
    bench.put(written(KnowledgeChanges { removed_entries: vec![first.id], ..KnowledgeChanges::default() })).await;
    assert_eq!(ids(&bench, all, "parser queue").await, [vec![], vec![second.id]]);
}

/// Filters leave out what does not fit, and the limit what may not be seen; pages make up the list.
pub async fn filters_and_limits_leave_out_what_does_not_fit(bench: Bench) {
    let other = project("other", "OTH");
    bench.put(ChangeSet { projects: vec![other.clone()], ..ChangeSet::default() }).await;
    let a = item(&bench.project, 1, "a");
    bench.put_items(std::slice::from_ref(&a)).await;
    let plain = entry(&bench.project, "word one", "x");
    let tagged = Entry { tags: vec![tag("t")], source: Source::Agent, ..entry(&bench.project, "word two", "x") };
    let reviewed = Entry { review: Some(reviewed()), ..entry(&bench.project, "word three", "x") };
    let hidden = entry(&other, "word four", "x");
    let all = [&plain, &tagged, &reviewed, &hidden].map(Entry::clone);
    let links = vec![entry_link(&plain, &a, EntryTie::Used)];
    let knowledge = KnowledgeChanges { new_entries: all.to_vec(), links, ..KnowledgeChanges::default() };
    bench.put(written(knowledge)).await;
    let mine: Visible = Some([bench.project.id].into());
    let cases: Vec<(EntryFilter, Vec<EntryId>)> = vec![
        (EntryFilter::default(), vec![hidden.id, reviewed.id, tagged.id, plain.id]),
        (EntryFilter { visible: mine.clone(), ..EntryFilter::default() }, vec![reviewed.id, tagged.id, plain.id]),
        (EntryFilter { project: ProjectRef::Slug(other.slug.clone()), ..EntryFilter::default() }, vec![hidden.id]),
        (EntryFilter { project: ProjectRef::Id(other.id), visible: mine, ..EntryFilter::default() }, vec![]),
        (EntryFilter { tags: vec![tag("t"), tag("u")], ..EntryFilter::default() }, vec![tagged.id]),
        (EntryFilter { source: Some(Source::Agent), ..EntryFilter::default() }, vec![tagged.id]),
        (EntryFilter { reviewed: Some(true), ..EntryFilter::default() }, vec![reviewed.id]),
        (EntryFilter { reviewed: Some(false), ..EntryFilter::default() }, vec![hidden.id, tagged.id, plain.id]),
        (EntryFilter { item: Some(a.id), ..EntryFilter::default() }, vec![plain.id]),
    ];
    for (filter, wanted) in cases {
        let engine = limited(&bench, &filter.visible);
        let page = engine.list_knowledge(&filter, 10, None).await.expect("entries");
        assert_eq!(page.entries.iter().map(|entry| entry.id).collect::<Vec<_>>(), wanted, "{filter:?}");
        assert_eq!(page.next, None, "{filter:?}");
        let query = KnowledgeQuery { filter: filter.clone(), ..ask("word") };
        let found = engine.search_knowledge(&query).await.expect("an answer");
        let mut ids: Vec<EntryId> = found.hits.iter().map(|hit| hit.entry.id).collect();
        ids.sort_unstable_by(|a, b| b.cmp(a));
        assert_eq!((ids, found.partial), (wanted.clone(), false), "{filter:?}");
        let (mut read, mut cursor) = (Vec::new(), None);
        loop {
            let page = engine.list_knowledge(&filter, 1, cursor.as_deref()).await.expect("a page");
            read.extend(page.entries.iter().map(|entry| entry.id));
            cursor = page.next;
            if cursor.is_none() {
                break;
            }
        }
        assert_eq!(read, wanted, "{filter:?}");
    }
    let scope = Scope { visible: Some([bench.project.id].into()), ..named(&[&hidden, &plain]) };
    let seen = bench.store.view(&scope).await.expect("a slice").knowledge.entries;
    assert_eq!(seen.keys().collect::<Vec<_>>(), [&plain.id], "what may not be seen is not shown by name either");
}

/// However many add at once, no more is kept than may be, and what is refused leaves nothing behind.
pub async fn the_quota_is_compared_at_the_commit(bench: Bench) {
    let bench = Arc::new(bench);
    let engine = Engine::new(Arc::clone(&bench.store) as Arc<dyn Store>);
    let engine = engine.with_quotas(docket_core::access::Quotas { knowledge_stored: 5 });
    let add = |index: u128| {
        let engine = engine.clone();
        let project = ProjectRef::Id(bench.project.id);
        async move {
            let learning = docket_core::command::Learning {
                title: Title::parse("learned").expect("a title"),
                body: text("words"),
                tags: Vec::new(),
            };
            let add = docket_core::command::AddEntries {
                project,
                entries: vec![learning],
                item: None,
                authority: docket_core::model::Authority::Agent,
            };
            engine.run(call(index), add).await
        }
    };
    let tries: Vec<_> = (1..=12).map(|index| tokio::spawn(add(index))).collect();
    let mut kept = 0;
    for attempt in tries {
        match attempt.await.expect("no panic") {
            Ok(_) => kept += 1,
            Err(error) => {
                assert_eq!(error.reason, docket_core::Reason::QuotaExceeded, "{error:?}");
                assert_eq!(error.code, docket_core::Code::RuleBlocked);
            }
        }
    }
    assert_eq!(kept, 5);
    let listed = engine.list_knowledge(&EntryFilter::default(), 50, None).await.expect("entries");
    assert_eq!(listed.entries.len(), 5);
    let seen = bench.store.view(&named(&[])).await.expect("a slice");
    assert_eq!(seen.knowledge.stored, 5);
    bench.is_sound().await;
}

/// A removed item takes its links along and leaves what was learned from it.
pub async fn a_removed_item_takes_its_links_and_leaves_the_entry(bench: Bench) {
    let a = item(&bench.project, 1, "a");
    bench.put_items(std::slice::from_ref(&a)).await;
    let learned = Entry { source_item: Some(a.id), ..entry(&bench.project, "learned", "x") };
    let links = vec![entry_link(&learned, &a, EntryTie::Produced)];
    let knowledge = KnowledgeChanges { new_entries: vec![learned.clone()], links, ..KnowledgeChanges::default() };
    bench.put(written(knowledge)).await;
    bench.put(ChangeSet { removed_items: vec![a.id], ..ChangeSet::default() }).await;
    let seen = bench.store.view(&named(&[&learned])).await.expect("a slice").knowledge;
    assert_eq!((seen.entries.len(), seen.links.len(), seen.stored), (1, 0, 1));
    bench.is_sound().await;
}

/// An old entry that has all words of a question is found behind many newer ones that have each of them; a look that was cut
/// is told.
pub async fn an_old_entry_is_found_by_words_that_many_newer_ones_have(bench: Bench) {
    let old = entry(&bench.project, "gasket torque", "the wrench");
    bench.put(added(std::slice::from_ref(&old))).await;
    let many = |word: &str, count: usize| -> Vec<Entry> {
        (0..count).map(|number| entry(&bench.project, &format!("{word} {number}"), "x")).collect()
    };
    bench.put(added(&many("gasket", 600))).await;
    bench.put(added(&many("torque", 600))).await;
    let engine = engine(&bench);
    let found = engine.search_knowledge(&ask("gasket torque")).await.expect("an answer");
    assert_eq!((found.hits[0].entry.id, found.partial), (old.id, false), "{:?}", found.hits[0].entry.title);
    assert!(found.hits[0].score > 0.9 && found.hits[1].score < 0.6, "{:?}", found.hits[0].score);
    let one = one_question(&bench).await;
    let before = bench.store.round_trips();
    let found = engine.search_knowledge(&ask("gasket")).await.expect("an answer");
    assert!(found.partial, "601 have it, and 256 were looked at");
    assert!(bench.store.round_trips() - before <= 6 * one, "however many have it");
    let found = engine.search_knowledge(&ask("wrench")).await.expect("an answer");
    assert_eq!((found.hits.len(), found.partial), (1, false));
    // What is too far behind is not found, and that is told.
    bench.put(added(&many("gasket", 2_100))).await;
    bench.put(added(&many("torque", 2_100))).await;
    let found = engine.search_knowledge(&ask("gasket torque")).await.expect("an answer");
    assert!(found.partial);
    let found = engine.search_knowledge(&ask("gasket torque wrench")).await.expect("an answer");
    assert_eq!(found.hits[0].entry.id, old.id, "a rare word finds it all the same");
    assert!(found.hits[0].score > 0.75, "it is asked for the common ones as well: {}", found.hits[0].score);
    // Where very many have all of them, the newest are as good as any, and nothing has to be looked for.
    let both = many("gasket torque", 600);
    bench.put(added(&both)).await;
    let before = bench.store.round_trips();
    let found = engine.search_knowledge(&ask("gasket torque")).await.expect("an answer");
    let ids: Vec<EntryId> = found.hits.iter().map(|hit| hit.entry.id).collect();
    assert_eq!((ids, found.partial), (both.iter().rev().take(5).map(|entry| entry.id).collect(), false));
    assert!(bench.store.round_trips() - before <= 3 * one, "where to look, the entries of each word, the best of them");
}

/// Few entries under a tag, or reviewed, among many others: they are listed and found whole, by a bounded number of rows.
pub async fn few_among_many_are_listed_and_found_by_what_they_are_filed_under(bench: Bench) {
    let old = Entry { tags: vec![tag("rare")], review: Some(reviewed()), ..entry(&bench.project, "valve", "x") };
    bench.put(added(std::slice::from_ref(&old))).await;
    let many: Vec<Entry> = (0..2_200)
        .map(|number| Entry { tags: vec![tag("common")], ..entry(&bench.project, &format!("valve {number}"), "x") })
        .collect();
    for many in many.chunks(1_100) {
        bench.put(added(many)).await;
    }
    let engine = engine(&bench);
    let one = one_question(&bench).await;
    for filter in [
        EntryFilter { tags: vec![tag("rare")], ..EntryFilter::default() },
        EntryFilter { reviewed: Some(true), ..EntryFilter::default() },
    ] {
        let before = bench.store.round_trips();
        let page = engine.list_knowledge(&filter, 10, None).await.expect("entries");
        assert_eq!((page.entries, page.next), (vec![old.clone()], None), "{filter:?}");
        let query = KnowledgeQuery { filter: filter.clone(), ..ask("valve") };
        let found = engine.search_knowledge(&query).await.expect("an answer");
        assert_eq!(found.hits.iter().map(|hit| hit.entry.id).collect::<Vec<_>>(), [old.id], "{filter:?}");
        assert!(!found.partial, "{filter:?}: all that are meant were asked");
        assert!(bench.store.round_trips() - before <= 9 * one, "{filter:?}");
    }
    // Both lists are longer than a walk, and what is under both is at their end.
    let both = Entry { tags: vec![tag("common")], review: Some(reviewed()), ..old.clone() };
    let change = EntryChange { entry: Entry { version: 2, ..both }, read_version: 1, words: true, text: false };
    bench.put(written(KnowledgeChanges { changed_entries: vec![change], ..KnowledgeChanges::default() })).await;
    let filter = EntryFilter { tags: vec![tag("common")], reviewed: Some(true), ..EntryFilter::default() };
    let page = engine.list_knowledge(&filter, 10, None).await.expect("entries");
    assert_eq!(page.entries.iter().map(|entry| entry.id).collect::<Vec<_>>(), [old.id], "the list goes on by itself");
    let under = [Heading::Facets(vec![facet::tag(&tag("common"))])];
    let listed = bench.store.list_entries(&[bench.project.id], &under, None, 100, 9).await.expect("a list");
    assert_eq!((listed.entries.len(), listed.beyond), (9, Some(many[2_099].id)), "a walk has an end");
}

/// However many projects there are, a search looks into a bounded number of them, and says so.
pub async fn a_search_over_very_many_projects_says_that_it_is_partial(bench: Bench) {
    let projects: Vec<Project> = (0..70).map(|number| project(&format!("p{number}"), &format!("P{number}"))).collect();
    bench.put(ChangeSet { projects: projects.clone(), ..ChangeSet::default() }).await;
    let entries: Vec<Entry> = projects.iter().map(|project| entry(project, "flange", "x")).collect();
    bench.put(added(&entries)).await;
    let engine = engine(&bench);
    let found = engine.search_knowledge(&ask("flange")).await.expect("an answer");
    assert_eq!((found.hits.len(), found.partial), (5, true));
    let filter = EntryFilter { project: ProjectRef::Id(projects[0].id), ..EntryFilter::default() };
    let found = engine.search_knowledge(&KnowledgeQuery { filter, ..ask("flange") }).await.expect("an answer");
    assert_eq!((found.hits[0].entry.id, found.partial), (entries[0].id, false));
}

/// Who takes a citation back, or makes one, while the entry is removed elsewhere, is told that it is gone; nothing is said of
/// an entry after it was forgotten.
pub async fn a_citation_that_meets_a_removal_loses_the_race_and_no_more(bench: Bench) {
    use docket_core::command::{CiteEntries, RemoveEntries};
    use docket_core::model::{ItemRef, Verb};
    let a = item(&bench.project, 1, "a");
    bench.put_items(std::slice::from_ref(&a)).await;
    let here = engine(&bench);
    let there = Engine::new(bench.other().await as Arc<dyn Store>);
    for round in 0..16_u128 {
        let made = entry(&bench.project, "learned", "x");
        let links = if round % 2 == 0 { vec![entry_link(&made, &a, EntryTie::Used)] } else { Vec::new() };
        let knowledge = KnowledgeChanges { new_entries: vec![made.clone()], links, ..KnowledgeChanges::default() };
        bench.put(written(knowledge)).await;
        let before = bench.store.head().await.expect("a number");
        let cite = CiteEntries {
            project: ProjectRef::Any,
            item: ItemRef::Id(a.id),
            entries: vec![made.id],
            used: round % 2 == 1,
        };
        let (cited, removed) = tokio::join!(
            here.run(call(1_000 + round), cite),
            there.run(call(2_000 + round), RemoveEntries { entries: vec![made.id] })
        );
        removed.unwrap_or_else(|error| panic!("round {round}: {error:?}"));
        if let Err(error) = cited {
            assert_eq!(error.code, docket_core::Code::NotFound, "round {round}: {error:?}");
        }
        let filter = docket_core::store::EventFilter { after: Some(before), limit: 9, ..Default::default() };
        let verbs: Vec<Verb> =
            bench.store.events(&filter).await.expect("events").into_iter().map(|event| event.verb).collect();
        assert_eq!(verbs.last(), Some(&Verb::Forgotten), "round {round}: {verbs:?}");
    }
    bench.is_sound().await;
}

/// A citation is taken back however many newer ones its entry has.
pub async fn an_old_citation_is_taken_back_behind_many_newer_ones(bench: Bench) {
    use docket_core::command::CiteEntries;
    use docket_core::model::ItemRef;
    let items: Vec<_> = (1..=120).map(|number| item(&bench.project, number, "a")).collect();
    bench.put_items(&items).await;
    let made = entry(&bench.project, "learned", "x");
    let links = items
        .iter()
        .zip(1..)
        .map(|(item, at)| docket_core::model::EntryLink {
            created_at: Timestamp::from_millis(at),
            ..entry_link(&made, item, EntryTie::Used)
        })
        .collect();
    let knowledge = KnowledgeChanges { new_entries: vec![made.clone()], links, ..KnowledgeChanges::default() };
    bench.put(written(knowledge)).await;
    let cite =
        CiteEntries { project: ProjectRef::Any, item: ItemRef::Id(items[0].id), entries: vec![made.id], used: false };
    let cited = engine(&bench).run(call(7), cite).await.expect("an answer");
    assert_eq!(cited.changed, [made.id], "the oldest of 120 links");
    let filter = EntryFilter { item: Some(items[1].id), ..EntryFilter::default() };
    let query = KnowledgeQuery { filter, ..ask("learned") };
    let found = engine(&bench).search_knowledge(&query).await.expect("an answer");
    assert_eq!(found.hits.len(), 1, "an entry is found by the oldest of its links, too");
}

pub(super) fn call(seed: u128) -> docket_core::engine::Call {
    docket_core::engine::Call::new(name("tester"), seed.wrapping_mul(0x9e37_79b9_7f4a_7c15_f39c_c060_5ced_c835))
}
