//! A small server that runs one command as a check is run, with the real program as its supervisor: something that tests
//! can cancel, and kill.
//!
//! `run-check PROGRAM FOLDER SECONDS namespace|subreaper COMMAND`; the line `cancel` on its input cancels. It says how the run
//! ended, what held it, and how much was said, one to a line.
#![expect(clippy::print_stdout, reason = "it is talked to by tests")]

use std::io::BufRead as _;
use std::process::ExitCode;
use std::time::Duration;

use docket_runner::{Cancel, Order, Runner, Settings};

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let [program, folder, seconds, kept, command] = words.as_slice() else { return ExitCode::from(2) };
    let Ok(cancel) = Cancel::new() else { return ExitCode::from(3) };
    let wish = cancel.clone();
    std::thread::spawn(move || {
        if std::io::stdin().lock().lines().any(|line| line.is_ok_and(|line| line == "cancel")) {
            wish.cancel();
        }
    });
    let settings = Settings { program: program.into(), namespace: kept == "namespace", ..Settings::default() };
    let timeout = Duration::from_secs(seconds.parse().unwrap_or(1));
    let order = Order { timeout, ..Order::new(folder, command.as_str()) };
    match Runner::new(settings).run_blocking(&order, None, &cancel) {
        Ok(report) => {
            println!("{}\n{}\n{}", report.ended, report.sandbox, report.log.bytes);
            ExitCode::SUCCESS
        }
        Err(refusal) => {
            println!("{refusal}");
            ExitCode::FAILURE
        }
    }
}
