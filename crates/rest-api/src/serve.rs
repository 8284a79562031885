//! Takes connections until it is told to stop, then lets what is under way end.
//!
//! HTTP/1.1 alone is spoken: what needs more stands before us. axum's own loop knows no limit on how long a head may take and
//! leaves Nagle's algorithm on; this one has a limit for everything a client can do slowly, often or not at all.

use std::convert::Infallible;
use std::io;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use axum::body::Body;
use http::HeaderValue;
use http::header::CONNECTION;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::io::AsyncWriteExt;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tower::ServiceExt;

use crate::app::App;
use crate::connection::{GivenUp, Impatient};
use crate::metrics::Present;

/// How long to leave the listener alone after it failed: mostly there are no file descriptors left.
const REST: Duration = Duration::from_millis(50);
/// How long it may take to tell those who were cut off.
const FAREWELL: Duration = Duration::from_secs(1);
/// How long a connection that nobody uses is kept after the server was told to stop. A proxy may be sending on one that it keeps: to
/// close it at that moment loses the request, and nobody can tell whether it was carried out. Each answer in that time is its
/// connection's last, and says so.
const LAST_CALL: Duration = Duration::from_millis(500);
/// What somebody is told for whom there is no place.
const FULL: &str = "HTTP/1.1 503 Service Unavailable\r\ncontent-type: application/json\r\nretry-after: 1\r\nconnection: close\r\n\
content-length: 150\r\n\r\n{\"error\":{\"kind\":\"shedding\",\"code\":\"UNAVAILABLE\",\"reason\":\"overloaded\",\"message\":\"too many connections\",\
\"retryAfterMs\":1000,\"requestId\":\"connection\"}}";

/// Serves connections until `stop` resolves; returns when everything under way has ended, or the time for it is over.
pub async fn serve(listener: TcpListener, app: App, stop: impl Future<Output = ()> + Send) -> io::Result<()> {
    let limits = app.shared.limits;
    let places = Arc::new(Semaphore::new(limits.connections));
    let mut stop = std::pin::pin!(stop);
    loop {
        let accepted = tokio::select! {
            () = &mut stop => break,
            accepted = listener.accept() => accepted,
        };
        let stream = match accepted {
            Ok((stream, _)) => stream,
            Err(error) => {
                tracing::warn!(%error, "a connection could not be taken");
                tokio::time::sleep(REST).await;
                continue;
            }
        };
        // Without it an answer in two pieces waits for the other side's delayed acknowledgement.
        _ = stream.set_nodelay(true);
        if let Ok(place) = Arc::clone(&places).try_acquire_owned() {
            tokio::spawn(connection(stream, app.clone(), place));
        } else {
            app.shared.metrics.refused_connections.fetch_add(1, Ordering::Relaxed);
            tokio::spawn(turn_away(stream));
        }
    }
    drop(listener);
    app.shared.stopping.send_replace(true);
    if let Some(mcp) = &app.shared.mcp {
        mcp.stop();
    }
    tracing::info!("stopping: what is under way may end");
    drain(&app, &places).await;
    Ok(())
}

/// Waits until every connection has ended, for as long as that may take.
async fn drain(app: &App, places: &Semaphore) {
    let limits = app.shared.limits;
    let all = u32::try_from(limits.connections).unwrap_or(u32::MAX);
    let ended = async {
        // It is closed by nobody.
        _ = places.acquire_many(all).await;
    };
    let mut ended = std::pin::pin!(ended);
    if tokio::time::timeout(limits.drain, ended.as_mut()).await.is_ok() {
        return;
    }
    tracing::warn!("some requests did not end in time");
    if let Some(mcp) = &app.shared.mcp {
        mcp.close();
        // Whoever was cut off is told so, before the connections end with the process.
        _ = tokio::time::timeout(FAREWELL, ended).await;
    }
}

async fn connection(stream: TcpStream, app: App, _place: OwnedSemaphorePermit) {
    let shared = Arc::clone(&app.shared);
    let _present = Present::new(&shared.metrics.connections);
    let limits = shared.limits;
    let router = app.router;
    let given_up = GivenUp::default();
    let stream = Impatient::new(stream, limits.stall_timeout, given_up.clone());
    let ours = Arc::clone(&shared);
    let service = hyper::service::service_fn(move |mut request: http::Request<Incoming>| {
        request.extensions_mut().insert(given_up.clone());
        let (answering, ours) = (router.clone().oneshot(request.map(Body::new)), Arc::clone(&ours));
        async move {
            let mut answer = answering.await?;
            if *ours.stopping.borrow() {
                answer.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
            }
            Ok::<_, Infallible>(answer)
        }
    });
    let served = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(limits.header_timeout)
        .max_buf_size(limits.header_bytes.max(8192))
        .max_headers(limits.headers)
        .serve_connection(TokioIo::new(stream), service);
    let mut served = std::pin::pin!(served);
    let ended = tokio::select! {
        ended = served.as_mut() => ended,
        () = shared.stopped() => {
            if let Ok(ended) = tokio::time::timeout(LAST_CALL, served.as_mut()).await {
                ended
            } else {
                served.as_mut().graceful_shutdown();
                served.await
            }
        }
    };
    if let Err(error) = ended {
        // What clients do to their connections is their affair.
        tracing::debug!(error = &error as &dyn std::error::Error, "a connection ended early");
    }
}

async fn turn_away(mut stream: TcpStream) {
    let told = async {
        _ = stream.write_all(FULL.as_bytes()).await;
        _ = stream.shutdown().await;
    };
    _ = tokio::time::timeout(Duration::from_secs(1), told).await;
}

#[cfg(test)]
mod tests {
    #[test]
    fn who_is_turned_away_gets_a_whole_answer() {
        let (head, body) = super::FULL.split_once("\r\n\r\n").expect("a head and a body");
        assert!(
            head.contains(&format!("content-length: {}\r\n", body.len()))
                || head.ends_with(&format!("content-length: {}", body.len())),
            "{}",
            body.len()
        );
        assert!(serde_json::from_str::<serde_json::Value>(body).is_ok());
    }
}
