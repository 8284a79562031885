//! Temporary: stands in for the MCP crate while it does not compile.
#[cfg(feature = "server")]
pub(crate) use docket_mcp_server::*;
#[cfg(not(feature = "server"))]
mod stub {
    use std::sync::Arc;
    use docket_core::model::*;
    use docket_core::store::ProjectRef;
    pub(crate) struct Settings { pub engine: docket_core::Engine, pub project: ProjectRef, pub principal: Name, pub actor: Option<Attribution>, pub policy: DegradedMode, pub require_actor: bool }
    pub(crate) fn surfaces() -> &'static [&'static str] { &["task-orchestrator"] }
    pub(crate) fn surface(_: &str) -> Result<Arc<()>, docket_core::Error> { Ok(Arc::new(())) }
    pub(crate) async fn serve_stdio(_: Settings, _: Arc<()>) -> Result<(), std::io::Error> { Ok(()) }
}
#[cfg(not(feature = "server"))]
pub(crate) use stub::*;
