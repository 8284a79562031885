//! The MCP side of a connection: what the server says of itself, its tool list, and the way from a call to a surface.

use std::sync::Arc;

use docket_core::echo;
use docket_core::span::{OUTCOME, TARGET};
use rmcp::ServerHandler;
use rmcp::model::{
    CacheScope, CallToolRequestParams, CallToolResponse, CallToolResult, CompleteRequestParams, CompleteResult,
    CustomRequest, CustomResult, ErrorCode, ErrorData, GetPromptRequestParams, GetPromptResponse, Implementation,
    InitializeRequestParams, InitializeResult, InitializeResultMethod, ListPromptsResult, ListResourceTemplatesResult,
    ListResourcesResult, ListToolsResult, PaginatedRequestParams, ProtocolVersion, ReadResourceRequestParams,
    ReadResourceResponse, ServerConfig, SubscribeRequestMethod, SubscribeRequestParams, SubscriptionFilter, Tool,
    UnsubscribeRequestMethod, UnsubscribeRequestParams,
};
use rmcp::service::{RequestContext, RoleServer, SubscriptionContext};
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;
use tracing::field::Empty;
use tracing::{Instrument as _, Span};

use crate::offers::{self, LISTS_TTL_MS, only_page};
use crate::person::{Desk, shows_forms};
use crate::progress::Progress;
use crate::rounds::Bound;
use crate::session::Session;
use crate::surface::Surface;
use crate::watch::{Hub, Overheard, SUBSCRIPTIONS, Subjects, Subscriptions};

/// Methods that the stateless revision took away.
const REMOVED: [&str; 2] = ["initialize", "ping"];

/// Streams of changes that one connection may open beside its other requests.
const STREAMS: usize = 16;

/// One surface served to one connection.
#[derive(Clone)]
pub struct DocketServer {
    /// Over HTTP every request says by itself who it is from.
    connection: Option<Arc<Connection>>,
    surface: Arc<dyn Surface>,
    hub: Arc<Hub>,
}

/// A connection that stays.
struct Connection {
    session: Session,
    desk: Desk,
    subscriptions: Subscriptions,
    streams: Semaphore,
    gone: CancellationToken,
}

impl DocketServer {
    /// Serves a surface to a connection; the token says that the other side has gone.
    pub fn new(session: Session, surface: Arc<dyn Surface>, gone: CancellationToken) -> Self {
        let connection = Connection {
            session,
            desk: Desk::new(gone.clone()),
            subscriptions: Subscriptions::default(),
            streams: Semaphore::new(STREAMS),
            gone,
        };
        Self { connection: Some(Arc::new(connection)), surface, hub: Arc::default() }
    }

    /// Serves a surface to callers that come with their requests.
    pub(crate) fn over_http(surface: Arc<dyn Surface>, hub: Arc<Hub>) -> Self {
        Self { connection: None, surface, hub }
    }

    /// Listens for changes on behalf of a request that will want to know of them: before it is told that it may.
    pub(crate) async fn overhear(&self, context: &mut RequestContext<RoleServer>) {
        let Ok(session) = self.session(context) else { return };
        match self.hub.listen(session.engine()).await {
            Ok(ear) => _ = context.extensions.insert(Overheard::new(ear)),
            // The request tries again, and says so.
            Err(error) => tracing::warn!(error = &error as &dyn std::error::Error, "events cannot be followed"),
        }
    }

    /// The span that a call is logged under, and its own for whoever collects traces.
    fn spans(&self, context: &RequestContext<RoleServer>, tool: &str) -> (Span, Span) {
        let came_with = context.extensions.get::<http::request::Parts>();
        let caller = came_with.and_then(|with| with.extensions.get::<Span>()).map_or_else(Span::none, Span::clone);
        let span = tracing::info_span!(
            target: TARGET,
            parent: &caller,
            "tool",
            otel.name = %format_args!("tools/call {tool}"),
            mcp.method.name = "tools/call",
            gen_ai.tool.name = tool,
            docket.surface = self.surface.name(),
            docket.outcome = Empty,
        );
        (logged(context), span)
    }

    /// The session of a connection, or the one that came with a request.
    fn session(&self, context: &RequestContext<RoleServer>) -> Result<Session, ErrorData> {
        if let Some(connection) = &self.connection {
            // Those that shake no hands are sent no requests: they are asked by what a call is answered with.
            let person = if is_stateless(context) { None } else { connection.desk.person(&context.peer) };
            return Ok(connection.session.clone().with_person(person));
        }
        let came_with = context.extensions.get::<http::request::Parts>();
        let session = came_with.and_then(|parts| parts.extensions.get::<Session>()).cloned();
        session.ok_or_else(|| ErrorData::internal_error("nobody is known to have sent this", None))
    }

    /// The methods that can be called here; a request for one of them that could not be read had bad parameters.
    fn has_method(&self, method: &str) -> bool {
        match method {
            "tools/call" | "tools/list" => true,
            "resources/list" | "resources/templates/list" | "resources/read" => offers::has_resources(&*self.surface),
            "prompts/list" | "prompts/get" => !self.surface.prompts().is_empty(),
            "completion/complete" => self.surface.has_completions(),
            "subscriptions/listen" => self.surface.has_subscriptions(),
            _ => false,
        }
    }
}

/// The span that a request is logged under, where it comes with one.
#[derive(Clone)]
pub(crate) struct Logged(pub(crate) Span);

/// The span that a request is logged under, if it came with one: it is answered in a task of its own.
fn logged(context: &RequestContext<RoleServer>) -> Span {
    let came_with = context.extensions.get::<http::request::Parts>();
    came_with.and_then(|with| with.extensions.get::<Logged>()).map_or_else(Span::none, |logged| logged.0.clone())
}

/// Whether a request comes from a client that shakes no hands: it says its revision itself.
fn is_stateless(context: &RequestContext<RoleServer>) -> bool {
    let stateless = |version: ProtocolVersion| version.as_str() >= ProtocolVersion::V_2026_07_28.as_str();
    context.meta.protocol_version().is_some_and(stateless)
}

impl ServerHandler for DocketServer {
    fn get_info(&self) -> ServerConfig {
        let about = Implementation::new("docket", env!("CARGO_PKG_VERSION"));
        ServerConfig::new(offers::capabilities(&*self.surface))
            .with_server_info(about)
            .with_instructions(self.surface.instructions())
    }

    async fn initialize(
        &self,
        request: InitializeRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<InitializeResult, ErrorData> {
        if is_stateless(&context) {
            return Err(ErrorData::method_not_found::<InitializeResultMethod>());
        }
        context.peer.set_peer_info(request.clone());
        let mut hello = self.negotiate_initialize(&request)?;
        // Whoever shakes hands subscribes for a connection, and over HTTP there is none.
        if self.connection.is_none()
            && let Some(resources) = &mut hello.capabilities.resources
        {
            resources.subscribe = None;
        }
        Ok(hello)
    }

    async fn list_tools(
        &self,
        request: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        only_page(request)?;
        let session = self.session(&context)?;
        // What the caller may not do at all is not offered.
        let offered = |tool: &&Tool| self.surface.needs(&tool.name).is_none_or(|needs| session.allows(needs));
        let tools = self.surface.tools().iter().filter(offered).cloned().collect();
        let mut list = ListToolsResult::with_all_items(tools);
        list.ttl_ms = Some(LISTS_TTL_MS);
        list.cache_scope = Some(CacheScope::Private);
        Ok(list)
    }

    fn get_tool(&self, name: &str) -> Option<Tool> {
        self.surface.tools().iter().find(|tool| tool.name == name).cloned()
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let (mut progress, listener) = Progress::new(&context);
        let session = self.session(&context)?.telling(listener).of_tool(self.surface.name(), &request.name);
        let bound = Bound::to(self.surface.name(), &request);
        let session = if is_stateless(&context) {
            let shows_forms = context.meta.client_capabilities().is_some_and(|can| shows_forms(&can));
            session.in_rounds(&bound, &request, shows_forms).await?
        } else {
            session
        };
        let arguments = request.arguments.unwrap_or_default();
        let Some(calling) = self.surface.call(&session, &request.name, arguments) else {
            let message = format!("unknown tool \"{}\"", echo(&request.name));
            return Err(ErrorData::new(ErrorCode::INVALID_PARAMS, message, None));
        };
        let (logged, span) = self.spans(&context, &request.name);
        // Whoever gave up waiting for work must not be handed some later.
        let answer = tokio::select! {
            biased;
            answer = calling.instrument(span.clone()).instrument(logged) => answer,
            () = context.ct.cancelled() => {
                span.record(OUTCOME, "cancelled");
                session.give_up_runs();
                return Err(ErrorData::internal_error("the request was cancelled", None));
            }
            () = progress.tell(&context) => {
                return Err(ErrorData::internal_error("progress ended before the call", None));
            }
        };
        progress.end(&context).await;
        if let Some(form) = session.asks_back(&bound).await {
            span.record(OUTCOME, "input_required");
            return Ok(form.into());
        }
        span.record(OUTCOME, answer.outcome());
        Ok(CallToolResult::from(answer).into())
    }

    // What is not offered is not there: an empty list would say that it is, and has nothing in it.

    async fn list_prompts(
        &self,
        request: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListPromptsResult, ErrorData> {
        offers::prompts(&*self.surface, request)
    }

    async fn get_prompt(
        &self,
        request: GetPromptRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<GetPromptResponse, ErrorData> {
        let session = self.session(&context)?;
        offers::prompt(&*self.surface, &session, request).instrument(logged(&context)).await
    }

    async fn list_resources(
        &self,
        request: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListResourcesResult, ErrorData> {
        offers::resources(&*self.surface, request)
    }

    async fn list_resource_templates(
        &self,
        request: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListResourceTemplatesResult, ErrorData> {
        offers::resource_templates(&*self.surface, request)
    }

    async fn read_resource(
        &self,
        request: ReadResourceRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<ReadResourceResponse, ErrorData> {
        let session = self.session(&context)?;
        offers::read(&*self.surface, &session, &request.uri).instrument(logged(&context)).await
    }

    async fn complete(
        &self,
        request: CompleteRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CompleteResult, ErrorData> {
        let session = self.session(&context)?;
        offers::complete(&*self.surface, &session, request).instrument(logged(&context)).await
    }

    async fn subscribe(
        &self,
        request: SubscribeRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        let Some(connection) = self.connection.as_ref().filter(|_| self.surface.has_subscriptions()) else {
            return Err(ErrorData::method_not_found::<SubscribeRequestMethod>());
        };
        let uri = request.uri;
        let Some(watch) = self.surface.watch(&uri) else { return Err(offers::no_resource(&uri)) };
        let added = connection.subscriptions.add(&self.hub, &connection.session, &context.peer, uri.clone(), &watch);
        added.await.map_err(|error| offers::refused(&error, Some(&uri)))
    }

    async fn unsubscribe(
        &self,
        request: UnsubscribeRequestParams,
        _context: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        let Some(connection) = self.connection.as_ref().filter(|_| self.surface.has_subscriptions()) else {
            return Err(ErrorData::method_not_found::<UnsubscribeRequestMethod>());
        };
        connection.subscriptions.remove(&request.uri).await;
        Ok(())
    }

    fn accepted_subscription_filter(&self, requested: &SubscriptionFilter) -> Option<SubscriptionFilter> {
        if !self.surface.has_subscriptions() {
            return None;
        }
        let wanted = requested.resource_subscriptions.iter().flatten();
        let known = wanted.filter(|uri| self.surface.watch(uri).is_some()).take(SUBSCRIPTIONS).cloned();
        Some(SubscriptionFilter::builder().resource_subscriptions(known).build())
    }

    async fn listen(&self, context: SubscriptionContext) -> Result<(), ErrorData> {
        let request = context.request_context();
        let busy = || ErrorData::internal_error("as many streams are open on this connection as may", None);
        let streams = self.connection.as_ref().map(|connection| connection.streams.try_acquire());
        let _place = streams.transpose().map_err(|_| busy())?;
        let session = self.session(request)?;
        let ear = match Overheard::of(request) {
            Some(ear) => Ok(ear),
            None => self.hub.listen(session.engine()).await,
        };
        let mut ear = ear.map_err(|error| offers::refused(&error, None))?;
        let wanted = context.accepted().resource_subscriptions.iter().flatten();
        let watched = wanted.filter_map(|uri| Some((uri.clone(), self.surface.watch(uri)?)));
        let subjects = Subjects::find(&session, watched).instrument(logged(request)).await;
        let gone = self.connection.as_ref().map_or_else(CancellationToken::new, |connection| connection.gone.clone());
        loop {
            let changed = tokio::select! {
                changed = ear.changed(session.engine(), &subjects) => changed,
                () = context.cancelled() => return Ok(()),
                () = session.stopped() => return Ok(()),
                () = gone.cancelled() => return Ok(()),
            };
            for uri in changed {
                if context.sink().notify_resource_updated(uri).await.is_err() {
                    return Ok(());
                }
            }
        }
    }

    async fn on_custom_request(
        &self,
        request: CustomRequest,
        context: RequestContext<RoleServer>,
    ) -> Result<CustomResult, ErrorData> {
        let method = echo(&request.method);
        let known = request.method.as_str();
        if self.has_method(known) || (REMOVED.contains(&known) && !is_stateless(&context)) {
            return Err(ErrorData::invalid_params(format!("the parameters of {method} have the wrong shape"), None));
        }
        Err(ErrorData::new(ErrorCode::METHOD_NOT_FOUND, format!("unknown method \"{method}\""), None))
    }
}

impl std::fmt::Debug for DocketServer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("DocketServer").field("surface", &self.surface.name()).finish_non_exhaustive()
    }
}
