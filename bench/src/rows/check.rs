//! A check that runs `true`, with its log and two looks at the work tree, beside the same containment alone.

use std::path::Path;
use std::process::Command;
use std::time::Instant;

use anyhow::{Context as _, Result, ensure};
use docket_runner::{Cancel, Ended, Order, Runner, Settings, tree_blocking};

use crate::report::{Bound, Row, Unit};
use crate::stage::Stage;
use crate::stats::Samples;

/// How many files the larger work tree has.
const FILES: usize = 5000;

pub(crate) fn run(stage: &Stage) -> Result<Vec<Row>> {
    let root = stage.folder("check/small")?;
    repository(&root, 20)?;
    let runner = Runner::new(Settings { program: stage.program("docket")?, ..Settings::default() });
    let order = Order::new(&root, "true");
    let cancel = Cancel::new()?;
    let (mut checks, mut bare) = (Samples::default(), Samples::default());
    let mut sandbox = String::new();
    for round in 0..=stage.pick(200, 30) {
        let begun = Instant::now();
        let report = runner.run_blocking(&order, None, &cancel)?;
        let checked = begun.elapsed();
        ensure!(report.passed() && report.tree_stood_still(), "the check failed: {}", report.ended);
        let begun = Instant::now();
        let ended = runner.bare_blocking(&order)?;
        let alone = begun.elapsed();
        ensure!(ended == Ended::Exited(0), "the command failed: {ended}");
        sandbox = report.sandbox.to_string();
        // The first round warms up.
        if round > 0 {
            checks.time(checked);
            bare.time(alone);
        }
    }
    let large = stage.folder("check/large")?;
    repository(&large, FILES)?;
    let (mut unchanged, mut status) = (Samples::default(), Samples::default());
    for _ in 0..stage.pick(30, 5) {
        let begun = Instant::now();
        tree_blocking(&large)?.context("no work tree")?;
        unchanged.time(begun.elapsed());
        let begun = Instant::now();
        git(&large, &["status", "--porcelain"])?;
        status.time(begun.elapsed());
    }
    Ok(vec![
        Row::versus(
            "a check that runs true, to the same containment alone",
            Unit::Seconds,
            checks.median(),
            bare.median(),
            Bound::AtMost(3.0),
        )
        .noted(sandbox),
        Row::versus(
            format!("the tree of {FILES} unchanged files, to git status"),
            Unit::Seconds,
            unchanged.median(),
            status.median(),
            Bound::AtMost(4.0),
        ),
    ])
}

fn repository(root: &Path, files: usize) -> Result<()> {
    git(root, &["init", "--quiet"])?;
    for number in 0..files {
        let folder = root.join(format!("part-{}", number / 100));
        std::fs::create_dir_all(&folder)?;
        std::fs::write(folder.join(format!("file-{number}.txt")), format!("the text of file {number}\n"))?;
    }
    git(root, &["add", "--all"])?;
    git(root, &["-c", "user.name=bench", "-c", "user.email=bench@localhost", "commit", "--quiet", "-m", "all"])
}

fn git(root: &Path, words: &[&str]) -> Result<()> {
    let done = Command::new("git").args(words).current_dir(root).env("GIT_CONFIG_GLOBAL", "/dev/null").output()?;
    ensure!(done.status.success(), "git {words:?}: {}", String::from_utf8_lossy(&done.stderr));
    Ok(())
}
