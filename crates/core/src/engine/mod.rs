//! Runs commands and queries against a store: see, decide, commit.

mod call;
mod cascade;
mod difference;
mod draft;
mod lowered;
mod unit;

use std::sync::Arc;
use std::time::Duration;

use tracing::Instrument as _;

pub(crate) use call::digest;
pub use call::{Call, Called};
pub use cascade::{Cascade, Moved, move_by_engine, move_item};
pub(crate) use cascade::{close_parents, force_alone, move_alone, reopen_for_child};
pub use draft::Draft;
#[cfg(feature = "testing")]
pub(crate) use unit::decide;
pub use unit::{Command, Decision};

use crate::access::Access;
use crate::checks::Allowed;
use crate::error::{Code, Error, Reason};
use crate::knowledge::Library;
use crate::limits;
use crate::model::{ItemRef, Name};
use crate::plant::{Bug, planted};
use crate::prove::{Held, Listener, Runs, Silence};
use crate::query::WaitingRoom;
use crate::store::{Scope, Store, StoreError};
use unit::{CommandUnit, Outcome};

/// The one door to the rules: every shell and every surface calls it.
#[derive(Clone)]
pub struct Engine {
    pub(crate) store: Arc<dyn Store>,
    pub(crate) access: Arc<Access>,
    /// Those who wait for work, whichever clone of this engine they wait at.
    pub(crate) waiting: Arc<WaitingRoom>,
    /// What searches of knowledge need, whichever clone searches.
    pub(crate) library: Arc<Library>,
    /// Where checks are run, if they are.
    pub(crate) runs: Option<Runs>,
    /// The work tree that the caller says it is in, where this process cannot see it.
    pub(crate) said_place: Option<Name>,
    /// The runs that are being made, by whichever clone.
    pub(crate) held: Arc<Held>,
    /// Who is told while they run.
    pub(crate) listener: Arc<dyn Listener>,
}

impl Engine {
    /// An engine over a store, for the local user: a maintainer of everything.
    pub fn new(store: Arc<dyn Store>) -> Self {
        Self {
            store,
            access: Arc::default(),
            waiting: Arc::default(),
            library: Arc::default(),
            runs: None,
            said_place: None,
            held: Arc::default(),
            listener: Arc::new(Silence),
        }
    }

    /// The store behind it: for this crate alone, so that no shell reads past the limit.
    pub(crate) fn store(&self) -> &Arc<dyn Store> {
        &self.store
    }

    /// What runs without anybody's approval, because the operator says so.
    pub(crate) fn allowed(&self) -> &Allowed {
        self.runs.as_ref().map_or(&Allowed::Nothing, Runs::allowed)
    }

    /// The work tree that calls come from: the one that checks are run in by this process, else the one the caller names.
    pub(crate) fn place(&self) -> Option<&Name> {
        self.runs.as_ref().and_then(Runs::place).or(self.said_place.as_ref())
    }

    /// Runs a command: what it answers is durable, or it answers an error and nothing has changed.
    pub async fn run<C: Command>(&self, call: Call, command: C) -> Result<C::Output, Error> {
        let (allowed, place) = (self.allowed().clone(), self.place().cloned());
        let call = Call { access: Arc::clone(&self.access), runs_checks: self.runs.is_some(), allowed, place, ..call };
        let principal = call.principal.clone();
        let done = self.run_proving(call, Arc::new(command)).await;
        if let Err(error) = &done
            && error.code == Code::Forbidden
        {
            self.access.tell_denied(C::NAME, Some(&principal), error);
        }
        done
    }

    /// What a command would answer now, without doing it: the same rules over the same sight, and nothing is written. No
    /// earlier answer is looked for and none is kept, so a rehearsal burns no request id.
    pub async fn rehearse<C: Command>(&self, call: Call, command: &C) -> Result<C::Output, Error> {
        let call = Call { access: Arc::clone(&self.access), request: None, ..call };
        self.may(C::NAME, C::NEEDS)?;
        let mut seen = self.store.view(&call.limited(command.scope(&call))).await?;
        for _ in 0..=limits::LOOK_ROUNDS {
            match unit::decide(&call, command, &seen)? {
                Decision::Look(scope) => seen.absorb(self.store.view(&call.limited(*scope)).await?),
                Decision::Done(_, answer) => return Ok(answer),
            }
        }
        Err(Error::conflict(Reason::StoreFailed, "the rehearsal wanted to look further than it may"))
    }

    /// Runs a command. Where all that keeps it from moving an item are checks, they are run, and it is tried again.
    async fn run_proving<C: Command>(&self, mut call: Call, command: Arc<C>) -> Result<C::Output, Error> {
        loop {
            match self.execute(call.clone(), Arc::clone(&command)).await {
                Err(Error { reason: Reason::ChecksNeeded, contended_item: Some(item), .. })
                    if call.runs_checks && !call.looks.contains_key(&item) =>
                {
                    // The name of the request is the move's: who tries that again may have mended something.
                    let step = Call { request: None, ..call.clone() };
                    // Most commands never come here: they do not carry it along.
                    let proved = Box::pin(self.prove_for_a_move(&step, ItemRef::Id(item))).await?;
                    if let Some(trouble) = proved.trouble() {
                        return Err(trouble);
                    }
                    call.results.insert(item, proved.results());
                    call.looks.insert(item, proved.look);
                }
                // Refused for something else: what the checks are worth is said all the same, where a look tells.
                Err(error)
                    if call.runs_checks && unseen(&error).is_some_and(|item| !call.looks.contains_key(&item)) =>
                {
                    let Some(item) = unseen(&error) else { return Err(error) };
                    let Ok(Some(look)) = self.look_at_item(ItemRef::Id(item)).await else { return Err(error) };
                    call.looks.insert(item, look);
                }
                done => return done,
            }
        }
    }

    pub(crate) async fn execute<C: Command>(&self, call: Call, command: Arc<C>) -> Result<C::Output, Error> {
        self.attempt(call, command).await.map_err(|missed| missed.error)
    }

    /// The same for what somebody has worked for: a store that has no time for it is asked again, later each time, as long as it
    /// is sure that nothing of it was written.
    pub(crate) async fn execute_patiently<C: Command>(&self, call: Call, command: Arc<C>) -> Result<C::Output, Error> {
        let mut pause = limits::PATIENCE_MS;
        for _ in 1..limits::PATIENT_TRIES {
            let missed = match self.attempt(call.clone(), Arc::clone(&command)).await {
                Ok(done) => return Ok(done),
                Err(missed) => missed,
            };
            let has_no_time = missed.unwritten && missed.error.reason == Reason::StoreBusy;
            let Some(sleep) = self.runs.as_ref().map(Runs::timer).filter(|_| has_no_time) else {
                return Err(missed.error);
            };
            sleep(Duration::from_millis(pause)).await;
            pause *= 2;
        }
        self.execute(call, command).await
    }

    async fn attempt<C: Command>(&self, call: Call, command: Arc<C>) -> Result<C::Output, Missed> {
        call.access.check(C::NEEDS)?;
        if planted(Bug::RowsOneByOne) {
            for item in command.scope(&call).items {
                let _ = self.store.view(&Scope { items: vec![item], ..Scope::default() }).await;
            }
        }
        let (unit, outcome) = CommandUnit::new(call, command);
        let span = tracing::info_span!(
            target: crate::span::TARGET, "unit", otel.name = C::NAME, docket.operation = C::NAME, docket.outcome = tracing::field::Empty
        );
        let executed = self.store.execute(Box::new(unit)).instrument(span.clone()).await;
        let lost = matches!(executed, Err(StoreError::Conflict | StoreError::Overloaded));
        let unwritten = lost || outcome.is_open();
        let done = Self::answer::<C>(executed, &outcome);
        crate::span::record(&span, &done);
        done.map_err(|error| Missed { error, unwritten })
    }

    fn answer<C: Command>(executed: Result<(), StoreError>, outcome: &Outcome<C::Output>) -> Result<C::Output, Error> {
        match executed {
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

/// Why a command was not run, or refused.
struct Missed {
    error: Error,
    /// Whether it is sure that nothing of it was written: a commit that was not answered may have happened.
    unwritten: bool,
}

impl From<Error> for Missed {
    fn from(error: Error) -> Self {
        Self { error, unwritten: true }
    }
}

/// The item that a move was refused for, where among the reasons is a check whose work tree nobody has looked at.
fn unseen(error: &Error) -> Option<crate::model::ItemId> {
    let dark = |check: &crate::error::UnshownCheck| check.status == crate::model::CheckStanding::Unseen;
    let refused = error.refusals.iter().any(|refusal| refusal.unshown.iter().any(dark));
    error.contended_item.filter(|_| refused)
}

impl std::fmt::Debug for Engine {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Engine").finish_non_exhaustive()
    }
}
