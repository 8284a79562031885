//! Hands what arrives at `/mcp` to whatever speaks that protocol.

use std::convert::Infallible;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use axum::Router;
use axum::body::Body;
use axum::extract::{MatchedPath, RawPathParams, Request, State};
use axum::middleware::from_fn_with_state;
use axum::response::Response;
use axum::routing::post;
use bytes::Bytes;
use docket_core::model::Slug;
use docket_core::{Code, Error, Kind, Reason};
use http::request::Parts;
use http_body_util::Full;
use http_body_util::combinators::BoxBody;
use hyper::body::{Frame, SizeHint};
use serde::Deserialize;
use tracing::Span;

use crate::answer::{self, Answer};
use crate::app::Shared;
use crate::extract::{Query, whole};
use crate::failure::Failure;
use crate::front;
use crate::gate::{Caller, Pass};
use crate::turn::Turn;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct McpQuery {
    /// The project that calls are about.
    project: Option<Slug>,
}

/// The two addresses. Only what is posted there is let in, and counted: nothing else is served.
pub(crate) fn router(shared: &Arc<Shared>) -> Router<Arc<Shared>> {
    let admitted = || post(handle).route_layer(from_fn_with_state(Arc::clone(shared), front::admit));
    Router::new().route("/mcp", admitted()).route("/mcp/{surface}", admitted())
}

/// Whether a request is for these addresses.
pub(crate) fn is_meant(parts: &Parts) -> bool {
    parts.extensions.get::<MatchedPath>().is_some_and(|path| matches!(path.as_str(), "/mcp" | "/mcp/{surface}"))
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
    let request = http::Request::from_parts(parts, Full::new(whole(body).await?));
    let pass = Arc::clone(&caller.pass);
    // What is at work is let end; whoever waits does not outlast what they were let in by.
    let ended = async {
        turn.waits().await;
        pass.ended().await;
    };
    let response = tokio::select! {
        biased;
        response = mcp.answer(caller, surface, query.project, request) => response?,
        () = ended => {
            tracing::info!("a call was ended: what its caller was let in by does not hold any more");
            return Err(no_longer());
        }
    };
    let span = Span::current();
    Ok(response.map(|body| Body::new(Held { body: Some(body), ended: None, pass, span })) as Response)
}

fn no_longer() -> Failure {
    let message = "what this call was let in by does not hold any more";
    Error::new(Kind::Permanent, Code::Forbidden, Reason::BadCredential, message).into()
}

/// An answer that may be a stream without end: it does not outlast what its reader was let in by.
struct Held {
    body: Option<BoxBody<Bytes, Infallible>>,
    /// Looked at from the first moment on in which there is nothing to be sent.
    ended: Option<Pin<Box<dyn Future<Output = ()> + Send>>>,
    pass: Arc<dyn Pass>,
    /// What is logged of it belongs to its request.
    span: Span,
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
        held.span.in_scope(|| {
            tracing::info!("an answer was ended: what its reader was let in by does not hold any more");
        });
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
