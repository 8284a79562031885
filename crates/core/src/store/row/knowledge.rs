//! Entries of the knowledge, their links, and what searches ask for.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Deserializer};
use ulid::Ulid;
use uuid::Uuid;

use super::{Flag, Millis};
use crate::model::{Entry, EntryId, EntryLink, EntryTie, ItemId, Name, ProjectId, Review, Source, Tag, Text, Title};
use crate::search;
use crate::store::code::Code;
use crate::store::{Listed, Making, Posting, Postings, Sketch, Sketches, Walked, facet, numbers_of};

fn entry_id(id: Uuid) -> EntryId {
    EntryId(Ulid::from(id.as_u128()))
}

/// A row of `knowledge`.
#[derive(Debug, Deserialize)]
pub struct EntryRow {
    id: Uuid,
    project: ProjectId,
    title: Title,
    body: Text,
    tags: Vec<Tag>,
    source: Code<Source>,
    source_item: Option<ItemId>,
    author: Name,
    created_at: Millis,
    updated_at: Millis,
    updated_by: Name,
    version: u64,
    reviewed_by: Option<Name>,
    reviewed_at: Option<Millis>,
}

impl From<EntryRow> for Entry {
    fn from(row: EntryRow) -> Self {
        let review = row.reviewed_by.zip(row.reviewed_at);
        Self {
            id: entry_id(row.id),
            project: row.project,
            title: row.title,
            body: row.body,
            tags: row.tags,
            source: row.source.0,
            source_item: row.source_item,
            author: row.author,
            created_at: row.created_at.into(),
            updated_at: row.updated_at.into(),
            updated_by: row.updated_by,
            version: row.version,
            review: review.map(|(by, at)| Review { by, at: at.into() }),
        }
    }
}

/// A row of `knowledge_links`.
#[derive(Debug, Deserialize)]
pub struct EntryLinkRow {
    entry: Uuid,
    item: ItemId,
    kind: Code<EntryTie>,
    by: Name,
    created_at: Millis,
}

impl From<EntryLinkRow> for EntryLink {
    fn from(row: EntryLinkRow) -> Self {
        Self {
            entry: entry_id(row.entry),
            item: row.item,
            kind: row.kind.0,
            by: row.by,
            created_at: row.created_at.into(),
        }
    }
}

/// The entries that have words: the place of the word, the entry, whether in its title; and for words and projects that were
/// not looked through, the newest entry that was not looked at.
#[derive(Debug, Deserialize)]
pub struct PostingRows(Vec<(usize, Uuid, Flag)>, Vec<(usize, Option<Uuid>)>);

impl PostingRows {
    /// The entries of each of so many words, the newest first.
    pub fn by_word(self, words: usize) -> Vec<Postings> {
        let mut lists: Vec<Postings> = vec![Postings::default(); words];
        for (word, entry, in_title) in self.0 {
            if let Some(list) = lists.get_mut(word) {
                list.entries.push(Posting { entry: entry_id(entry), in_title: in_title.0 });
            }
        }
        for (word, beyond) in self.1 {
            if let Some(list) = lists.get_mut(word) {
                list.beyond = list.beyond.max(beyond.map(entry_id));
            }
        }
        // Ids grow with time.
        for list in &mut lists {
            list.entries.sort_by_key(|posting| std::cmp::Reverse(posting.entry));
        }
        lists
    }
}

/// Pairs that are there: the place of each, and whether the word is in the title.
#[derive(Debug, Deserialize)]
pub struct PairRow(usize, Flag);

impl From<PairRow> for (usize, bool) {
    fn from(row: PairRow) -> Self {
        (row.0, row.1.0)
    }
}

/// What some walks found: the place of the walk and the entry; and the places of those that ended early.
#[derive(Debug, Deserialize)]
pub struct WalkedRows(Vec<(usize, Uuid)>, Vec<(usize, Option<Uuid>)>);

impl WalkedRows {
    /// The entries of each of so many walks, the newest first, at most so many.
    pub fn by_walk(self, walks: usize, most: usize) -> Vec<Walked> {
        let mut found: Vec<Walked> = vec![Walked::default(); walks];
        for (walk, entry) in self.0 {
            if let Some(walked) = found.get_mut(walk) {
                walked.entries.push(entry_id(entry));
            }
        }
        for (walk, _) in self.1.into_iter().filter(|(_, beyond)| beyond.is_some()) {
            if let Some(walked) = found.get_mut(walk) {
                walked.cut = true;
            }
        }
        for walked in &mut found {
            walked.entries.sort_unstable_by(|a, b| b.cmp(a));
            walked.entries.dedup();
            walked.cut |= walked.entries.len() >= most;
            walked.entries.truncate(most);
        }
        found
    }
}

/// A page of entries, and the newest that was not looked at, if there is one.
#[derive(Debug, Deserialize)]
pub struct ListedRows(Vec<EntryRow>, Option<Uuid>);

impl From<ListedRows> for Listed {
    fn from(rows: ListedRows) -> Self {
        Self { entries: super::models(rows.0), beyond: rows.1.map(entry_id) }
    }
}

/// Some entries, and the words and facets that are kept of them: for whoever looks whether they agree.
#[derive(Debug, Deserialize)]
pub struct FiledRows(Vec<EntryRow>, Vec<(Uuid, String, Flag)>, Vec<(Uuid, String)>);

impl FiledRows {
    /// Those of the entries that are not found by what they should be found by, and the last that was looked at.
    pub fn misfiled(self) -> (Vec<EntryId>, Option<EntryId>) {
        let entries: Vec<Entry> = super::models(self.0);
        let mut words: BTreeMap<EntryId, BTreeSet<(String, bool)>> = BTreeMap::new();
        for (entry, word, in_title) in self.1 {
            words.entry(entry_id(entry)).or_default().insert((word, in_title.0));
        }
        let mut facets: BTreeMap<EntryId, BTreeSet<String>> = BTreeMap::new();
        for (entry, facet) in self.2 {
            facets.entry(entry_id(entry)).or_default().insert(facet);
        }
        let wrong = entries.iter().filter(|entry| {
            let wanted: BTreeSet<(String, bool)> = search::entry_words(entry).into_iter().collect();
            words.remove(&entry.id).unwrap_or_default() != wanted
                || facets.remove(&entry.id).unwrap_or_default() != facet::of(entry)
        });
        (wrong.map(|entry| entry.id).collect(), entries.last().map(|entry| entry.id))
    }
}

/// The row of `knowledge_counts` that says whose vectors are kept.
#[derive(Debug, Default, Deserialize)]
pub struct MakingRow(u64, String, u64, String, Millis);

impl From<MakingRow> for Making {
    fn from(row: MakingRow) -> Self {
        Self { generation: row.0, model: row.1, width: row.2, maker: row.3, until: row.4.into() }
    }
}

/// Whose vectors are kept, how many entries there are, and some sketches.
#[derive(Debug, Deserialize)]
pub struct SketchRows(MakingRow, u64, Vec<SketchRow>);

impl From<SketchRows> for Sketches {
    fn from(rows: SketchRows) -> Self {
        Self { making: rows.0.into(), stored: rows.1, rows: super::models(rows.2) }
    }
}

/// A row of `knowledge_vectors` without its numbers.
#[derive(Debug, Deserialize)]
struct SketchRow(u64, Uuid, ProjectId, #[serde(deserialize_with = "bytes")] Vec<u8>);

impl From<SketchRow> for Sketch {
    fn from(row: SketchRow) -> Self {
        Self { place: row.0, entry: entry_id(row.1), project: row.2, bits: row.3 }
    }
}

/// A row of `knowledge_vectors`: its entry and its numbers.
#[derive(Debug, Deserialize)]
pub struct VectorRow(Uuid, #[serde(deserialize_with = "bytes")] Vec<u8>);

impl From<VectorRow> for (EntryId, Vec<f32>) {
    fn from(row: VectorRow) -> Self {
        (entry_id(row.0), numbers_of(&row.1))
    }
}

/// Bytes as hex digits.
fn bytes<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<u8>, D::Error> {
    let text = std::borrow::Cow::<'de, str>::deserialize(deserializer)?;
    let digit = |digit: u8| char::from(digit).to_digit(16);
    let byte = |pair: &[u8]| match pair {
        [high, low] => u8::try_from(digit(*high)? * 16 + digit(*low)?).ok(),
        _ => None,
    };
    let read = text.as_bytes().chunks(2).map(byte).collect::<Option<_>>();
    read.ok_or_else(|| serde::de::Error::custom("bytes are pairs of hex digits"))
}
