//! `cargo xtask bench`: what Docket promises of speed and size, measured.
//!
//! Every figure stands beside a baseline that was taken in the same run, on the same disk, in turn with it, because the
//! machine is noisy; both are medians. The table goes to stdout, the same as JSON to `target/bench.json`. The exit code
//! is 1 when a bound does not hold or a part broke off.
#![expect(clippy::print_stdout, clippy::print_stderr, reason = "a tool for a terminal talks to it")]

mod base;
mod forest;
mod peer;
mod postgres;
mod raw;
mod report;
mod rows;
mod stage;
mod stats;
mod web;

use std::process::ExitCode;
use std::time::Instant;

use anyhow::{Context as _, Result};

use report::Report;
use rows::PARTS;
use stage::Stage;

/// The exit code of a command line that means nothing.
const USAGE_EXIT: u8 = 2;

fn main() -> ExitCode {
    let mut quick = false;
    let mut wanted = Vec::new();
    for word in std::env::args().skip(1) {
        if word == "--quick" {
            quick = true;
        } else if PARTS.iter().any(|(part, _)| *part == word) {
            wanted.push(word);
        } else {
            let parts = PARTS.map(|(part, _)| part);
            eprintln!("usage: docket-bench [--quick] [PART...]; the parts are {}", parts.join(", "));
            return ExitCode::from(USAGE_EXIT);
        }
    }
    match measure(quick, &wanted) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("docket-bench: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn measure(quick: bool, wanted: &[String]) -> Result<bool> {
    let stage = Stage::new(quick)?;
    let mut report = Report { quick, ..Report::default() };
    for (part, run) in PARTS.iter().filter(|(part, _)| wanted.is_empty() || wanted.iter().any(|word| word == part)) {
        let begun = Instant::now();
        match run(&stage) {
            Ok(rows) => report.rows.extend(rows),
            Err(error) => report.broken.push(((*part).to_owned(), format!("{error:#}"))),
        }
        eprintln!("# {part}: {:.1} s", begun.elapsed().as_secs_f64());
    }
    println!("{}", report.table());
    let file = stage.json();
    let json = serde_json::to_string_pretty(&report.json())?;
    std::fs::write(&file, json + "\n").with_context(|| format!("cannot write {}", file.display()))?;
    Ok(report.passed())
}
