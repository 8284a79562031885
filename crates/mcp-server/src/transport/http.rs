//! MCP over HTTP: one request, one answer, and nothing kept between them.
//!
//! No session is made for clients of any revision, so there is nothing that another caller could look up, resume or end: who
//! calls is known anew for every request, by what its headers show. An answer is plain JSON unless the call tells of its
//! progress; then it is a stream. Whoever hangs up cancels the call.

use std::convert::Infallible;
use std::sync::Arc;

use bytes::Bytes;
use docket_core::{Error, echo};
use http::header::CONTENT_TYPE;
use http::{HeaderValue, Method, Request, Response, StatusCode};
use http_body_util::combinators::BoxBody;
use http_body_util::{BodyExt, Full};
use rmcp::ServerHandler;
use rmcp::model::{ErrorCode, JsonRpcMessage};
use rmcp::transport::streamable_http_server::session::never::NeverSessionManager;
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};
use tokio_util::sync::CancellationToken;

use super::message::{Bad, parse};
use crate::server::{DocketServer, Logged};
use crate::session::{Session, Settings, SharedKeys};
use crate::surface::{surface, surfaces};
use crate::watch::{Hub, Overheard};

/// A handler of MCP over HTTP. Host, origin and caller are the affair of whoever takes the connections.
pub struct StatelessHttp<H> {
    service: StreamableHttpService<H, NeverSessionManager>,
}

impl<H: ServerHandler + Send + 'static> StatelessHttp<H> {
    /// A handler is made for each request; the token ends those that are under way.
    pub fn new(make: impl Fn() -> H + Send + Sync + 'static, stop: &CancellationToken) -> Self {
        let config = StreamableHttpServerConfig::default()
            .with_legacy_session_mode(false)
            .with_json_response(true)
            .with_sse_retry(None)
            .disable_allowed_hosts()
            .with_cancellation_token(stop.clone());
        Self { service: StreamableHttpService::new(move || Ok(make()), Arc::default(), config) }
    }

    /// Answers one request.
    pub async fn answer(&self, request: Request<Full<Bytes>>) -> Response<BoxBody<Bytes, Infallible>> {
        let (mut parts, body) = request.into_parts();
        // Each of them is whole: it was collected before.
        let bytes = body.collect().await.map(http_body_util::Collected::to_bytes).unwrap_or_default();
        if parts.method == Method::POST
            && let Err(bad) = check(&bytes)
        {
            return refused(&bad);
        }
        // Revisions before the stateless one sent it back; here it stands for nothing.
        parts.headers.remove("mcp-session-id");
        self.service.handle(Request::from_parts(parts, Full::new(bytes))).await
    }
}

impl<H> std::fmt::Debug for StatelessHttp<H> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("StatelessHttp").finish_non_exhaustive()
    }
}

/// Every surface over HTTP.
pub struct HttpEndpoint {
    services: Vec<(&'static str, StatelessHttp<DocketServer>)>,
    keys: SharedKeys,
    hub: Arc<Hub>,
    stop: CancellationToken,
}

impl HttpEndpoint {
    /// All surfaces.
    pub fn new() -> Result<Self, Error> {
        let stop = CancellationToken::new();
        let hub = Arc::<Hub>::default();
        let mut services = Vec::new();
        for name in surfaces() {
            let surface = surface(name)?;
            let hub = Arc::clone(&hub);
            let make = move || DocketServer::over_http(Arc::clone(&surface), Arc::clone(&hub));
            services.push((*name, StatelessHttp::new(make, &stop)));
        }
        Ok(Self { services, keys: SharedKeys::default(), hub, stop })
    }

    /// Answers one request of the caller that the settings describe; the default surface where none is named.
    pub async fn answer(
        &self,
        settings: Settings,
        surface: Option<&str>,
        mut request: Request<Full<Bytes>>,
    ) -> Result<Response<BoxBody<Bytes, Infallible>>, Error> {
        let name = surface.unwrap_or(surfaces()[0]);
        let found = self.services.iter().find(|(known, _)| *known == name);
        let Some((_, service)) = found else {
            let known = surfaces().join(", ");
            return Err(Error::not_found(format!("no surface \"{}\"; there are {known}", echo(name))));
        };
        if request.headers().get("mcp-method").is_some_and(|method| method.as_bytes() == b"subscriptions/listen") {
            // Before it is told that it may listen, so that nothing is missed between the two.
            let ear = self.hub.listen(&settings.engine).await?;
            request.extensions_mut().insert(Overheard::new(ear));
        }
        request.extensions_mut().insert(Session::sharing(settings, self.keys.clone()));
        // The call is answered in a task of its own, and what it logs belongs to this request all the same.
        request.extensions_mut().insert(Logged(tracing::Span::current()));
        Ok(service.answer(request).await)
    }

    /// Ends every call that is still under way.
    pub fn close(&self) {
        self.stop.cancel();
    }
}

impl std::fmt::Debug for HttpEndpoint {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("HttpEndpoint").finish_non_exhaustive()
    }
}

/// Refuses what is no message that a client may send.
fn check(body: &[u8]) -> Result<(), Bad> {
    match parse(body.trim_ascii())? {
        Some(JsonRpcMessage::Request(_) | JsonRpcMessage::Notification(_)) => Ok(()),
        Some(JsonRpcMessage::Response(_) | JsonRpcMessage::Error(_)) => {
            Err(Bad::new(ErrorCode::INVALID_REQUEST, "a response to nothing: this server asks no questions"))
        }
        None if body.trim_ascii().is_empty() => Err(Bad::new(ErrorCode::PARSE_ERROR, "the body is empty")),
        None => Err(Bad::new(ErrorCode::INVALID_REQUEST, "this notification cannot be read")),
    }
}

fn refused(bad: &Bad) -> Response<BoxBody<Bytes, Infallible>> {
    let mut response = Response::new(Full::new(Bytes::from(bad.to_json().to_string())).boxed());
    *response.status_mut() = StatusCode::BAD_REQUEST;
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    response
}
