//! Waiting for work instead of polling for it.
//!
//! Those who want the same stand in line. Only the first few look at the store: when they come to the front, when something
//! was committed, and when the next lease runs out, which happens without a commit. Whoever finds work leaves, and the next
//! one looks. So a thousand who wait cost no more looks than a few, and while nothing happens none at all.

use std::collections::{BTreeMap, VecDeque};
use std::future::Future;
use std::pin::pin;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use crate::command::{ClaimNext, Offer};
use crate::engine::{Call, Engine, digest};
use crate::error::{Error, Kind};
use crate::store::StoreError;

/// How soon the first in line look again when the store turned them away.
const LOOK_AGAIN: Duration = Duration::from_millis(500);
/// How often the first in line look in any case: the clock by which leases end may be set forward. And how often the others
/// do, while there is work that does not suit the first: it may suit one who holds what it collides with.
const LOOK_SELDOM: Duration = Duration::from_secs(30);
/// How long after its end a lease is taken to have run out.
const AFTERWARDS: Duration = Duration::from_millis(1);
/// How many of a line look: one would hand out much work slowly, for each commit waits for the disk.
const LOOKING: usize = 4;

/// Lines of those who wait in this process, by what they want.
#[derive(Debug, Default)]
pub(crate) struct WaitingRoom(Mutex<Lines>);

#[derive(Debug, Default)]
struct Lines {
    by_wish: BTreeMap<[u8; 32], Line>,
    tickets: u64,
}

#[derive(Debug, Default)]
struct Line {
    waiting: VecDeque<(u64, Option<Waker>)>,
    /// How often somebody in it has looked, and was not turned away by the store.
    looks: u64,
    /// How much ready work the last of them saw that did not suit.
    passed_over: usize,
}

/// A place in a line; left when it is dropped.
struct Place<'r> {
    room: &'r WaitingRoom,
    wish: [u8; 32],
    ticket: u64,
    /// How often the line had looked when this place was taken.
    looks: u64,
}

/// Why somebody in a line does something.
enum Turn {
    /// It is among the first.
    Front,
    /// It has stood behind for long.
    Behind,
    /// Its patience is over.
    Over,
}

impl WaitingRoom {
    fn lines(&self) -> MutexGuard<'_, Lines> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn enter(&self, wish: [u8; 32]) -> Place<'_> {
        let mut lines = self.lines();
        lines.tickets += 1;
        let ticket = lines.tickets;
        let line = lines.by_wish.entry(wish).or_default();
        line.waiting.push_back((ticket, None));
        Place { room: self, wish, ticket, looks: line.looks }
    }
}

impl Place<'_> {
    /// Whether this one is among the first; otherwise it is woken when it may be.
    fn looks(&self, context: &Context<'_>) -> bool {
        let mut lines = self.room.lines();
        let Some(line) = lines.by_wish.get_mut(&self.wish) else { return true };
        let Some(at) = line.waiting.iter().position(|(ticket, _)| *ticket == self.ticket) else { return true };
        if at >= LOOKING
            && let Some((_, waker)) = line.waiting.get_mut(at)
        {
            *waker = Some(context.waker().clone());
        }
        at < LOOKING
    }

    /// Says that this one has looked, for all in the line, and saw so much work that did not suit.
    fn has_looked(&self, passed_over: usize) {
        if let Some(line) = self.room.lines().by_wish.get_mut(&self.wish) {
            line.looks += 1;
            line.passed_over = passed_over;
        }
    }

    /// Whether there may be work for one who stands behind.
    fn may_suit(&self) -> bool {
        self.room.lines().by_wish.get(&self.wish).is_none_or(|line| line.passed_over > 0)
    }

    /// What is answered when the patience is over: whom the store turned away, while others of the line have looked, hears
    /// what they have seen.
    fn answer(&self, tried: Result<Offer, Error>) -> Result<Offer, Error> {
        let looks = self.room.lines().by_wish.get(&self.wish).map_or(0, |line| line.looks);
        if tried.is_err() && looks > self.looks { Ok(Offer::nothing(0)) } else { tried }
    }
}

impl Drop for Place<'_> {
    fn drop(&mut self) {
        let mut lines = self.room.lines();
        let Some(line) = lines.by_wish.get_mut(&self.wish) else { return };
        line.waiting.retain(|(ticket, _)| *ticket != self.ticket);
        let next = line.waiting.get_mut(LOOKING - 1).and_then(|(_, waker)| waker.take());
        if line.waiting.is_empty() {
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
        let patience = self.patience(patience);
        let mut tried = self.run(call.clone(), command.clone()).await;
        if patience.is_zero() || is_final(&tried) {
            return tried;
        }
        self.begins_to_wait()?;
        let mut over = pin!(sleep(patience));
        let place = self.waiting.enter(digest(&(&command.project, &command.wanted)));
        let mut head = None;
        loop {
            let mut seldom = pin!(sleep(LOOK_SELDOM));
            let turn = std::future::poll_fn(|context| {
                if over.as_mut().poll(context).is_ready() {
                    return Poll::Ready(Turn::Over);
                }
                if place.looks(context) {
                    return Poll::Ready(Turn::Front);
                }
                seldom.as_mut().poll(context).map(|()| Turn::Behind)
            });
            let turn = turn.await;
            match turn {
                Turn::Over => return place.answer(tried),
                Turn::Behind if !place.may_suit() => continue,
                Turn::Front | Turn::Behind => {}
            }
            let until;
            (until, tried) = self.look(&mut head, &call, &command).await;
            if is_final(&tried) {
                return tried;
            }
            if let Ok(offer) = &tried {
                place.has_looked(offer.passed_over);
            }
            if matches!(turn, Turn::Behind) {
                continue;
            }
            let mut changed = head.map(|head| Box::pin(self.store().changed(head)));
            let mut again = pin!(sleep(until));
            let changed = std::future::poll_fn(|context| {
                if over.as_mut().poll(context).is_ready() {
                    return Poll::Ready(None);
                }
                if let Some(changed) = &mut changed
                    && let Poll::Ready(done) = changed.as_mut().poll(context)
                {
                    return Poll::Ready(Some(done.map(Some)));
                }
                again.as_mut().poll(context).map(|()| Some(Ok(None)))
            });
            match changed.await {
                None => return place.answer(tried),
                Some(Ok(newer)) => head = newer.or(head),
                Some(Err(StoreError::Overloaded)) => {}
                Some(Err(error)) => return Err(error.into()),
            }
        }
    }

    /// One look for all in a line, and how long it is good for if nothing is committed.
    async fn look(&self, head: &mut Option<u64>, call: &Call, command: &ClaimNext) -> (Duration, Result<Offer, Error>) {
        // Both are read before the attempt, so that what is committed after it, or runs out, is seen as a change.
        let before = async {
            if head.is_none() {
                *head = Some(self.store().head().await?);
            }
            self.store().next_expiry(&command.project, &self.access().projects).await
        };
        let expiry = match before.await {
            Ok(expiry) => expiry,
            Err(error) => return (LOOK_AGAIN, Err(error.into())),
        };
        let tried = self.run(call.clone(), command.clone()).await;
        let until = match &tried {
            Ok(_) => expiry.map_or(LOOK_SELDOM, |left| left.saturating_add(AFTERWARDS).min(LOOK_SELDOM)),
            Err(_) => LOOK_AGAIN,
        };
        (until, tried)
    }
}

/// Whether there is no use in waiting. Whoever has the patience to wait for work waits for the store, too.
fn is_final(tried: &Result<Offer, Error>) -> bool {
    match tried {
        Ok(offer) => offer.held.is_some(),
        Err(error) => error.kind != Kind::Shedding,
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

    #[test]
    fn whom_the_store_turned_away_hears_what_others_of_the_line_have_seen() {
        let room = WaitingRoom::default();
        let (front, behind) = (room.enter([1; 32]), room.enter([1; 32]));
        let turned_away = || Err(Error::from(StoreError::Overloaded));
        assert!(behind.answer(turned_away()).is_err(), "nobody has looked");
        room.enter([2; 32]).has_looked(0);
        assert!(behind.answer(turned_away()).is_err(), "another line has looked");
        front.has_looked(0);
        assert!(!behind.may_suit(), "there is nothing");
        assert_eq!(behind.answer(turned_away()), Ok(Offer::nothing(0)));
        assert!(room.enter([1; 32]).answer(turned_away()).is_err(), "nobody has looked since this one came");
        front.has_looked(2);
        assert!(behind.may_suit(), "two items did not suit the first");
        assert_eq!(behind.answer(Ok(Offer::nothing(3))), Ok(Offer::nothing(3)), "what it has seen itself");
    }
}
