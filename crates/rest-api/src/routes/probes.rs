//! For whoever looks after the server: is it there, can it work, how much does it do.

use axum::extract::State;
use axum::response::{IntoResponse, Response};
use http::StatusCode;
use http::header::CONTENT_TYPE;

use crate::answer;
use crate::metrics::Now;

/// The process is there.
pub(crate) async fn health() -> Response {
    (StatusCode::OK, "ok\n").into_response()
}

/// Requests can be worked on: the store answers, and nobody told the server to stop.
pub(crate) async fn ready(State(shared): answer::State) -> Response {
    if shared.is_ready().await {
        (StatusCode::OK, "ready\n").into_response()
    } else {
        (StatusCode::SERVICE_UNAVAILABLE, "not ready\n").into_response()
    }
}

/// Counts for Prometheus.
pub(crate) async fn metrics(State(shared): answer::State) -> Response {
    let (working, waiting) = shared.turns.free();
    let limits = shared.limits;
    let text = shared.metrics.render(&Now {
        in_flight: limits.in_flight - working,
        waiting: limits.waiters - waiting,
        ready: shared.is_ready().await,
        asked: shared.engine.asked(),
    });
    ([(CONTENT_TYPE, "text/plain; version=0.0.4; charset=utf-8")], text).into_response()
}
