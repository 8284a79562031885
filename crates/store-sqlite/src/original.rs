//! The file that was opened, and whether it still lies in its place.
//!
//! A database can be replaced while it is open: `docket restore` does so, and so may whoever moves files about. A connection that
//! is open goes on with the old file, which nobody finds any more, and the next one would be to the new file: one process would
//! read the one and write into the other. So nobody is served any more, neither by the one nor by the other. What is under way
//! while the file is replaced is done in one of them, as if it had come a moment earlier or later.

use std::io::ErrorKind;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use docket_core::store::StoreError;

/// The file that was opened.
#[derive(Debug)]
pub(crate) struct Original {
    path: PathBuf,
    file: Option<(u64, u64)>,
}

impl Original {
    /// The file that has this name now.
    pub(crate) fn of(path: &Path) -> Self {
        Self { path: path.to_owned(), file: std::fs::metadata(path).ok().map(|about| (about.dev(), about.ino())) }
    }

    /// Where it was opened.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Whether it still has its name. Where nobody can say, SQLite will tell.
    pub(crate) fn is_in_place(&self) -> bool {
        let Some(file) = self.file else { return true };
        match std::fs::metadata(&self.path) {
            Ok(about) => (about.dev(), about.ino()) == file,
            Err(error) => error.kind() != ErrorKind::NotFound,
        }
    }

    /// Refuses to go on once it has not.
    pub(crate) fn check(&self) -> Result<(), StoreError> {
        if self.is_in_place() { Ok(()) } else { Err(StoreError::Replaced) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_was_replaced_or_taken_away_is_told_from_one_that_was_written() {
        let folder = tempfile::tempdir().expect("a folder");
        let (database, link) = (folder.path().join("some.db"), folder.path().join("link.db"));
        std::fs::write(&database, "one").expect("a file");
        std::os::unix::fs::symlink(&database, &link).expect("a link");
        let (direct, linked) = (Original::of(&database), Original::of(&link));
        std::fs::write(&database, "another state").expect("a file");
        assert!(direct.is_in_place() && linked.is_in_place(), "it was only written");
        let other = folder.path().join("other.db");
        std::fs::write(&other, "another").expect("a file");
        std::fs::rename(&other, &link).expect("put in the place of the link");
        assert!(direct.is_in_place() && !linked.is_in_place(), "the link leads nowhere any more");
        std::fs::hard_link(&database, folder.path().join("aside.db")).expect("set aside");
        std::fs::remove_file(&database).expect("taken away");
        assert!(matches!(direct.check(), Err(StoreError::Replaced)));
        std::fs::write(&database, "one").expect("a file");
        assert!(!direct.is_in_place(), "the same bytes are another file");
    }
}
