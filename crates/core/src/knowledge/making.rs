//! Vectors made after the commit, by one process at a time, of one model for the whole database.

use std::sync::{Arc, Mutex, PoisonError};

use super::{EmbedError, Embedder, Patience, cut, normalised};
use crate::engine::Engine;
use crate::error::{Code, Error, Kind, Reason};
use crate::limits;
use crate::model::{Entry, EntryId, Timestamp};
use crate::store::{
    ChangeSet, KnowledgeChanges, KnowledgeReach, Making, MakingChange, NewVector, Scope, Slice, Step, Unit,
};

/// A text that any embedder takes: if it refuses this as well, it is not the texts that it refuses.
const HARMLESS: &str = "docket";

/// What became of one round of making vectors.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Round {
    /// Some were made; there may be more to make.
    Made {
        /// How many were kept.
        kept: usize,
        /// Of how many entries none can be made, until their texts change.
        refused: usize,
    },
    /// There is nothing to make, or nobody to make it.
    Idle,
    /// It is another process's turn.
    Elsewhere,
    /// The database keeps the vectors of this other model.
    OtherModel(String),
}

impl Engine {
    /// Makes vectors of some entries that have none of their present text yet, and keeps them. What fails is found again by
    /// the next call; what is refused is not sent again until it changes. `maker` tells this process from others.
    pub async fn embed_pending(&self, maker: &str) -> Result<Round, Error> {
        let Some(embedder) = self.library.embedder() else { return Ok(Round::Idle) };
        if self.store().pending(1).await?.is_empty() {
            return Ok(Round::Idle);
        }
        let making = match self.take_turn(maker, embedder.model(), None).await? {
            Turn::Mine(making) => making,
            Turn::Elsewhere => return Ok(Round::Elsewhere),
            Turn::OtherModel(model) => return Ok(Round::OtherModel(model)),
        };
        // Others may have made some while the turn was taken.
        let entries = self.store().pending(limits::EMBEDDED_AT_ONCE).await?;
        if entries.is_empty() {
            return Ok(Round::Idle);
        }
        let texts: Vec<String> = entries.iter().map(embedded_text).collect();
        let made = vectors(embedder.as_ref(), &texts).await?;
        let mut width = usize::try_from(making.width).unwrap_or(0);
        for numbers in made.iter().flatten() {
            if width == 0 {
                width = numbers.len();
            }
            if numbers.len() != width || width > limits::VECTOR_NUMBERS {
                let message = format!(
                    "the embedder made a vector of {} numbers where {width} are kept; `docket knowledge embed` makes all anew",
                    numbers.len()
                );
                return Err(failed(Kind::Permanent, message));
            }
        }
        let refused = made.iter().filter(|made| made.is_none()).count();
        let made: Vec<Made> = entries
            .iter()
            .zip(texts)
            .zip(made)
            .map(|((entry, text), numbers)| Made { entry: entry.id, text, numbers: numbers.unwrap_or_default() })
            .collect();
        let kept = made.len() - refused;
        let making = Making { width: u64::try_from(width).unwrap_or(0), ..making };
        self.store().execute(Box::new(Keep { made, making })).await?;
        Ok(Round::Made { kept, refused })
    }

    /// Makes the model of this process the one whose vectors the database keeps: where it is another, or makes vectors of
    /// another length by now, all are made anew.
    pub async fn adopt_model(&self, maker: &str) -> Result<(), Error> {
        let Some(embedder) = self.library.embedder() else { return Ok(()) };
        let made = vectors(embedder.as_ref(), &[HARMLESS.to_owned()]).await?;
        let width = made.into_iter().flatten().next().map_or(0, |numbers| numbers.len());
        self.take_turn(maker, embedder.model(), Some(width)).await.map(drop)
    }

    async fn take_turn(&self, maker: &str, model: &str, adopt: Option<usize>) -> Result<Turn, Error> {
        let outcome = Arc::new(Mutex::new(Turn::Elsewhere));
        let take = TakeTurn { model: model.to_owned(), maker: maker.to_owned(), adopt, outcome: Arc::clone(&outcome) };
        self.store().execute(Box::new(take)).await?;
        let taken = outcome.lock().unwrap_or_else(PoisonError::into_inner).clone();
        Ok(taken)
    }
}

/// The vectors of texts; none for one that is refused while others are taken.
async fn vectors(embedder: &dyn Embedder, texts: &[String]) -> Result<Vec<Option<Vec<f32>>>, Error> {
    // One that points nowhere is kept all the same, so that it is not made again and again.
    let plain = |numbers: Vec<f32>| Some(normalised(&numbers).unwrap_or(numbers)).filter(|made| !made.is_empty());
    match embedder.embed(texts, Patience::Much).await {
        Ok(made) if made.len() == texts.len() => return Ok(made.into_iter().map(plain).collect()),
        Ok(_) | Err(EmbedError::Rejected(_) | EmbedError::Nonsense(_)) => {}
        Err(error @ (EmbedError::Away(_) | EmbedError::Refused(_))) => {
            return Err(failed(Kind::Transient, error.to_string()));
        }
    }
    // One of them spoils it for all: each by itself.
    let mut made = Vec::with_capacity(texts.len());
    for text in texts {
        match embedder.embed(std::slice::from_ref(text), Patience::Much).await {
            Ok(mut one) if one.len() == 1 => made.push(one.pop().and_then(plain)),
            Ok(_) | Err(EmbedError::Rejected(_) | EmbedError::Nonsense(_)) => made.push(None),
            Err(error @ (EmbedError::Away(_) | EmbedError::Refused(_))) => {
                return Err(failed(Kind::Transient, error.to_string()));
            }
        }
    }
    if made.iter().all(Option::is_none)
        && let Err(error) = embedder.embed(&[HARMLESS.to_owned()], Patience::Much).await
    {
        return Err(failed(Kind::Transient, error.to_string()));
    }
    Ok(made)
}

fn failed(kind: Kind, message: String) -> Error {
    Error::new(kind, Code::Unavailable, Reason::EmbedderFailed, message)
}

/// The text of an entry that a vector is made of.
fn embedded_text(entry: &Entry) -> String {
    let text = format!("{}\n{}", entry.title, entry.body);
    cut(&text, limits::EMBEDDED_BYTES).to_owned()
}

/// Whose turn it is.
#[derive(Clone, Debug)]
enum Turn {
    Mine(Making),
    Elsewhere,
    OtherModel(String),
}

/// Takes the turn to make vectors, where it is free.
struct TakeTurn {
    model: String,
    maker: String,
    /// How many numbers its vectors have, where it shall be the database's model whatever that is now.
    adopt: Option<usize>,
    outcome: Arc<Mutex<Turn>>,
}

impl Unit for TakeTurn {
    fn scope(&self) -> Scope {
        Scope { knowledge: KnowledgeReach { making: true, ..KnowledgeReach::default() }, ..Scope::default() }
    }

    fn decide(&mut self, seen: &Slice) -> Step {
        let read = &seen.knowledge.making;
        let length = self.adopt.and_then(|width| u64::try_from(width).ok());
        let other = !read.model.is_empty() && read.model != self.model
            || read.width != 0 && length.is_some_and(|length| length != read.width);
        let held = !read.maker.is_empty() && read.maker != self.maker && read.until > seen.now;
        let (turn, step) = if other && self.adopt.is_none() {
            (Turn::OtherModel(read.model.clone()), Step::Nothing)
        } else if held && !other {
            (Turn::Elsewhere, Step::Nothing)
        } else {
            let begins = if other { read.generation + 1 } else { read.generation };
            let making = Making {
                generation: begins,
                model: self.model.clone(),
                width: if other { 0 } else { read.width },
                maker: self.maker.clone(),
                until: later(seen.now),
            };
            let fresh = !other && read.maker == self.maker && read.model == self.model;
            // Half of a turn is enough for a round.
            let step = if fresh && read.until > seen.now.plus_seconds(limits::MAKING_SECONDS / 2) {
                Step::Nothing
            } else {
                written(KnowledgeChanges {
                    making: Some(MakingChange { read: read.clone(), making: making.clone() }),
                    ..KnowledgeChanges::default()
                })
            };
            (Turn::Mine(making), step)
        };
        *self.outcome.lock().unwrap_or_else(PoisonError::into_inner) = turn;
        step
    }
}

/// A vector and the text that it was made of.
struct Made {
    entry: EntryId,
    text: String,
    numbers: Vec<f32>,
}

/// Keeps vectors of entries whose texts are still those that the vectors were made of.
struct Keep {
    made: Vec<Made>,
    making: Making,
}

impl Unit for Keep {
    fn scope(&self) -> Scope {
        let entries = self.made.iter().map(|made| made.entry).collect();
        Scope { knowledge: KnowledgeReach { entries, count: false, making: true }, ..Scope::default() }
    }

    fn decide(&mut self, seen: &Slice) -> Step {
        let read = &seen.knowledge.making;
        let theirs = read.generation != self.making.generation || read.model != self.making.model;
        if theirs || read.width != 0 && read.width != self.making.width {
            return Step::Nothing;
        }
        let still = |made: &Made| {
            let entry = seen.knowledge.entries.get(&made.entry).filter(|entry| embedded_text(entry) == made.text)?;
            Some(NewVector {
                entry: entry.id,
                read_version: entry.version,
                generation: self.making.generation,
                numbers: made.numbers.clone(),
            })
        };
        let vectors: Vec<NewVector> = self.made.iter().filter_map(still).collect();
        if vectors.is_empty() {
            return Step::Nothing;
        }
        // Who kept others waiting for longer than its turn does not take it back.
        let until = if read.maker == self.making.maker { later(seen.now) } else { read.until };
        let making = Making { width: self.making.width, until, ..read.clone() };
        let making = Some(MakingChange { read: read.clone(), making });
        written(KnowledgeChanges { vectors, making, ..KnowledgeChanges::default() })
    }
}

fn later(now: Timestamp) -> Timestamp {
    now.plus_seconds(limits::MAKING_SECONDS)
}

fn written(knowledge: KnowledgeChanges) -> Step {
    Step::Commit(Box::new(ChangeSet { knowledge, ..ChangeSet::default() }))
}
