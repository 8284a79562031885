//! Hands what arrives at `/mcp` to whatever speaks that protocol.

use std::convert::Infallible;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use axum::Router;
use axum::body::Body;
use axum::extract::{RawPathParams, Request, State};
use axum::response::Response;
use axum::routing::any;
use bytes::Bytes;
use docket_core::Error;
use docket_core::model::Slug;
use http_body_util::Full;
use http_body_util::combinators::BoxBody;
use hyper::body::{Frame, SizeHint};
use serde::Deserialize;

use crate::answer::{self, Answer};
use crate::app::Shared;
use crate::extract::{Query, collect};
use crate::failure::Failure;
use crate::gate::{Caller, Pass};
use crate::turn::{Turn, Waiting};

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct McpQuery {
    /// The project that calls are about.
    project: Option<Slug>,
}

/// The two addresses.
pub(crate) fn router() -> Router<Arc<Shared>> {
    Router::new().route("/mcp", any(handle)).route("/mcp/{surface}", any(handle))
}

async fn handle(
    State(shared): answer::State,
    caller: Caller,
    turn: Turn,
    names: RawPathParams,
    Query(query): Query<McpQuery>,
    request: Request,
) -> Answer {
    let Some(mcp) = &shared.mcp else { return Err(Failure::from(Error::not_found("MCP is not served here"))) };
    let surface = names.iter().find(|(name, _)| *name == "surface").map(|(_, text)| text.to_owned());
    let (parts, body) = request.into_parts();
    let body = collect(&parts.headers, body, &shared, shared.limits.body_bytes).await?;
    // A call may wait for work, and only the protocol knows whether this one does.
    let waiting = turn.wait()?;
    let request = http::Request::from_parts(parts, Full::new(body));
    let pass = Arc::clone(&caller.pass);
    let response = mcp.answer(caller, surface, query.project, request).await?;
    Ok(response.map(|body| Body::new(Held { body: Some(body), ended: None, pass, _waiting: waiting })) as Response)
}

/// An answer that may be a stream without end: its place is taken until it ends, and it does not outlast what its reader was
/// let in by.
struct Held {
    body: Option<BoxBody<Bytes, Infallible>>,
    /// Looked at from the first moment on in which there is nothing to be sent.
    ended: Option<Pin<Box<dyn Future<Output = ()> + Send>>>,
    pass: Arc<dyn Pass>,
    _waiting: Waiting,
}

impl hyper::body::Body for Held {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        let held = &mut *self;
        let Some(body) = &mut held.body else { return Poll::Ready(None) };
        if let Poll::Ready(frame) = Pin::new(body).poll_frame(context) {
            return Poll::Ready(frame);
        }
        let pass = &held.pass;
        let ended = held.ended.get_or_insert_with(|| {
            let pass = Arc::clone(pass);
            Box::pin(async move { pass.ended().await })
        });
        if ended.as_mut().poll(context).is_pending() {
            return Poll::Pending;
        }
        tracing::info!("an answer was ended: what its reader was let in by does not hold any more");
        // Whatever makes it is told that nobody listens.
        held.body = None;
        Poll::Ready(None)
    }

    fn is_end_stream(&self) -> bool {
        self.body.as_ref().is_none_or(hyper::body::Body::is_end_stream)
    }

    fn size_hint(&self) -> SizeHint {
        self.body.as_ref().map_or_else(SizeHint::default, hyper::body::Body::size_hint)
    }
}
