//! Counts for Prometheus: few, and named by route, never by what a caller sent.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

/// Upper bounds of the buckets of durations, in milliseconds.
const BUCKETS: [u64; 9] = [1, 5, 10, 25, 50, 100, 250, 1000, 10_000];

/// What is counted.
#[derive(Debug, Default)]
pub(crate) struct Metrics {
    requests: Mutex<BTreeMap<(String, &'static str, u16), u64>>,
    durations: Mutex<BTreeMap<String, Durations>>,
    pub(crate) connections: AtomicU64,
    pub(crate) refused_connections: AtomicU64,
    pub(crate) streams: AtomicU64,
    pub(crate) lagged: AtomicU64,
}

/// What is not counted here, as it is at the moment.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Now {
    /// Requests under way.
    pub(crate) in_flight: usize,
    /// Requests that wait.
    pub(crate) waiting: usize,
    /// Whether requests can be worked on.
    pub(crate) ready: bool,
    /// How often the store has asked its database.
    pub(crate) asked: u64,
}

#[derive(Debug, Default)]
struct Durations {
    buckets: [u64; BUCKETS.len()],
    count: u64,
    sum: Duration,
}

/// Something that is there for a while, counted as long as it is.
#[derive(Debug)]
pub(crate) struct Present<'m>(&'m AtomicU64);

impl<'m> Present<'m> {
    pub(crate) fn new(gauge: &'m AtomicU64) -> Self {
        gauge.fetch_add(1, Ordering::Relaxed);
        Self(gauge)
    }
}

impl Drop for Present<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Metrics {
    /// Counts a request that was answered.
    pub(crate) fn answered(&self, method: &http::Method, route: &str, status: u16, took: Duration) {
        // The names of methods that HTTP does not know come from callers: they would be counted without end.
        let method = ["GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS"]
            .into_iter()
            .find(|known| *known == method.as_str())
            .unwrap_or("other");
        *lock(&self.requests).entry((route.to_owned(), method, status)).or_default() += 1;
        let mut durations = lock(&self.durations);
        let of_route = durations.entry(route.to_owned()).or_default();
        of_route.count += 1;
        of_route.sum += took;
        for (bucket, most) in of_route.buckets.iter_mut().zip(BUCKETS) {
            *bucket += u64::from(took <= Duration::from_millis(most));
        }
    }

    /// All counts in Prometheus' text form.
    pub(crate) fn render(&self, now: &Now) -> String {
        let mut text = String::new();
        // Writing to a string does not fail.
        _ = self.write(&mut text, now);
        text
    }

    fn write(&self, text: &mut String, now: &Now) -> std::fmt::Result {
        let load = |count: &AtomicU64| count.load(Ordering::Relaxed);
        for (name, kind, about, value) in [
            (
                "docket_ready",
                "gauge",
                "Whether the store answers and the server is not stopping.",
                u64::from(now.ready),
            ),
            ("docket_http_requests_in_flight", "gauge", "Requests under way.", now.in_flight as u64),
            ("docket_http_waiters", "gauge", "Requests that wait for work or events.", now.waiting as u64),
            ("docket_http_event_streams", "gauge", "Live event streams.", load(&self.streams)),
            ("docket_http_connections", "gauge", "Open connections.", load(&self.connections)),
            ("docket_store_asked_total", "counter", "Round trips to the database, to read and to write.", now.asked),
            (
                "docket_http_connections_refused_total",
                "counter",
                "Connections over the limit.",
                load(&self.refused_connections),
            ),
            (
                "docket_http_streams_lagged_total",
                "counter",
                "Streams ended because nobody read them.",
                load(&self.lagged),
            ),
        ] {
            writeln!(text, "# HELP {name} {about}\n# TYPE {name} {kind}\n{name} {value}")?;
        }
        writeln!(text, "# HELP docket_http_requests_total Requests by route, method and status.")?;
        writeln!(text, "# TYPE docket_http_requests_total counter")?;
        for ((route, method, status), count) in lock(&self.requests).iter() {
            writeln!(
                text,
                "docket_http_requests_total{{route=\"{route}\",method=\"{method}\",status=\"{status}\"}} {count}"
            )?;
        }
        writeln!(text, "# HELP docket_http_request_seconds How long requests took, by route.")?;
        writeln!(text, "# TYPE docket_http_request_seconds histogram")?;
        for (route, of_route) in lock(&self.durations).iter() {
            for (bucket, most) in of_route.buckets.iter().zip(BUCKETS) {
                let most = Duration::from_millis(most).as_secs_f64();
                writeln!(text, "docket_http_request_seconds_bucket{{route=\"{route}\",le=\"{most}\"}} {bucket}")?;
            }
            let (count, sum) = (of_route.count, of_route.sum.as_secs_f64());
            writeln!(text, "docket_http_request_seconds_bucket{{route=\"{route}\",le=\"+Inf\"}} {count}")?;
            writeln!(text, "docket_http_request_seconds_sum{{route=\"{route}\"}} {sum}")?;
            writeln!(text, "docket_http_request_seconds_count{{route=\"{route}\"}} {count}")?;
        }
        Ok(())
    }
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
