//! How long to wait before asking again.

use std::hash::{BuildHasher as _, RandomState};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use reqwest::header::{HeaderMap, RETRY_AFTER};

/// Pauses that grow, and differ from one caller to the next.
pub(super) struct Pauses {
    next: Duration,
    most: Duration,
}

impl Pauses {
    pub(super) const fn new(first: Duration, most: Duration) -> Self {
        Self { next: first, most }
    }

    /// The next pause: at least as long as was asked for, else between half and all of what it has grown to.
    pub(super) fn next(&mut self, asked: Option<Duration>) -> Duration {
        let full = self.next.min(self.most);
        self.next = full.saturating_mul(2).min(self.most);
        let half = full / 2;
        let jittered = half + half.mul_f64(chance());
        asked.map_or(jittered, |asked| asked.max(jittered)).min(self.most)
    }
}

/// A number from 0 to 1. It need not be good, only different.
fn chance() -> f64 {
    let random = RandomState::new().hash_one(());
    f64::from(u32::try_from(random >> 32).unwrap_or(0)) / f64::from(u32::MAX)
}

/// How long the server asked to be left alone.
pub(super) fn asked(headers: &HeaderMap) -> Option<Duration> {
    if let Some(after) = headers.get(RETRY_AFTER) {
        return after.to_str().ok()?.trim().parse().ok().map(Duration::from_secs);
    }
    if !is_exhausted(headers) {
        return None;
    }
    let reset: u64 = headers.get("x-ratelimit-reset")?.to_str().ok()?.trim().parse().ok()?;
    let now = SystemTime::now().duration_since(UNIX_EPOCH).ok()?;
    Some(Duration::from_secs(reset).saturating_sub(now))
}

/// Whether the server says that the quota is used up.
pub(super) fn is_exhausted(headers: &HeaderMap) -> bool {
    headers.get("x-ratelimit-remaining").is_some_and(|left| left.as_bytes() == b"0")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_grow_within_bounds() {
        let second = Duration::from_secs(1);
        let mut pauses = Pauses::new(second, 3 * second);
        for full in [second, 2 * second, 3 * second, 3 * second] {
            let pause = pauses.next(None);
            assert!(pause >= full / 2 && pause <= full, "{pause:?} of {full:?}");
        }
        assert_eq!(Pauses::new(second, 9 * second).next(Some(5 * second)), 5 * second);
        assert_eq!(Pauses::new(second, 9 * second).next(Some(50 * second)), 9 * second);
    }

    #[test]
    fn what_the_server_asks_for_is_read() {
        let headers = |pairs: &[(&'static str, &str)]| {
            pairs
                .iter()
                .map(|(name, value)| (reqwest::header::HeaderName::from_static(name), value.parse().expect("a value")))
                .collect::<HeaderMap>()
        };
        assert_eq!(asked(&headers(&[])), None);
        assert_eq!(asked(&headers(&[("retry-after", "7")])), Some(Duration::from_secs(7)));
        assert_eq!(asked(&headers(&[("retry-after", "Wed, 21 Oct 2015 07:28:00 GMT")])), None);
        assert_eq!(asked(&headers(&[("x-ratelimit-remaining", "5"), ("x-ratelimit-reset", "99999999999")])), None);
        let far = asked(&headers(&[("x-ratelimit-remaining", "0"), ("x-ratelimit-reset", "99999999999")]));
        assert!(far > Some(Duration::from_secs(1_000_000)));
        assert_eq!(
            asked(&headers(&[("x-ratelimit-remaining", "0"), ("x-ratelimit-reset", "1")])),
            Some(Duration::ZERO)
        );
    }
}
