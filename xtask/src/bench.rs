//! `cargo xtask bench`: what the product promises of speed and size, measured on a release build.
//!
//! The bench starts the real binary, which lies beside it, so both are built in one go: Cargo would compile the
//! dependencies twice for two sets of features.

use std::process::Command;

use anyhow::{Context as _, Result, bail};

use crate::run::{cargo, root, step};

pub(crate) fn run(words: &[&str]) -> Result<()> {
    step(&mut cargo(&["build", "--release", "--package", "docket-cli", "--package", "docket-bench"]))?;
    let target = root().join(std::env::var_os("CARGO_TARGET_DIR").unwrap_or_else(|| "target".into()));
    let program = target.join("release").join("docket-bench");
    let status = Command::new(&program)
        .args(words)
        .current_dir(root())
        .status()
        .with_context(|| format!("cannot start {}", program.display()))?;
    if !status.success() {
        bail!("not every promise is kept: see the table above, or target/bench.json");
    }
    Ok(())
}
