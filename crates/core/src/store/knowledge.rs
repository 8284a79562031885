//! Knowledge at the seam: what is written, what a command is shown of it, and what a search asks for.
//!
//! A store finds entries by words and hands over vectors; which entries come first is decided in [`crate::knowledge`].

use std::collections::BTreeMap;

use async_trait::async_trait;
use serde::Serialize;

use super::{ProjectRef, StoreError, Visible};
use crate::model::{Entry, EntryId, EntryLink, EntryTie, ItemId, ProjectId, Source, Tag, Timestamp};

/// One entry as it shall be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EntryChange {
    /// The row as it shall be.
    pub entry: Entry,
    /// The version that was read; the commit is refused if it moved on.
    pub read_version: u64,
    /// Whether what it is found by is written anew.
    pub words: bool,
    /// Whether a vector of it would be another one: any that is kept counts no more.
    pub text: bool,
}

/// A vector to be kept beside its entry.
#[derive(Clone, Debug, PartialEq)]
pub struct NewVector {
    /// The entry.
    pub entry: EntryId,
    /// The version of the entry that was read; the commit is refused if it moved on.
    pub read_version: u64,
    /// The generation of vectors it belongs to; the commit is refused if another has begun.
    pub generation: u64,
    /// The numbers, of length 1 in all. None where no vector can be made of the text: then that is kept.
    pub numbers: Vec<f32>,
}

/// Whose vectors a database keeps, and who makes them now: one row for all processes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Making {
    /// Grows when vectors of another model are wanted: older ones count no more.
    pub generation: u64,
    /// The model; empty before the first.
    pub model: String,
    /// How many numbers each vector has; 0 before the first.
    pub width: u64,
    /// Whose turn it is to make vectors; nobody's when empty.
    pub maker: String,
    /// Until when.
    pub until: Timestamp,
}

/// Such a row as it was read and as it shall be; the commit is refused if it has changed since.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MakingChange {
    /// As it was read.
    pub read: Making,
    /// As it shall be.
    pub making: Making,
}

/// What one unit of work writes of knowledge.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct KnowledgeChanges {
    /// New entries.
    pub new_entries: Vec<Entry>,
    /// Changed entries.
    pub changed_entries: Vec<EntryChange>,
    /// Removed entries; their links and vectors go with them.
    pub removed_entries: Vec<EntryId>,
    /// Links written, by entry, item and kind.
    pub links: Vec<EntryLink>,
    /// Removed links.
    pub removed_links: Vec<(EntryId, ItemId, EntryTie)>,
    /// How many entries the database may hold after this; the commit is refused if it would hold more.
    pub most: Option<u64>,
    /// Vectors, written by entry.
    pub vectors: Vec<NewVector>,
    /// Whose vectors are kept, and who makes them.
    pub making: Option<MakingChange>,
}

impl KnowledgeChanges {
    /// Whether nothing is written.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Adds what a later unit wrote.
    pub(super) fn append(&mut self, later: Self) {
        let Self { new_entries, changed_entries, removed_entries, links, removed_links, most, vectors, making } = later;
        self.new_entries.extend(new_entries);
        self.changed_entries.extend(changed_entries);
        self.removed_entries.extend(removed_entries);
        self.links.extend(links);
        self.removed_links.extend(removed_links);
        self.most = most.or(self.most);
        self.vectors.extend(vectors);
        self.making = making.or(self.making.take());
    }

    /// By how many entries the database grows.
    pub fn growth(&self) -> i64 {
        let count = |length: usize| i64::try_from(length).unwrap_or(i64::MAX);
        count(self.new_entries.len()) - count(self.removed_entries.len())
    }
}

/// What a command must see of knowledge.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct KnowledgeReach {
    /// Entries named by the caller, with their projects, their newest links and all links with the items that are named.
    pub entries: Vec<EntryId>,
    /// How many entries the database holds.
    pub count: bool,
    /// Whose vectors it keeps.
    pub making: bool,
}

impl KnowledgeReach {
    /// Whether nothing is asked for.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty() && !self.count && !self.making
    }
}

/// What was shown of knowledge.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct KnowledgeSeen {
    /// Entries.
    pub entries: BTreeMap<EntryId, Entry>,
    /// The newest links of each, and those with the items that were named.
    pub links: Vec<EntryLink>,
    /// How many entries the database holds, where that was asked for.
    pub stored: u64,
    /// Whose vectors it keeps, where that was asked for.
    pub making: Making,
}

impl KnowledgeSeen {
    /// Takes in what a further look brought.
    pub(super) fn absorb(&mut self, more: Self) {
        self.entries.extend(more.entries);
        self.links.extend(more.links);
        self.stored = self.stored.max(more.stored);
        if more.making.generation > self.making.generation {
            self.making = more.making;
        }
    }

    /// The links of an entry that were shown.
    pub fn links_of(&self, entry: EntryId) -> impl Iterator<Item = &EntryLink> {
        self.links.iter().filter(move |link| link.entry == entry)
    }
}

/// Which entries are meant.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct EntryFilter {
    /// In a project that may be seen; the engine fills this in.
    pub visible: Visible,
    /// In this project.
    pub project: ProjectRef,
    /// With one of these tags; with any when empty.
    pub tags: Vec<Tag>,
    /// From this source.
    pub source: Option<Source>,
    /// Reviewed by a person, or not.
    pub reviewed: Option<bool>,
    /// Linked with this item.
    pub item: Option<ItemId>,
}

impl EntryFilter {
    /// Whether an entry is meant, whatever its project and its links.
    pub fn fits(&self, entry: &Entry) -> bool {
        (self.tags.is_empty() || entry.tags.iter().any(|tag| self.tags.contains(tag)))
            && self.source.is_none_or(|source| entry.source == source)
            && self.reviewed.is_none_or(|reviewed| entry.review.is_some() == reviewed)
    }

    /// What an entry must be filed under, beside its project; what fewest are likely to be comes first.
    pub fn headings(&self) -> Vec<Heading> {
        let tags: Vec<String> = self.tags.iter().map(facet::tag).collect();
        let item = self.item.map(Heading::Item);
        let tags = (!tags.is_empty()).then_some(Heading::Facets(tags));
        let reviewed = self.reviewed.map(|reviewed| Heading::Facets(vec![facet::reviewed(reviewed)]));
        let source = self.source.map(|source| Heading::Facets(vec![facet::source(source)]));
        [item, tags, reviewed, source].into_iter().flatten().collect()
    }
}

/// What entries are filed under, beside their words: lists by it are read in the order of a key, however few there are.
pub mod facet {
    use crate::model::{Entry, Source, Tag};

    /// With this tag.
    pub fn tag(tag: &Tag) -> String {
        format!("tag:{tag}")
    }

    /// Reviewed by a person, or not.
    pub fn reviewed(reviewed: bool) -> String {
        if reviewed { "reviewed" } else { "unreviewed" }.to_owned()
    }

    /// From this source.
    pub fn source(source: Source) -> String {
        format!("source:{}", source.as_str())
    }

    /// All that an entry is filed under, each once.
    pub fn of(entry: &Entry) -> std::collections::BTreeSet<String> {
        let own = [reviewed(entry.review.is_some()), source(entry.source)];
        entry.tags.iter().map(tag).chain(own).collect()
    }
}

/// Something that entries are filed under.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Heading {
    /// One of these facets.
    Facets(Vec<String>),
    /// A link with this item.
    Item(ItemId),
}

impl Heading {
    /// How many lists there are under it in each project.
    pub fn lists(&self) -> usize {
        match self {
            Self::Facets(facets) => facets.len(),
            Self::Item(_) => 1,
        }
    }
}

/// An entry that has a word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Posting {
    /// The entry.
    pub entry: EntryId,
    /// Whether the word is in its title or among its tags.
    pub in_title: bool,
}

/// The newest entries that have a word.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Postings {
    /// The entries, the newest first.
    pub entries: Vec<Posting>,
    /// The newest that was not looked at; none when all were.
    pub beyond: Option<EntryId>,
}

/// Entries that were found on a walk of bounded length.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Walked {
    /// The entries, the newest first.
    pub entries: Vec<EntryId>,
    /// Whether the walk ended before the list did, or with as many as were wanted.
    pub cut: bool,
}

/// A page of entries from a walk of bounded length.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Listed {
    /// The entries, the newest first.
    pub entries: Vec<Entry>,
    /// The newest that was not looked at, where the walk ended before the list did.
    pub beyond: Option<EntryId>,
}

/// A vector as a search by vectors first looks at it: one bit for each number.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sketch {
    /// Its place in the order in which vectors were kept.
    pub place: u64,
    /// Its entry.
    pub entry: EntryId,
    /// The entry's project.
    pub project: ProjectId,
    /// One bit for each number, set where it is positive; the first number is the lowest bit of the first byte.
    pub bits: Vec<u8>,
}

/// Some sketches, and what all of them are about.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Sketches {
    /// Whose vectors the database keeps now.
    pub making: Making,
    /// How many entries it holds.
    pub stored: u64,
    /// The sketches, by place.
    pub rows: Vec<Sketch>,
}

/// What a store finds of knowledge. Every question reads a bounded number of rows, however many there are.
#[async_trait]
pub trait Library: Send + Sync {
    /// The projects that a filter means and that may be seen, the newest first.
    async fn places(&self, filter: &EntryFilter, most: usize) -> Result<Vec<ProjectId>, StoreError>;

    /// For each word the newest entries that have it: at most `most` are looked at in each project, and those that are
    /// under all headings returned.
    async fn postings(
        &self,
        projects: &[ProjectId],
        words: &[String],
        under: &[Heading],
        most: usize,
    ) -> Result<Vec<Postings>, StoreError>;

    /// Which of these pairs there are: the places of those whose entry has the word, and whether in its title.
    async fn having(&self, pairs: &[(EntryId, String)]) -> Result<Vec<(usize, bool)>, StoreError>;

    /// For each list of one to four words the newest entries that have all of them and are under all headings. At most
    /// `walk` entries that have the first word are looked at in each project, and at most `most` returned.
    async fn having_all(
        &self,
        projects: &[ProjectId],
        words: &[Vec<String>],
        under: &[Heading],
        walk: usize,
        most: usize,
    ) -> Result<Vec<Walked>, StoreError>;

    /// The newest entries under a heading, at most so many in each project and facet.
    async fn headed(&self, projects: &[ProjectId], heading: &Heading, most: usize) -> Result<Walked, StoreError>;

    /// Entries under all headings, the newest first, and older than `before`. At most `walk` that are under the first
    /// heading are looked at in each project.
    async fn list_entries(
        &self,
        projects: &[ProjectId],
        under: &[Heading],
        before: Option<EntryId>,
        walk: usize,
        limit: usize,
    ) -> Result<Listed, StoreError>;

    /// Entries of whose present text no vector of the present generation was made or refused.
    async fn pending(&self, limit: usize) -> Result<Vec<Entry>, StoreError>;

    /// The sketches of a generation's vectors kept after a place, in order.
    async fn sketches(&self, generation: u64, after: u64, limit: usize) -> Result<Sketches, StoreError>;

    /// The vectors of the present generation of these entries' present texts; those that are not there are left out.
    async fn vectors(&self, entries: &[EntryId]) -> Result<Vec<(EntryId, Vec<f32>)>, StoreError>;
}

/// The bits of a vector, eight to a byte.
pub fn bits_of(numbers: &[f32]) -> Vec<u8> {
    let byte = |eight: &[f32]| {
        eight.iter().enumerate().fold(0_u8, |byte, (place, number)| byte | (u8::from(*number > 0.0) << place))
    };
    numbers.chunks(8).map(byte).collect()
}

/// A vector as it is stored: four bytes a number, the lowest first.
pub fn bytes_of(numbers: &[f32]) -> Vec<u8> {
    numbers.iter().flat_map(|number| number.to_le_bytes()).collect()
}

/// The vector that was stored so.
pub fn numbers_of(bytes: &[u8]) -> Vec<f32> {
    bytes.chunks_exact(4).map(|four| f32::from_le_bytes([four[0], four[1], four[2], four[3]])).collect()
}
