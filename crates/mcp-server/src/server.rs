//! The MCP side of a connection: what the server says of itself, its tool list, and the way from a call to a surface.

use std::sync::Arc;

use docket_core::echo;
use rmcp::ServerHandler;
use rmcp::model::{
    CacheScope, CallToolRequestParams, CallToolResponse, CallToolResult, CustomRequest, CustomResult, ErrorCode,
    ErrorData, Implementation, ListToolsResult, PaginatedRequestParams, ServerCapabilities, ServerConfig, Tool,
};
use rmcp::service::{RequestContext, RoleServer};

use crate::session::Session;
use crate::surface::Surface;

/// How long a client may keep the tool list: it changes only with the program.
const TOOLS_TTL_MS: u64 = 24 * 60 * 60 * 1000;

/// Methods that exist; a request for one of them that could not be read had bad parameters.
const METHODS: [&str; 4] = ["tools/call", "tools/list", "initialize", "ping"];

/// One surface served to one connection.
#[derive(Clone)]
pub struct DocketServer {
    session: Session,
    surface: Arc<dyn Surface>,
}

impl DocketServer {
    /// Serves a surface.
    pub fn new(session: Session, surface: Arc<dyn Surface>) -> Self {
        Self { session, surface }
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
        let arguments = request.arguments.unwrap_or_default();
        let Some(calling) = self.surface.call(&self.session, &request.name, arguments) else {
            let message = format!("unknown tool \"{}\"", echo(&request.name));
            return Err(ErrorData::new(ErrorCode::INVALID_PARAMS, message, None));
        };
        // Whoever gave up waiting for work must not be handed some later.
        tokio::select! {
            biased;
            answer = calling => Ok(CallToolResult::from(answer).into()),
            () = context.ct.cancelled() => Err(ErrorData::internal_error("the request was cancelled", None)),
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
