//! Hands what arrives at `/mcp` to whatever speaks that protocol.

use std::convert::Infallible;
use std::sync::Arc;

use axum::Router;
use axum::body::Body;
use axum::extract::{RawPathParams, Request, State};
use axum::response::Response;
use axum::routing::any;
use bytes::Bytes;
use docket_core::Error;
use docket_core::model::Slug;
use http_body_util::combinators::BoxBody;
use http_body_util::{BodyExt, Full};
use serde::Deserialize;

use crate::answer::{self, Answer};
use crate::app::Shared;
use crate::extract::{Query, collect};
use crate::failure::Failure;
use crate::gate::Caller;
use crate::turn::Turn;

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
    let response = mcp.answer(caller, surface, query.project, request).await?;
    // An answer may be a stream without end: its place is taken until it ends.
    let held = |body: BoxBody<Bytes, Infallible>| {
        Body::new(body.map_frame(move |frame| {
            let _ = &waiting;
            frame
        }))
    };
    Ok(response.map(held) as Response)
}
