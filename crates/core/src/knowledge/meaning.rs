//! Entries by their meaning: the vectors of questions beside those of entries.

use std::collections::{BTreeMap, BTreeSet};

use super::words::Field;
use super::{Embedder, Patience, Ranked, by_similarity, normalised};
use crate::engine::Engine;
use crate::error::Error;
use crate::limits;
use crate::model::EntryId;
use crate::store::{Sketches, bits_of};

/// Sketches that are read at once.
const SKETCHES: usize = 10_000;
/// Fewest entries that are compared exactly for a question, however many are asked at once.
const LEAST_COMPARED: usize = 16;
/// How near texts lie that have nothing to do with each other, at the most: beyond it no model would tell anything apart.
const HIGHEST_BASELINE: f64 = 0.95;
/// Texts that have nothing to do with each other. How near a model lays them is where it begins to mean something.
const UNRELATED: [&str; 6] = [
    "The bakery on the corner opens at six and sells rye bread.",
    "A retry without a limit made the queue grow over night.",
    "Glaciers leave long ridges of stones where they melt.",
    "Her grandmother played the violin in a small orchestra.",
    "The certificate of the mail server expires in March.",
    "Goalkeepers train their reflexes with balls of two sizes.",
];

/// What was found for some questions.
#[derive(Clone, Debug)]
pub(crate) struct ByMeaning {
    /// The entries of each, the nearest first.
    pub(crate) ranked: Vec<Vec<Ranked>>,
    /// What the answer is blind to, if it is.
    pub(crate) blind: Option<String>,
}

impl Engine {
    /// Entries by the vectors of each question; or why that cannot be said. Whoever asks does not wait long.
    pub(crate) async fn by_meaning(
        &self,
        embedder: &dyn Embedder,
        field: &Field,
        questions: &[String],
    ) -> Result<ByMeaning, String> {
        let blind = self.refresh(embedder.model()).await?;
        let (vectors, baseline) = self.vectors_of(embedder, questions).await?;
        let width = self.library.with_index(|index| index.width());
        if let Some(odd) = vectors.iter().map(Vec::len).find(|length| width.is_some_and(|width| width != *length)) {
            return Err(format!(
                "the embedder makes vectors of {odd} numbers, and those kept of its model have {}",
                width.unwrap_or_default()
            ));
        }
        let ranked = self.nearest(field, &vectors, baseline).await.map_err(|error| error.to_string())?;
        Ok(ByMeaning { ranked, blind })
    }

    /// Brings the index up to date; says what it is blind to.
    async fn refresh(&self, model: &str) -> Result<Option<String>, String> {
        loop {
            let (generation, after) = self.library.with_index(|index| (index.generation(), index.last()));
            let read = self.store().sketches(generation, after, SKETCHES).await;
            let Sketches { making, stored, rows } = read.map_err(|error| Error::from(error).to_string())?;
            if making.generation != generation {
                self.library.with_index(|index| index.restart(&making));
                continue;
            }
            if !making.model.is_empty() && making.model != model {
                return Err(format!(
                    "the vectors of this database are by {}, and this process has {model}; `docket knowledge embed` makes them anew",
                    making.model
                ));
            }
            let last = rows.len() < SKETCHES;
            let known = self.library.with_index(|index| {
                index.take(&making, rows);
                index.len()
            });
            if last {
                let missing = stored.saturating_sub(u64::try_from(known).unwrap_or(u64::MAX));
                // A few are always about to be made, or cannot be.
                let blind = missing > stored / 10;
                return Ok(blind.then(|| format!("{missing} of {stored} entries have no vector yet")));
            }
        }
    }

    /// The vectors of questions, and how near this model lays what is unrelated: that is asked for with the first of them.
    async fn vectors_of(&self, embedder: &dyn Embedder, questions: &[String]) -> Result<(Vec<Vec<f32>>, f64), String> {
        let known = self.library.baseline();
        let mut texts: Vec<String> =
            questions.iter().map(|text| super::cut(text, limits::EMBEDDED_BYTES).to_owned()).collect();
        if known.is_none() {
            texts.extend(UNRELATED.map(str::to_owned));
        }
        let made = embedder.embed(&texts, Patience::Little).await.map_err(|error| error.to_string())?;
        let mut vectors: Vec<Vec<f32>> =
            made.iter().map(|numbers| normalised(numbers).unwrap_or_else(|| numbers.clone())).collect();
        if vectors.len() < texts.len() {
            return Err("the embedder made too few vectors".to_owned());
        }
        let unrelated = vectors.split_off(questions.len());
        let baseline = known.unwrap_or_else(|| baseline(&unrelated));
        self.library.set_baseline(baseline);
        Ok((vectors, baseline))
    }

    async fn nearest(&self, field: &Field, questions: &[Vec<f32>], baseline: f64) -> Result<Vec<Vec<Ranked>>, Error> {
        let visible = field.visible();
        let most = (limits::VECTORS_COMPARED / questions.len().max(1)).max(LEAST_COMPARED);
        let near: Vec<Vec<(EntryId, u64)>> = self.library.with_index(|index| {
            let of = |question: &Vec<f32>| index.nearest(&bits_of(question), &visible, field.among.as_ref(), most);
            questions.iter().map(of).collect()
        });
        let wanted: BTreeMap<EntryId, u64> = near.iter().flatten().copied().collect();
        let ids: Vec<EntryId> = wanted.keys().copied().collect();
        if ids.is_empty() {
            return Ok(vec![Vec::new(); questions.len()]);
        }
        let vectors: BTreeMap<EntryId, Vec<f32>> = self.store().vectors(&ids).await?.into_iter().collect();
        let gone: Vec<(EntryId, u64)> = wanted.into_iter().filter(|(entry, _)| !vectors.contains_key(entry)).collect();
        self.library.with_index(|index| index.forget(&gone));
        let ranked = questions.iter().zip(near).map(|(question, near)| {
            let near: BTreeSet<EntryId> = near.into_iter().map(|(entry, _)| entry).collect();
            let of = near.iter().filter_map(|entry| Some((*entry, vectors.get(entry)?.as_slice())));
            let mut ranked = by_similarity(question, of, baseline);
            ranked.truncate(limits::KNOWLEDGE_CANDIDATES);
            ranked
        });
        Ok(ranked.collect())
    }
}

/// The mean of the cosines between vectors.
fn baseline(vectors: &[Vec<f32>]) -> f64 {
    let pairs: Vec<f64> = vectors
        .iter()
        .enumerate()
        .flat_map(|(place, one)| vectors.iter().skip(place + 1).map(move |other| super::score::cosine(one, other)))
        .collect();
    let count = u32::try_from(pairs.len()).map_or(1.0, f64::from).max(1.0);
    (pairs.iter().sum::<f64>() / count).clamp(0.0, HIGHEST_BASELINE)
}
