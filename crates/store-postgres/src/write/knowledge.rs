//! Knowledge: entries with the words they are found by, their links, and their vectors.

use docket_core::model::{Entry, EntryId, ItemId, Timestamp};
use docket_core::search;
use docket_core::store::code::Coded;
use docket_core::store::{
    ChangeSet, EntryChange, KnowledgeChanges, Making, MakingChange, NewVector, bits_of, bytes_of, facet,
};
use uuid::Uuid;

use super::Writes;
use super::rows::{Cell, Column, Kind, Rows};
use crate::script::{Script, json};

const ENTRY: [Column; 14] = [
    ("id", Kind::Id),
    ("project_id", Kind::Id),
    ("source", Kind::Int),
    ("source_item", Kind::Id),
    ("author", Kind::Text),
    ("created_at", Kind::Int),
    ("updated_at", Kind::Int),
    ("updated_by", Kind::Text),
    ("version", Kind::Int),
    ("reviewed_by", Kind::Text),
    ("reviewed_at", Kind::Int),
    ("title", Kind::Text),
    ("tags", Kind::List),
    ("body", Kind::Text),
];
/// Which columns of an entry change, and the version that was read.
const CHANGED: [Column; 11] = [
    ("source", Kind::Int),
    ("updated_at", Kind::Int),
    ("updated_by", Kind::Text),
    ("version", Kind::Int),
    ("reviewed_by", Kind::Text),
    ("reviewed_at", Kind::Int),
    ("title", Kind::Text),
    ("tags", Kind::List),
    ("body", Kind::Text),
    ("made", Kind::Int),
    ("read_version", Kind::Int),
];
const WORD: [Column; 4] =
    [("project_id", Kind::Id), ("word", Kind::Text), ("entry_id", Kind::Id), ("in_title", Kind::Bool)];
const LINK: [Column; 5] = [
    ("entry_id", Kind::Id),
    ("item_id", Kind::Id),
    ("kind", Kind::Int),
    ("author", Kind::Text),
    ("created_at", Kind::Int),
];
const FACET: [Column; 3] = [("project_id", Kind::Id), ("facet", Kind::Text), ("entry_id", Kind::Id)];
const VECTOR: [Column; 4] =
    [("entry_id", Kind::Id), ("generation", Kind::Int), ("bits", Kind::Hex), ("numbers", Kind::Hex)];
const MADE: [Column; 3] = [("id", Kind::Id), ("made", Kind::Int), ("read_version", Kind::Int)];

/// Entries, links and vectors.
pub(super) fn add_knowledge(script: &mut Script, writes: &mut Writes, changes: &ChangeSet) {
    let KnowledgeChanges {
        new_entries,
        changed_entries,
        removed_entries,
        links,
        removed_links,
        most: _,
        vectors,
        making: _,
    } = &changes.knowledge;
    add_counts(script, writes, &changes.knowledge);
    add_made(script, writes, vectors);
    add_removed(script, writes, removed_entries, removed_links);
    if let Some(rows) = Rows::bind(script, &ENTRY, new_entries.iter().map(entry).collect()) {
        writes.add(rows.insert("knowledge", &ENTRY, ""));
    }
    add_changed(script, writes, changed_entries);
    add_words(script, writes, new_entries, changed_entries);
    add_facets(script, writes, new_entries, changed_entries);
    let linked = links.iter().map(|link| {
        vec![
            id(link.entry),
            link.item.as_uuid().into(),
            link.kind.code().into(),
            link.by.as_str().into(),
            link.created_at.as_millis().into(),
        ]
    });
    if let Some(rows) = Rows::bind(script, &LINK, linked.collect()) {
        let otherwise = "ON CONFLICT (entry_id, item_id, kind) DO UPDATE SET author = excluded.author, \
                         created_at = excluded.created_at";
        writes.add(rows.insert("knowledge_links", &LINK, otherwise));
    }
}

/// The counts, and who makes vectors. Where there is a limit, it is compared with what others have committed by now: the row
/// is locked from here to the commit. Vectors get their places in the same order.
fn add_counts(script: &mut Script, writes: &mut Writes, changes: &KnowledgeChanges) {
    let growth = changes.growth();
    let kept: Vec<&NewVector> = changes.vectors.iter().filter(|vector| !vector.numbers.is_empty()).collect();
    let untouched = changes.vectors.is_empty() && changes.making.is_none();
    if growth == 0 && untouched && changes.new_entries.is_empty() {
        return;
    }
    let (growth, added) = (script.int(growth), script.int(i64::try_from(kept.len()).unwrap_or(i64::MAX)));
    let mut fits = "true".to_owned();
    if let Some(most) = changes.most {
        fits = format!("stored + {growth} <= {}", script.int(number(most)));
    }
    if let Some(vector) = changes.vectors.first() {
        fits = format!("{fits} AND generation = {}", script.int(number(vector.generation)));
    }
    let mut set = format!("stored = stored + {growth}, vectors = vectors + {added}");
    if let Some(MakingChange { read, making }) = &changes.making {
        fits = format!("{fits} AND {}", making_columns(script, read).join(" AND "));
        set = format!("{set}, {}", making_columns(script, making).join(", "));
    }
    let update = format!("UPDATE knowledge_counts SET {set} WHERE {fits} RETURNING vectors - {added} AS base");
    let part = writes.add_counted(update, 1);
    let rows = kept.into_iter().map(vector).collect();
    let Some(rows) = Rows::bind(script, &VECTOR, rows) else { return };
    writes.add(rows.insert_placed("knowledge_vectors", &VECTOR, "place", &part));
}

fn making_columns(script: &mut Script, making: &Making) -> [String; 5] {
    let Making { generation, model, width, maker, until } = making;
    [
        format!("generation = {}", script.int(number(*generation))),
        format!("model = {}", script.text(model.as_str())),
        format!("width = {}", script.int(number(*width))),
        format!("maker = {}", script.text(maker.as_str())),
        format!("made_until = {}", script.int(until.as_millis())),
    ]
}

/// Marks what a vector was made or refused of, if it is still what was read.
fn add_made(script: &mut Script, writes: &mut Writes, vectors: &[NewVector]) {
    let rows =
        vectors.iter().map(|vector| vec![id(vector.entry), vector.generation.into(), vector.read_version.into()]);
    if let Some(rows) = Rows::bind(script, &MADE, rows.collect()) {
        let update = rows.update("knowledge", &MADE[1..2], "knowledge.version = r.read_version");
        writes.add_counted(update, vectors.len());
    }
    let refused: Vec<Uuid> =
        vectors.iter().filter(|vector| vector.numbers.is_empty()).map(|vector| bytes(vector.entry)).collect();
    if !refused.is_empty() {
        let ids = script.uuids(refused);
        writes.add(format!("DELETE FROM knowledge_vectors WHERE entry_id = ANY({ids})"));
    }
}

fn add_removed(
    script: &mut Script,
    writes: &mut Writes,
    entries: &[EntryId],
    links: &[(EntryId, ItemId, docket_core::model::EntryTie)],
) {
    if !entries.is_empty() {
        let ids = script.uuids(entries.iter().map(|entry| bytes(*entry)));
        writes.add_counted(format!("DELETE FROM knowledge WHERE id = ANY({ids}) RETURNING 1"), entries.len());
    }
    if !links.is_empty() {
        let of = script.uuids(links.iter().map(|(entry, ..)| bytes(*entry)));
        let with = script.uuids(links.iter().map(|(_, item, _)| item.as_uuid()));
        let kinds = script.ints(links.iter().map(|(.., kind)| kind.code()));
        // One that somebody else has removed by now, with its entry or by itself, is not removed once more.
        let delete = format!(
            "DELETE FROM knowledge_links l USING unnest({of}, {with}, {kinds}) r (entry_id, item_id, kind) \
             WHERE l.entry_id = r.entry_id AND l.item_id = r.item_id AND l.kind = r.kind RETURNING 1"
        );
        writes.add_counted(delete, links.len());
    }
}

/// Changed entries. Those with another text have no vector of it yet.
fn add_changed(script: &mut Script, writes: &mut Writes, changed: &[EntryChange]) {
    let (rewritten, other): (Vec<&EntryChange>, Vec<&EntryChange>) = changed.iter().partition(|change| change.text);
    add_changed_rows(script, writes, &rewritten, true);
    add_changed_rows(script, writes, &other, false);
}

fn add_changed_rows(script: &mut Script, writes: &mut Writes, changed: &[&EntryChange], rewritten: bool) {
    let columns: Vec<Column> = [&[("id", Kind::Id)][..], &CHANGED[..]].concat();
    let rows = changed.iter().map(|change| {
        let EntryChange { entry, read_version, words: _, text: _ } = change;
        vec![
            id(entry.id),
            entry.source.code().into(),
            entry.updated_at.as_millis().into(),
            entry.updated_by.as_str().into(),
            entry.version.into(),
            entry.review.as_ref().map(|review| review.by.as_str()).into(),
            entry.review.as_ref().map(|review| review.at).map(Timestamp::as_millis).into(),
            entry.title.as_str().into(),
            json(&entry.tags).into(),
            entry.body.as_str().into(),
            0_u64.into(),
            (*read_version).into(),
        ]
    });
    if let Some(rows) = Rows::bind(script, &columns, rows.collect()) {
        let set = &CHANGED[..CHANGED.len() - if rewritten { 1 } else { 2 }];
        writes.add_counted(rows.update("knowledge", set, "knowledge.version = r.read_version"), changed.len());
    }
}

/// The words of new entries, and of those whose text changed. Parts see the rows as they were: words that stay are left alone.
fn add_words(script: &mut Script, writes: &mut Writes, new: &[Entry], changed: &[EntryChange]) {
    let refiled: Vec<&Entry> = changed.iter().filter(|change| change.words).map(|change| &change.entry).collect();
    let rows: Vec<Vec<Cell>> = new.iter().chain(refiled.iter().copied()).flat_map(words).collect();
    if !refiled.is_empty() {
        let ids = script.uuids(refiled.iter().map(|entry| bytes(entry.id)));
        let kept: Vec<(Uuid, String)> = refiled
            .iter()
            .flat_map(|entry| search::entry_words(entry).into_iter().map(|(word, _)| (bytes(entry.id), word)))
            .collect();
        let of = script.uuids(kept.iter().map(|(entry, _)| *entry));
        let texts = script.texts(kept.iter().map(|(_, word)| word.as_str()));
        writes.add(format!(
            "DELETE FROM knowledge_words w WHERE w.entry_id = ANY({ids}) AND NOT EXISTS \
             (SELECT 1 FROM unnest({of}, {texts}) r (entry_id, word) WHERE r.entry_id = w.entry_id AND r.word = w.word)"
        ));
    }
    if let Some(rows) = Rows::bind(script, &WORD, rows) {
        let otherwise = "ON CONFLICT (project_id, word, entry_id) DO UPDATE SET in_title = excluded.in_title";
        writes.add(rows.insert("knowledge_words", &WORD, otherwise));
    }
}

/// What new and changed entries are filed under; what stays is left alone.
fn add_facets(script: &mut Script, writes: &mut Writes, new: &[Entry], changed: &[EntryChange]) {
    let refiled = || changed.iter().map(|change| &change.entry);
    let of = |entry: &Entry| {
        let (project, id) = (entry.project.as_uuid(), bytes(entry.id));
        facet::of(entry).into_iter().map(move |facet| (project, facet, id)).collect::<Vec<_>>()
    };
    if !changed.is_empty() {
        let kept: Vec<(Uuid, String, Uuid)> = refiled().flat_map(of).collect();
        let ids = script.uuids(refiled().map(|entry| bytes(entry.id)));
        let entries = script.uuids(kept.iter().map(|(.., entry)| *entry));
        let facets = script.texts(kept.iter().map(|(_, facet, _)| facet.as_str()));
        writes.add(format!(
            "DELETE FROM knowledge_facets g WHERE g.entry_id = ANY({ids}) AND NOT EXISTS (SELECT 1 \
             FROM unnest({entries}, {facets}) r (entry_id, facet) WHERE r.entry_id = g.entry_id AND r.facet = g.facet)"
        ));
    }
    let rows = new.iter().chain(refiled()).flat_map(of);
    let rows = rows.map(|(project, facet, entry)| vec![project.into(), facet.into(), entry.into()]);
    if let Some(rows) = Rows::bind(script, &FACET, rows.collect()) {
        let otherwise = "ON CONFLICT (project_id, facet, entry_id) DO NOTHING";
        writes.add(rows.insert("knowledge_facets", &FACET, otherwise));
    }
}

fn entry(entry: &Entry) -> Vec<Cell> {
    vec![
        id(entry.id),
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
        json(&entry.tags).into(),
        entry.body.as_str().into(),
    ]
}

fn words(entry: &Entry) -> Vec<Vec<Cell>> {
    let row = |(word, in_title): (String, bool)| {
        vec![entry.project.as_uuid().into(), word.into(), id(entry.id), in_title.into()]
    };
    search::entry_words(entry).into_iter().map(row).collect()
}

fn vector(vector: &NewVector) -> Vec<Cell> {
    vec![
        id(vector.entry),
        vector.generation.into(),
        hex(&bits_of(&vector.numbers)).into(),
        hex(&bytes_of(&vector.numbers)).into(),
    ]
}

fn hex(bytes: &[u8]) -> String {
    let digit = |nibble: u8| char::from_digit(u32::from(nibble), 16).unwrap_or('0');
    bytes.iter().flat_map(|byte| [digit(byte >> 4), digit(byte & 15)]).collect()
}

fn number(value: u64) -> i64 {
    i64::try_from(value).unwrap_or(i64::MAX)
}

fn bytes(entry: EntryId) -> Uuid {
    Uuid::from_u128(entry.0.0)
}

fn id(entry: EntryId) -> Cell {
    bytes(entry).into()
}
