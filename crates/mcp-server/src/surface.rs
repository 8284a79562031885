//! A surface is a named set of tools over the engine. Dialects and the native surface plug in here.

use std::pin::Pin;
use std::sync::Arc;

use docket_core::access::Needs;
use docket_core::{Error, Reason, echo};
use rmcp::model::{JsonObject, Tool};

use crate::answer::Answer;
use crate::dialects::TaskOrchestrator;
use crate::session::Session;

/// A tool call under way.
pub type Calling<'s> = Pin<Box<dyn Future<Output = Answer> + Send + 's>>;

/// A set of tools. It parses, calls the engine and shapes answers; it holds no rule.
pub trait Surface: Send + Sync + 'static {
    /// What `--surface` calls it.
    fn name(&self) -> &'static str;

    /// What an agent should know before its first call.
    fn instructions(&self) -> &'static str;

    /// Its tools, made once.
    fn tools(&self) -> &[Tool];

    /// What a caller needs for the least that a tool can do; `None` where it reads.
    fn needs(&self, tool: &str) -> Option<Needs>;

    /// Calls a tool; `None` when it has none of this name.
    fn call<'s>(&'s self, session: &'s Session, tool: &str, arguments: JsonObject) -> Option<Calling<'s>>;
}

/// The names of all surfaces, the default first.
pub fn surfaces() -> &'static [&'static str] {
    &[TaskOrchestrator::NAME]
}

/// The surface of this name.
pub fn surface(name: &str) -> Result<Arc<dyn Surface>, Error> {
    match name {
        TaskOrchestrator::NAME => Ok(Arc::new(TaskOrchestrator::new())),
        _ => Err(Error::validation(
            Reason::UnknownValue,
            format!("surface must be one of {}, not \"{}\"", surfaces().join(", "), echo(name)),
        )
        .at("surface")),
    }
}
