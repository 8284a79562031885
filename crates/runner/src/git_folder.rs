//! Where git keeps what belongs to a work tree. Everything in a work tree may have been written by a stranger, its `.git`
//! included: nothing here is run, and a linked worktree is believed only when the other side says the same.

use std::path::{Path, PathBuf};

/// The most that is read of a file with one line.
const LINE_BYTES: u64 = 8192;
/// The most work trees of one repository that are looked at.
const WORK_TREES: usize = 1024;

/// Git's folders that lie outside the work tree and belong to it: those of a linked worktree.
pub(crate) fn of(root: &Path) -> Vec<PathBuf> {
    linked(root).map(|(own, shared)| vec![own, shared]).unwrap_or_default()
}

/// The work trees that are linked to the repository of this one, each of which says so itself; in the order of their paths.
pub fn linked_to(root: &Path) -> Vec<PathBuf> {
    let Some(shared) = places(root).and_then(|(_, shared)| shared.canonicalize().ok()) else { return Vec::new() };
    let Ok(entries) = std::fs::read_dir(shared.join("worktrees")) else { return Vec::new() };
    let mut found: Vec<PathBuf> = entries
        .take(WORK_TREES)
        .filter_map(|entry| {
            let own = entry.ok()?.path();
            let tree = own.join(line(&own.join("gitdir"))?).parent()?.canonicalize().ok()?;
            let (of, to) = linked(&tree)?;
            (of == own.canonicalize().ok()? && to == shared).then_some(tree)
        })
        .collect();
    found.sort();
    found
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

/// Of a linked worktree, git's folder of its own and the one that it shares, when that folder names this work tree as its own.
pub fn linked(root: &Path) -> Option<(PathBuf, PathBuf)> {
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

#[cfg(test)]
mod tests {
    use super::*;

    fn git(folder: &Path, words: &[&str]) {
        let ran = std::process::Command::new("git")
            .args(["-c", "user.name=t", "-c", "user.email=t@example.org"])
            .args(words)
            .current_dir(folder)
            .env("GIT_CONFIG_GLOBAL", "/dev/null")
            .output()
            .expect("git runs");
        assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
    }

    #[test]
    fn a_work_tree_is_found_when_both_sides_say_so() {
        let folder = tempfile::tempdir().expect("a folder");
        let folder = folder.path().canonicalize().expect("a path");
        let main = folder.join("main");
        std::fs::create_dir(&main).expect("a folder");
        git(&main, &["init", "--quiet"]);
        git(&main, &["commit", "--quiet", "--allow-empty", "-m", "begun"]);
        assert!(linked_to(&main).is_empty());
        for name in ["b", "a"] {
            git(&main, &["worktree", "add", "--quiet", "-b", name, &folder.join(name).display().to_string()]);
        }
        assert_eq!(linked_to(&main), [folder.join("a"), folder.join("b")]);
        assert_eq!(linked_to(&folder.join("a")), [folder.join("a"), folder.join("b")], "from each of them");
        // Somebody writes into git's folder where commands are to run: the folder there knows nothing of it.
        let (forged, victim) = (main.join(".git/worktrees/evil"), folder.join("victim"));
        std::fs::create_dir_all(&forged).expect("a folder");
        std::fs::create_dir(&victim).expect("a folder");
        std::fs::write(forged.join("gitdir"), format!("{}/.git\n", victim.display())).expect("written");
        std::fs::write(forged.join("commondir"), "../..\n").expect("written");
        assert_eq!(linked_to(&main).len(), 2);
        // Nor one that points to another's.
        std::fs::write(victim.join(".git"), format!("gitdir: {}\n", main.join(".git/worktrees/a").display()))
            .expect("written");
        assert_eq!(linked_to(&main).len(), 2);
        std::fs::remove_dir_all(folder.join("b")).expect("removed");
        assert_eq!(linked_to(&main), [folder.join("a")], "what is gone is not there");
    }
}
