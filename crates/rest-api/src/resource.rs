//! What a client must know to get a token (RFC 9728): where this server is, and who gives tokens for it.
//!
//! A resource is named by the address that clients reach it at. That is the operator's word where there is one, else the name
//! by which the request called us, which was looked at before; nothing else that a request says counts.

use axum::extract::{Path, State};
use docket_core::Error;
use http::header::HOST;
use http::request::Parts;
use http::{HeaderMap, HeaderValue};
use serde_json::json;

use crate::answer::{self, Answer};
use crate::app::Shared;
use crate::failure::Failure;
use crate::routes::{BASE, METADATA};

/// The document about the whole server.
pub(crate) async fn of_server(State(shared): answer::State, headers: HeaderMap) -> Answer {
    document(&shared, &headers, "").await
}

/// The document about one of its parts: what stands behind the well-known address is the path of the resource.
pub(crate) async fn of_part(State(shared): answer::State, Path(path): Path<String>, headers: HeaderMap) -> Answer {
    let path = format!("/{path}");
    if !is_part(&path) {
        return Err(Failure::from(Error::not_found("there is nothing at this address that takes tokens")));
    }
    document(&shared, &headers, &path).await
}

/// What somebody is told who is not let in: how to show who they are, and where to learn how to get a token.
pub(crate) async fn challenge(shared: &Shared, request: &Parts) -> HeaderValue {
    let plain = HeaderValue::from_static("Bearer realm=\"docket\"");
    if shared.gate.token_issuers().await.is_none() {
        return plain;
    }
    let path = request.uri.path();
    let part = if is_part(path) { path } else { "" };
    let about = address(shared, &request.headers)
        .map(|address| format!("Bearer realm=\"docket\", resource_metadata=\"{address}{METADATA}{part}\""));
    about.and_then(|about| HeaderValue::from_str(&about).ok()).unwrap_or(plain)
}

async fn document(shared: &Shared, headers: &HeaderMap, path: &str) -> Answer {
    let (Some(issuers), Some(address)) = (shared.gate.token_issuers().await, address(shared, headers)) else {
        return Err(Failure::from(Error::not_found("this server takes no tokens")));
    };
    answer::ok(&json!({
        "resource": format!("{address}{path}"),
        "authorization_servers": issuers,
        "bearer_methods_supported": ["header"],
        "resource_name": "Docket",
    }))
}

/// Where this server is, for whoever sent these headers.
fn address(shared: &Shared, headers: &HeaderMap) -> Option<String> {
    if let Some(url) = &shared.public_url {
        return Some(url.clone());
    }
    let host = headers.get(HOST)?.to_str().ok()?;
    Some(format!("http://{host}"))
}

/// Whether tokens are taken at this path as a resource of its own.
fn is_part(path: &str) -> bool {
    let plain = |name: &str| !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-');
    path == "/mcp" || path == BASE || path.strip_prefix("/mcp/").is_some_and(plain)
}

#[cfg(test)]
mod tests {
    use super::is_part;

    #[test]
    fn only_what_takes_tokens_is_a_resource() {
        for path in ["/mcp", "/mcp/task-orchestrator", "/api/v1"] {
            assert!(is_part(path), "{path}");
        }
        for path in ["", "/", "/mcp/", "/mcp/a/b", "/mcp/a\"b", "/api/v1/items", "/docs", "/metrics", "/.."] {
            assert!(!is_part(path), "{path}");
        }
    }
}
