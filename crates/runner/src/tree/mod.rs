//! What a git work tree holds now, as one value: the tree that a commit of everything would have, the ignored left out.
//!
//! The repository is not trusted. Git is asked for names alone: which files are tracked, and which are not ignored. What is in them
//! is read here, as it is: no attribute, no filter and nothing that an index says of a file stands between. Whatever else has a
//! say in which names are told, and is not in the tree itself, goes into the value. Nothing is written to the repository.

mod desk;
mod files;
mod memory;
mod object;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::time::Instant;

use docket_core::echo;
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use crate::git_folder;
use crate::limits::{TREE_DEPTH, TREE_TIMEOUT};
use desk::{Desk, Listed, Listing};
use files::Found;
pub(crate) use memory::Memory;
use object::{Entry, Mode};

/// The content of a work tree, by a digest. Equal values mean equal content.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Tree(String);

impl Tree {
    /// The digest: git's own name of the tree, or one of ours where more has a say in it than files.
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
    /// A file or a folder of it cannot be read, by this name.
    #[error("\"{0}\" cannot be read: make it readable, or have git ignore it")]
    Unreadable(String),
    /// A file changes while it is read.
    #[error("\"{0}\" changes all the time: have git ignore it")]
    Restless(String),
    /// Git cannot tell what is in it.
    #[error("git cannot list its files")]
    Unlisted,
    /// It has a `.git` that is of no use.
    #[error(
        "its .git is no repository, and names none that is here: mend it, or remove it where there is to be no git"
    )]
    NoRepository,
    /// There are repositories in one another without an end.
    #[error("repositories lie in it more than {TREE_DEPTH} deep in one another")]
    TooDeep,
    /// The look at it broke off.
    #[error("the look at it broke off")]
    BrokeOff,
    /// It took too long.
    #[error("the work tree was not read within {} seconds", TREE_TIMEOUT.as_secs())]
    TooSlow,
    /// A folder of ours could not be made.
    #[error("no folder can be made for the work tree's index: {0}")]
    NoRoom(String),
    /// Something that git goes by is larger than anything of its kind.
    #[error("{what} is larger than {bytes} bytes")]
    TooLarge {
        /// What it is.
        what: &'static str,
        /// How large it may be.
        bytes: u64,
    },
}

/// That something cannot be read that git calls so. The name may be anybody's.
fn unreadable(name: &[u8]) -> TreeError {
    TreeError::Unreadable(echo(&String::from_utf8_lossy(name)))
}

/// The same for a path.
fn unreadable_at(path: &Path) -> TreeError {
    unreadable(path.as_os_str().as_encoded_bytes())
}

/// The content of the work tree at a root; none when that is no git work tree.
pub async fn tree(root: PathBuf) -> Result<Option<Tree>, TreeError> {
    let read = tokio::task::spawn_blocking(move || tree_blocking(&root)).await;
    read.unwrap_or(Err(TreeError::BrokeOff))
}

/// The same on this thread, which waits.
pub fn tree_blocking(root: &Path) -> Result<Option<Tree>, TreeError> {
    tree_without(root, &[])
}

/// The same, but for files that lie in the work tree and are none of the work, tracked or not: our own database changes by every
/// result that is noted in it.
pub fn tree_without(root: &Path, apart: &[PathBuf]) -> Result<Option<Tree>, TreeError> {
    Memory::default().tree(root, apart)
}

impl Memory {
    /// The same for one who looks again and again: what has not changed since is not read again.
    pub(crate) fn tree(&self, root: &Path, apart: &[PathBuf]) -> Result<Option<Tree>, TreeError> {
        let Some((own, shared)) = git_folder::places(root) else {
            // A repository that is broken is not the same as none: whoever breaks it would be judged by less.
            return if root.join(".git").symlink_metadata().is_ok() { Err(TreeError::NoRepository) } else { Ok(None) };
        };
        let root = root.canonicalize().map_err(|_| unreadable_at(root))?;
        let look = Look { memory: self, apart, until: Instant::now() + TREE_TIMEOUT };
        look.at(&root, Some((&own, &shared)), 0).map(Some)
    }
}

/// One look, with all that is looked into on the way.
struct Look<'a> {
    memory: &'a Memory,
    /// What is left out, as it was named.
    apart: &'a [PathBuf],
    until: Instant,
}

impl Look<'_> {
    /// What a folder holds that has a repository; or none, and is looked at as if it had one that knows nothing.
    fn at(&self, root: &Path, git: Option<(&Path, &Path)>, depth: usize) -> Result<Tree, TreeError> {
        if depth >= TREE_DEPTH {
            return Err(TreeError::TooDeep);
        }
        let desk = Desk::new(root, git, self.until)?;
        let Listing { names, rules } = desk.list()?;
        let apart = self.inside(root);
        let names = told(names.into_iter().filter(|(name, _)| !apart.contains(name)));
        let found = files::find(root, &names, desk.form(), self.memory, self.until)?;
        let mut besides = Besides::default();
        if !rules.is_empty() {
            besides.add(b"left out", b"", &rules);
        }
        let mut entries = Vec::with_capacity(found.len());
        for (name, found) in found {
            let (mode, id) = match found {
                Found::File(mode, id) => (mode, id),
                Found::Folder => match self.within(root, &name, &names, &desk, depth)? {
                    Within::Tree(tree) => {
                        besides.add(b"within", &name, tree.as_str().as_bytes());
                        (Mode::Repository, desk.form().nothing())
                    }
                    Within::Listed(id) => (Mode::Repository, id),
                    Within::Nothing => continue,
                },
                // Git goes by what it has in the index, where these rules are not checked out.
                Found::Hidden(id) => {
                    besides.add(b"rules", &name, &id);
                    continue;
                }
            };
            entries.push(Entry { name, mode, id });
        }
        for (name, rules) in files::rules_beside(root, &entries)? {
            besides.add(b"rules", &name, &rules);
        }
        Ok(besides.named(object::tree(&entries, desk.form())))
    }

    /// What a repository in a work tree holds. Whoever says that one is there may be wrong: what lies in the folder counts.
    fn within(
        &self,
        root: &Path,
        name: &[u8],
        names: &BTreeMap<Vec<u8>, Listed>,
        desk: &Desk<'_>,
        depth: usize,
    ) -> Result<Within, TreeError> {
        let place = files::place(root, name);
        let is_empty = std::fs::read_dir(&place).map_err(|_| unreadable(name))?.next().is_none();
        if is_empty {
            // One that is not checked out.
            return Ok(match names.get(name) {
                Some(Listed::Repository(id)) if id.len() == desk.form().bytes() => Within::Listed(id.clone()),
                Some(_) | None => Within::Nothing,
            });
        }
        let git = git_folder::places(&place);
        let git = git.as_ref().map(|(own, shared)| (own.as_path(), shared.as_path()));
        self.at(&place, git, depth + 1).map(Within::Tree)
    }

    /// What lies in this work tree and is none of the work.
    fn inside(&self, root: &Path) -> BTreeSet<Vec<u8>> {
        let inside = |path: &PathBuf| {
            let folder = path.parent()?.canonicalize().ok()?;
            let inside = folder.strip_prefix(root).ok()?.join(path.file_name()?);
            Some(inside.into_os_string().into_encoded_bytes())
        };
        self.apart.iter().filter_map(inside).collect()
    }
}

/// What git says of each name. One that is tracked as a file and is a repository now is told twice.
fn told(names: impl Iterator<Item = (Vec<u8>, Listed)>) -> BTreeMap<Vec<u8>, Listed> {
    let mut told = BTreeMap::new();
    for (name, listed) in names {
        if told.get(&name) != Some(&Listed::Folder) {
            told.insert(name, listed);
        }
    }
    told
}

/// What a folder in a work tree stands for.
enum Within {
    /// What it holds.
    Tree(Tree),
    /// The commit that is listed for it.
    Listed(Vec<u8>),
    /// Nothing that git would keep.
    Nothing,
}

/// What has a say in the value of a tree and is in no tree of git's.
#[derive(Default)]
struct Besides(Option<Sha256>);

impl Besides {
    fn add(&mut self, kind: &[u8], name: &[u8], value: &[u8]) {
        let digest = self.0.get_or_insert_default();
        for part in [kind, name, value] {
            digest.update((part.len() as u64).to_be_bytes());
            digest.update(part);
        }
    }

    fn named(self, id: Vec<u8>) -> Tree {
        Tree(match self.0 {
            None => hex(&id),
            Some(mut digest) => {
                digest.update(id);
                hex(&digest.finalize())
            }
        })
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::with_capacity(2 * bytes.len()), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}
