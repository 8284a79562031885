//! Where a run takes place: one folder on the disk that holds the build, so that every figure is of the same disk.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, ensure};
use tempfile::TempDir;

/// The surroundings of a run.
#[derive(Debug)]
pub(crate) struct Stage {
    /// Whether fewer samples will do.
    pub(crate) quick: bool,
    /// `target/`.
    target: PathBuf,
    /// Where the programs are that were built with this one.
    programs: PathBuf,
    /// Gone with the run.
    scratch: TempDir,
}

impl Stage {
    pub(crate) fn new(quick: bool) -> Result<Self> {
        let own = std::env::current_exe().context("cannot tell where this program is")?;
        let programs = own.parent().context("this program lies in no folder")?.to_owned();
        let target = programs.parent().context("the build lies in no folder")?.to_owned();
        let scratch = tempfile::Builder::new().prefix("bench-").tempdir_in(&target)?;
        Ok(Self { quick, target, programs, scratch })
    }

    /// One of two numbers, by how thorough the run is.
    pub(crate) fn pick(&self, thorough: usize, quick: usize) -> usize {
        if self.quick { quick } else { thorough }
    }

    /// A program built with this one.
    pub(crate) fn program(&self, name: &str) -> Result<PathBuf> {
        let path = self.programs.join(name);
        ensure!(path.is_file(), "{} is not built: use `cargo xtask bench`", path.display());
        Ok(path)
    }

    /// A new empty folder that is gone with the run.
    pub(crate) fn folder(&self, name: &str) -> Result<PathBuf> {
        let path = self.scratch.path().join(name);
        std::fs::create_dir_all(&path).with_context(|| format!("cannot make {}", path.display()))?;
        Ok(path)
    }

    /// A folder that stays for later runs.
    pub(crate) fn cache(&self) -> Result<PathBuf> {
        let path = self.target.join("bench-cache");
        std::fs::create_dir_all(&path).with_context(|| format!("cannot make {}", path.display()))?;
        Ok(path)
    }

    /// Where the JSON goes.
    pub(crate) fn json(&self) -> PathBuf {
        self.target.join("bench.json")
    }
}

/// A copy of a database that nobody has open.
pub(crate) fn copy(from: &Path, to: &Path) -> Result<PathBuf> {
    std::fs::copy(from, to).with_context(|| format!("cannot copy {} to {}", from.display(), to.display()))?;
    Ok(to.to_owned())
}
