//! How well an entry answers a question, from 0 to 1, and which of two orders comes first.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use crate::model::EntryId;
use crate::store::Posting;

/// How many of a question's most telling words make a whole answer. Who asks with a paragraph does not expect all of it.
pub(super) const TELLING: usize = 4;
/// What a word counts for: all of its weight in a title or as a tag, less in the text.
const IN_TITLE: u32 = 4;
const IN_BODY: u32 = 3;
/// How much the first places of a list are worth over those that follow, when two lists become one.
const RANK_OFFSET: f64 = 60.0;

/// An entry and how well it answers.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Ranked {
    /// The entry.
    pub entry: EntryId,
    /// From 0 to 1.
    pub score: f64,
}

/// Entries by the words they share with a question, the best first.
///
/// A word weighs more the fewer entries have it; one that none has weighs most, since the question is about something that
/// nobody wrote down. The score is the weight of the words that an entry has, by that of the four heaviest of the question:
/// 0.5 means half of what was asked for. `most` is how many entries of a word were looked at.
pub fn by_words(postings: &[Vec<Posting>], most: usize) -> Vec<Ranked> {
    let weights = weights(postings, most);
    ranked(tally(postings, &weights), &weights, usize::MAX)
}

/// What is known of an entry while a question is looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Known {
    pub(super) entry: EntryId,
    /// What the words are worth that it is known to have.
    pub(super) sum: u32,
    /// A bit for each of those words, by its place in the question.
    pub(super) has: u32,
}

/// How much each word of a question weighs.
pub(super) fn weights(postings: &[Vec<Posting>], most: usize) -> Vec<u32> {
    postings.iter().map(|entries| weight(entries.len(), most)).collect()
}

/// What a word of this weight is worth at the most.
pub(super) fn worth(weight: u32) -> u32 {
    weight * IN_TITLE
}

/// The bit of the word at a place.
pub(super) fn bit(place: usize) -> u32 {
    u32::try_from(place).ok().and_then(|place| 1_u32.checked_shl(place)).unwrap_or(0)
}

/// What is known of each entry, the newest first.
pub(super) fn tally(postings: &[Vec<Posting>], weights: &[u32]) -> Vec<Known> {
    let mut all: Vec<Known> = Vec::with_capacity(postings.iter().map(Vec::len).sum());
    for (place, (entries, weight)) in postings.iter().zip(weights).enumerate() {
        all.extend(entries.iter().map(|posting| Known {
            entry: posting.entry,
            sum: weight * if posting.in_title { IN_TITLE } else { IN_BODY },
            has: bit(place),
        }));
    }
    // The lists are in order, most of them: such a sort only has to merge them.
    all.sort_by_key(|known| Reverse(known.entry));
    all.dedup_by(|next, kept| {
        let same = next.entry == kept.entry;
        if same {
            kept.sum += next.sum;
            kept.has |= next.has;
        }
        same
    });
    all
}

/// The best so many of what is known.
pub(super) fn ranked(mut known: Vec<Known>, weights: &[u32], best: usize) -> Vec<Ranked> {
    let better = |a: &Known, b: &Known| b.sum.cmp(&a.sum).then(b.entry.cmp(&a.entry));
    if known.len() > best {
        known.select_nth_unstable_by(best, better);
        known.truncate(best);
    }
    known.sort_unstable_by(better);
    let mut weights = weights.to_vec();
    weights.sort_unstable_by(|a, b| b.cmp(a));
    let whole = worth(weights.iter().take(TELLING).sum::<u32>());
    let score = |sum: u32| (f64::from(sum) / f64::from(whole.max(1))).min(1.0);
    known.into_iter().map(|known| Ranked { entry: known.entry, score: score(known.sum) }).collect()
}

/// Entries by how near their vectors lie to that of a question, the nearest first. What lies no nearer than unrelated texts
/// do, the baseline, is left out; from there the score is the share of the way to the same direction.
pub fn by_similarity<'v>(
    question: &[f32],
    vectors: impl Iterator<Item = (EntryId, &'v [f32])>,
    baseline: f64,
) -> Vec<Ranked> {
    let comparable = vectors.filter(|(_, numbers)| numbers.len() == question.len());
    let near = comparable.map(|(entry, numbers)| {
        let share = (cosine(question, numbers) - baseline) / (1.0 - baseline).max(f64::EPSILON);
        Ranked { entry, score: share.clamp(0.0, 1.0) }
    });
    sorted(near.filter(|ranked| ranked.score > 0.0).collect())
}

/// The cosine between two vectors of length 1.
pub(super) fn cosine(one: &[f32], other: &[f32]) -> f64 {
    f64::from(one.iter().zip(other).map(|(a, b)| a * b).sum::<f32>())
}

/// Two orders as one, by reciprocal rank: an entry that is high in both comes before one that is high in one. The score of
/// each is the better of the two it has.
pub fn fuse(words: &[Ranked], meaning: &[Ranked]) -> Vec<Ranked> {
    let mut fused: BTreeMap<EntryId, (f64, f64)> = BTreeMap::new();
    for list in [words, meaning] {
        let mut place = RANK_OFFSET;
        for ranked in list {
            place += 1.0;
            let (rank, score) = fused.entry(ranked.entry).or_default();
            *rank += 1.0 / place;
            *score = score.max(ranked.score);
        }
    }
    let mut all: Vec<(EntryId, (f64, f64))> = fused.into_iter().collect();
    all.sort_by(|(a, (a_rank, a_score)), (b, (b_rank, b_score))| {
        b_rank.total_cmp(a_rank).then(b_score.total_cmp(a_score)).then(b.cmp(a))
    });
    all.into_iter().map(|(entry, (_, score))| Ranked { entry, score }).collect()
}

/// A vector of length 1 that points where this one does; nothing for one that points nowhere.
pub fn normalised(numbers: &[f32]) -> Option<Vec<f32>> {
    let length = numbers.iter().map(|number| number * number).sum::<f32>().sqrt();
    (length.is_finite() && length > 0.0).then(|| numbers.iter().map(|number| number / length).collect())
}

/// From 1 for a word that as many entries have as are looked at, up by one for each halving.
fn weight(entries: usize, most: usize) -> u32 {
    let most = most.max(1);
    1 + (most / entries.clamp(1, most)).ilog2()
}

/// The best first; of equals the newest.
fn sorted(mut ranked: Vec<Ranked>) -> Vec<Ranked> {
    ranked.sort_by(|a, b| b.score.total_cmp(&a.score).then(b.entry.cmp(&a.entry)));
    ranked
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(number: u128) -> EntryId {
        EntryId(ulid::Ulid(number))
    }

    fn has(entries: &[u128], in_title: bool) -> Vec<Posting> {
        entries.iter().map(|number| Posting { entry: id(*number), in_title }).collect()
    }

    #[test]
    fn half_of_what_was_asked_for_is_a_half() {
        let one_of_two = by_words(&[has(&[1], true), Vec::new()], 512);
        assert_eq!(one_of_two, [Ranked { entry: id(1), score: 0.5 }]);
        let both = by_words(&[has(&[1], true), has(&[1], true)], 512);
        assert_eq!(both, [Ranked { entry: id(1), score: 1.0 }]);
        let in_the_text = by_words(&[has(&[1], false), has(&[1], false)], 512);
        assert_eq!(in_the_text, [Ranked { entry: id(1), score: 0.75 }]);
    }

    #[test]
    fn one_word_of_a_paragraph_is_little_and_its_four_rarest_are_all() {
        let mut postings = vec![has(&[1], true)];
        postings.extend(vec![Vec::new(); 9]);
        assert_eq!(by_words(&postings, 512)[0], Ranked { entry: id(1), score: 0.25 });
        let postings = vec![has(&[1], true); 10];
        assert_eq!(by_words(&postings, 512)[0], Ranked { entry: id(1), score: 1.0 });
    }

    #[test]
    fn a_rare_word_says_more_than_a_common_one() {
        let common: Vec<u128> = (1..=400).collect();
        let ranked = by_words(&[has(&common, true), has(&[401], true)], 512);
        assert_eq!(ranked[0].entry, id(401));
        assert!(ranked[0].score > 0.8 && ranked[1].score < 0.2, "{:?}", &ranked[..2]);
        assert_eq!(ranked[1].entry, id(400), "of equals the newest");
    }

    #[test]
    fn what_is_high_in_both_comes_first() {
        let list = |numbers: &[u128]| {
            numbers.iter().map(|number| Ranked { entry: id(*number), score: 0.6 }).collect::<Vec<_>>()
        };
        let fused = fuse(&list(&[1, 2, 3]), &list(&[3, 2, 4]));
        let order: Vec<EntryId> = fused.iter().map(|ranked| ranked.entry).collect();
        assert_eq!(order, [id(3), id(2), id(1), id(4)]);
        assert!(fused.iter().all(|ranked| (ranked.score - 0.6).abs() < f64::EPSILON));
    }

    #[test]
    fn what_points_the_same_way_is_near() {
        let question = normalised(&[3.0, 4.0]).expect("a direction");
        let vectors = [(id(1), vec![0.6, 0.8]), (id(2), vec![-0.6, -0.8]), (id(3), vec![1.0, 0.0]), (id(4), vec![1.0])];
        let of = || vectors.iter().map(|(entry, numbers)| (*entry, numbers.as_slice()));
        let ranked = by_similarity(&question, of(), 0.0);
        assert_eq!(ranked.iter().map(|ranked| ranked.entry).collect::<Vec<_>>(), [id(1), id(3)]);
        assert!((ranked[0].score - 1.0).abs() < 1e-6);
        assert_eq!(normalised(&[0.0, 0.0]), None);
        // A model that lays everything at 0.61 or nearer says nothing by that.
        let ranked = by_similarity(&question, of(), 0.61);
        assert_eq!(ranked.iter().map(|ranked| ranked.entry).collect::<Vec<_>>(), [id(1)], "{ranked:?}");
        let ranked = by_similarity(&question, [(id(1), [0.8, 0.6].as_slice())].into_iter(), 0.92);
        assert!((ranked[0].score - 0.5).abs() < 1e-5, "half of the way: {ranked:?}");
    }
}
