//! `cargo xtask test`: everything there is to test, in one command.
//!
//! Tests that start the real binary need it built first; in one build with the tests, because Cargo would compile the
//! dependencies twice for two sets of features. It has the bugs that tests of promises plant, asleep until a test names
//! one; what is built for use has none.

use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context as _, Result};

use crate::metadata;
use crate::run::{cargo, has_cargo, step};

/// The binary with its planted bugs. Every command says so, or Cargo would build the tests again without them.
pub(crate) const PLANTED: [&str; 2] = ["--features", "docket-cli/plant"];

/// Tells the tests which binary to start.
pub(crate) const BINARY: &str = "DOCKET_BIN";

pub(crate) fn run() -> Result<()> {
    step(cargo(&["build", "--workspace", "--all-targets"]).args(PLANTED))?;
    let binary = set_aside()?;
    // Before the others, so that the last thing a reader sees is the count of all tests.
    step(cargo(&["test", "--workspace", "--doc"]).args(PLANTED))?;
    if has_cargo("nextest") {
        step(with_postgres(cargo(&["nextest", "run", "--workspace"]).args(PLANTED))?.env(BINARY, &binary))?;
    } else {
        println!("# cargo-nextest is not installed: cargo test runs the same tests, one program after the other");
        let mut tests = cargo(&["test", "--workspace", "--tests", "--no-fail-fast"]);
        step(with_postgres(tests.args(PLANTED))?.env(BINARY, &binary))?;
    }
    println!("# passed: the unit, integration and documentation tests of every package of the workspace");
    Ok(())
}

/// The same command with a throwaway Postgres server, unless `DOCKET_TEST_POSTGRES` names one. Needs the package
/// docket-tests to be built.
pub(crate) fn with_postgres(command: &Command) -> Result<Command> {
    let program = format!("with-postgres{}", std::env::consts::EXE_SUFFIX);
    let mut wrapped = Command::new(metadata::target()?.join("debug").join(program));
    wrapped.arg(command.get_program()).args(command.get_args());
    wrapped.envs(command.get_envs().filter_map(|(name, value)| Some((name, value?))));
    if let Some(folder) = command.get_current_dir() {
        wrapped.current_dir(folder);
    }
    Ok(wrapped)
}

/// Copies the binary that was built, so that no other build can put another one in its place while the tests run.
pub(crate) fn set_aside() -> Result<PathBuf> {
    let name = format!("docket{}", std::env::consts::EXE_SUFFIX);
    let target = metadata::target()?;
    let folder = target.join("xtask");
    std::fs::create_dir_all(&folder).with_context(|| format!("cannot make {}", folder.display()))?;
    let (built, aside) = (target.join("debug").join(&name), folder.join(&name));
    std::fs::copy(&built, &aside).with_context(|| format!("cannot copy {}", built.display()))?;
    Ok(aside)
}
