//! `cargo xtask test`: everything there is to test, in one command.
//!
//! Tests that start the real binary find it beside them, so it is built first; in one build with the tests, because
//! Cargo would compile the dependencies twice for two sets of features.

use anyhow::Result;

use crate::run::{cargo, has_cargo, step};

pub(crate) fn run() -> Result<()> {
    step(&mut cargo(&["build", "--workspace", "--all-targets"]))?;
    if has_cargo("nextest") {
        step(&mut cargo(&["nextest", "run", "--workspace"]))?;
    } else {
        println!("# cargo-nextest is not installed: cargo test runs the same tests, one program after the other");
        step(&mut cargo(&["test", "--workspace", "--tests", "--no-fail-fast"]))?;
    }
    step(&mut cargo(&["test", "--workspace", "--doc"]))?;
    println!("# passed: the unit, integration and documentation tests of every package of the workspace");
    Ok(())
}
