//! How many requests are under way and how many wait, so that neither grows without end.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use axum::extract::FromRequestParts;
use docket_core::model::Run;
use docket_core::plant::{Bug, planted};
use docket_core::prove::Listener;
use http::request::Parts;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, SemaphorePermit, watch};

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
pub(crate) struct Turn(Arc<Place>);

/// The place of one request, which is there until nobody has any part of it.
#[derive(Debug)]
struct Place {
    permit: Mutex<OwnedSemaphorePermit>,
    waits: watch::Sender<bool>,
    waiting: Arc<Semaphore>,
}

/// A place among those that wait; given back with the last part of its turn.
#[derive(Debug)]
pub(crate) struct Waiting(#[expect(dead_code, reason = "held for its end")] Turn);

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
        let waiting = Arc::clone(&self.waiting);
        Ok(Turn(Arc::new(Place { permit: Mutex::new(place), waits: watch::Sender::new(false), waiting })))
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
    /// Gives the place back for one among the waiters, once.
    pub(crate) fn wait(&self) -> Result<Waiting, Failure> {
        let place = &self.0;
        let mut permit = place.permit.lock().unwrap_or_else(PoisonError::into_inner);
        if !*place.waits.borrow() {
            *permit = Arc::clone(&place.waiting)
                .try_acquire_owned()
                .map_err(|_| Failure::shedding("as many requests wait here as may"))?;
            place.waits.send_replace(true);
        }
        Ok(Waiting(self.clone()))
    }

    /// Resolves once the request waits.
    pub(crate) async fn waits(&self) {
        let mut waits = self.0.waits.subscribe();
        // The sender lives as long as this does.
        _ = waits.wait_for(|waits| *waits).await;
    }
}

/// Gives a request's place back once the engine says that its call waits, for checks or for work: that may take minutes, and
/// meanwhile others can work.
pub(crate) struct WhileItWaits(pub(crate) Turn);

impl Listener for WhileItWaits {
    fn waits(&self) {
        // Where no more may wait, the place is kept.
        _ = self.0.wait();
    }

    fn idles(&self) -> bool {
        self.0.wait().is_ok()
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

    use super::{Turns, WhileItWaits};

    #[tokio::test]
    async fn whoever_waits_leaves_its_place_to_others() {
        let turns = Turns::new(1, 1, Duration::ZERO);
        let turn = turns.take().await.unwrap_or_else(|_| panic!("a place"));
        let listener = WhileItWaits(turn.clone());
        assert_eq!(turns.free(), (0, 1));
        listener.waits();
        assert!(listener.idles());
        assert_eq!(turns.free(), (1, 0), "once, however often it waits");
        turn.waits().await;
        let other = WhileItWaits(turns.take().await.unwrap_or_else(|_| panic!("a place")));
        other.waits();
        assert!(!other.idles());
        assert_eq!(turns.free(), (0, 0), "where no more may wait, the place is kept");
        drop(turn);
        assert_eq!(turns.free(), (0, 0), "it waits as long as any part of it is there");
        drop(listener);
        assert_eq!(turns.free(), (0, 1));
    }
}
