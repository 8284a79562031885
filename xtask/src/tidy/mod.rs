//! `cargo xtask tidy`: the rules of `docs/STYLE.md` and `docs/ARCHITECTURE.md` that no compiler checks.
//!
//! A rule is a function from files to findings, so that its tests can show it a file that breaks it.

mod documented;
mod layers;
mod links;
mod sizes;
mod source;
mod tree;
mod words;

use std::path::Path;

use anyhow::{Context as _, Result, bail};

use crate::{metadata, run};
use sizes::Sizes;
use source::Source;

const SIZES: &str = "xtask/tidy.toml";

/// Folders that hold nothing of ours.
const SKIPPED: [&str; 4] = [".git", ".docket", "node_modules", "target"];

/// A text file of the repository.
#[derive(Debug)]
struct File {
    /// Where it is, from the root of the repository.
    path: String,
    text: String,
}

impl File {
    fn is(&self, extension: &str) -> bool {
        Path::new(&self.path).extension().is_some_and(|found| found == extension)
    }
}

/// Says everything that is not as it should be.
pub(crate) fn run() -> Result<()> {
    let (files, sources) = load()?;
    let found = findings(&files, &sources)?;
    println!("# tidy: {} files, {} of them Rust", files.len(), sources.len());
    if !found.is_empty() {
        bail!("not tidy:\n{}", found.join("\n"));
    }
    Ok(())
}

/// Lowers the sizes in the list of what is too large.
pub(crate) fn shrink() -> Result<()> {
    let (files, sources) = load()?;
    let shrunk = known_sizes(&files)?.shrunk(&Sizes::measure(&sources));
    std::fs::write(run::root().join(SIZES), shrunk.render()).with_context(|| format!("cannot write {SIZES}"))
}

fn findings(files: &[File], sources: &[Source]) -> Result<Vec<String>> {
    let mut found = words::check(sources);
    found.extend(sizes::check(sources, &known_sizes(files)?));
    found.extend(layers::check(&metadata::ours()?));
    found.extend(tree::check(files));
    found.extend(documented::check(files));
    found.extend(links::check(files));
    found.sort();
    Ok(found)
}

fn known_sizes(files: &[File]) -> Result<Sizes> {
    let file = files.iter().find(|file| file.path == SIZES).with_context(|| format!("there is no {SIZES}"))?;
    Sizes::parse(&file.text)
}

fn load() -> Result<(Vec<File>, Vec<Source>)> {
    let mut files = Vec::new();
    collect(&run::root(), "", &mut files)?;
    let rust = files.iter().filter(|file| file.is("rs"));
    let mut sources: Vec<Source> = rust.map(|file| Source::new(&file.path, &file.text)).collect();
    source::mark_test_files(&mut sources);
    Ok((files, sources))
}

/// Reads every text file beneath a folder, in a stable order. What is no UTF-8 is no text.
fn collect(root: &Path, folder: &str, files: &mut Vec<File>) -> Result<()> {
    let here = root.join(folder);
    let mut entries = std::fs::read_dir(&here)
        .and_then(Iterator::collect::<std::io::Result<Vec<_>>>)
        .with_context(|| format!("cannot read {}", here.display()))?;
    entries.sort_by_key(std::fs::DirEntry::file_name);
    for entry in entries {
        let Ok(name) = entry.file_name().into_string() else { continue };
        let path = if folder.is_empty() { name.clone() } else { format!("{folder}/{name}") };
        let kind = entry.file_type().with_context(|| format!("cannot read {path}"))?;
        if kind.is_dir() {
            if !SKIPPED.contains(&name.as_str()) {
                collect(root, &path, files)?;
            }
        } else if kind.is_file()
            && let Ok(text) = std::fs::read_to_string(entry.path())
        {
            files.push(File { path, text });
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_repository_is_tidy() {
        let (files, sources) = load().expect("the repository can be read");
        let found = findings(&files, &sources).expect("the rules can be checked");
        assert!(found.is_empty(), "not tidy:\n{}", found.join("\n"));
    }
}
