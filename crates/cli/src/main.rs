//! The `docket` program: the composition root. It alone knows all crates, and it holds no rule.

mod args;
mod command;
mod config;
mod database;
mod exit;
mod gate;
mod logging;
mod names;
mod output;
mod session;

use std::process::ExitCode;

use args::Cli;
use config::locate::Surroundings;
use exit::Failure;
use output::Output;
use session::Shell;

fn main() -> ExitCode {
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
    let shell = Shell { around: Surroundings::read()?, globals: cli.globals, out, opened: std::sync::Mutex::default() };
    let serves = matches!(cli.verb, args::Verb::Serve(_));
    // A server's configuration says in which form it logs.
    if shell.around.log_filter.is_some() && !serves {
        logging::start(&shell.around, None, false)?;
    }
    // One thread is enough where there is one caller: SQLite has threads of its own.
    let mut runtime = if serves {
        tokio::runtime::Builder::new_multi_thread()
    } else {
        tokio::runtime::Builder::new_current_thread()
    };
    let runtime = runtime
        .enable_all()
        .build()
        .map_err(|error| Failure::environment(format!("the program cannot start its runtime: {error}")))?;
    runtime.block_on(async {
        let done = command::run(&shell, cli.verb).await;
        shell.close().await;
        done
    })
}
