//! What was read of work trees before, so that a second look reads only what has changed since.
//!
//! It lives in this process alone, where no command can write. A file is remembered when nothing has touched it for a while: then
//! whatever is done to it from there on gives it another time of change, which nobody can set.

use std::collections::{BTreeMap, HashMap};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime};

use rustix::fs::Stat;

use super::object::Form;
use crate::limits::{KEPT_FILES, KEPT_ROOTS, SETTLED};

/// File systems that note when a file is written through a mapping, once what was written before is on the disk: ext4, XFS, Btrfs,
/// F2FS. Others never do; and of what lies on a network the times are another machine's.
const NOTING: [u64; 4] = [0xef53, 0x5846_5342, 0x9123_683e, 0xf2f5_2010];

/// What tells a file that was changed from one that was not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Stamp {
    device: u64,
    number: u64,
    bytes: i64,
    written: (i64, i64),
    changed: (i64, i64),
}

impl Stamp {
    pub(super) fn of(there: &Stat) -> Self {
        let nanos = |nanos: u64| i64::try_from(nanos).unwrap_or_default();
        Self {
            device: there.st_dev,
            number: there.st_ino,
            bytes: there.st_size,
            written: (there.st_mtime, nanos(there.st_mtime_nsec)),
            changed: (there.st_ctime, nanos(there.st_ctime_nsec)),
        }
    }
}

/// What is known of the files of one work tree.
#[derive(Debug, Default)]
pub(super) struct Known {
    files: HashMap<Vec<u8>, (Stamp, Vec<u8>)>,
    /// The device that they lie on, and the second before which they were changed for the last time; none where times say too little.
    settled: Option<(u64, i64)>,
}

impl Known {
    /// Whether anything is known of a name.
    pub(super) fn has(&self, name: &[u8]) -> bool {
        self.files.contains_key(name)
    }

    /// The name of a file's content, if it is still the file that was read.
    pub(super) fn get(&self, name: &[u8], stamp: &Stamp) -> Option<&[u8]> {
        self.files.get(name).filter(|(known, _)| known == stamp).map(|(_, id)| id.as_slice())
    }

    /// Whether these files, and no others, are known as they are.
    pub(super) fn is_all_of<'a>(&self, mut files: impl Iterator<Item = (&'a [u8], Stamp, &'a [u8])>) -> bool {
        let mut count = 0;
        files.all(|(name, stamp, _)| {
            count += 1;
            self.get(name, &stamp).is_some()
        }) && count == self.files.len()
    }

    /// Remembers what was read, if it will be seen when it is changed.
    pub(super) fn keep(&mut self, name: &[u8], stamp: Stamp, id: &[u8]) {
        let is_settled = self.settled.is_some_and(|(device, before)| {
            stamp.device == device && stamp.changed.0 < before && stamp.written.0 < before
        });
        if is_settled && self.files.len() < KEPT_FILES {
            self.files.insert(name.to_owned(), (stamp, id.to_owned()));
        }
    }
}

/// What is known of all work trees that were looked at.
#[derive(Debug)]
pub(crate) struct Memory {
    settled: Duration,
    roots: Mutex<BTreeMap<(PathBuf, Form), Arc<Known>>>,
}

impl Default for Memory {
    fn default() -> Self {
        Self { settled: SETTLED, roots: Mutex::default() }
    }
}

impl Memory {
    /// What is known of a work tree.
    pub(super) fn of(&self, root: &Path, form: Form) -> Arc<Known> {
        let roots = self.roots.lock().unwrap_or_else(PoisonError::into_inner);
        roots.get(&(root.to_owned(), form)).cloned().unwrap_or_default()
    }

    /// Begins to remember what is read from now on.
    pub(super) fn begin(&self, root: &Path) -> Known {
        let notes = rustix::fs::statfs(root).is_ok_and(|kind| NOTING.contains(&kind.f_type.cast_unsigned()));
        let device = root.metadata().ok().filter(|_| notes).map(|there| there.dev());
        let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        let before = i64::try_from(now.saturating_sub(self.settled).as_secs()).unwrap_or_default();
        Known { files: HashMap::new(), settled: device.map(|device| (device, before)) }
    }

    /// Remembers this of a work tree, and nothing else.
    pub(super) fn keep(&self, root: &Path, form: Form, known: Known) {
        let mut roots = self.roots.lock().unwrap_or_else(PoisonError::into_inner);
        let place = (root.to_owned(), form);
        if !roots.contains_key(&place) && roots.len() >= KEPT_ROOTS {
            roots.clear();
        }
        roots.insert(place, Arc::new(known));
    }
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::super::Tree;
    use super::*;

    fn repository() -> tempfile::TempDir {
        let folder = tempfile::tempdir().expect("a folder");
        let git = Command::new("git").args(["init", "-q"]).current_dir(folder.path()).status().expect("git runs");
        assert!(git.success());
        for name in ["a", "b"] {
            std::fs::write(folder.path().join(name), name).expect("a file");
        }
        folder
    }

    fn look(memory: &Memory, root: &Path) -> Tree {
        memory.tree(root, &[]).expect("it is read").expect("a work tree")
    }

    /// What is remembered of a work tree.
    fn names(memory: &Memory, root: &Path) -> Vec<Vec<u8>> {
        let root = root.canonicalize().expect("a path");
        let mut names: Vec<_> = memory.of(&root, Form::Short).files.keys().cloned().collect();
        names.sort();
        names
    }

    #[test]
    #[expect(clippy::print_stderr, reason = "what was not tried is told")]
    fn only_what_was_let_alone_for_a_while_is_remembered_and_only_while_it_is() {
        let made = repository();
        let root = made.path();
        let memory = Memory { settled: Duration::from_secs(1), ..Memory::default() };
        if memory.begin(root).settled.is_none() {
            eprintln!("NOT TRIED: the times of this file system say too little");
            return;
        }
        let first = look(&memory, root);
        assert!(names(&memory, root).is_empty(), "they were written just now");
        std::thread::sleep(Duration::from_millis(2100));
        assert_eq!(look(&memory, root), first);
        assert_eq!(names(&memory, root), [b"a".to_vec(), b"b".to_vec()]);
        // What is remembered is gone by: a wrong memory is seen.
        let place = (root.canonicalize().expect("a path"), Form::Short);
        let mut known = memory.roots.lock().expect("it is free").remove(&place).expect("it is known");
        let files = &mut Arc::get_mut(&mut known).expect("it is nobody else's").files;
        for (_, id) in files.values_mut() {
            id[0] ^= 1;
        }
        memory.roots.lock().expect("it is free").insert(place, known);
        assert_ne!(look(&memory, root), first);
        // What is written is read again, though it says the same and its time is set back.
        for name in ["a", "b"] {
            let file = root.join(name);
            let written = std::fs::metadata(&file).expect("it is there").modified().expect("a time");
            std::fs::write(&file, name).expect("written");
            let opened = std::fs::File::options().write(true).open(&file).expect("opened");
            opened.set_modified(written).expect("set");
        }
        assert_eq!(look(&memory, root), first);
        assert!(names(&memory, root).is_empty());
    }

    #[test]
    fn what_was_changed_a_moment_ago_is_read_again() {
        let made = repository();
        let memory = Memory::default();
        look(&memory, made.path());
        assert!(names(&memory, made.path()).is_empty());
    }

    #[test]
    fn only_so_many_work_trees_are_remembered() {
        let memory = Memory::default();
        for number in 0..=KEPT_ROOTS {
            memory.keep(Path::new(&format!("/{number}")), Form::Short, Known::default());
        }
        assert_eq!(memory.roots.lock().expect("it is free").len(), 1);
    }
}
