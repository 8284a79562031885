//! The `docket` program: the composition root. It alone knows all crates, and it holds no rule.

mod args;
mod command;
mod config;
mod database;
mod embedding;
mod exit;
mod gate;
mod logging;
mod names;
mod output;
mod prover;
mod session;
mod telemetry;

use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use args::Cli;
use config::locate::Surroundings;
use exit::Failure;
use output::Output;
use session::Shell;

/// How long what was begun may take to end, once the command has.
const SHUTDOWN: Duration = Duration::from_secs(10);

fn main() -> ExitCode {
    // A check is watched over by this program, started again: before anything else happens in it.
    if let Some(code) = docket_runner::supervise() {
        return code;
    }
    let cli = match args::parse(std::env::args_os().collect()) {
        Ok(cli) => cli,
        Err(code) => return ExitCode::from(code),
    };
    let json = cli.globals.json;
    match run(cli) {
        Ok(()) => ExitCode::from(exit::OK),
        Err(failure) => {
            output::report(&failure, json);
            ExitCode::from(failure.code())
        }
    }
}

fn run(cli: Cli) -> Result<(), Failure> {
    let out = Output::new(cli.globals.json);
    let shell = Shell {
        around: Surroundings::read()?,
        globals: cli.globals,
        out,
        opened: std::sync::Mutex::default(),
        proving: Arc::default(),
        making: std::sync::Mutex::default(),
    };
    let serves = matches!(cli.verb, args::Verb::Serve(_));
    // A server's configuration says in which form it logs.
    if shell.around.log_filter.is_some() && !serves {
        logging::start(&shell.around, None, false, None, false)?;
    }
    // One thread is enough where there is one caller, and quicker: nobody has to be woken.
    let mut runtime = if serves {
        tokio::runtime::Builder::new_multi_thread()
    } else {
        tokio::runtime::Builder::new_current_thread()
    };
    let runtime = runtime
        .enable_all()
        .build()
        .map_err(|error| Failure::environment(format!("the program cannot start its runtime: {error}")))?;
    let done = runtime.block_on(async {
        let done = tokio::select! {
            done = command::run(&shell, cli.verb) => done,
            () = shell.interrupted() => Err(Failure::Told(exit::INTERRUPTED)),
        };
        shell.give_up_runs().await;
        shell.close().await;
        done
    });
    // A check that was given up ends within this time, with everything that it started.
    runtime.shutdown_timeout(SHUTDOWN);
    done
}
