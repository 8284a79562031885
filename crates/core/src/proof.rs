//! The port by which proofs of actors are checked. The core believes what comes of it; how it is done is the shell's.

use async_trait::async_trait;

use crate::model::{Name, Verdict, Verification};

/// Checks whether an actor is who it says it is.
#[async_trait]
pub trait ProofVerifier: std::fmt::Debug + Send + Sync + 'static {
    /// What came of a check. Never fails: that it cannot be done now is a result like others.
    async fn verify(&self, actor: &Name, proof: Option<&str>) -> Verdict;
}

/// Checks nothing: every actor is taken as it comes, and the record says so.
#[derive(Clone, Copy, Debug, Default)]
pub struct Unchecked;

#[async_trait]
impl ProofVerifier for Unchecked {
    async fn verify(&self, _actor: &Name, _proof: Option<&str>) -> Verdict {
        Verdict::of(Verification::unchecked())
    }
}
