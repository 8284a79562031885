//! Spans for whoever collects traces of calls.
//!
//! They bear one target, so that the log can leave them out and a collector can take nothing else: a line in the log belongs to
//! a request, not to a part of it. While nobody collects, they are not made.

use tracing::Span;

use crate::error::Error;

/// The target of every span that is collected.
pub const TARGET: &str = "docket::trace";

/// The field that says how a call or a part of it ended.
pub const OUTCOME: &str = "docket.outcome";

/// Says how it ended: `ok`, or the kind of its failure.
pub fn record<T>(span: &Span, done: &Result<T, Error>) {
    span.record(OUTCOME, outcome(done.as_ref().err()));
}

/// How something ended.
pub fn outcome(failure: Option<&Error>) -> &'static str {
    failure.map_or("ok", |error| error.kind.as_str())
}
