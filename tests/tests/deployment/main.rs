//! What the files for deployment say is so: the image, the compose file, the unit and the guide name commands, options,
//! variables, settings, ports and metrics that the real program has.
//!
//! No image is built here and no container started: that needs a daemon and a network. Seen to catch: another port at the
//! proxy, root in the image, a misspelt setting, option, variable or metric, a health check by a name that is refused, and an
//! alias that the compose file does not have.

mod checked;
mod commands;
mod compose;
mod image;
mod proxied;
mod running;

use std::path::PathBuf;
use std::process::{Command, Output};

use docket_tests::program::docket;

/// Everything that somebody who deploys Docket reads or copies.
const FILES: [&str; 9] = [
    "Dockerfile",
    "deploy/compose.yaml",
    "deploy/haproxy.cfg",
    "deploy/docket.toml",
    "deploy/docket.service",
    "deploy/docket-runner.service",
    "deploy/runner/Dockerfile",
    "deploy/.env.example",
    "docs/guides/fleet.md",
];

/// The port that `docket serve` takes when nobody says otherwise.
const PORT: &str = "7420";

/// A file of the repository.
fn path(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("..").join(name)
}

fn read(name: &str) -> String {
    std::fs::read_to_string(path(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
}

/// Runs the program with nothing of the developer's around.
fn run(arguments: &[&str]) -> Output {
    let folder = tempfile::tempdir().expect("a folder");
    let mut command = Command::new(docket());
    command.args(arguments).current_dir(folder.path()).env_clear().env("HOME", folder.path());
    command.output().expect("the program runs")
}

/// Words of a text that begin so and go on with these characters.
fn words<'t>(text: &'t str, start: &'t str, more: fn(char) -> bool) -> Vec<&'t str> {
    let ends = |from: &'t str| from.find(|c| !more(c)).unwrap_or(from.len());
    let begins = |at: usize| !text[..at].ends_with(more);
    text.match_indices(start).filter(|(at, _)| begins(*at)).map(|(at, _)| &text[at..][..ends(&text[at..])]).collect()
}
