//! How often a caller may call: a bucket of tokens each, filled at a steady rate. Shared by everything that serves callers
//! in a process.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use docket_core::model::Name;
use docket_core::{Code, Error, Kind, Reason};

/// Most callers that are remembered. Beyond it those are forgotten whose buckets are full: nothing is lost with them.
const CALLERS: usize = 10_000;

/// Shortest time between two lines of the audit about one caller: who is turned away must not fill the log either.
const TOLD_EVERY: Duration = Duration::from_secs(1);

/// How often.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rate {
    /// So many at once.
    pub burst: u32,
    /// So many a second in the long run.
    pub per_second: f64,
}

/// Counts calls by caller.
#[derive(Debug)]
pub struct Limiter {
    rate: Rate,
    buckets: Mutex<HashMap<Name, Bucket>>,
}

#[derive(Clone, Copy, Debug)]
struct Bucket {
    tokens: f64,
    at: Instant,
    /// Calls that were turned away since the audit was last told of them, and when that was.
    denied: u64,
    told: Option<Instant>,
}

impl Limiter {
    /// A limiter of this rate.
    pub fn new(rate: Rate) -> Self {
        Self { rate, buckets: Mutex::default() }
    }

    /// Counts one call, or says when the next may come.
    pub fn admit(&self, principal: &Name) -> Result<(), Error> {
        self.admit_at(principal, Instant::now())
    }

    fn admit_at(&self, principal: &Name, now: Instant) -> Result<(), Error> {
        let full = f64::from(self.rate.burst.max(1));
        let mut buckets = self.buckets.lock().unwrap_or_else(PoisonError::into_inner);
        if buckets.len() >= CALLERS && !buckets.contains_key(principal) {
            buckets.retain(|_, bucket| bucket.filled(self.rate, now) < full);
            // All of them call all the time: a newcomer waits like everybody else.
            if buckets.len() >= CALLERS {
                return Err(limited(Duration::from_secs(1)));
            }
        }
        let bucket =
            buckets.entry(principal.clone()).or_insert(Bucket { tokens: full, at: now, denied: 0, told: None });
        *bucket = Bucket { tokens: bucket.filled(self.rate, now).min(full), at: now, ..*bucket };
        if bucket.tokens >= 1.0 {
            bucket.tokens -= 1.0;
            return Ok(());
        }
        bucket.denied += 1;
        if bucket.told.is_none_or(|told| now.saturating_duration_since(told) >= TOLD_EVERY) {
            tracing::info!(target: "docket::audit", %principal, reason = ?Reason::RateLimited, calls = bucket.denied, "denied");
            (bucket.denied, bucket.told) = (0, Some(now));
        }
        let missing = 1.0 - bucket.tokens;
        let wait = Duration::try_from_secs_f64(missing / self.rate.per_second.max(0.001));
        Err(limited(wait.unwrap_or(Duration::from_mins(1))))
    }
}

impl Bucket {
    fn filled(&self, rate: Rate, now: Instant) -> f64 {
        let full = f64::from(rate.burst.max(1));
        (self.tokens + now.saturating_duration_since(self.at).as_secs_f64() * rate.per_second).min(full)
    }
}

fn limited(wait: Duration) -> Error {
    let wait = u64::try_from(wait.as_millis()).unwrap_or(u64::MAX).max(1);
    let message = format!("too many calls: try again in {wait} ms");
    Error { retry_after_ms: Some(wait), ..Error::new(Kind::Shedding, Code::RateLimited, Reason::RateLimited, message) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn name(text: &str) -> Name {
        Name::parse(text).expect("a name")
    }

    #[test]
    fn a_burst_is_let_through_then_the_rate_counts() {
        let limiter = Limiter::new(Rate { burst: 3, per_second: 2.0 });
        let begun = Instant::now();
        for _ in 0..3 {
            limiter.admit_at(&name("a"), begun).expect("within the burst");
        }
        let error = limiter.admit_at(&name("a"), begun).expect_err("beyond it");
        assert_eq!((error.code, error.kind, error.retry_after_ms), (Code::RateLimited, Kind::Shedding, Some(500)));
        limiter.admit_at(&name("b"), begun).expect("another caller has a bucket of its own");
        let later = begun + Duration::from_millis(500);
        limiter.admit_at(&name("a"), later).expect("one more after half a second");
        limiter.admit_at(&name("a"), later).expect_err("and no other");
        let much_later = begun + Duration::from_hours(1);
        let admitted = (0..10).filter(|_| limiter.admit_at(&name("a"), much_later).is_ok()).count();
        assert_eq!(admitted, 3, "a bucket holds no more than a burst");
    }

    #[test]
    fn callers_are_forgotten_when_nothing_is_lost_with_them() {
        let limiter = Limiter::new(Rate { burst: 1, per_second: 1.0 });
        let begun = Instant::now();
        for number in 0..CALLERS {
            limiter.admit_at(&name(&format!("c{number}")), begun).expect("a first call");
        }
        limiter.admit_at(&name("new"), begun).expect_err("all of them are busy");
        limiter.admit_at(&name("new"), begun + Duration::from_secs(1)).expect("and are not any more");
        assert!(limiter.buckets.lock().expect("a lock").len() < CALLERS);
    }
}
