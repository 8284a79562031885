//! The file that was opened, and whether it still lies in its place.
//!
//! A database can be replaced while it is open: `docket restore` does so, and so may whoever moves files about. A connection that
//! is open goes on with the old file, which nobody finds any more, and the next one would be to the new file: one process would
//! read the one and write into the other. So nobody is served any more, neither by the one nor by the other. What is under way
//! while the file is replaced is done in one of them, as if it had come a moment earlier or later.

use std::collections::BTreeMap;
use std::fs::{File, Metadata};
use std::io::ErrorKind;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

/// What tells a file from all others, whatever they are called.
type Identity = (u64, u64);

/// The file that was opened.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Original {
    path: PathBuf,
    file: Identity,
}

impl Original {
    /// The file that has this name now, if there is one.
    pub(crate) fn of(path: &Path) -> Option<Self> {
        Some(Self { path: path.to_owned(), file: identity(&std::fs::metadata(path).ok()?) })
    }

    /// Whether it still has its name. Where nobody can say, SQLite will tell.
    pub(crate) fn is_in_place(&self) -> bool {
        match std::fs::metadata(&self.path) {
            Ok(about) => identity(&about) == self.file,
            Err(error) => error.kind() != ErrorKind::NotFound,
        }
    }
}

/// A file of the database's, open for reading beside SQLite, if there is one.
///
/// It stays open until the process ends. SQLite's locks are on these very files, and the system lets go of all locks that a
/// process has on a file when the process closes it anywhere.
pub(crate) fn open_for_good(path: &Path) -> Option<Arc<File>> {
    static OPEN: Mutex<BTreeMap<Identity, Arc<File>>> = Mutex::new(BTreeMap::new());
    let about = std::fs::metadata(path).ok()?;
    let mut open = OPEN.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(known) = open.get(&identity(&about)) {
        return Some(Arc::clone(known));
    }
    let file = Arc::new(File::open(path).ok()?);
    // The one that was opened, should it have been replaced meanwhile.
    let Ok(about) = file.metadata() else {
        std::mem::forget(file);
        return None;
    };
    let known = open.entry(identity(&about)).or_insert_with(|| Arc::clone(&file));
    if !Arc::ptr_eq(known, &file) {
        // It must not be closed either.
        std::mem::forget(file);
    }
    Some(Arc::clone(known))
}

fn identity(about: &Metadata) -> Identity {
    (about.dev(), about.ino())
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
        let of = |path| Original::of(path).expect("a file");
        let (direct, linked) = (of(&database), of(&link));
        std::fs::write(&database, "another state").expect("a file");
        assert!(direct.is_in_place() && linked.is_in_place(), "it was only written");
        let other = folder.path().join("other.db");
        std::fs::write(&other, "another").expect("a file");
        std::fs::rename(&other, &link).expect("put in the place of the link");
        assert!(direct.is_in_place() && !linked.is_in_place(), "the link leads nowhere any more");
        std::fs::hard_link(&database, folder.path().join("aside.db")).expect("set aside");
        std::fs::remove_file(&database).expect("taken away");
        assert!(!direct.is_in_place(), "it is nowhere");
        std::fs::write(&database, "one").expect("a file");
        assert!(!direct.is_in_place(), "the same bytes are another file");
    }
}
