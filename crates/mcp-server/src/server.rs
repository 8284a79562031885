//! The MCP side of a connection: what the server says of itself, its tool list, and the way from a call to a surface.

use std::sync::Arc;
use std::time::Duration;

use docket_core::echo;
use rmcp::ServerHandler;
use rmcp::model::{
    CacheScope, CallToolRequestParams, CallToolResponse, CallToolResult, CustomRequest, CustomResult, ErrorCode,
    ErrorData, Implementation, ListToolsResult, PaginatedRequestParams, ProgressNotificationParam, ServerCapabilities,
    ServerConfig, Tool,
};
use rmcp::service::{RequestContext, RoleServer};

use crate::session::Session;
use crate::surface::Surface;

/// How long a client may keep the tool list: it changes only with the program.
const TOOLS_TTL_MS: u64 = 24 * 60 * 60 * 1000;

/// Methods that exist; a request for one of them that could not be read had bad parameters.
const METHODS: [&str; 4] = ["tools/call", "tools/list", "initialize", "ping"];

/// How often a call that takes long tells its caller so, where the caller asked to be told.
const PROGRESS: Duration = Duration::from_secs(5);

/// One surface served to one connection.
#[derive(Clone)]
pub struct DocketServer {
    /// Who is connected; over HTTP every request says so itself.
    session: Option<Session>,
    surface: Arc<dyn Surface>,
}

impl DocketServer {
    /// Serves a surface.
    pub fn new(session: Session, surface: Arc<dyn Surface>) -> Self {
        Self { session: Some(session), surface }
    }

    /// Serves a surface to callers that come with their requests.
    pub(crate) fn over_http(surface: Arc<dyn Surface>) -> Self {
        Self { session: None, surface }
    }

    /// The session of a connection, or the one that came with a request.
    fn session(&self, context: &RequestContext<RoleServer>) -> Result<Session, ErrorData> {
        let with_request = || context.extensions.get::<http::request::Parts>()?.extensions.get::<Session>().cloned();
        self.session
            .clone()
            .or_else(with_request)
            .ok_or_else(|| ErrorData::internal_error("nobody is known to have sent this", None))
    }
}

/// Tells a caller who asked for it that its call is still under way. Never ends by itself.
async fn tell_progress(context: &RequestContext<RoleServer>) {
    let Some(token) = context.meta.get_progress_token() else { return std::future::pending().await };
    let mut seconds = 0.0;
    loop {
        tokio::time::sleep(PROGRESS).await;
        seconds += PROGRESS.as_secs_f64();
        let progress = ProgressNotificationParam::new(token.clone(), seconds).with_message("still under way");
        // Whoever does not take it learns the end all the same.
        _ = context.peer.notify_progress(progress).await;
    }
}

impl ServerHandler for DocketServer {
    fn get_info(&self) -> ServerConfig {
        let about = Implementation::new("docket", env!("CARGO_PKG_VERSION"));
        ServerConfig::new(ServerCapabilities::builder().enable_tools().build())
            .with_server_info(about)
            .with_instructions(self.surface.instructions())
    }

    async fn list_tools(
        &self,
        request: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        if request.is_some_and(|request| request.cursor.is_some()) {
            return Err(ErrorData::invalid_params("the tool list has one page: no cursor was given out", None));
        }
        let mut list = ListToolsResult::with_all_items(self.surface.tools().to_vec());
        list.ttl_ms = Some(TOOLS_TTL_MS);
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
        let session = self.session(&context)?;
        let arguments = request.arguments.unwrap_or_default();
        let Some(calling) = self.surface.call(&session, &request.name, arguments) else {
            let message = format!("unknown tool \"{}\"", echo(&request.name));
            return Err(ErrorData::new(ErrorCode::INVALID_PARAMS, message, None));
        };
        // Whoever gave up waiting for work must not be handed some later.
        tokio::select! {
            biased;
            answer = calling => Ok(CallToolResult::from(answer).into()),
            () = context.ct.cancelled() => Err(ErrorData::internal_error("the request was cancelled", None)),
            () = tell_progress(&context) => Err(ErrorData::internal_error("progress ended before the call", None)),
        }
    }

    async fn on_custom_request(
        &self,
        request: CustomRequest,
        _context: RequestContext<RoleServer>,
    ) -> Result<CustomResult, ErrorData> {
        let method = echo(&request.method);
        if METHODS.contains(&request.method.as_str()) {
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
