//! Makes vectors of texts, for searches of knowledge by meaning.
//!
//! Two ways, both behind [`docket_core::knowledge::Embedder`]: [`Endpoint`] asks a server that speaks the route of `OpenAI` for
//! embeddings, [`StaticModel`] looks words up in a table that lies in a folder of this machine. Which of them, and where,
//! is the operator's to say; nothing is ever fetched from elsewhere.

mod endpoint;
mod static_model;
mod tensors;
mod word_piece;

pub use endpoint::{Endpoint, EndpointSettings};
pub use static_model::StaticModel;

/// An embedder that cannot be set up as configured; the text is for whoever starts the program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SetupError(pub String);

impl std::fmt::Display for SetupError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for SetupError {}
