//! What is asked and tried of knowledge.

use docket_core::access::Profile;
use docket_core::command::{AddEntries, CiteEntries, EditEntry, Learning, ReadEntry, RemoveEntries, ReviewEntries};
use docket_core::model::{Authority, EntryId, ItemId, ItemRef, Tag, Text};
use docket_core::query::{EntryPage, KnowledgeQuery};
use docket_core::store::{Around, EntryFilter, ProjectRef};
use docket_core::testing::title;
use docket_core::{Engine, Error};
use ulid::Ulid;

use super::rows::run;
use super::{Names, SECRET, said_of, tried};

fn text(text: &str) -> Text {
    Text::parse(text).unwrap_or_else(|error| panic!("{error}"))
}

fn tag(word: &str) -> Tag {
    Tag::parse(word).unwrap_or_else(|error| panic!("{error}"))
}

fn add(project: ProjectRef, item: Option<ItemRef>, word: &str) -> AddEntries {
    let learning = Learning {
        title: title(&format!("{word} entry")),
        body: text(&format!("what {word} knows of an item")),
        tags: vec![tag(word)],
    };
    AddEntries { project, entries: vec![learning], item, authority: Authority::Agent }
}

/// An entry that was learned from an item, with the word in all its texts.
pub(super) async fn learned(engine: &Engine, item: ItemId, word: &str) -> EntryId {
    let added = run(engine, add(ProjectRef::Any, Some(item.into()), word)).await;
    let added = added.unwrap_or_else(|error| panic!("an entry: {error}"));
    added.entries.first().copied().unwrap_or_else(|| panic!("an entry"))
}

async fn listed(engine: &Engine, filter: EntryFilter) -> String {
    let page = engine.list_knowledge(&filter, 50, None).await;
    said_of(&page.map(|EntryPage { entries, next }| (entries, next.is_some())))
}

async fn found(engine: &Engine, project: &ProjectRef, question: &str) -> String {
    let filter = EntryFilter { project: project.clone(), ..EntryFilter::default() };
    let query = KnowledgeQuery { filter, query: question.to_owned(), minimum: 0.0, limit: 50 };
    said_of(&engine.search_knowledge(&query).await)
}

/// Every read that names something.
pub(super) async fn reads(engine: &Engine, names: &Names) -> Vec<(&'static str, String)> {
    let Names { project, item, entry, .. } = names;
    let within = EntryFilter { project: project.clone(), ..EntryFilter::default() };
    let mut answers = vec![
        ("entry", said_of(&engine.entry(*entry).await)),
        ("entries", listed(engine, within.clone()).await),
        ("entries by tag", listed(engine, EntryFilter { tags: vec![tag(SECRET)], ..within.clone() }).await),
        ("knowledge by words", found(engine, project, "what knows of an item").await),
        ("knowledge by their words", found(engine, project, SECRET).await),
        ("knowledge by their words, anywhere", found(engine, &ProjectRef::Any, SECRET).await),
    ];
    if let ItemRef::Id(id) = item {
        let on = EntryFilter { item: Some(*id), ..EntryFilter::default() };
        answers.push(("entries of an item", listed(engine, on).await));
    }
    let seen = engine.show(project, std::slice::from_ref(item), Around::default()).await;
    let digest = match seen.and_then(|seen| seen.resolve(item).cloned()) {
        Ok(item) => Ok(engine.digest(&item).await),
        Err(error) => Err(error),
    };
    answers.push(("digest", said_of(&digest)));
    answers
}

/// Every list of whatever there is.
pub(super) async fn lists(engine: &Engine) -> Vec<(&'static str, String)> {
    vec![
        ("all entries", listed(engine, EntryFilter::default()).await),
        ("all that answers", found(engine, &ProjectRef::Any, "what knows of an item").await),
    ]
}

/// Every write that names something, with the profile it needs.
pub(super) async fn writes(engine: &Engine, names: &Names) -> Vec<(&'static str, Profile, Result<String, Error>)> {
    let Names { project, item, entry, .. } = names;
    let any = ProjectRef::Any;
    let edit = EditEntry {
        entry: *entry,
        title: None,
        body: Some(text("changed by somebody")),
        tags: None,
        expected_version: None,
        authority: Authority::Agent,
    };
    let review = |reviewed| ReviewEntries {
        entries: vec![ReadEntry { entry: *entry, version: if reviewed { Some(1) } else { None } }],
        reviewed,
        authority: Authority::Human,
    };
    let cite = |used| CiteEntries { project: any.clone(), item: item.clone(), entries: vec![*entry], used };
    // One's own would be gone: whose it is, is tried where the other's are.
    let remove = RemoveEntries { entries: vec![EntryId(Ulid(1))] };
    vec![
        ("learn", Profile::Worker, tried(engine, add(project.clone(), None, "new")).await),
        ("learn from", Profile::Worker, tried(engine, add(any.clone(), Some(item.clone()), "new")).await),
        ("edit entry", Profile::Worker, tried(engine, edit).await),
        ("cite", Profile::Worker, tried(engine, cite(true)).await),
        ("take back a citation", Profile::Worker, tried(engine, cite(false)).await),
        ("review entry", Profile::Operator, tried(engine, review(true)).await),
        ("take back a review", Profile::Operator, tried(engine, review(false)).await),
        ("remove no entry", Profile::Maintainer, tried(engine, remove).await),
    ]
}

/// Only tried on what is not the caller's own: it would be gone.
pub(super) async fn remove(engine: &Engine, names: &Names) -> String {
    said_of(&tried(engine, RemoveEntries { entries: vec![names.entry] }).await)
}
