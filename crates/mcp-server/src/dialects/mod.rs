//! The tool sets of other systems, spoken as they are written. One folder each.

mod task_orchestrator;

pub(crate) use task_orchestrator::TaskOrchestrator;
