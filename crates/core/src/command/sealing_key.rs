//! A secret for what a caller carries from one request to the next: made once, and the same for every process on the database.
//!
//! It lies where the answers of requests lie, and for as long: that is what makes a second process, or the same after a restart,
//! find the one that was made. It changes no row, tells of no item, and each principal has its own.

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::access::{Needs, Profile, Reach};
use crate::engine::{Call, Command, Decision};
use crate::error::Error;
use crate::store::{ChangeSet, Scope, Slice};

/// Asks for the secret of a stretch of time; the request must have a name of its own for each.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct SealingKey {
    /// Which stretch.
    pub slot: u64,
}

/// A secret. It is never shown.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sealing([u8; 32]);

impl Sealing {
    /// Its bytes, for whoever seals with it.
    pub fn bytes(&self) -> &[u8] {
        &self.0
    }
}

impl std::fmt::Debug for Sealing {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Sealing(…)")
    }
}

impl Command for SealingKey {
    type Output = Sealing;
    const NAME: &'static str = "sealing-key";
    // What is sealed is about writes of workers.
    const NEEDS: Needs = Needs::new(Profile::Worker, Reach::Item);
    const KEPT_ALONE: bool = true;

    fn scope(&self, _call: &Call) -> Scope {
        Scope::default()
    }

    fn decide(&self, call: &Call, _seen: &Slice) -> Result<Decision<Sealing>, Error> {
        let made = Sha256::new().chain_update(b"docket sealing key").chain_update(call.seed.to_be_bytes()).finalize();
        Ok(Decision::done(ChangeSet::default(), Sealing(made.into())))
    }
}
