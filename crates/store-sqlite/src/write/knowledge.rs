//! Knowledge: entries with the words they are found by, their links, and their vectors.

use std::sync::LazyLock;

use docket_core::model::{Entry, EntryId, ItemId, Timestamp};
use docket_core::search;
use docket_core::store::code::Coded;
use docket_core::store::{ChangeSet, KnowledgeChanges, Making, MakingChange, NewVector, bits_of, bytes_of, facet};
use uuid::Uuid;

use super::rows;
use crate::script::{Script, Value};

const CONTENT: [&str; 12] = [
    "project_id",
    "source",
    "source_item",
    "author",
    "created_at",
    "updated_at",
    "updated_by",
    "version",
    "reviewed_by",
    "reviewed_at",
    "title",
    "tags",
];

static INSERT: LazyLock<String> =
    LazyLock::new(|| rows::insert("knowledge", &[&["id"][..], &CONTENT[..], &["body"][..]].concat(), ""));
static UPDATE: LazyLock<String> = LazyLock::new(|| rows::update("knowledge", &[&CONTENT[..], &["body"][..]].concat()));
static LINK: LazyLock<String> = LazyLock::new(|| {
    let otherwise = "ON CONFLICT (entry_id, item_id, kind) DO UPDATE SET author = excluded.author, \
                     created_at = excluded.created_at";
    rows::insert("knowledge_links", &["entry_id", "item_id", "kind", "author", "created_at"], otherwise)
});
static WORD: LazyLock<String> =
    LazyLock::new(|| rows::insert("knowledge_words", &["project_id", "word", "entry_id", "in_title"], ""));
static FACET: LazyLock<String> =
    LazyLock::new(|| rows::insert("knowledge_facets", &["project_id", "facet", "entry_id"], ""));
const VECTOR: &str = "REPLACE INTO knowledge_vectors (entry_id, generation, bits, numbers, place) \
    VALUES (?, ?, ?, ?, (SELECT vectors FROM knowledge_counts) + ?)";

/// Entries, links and vectors: those that go, then those that come.
pub(super) fn add_knowledge(script: &mut Script, changes: &ChangeSet) {
    // Compared nowhere: what the unit saw of the count was read in the same transaction.
    let KnowledgeChanges {
        new_entries,
        changed_entries,
        removed_entries,
        links,
        removed_links,
        most: _,
        vectors,
        making,
    } = &changes.knowledge;
    let gone =
        removed_links.iter().map(|(entry, item, kind)| vec![id(*entry), item.as_uuid().into(), kind.code().into()]);
    script.put("DELETE FROM knowledge_links WHERE entry_id = ? AND item_id = ? AND kind = ?", gone);
    script.put("DELETE FROM knowledge WHERE id = ?", removed_entries.iter().map(|entry| vec![id(*entry)]));
    script.put(&INSERT, new_entries.iter().map(|entry| [vec![id(entry.id)], content(entry)].concat()));
    script.put(
        &UPDATE,
        changed_entries.iter().map(|change| [content(&change.entry), vec![id(change.entry.id)]].concat()),
    );
    let rewritten = changed_entries.iter().filter(|change| change.text).map(|change| vec![id(change.entry.id)]);
    script.put("UPDATE knowledge SET made = 0 WHERE id = ?", rewritten);
    let revised = || changed_entries.iter().map(|change| &change.entry);
    script.put("DELETE FROM knowledge_facets WHERE entry_id = ?", revised().map(|entry| vec![id(entry.id)]));
    script.put(&FACET, new_entries.iter().chain(revised()).flat_map(facets));
    let refiled: Vec<&Entry> =
        changed_entries.iter().filter(|change| change.words).map(|change| &change.entry).collect();
    script.put("DELETE FROM knowledge_words WHERE entry_id = ?", refiled.iter().map(|entry| vec![id(entry.id)]));
    script.put(&WORD, new_entries.iter().chain(refiled).flat_map(words));
    let linked = links.iter().map(|link| {
        vec![
            id(link.entry),
            link.item.as_uuid().into(),
            link.kind.code().into(),
            link.by.as_str().into(),
            link.created_at.as_millis().into(),
        ]
    });
    script.put(&LINK, linked);
    add_vectors(script, vectors, making.as_ref());
    let growth = changes.knowledge.growth();
    if growth != 0 {
        script.put("UPDATE knowledge_counts SET stored = stored + ?", [vec![growth.into()]]);
    }
}

fn add_vectors(script: &mut Script, vectors: &[NewVector], making: Option<&MakingChange>) {
    let (kept, refused): (Vec<&NewVector>, Vec<&NewVector>) =
        vectors.iter().partition(|vector| !vector.numbers.is_empty());
    script.put("DELETE FROM knowledge_vectors WHERE entry_id = ?", refused.iter().map(|vector| vec![id(vector.entry)]));
    script.put(VECTOR, kept.iter().copied().zip(1_u64..).map(vector));
    script.put(
        "UPDATE knowledge SET made = ? WHERE id = ?",
        vectors.iter().map(|vector| vec![vector.generation.into(), id(vector.entry)]),
    );
    if !kept.is_empty() {
        script.put("UPDATE knowledge_counts SET vectors = vectors + ?", [vec![kept.len().into()]]);
    }
    if let Some(MakingChange { read: _, making }) = making {
        let Making { generation, model, width, maker, until } = making;
        script.put(
            "UPDATE knowledge_counts SET generation = ?, model = ?, width = ?, maker = ?, made_until = ?",
            [vec![
                (*generation).into(),
                model.as_str().into(),
                (*width).into(),
                maker.as_str().into(),
                until.as_millis().into(),
            ]],
        );
    }
}

fn content(entry: &Entry) -> Vec<Value> {
    vec![
        entry.project.as_uuid().into(),
        entry.source.code().into(),
        entry.source_item.map(ItemId::as_uuid).into(),
        entry.author.as_str().into(),
        entry.created_at.as_millis().into(),
        entry.updated_at.as_millis().into(),
        entry.updated_by.as_str().into(),
        entry.version.into(),
        entry.review.as_ref().map(|review| review.by.as_str()).into(),
        entry.review.as_ref().map(|review| review.at).map(Timestamp::as_millis).into(),
        entry.title.as_str().into(),
        Value::json(&entry.tags),
        entry.body.as_str().into(),
    ]
}

fn words(entry: &Entry) -> Vec<Vec<Value>> {
    let row = |(word, in_title): (String, bool)| {
        vec![entry.project.as_uuid().into(), word.into(), id(entry.id), in_title.into()]
    };
    search::entry_words(entry).into_iter().map(row).collect()
}

fn facets(entry: &Entry) -> Vec<Vec<Value>> {
    facet::of(entry).into_iter().map(|facet| vec![entry.project.as_uuid().into(), facet.into(), id(entry.id)]).collect()
}

fn vector((vector, place): (&NewVector, u64)) -> Vec<Value> {
    vec![
        id(vector.entry),
        vector.generation.into(),
        Value::Blob(bits_of(&vector.numbers)),
        Value::Blob(bytes_of(&vector.numbers)),
        place.into(),
    ]
}

fn id(entry: EntryId) -> Value {
    Uuid::from_u128(entry.0.0).into()
}
