//! What a git work tree holds now, as one value: the tree that a commit of everything would have, the ignored left out.
//!
//! The repository is not trusted. Git is not shown its configuration, its hooks or its attributes: it works in a folder
//! of ours that borrows the repository's objects and begins with a copy of its index, so that only what changed is read.
//! Nothing is written to the repository.

use std::fmt::Write as _;
use std::fs::File;
use std::io::{Read as _, Seek as _, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use std::time::{Instant, SystemTime};

use aho_corasick::AhoCorasick;
use rustix::event::{PollFd, PollFlags, Timespec};
use rustix::process::{Pid, PidfdFlags};
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use crate::git_folder;
use crate::git_index::{self, Marks};
use crate::limits::{TREE_DEPTH, TREE_TIMEOUT};

/// The most that is read of git's configuration and of what it lists.
const LIST_BYTES: u64 = 16 * 1024 * 1024;

/// How an index writes that an entry is a submodule.
const SUBMODULE_MODE: [u8; 4] = 0o160_000_u32.to_be_bytes();

/// How many bytes the names of contents have: by SHA-1, and by SHA-256.
const SHORT: usize = 20;
const LONG: usize = 32;

/// The content of a work tree, by a digest. Equal values mean equal content.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Tree(String);

impl Tree {
    /// The digest: git's own name of the tree, or one of ours where there are submodules.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl std::fmt::Display for Tree {
    fn fmt(&self, to: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        to.write_str(&self.0)
    }
}

/// Why a work tree could not be read. Nothing is known of its content then.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TreeError {
    /// Git is not there, or could not be started.
    #[error("git cannot be started: {0}")]
    NoGit(String),
    /// Git gave up.
    #[error("git cannot read the work tree")]
    Unreadable,
    /// Git took too long.
    #[error("git did not read the work tree within {} seconds", TREE_TIMEOUT.as_secs())]
    TooSlow,
    /// A folder of ours could not be made.
    #[error("no folder can be made for the work tree's index: {0}")]
    NoRoom(String),
}

/// The content of the work tree at a root; none when that is no git work tree.
pub async fn tree(root: PathBuf) -> Result<Option<Tree>, TreeError> {
    let read = tokio::task::spawn_blocking(move || tree_blocking(&root)).await;
    read.unwrap_or(Err(TreeError::Unreadable))
}

/// The same on this thread, which waits.
pub fn tree_blocking(root: &Path) -> Result<Option<Tree>, TreeError> {
    tree_without(root, &[])
}

/// The same, but for files that lie in the work tree and are none of the work: our own database changes by every result that
/// is noted in it. One that is in git's index is taken as it is there.
pub fn tree_without(root: &Path, apart: &[PathBuf]) -> Result<Option<Tree>, TreeError> {
    within(root, apart, Instant::now() + TREE_TIMEOUT, 0)
}

fn within(root: &Path, apart: &[PathBuf], until: Instant, depth: usize) -> Result<Option<Tree>, TreeError> {
    let Some((own, shared)) = git_folder::places(root) else { return Ok(None) };
    let Ok(root) = root.canonicalize() else { return Err(TreeError::Unreadable) };
    let desk = Desk::new(&root, apart, &own, &shared, until)?;
    desk.add_all()?;
    // Objects that a partial clone has not fetched need not be there.
    let id = desk.git(&["write-tree", "--missing-ok"])?.ok_or(TreeError::Unreadable)?.trim().to_owned();
    let is_id = id.len() >= 40 && id.bytes().all(|byte| byte.is_ascii_hexdigit());
    if !is_id {
        return Err(TreeError::Unreadable);
    }
    if !desk.may_have_submodules() {
        return Ok(Some(Tree(id)));
    }
    desk.with_submodules(id, depth).map(Some)
}

/// A git folder of ours.
struct Desk<'a> {
    root: &'a Path,
    /// What is left out, as it was named.
    apart: &'a [PathBuf],
    folder: tempfile::TempDir,
    until: Instant,
}

impl<'a> Desk<'a> {
    fn new(root: &'a Path, apart: &'a [PathBuf], own: &Path, shared: &Path, until: Instant) -> Result<Self, TreeError> {
        let folder = tempfile::Builder::new().prefix("docket-tree-").tempdir().map_err(|error| no_room(&error))?;
        let desk = Self { root, apart, folder, until };
        desk.furnish(own, shared).map_err(|error| no_room(&error))?;
        Ok(desk)
    }

    fn furnish(&self, own: &Path, shared: &Path) -> std::io::Result<()> {
        let here = self.folder.path();
        for folder in ["objects/info", "refs", "info"] {
            std::fs::create_dir_all(here.join(folder))?;
        }
        std::fs::write(here.join("HEAD"), "ref: refs/heads/none\n")?;
        let objects = shared.join("objects").canonicalize().unwrap_or_else(|_| shared.join("objects"));
        let mut alternates = objects.into_os_string();
        alternates.push("\n");
        std::fs::write(here.join("objects/info/alternates"), alternates.as_encoded_bytes())?;
        std::fs::write(here.join("config"), config(shared))?;
        if let Some(exclude) = regular(&shared.join("info/exclude")) {
            std::io::copy(&mut exclude.take(LIST_BYTES), &mut File::create(here.join("info/exclude"))?)?;
        }
        let apart = self.inside();
        if !apart.is_empty() {
            let mut exclude = File::options().append(true).create(true).open(here.join("info/exclude"))?;
            for path in &apart {
                write!(exclude, "\n/{}\n", without_patterns(path))?;
            }
        }
        if let Some(index) = regular(&own.join("index")) {
            self.copy_index(index, content_bytes(shared))?;
        }
        Ok(())
    }

    /// Copies an index without what it says of files that git is not to look at: those that are in the work tree count, and those
    /// that are not are gone, whatever somebody told git about them.
    fn copy_index(&self, mut index: File, content: usize) -> std::io::Result<()> {
        let place = self.folder.path().join("index");
        let mut bytes = Vec::new();
        let mut changed = index.metadata()?.modified()?;
        index.read_to_end(&mut bytes)?;
        let mut marks = git_index::unmark(&mut bytes, content);
        write_at(&place, &bytes, changed)?;
        if marks == Some(Marks::Folded) {
            // Git unfolds what it writes here, and it writes what shall have another version.
            let other = if git_index::version(&bytes) == Some(4) { "3" } else { "4" };
            if matches!(self.git(&["update-index", "--index-version", other]), Ok(Some(_))) {
                changed = std::fs::metadata(&place)?.modified()?;
                bytes = std::fs::read(&place)?;
                marks = git_index::unmark(&mut bytes, content);
                write_at(&place, &bytes, changed)?;
            }
        }
        if marks != Some(Marks::Gone) {
            tracing::debug!("git's index cannot be followed: what it is told not to look at is not looked at");
        }
        Ok(())
    }

    /// Puts everything that is not ignored into the index.
    fn add_all(&self) -> Result<(), TreeError> {
        let apart = self.left_out();
        let words: Vec<&str> =
            ["add", "--all", "--", "."].into_iter().chain(apart.iter().map(String::as_str)).collect();
        if self.git(&words)?.is_some() {
            return Ok(());
        }
        // Of a submodule that is checked out, git asks another git, which would read the submodule's own configuration; it
        // finds none to ask. So submodules are left as they are listed, and looked at by ourselves.
        let mut names = b".\0".to_vec();
        for path in self.submodules().unwrap_or_default() {
            names.extend_from_slice(format!(":(exclude,literal){path}\0").as_bytes());
        }
        for name in &apart {
            names.extend_from_slice(format!("{name}\0").as_bytes());
        }
        let list = self.folder.path().join("names");
        std::fs::write(&list, names).map_err(|error| no_room(&error))?;
        let from = format!("--pathspec-from-file={}", list.display());
        if self.git(&["add", "--all", &from, "--pathspec-file-nul"])?.is_some() {
            return Ok(());
        }
        // An index that git does not understand by itself, a split one for example, is done without.
        let _ = std::fs::remove_file(self.folder.path().join("index"));
        self.git(&words)?.map(drop).ok_or(TreeError::Unreadable)
    }

    /// What lies in this work tree and is none of the work, as git names it.
    fn inside(&self) -> Vec<String> {
        let inside = |path: &PathBuf| {
            let folder = path.parent()?.canonicalize().ok()?;
            let inside = folder.strip_prefix(self.root).ok()?.join(path.file_name()?);
            // A name that cannot be written in a list of names is not told; its changes count.
            inside.to_str().filter(|name| !name.contains('\n')).map(str::to_owned)
        };
        self.apart.iter().filter_map(inside).collect()
    }

    /// How git is told to leave out what of that is in its index: what is not in there is ignored already, and git takes it
    /// amiss when such a thing is named.
    fn left_out(&self) -> Vec<String> {
        let apart = self.inside();
        let index = std::fs::read(self.folder.path().join("index")).unwrap_or_default();
        // An entry has the length of its name before it and a zero behind; what only contains the name is another's.
        let is_entry = |path: &String, from: usize, to: usize| {
            let length = u8::try_from(path.len() & 0xff).unwrap_or_default();
            from.checked_sub(1).and_then(|at| index.get(at)) == Some(&length) && index.get(to) == Some(&0)
        };
        let is_listed = |path: &String| {
            let finder = AhoCorasick::new([path]).ok();
            finder.is_some_and(|finder| finder.find_iter(&index).any(|at| is_entry(path, at.start(), at.end())))
        };
        apart.into_iter().filter(is_listed).map(|path| format!(":(exclude,literal){path}")).collect()
    }

    /// Whether the mode of a submodule stands in the index, perhaps by chance.
    fn may_have_submodules(&self) -> bool {
        let index = std::fs::read(self.folder.path().join("index")).unwrap_or_default();
        index.windows(SUBMODULE_MODE.len()).any(|bytes| bytes == SUBMODULE_MODE)
    }

    /// Where the index has submodules.
    fn submodules(&self) -> Result<Vec<String>, TreeError> {
        let listed = self.git(&["ls-files", "--stage", "-z"])?.ok_or(TreeError::Unreadable)?;
        let entries = listed.split('\0').filter(|entry| entry.starts_with("160000 "));
        Ok(entries.filter_map(|entry| Some(entry.split_once('\t')?.1.to_owned())).collect())
    }

    /// Runs git here; what it said, or nothing when it failed.
    fn git(&self, words: &[&str]) -> Result<Option<String>, TreeError> {
        let no_git = |error: std::io::Error| TreeError::NoGit(error.kind().to_string());
        let mut out = tempfile::tempfile_in(self.folder.path()).map_err(|error| no_room(&error))?;
        let theirs = out.try_clone().map_err(|error| no_room(&error))?;
        let mut child = Command::new(program()?)
            .args(words)
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
            .stdout(Stdio::from(theirs))
            .stderr(Stdio::null())
            .spawn()
            .map_err(no_git)?;
        let status = wait(&mut child, self.until).map_err(no_git)?.ok_or(TreeError::TooSlow)?;
        if !status.success() {
            return Ok(None);
        }
        let mut said = Vec::new();
        out.rewind().and_then(|()| out.take(LIST_BYTES).read_to_end(&mut said)).map_err(no_git)?;
        Ok(Some(String::from_utf8_lossy(&said).into_owned()))
    }

    /// Git's tree names only the commit that a submodule is at; what has changed in it since counts too.
    fn with_submodules(&self, id: String, depth: usize) -> Result<Tree, TreeError> {
        if depth >= TREE_DEPTH {
            return Err(TreeError::Unreadable);
        }
        let mut digest = Sha256::new();
        digest.update(&id);
        let mut any = false;
        for path in self.submodules()? {
            let Ok(place) = self.root.join(&path).canonicalize() else { continue };
            // A link in place of a submodule could lead anywhere.
            if !place.starts_with(self.root) || place == self.root {
                continue;
            }
            if let Some(tree) = within(&place, self.apart, self.until, depth + 1)? {
                any = true;
                digest.update(format!("\0{path}\0{tree}"));
            }
        }
        if !any {
            return Ok(Tree(id));
        }
        let mut name = String::with_capacity(2 * 32);
        for byte in digest.finalize() {
            let _ = write!(name, "{byte:02x}");
        }
        Ok(Tree(name))
    }
}

/// Writes an index. Git trusts a file's times only when they are older than the index: it must not look newer than it is.
fn write_at(place: &Path, index: &[u8], changed: SystemTime) -> std::io::Result<()> {
    let mut copy = File::create(place)?;
    copy.write_all(index)?;
    copy.set_modified(changed)
}

/// A name in a list of what is ignored, where some characters stand for others.
fn without_patterns(path: &str) -> String {
    let mut name = String::with_capacity(path.len());
    for char in path.chars() {
        if matches!(char, '\\' | '*' | '?' | '[' | ' ') {
            name.push('\\');
        }
        name.push(char);
    }
    name
}

/// Where git is.
fn program() -> Result<PathBuf, TreeError> {
    let path = std::env::var_os("PATH").unwrap_or_else(|| "/usr/local/bin:/usr/bin:/bin".into());
    let found = std::env::split_paths(&path).map(|folder| folder.join("git")).find(|file| file.is_file());
    found.ok_or_else(|| TreeError::NoGit("it is not installed".to_owned()))
}

/// Our own configuration: the form of the repository's objects is all that is taken over from it.
fn config(shared: &Path) -> String {
    let is_long = content_bytes(shared) == LONG;
    let (version, extension) = if is_long { (1, "[extensions]\n\tobjectFormat = sha256\n") } else { (0, "") };
    format!(
        "[core]\n\trepositoryFormatVersion = {version}\n\tbare = false\n\thooksPath = /dev/null\n\tfsmonitor = false\n\
         \tcompression = 0\n\tsplitIndex = false\n\tautocrlf = false\n\tsafecrlf = false\n[gc]\n\tauto = 0\n\
         [protocol]\n\tallow = never\n[advice]\n\taddEmbeddedRepo = false\n{extension}"
    )
}

/// How many bytes the names of contents have in a repository, by its configuration.
fn content_bytes(shared: &Path) -> usize {
    let mut theirs = String::new();
    if let Some(file) = regular(&shared.join("config")) {
        let _ = file.take(LIST_BYTES).read_to_string(&mut theirs);
    }
    let squeezed: String = theirs.to_ascii_lowercase().split_whitespace().collect();
    if squeezed.contains("objectformat=sha256") { LONG } else { SHORT }
}

/// A file, opened, if it is one: a pipe would be waited for, a device read for ever.
fn regular(path: &Path) -> Option<File> {
    std::fs::metadata(path).ok().filter(std::fs::Metadata::is_file)?;
    File::open(path).ok()
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

fn no_room(error: &std::io::Error) -> TreeError {
    TreeError::NoRoom(error.kind().to_string())
}
