//! The tool sets of other systems, spoken as they are written. One folder each.

mod cairn;
mod execution;
mod foresttasks;
mod schema;
mod task_orchestrator;

pub(crate) use cairn::Cairn;
pub(crate) use execution::Execution;
pub(crate) use foresttasks::Foresttasks;
pub(crate) use task_orchestrator::TaskOrchestrator;
