//! What every request goes through: its name in the log, the names we answer to, its caller, its turn; and on the way out the
//! one envelope of failures, the count and the line in the log.

use std::sync::Arc;
use std::time::Instant;

use axum::body::Body;
use axum::extract::{MatchedPath, Request, State};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use docket_core::span::{self, OUTCOME, TARGET};
use docket_core::{Error, Reason};
use http::header::{AUTHORIZATION, CONTENT_TYPE, IF_MATCH, RETRY_AFTER, WWW_AUTHENTICATE};
use http::request::Parts;
use http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode};
use tokio::sync::SemaphorePermit;
use tracing::field::Empty;
use tracing::{Instrument, Span};

use crate::app::Shared;
use crate::bodies::Room;
use crate::failure::{Envelope, Failure, Told};
use crate::gate::{Caller, Denied};
use crate::limits::REQUEST_NAME;
use crate::routes::{self, BASE};
use crate::turn::{Turn, WhileItWaits};

/// The request's name, in both directions.
const REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");

/// The target of the spans that give log lines the name of their request: a log without them tells of nobody.
pub const REQUESTS: &str = "docket::request";

/// The outermost layer.
pub(crate) async fn front(State(shared): State<Arc<Shared>>, mut request: Request, next: Next) -> Response {
    let begun = Instant::now();
    let name = request_name(request.headers());
    let method = request.method().clone();
    let route = request.extensions().get::<MatchedPath>().map_or("none", |path| path.as_str()).to_owned();
    // At the level of errors: whatever is logged at all belongs to its request.
    let span = tracing::error_span!(target: REQUESTS, "request", id = %name, %method, route = %route);
    let call = call_span(&shared, &request, &name, &route);
    if !call.is_disabled() {
        // What answers in a task of its own finds it here.
        request.extensions_mut().insert(call.clone());
    }
    let answered = async {
        match shared.hosts.check(request.uri(), request.headers()).and_then(|()| check_head(&shared, &request)) {
            Ok(()) => next.run(request).await,
            Err(failure) => failure.into_response(),
        }
    };
    let response = answered.instrument(span.clone()).instrument(call.clone()).await;
    let response = finish(response, &name, &method);
    record(&call, &response);
    let (status, took) = (response.status(), begun.elapsed());
    shared.metrics.answered(&method, &route, status.as_u16(), took);
    span.in_scope(|| {
        let ms = u64::try_from(took.as_millis()).unwrap_or(u64::MAX);
        if status.is_server_error() {
            tracing::warn!(status = status.as_u16(), ms, "answered");
        } else {
            tracing::info!(status = status.as_u16(), ms, "answered");
        }
    });
    response
}

/// The span of a call, for whoever collects traces.
fn call_span(shared: &Shared, request: &Request, name: &str, route: &str) -> Span {
    let method = request.method();
    let span = tracing::info_span!(
        target: TARGET,
        "call",
        otel.name = %format_args!("{method} {route}"),
        otel.kind = "server",
        otel.status_code = Empty,
        http.request.method = %method,
        http.route = route,
        http.response.status_code = Empty,
        docket.request.id = name,
        docket.outcome = Empty,
    );
    if let Some(adopt) = shared.adopt {
        adopt(&span, request.headers());
    }
    span
}

fn record(call: &Span, response: &Response) {
    let status = response.status();
    let outcome = match response.extensions().get::<Arc<Error>>() {
        Some(error) => error.kind.as_str(),
        None if status.is_client_error() || status.is_server_error() => docket_core::Kind::Permanent.as_str(),
        None => span::outcome(None),
    };
    call.record(OUTCOME, outcome).record("http.response.status_code", status.as_u16());
    if status.is_server_error() {
        call.record("otel.status_code", "ERROR");
    }
}

/// The layer of what works on the database: a caller, then the whole body, then a turn. Whoever waits at the door, for the one that
/// asks who may come in or for the keys that tokens are checked with, or sends slowly, keeps nobody else from working; how many look
/// there at a time is the gate's to bound.
pub(crate) async fn admit(State(shared): State<Arc<Shared>>, request: Request, next: Next) -> Response {
    match let_in(&shared, request).await {
        // What it holds it holds until there is an answer, whoever else has let go of the request by then.
        Ok((request, _held)) => next.run(request).await,
        Err(failure) => failure.into_response(),
    }
}

/// What a request holds while it is worked on.
struct Held<'s> {
    /// Of an import: all its rows are in memory.
    _alone: Option<SemaphorePermit<'s>>,
    _room: Option<Room>,
    _turn: Turn,
}

/// The layer of what tells how much there is to do: a caller, and no turn. Whoever looks after a server wants to know it most
/// when there is no place left.
pub(crate) async fn recognise(State(shared): State<Arc<Shared>>, request: Request, next: Next) -> Response {
    let (parts, body) = request.into_parts();
    match known(&shared, &parts, shared.gate.recognise(&parts)).await {
        Ok(_) => next.run(Request::from_parts(parts, body)).await,
        Err(failure) => failure.into_response(),
    }
}

/// Who a request comes from, as the gate says.
async fn known(
    shared: &Shared,
    parts: &Parts,
    let_in: impl Future<Output = Result<Caller, Denied>>,
) -> Result<Caller, Failure> {
    if parts.headers.get_all(AUTHORIZATION).iter().nth(1).is_some() {
        return Err(Failure::malformed(Reason::Duplicate, "the Authorization header is there twice"));
    }
    match let_in.await {
        Ok(caller) => Ok(caller),
        Err(Denied::Unauthenticated(error)) => {
            let challenge = crate::resource::challenge(shared, parts).await;
            Err(Failure::with_status(StatusCode::UNAUTHORIZED, error).header(WWW_AUTHENTICATE, challenge))
        }
        Err(Denied::Refused(error)) => Err(error.into()),
    }
}

async fn let_in(shared: &Shared, request: Request) -> Result<(Request, Held<'_>), Failure> {
    let (mut parts, body) = request.into_parts();
    // What comes to another protocol is counted when it is known whether it asks for anything.
    let counted_later = shared.mcp.as_ref().filter(|_| routes::is_mcp(&parts));
    let recognised = if counted_later.is_some() { shared.gate.recognise(&parts) } else { shared.gate.admit(&parts) };
    let caller = known(shared, &parts, recognised).await?;
    let caller = crate::gate::placed(&parts, shared.actors.stated(&parts, caller).await?)?;
    shared.actors.check(&parts, &caller)?;
    check_condition(&parts)?;
    let imports = is_import(&parts);
    let most = if imports { shared.limits.import_bytes } else { shared.limits.body_bytes };
    if imports {
        routes::may_import(shared, &caller)?;
    }
    let (body, room) = if reads(&parts) {
        // Nothing that is read is asked for by a body.
        (Body::empty(), None)
    } else {
        let (bytes, room) = shared.bodies.take(&caller.principal, &parts.headers, body, most).await?;
        if counted_later.is_some_and(|mcp| mcp.asks(&bytes)) {
            shared.gate.count(&caller)?;
        }
        (Body::from(bytes), Some(room))
    };
    let alone = if imports { Some(routes::begin_import(shared)?) } else { None };
    let turn = shared.turns.take().await?;
    let engine = caller.engine.telling(Arc::new(WhileItWaits(turn.clone())));
    let caller = Caller { engine, ..caller };
    parts.extensions.insert(caller);
    parts.extensions.insert(turn.clone());
    Ok((Request::from_parts(parts, body), Held { _alone: alone, _room: room, _turn: turn }))
}

fn reads(parts: &Parts) -> bool {
    matches!(parts.method, Method::GET | Method::HEAD)
}

/// What is called there, as the document names it.
fn route(parts: &Parts) -> Option<&str> {
    parts.extensions.get::<MatchedPath>().and_then(|path| path.as_str().strip_prefix(BASE))
}

fn is_import(parts: &Parts) -> bool {
    parts.method == Method::POST && route(parts) == Some(routes::IMPORT)
}

/// Refuses a write under a condition that nobody would look at: whoever sends one believes that it is kept.
fn check_condition(parts: &Parts) -> Result<(), Error> {
    if reads(parts) || !parts.headers.contains_key(IF_MATCH) {
        return Ok(());
    }
    match route(parts) {
        Some(route) if !crate::openapi::takes_condition(&parts.method, route) => {
            let message = "this is not done under a condition: leave the header out";
            Err(Error::validation(Reason::UnknownField, message).at("If-Match"))
        }
        Some(_) | None => Ok(()),
    }
}

fn check_head(shared: &Shared, request: &Request) -> Result<(), Failure> {
    let length = request.uri().path().len() + request.uri().query().map_or(0, str::len);
    if length > shared.limits.url_bytes {
        let message = format!("the address must be at most {} bytes", shared.limits.url_bytes);
        return Err(Failure::with_status(StatusCode::URI_TOO_LONG, Error::validation(Reason::TooLong, message)));
    }
    // Whoever reads heads for us takes 8 KiB at the least, whatever is asked of it. Each header has two marks and an end of line.
    let headers: usize = request.headers().iter().map(|(name, value)| name.as_str().len() + value.len() + 4).sum();
    if length + headers > shared.limits.header_bytes {
        let message = format!("the head of a request must be at most {} bytes", shared.limits.header_bytes);
        let error = Error::validation(Reason::TooLong, message);
        return Err(Failure::with_status(StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE, error));
    }
    Ok(())
}

/// The caller's own name for the request where it is a sane one, else a new one.
fn request_name(headers: &HeaderMap) -> String {
    let own = headers.get(REQUEST_ID).and_then(|name| name.to_str().ok()).filter(|name| {
        let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.:".contains(&byte);
        !name.is_empty() && name.len() <= REQUEST_NAME && name.bytes().all(plain)
    });
    own.map_or_else(|| uuid::Uuid::new_v4().simple().to_string(), ToOwned::to_owned)
}

fn finish(response: Response, name: &str, method: &Method) -> Response {
    let mut response = match response.extensions().get::<Arc<Error>>().cloned() {
        Some(error) => told(response, &error, name),
        None if response.status() == StatusCode::METHOD_NOT_ALLOWED
            && !response.headers().contains_key(CONTENT_TYPE) =>
        {
            // The header is added further out, where the routes are known.
            let shown = docket_core::echo(method.as_str());
            let message = format!("this address does not take {shown}: the Allow header says what it takes");
            told(response, &Error::validation(Reason::BadValue, message), name)
        }
        None => response,
    };
    let headers = response.headers_mut();
    if let Ok(name) = HeaderValue::from_str(name) {
        headers.insert(REQUEST_ID, name);
    }
    headers.insert(http::header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    if !headers.contains_key(http::header::CACHE_CONTROL) {
        headers.insert(http::header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    }
    response
}

/// A failure in its envelope.
fn told(response: Response, error: &Error, name: &str) -> Response {
    if response.status().is_server_error() {
        tracing::warn!(code = error.code.as_str(), reason = ?error.reason, "refused: {}", error.message);
    }
    let body = serde_json::to_vec(&Envelope { error: Told { error, request_id: name } }).unwrap_or_default();
    let (mut parts, _) = response.into_parts();
    parts.headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    if let Some(wait) = error.retry_after_ms
        && matches!(parts.status.as_u16(), 409 | 429 | 503)
    {
        // The header counts in seconds; to come a moment too early would be in vain.
        parts.headers.insert(RETRY_AFTER, HeaderValue::from(wait.div_ceil(1000).max(1)));
    } else if parts.status == StatusCode::SERVICE_UNAVAILABLE {
        parts.headers.insert(RETRY_AFTER, HeaderValue::from(1));
    }
    parts.headers.remove(http::header::CONTENT_LENGTH);
    Response::from_parts(parts, Body::from(body))
}
