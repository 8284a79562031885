//! Waiting for work instead of polling for it.
//!
//! Those who want the same stand in line. Only the first few look at the store when something was committed, or now and then
//! because leases run out without a commit; whoever finds work leaves, and the next one looks. So a thousand who wait cost no
//! more looks than a few.

use std::collections::{BTreeMap, VecDeque};
use std::future::Future;
use std::pin::pin;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use crate::command::{ClaimNext, Offer};
use crate::engine::{Call, Engine, digest};
use crate::error::{Error, Kind};

/// How often the first in line look again without a commit: leases run out without one.
const LOOK_AGAIN: Duration = Duration::from_millis(500);
/// How often the others do: what suits one agent may not suit the one before it, who holds other work.
const LOOK_SELDOM: Duration = Duration::from_secs(30);
/// How many of a line look: one would hand out much work slowly, for each commit waits for the disk.
const LOOKING: usize = 4;

/// Lines of those who wait in this process, by what they want.
#[derive(Debug, Default)]
pub(crate) struct WaitingRoom(Mutex<Lines>);

#[derive(Debug, Default)]
struct Lines {
    by_wish: BTreeMap<[u8; 32], VecDeque<(u64, Option<Waker>)>>,
    tickets: u64,
}

/// A place in a line; left when it is dropped.
struct Place<'r> {
    room: &'r WaitingRoom,
    wish: [u8; 32],
    ticket: u64,
}

impl WaitingRoom {
    fn lines(&self) -> MutexGuard<'_, Lines> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn enter(&self, wish: [u8; 32]) -> Place<'_> {
        let mut lines = self.lines();
        lines.tickets += 1;
        let ticket = lines.tickets;
        lines.by_wish.entry(wish).or_default().push_back((ticket, None));
        Place { room: self, wish, ticket }
    }
}

impl Place<'_> {
    /// Whether this one is among the first; otherwise it is woken when it may be.
    fn looks(&self, context: &Context<'_>) -> bool {
        let mut lines = self.room.lines();
        let Some(line) = lines.by_wish.get_mut(&self.wish) else { return true };
        let Some(at) = line.iter().position(|(ticket, _)| *ticket == self.ticket) else { return true };
        if at >= LOOKING
            && let Some((_, waker)) = line.get_mut(at)
        {
            *waker = Some(context.waker().clone());
        }
        at < LOOKING
    }
}

impl Drop for Place<'_> {
    fn drop(&mut self) {
        let mut lines = self.room.lines();
        let Some(line) = lines.by_wish.get_mut(&self.wish) else { return };
        line.retain(|(ticket, _)| *ticket != self.ticket);
        let next = line.get_mut(LOOKING - 1).and_then(|(_, waker)| waker.take());
        if line.is_empty() {
            lines.by_wish.remove(&self.wish);
        }
        drop(lines);
        if let Some(waker) = next {
            waker.wake();
        }
    }
}

impl Engine {
    /// Finds and claims ready work; when there is none, waits for a change and tries again until `patience` is over.
    /// `sleep` is the shell's timer: the core has none.
    pub async fn claim_next_waiting<S, F>(
        &self,
        call: Call,
        command: ClaimNext,
        patience: Duration,
        sleep: S,
    ) -> Result<Offer, Error>
    where
        S: Fn(Duration) -> F + Send + Sync,
        F: Future<Output = ()> + Send,
    {
        if patience.is_zero() {
            return self.run(call, command).await;
        }
        let mut over = pin!(sleep(patience));
        let mut place = None;
        loop {
            // Read before the attempt, so that what is committed after it is seen as a change.
            let head = self.store().head().await?;
            let tried = match self.run(call.clone(), command.clone()).await {
                Ok(offer) if offer.held.is_some() => return Ok(offer),
                // Whoever has the patience to wait for work waits for the store, too: those in front look for all.
                Err(error) if error.kind != Kind::Shedding => return Err(error),
                tried => tried,
            };
            let place: &Place<'_> =
                place.get_or_insert_with(|| self.waiting.enter(digest(&(&command.project, &command.wanted))));
            let mut changed = pin!(self.store().changed(head));
            let mut look_again = pin!(sleep(LOOK_AGAIN));
            let mut look_seldom = pin!(sleep(LOOK_SELDOM));
            let mut looked = None;
            let go_on = std::future::poll_fn(|context| {
                if over.as_mut().poll(context).is_ready() {
                    return Poll::Ready(Ok(false));
                }
                if !place.looks(context) {
                    looked = Some(false);
                    return look_seldom.as_mut().poll(context).map(|()| Ok(true));
                }
                // Whoever comes to the front may have missed what the one before it left.
                if looked == Some(false) {
                    return Poll::Ready(Ok(true));
                }
                looked = Some(true);
                if let Poll::Ready(done) = changed.as_mut().poll(context) {
                    return Poll::Ready(done.map(|_| true));
                }
                look_again.as_mut().poll(context).map(|()| Ok(true))
            })
            .await?;
            if !go_on {
                return tried;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::task::Wake;

    #[derive(Default)]
    struct Woken(AtomicUsize);

    impl Wake for Woken {
        fn wake(self: Arc<Self>) {
            self.0.fetch_add(1, Ordering::Relaxed);
        }
    }

    #[test]
    fn only_the_first_look_and_who_leaves_wakes_the_next() {
        let room = WaitingRoom::default();
        let woken: Vec<Arc<Woken>> = (0..7).map(|_| Arc::default()).collect();
        let wakers: Vec<Waker> = woken.iter().map(|woken| Waker::from(Arc::clone(woken))).collect();
        let mut places: Vec<Option<Place<'_>>> = (0..7).map(|_| Some(room.enter([1; 32]))).collect();
        let other = room.enter([2; 32]);
        assert!(other.looks(&Context::from_waker(Waker::noop())), "another line");
        let looks = |places: &[Option<Place<'_>>]| -> Vec<bool> {
            let at = places.iter().zip(&wakers);
            at.filter_map(|(place, waker)| Some(place.as_ref()?.looks(&Context::from_waker(waker)))).collect()
        };
        assert_eq!(looks(&places), [true, true, true, true, false, false, false]);
        // One from the front leaves: the next is woken, and nobody else.
        places[1] = None;
        let count = || woken.iter().map(|woken| woken.0.load(Ordering::Relaxed)).collect::<Vec<_>>();
        assert_eq!(count(), [0, 0, 0, 0, 1, 0, 0]);
        assert_eq!(looks(&places), [true, true, true, true, false, false]);
        // One from the back leaves: nobody has to look.
        places[6] = None;
        assert_eq!(count(), [0, 0, 0, 0, 1, 0, 0]);
        places.clear();
        drop(other);
        assert!(room.lines().by_wish.is_empty(), "nothing is kept of those who left");
    }
}
