//! Git's word on which files of a work tree are tracked and which are not ignored, and nothing else.
//!
//! Git works in a folder of ours, with a copy of the repository's index. It is not shown the repository's configuration, its hooks
//! or its attributes, and it is not asked what is in a file. What it reads of the objects is what a folded index stands for.

use std::fs::File;
use std::io::{Read as _, Seek as _};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use std::time::Instant;

use rustix::event::{PollFd, PollFlags, Timespec};
use rustix::process::{Pid, PidfdFlags};

use super::object::Form;
use super::{TreeError, unreadable, unreadable_at};
use crate::limits::{INDEX_BYTES, LIST_BYTES, RULES_BYTES, SHARED_INDEXES};

/// How git begins the name of an index that others are written on top of.
const SHARED_INDEX: &str = "sharedindex.";
/// How git begins to say that it left out a whole folder.
const UNLISTED: &[u8] = b"could not open directory '";

/// What git says of a name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Listed {
    /// It is a file of the work, if it is one at all.
    File,
    /// It is tracked as a repository of its own, at this commit.
    Repository(Vec<u8>),
    /// It is a folder that git takes for a repository of its own.
    Folder,
    /// It is tracked with this content, and told not to be looked for in the work tree.
    PassedOver(Vec<u8>),
}

/// What git says of a work tree.
pub(super) struct Listing {
    pub(super) names: Vec<(Vec<u8>, Listed)>,
    /// What is left out because git's own folder says so: rules that are in no tree.
    pub(super) rules: Vec<u8>,
}

/// A git folder of ours.
pub(super) struct Desk<'a> {
    root: &'a Path,
    folder: tempfile::TempDir,
    form: Form,
    rules: Vec<u8>,
    until: Instant,
}

impl<'a> Desk<'a> {
    /// One for a work tree whose repository has its index and its objects in these folders, if it has one.
    pub(super) fn new(root: &'a Path, git: Option<(&Path, &Path)>, until: Instant) -> Result<Self, TreeError> {
        let folder = tempfile::Builder::new().prefix("docket-tree-").tempdir().map_err(|error| no_room(&error))?;
        let mut desk = Self { root, folder, form: Form::Short, rules: Vec::new(), until };
        if let Some((_, shared)) = git {
            let theirs = whole(&shared.join("config"), "git's configuration")?.unwrap_or_default();
            let squeezed: Vec<u8> =
                theirs.to_ascii_lowercase().into_iter().filter(|byte| !byte.is_ascii_whitespace()).collect();
            let is_long = squeezed.windows(LONG.len()).any(|words| words == LONG);
            desk.form = if is_long { Form::Long } else { Form::Short };
            let rules = whole(&shared.join("info/exclude"), "git's list of what it leaves out")?;
            desk.rules = effective(&rules.unwrap_or_default());
        }
        desk.furnish(git.map(|(_, shared)| shared)).map_err(|error| no_room(&error))?;
        if let Some((own, _)) = git {
            desk.copy_index(own)?;
        }
        Ok(desk)
    }

    pub(super) fn form(&self) -> Form {
        self.form
    }

    fn furnish(&self, shared: Option<&Path>) -> std::io::Result<()> {
        let here = self.folder.path();
        for folder in ["objects/info", "refs", "info"] {
            std::fs::create_dir_all(here.join(folder))?;
        }
        std::fs::write(here.join("HEAD"), "ref: refs/heads/none\n")?;
        std::fs::write(here.join("config"), config(self.form))?;
        std::fs::write(here.join("info/exclude"), &self.rules)?;
        if let Some(shared) = shared {
            let objects = shared.join("objects").canonicalize().unwrap_or_else(|_| shared.join("objects"));
            let mut alternates = objects.into_os_string();
            alternates.push("\n");
            std::fs::write(here.join("objects/info/alternates"), alternates.as_encoded_bytes())?;
        }
        Ok(())
    }

    /// Copies the index, with those that it may be written on top of.
    fn copy_index(&self, own: &Path) -> Result<(), TreeError> {
        copy(&own.join("index"), &self.folder.path().join("index"))?;
        let Ok(beside) = std::fs::read_dir(own) else { return Ok(()) };
        let names = beside.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
        for name in names.filter(|name| name.starts_with(SHARED_INDEX)).take(SHARED_INDEXES) {
            copy(&own.join(&name), &self.folder.path().join(&name))?;
        }
        Ok(())
    }

    /// Everything that is tracked or not ignored.
    pub(super) fn list(&self) -> Result<Listing, TreeError> {
        let mut listed = self.said()?;
        if listed.is_none() {
            // An index that git does not understand is done without: what it would have told not to look at is looked at.
            let _ = std::fs::remove_file(self.folder.path().join("index"));
            listed = self.said()?;
        }
        let listed = listed.ok_or(TreeError::Unlisted)?;
        let entries = listed.split(|byte| *byte == 0).filter(|entry| !entry.is_empty());
        let names = entries.map(|entry| parse(entry).ok_or(TreeError::Unlisted)).collect::<Result<_, _>>()?;
        Ok(Listing { names, rules: self.rules.clone() })
    }

    /// What git lists; nothing when it failed.
    fn said(&self) -> Result<Option<Vec<u8>>, TreeError> {
        let file = || tempfile::tempfile_in(self.folder.path()).map_err(|error| no_room(&error));
        let theirs = |file: &File| file.try_clone().map(Stdio::from).map_err(|error| no_room(&error));
        let (mut out, mut remarks) = (file()?, file()?);
        let mut child = Command::new(program()?)
            .args(["ls-files", "-z", "-t", "--stage", "--cached", "--others", "--exclude-standard"])
            .current_dir(self.root)
            .env_clear()
            // Git finds no program to run, itself included.
            .env("PATH", self.folder.path().join("none"))
            .env("GIT_EXEC_PATH", self.folder.path().join("none"))
            .env("GIT_DIR", self.folder.path())
            .env("GIT_WORK_TREE", self.root)
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .env("GIT_CONFIG_GLOBAL", "/dev/null")
            .env("GIT_ATTR_NOSYSTEM", "1")
            .env("GIT_NO_LAZY_FETCH", "1")
            .env("GIT_TERMINAL_PROMPT", "0")
            .env("LC_ALL", "C")
            .stdin(Stdio::null())
            .stdout(theirs(&out)?)
            .stderr(theirs(&remarks)?)
            .spawn()
            .map_err(|error| no_git(&error))?;
        let status = wait(&mut child, self.until).map_err(|error| no_git(&error))?.ok_or(TreeError::TooSlow)?;
        let remarks = read_back(&mut remarks)?;
        // It goes on, and says nothing of what is in there.
        if let Some(folder) = unlisted(&remarks) {
            return Err(unreadable(folder));
        }
        if status.success() { read_back(&mut out).map(Some) } else { Ok(None) }
    }
}

/// How a configuration, without its blanks, says that names are long.
const LONG: &[u8] = b"objectformat=sha256";

/// Our own configuration: the form of the repository's objects is all that is taken over from it.
fn config(form: Form) -> String {
    let (version, extension) = match form {
        Form::Short => (0, ""),
        Form::Long => (1, "[extensions]\n\tobjectFormat = sha256\n"),
    };
    format!(
        "[core]\n\trepositoryFormatVersion = {version}\n\tbare = false\n\thooksPath = /dev/null\n\tfsmonitor = false\n\
         \tuntrackedCache = false\n[protocol]\n\tallow = never\n{extension}"
    )
}

/// One entry: a letter, and for what is tracked its mode, content and stage; then the name.
fn parse(entry: &[u8]) -> Option<(Vec<u8>, Listed)> {
    let (letter, rest) = (entry.first()?, entry.get(2..)?);
    if *letter == b'?' {
        return Some(match rest.strip_suffix(b"/") {
            Some(folder) => (folder.to_owned(), Listed::Folder),
            None => (rest.to_owned(), Listed::File),
        });
    }
    let tab = rest.iter().position(|byte| *byte == b'\t')?;
    let (said, name) = (std::str::from_utf8(&rest[..tab]).ok()?, rest[tab + 1..].to_owned());
    let mut said = said.split(' ');
    let (mode, id) = (said.next()?, said.next()?);
    Some(match (mode, letter) {
        ("160000", _) => (name, Listed::Repository(unhex(id)?)),
        (_, b'S') => (name, Listed::PassedOver(unhex(id)?)),
        _ => (name, Listed::File),
    })
}

fn unhex(text: &str) -> Option<Vec<u8>> {
    let pairs = text.as_bytes().chunks(2).map(|pair| std::str::from_utf8(pair).ok());
    pairs.map(|pair| u8::from_str_radix(pair?, 16).ok()).collect()
}

/// The first folder that git says it left out.
fn unlisted(remarks: &[u8]) -> Option<&[u8]> {
    let begins = remarks.windows(UNLISTED.len()).position(|words| words == UNLISTED)? + UNLISTED.len();
    let line = remarks[begins..].split(|byte| *byte == b'\n').next()?;
    let ends = line.iter().rposition(|byte| *byte == b'\'').unwrap_or(line.len());
    Some(&line[..ends])
}

/// Rules without what says nothing.
fn effective(rules: &[u8]) -> Vec<u8> {
    let lines = rules.split(|byte| *byte == b'\n');
    let says = |line: &&[u8]| !line.is_empty() && line.first() != Some(&b'#');
    lines.filter(says).flat_map(|line| line.iter().copied().chain([b'\n'])).collect()
}

/// A file that is read whole, where it is one.
pub(super) fn whole(path: &Path, what: &'static str) -> Result<Option<Vec<u8>>, TreeError> {
    let Some(file) = regular(path) else { return Ok(None) };
    let mut bytes = Vec::new();
    file.take(RULES_BYTES + 1).read_to_end(&mut bytes).map_err(|_| unreadable_at(path))?;
    if bytes.len() as u64 > RULES_BYTES {
        return Err(TreeError::TooLarge { what, bytes: RULES_BYTES });
    }
    Ok(Some(bytes))
}

/// Copies an index, where there is one.
fn copy(from: &Path, to: &Path) -> Result<(), TreeError> {
    let Some(mut index) = regular(from) else { return Ok(()) };
    let too_large = TreeError::TooLarge { what: "git's index", bytes: INDEX_BYTES };
    // One with holes would be written out in full.
    if index.metadata().map_err(|_| unreadable_at(from))?.len() > INDEX_BYTES {
        return Err(too_large);
    }
    let mut copy = File::create(to).map_err(|error| no_room(&error))?;
    let copied = std::io::copy(&mut (&mut index).take(INDEX_BYTES + 1), &mut copy).map_err(|error| no_room(&error))?;
    if copied > INDEX_BYTES { Err(too_large) } else { Ok(()) }
}

/// A file, opened, if it is one: a pipe would be waited for, a device read for ever.
fn regular(path: &Path) -> Option<File> {
    std::fs::metadata(path).ok().filter(std::fs::Metadata::is_file)?;
    File::open(path).ok()
}

fn read_back(file: &mut File) -> Result<Vec<u8>, TreeError> {
    let mut bytes = Vec::new();
    let read = file.rewind().and_then(|()| file.take(LIST_BYTES + 1).read_to_end(&mut bytes));
    read.map_err(|error| no_git(&error))?;
    if bytes.len() as u64 > LIST_BYTES {
        return Err(TreeError::TooLarge { what: "the list of files", bytes: LIST_BYTES });
    }
    Ok(bytes)
}

/// Where git is.
fn program() -> Result<PathBuf, TreeError> {
    let path = std::env::var_os("PATH").unwrap_or_else(|| "/usr/local/bin:/usr/bin:/bin".into());
    let found = std::env::split_paths(&path).map(|folder| folder.join("git")).find(|file| file.is_file());
    found.ok_or_else(|| TreeError::NoGit("it is not installed".to_owned()))
}

/// How a process ended; nothing when it did not in time and was killed.
fn wait(child: &mut std::process::Child, until: Instant) -> std::io::Result<Option<ExitStatus>> {
    let ends = rustix::process::pidfd_open(Pid::from_child(child), PidfdFlags::empty())?;
    loop {
        let left = until.saturating_duration_since(Instant::now());
        let wait = Timespec { tv_sec: left.as_secs().cast_signed(), tv_nsec: i64::from(left.subsec_nanos()) };
        let mut ready = [PollFd::new(&ends, PollFlags::IN)];
        match rustix::event::poll(&mut ready, Some(&wait)) {
            Ok(0) => {
                child.kill()?;
                child.wait()?;
                return Ok(None);
            }
            Ok(_) => return child.wait().map(Some),
            Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
}

fn no_git(error: &std::io::Error) -> TreeError {
    TreeError::NoGit(error.kind().to_string())
}

fn no_room(error: &std::io::Error) -> TreeError {
    TreeError::NoRoom(error.kind().to_string())
}
