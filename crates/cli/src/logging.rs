//! The log: on standard error, for whoever runs the program. It says nothing above warnings unless it is asked to.

use std::io::IsTerminal;
use std::sync::OnceLock;

use tracing_subscriber::EnvFilter;

use crate::config::locate::Surroundings;
use crate::exit::Failure;

static STARTED: OnceLock<()> = OnceLock::new();

/// Warnings, but not of what is told to whoever asked: the engine's errors are in its answers, and the protocol's too.
const DEFAULT: &str = "warn,docket_core::engine=error,rmcp=error";

/// Starts the log, once: as the environment says, else as the configuration says, else warnings.
pub(crate) fn start(around: &Surroundings, configured: Option<&str>, json: bool) -> Result<(), Failure> {
    if STARTED.set(()).is_err() {
        return Ok(());
    }
    let filter = around.log_filter.as_deref().or(configured).unwrap_or(DEFAULT);
    let filter: EnvFilter = filter.parse().map_err(|error| {
        Failure::environment(format!(
            "DOCKET_LOG or RUST_LOG: \"{}\" is not a log filter: {error}",
            docket_core::echo(filter)
        ))
    })?;
    if json {
        let log = tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr).json();
        // Somebody else's log in the same process would be as good.
        _ = log.flatten_event(true).with_current_span(true).with_span_list(false).try_init();
        return Ok(());
    }
    let log = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(std::io::stderr)
        .with_ansi(std::io::stderr().is_terminal() && std::env::var_os("NO_COLOR").is_none())
        .with_target(false)
        .compact();
    // Somebody else's log in the same process would be as good.
    _ = log.try_init();
    Ok(())
}
