//! Which files a database is made of: the one that is named, and those that SQLite keeps beside it.
//!
//! Nothing is opened here. Whoever has to do with the files themselves, to set them aside or to keep others from them, goes by
//! this list.

use std::path::{Path, PathBuf};

/// What SQLite adds to the name of a database for what it would roll back.
pub const JOURNAL: &str = "-journal";
/// What it adds for all that it keeps beside one.
pub const BESIDE: [&str; 3] = ["-wal", "-shm", JOURNAL];

/// The path with something added to its name.
#[must_use]
pub fn beside(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    PathBuf::from(name)
}

/// The database and what is kept beside it, the database first: where it is a link, that is beside the file that it leads to.
#[must_use]
pub fn files_of(path: &Path) -> Vec<PathBuf> {
    let real = path.canonicalize().unwrap_or_else(|_| path.to_owned());
    let logs = BESIDE.iter().map(|suffix| beside(&real, suffix));
    std::iter::once(path.to_owned()).chain(Some(&real).filter(|real| *real != path).cloned()).chain(logs).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[cfg(unix)]
    #[test]
    fn what_is_kept_beside_a_link_lies_beside_the_file() {
        let made = tempfile::tempdir().expect("a folder");
        let root = made.path().canonicalize().expect("a path");
        std::fs::create_dir(root.join("data")).expect("a folder");
        let (file, link) = (root.join("data/work.db"), root.join("link.db"));
        let logs = ["data/work.db-wal", "data/work.db-shm", "data/work.db-journal"].map(|name| root.join(name));
        assert_eq!(files_of(&file), [std::slice::from_ref(&file), &logs].concat(), "before there is one");
        std::fs::write(&file, "").expect("a file");
        std::os::unix::fs::symlink("data/work.db", &link).expect("a link");
        assert_eq!(files_of(&link), [&[link.clone(), file], logs.as_slice()].concat());
    }
}
