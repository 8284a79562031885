//! `cargo xtask soak`: the experiments on what is promised, at a length that no test command can afford.

use anyhow::{Context as _, Result, bail};

use crate::run::{cargo, step};
use crate::test::{BINARY, PLANTED, set_aside};

/// How many times as long as in the test command, where nothing is said.
const TIMES: u32 = 10;

pub(crate) fn run(words: &[&str]) -> Result<()> {
    let times = match words {
        [] => TIMES,
        [times] => times.parse().with_context(|| format!("\"{times}\" is not a number of times"))?,
        _ => bail!("soak takes one number: how many times as long"),
    };
    step(cargo(&["build", "--package", "docket-cli"]).args(PLANTED))?;
    let binary = set_aside()?;
    let mut experiments =
        cargo(&["test", "--package", "docket-tests", "--test", "promises", "--", "--test-threads=1", "--nocapture"]);
    step(experiments.env(BINARY, &binary).env("DOCKET_SOAK", times.to_string()))
}
