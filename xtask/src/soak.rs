//! `cargo xtask soak`: the experiments on what is promised, at a length that no test command can afford.

use anyhow::{Context as _, Result, bail};

use crate::run::{cargo, step};
use crate::test::{BINARY, PLANTED, set_aside, with_postgres};

/// How many times as long as in the test command, where nothing is said.
const TIMES: u32 = 10;
/// Scripts that every store must answer alike, where nothing is said.
const PARITY_SCRIPTS: u32 = 5000;

pub(crate) fn run(words: &[&str]) -> Result<()> {
    let times = match words {
        [] => TIMES,
        [times] => times.parse().with_context(|| format!("\"{times}\" is not a number of times"))?,
        _ => bail!("soak takes one number: how many times as long"),
    };
    step(cargo(&["build", "--package", "docket-cli", "--package", "docket-tests"]).args(PLANTED))?;
    let binary = set_aside()?;
    let mut experiments = cargo(&["test", "--package", "docket-tests", "--test", "promises", "--test", "parity"]);
    experiments.args(["--", "--test-threads=1", "--nocapture"]);
    let scripts = PARITY_SCRIPTS * times / TIMES;
    experiments.env("DOCKET_SOAK", times.to_string()).env("DOCKET_PARITY", scripts.to_string());
    step(with_postgres(&experiments)?.env(BINARY, &binary))
}
