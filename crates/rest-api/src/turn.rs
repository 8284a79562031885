//! How many requests are under way and how many wait, so that neither grows without end.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use axum::extract::FromRequestParts;
use docket_core::model::Run;
use docket_core::plant::{Bug, planted};
use docket_core::prove::Listener;
use http::request::Parts;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, SemaphorePermit};

use crate::failure::Failure;
use crate::limits::LOOKING;

/// The places of a server.
#[derive(Debug)]
pub(crate) struct Turns {
    working: Arc<Semaphore>,
    waiting: Arc<Semaphore>,
    /// Places for those that wait and look at the store before they do.
    looking: Semaphore,
    patience: Duration,
}

/// A request's place among those under way. Whoever begins to wait gives it back for a place among the waiters.
#[derive(Clone, Debug)]
pub(crate) struct Turn {
    place: Arc<Mutex<Option<OwnedSemaphorePermit>>>,
    waiting: Arc<Semaphore>,
}

/// A place among those that wait; given back when it is dropped.
#[derive(Debug)]
pub(crate) struct Waiting(#[expect(dead_code, reason = "held for its end")] OwnedSemaphorePermit);

impl Turns {
    pub(crate) fn new(in_flight: usize, waiters: usize, patience: Duration) -> Self {
        Self {
            working: Arc::new(Semaphore::new(in_flight)),
            waiting: Arc::new(Semaphore::new(waiters)),
            looking: Semaphore::new(LOOKING.min(in_flight)),
            patience,
        }
    }

    /// A place, at once or soon; otherwise the request is turned away.
    pub(crate) async fn take(&self) -> Result<Turn, Failure> {
        let place = match Arc::clone(&self.working).try_acquire_owned() {
            Ok(place) => Ok(place),
            Err(_) if planted(Bug::QueueUnbounded) => Arc::clone(&self.working).acquire_owned().await.map_err(|_| ()),
            Err(_) => tokio::time::timeout(self.patience, Arc::clone(&self.working).acquire_owned())
                .await
                .map_err(|_| ())
                .and_then(|place| place.map_err(|_| ())),
        };
        let place = place.map_err(|()| Failure::shedding("the server has as many requests as it can work on"))?;
        Ok(Turn { place: Arc::new(Mutex::new(Some(place))), waiting: Arc::clone(&self.waiting) })
    }

    /// A place to look at the store, for a request that waits: it has given its place among those that work back, and has
    /// the patience to stand in line for this one. So many that come at once do not keep others from their turn, and are
    /// not turned away either.
    pub(crate) async fn look(&self, patience: Duration) -> Result<SemaphorePermit<'_>, Failure> {
        let place = tokio::time::timeout(patience, self.looking.acquire()).await;
        place.ok().and_then(Result::ok).ok_or_else(|| Failure::shedding("the server could not look in time"))
    }

    /// Places that are free among those that work and those that wait.
    pub(crate) fn free(&self) -> (usize, usize) {
        (self.working.available_permits(), self.waiting.available_permits())
    }
}

impl Turn {
    /// Gives the place back for one among the waiters.
    pub(crate) fn wait(&self) -> Result<Waiting, Failure> {
        let waiting = Arc::clone(&self.waiting)
            .try_acquire_owned()
            .map_err(|_| Failure::shedding("as many requests wait here as may"))?;
        self.place.lock().unwrap_or_else(PoisonError::into_inner).take();
        Ok(Waiting(waiting))
    }
}

/// Gives a request's place back once it waits for checks: a process may take minutes, and meanwhile others can work.
pub(crate) struct WhileChecksRun {
    turn: Turn,
    waiting: Mutex<Option<Waiting>>,
}

impl WhileChecksRun {
    pub(crate) fn new(turn: Turn) -> Self {
        Self { turn, waiting: Mutex::new(None) }
    }
}

impl Listener for WhileChecksRun {
    fn waits(&self) {
        // Whoever waits already, as every call of MCP does, has no place to give. Where no more may wait, it is kept.
        let works = self.turn.place.lock().unwrap_or_else(PoisonError::into_inner).is_some();
        if works && let Ok(waiting) = self.turn.wait() {
            *self.waiting.lock().unwrap_or_else(PoisonError::into_inner) = Some(waiting);
        }
    }

    fn begins(&self, _run: &Run, _place: usize, _of: usize) {}
    fn says(&self, _run: &Run, _text: &str) {}
    fn ends(&self, _run: &Run) {}
}

impl<S: Send + Sync> FromRequestParts<S> for Turn {
    type Rejection = Failure;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Failure> {
        parts.extensions.get::<Self>().cloned().ok_or_else(|| Failure::shedding("no place was taken"))
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use docket_core::prove::Listener as _;

    use super::{Turns, WhileChecksRun};

    #[tokio::test]
    async fn whoever_waits_for_checks_leaves_its_place_to_others() {
        let turns = Turns::new(1, 1, Duration::ZERO);
        let turn = turns.take().await.unwrap_or_else(|_| panic!("a place"));
        let listener = WhileChecksRun::new(turn);
        assert_eq!(turns.free(), (0, 1));
        listener.waits();
        listener.waits();
        assert_eq!(turns.free(), (1, 0), "once, however often it waits");
        let other = WhileChecksRun::new(turns.take().await.unwrap_or_else(|_| panic!("a place")));
        other.waits();
        assert_eq!(turns.free(), (0, 0), "where no more may wait, the place is kept");
        drop(listener);
        assert_eq!(turns.free(), (0, 1));
    }
}
