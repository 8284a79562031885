//! Where git keeps what belongs to a work tree. Everything in a work tree may have been written by a stranger, its `.git`
//! included: nothing here is run, and a linked worktree is believed only when the other side says the same.

use std::path::{Path, PathBuf};

/// The most that is read of a file with one line.
const LINE_BYTES: u64 = 8192;

/// Git's folders that lie outside the work tree and belong to it: those of a linked worktree.
pub(crate) fn of(root: &Path) -> Vec<PathBuf> {
    linked(root).map(|(own, shared)| vec![own, shared]).unwrap_or_default()
}

/// The folder with the index and the head, and the folder with the objects.
pub(crate) fn places(root: &Path) -> Option<(PathBuf, PathBuf)> {
    let git = root.join(".git");
    let kind = std::fs::metadata(&git).ok()?;
    if kind.is_dir() {
        let shared = shared(&git);
        return git.join("HEAD").symlink_metadata().is_ok().then_some((git, shared));
    }
    let own = pointed(root, &git)?;
    let shared = shared(&own);
    own.join("HEAD").symlink_metadata().is_ok().then_some((own, shared))
}

/// Of a linked worktree, its own folder and the one that it shares, when that folder names this work tree as its own.
fn linked(root: &Path) -> Option<(PathBuf, PathBuf)> {
    let git = root.join(".git");
    if !std::fs::symlink_metadata(&git).ok()?.is_file() {
        return None;
    }
    let own = pointed(root, &git)?.canonicalize().ok()?;
    let back = PathBuf::from(line(&own.join("gitdir"))?);
    let back = if back.is_absolute() { back } else { own.join(back) };
    if back.canonicalize().ok()? != git.canonicalize().ok()? {
        return None;
    }
    let shared = shared(&own).canonicalize().ok()?;
    // A worktree's folder lies in `worktrees` of what it shares.
    let known = own.parent().is_some_and(|parent| parent.file_name().is_some_and(|name| name == "worktrees"));
    (known && own.ancestors().nth(2) == Some(shared.as_path())).then_some((own, shared))
}

fn shared(own: &Path) -> PathBuf {
    match line(&own.join("commondir")) {
        Some(shared) => own.join(shared),
        None => own.to_owned(),
    }
}

fn pointed(root: &Path, git: &Path) -> Option<PathBuf> {
    Some(root.join(line(git)?.strip_prefix("gitdir: ")?))
}

fn line(file: &Path) -> Option<String> {
    use std::io::Read as _;
    let opened = std::fs::File::open(file).ok()?;
    // A pipe in place of a file would be waited for for ever.
    if !opened.metadata().ok()?.is_file() {
        return None;
    }
    let mut text = String::new();
    opened.take(LINE_BYTES).read_to_string(&mut text).ok()?;
    Some(text.lines().next()?.trim_end().to_owned())
}
