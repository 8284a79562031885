//! How many requests are under way and how many wait, so that neither grows without end.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use axum::extract::FromRequestParts;
use http::request::Parts;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::failure::Failure;

/// The places of a server.
#[derive(Debug)]
pub(crate) struct Turns {
    working: Arc<Semaphore>,
    waiting: Arc<Semaphore>,
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
        Self { working: Arc::new(Semaphore::new(in_flight)), waiting: Arc::new(Semaphore::new(waiters)), patience }
    }

    /// A place, at once or soon; otherwise the request is turned away.
    pub(crate) async fn take(&self) -> Result<Turn, Failure> {
        let place = match Arc::clone(&self.working).try_acquire_owned() {
            Ok(place) => Ok(place),
            Err(_) => tokio::time::timeout(self.patience, Arc::clone(&self.working).acquire_owned())
                .await
                .map_err(|_| ())
                .and_then(|place| place.map_err(|_| ())),
        };
        let place = place.map_err(|()| Failure::shedding("the server has as many requests as it can work on"))?;
        Ok(Turn { place: Arc::new(Mutex::new(Some(place))), waiting: Arc::clone(&self.waiting) })
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

impl<S: Send + Sync> FromRequestParts<S> for Turn {
    type Rejection = Failure;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Failure> {
        parts.extensions.get::<Self>().cloned().ok_or_else(|| Failure::shedding("no place was taken"))
    }
}
