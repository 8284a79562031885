//! Entries by their words: a bounded number of rows is looked at, and the answer says where that was not enough.
//!
//! For each word the newest entries that have it are read. Where several words are so common that not all of their entries
//! were, those that have all of the rarest few are looked for on one longer walk; the best are then asked for every word.

use std::collections::{BTreeMap, BTreeSet};

use super::score::{Ranked, TELLING, by_words};
use crate::engine::Engine;
use crate::error::Error;
use crate::limits;
use crate::model::{EntryId, ProjectId};
use crate::store::{EntryFilter, Heading, Posting, Postings, Visible};

/// Fewest entries that are looked at for a word, however many words and projects there are.
const LEAST: usize = 16;

/// Where a search looks.
#[derive(Debug)]
pub(crate) struct Field {
    /// The projects.
    pub(crate) projects: Vec<ProjectId>,
    /// Whether there are more of them, or of what is linked with the item that is meant.
    pub(crate) cut: bool,
    /// What entries must be filed under.
    pub(crate) under: Vec<Heading>,
    /// All entries that can be meant, where those are few.
    pub(crate) among: Option<BTreeSet<EntryId>>,
    visible: Visible,
}

impl Field {
    /// Which projects a search in memory looks into: there it costs nothing to look into all.
    pub(crate) fn visible(&self) -> Visible {
        if self.cut { self.visible.clone() } else { Some(self.projects.iter().copied().collect()) }
    }

    /// How many rows of each of so many lists may be looked at, of so many in all.
    fn share(&self, rows: usize, lists: usize, most: usize) -> usize {
        let lists = lists.saturating_mul(self.projects.len()).max(1);
        (rows / lists).clamp(LEAST, most)
    }
}

/// What was found for one question.
#[derive(Clone, Debug, Default)]
pub(crate) struct ByWords {
    /// The entries, the best first.
    pub(crate) ranked: Vec<Ranked>,
    /// Whether others that were not looked at might answer as well.
    pub(crate) partial: bool,
}

impl Engine {
    /// Where a filter looks.
    pub(crate) async fn field(&self, filter: &EntryFilter) -> Result<Field, Error> {
        let mut projects = self.store().places(filter, limits::KNOWLEDGE_PLACES + 1).await?;
        let cut = projects.len() > limits::KNOWLEDGE_PLACES;
        projects.truncate(limits::KNOWLEDGE_PLACES);
        let mut field = Field { projects, cut, under: filter.headings(), among: None, visible: filter.visible.clone() };
        for heading in &field.under {
            let most = field.share(limits::WORD_ROWS, heading.lists(), limits::WORD_ENTRIES);
            let mut headed = self.store().headed(&field.projects, heading, most).await?;
            headed.cut |= headed.entries.len() > limits::WORD_ENTRIES;
            headed.entries.truncate(limits::WORD_ENTRIES);
            // Who names an item means what is linked with it, and the newest of that are enough.
            if matches!(heading, Heading::Item(_)) || !headed.cut {
                field.cut |= headed.cut;
                field.among = Some(headed.entries.into_iter().collect());
                break;
            }
        }
        Ok(field)
    }

    /// Entries by the words of each question. All of them together cost as many round trips as one.
    pub(crate) async fn by_words(&self, field: &Field, questions: &[Vec<String>]) -> Result<Vec<ByWords>, Error> {
        let words: BTreeSet<&String> = questions.iter().flatten().collect();
        let words: Vec<String> = words.into_iter().cloned().collect();
        if words.is_empty() || field.projects.is_empty() {
            return Ok(questions.iter().map(|_| ByWords::default()).collect());
        }
        if let Some(among) = &field.among {
            return self.by_words_among(field, among, &words, questions).await;
        }
        let longest = if field.under.is_empty() { limits::WORD_ENTRIES } else { limits::KNOWLEDGE_WALK };
        let most = field.share(limits::WORD_ROWS, words.len(), longest);
        let found = self.store().postings(&field.projects, &words, &field.under, most).await?;
        let lists: BTreeMap<&String, &Postings> = words.iter().zip(&found).collect();
        let mut looks: Vec<Look> = questions.iter().map(|words| Look::new(words, &lists, most)).collect();
        self.walk(field, &mut looks).await?;
        self.complete(&mut looks).await?;
        Ok(looks.into_iter().map(|look| look.finish(field.cut)).collect())
    }

    /// Where all that can be meant are known: every one of them is asked for every word.
    async fn by_words_among(
        &self,
        field: &Field,
        among: &BTreeSet<EntryId>,
        words: &[String],
        questions: &[Vec<String>],
    ) -> Result<Vec<ByWords>, Error> {
        let pairs: Vec<(EntryId, String)> =
            words.iter().flat_map(|word| among.iter().rev().map(|entry| (*entry, word.clone()))).collect();
        let having = self.store().having(&pairs).await?;
        let mut lists: BTreeMap<&String, Vec<Posting>> = BTreeMap::new();
        for (place, in_title) in having {
            if let Some((entry, word)) = pairs.get(place) {
                lists.entry(word).or_default().push(Posting { entry: *entry, in_title });
            }
        }
        let ranked = questions.iter().map(|question| {
            let of: Vec<Vec<Posting>> =
                question.iter().map(|word| lists.get(word).cloned().unwrap_or_default()).collect();
            ByWords { ranked: by_words(&of, limits::WORD_ENTRIES), partial: field.cut }
        });
        Ok(ranked.collect())
    }

    /// Looks for entries that have several of the words that were not looked through.
    async fn walk(&self, field: &Field, looks: &mut [Look]) -> Result<(), Error> {
        let walking: Vec<&mut Look> = looks.iter_mut().filter(|look| look.common.len() > 1).collect();
        if walking.is_empty() {
            return Ok(());
        }
        let asked: Vec<Vec<String>> =
            walking.iter().map(|look| look.common.iter().take(TELLING).cloned().collect()).collect();
        let walk = field.share(limits::KNOWLEDGE_WALK, asked.len(), limits::KNOWLEDGE_WALK);
        let most = limits::KNOWLEDGE_CANDIDATES;
        let walked = self.store().having_all(&field.projects, &asked, &field.under, walk, most).await?;
        for (look, walked) in walking.into_iter().zip(walked) {
            // Where so many have all of them, none that was not looked at would be better.
            look.partial = walked.cut && walked.entries.len() < most;
            look.candidates.extend(walked.entries);
        }
        Ok(())
    }

    /// Asks the best for the words that were not looked through.
    async fn complete(&self, looks: &mut [Look]) -> Result<(), Error> {
        let mut pairs: Vec<(EntryId, String)> = Vec::new();
        let mut meant: Vec<(usize, usize)> = Vec::new();
        let best = (limits::KNOWLEDGE_CANDIDATES * 4 / looks.len().max(1)).max(LEAST);
        for (place, look) in looks.iter_mut().enumerate() {
            look.candidates.extend(by_words(&look.lists, look.most).iter().take(best).map(|ranked| ranked.entry));
            for (word, missing) in look.missing() {
                meant.extend(missing.iter().map(|_| (place, word)));
                pairs.extend(missing.into_iter().map(|entry| (entry, look.words[word].clone())));
            }
        }
        if pairs.is_empty() {
            return Ok(());
        }
        for (pair, in_title) in self.store().having(&pairs).await? {
            let (Some((entry, _)), Some((place, word))) = (pairs.get(pair), meant.get(pair)) else { continue };
            if let Some(list) = looks.get_mut(*place).and_then(|look| look.lists.get_mut(*word)) {
                list.push(Posting { entry: *entry, in_title });
            }
        }
        Ok(())
    }
}

/// One question while it is looked at.
#[derive(Debug)]
struct Look {
    words: Vec<String>,
    /// The entries of each word, as far as they are known.
    lists: Vec<Vec<Posting>>,
    /// Which words were not looked through: of those the one that fewest have, as far as can be told, first.
    common: Vec<String>,
    /// Entries to ask for those words.
    candidates: BTreeSet<EntryId>,
    /// How many entries of a word were looked at.
    most: usize,
    partial: bool,
}

impl Look {
    fn new(words: &[String], found: &BTreeMap<&String, &Postings>, most: usize) -> Self {
        let of = |word: &String| found.get(word).map(|list| (*list).clone()).unwrap_or_default();
        // The older the newest that was not looked at, the further apart are those that have the word.
        let mut common: Vec<(EntryId, &String)> =
            words.iter().filter_map(|word| Some((of(word).beyond?, word))).collect();
        common.sort_unstable();
        let common: Vec<String> = common.into_iter().map(|(_, word)| word.clone()).collect();
        Self {
            words: words.to_vec(),
            lists: words.iter().map(|word| of(word).entries).collect(),
            partial: !common.is_empty(),
            common,
            candidates: BTreeSet::new(),
            most,
        }
    }

    /// For each word that was not looked through the candidates of which it is not known whether they have it.
    fn missing(&self) -> Vec<(usize, Vec<EntryId>)> {
        let common = self.words.iter().enumerate().filter(|(_, word)| self.common.contains(word));
        let unknown = common.map(|(place, _)| {
            let known: BTreeSet<EntryId> = self.lists[place].iter().map(|posting| posting.entry).collect();
            (place, self.candidates.difference(&known).copied().collect())
        });
        unknown.collect()
    }

    fn finish(self, places_cut: bool) -> ByWords {
        let mut ranked = by_words(&self.lists, self.most);
        ranked.truncate(limits::KNOWLEDGE_CANDIDATES);
        ByWords { ranked, partial: self.partial || places_cut }
    }
}
