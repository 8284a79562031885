//! `cargo xtask test`: everything there is to test, in one command.
//!
//! Tests that start the real binary find it beside them, so it is built first; in one build with the tests, because
//! Cargo would compile the dependencies twice for two sets of features. It has the bugs that tests of promises plant,
//! asleep until a test names one; what is built for use has none.

use std::process::Command;

use anyhow::Result;

use crate::run::{cargo, has_cargo, step};

/// The binary with its planted bugs. Every command says so, or the next one would build it without them.
pub(crate) const PLANTED: [&str; 2] = ["--features", "docket-cli/plant"];

/// Tells the tests that the binary is there, so that none builds it.
const BUILT: &str = "DOCKET_BUILT";

pub(crate) fn run() -> Result<()> {
    step(&mut planted(&["build", "--workspace", "--all-targets"]))?;
    if has_cargo("nextest") {
        step(&mut planted(&["nextest", "run", "--workspace"]))?;
    } else {
        println!("# cargo-nextest is not installed: cargo test runs the same tests, one program after the other");
        step(&mut planted(&["test", "--workspace", "--tests", "--no-fail-fast"]))?;
    }
    step(&mut planted(&["test", "--workspace", "--doc"]))?;
    println!("# passed: the unit, integration and documentation tests of every package of the workspace");
    Ok(())
}

fn planted(words: &[&str]) -> Command {
    let mut command = cargo(words);
    command.args(PLANTED).env(BUILT, "1");
    command
}
