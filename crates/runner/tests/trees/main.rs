//! What a work tree holds, by real repositories: kind ones and evil ones.

mod hidden;

use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::Path;
use std::process::Command;

use docket_runner::{Tree, TreeError, limits, tree_blocking, tree_without};

fn git(root: &Path, words: &[&str]) -> String {
    let done = Command::new("git")
        .args(["-c", "user.name=t", "-c", "user.email=t@t", "-c", "init.defaultBranch=main"])
        .args(["-c", "protocol.file.allow=always"])
        .args(words)
        .current_dir(root)
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .output()
        .expect("git runs");
    assert!(done.status.success(), "{words:?}: {}", String::from_utf8_lossy(&done.stderr));
    String::from_utf8(done.stdout).expect("text").trim().to_owned()
}

fn repository() -> tempfile::TempDir {
    let made = tempfile::tempdir().expect("a folder");
    git(made.path(), &["init", "-q"]);
    write(made.path(), "a.txt", "one");
    write(made.path(), "src/b.txt", "two");
    write(made.path(), ".gitignore", "ignored\n");
    git(made.path(), &["add", "-A"]);
    git(made.path(), &["commit", "-qm", "first"]);
    made
}

fn write(root: &Path, name: &str, text: &str) {
    let path = root.join(name);
    std::fs::create_dir_all(path.parent().expect("a parent")).expect("folders");
    std::fs::write(path, text).expect("a file");
}

fn tree(root: &Path) -> Tree {
    tree_blocking(root).expect("it is read").expect("a work tree")
}

/// Everything below a folder, with what it holds.
fn inventory(root: &Path) -> Vec<(String, Vec<u8>)> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(root).expect("a list") {
        let path = entry.expect("one").path();
        if path.is_dir() && !path.is_symlink() {
            found.extend(inventory(&path));
        } else {
            found.push((path.display().to_string(), std::fs::read(&path).unwrap_or_default()));
        }
    }
    found.sort();
    found
}

#[test]
fn a_clean_tree_is_the_commits() {
    let made = repository();
    assert_eq!(tree(made.path()).as_str(), git(made.path(), &["rev-parse", "HEAD^{tree}"]));
}

#[test]
fn what_is_no_work_tree_has_none() {
    let made = tempfile::tempdir().expect("a folder");
    assert_eq!(tree_blocking(made.path()), Ok(None));
    assert_eq!(tree_blocking(&made.path().join("gone")), Ok(None));
    // One that is broken is another matter.
    let broken = repository();
    std::fs::rename(broken.path().join(".git/HEAD"), broken.path().join(".git/H")).expect("moved");
    assert_eq!(tree_blocking(broken.path()), Err(TreeError::NoRepository));
    git(made.path(), &["init", "-q", "--bare", "bare.git"]);
    assert_eq!(tree_blocking(&made.path().join("bare.git")), Ok(None));
}

#[test]
fn every_change_is_seen_and_going_back_is_too() {
    let made = repository();
    let root = made.path();
    let first = tree(root);
    let changed = |what: &str| assert_ne!(tree(root), first, "{what}");
    write(root, "a.txt", "ONE");
    changed("an edit of the same length");
    write(root, "a.txt", "one");
    assert_eq!(tree(root), first, "written again as it was");
    write(root, "new.txt", "new");
    changed("a new file");
    std::fs::remove_file(root.join("new.txt")).expect("removed");
    write(root, "ignored", "anything");
    assert_eq!(tree(root), first, "an ignored file");
    std::fs::remove_file(root.join("src/b.txt")).expect("removed");
    changed("a file that is gone");
    write(root, "src/b.txt", "two");
    std::fs::set_permissions(root.join("a.txt"), std::fs::Permissions::from_mode(0o755)).expect("set");
    changed("a file that can be run");
    std::fs::set_permissions(root.join("a.txt"), std::fs::Permissions::from_mode(0o644)).expect("set");
    symlink("a.txt", root.join("link")).expect("a link");
    changed("a link");
    std::fs::remove_file(root.join("link")).expect("removed");
    assert_eq!(tree(root), first);
}

#[test]
fn a_change_that_git_is_told_not_to_look_at_is_seen() {
    for (mark, version) in
        [("--assume-unchanged", 2), ("--skip-worktree", 2), ("--assume-unchanged", 4), ("--skip-worktree", 4)]
    {
        let made = repository();
        let root = made.path();
        write(root, "src/c.txt", "three");
        git(root, &["add", "-A"]);
        git(root, &["update-index", "--index-version", &version.to_string()]);
        let first = tree(root);
        for file in ["a.txt", "src/b.txt"] {
            git(root, &["update-index", mark, file]);
        }
        assert_eq!(tree(root), first, "{mark}: nothing was changed yet");
        write(root, "src/b.txt", "changed");
        assert_eq!(git(root, &["status", "--porcelain", "src/b.txt"]), "", "{mark}: git does not look");
        assert_ne!(tree(root), first, "{mark}: an edit, version {version}");
        write(root, "src/b.txt", "two");
        assert_eq!(tree(root), first, "{mark}: written again as it was");
        std::fs::remove_file(root.join("a.txt")).expect("removed");
        assert_ne!(tree(root), first, "{mark}: a file that is gone, version {version}");
    }
}

#[test]
fn a_file_that_is_only_meant_to_be_added_counts_as_it_is() {
    let made = repository();
    let root = made.path();
    write(root, "new.txt", "new");
    let unknown = tree(root);
    git(root, &["add", "--intent-to-add", "new.txt"]);
    assert_eq!(tree(root), unknown);
    write(root, "new.txt", "NEW");
    assert_ne!(tree(root), unknown);
}

#[test]
fn folders_that_are_not_checked_out_hide_nothing() {
    let made = repository();
    let root = made.path();
    write(root, "kept/c.txt", "three");
    git(root, &["add", "-A"]);
    git(root, &["commit", "-qm", "a folder more"]);
    git(root, &["sparse-checkout", "set", "--cone", "--sparse-index", "kept"]);
    assert!(!root.join("src").exists() && git(root, &["ls-files", "--sparse"]).ends_with("src/"), "it is folded");
    let first = tree(root);
    write(root, "src/b.txt", "another");
    let edited = tree(root);
    assert_ne!(edited, first, "what lies where nothing is checked out");
    write(root, "src/b.txt", "still another");
    assert_ne!(tree(root), edited, "and what it holds");
    std::fs::remove_dir_all(root.join("src")).expect("removed");
    assert_eq!(tree(root), first);
    write(root, "kept/c.txt", "changed");
    assert_ne!(tree(root), first);
}

#[test]
fn staging_and_committing_change_nothing() {
    let made = repository();
    let root = made.path();
    write(root, "a.txt", "changed");
    write(root, "new.txt", "new");
    let dirty = tree(root);
    git(root, &["add", "a.txt"]);
    assert_eq!(tree(root), dirty, "staged in part");
    git(root, &["add", "-A"]);
    git(root, &["commit", "-qm", "second"]);
    assert_eq!(tree(root), dirty, "committed");
    assert_eq!(git(root, &["rev-parse", "HEAD^{tree}"]), dirty.as_str());
}

#[test]
fn an_edit_in_the_same_instant_as_the_index_is_seen() {
    // Git takes a file for unchanged when its times and size are. An edit within the clock's step after the index was
    // written shows only because the index is not older than the file: that has to survive the copying.
    for round in 0..50 {
        let made = tempfile::tempdir().expect("a folder");
        git(made.path(), &["init", "-q"]);
        write(made.path(), "a.txt", "one");
        git(made.path(), &["add", "a.txt"]);
        write(made.path(), "a.txt", "two");
        let edited = tree(made.path());
        write(made.path(), "b.txt", "x");
        std::fs::remove_file(made.path().join("b.txt")).expect("removed");
        git(made.path(), &["add", "-A"]);
        assert_eq!(git(made.path(), &["write-tree"]), edited.as_str(), "round {round}");
    }
}

#[test]
fn nothing_is_written_to_the_repository() {
    let made = repository();
    write(made.path(), "a.txt", "changed");
    write(made.path(), "new.txt", &"much".repeat(10_000));
    let before = inventory(made.path());
    let changed = std::fs::metadata(made.path().join(".git/index")).expect("an index").modified().expect("a time");
    tree(made.path());
    assert_eq!(inventory(made.path()), before);
    let now = std::fs::metadata(made.path().join(".git/index")).expect("an index").modified().expect("a time");
    assert_eq!(now, changed);
}

#[test]
fn nothing_of_an_evil_repository_is_run() {
    let made = repository();
    let root = made.path();
    let seen = tempfile::tempdir().expect("a folder");
    let script = root.join("evil.sh");
    std::fs::write(&script, format!("#!/bin/sh\ntouch {}/$$\ncat\n", seen.path().display())).expect("a file");
    std::fs::set_permissions(&script, std::fs::Permissions::from_mode(0o755)).expect("set");
    let evil = script.to_str().expect("text");
    for name in ["post-index-change", "pre-commit", "fsmonitor-watchman", "pre-auto-gc", "reference-transaction"] {
        let hook = root.join(".git/hooks").join(name);
        std::fs::create_dir_all(hook.parent().expect("a parent")).expect("folders");
        std::fs::copy(&script, hook).expect("a hook");
    }
    std::fs::write(root.join(".git/included"), format!("[filter \"more\"]\n\tclean = {evil}\n\trequired = true\n"))
        .expect("a file");
    let config = format!(
        "[core]\n\trepositoryformatversion = 0\n\tfsmonitor = {evil}\n\thooksPath = {hooks}\n\tsshCommand = {evil}\n\
         \tpager = {evil}\n\teditor = {evil}\n\tworktree = /\n[include]\n\tpath = included\n\
         [filter \"evil\"]\n\tclean = {evil}\n\tsmudge = {evil}\n\tprocess = {evil}\n\trequired = true\n\
         [diff]\n\texternal = {evil}\n[diff \"evil\"]\n\ttextconv = {evil}\n\tcommand = {evil}\n\
         [extensions]\n\tpartialClone = origin\n[remote \"origin\"]\n\turl = ext::{evil}\n\tpromisor = true\n\tuploadpack = {evil}\n\
         [credential]\n\thelper = {evil}\n[alias]\n\tadd = !{evil}\n\twrite-tree = !{evil}\n",
        hooks = root.join(".git/hooks").display(),
    );
    std::fs::write(root.join(".git/config"), config).expect("a file");
    let attributes = "* filter=evil diff=evil\nmore.txt filter=more\n";
    write(root, ".gitattributes", attributes);
    std::fs::create_dir_all(root.join(".git/info")).expect("a folder");
    std::fs::write(root.join(".git/info/attributes"), attributes).expect("a file");
    write(root, "a.txt", "changed");
    write(root, "more.txt", "more");
    // The traps are real: git by itself walks into them.
    let _ = Command::new("git").args(["--work-tree=.", "add", "-A", "-n"]).current_dir(root).output();
    let _ = Command::new("git").args(["--work-tree=.", "status"]).current_dir(root).output();
    assert!(std::fs::read_dir(seen.path()).expect("a list").count() > 0, "no trap works");
    std::fs::read_dir(seen.path())
        .expect("a list")
        .for_each(|entry| std::fs::remove_file(entry.expect("one").path()).expect("removed"));
    let first = tree(root);
    write(root, "a.txt", "changed again");
    assert_ne!(tree(root), first);
    assert_eq!(std::fs::read_dir(seen.path()).expect("a list").count(), 0, "something was run");
}

#[test]
fn an_evil_submodule_is_read_and_not_run() {
    let made = repository();
    let other = repository();
    let root = made.path();
    git(root, &["submodule", "add", "-q", other.path().to_str().expect("text"), "sub"]);
    git(root, &["commit", "-qm", "with a submodule"]);
    let seen = tempfile::tempdir().expect("a folder");
    let evil = format!("touch {}/seen; false", seen.path().display());
    git(&root.join("sub"), &["config", "core.fsmonitor", &evil]);
    git(&root.join("sub"), &["config", "filter.evil.clean", &evil]);
    let clean = tree(root);
    write(root, "sub/a.txt", "changed");
    write(root, "sub/.gitattributes", "* filter=evil\n");
    assert_ne!(tree(root), clean, "an edit in a submodule counts");
    assert_eq!(std::fs::read_dir(seen.path()).expect("a list").count(), 0, "something was run");
}

#[test]
fn linked_worktrees_have_trees_of_their_own() {
    let made = repository();
    let beside = tempfile::tempdir().expect("a folder");
    let linked = beside.path().join("linked");
    git(made.path(), &["worktree", "add", "-q", linked.to_str().expect("text"), "-b", "other"]);
    assert_eq!(tree(&linked), tree(made.path()));
    write(&linked, "a.txt", "changed");
    assert_ne!(tree(&linked), tree(made.path()));
}

#[test]
fn odd_repositories_are_read() {
    let made = tempfile::tempdir().expect("a folder");
    let root = made.path();
    git(root, &["init", "-q", "--object-format=sha256"]);
    write(root, "a.txt", "one");
    assert_eq!(tree(root).as_str().len(), 64);
    let empty = tempfile::tempdir().expect("a folder");
    git(empty.path(), &["init", "-q"]);
    assert_eq!(tree(empty.path()).as_str(), "4b825dc642cb6eb9a060e54bf8d69288fbee4904");
    let split = repository();
    git(split.path(), &["update-index", "--split-index"]);
    assert_eq!(tree(split.path()).as_str(), git(split.path(), &["rev-parse", "HEAD^{tree}"]));
    let piped = repository();
    assert!(Command::new("mkfifo").arg(piped.path().join("pipe")).status().expect("it runs").success());
    assert_eq!(tree(piped.path()).as_str(), git(piped.path(), &["rev-parse", "HEAD^{tree}"]));
    std::fs::write(split.path().join(".git/index"), "broken").expect("a file");
    assert_eq!(tree(split.path()).as_str(), git(piped.path(), &["rev-parse", "HEAD^{tree}"]));
}

#[test]
fn what_cannot_be_read_is_no_tree() {
    let made = repository();
    let mut inside = made.path().to_owned();
    for depth in 1..limits::TREE_DEPTH {
        inside = inside.join("inside");
        std::fs::create_dir(&inside).expect("a folder");
        git(&inside, &["init", "-q"]);
        write(&inside, "x", "x");
        // A repository in a repository, without a commit to stand for it, counts as it is.
        let known = tree(made.path());
        write(&inside, "x", "y");
        assert_ne!(tree(made.path()), known, "{depth}");
    }
    let inside = inside.join("inside");
    std::fs::create_dir(&inside).expect("a folder");
    git(&inside, &["init", "-q"]);
    write(&inside, "x", "x");
    assert_eq!(tree_blocking(made.path()), Err(TreeError::TooDeep), "too deep");
}

#[tokio::test]
async fn a_tree_is_awaited() {
    let made = repository();
    let found = docket_runner::tree(made.path().to_owned()).await.expect("it is read");
    assert_eq!(found, Some(tree(made.path())));
}

#[test]
fn what_is_none_of_the_work_is_left_out_and_nothing_else() {
    let made = repository();
    let root = made.path();
    let apart: Vec<_> = ["work.db", "work.db-wal", "deep/a*b.db"].iter().map(|name| root.join(name)).collect();
    let without = |what: &str| tree_without(root, &apart).expect(what).expect("a work tree");
    let first = without("it is read");
    assert_eq!(first, tree(root), "there is nothing to leave out");
    write(root, "work.db", "rows");
    write(root, "work.db-wal", "more rows");
    write(root, "deep/a*b.db", "a name is no pattern");
    assert_eq!(without("with a database"), first);
    assert_ne!(tree(root), first, "elsewhere it counts");
    write(root, "deep/axb.db", "another's");
    assert_ne!(without("a file beside it"), first);
    std::fs::remove_file(root.join("deep/axb.db")).expect("removed");
    write(root, "work.db.txt", "another's");
    assert_ne!(without("a file of a longer name"), first);
    std::fs::remove_file(root.join("work.db.txt")).expect("removed");
    // Somebody has committed it: what is noted in it since is still none of the work.
    git(root, &["add", "-A"]);
    git(root, &["commit", "-qm", "everything"]);
    let committed = without("a committed database");
    write(root, "work.db", "rows and more");
    assert_eq!(without("a changed database"), committed);
    // One that is ignored, while another of the same name is not: neither gets in git's way.
    write(root, ".gitignore", "ignored\n/own/\n");
    write(root, "own/my.db", "rows");
    write(root, "sub/own/my.db", "somebody's fixture");
    git(root, &["add", "-A"]);
    git(root, &["commit", "-qm", "a fixture"]);
    let ignored = [root.join("own/my.db"), root.join("own/my.db-wal")];
    let with_fixture = tree_without(root, &ignored).expect("it is read");
    write(root, "own/my.db", "more rows");
    assert_eq!(tree_without(root, &ignored).expect("it is read"), with_fixture);
    write(root, "sub/own/my.db", "another fixture");
    assert_ne!(tree_without(root, &ignored).expect("it is read"), with_fixture, "the fixture is work");
    let elsewhere = tempfile::tempdir().expect("a folder");
    let outside = [elsewhere.path().join("work.db"), root.join("gone/work.db")];
    assert_eq!(tree_without(root, &outside).expect("it is read"), tree_blocking(root).expect("it is read"));
}
