//! What lies in a work tree under the names that git told: read as it is, through no link.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::ffi::OsStr;
use std::fs::File;
use std::io::{ErrorKind, Read as _};
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

use docket_core::echo;
use rustix::fs::{AtFlags, FileType, Mode as Rights, OFlags, Stat};
use rustix::io::Errno;

use super::desk::{Listed, whole};
use super::memory::{Known, Memory, Stamp};
use super::object::{Entry, Form, Mode};
use super::{TreeError, unreadable, unreadable_at};
use crate::limits::TREE_READERS;

/// The name of the files by which a work tree says what git leaves out.
const RULES: &[u8] = b".gitignore";
/// How much is read at once.
const READ: usize = 64 * 1024;
/// How often a file is read again that changes while it is read.
const TRIES: usize = 3;
/// How many names one reader takes at once.
const SHARE: usize = 32;

/// What is there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Found {
    /// A file, a program or a link, and the name of its content.
    File(Mode, Vec<u8>),
    /// A folder that is told to be a repository.
    Folder,
    /// Nothing; but git goes by these rules as if they were.
    Hidden(Vec<u8>),
}

/// What is there, in the order of the names. What is told and not there is left out.
pub(super) fn find(
    root: &Path,
    names: &BTreeMap<Vec<u8>, Listed>,
    form: Form,
    memory: &Memory,
    until: Instant,
) -> Result<Vec<(Vec<u8>, Found)>, TreeError> {
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let opened = rustix::fs::open(root, flags, Rights::empty()).map_err(|_| unreadable_at(root))?;
    let (known, mut kept) = (memory.of(root, form), memory.begin(root));
    let names: Vec<(&[u8], &Listed)> = names.iter().map(|(name, listed)| (name.as_slice(), listed)).collect();
    let next = AtomicUsize::new(0);
    let some = || {
        let mut reader =
            Reader { root: &opened, form, known: &known, until, folders: HashMap::new(), buffer: vec![0; READ] };
        let mut found = Vec::new();
        loop {
            let from = next.fetch_add(SHARE, Ordering::Relaxed);
            let Some(share) = names.get(from..names.len().min(from + SHARE)).filter(|share| !share.is_empty()) else {
                return Ok(found);
            };
            for (at, (name, listed)) in (from..).zip(share) {
                if let Some((what, stamp)) = reader.find(name, listed)? {
                    found.push((at, what, stamp));
                }
            }
        }
    };
    let cores = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    let readers = cores.min(TREE_READERS).min(names.len() / SHARE).max(1);
    let mut all = std::thread::scope(|scope| {
        let others: Vec<_> = (1..readers).map(|_| scope.spawn(some)).collect();
        let mut all = some()?;
        for other in others {
            all.extend(other.join().unwrap_or(Err(TreeError::BrokeOff))?);
        }
        Ok(all)
    })?;
    all.sort_unstable_by_key(|(at, ..)| *at);
    let read = all.iter().filter_map(|(at, what, stamp)| match (what, stamp) {
        (Found::File(_, id), Some(stamp)) => Some((names[*at].0, *stamp, id.as_slice())),
        (Found::File(..) | Found::Folder | Found::Hidden(_), _) => None,
    });
    if !known.is_all_of(read.clone()) {
        read.for_each(|(name, stamp, id)| kept.keep(name, stamp, id));
        memory.keep(root, form, kept);
    }
    Ok(all.into_iter().map(|(at, what, _)| (names[at].0.to_owned(), what)).collect())
}

/// Where something is.
pub(super) fn place(root: &Path, name: &[u8]) -> PathBuf {
    root.join(OsStr::from_bytes(name))
}

/// One who goes through names.
struct Reader<'a> {
    root: &'a OwnedFd,
    form: Form,
    known: &'a Known,
    until: Instant,
    /// Which folders are in the work tree, as far as they were asked for.
    folders: HashMap<Vec<u8>, bool>,
    buffer: Vec<u8>,
}

impl Reader<'_> {
    /// What is there, and what it was when it was read.
    fn find(&mut self, name: &[u8], listed: &Listed) -> Result<Option<(Found, Option<Stamp>)>, TreeError> {
        let leads_in = self.leads_in(name);
        // Most are files: of one that is not known nothing is asked before it is read.
        if leads_in
            && matches!(listed, Listed::File)
            && !self.known.has(name)
            && let Some(read) = self.read(name)?
        {
            return Ok(Some(read));
        }
        let there = if leads_in { self.look(name)? } else { None };
        let Some(there) = there else {
            return Ok(match listed {
                Listed::PassedOver(id) if name.rsplit(|byte| *byte == b'/').next() == Some(RULES) => {
                    Some((Found::Hidden(id.clone()), None))
                }
                Listed::PassedOver(_) | Listed::File | Listed::Folder | Listed::Repository(_) => None,
            });
        };
        Ok(match (FileType::from_raw_mode(there.st_mode), listed) {
            (FileType::Directory, Listed::Repository(_) | Listed::Folder) => Some((Found::Folder, None)),
            (FileType::Symlink, _) => {
                let to = rustix::fs::readlinkat(self.root, name, Vec::new()).map_err(|_| unreadable(name))?;
                Some((Found::File(Mode::Link, self.form.name("blob", to.as_bytes())), None))
            }
            (FileType::RegularFile, _) => match self.known.get(name, &Stamp::of(&there)) {
                Some(id) => Some(file(&there, id.to_vec())),
                None => self.read(name)?,
            },
            // A folder where a file was, a pipe, a socket.
            _ => None,
        })
    }

    /// Whether a name leads down, through no link, and into no folder of git's.
    fn leads_in(&mut self, name: &[u8]) -> bool {
        let Some(at) = name.iter().rposition(|byte| *byte == b'/') else { return is_plain(name) };
        let (folder, last) = (&name[..at], &name[at + 1..]);
        if !is_plain(last) {
            return false;
        }
        if let Some(known) = self.folders.get(folder) {
            return *known;
        }
        let is_folder = |there: Stat| FileType::from_raw_mode(there.st_mode) == FileType::Directory;
        let leads_in = self.leads_in(folder) && matches!(self.look(folder), Ok(Some(there)) if is_folder(there));
        self.folders.insert(folder.to_owned(), leads_in);
        leads_in
    }

    fn look(&self, name: &[u8]) -> Result<Option<Stat>, TreeError> {
        match rustix::fs::statat(self.root, name, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(there) => Ok(Some(there)),
            Err(Errno::NOENT | Errno::NOTDIR) => Ok(None),
            Err(_) => Err(unreadable(name)),
        }
    }

    /// A file and the name of its content, as it was from the beginning of the reading to its end; nothing where there is none.
    fn read(&mut self, name: &[u8]) -> Result<Option<(Found, Option<Stamp>)>, TreeError> {
        for _ in 0..TRIES {
            // Whatever takes its place meanwhile is neither followed nor waited for.
            let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
            let mut opened = match rustix::fs::openat(self.root, name, flags, Rights::empty()) {
                Ok(opened) => File::from(opened),
                Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP | Errno::NXIO) => return Ok(None),
                Err(_) => return Err(unreadable(name)),
            };
            let there = rustix::fs::fstat(&opened).map_err(|_| unreadable(name))?;
            if FileType::from_raw_mode(there.st_mode) != FileType::RegularFile {
                return Ok(None);
            }
            let bytes = u64::try_from(there.st_size).unwrap_or_default();
            let mut naming = self.form.begin("blob", bytes);
            let mut left = bytes;
            while left > 0 {
                if Instant::now() > self.until {
                    return Err(TreeError::TooSlow);
                }
                let most = usize::try_from(left).unwrap_or(READ).min(READ);
                match opened.read(&mut self.buffer[..most]) {
                    Ok(0) => break,
                    Ok(read) => {
                        naming.push(&self.buffer[..read]);
                        left -= read as u64;
                    }
                    Err(error) if error.kind() == ErrorKind::Interrupted => {}
                    Err(_) => return Err(unreadable(name)),
                }
            }
            let after = rustix::fs::fstat(&opened).map_err(|_| unreadable(name))?;
            if left == 0 && Stamp::of(&there) == Stamp::of(&after) {
                return Ok(Some(file(&there, naming.end())));
            }
        }
        Err(TreeError::Restless(echo(&String::from_utf8_lossy(name))))
    }
}

fn file(there: &Stat, id: Vec<u8>) -> (Found, Option<Stamp>) {
    let mode = if there.st_mode & 0o100 == 0 { Mode::File } else { Mode::Program };
    (Found::File(mode, id), Some(Stamp::of(there)))
}

fn is_plain(part: &[u8]) -> bool {
    !matches!(part, b"" | b"." | b"..") && !part.eq_ignore_ascii_case(b".git")
}

/// The name of a file, and the rules in it.
pub(super) type Rules = (Vec<u8>, Vec<u8>);

/// Rules of what is left out that lie beside the work and are left out themselves: git goes by them all the same. Where nothing of
/// the work lies beside them, all that they hide is a folder of its own.
pub(super) fn rules_beside(root: &Path, entries: &[Entry]) -> Result<Vec<Rules>, TreeError> {
    let mut folders: BTreeSet<&[u8]> = BTreeSet::from([b"".as_slice()]);
    let mut seen: BTreeSet<&[u8]> = BTreeSet::new();
    for entry in entries {
        if entry.name.ends_with(RULES) {
            seen.insert(&entry.name);
        }
        let strokes = entry.name.iter().enumerate().rev().filter(|(_, byte)| **byte == b'/');
        for (at, _) in strokes {
            if !folders.insert(&entry.name[..=at]) {
                break;
            }
        }
    }
    let mut found = Vec::new();
    for folder in folders {
        let name = [folder, RULES].concat();
        let path = place(root, &name);
        // Git follows no link to them.
        let is_file = || path.symlink_metadata().is_ok_and(|there| there.is_file());
        if !seen.contains(name.as_slice())
            && is_file()
            && let Some(rules) = whole(&path, "a list of what git leaves out")?
        {
            found.push((name, rules));
        }
    }
    Ok(found)
}
