//! `cargo xtask ci`: every check of a change. One failed step does not hide what the others would say.

use std::time::Instant;

use anyhow::{Result, bail};

use crate::run::{cargo, step};
use crate::{deny, test, tidy};

/// A step: its name and what it does.
type Step = (&'static str, fn() -> Result<()>);

/// The steps, the quick ones first.
const STEPS: [Step; 6] =
    [("fmt", fmt), ("tidy", tidy::run), ("clippy", clippy), ("deny", deny::run), ("test", test::run), ("docs", docs)];

pub(crate) fn run(wanted: &[&str]) -> Result<()> {
    let known = STEPS.map(|(name, _)| name);
    if let Some(unknown) = wanted.iter().find(|step| !known.contains(step)) {
        bail!("no step \"{unknown}\": there are {}", known.join(", "));
    }
    let mut failed = Vec::new();
    for (name, run) in STEPS.iter().filter(|(name, _)| wanted.is_empty() || wanted.contains(name)) {
        let begun = Instant::now();
        let done = run();
        let word = if done.is_ok() { "ok" } else { "FAILED" };
        println!("## {name}: {word}, {:.1} s", begun.elapsed().as_secs_f64());
        if let Err(error) = done {
            eprintln!("{error:#}");
            failed.push(*name);
        }
    }
    if !failed.is_empty() {
        bail!("failed: {}", failed.join(", "));
    }
    Ok(())
}

fn fmt() -> Result<()> {
    step(&mut cargo(&["fmt", "--all", "--", "--check"]))
}

fn clippy() -> Result<()> {
    let mut command = cargo(&["clippy", "--workspace", "--all-targets"]);
    step(command.args(test::PLANTED).args(["--", "-D", "warnings"]))
}

/// Warnings are errors for rustdoc alone: other flags would compile the dependencies again.
fn docs() -> Result<()> {
    step(cargo(&["doc", "--workspace", "--no-deps"]).env("RUSTDOCFLAGS", "-D warnings"))
}
