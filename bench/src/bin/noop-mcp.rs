//! The baseline of every MCP call: a server on stdio with one tool that does nothing and answers a constant, so large as
//! its only argument says, as text and as structured content like every answer of the product.

use anyhow::{Context as _, Result};
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, ErrorData, Implementation, JsonObject,
    ListToolsResult, PaginatedRequestParams, ServerCapabilities, ServerConfig, Tool,
};
use rmcp::service::{RequestContext, RoleServer};
use rmcp::{ServerHandler, ServiceExt as _};
use serde_json::{Value, json};

#[derive(Clone)]
struct Noop {
    text: String,
    structured: Value,
}

impl Noop {
    fn new(bytes: usize) -> Self {
        let entry = json!({ "id": "018bcfe5-6800-7001-93c6-ef3620000000", "title": "an entry of ordinary length" });
        let entries = bytes / entry.to_string().len() + 1;
        let structured = json!({ "items": vec![entry; entries], "total": entries });
        Self { text: structured.to_string(), structured }
    }
}

impl ServerHandler for Noop {
    fn get_info(&self) -> ServerConfig {
        ServerConfig::new(ServerCapabilities::builder().enable_tools().build())
            .with_server_info(Implementation::new("noop", env!("CARGO_PKG_VERSION")))
    }

    async fn list_tools(
        &self,
        _request: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        let mut schema = JsonObject::new();
        schema.insert("type".to_owned(), json!("object"));
        Ok(ListToolsResult::with_all_items(vec![Tool::new("noop", "does nothing", schema)]))
    }

    async fn call_tool(
        &self,
        _request: CallToolRequestParams,
        _context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let mut result = CallToolResult::success(vec![ContentBlock::text(self.text.clone())]);
        result.structured_content = Some(self.structured.clone());
        Ok(result.into())
    }
}

fn main() -> Result<()> {
    let bytes = std::env::args().nth(1).context("usage: noop-mcp BYTES")?.parse()?;
    tokio::runtime::Builder::new_current_thread().enable_all().build()?.block_on(async {
        let service = Noop::new(bytes).serve(rmcp::transport::stdio()).await?;
        service.waiting().await?;
        Ok(())
    })
}
