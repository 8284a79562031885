//! Entries by their words: a bounded number of rows is looked at, and the answer says where that was not enough.
//!
//! For each word the newest entries that have it are read. Where several words are so common that not all of their entries
//! were, and few that were read have the rarest of them together, those that do are looked for on one longer walk. The best
//! are then asked for the words that they may have without having been read with them.

use std::collections::{BTreeMap, BTreeSet};

use super::score::{Known, Ranked, TELLING, bit, by_words, ranked, tally, weights, worth};
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
            let most = field.share(limits::WORD_ROWS, heading.lists(), limits::HEADED_ENTRIES);
            let mut headed = self.store().headed(&field.projects, heading, most).await?;
            headed.cut |= headed.entries.len() > limits::HEADED_ENTRIES;
            headed.entries.truncate(limits::HEADED_ENTRIES);
            // Who names an item means what is linked with it, and the newest of that are enough.
            if matches!(heading, Heading::Item(_)) || !headed.cut {
                field.cut |= headed.cut;
                field.among = Some(headed.entries.into_iter().collect());
                break;
            }
        }
        Ok(field)
    }

    /// Entries by the words of each question, so many of each. All of them together cost as many round trips as one.
    pub(crate) async fn by_words(
        &self,
        field: &Field,
        questions: &[Vec<String>],
        wanted: usize,
    ) -> Result<Vec<ByWords>, Error> {
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
        let lists: BTreeMap<&String, Postings> = words.iter().zip(found).collect();
        let mut looks: Vec<Look> = questions.iter().map(|words| Look::new(words, &lists, most)).collect();
        let wanted = wanted.clamp(LEAST, limits::KNOWLEDGE_CANDIDATES);
        self.walk(field, &mut looks, wanted).await?;
        self.complete(&mut looks, wanted).await?;
        Ok(looks.into_iter().map(|look| look.finish(field.cut, wanted)).collect())
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
    async fn walk(&self, field: &Field, looks: &mut [Look], most: usize) -> Result<(), Error> {
        let mut walking: Vec<&mut Look> = Vec::new();
        for look in looks.iter_mut().filter(|look| look.common.len() > 1) {
            // Where so many have all of them, none that was not looked at would be better.
            if look.having_rarest() >= most {
                look.partial = false;
            } else {
                walking.push(look);
            }
        }
        if walking.is_empty() {
            return Ok(());
        }
        let asked: Vec<Vec<String>> =
            walking.iter().map(|look| look.rarest().map(|place| look.words[place].clone()).collect()).collect();
        let walk = field.share(limits::KNOWLEDGE_WALK, asked.len(), limits::KNOWLEDGE_WALK);
        let walked = self.store().having_all(&field.projects, &asked, &field.under, walk, most).await?;
        for (look, walked) in walking.into_iter().zip(walked) {
            look.partial = walked.cut && walked.entries.len() < most;
            look.walked = walked.entries;
        }
        Ok(())
    }

    /// Asks the best for the words that they may have without having been read with them.
    async fn complete(&self, looks: &mut [Look], wanted: usize) -> Result<(), Error> {
        let mut pairs: Vec<(EntryId, String)> = Vec::new();
        let mut meant: Vec<(usize, usize)> = Vec::new();
        for (place, look) in looks.iter().enumerate() {
            for (entry, word) in look.open(wanted) {
                meant.push((place, word));
                pairs.push((entry, look.words[word].clone()));
            }
        }
        if pairs.is_empty() {
            return Ok(());
        }
        for (pair, in_title) in self.store().having(&pairs).await? {
            let (Some((entry, _)), Some((place, word))) = (pairs.get(pair), meant.get(pair)) else { continue };
            let Some(look) = looks.get_mut(*place) else { continue };
            if let Some(list) = look.lists.get_mut(*word) {
                list.push(Posting { entry: *entry, in_title });
                look.known.clear();
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
    /// The words that were not looked through, by their places, each with the newest entry that was not looked at for it. The
    /// one that fewest have, as far as can be told, comes first.
    common: Vec<(EntryId, usize)>,
    /// How much each word weighs, by how many entries were found to have it at first.
    weights: Vec<u32>,
    /// What is known of each entry that was read; nothing once more than that was asked.
    known: Vec<Known>,
    /// Entries that the walk found: they have the rarest of the common words.
    walked: Vec<EntryId>,
    partial: bool,
}

impl Look {
    fn new(words: &[String], found: &BTreeMap<&String, Postings>, most: usize) -> Self {
        let (mut lists, mut common) = (Vec::with_capacity(words.len()), Vec::new());
        for (place, word) in words.iter().enumerate() {
            let list = found.get(word);
            // The older the newest that was not looked at, the further apart are those that have the word.
            common.extend(list.and_then(|list| list.beyond).map(|beyond| (beyond, place)));
            lists.push(list.map(|list| list.entries.clone()).unwrap_or_default());
        }
        common.sort_unstable();
        let weights = weights(&lists, most);
        Self {
            words: words.to_vec(),
            known: tally(&lists, &weights),
            weights,
            lists,
            partial: !common.is_empty(),
            common,
            walked: Vec::new(),
        }
    }

    /// The places of the rarest of the common words: a walk asks for all of them.
    fn rarest(&self) -> impl Iterator<Item = usize> {
        self.common.iter().take(TELLING).map(|(_, place)| *place)
    }

    /// How many of the entries that were read have all of those.
    fn having_rarest(&self) -> usize {
        let all = self.rarest().fold(0, |all, place| all | bit(place));
        self.known.iter().filter(|known| known.has & all == all).count()
    }

    /// The common words that an entry may have without having been read with them: it is older than what was looked at.
    fn unknown(&self, known: Known) -> impl Iterator<Item = usize> {
        let open = move |(beyond, place): &&(EntryId, usize)| known.entry <= *beyond && known.has & bit(*place) == 0;
        self.common.iter().filter(open).map(|(_, place)| *place)
    }

    /// What remains to be asked: of entries that the walk found, and of so many that may yet be among the best.
    fn open(&self, wanted: usize) -> Vec<(EntryId, usize)> {
        let mut sums: Vec<u32> = self.known.iter().map(|known| known.sum).collect();
        // What so many have already is the least that counts.
        let bar = if sums.len() < wanted { 0 } else { *sums.select_nth_unstable_by(wanted - 1, |a, b| b.cmp(a)).1 };
        let at_most =
            |known: &Known| known.sum + self.unknown(*known).map(|word| worth(self.weights[word])).sum::<u32>();
        let mut hopeful: Vec<(u32, Known)> = self.known.iter().map(|known| (at_most(known), *known)).collect();
        hopeful.retain(|(at_most, known)| *at_most > known.sum && *at_most > bar);
        let better = |a: &(u32, Known), b: &(u32, Known)| (b.0, b.1.sum, b.1.entry).cmp(&(a.0, a.1.sum, a.1.entry));
        if hopeful.len() > wanted {
            hopeful.select_nth_unstable_by(wanted, better);
            hopeful.truncate(wanted);
        }
        let walked = self.walked.iter().map(|entry| {
            let place = self.known.binary_search_by(|known| entry.cmp(&known.entry));
            place.map_or(Known { entry: *entry, sum: 0, has: 0 }, |place| self.known[place])
        });
        let asked: BTreeMap<EntryId, Known> =
            hopeful.into_iter().map(|(_, known)| known).chain(walked).map(|known| (known.entry, known)).collect();
        asked.into_values().flat_map(|known| self.unknown(known).map(move |word| (known.entry, word))).collect()
    }

    fn finish(self, places_cut: bool, wanted: usize) -> ByWords {
        let known = if self.known.is_empty() { tally(&self.lists, &self.weights) } else { self.known };
        let ranked = ranked(known, &self.weights, wanted);
        ByWords { ranked, partial: self.partial || places_cut }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(number: u128) -> EntryId {
        EntryId(ulid::Ulid(number))
    }

    fn list(entries: &[u128], beyond: Option<u128>) -> Postings {
        let posting = |number: &u128| Posting { entry: id(*number), in_title: true };
        Postings { entries: entries.iter().map(posting).collect(), beyond: beyond.map(id) }
    }

    /// A question of two words, of each of which two entries were looked at.
    fn look(first: Postings, second: Postings) -> Look {
        let words = ["a".to_owned(), "b".to_owned()];
        Look::new(&words, &words.iter().zip([first, second]).collect(), 2)
    }

    #[test]
    fn what_is_newer_than_all_that_was_not_looked_at_is_known() {
        let look = look(list(&[100, 90], Some(80)), list(&[95, 70], None));
        assert_eq!(look.open(16), [(id(70), 0)], "95 would have been read with the first word, 100 with the second");
        assert!(look.partial);
    }

    #[test]
    fn what_cannot_be_among_the_best_is_not_asked() {
        let look = || look(list(&[100, 90], Some(80)), list(&[100, 70], None));
        assert_eq!(look().open(3), [(id(70), 0)], "third with the first word or without it");
        assert_eq!(look().open(1), [], "100 has both already");
        let walked = Look { walked: vec![id(60)], ..look() };
        assert_eq!(walked.open(1), [(id(60), 0)], "what was found on the walk is asked at any rate");
    }

    #[test]
    fn those_that_have_the_rarest_together_are_counted() {
        let both = look(list(&[100, 90], Some(80)), list(&[100, 70], Some(60)));
        assert_eq!(both.having_rarest(), 1);
        assert_eq!(both.rarest().collect::<Vec<_>>(), [1, 0], "the older the rest, the rarer the word");
    }
}
