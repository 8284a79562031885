//! Runs other programs at the root of the repository, saying which and for how long.

use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::Instant;

use anyhow::{Context as _, Result, bail};

/// The root of the repository. Cargo says where we are; a program that was moved away from it knows where it was built.
pub(crate) fn root() -> PathBuf {
    let manifest =
        std::env::var_os("CARGO_MANIFEST_DIR").map_or_else(|| env!("CARGO_MANIFEST_DIR").into(), PathBuf::from);
    manifest.parent().map_or_else(|| manifest.clone(), PathBuf::from)
}

/// Cargo with these words: the one that started us, so that the toolchain is the same.
pub(crate) fn cargo(words: &[&str]) -> Command {
    let program = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = Command::new(program);
    command.args(words).current_dir(root());
    command
}

/// Whether Cargo knows a subcommand that does not come with it.
pub(crate) fn has_cargo(subcommand: &str) -> bool {
    let probe = cargo(&[subcommand, "--version"]).stdout(Stdio::null()).stderr(Stdio::null()).status();
    probe.is_ok_and(|status| status.success())
}

/// Runs a command to its end, in full view.
pub(crate) fn step(command: &mut Command) -> Result<()> {
    let shown = shown(command);
    println!("$ {shown}");
    let begun = Instant::now();
    let status = command.status().with_context(|| format!("cannot start {shown}"))?;
    println!("# {:.1} s: {shown}", begun.elapsed().as_secs_f64());
    if !status.success() {
        bail!("{shown}: {status}");
    }
    Ok(())
}

/// Runs a command to its end and returns what it wrote.
pub(crate) fn output(command: &mut Command) -> Result<Vec<u8>> {
    let shown = shown(command);
    let done = command.stderr(Stdio::inherit()).output().with_context(|| format!("cannot start {shown}"))?;
    if !done.status.success() {
        bail!("{shown}: {}", done.status);
    }
    Ok(done.stdout)
}

/// A command as one would type it.
fn shown(command: &Command) -> String {
    let words = std::iter::once(command.get_program()).chain(command.get_args());
    // Programs are shown by their names: where they lie is of no interest.
    let name = |word: &std::ffi::OsStr| {
        let path = std::path::Path::new(word);
        let shown = if path.is_absolute() { path.file_name().unwrap_or(word) } else { word };
        shown.to_string_lossy().into_owned()
    };
    words.map(name).collect::<Vec<_>>().join(" ")
}
