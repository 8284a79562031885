//! The log: on standard error, for whoever runs the program. It says nothing above warnings unless it is asked to.

use std::io::IsTerminal;
use std::sync::OnceLock;

use docket_core::span::TARGET;
use docket_rest_api::REQUESTS;
use tracing_subscriber::layer::SubscriberExt as _;
use tracing_subscriber::util::SubscriberInitExt as _;
use tracing_subscriber::{EnvFilter, Layer, Registry, fmt};

use crate::config::locate::Surroundings;
use crate::exit::Failure;
use crate::telemetry::Telemetry;

static STARTED: OnceLock<()> = OnceLock::new();

/// Warnings, but not of what is told to whoever asked: the engine's errors are in its answers, and the protocol's too.
const DEFAULT: &str = "warn,docket_core::engine=error,rmcp=error";

/// Who is refused by a server is told to whoever looks after it, at whatever level the rest is.
const AUDIT: &str = "docket::audit";

/// Starts the log, once: as the environment says, else as the configuration says, else warnings. Spans also go where traces
/// are collected.
pub(crate) fn start(
    around: &Surroundings,
    configured: Option<&str>,
    json: bool,
    telemetry: Option<&Telemetry>,
    serves: bool,
) -> Result<(), Failure> {
    if STARTED.set(()).is_err() {
        return Ok(());
    }
    let filter = around.log_filter.as_deref().or(configured).unwrap_or(DEFAULT);
    let parsed: EnvFilter = filter.parse().map_err(|error| {
        Failure::environment(format!(
            "DOCKET_LOG or RUST_LOG: \"{}\" is not a log filter: {error}",
            docket_core::echo(filter)
        ))
    })?;
    let always = always(filter, serves).into_iter().filter_map(|directive| directive.parse().ok());
    let filter = always.fold(parsed, EnvFilter::add_directive);
    // Somebody else's log in the same process would be as good.
    _ = match telemetry {
        None => tracing_subscriber::registry().with(lines(json)).with(filter).try_init(),
        Some(telemetry) => {
            let layers = vec![lines(json).with_filter(filter).boxed(), telemetry.layer()];
            tracing_subscriber::registry().with(layers).try_init()
        }
    };
    Ok(())
}

/// What holds whatever a filter says of the rest.
fn always(filter: &str, serves: bool) -> Vec<String> {
    // A line belongs to its request, not to a part of it.
    let mut always = vec![format!("{TARGET}=off")];
    if serves {
        always.push(format!("{REQUESTS}=error"));
    }
    let mut parts = filter.split(',').map(str::trim);
    if serves && !parts.any(|part| part.eq_ignore_ascii_case("off") || part.starts_with(AUDIT)) {
        always.push(format!("{AUDIT}=info"));
    }
    always
}

/// How lines are written.
fn lines(json: bool) -> Box<dyn Layer<Registry> + Send + Sync> {
    if json {
        let lines = fmt::layer().with_writer(std::io::stderr).json();
        return lines.flatten_event(true).with_current_span(true).with_span_list(false).boxed();
    }
    fmt::layer()
        .with_writer(std::io::stderr)
        .with_ansi(std::io::stderr().is_terminal() && std::env::var_os("NO_COLOR").is_none())
        .with_target(false)
        .compact()
        .boxed()
}
