//! MCP over HTTP: one request, one answer.
//!
//! No session is made for clients of any revision: who calls is known anew for every request, by what its headers show, and any
//! server answers any of them. All that is kept between requests is which calls are under way, by caller, by the name that the client
//! was given when it shook hands and by id, so that whoever made a call can take it back by a message (`recall.rs`); that is
//! forgotten with the answer, and nobody else can name it. Whoever hangs up cancels the call, too. An answer is plain JSON unless the
//! call tells of its progress; then it is a stream.

use std::convert::Infallible;
use std::sync::Arc;

use bytes::Bytes;
use docket_core::model::Name;
use docket_core::{Code, Error, Kind, Reason, echo};
use http::header::CONTENT_TYPE;
use http::{HeaderValue, Method, Request, Response, StatusCode};
use http_body_util::combinators::BoxBody;
use http_body_util::{BodyExt, Full};
use rmcp::ServerHandler;
use rmcp::model::{ClientJsonRpcMessage, ClientNotification, ClientRequest, ErrorCode, JsonRpcMessage, RequestId};
use rmcp::transport::streamable_http_server::session::never::NeverSessionManager;
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};
use tokio_util::sync::CancellationToken;

use super::message::{Bad, parse};
use super::recall::{self, Call, Calls, Revocable};
use crate::server::{DocketServer, Logged};
use crate::session::{Session, Settings, SharedKeys};
use crate::surface::{surface, surfaces};
use crate::watch::{Hub, Overheard};

/// When whoever was cut off by a server that stops should come again.
const CUT_OFF_RETRY_MS: u64 = 1_000;

/// Longest message that is taken for one that asks for nothing: to read more of them is work.
const TOLD_BYTES: usize = 4 * 1024;

/// A handler of MCP over HTTP. Host, origin and caller are the affair of whoever takes the connections.
pub struct StatelessHttp<H> {
    service: StreamableHttpService<H, NeverSessionManager>,
    calls: Calls,
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
        let service = StreamableHttpService::new(move || Ok(make()), Arc::default(), config);
        Self { service, calls: Calls::default() }
    }

    /// Answers one request of somebody.
    pub async fn answer(
        &self,
        principal: &Name,
        request: Request<Full<Bytes>>,
    ) -> Response<BoxBody<Bytes, Infallible>> {
        match read(request).await {
            Ok((request, about)) => self.answer_about(principal, request, about).await,
            Err(bad) => refused(&bad),
        }
    }

    /// Answers a request that was read.
    async fn answer_about(
        &self,
        principal: &Name,
        mut request: Request<Full<Bytes>>,
        about: About,
    ) -> Response<BoxBody<Bytes, Infallible>> {
        let client = recall::shown(request.headers());
        // Whatever comes next is served without it.
        request.headers_mut().remove(recall::HEADER);
        let answered = self.service.handle(request);
        let call = |id| client.map(|client| Call { principal: principal.clone(), client, id });
        match about {
            About::Greeting => named(answered.await),
            About::Recall(id) => {
                if let Some(call) = call(id) {
                    self.calls.take_back(call);
                }
                answered.await
            }
            About::Listening(id) | About::Request(id) => match call(id) {
                Some(call) => self.answer_unless_taken_back(call, answered).await,
                None => answered.await,
            },
            About::Else => answered.await,
        }
    }

    /// Answers a call as long as nobody takes it back; then nothing is said, since nobody waits for it.
    async fn answer_unless_taken_back(
        &self,
        call: Call,
        answered: impl Future<Output = Response<BoxBody<Bytes, Infallible>>>,
    ) -> Response<BoxBody<Bytes, Infallible>> {
        let under_way = self.calls.begin(call);
        tokio::select! {
            biased;
            () = under_way.taken_back() => {
                let mut nothing = Response::new(Full::default().boxed());
                *nothing.status_mut() = StatusCode::ACCEPTED;
                nothing
            }
            answer = answered => answer.map(|body| Revocable::new(body, under_way).boxed()),
        }
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
    /// Ends what only waits.
    stopping: CancellationToken,
    /// Ends everything.
    closed: CancellationToken,
}

impl HttpEndpoint {
    /// All surfaces.
    pub fn new() -> Result<Self, Error> {
        let closed = CancellationToken::new();
        let hub = Arc::<Hub>::default();
        let mut services = Vec::new();
        for name in surfaces() {
            let surface = surface(name)?;
            let hub = Arc::clone(&hub);
            let make = move || DocketServer::over_http(Arc::clone(&surface), Arc::clone(&hub));
            services.push((*name, StatelessHttp::new(make, &closed)));
        }
        let stopping = CancellationToken::new();
        Ok(Self { services, keys: SharedKeys::default(), hub, stopping, closed })
    }

    /// Answers one request of the caller that the settings describe; the default surface where none is named.
    pub async fn answer(
        &self,
        settings: Settings,
        surface: Option<&str>,
        request: Request<Full<Bytes>>,
    ) -> Result<Response<BoxBody<Bytes, Infallible>>, Error> {
        let name = surface.unwrap_or(surfaces()[0]);
        let found = self.services.iter().find(|(known, _)| *known == name);
        let Some((_, service)) = found else {
            let known = surfaces().join(", ");
            return Err(Error::not_found(format!("no surface \"{}\"; there are {known}", echo(name))));
        };
        let (mut request, about) = match read(request).await {
            Ok(read) => read,
            Err(bad) => return Ok(refused(&bad)),
        };
        // By what is asked for, not by what a header says of it: whoever works has no place among those that wait.
        if matches!(about, About::Listening(_)) {
            settings.engine.begins_to_wait()?;
            // Before it is told that it may listen, so that nothing is missed between the two.
            let ear = self.hub.listen(&settings.engine).await?;
            request.extensions_mut().insert(Overheard::new(ear));
        }
        let principal = settings.principal.clone();
        request.extensions_mut().insert(Session::sharing(settings, self.keys.clone()).until(self.stopping.clone()));
        // The call is answered in a task of its own, and what it logs belongs to this request all the same.
        request.extensions_mut().insert(Logged(tracing::Span::current()));
        let response = service.answer_about(&principal, request, about).await;
        // Whoever is cut off is told what the protocol's own words do not say: that it is worth another try.
        if self.closed.is_cancelled() && response.status() == StatusCode::INTERNAL_SERVER_ERROR {
            return Err(cut_off());
        }
        Ok(response)
    }

    /// Ends what only waits, as if its time were over: the server is about to stop.
    pub fn stop(&self) {
        self.stopping.cancel();
    }

    /// Ends every call that is still under way.
    pub fn close(&self) {
        self.closed.cancel();
    }
}

impl std::fmt::Debug for HttpEndpoint {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("HttpEndpoint").finish_non_exhaustive()
    }
}

fn cut_off() -> Error {
    let message = "the server stopped before the call had ended: whether it took effect is told by asking again";
    let error = Error::new(Kind::Transient, Code::Unavailable, Reason::StoreBusy, message);
    Error { retry_after_ms: Some(CUT_OFF_RETRY_MS), ..error }
}

/// What a message is about, as far as others depend on it.
enum About {
    /// A client shakes hands.
    Greeting,
    /// It wants to be told of changes.
    Listening(RequestId),
    Request(RequestId),
    /// A call is taken back.
    Recall(RequestId),
    Else,
}

/// A request with what its message is about; refused where that is nothing that a client may send.
async fn read(request: Request<Full<Bytes>>) -> Result<(Request<Full<Bytes>>, About), Bad> {
    let (parts, body) = request.into_parts();
    // Each of them is whole: it was collected before.
    let bytes = body.collect().await.map(http_body_util::Collected::to_bytes).unwrap_or_default();
    let about = if parts.method == Method::POST { about(&check(&bytes)?) } else { About::Else };
    Ok((Request::from_parts(parts, Full::new(bytes)), about))
}

fn about(message: &ClientJsonRpcMessage) -> About {
    match message {
        JsonRpcMessage::Request(request) => match &request.request {
            ClientRequest::InitializeRequest(_) => About::Greeting,
            ClientRequest::SubscriptionsListenRequest(_) => About::Listening(request.id.clone()),
            _ => About::Request(request.id.clone()),
        },
        JsonRpcMessage::Notification(notification) => match &notification.notification {
            ClientNotification::CancelledNotification(cancelled) => {
                cancelled.params.request_id.clone().map_or(About::Else, About::Recall)
            }
            _ => About::Else,
        },
        JsonRpcMessage::Response(_) | JsonRpcMessage::Error(_) => About::Else,
    }
}

/// A greeting that was returned, with a name for whoever is greeted.
fn named(mut answer: Response<BoxBody<Bytes, Infallible>>) -> Response<BoxBody<Bytes, Infallible>> {
    if answer.status() == StatusCode::OK
        && let Some(name) = recall::new_name()
    {
        answer.headers_mut().insert(recall::HEADER, name);
    }
    answer
}

/// Whether a body asks for nothing: a client tells something, and waits for no answer.
pub fn tells_only(body: &[u8]) -> bool {
    body.len() <= TOLD_BYTES && matches!(parse(body.trim_ascii()), Ok(Some(JsonRpcMessage::Notification(_))))
}

/// Refuses what is no message that a client may send.
fn check(body: &[u8]) -> Result<ClientJsonRpcMessage, Bad> {
    match parse(body.trim_ascii())? {
        Some(message @ (JsonRpcMessage::Request(_) | JsonRpcMessage::Notification(_))) => Ok(message),
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
