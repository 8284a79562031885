//! How knowledge is found: which entries come first, by their words and, where somebody makes vectors, by their meaning.
//!
//! A store says which entries have which words, and keeps vectors; everything that ranks is here, so that every store
//! answers alike. See `docs/adr/0018-knowledge.md`.

mod index;
mod making;
mod meaning;
mod score;
mod words;

use std::sync::{Arc, Mutex, PoisonError};

use async_trait::async_trait;

pub use index::SketchIndex;
pub use making::Round;
pub use score::{Ranked, by_similarity, by_words, fuse, normalised};
pub(crate) use words::{ByWords, Field};

use crate::engine::Engine;

/// Makes vectors of texts. The one port to a model, wherever that runs.
#[async_trait]
pub trait Embedder: Send + Sync + 'static {
    /// Names the model: vectors of different models are never compared.
    fn model(&self) -> &str;

    /// A vector for each text, in order, all of one length.
    async fn embed(&self, texts: &[String], patience: Patience) -> Result<Vec<Vec<f32>>, EmbedError>;
}

/// How long an embedder may be waited for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Patience {
    /// Somebody waits for the answer to a question: one try, about a second, and none at all shortly after a failure.
    Little,
    /// Nobody waits: it may take its time and try again.
    Much,
}

/// Why no vectors were made.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum EmbedError {
    /// It cannot be reached, or took too long; later it may be.
    #[error("the embedder is away: {0}")]
    Away(String),
    /// It refuses whatever it is sent, such as for want of a key.
    #[error("the embedder refused: {0}")]
    Refused(String),
    /// It refuses what it was sent, and would take something else.
    #[error("the embedder does not take this text: {0}")]
    Rejected(String),
    /// What it answered is no list of vectors.
    #[error("the embedder's answer makes no sense: {0}")]
    Nonsense(String),
}

/// What an engine keeps for searches by meaning, whichever of its clones is asked.
#[derive(Default)]
pub(crate) struct Library {
    embedder: Option<Arc<dyn Embedder>>,
    index: Mutex<SketchIndex>,
    /// How near the model lays what is unrelated, once that is known.
    baseline: Mutex<Option<f64>>,
}

impl Library {
    pub(crate) fn embedder(&self) -> Option<&Arc<dyn Embedder>> {
        self.embedder.as_ref()
    }

    /// Does something with the index, without waiting for anything meanwhile.
    pub(crate) fn with_index<T>(&self, act: impl FnOnce(&mut SketchIndex) -> T) -> T {
        act(&mut self.index.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn baseline(&self) -> Option<f64> {
        *self.baseline.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn set_baseline(&self, baseline: f64) {
        *self.baseline.lock().unwrap_or_else(PoisonError::into_inner) = Some(baseline);
    }
}

/// At most so many bytes of a text, ending between two characters.
fn cut(text: &str, most: usize) -> &str {
    let mut end = most.min(text.len());
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    text.get(..end).unwrap_or_default()
}

impl Engine {
    /// The same engine with somebody who makes vectors.
    #[must_use]
    pub fn with_embedder(&self, embedder: Arc<dyn Embedder>) -> Self {
        let library = Library { embedder: Some(embedder), ..Library::default() };
        Self { library: Arc::new(library), ..self.clone() }
    }

    /// The model that vectors are made by, where there is one.
    pub fn embedding_model(&self) -> Option<&str> {
        self.library.embedder().map(|embedder| embedder.model())
    }
}
