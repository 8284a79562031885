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
#[cfg(feature = "testing")]
pub(crate) use unit::decide;
pub use unit::{Command, Decision};

use crate::access::Access;
use crate::error::{Code, Error};
use crate::query::WaitingRoom;
use crate::store::Store;
use unit::CommandUnit;

/// The one door to the rules: every shell and every surface calls it.
#[derive(Clone)]
pub struct Engine {
    pub(crate) store: Arc<dyn Store>,
    pub(crate) access: Arc<Access>,
    /// Those who wait for work, whichever clone of this engine they wait at.
    pub(crate) waiting: Arc<WaitingRoom>,
}

impl Engine {
    /// An engine over a store, for the local user: a maintainer of everything.
    pub fn new(store: Arc<dyn Store>) -> Self {
        Self { store, access: Arc::default(), waiting: Arc::default() }
    }

    /// The store behind it: for this crate alone, so that no shell reads past the limit.
    pub(crate) fn store(&self) -> &Arc<dyn Store> {
        &self.store
    }

    /// Runs a command: what it answers is durable, or it answers an error and nothing has changed.
    pub async fn run<C: Command>(&self, call: Call, command: C) -> Result<C::Output, Error> {
        let call = Call { access: Arc::clone(&self.access), ..call };
        let principal = call.principal.clone();
        let done = self.execute(call, command).await;
        if let Err(error) = &done
            && error.code == Code::Forbidden
        {
            // For whoever looks after the server; what was asked for is not told.
            tracing::info!(target: "docket::audit", operation = C::NAME, %principal, reason = ?error.reason, "denied");
        }
        done
    }

    async fn execute<C: Command>(&self, call: Call, command: C) -> Result<C::Output, Error> {
        call.access.check(C::NEEDS)?;
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
