//! Runs commands and queries against a store: see, decide, commit.

mod call;
mod cascade;
mod difference;
mod draft;
mod unit;

use std::sync::Arc;

pub use call::Call;
pub(crate) use call::digest;
pub use cascade::{Cascade, Moved, move_item};
pub(crate) use cascade::{close_parents, move_alone, reopen_for_child};
pub use draft::Draft;
pub use unit::{Command, Decision};

use crate::error::Error;
use crate::query::WaitingRoom;
use crate::store::Store;
use unit::CommandUnit;

/// The one door to the rules: every shell and every surface calls it.
#[derive(Clone)]
pub struct Engine {
    store: Arc<dyn Store>,
    /// Those who wait for work, whichever clone of this engine they wait at.
    pub(crate) waiting: Arc<WaitingRoom>,
}

impl Engine {
    /// An engine over a store.
    pub fn new(store: Arc<dyn Store>) -> Self {
        Self { store, waiting: Arc::default() }
    }

    /// The store behind it, for reads.
    pub fn store(&self) -> &Arc<dyn Store> {
        &self.store
    }

    /// Runs a command: what it answers is durable, or it answers an error and nothing has changed.
    pub async fn run<C: Command>(&self, call: Call, command: C) -> Result<C::Output, Error> {
        let (unit, outcome) = CommandUnit::new(call, command);
        match self.store.execute(Box::new(unit)).await {
            Ok(()) => outcome.take(),
            Err(error) => {
                tracing::warn!(
                    operation = C::NAME,
                    error = &error as &dyn std::error::Error,
                    "the store refused a unit of work"
                );
                Err(error.into())
            }
        }
    }
}

impl std::fmt::Debug for Engine {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Engine").finish_non_exhaustive()
    }
}
