//! What somebody who may write the work tree and its `.git` does so that a change is not seen.

use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, symlink};
use std::path::Path;
use std::process::Command;

use docket_runner::{TreeError, limits, tree_blocking};

use super::{git, repository, tree, write};

/// Changes a file so that its size and its times, as far as anybody may set them, are what they were.
fn change_quietly(file: &Path, text: &str) {
    let known = std::fs::metadata(file).expect("it is there");
    assert_eq!(known.len(), text.len() as u64, "a text of the same length");
    std::fs::write(file, text).expect("written");
    let times = std::fs::FileTimes::new().set_modified(known.modified().expect("a time"));
    std::fs::File::options().write(true).open(file).expect("opened").set_times(times).expect("set");
}

/// Git looks into files of the same second as its index, whatever that says of them.
fn wait_until_times_tell() {
    std::thread::sleep(std::time::Duration::from_millis(1100));
}

#[test]
fn no_attribute_makes_two_contents_the_same() {
    for (attributes, one, other) in [
        ("* ident", "$Id: fixed $\n", "$Id: BROKEN $\n"),
        ("* text=auto", "one\ntwo\n", "one\r\ntwo\r\n"),
        ("* text eol=crlf", "one\ntwo\n", "one\r\ntwo\r\n"),
        ("* crlf", "one\ntwo\n", "one\r\ntwo\r\n"),
        ("* working-tree-encoding=UTF-16", "\u{feff}one\n", "one\n"),
        ("[attr]mine ident text\n* mine", "$Id: fixed $\n", "$Id: BROKEN $\r\n"),
    ] {
        for place in [".gitattributes", "src/.gitattributes", ".git/info/attributes"] {
            if place.starts_with("src") && attributes.contains("[attr]") {
                continue;
            }
            let made = repository();
            let root = made.path();
            write(root, place, attributes);
            write(root, "src/b.txt", one);
            let _ = Command::new("git").args(["add", "-A"]).current_dir(root).output();
            let first = tree(root);
            write(root, "src/b.txt", other);
            assert_ne!(tree(root), first, "{attributes} in {place}");
        }
    }
}

#[test]
fn what_git_is_told_to_leave_out_in_its_own_folder_changes_the_tree() {
    let made = repository();
    let root = made.path();
    let first = tree(root);
    write(root, ".git/info/exclude", "# nothing\n\n");
    assert_eq!(tree(root), first, "remarks say nothing");
    write(root, "new", "");
    assert_ne!(tree(root), first);
    write(root, ".git/info/exclude", "# nothing\n/new\n");
    let hidden = tree(root);
    assert_ne!(hidden, first, "a file was added and hidden");
    write(root, "new", "more");
    assert_eq!(tree(root), hidden, "what is left out is left out");
    // In a linked worktree it is that of the whole repository.
    let beside = tempfile::tempdir().expect("a folder");
    let linked = beside.path().join("linked");
    git(root, &["worktree", "add", "-q", linked.to_str().expect("text"), "-b", "other"]);
    let first = tree(&linked);
    write(root, ".git/info/exclude", "/other\n");
    write(&linked, "other", "");
    assert_ne!(tree(&linked), first);
}

#[test]
fn rules_that_are_no_part_of_the_tree_change_it() {
    let made = repository();
    let root = made.path();
    git(root, &["rm", "-q", ".gitignore"]);
    git(root, &["commit", "-qm", "no rules"]);
    for folder in ["", "src/"] {
        let first = tree(root);
        let rules = format!("{folder}.gitignore");
        write(root, &rules, "new\n.gitignore\n");
        write(root, &format!("{folder}new"), "");
        assert_eq!(git(root, &["status", "--porcelain"]), "", "git sees nothing");
        assert_ne!(tree(root), first, "{rules} hides itself and a file");
        std::fs::remove_file(root.join(&rules)).expect("removed");
        std::fs::remove_file(root.join(format!("{folder}new"))).expect("removed");
        assert_eq!(tree(root), first);
    }
    // A folder that ignores all of itself, as tools make them for what they keep, is none of the work.
    let first = tree(root);
    write(root, ".cache/.gitignore", "*\n");
    write(root, ".cache/kept", "anything");
    assert_eq!(tree(root), first);
}

#[test]
fn rules_that_git_reads_from_its_index_change_the_tree() {
    let made = repository();
    let root = made.path();
    git(root, &["rm", "-q", ".gitignore"]);
    git(root, &["commit", "-qm", "no rules"]);
    let first = tree(root);
    write(root, ".gitignore", "new\n");
    git(root, &["add", ".gitignore"]);
    git(root, &["update-index", "--skip-worktree", ".gitignore"]);
    std::fs::remove_file(root.join(".gitignore")).expect("removed");
    assert_eq!(tree(root).as_str().len(), 64, "it is not git's own name");
    write(root, "new", "");
    assert_ne!(tree(root), first, "a file is hidden by rules that are nowhere to be seen");
}

/// Where the entry of a file begins in an index of the second version.
fn entry(index: &[u8], name: &str) -> usize {
    let name = format!("{name}\0");
    let at = index.windows(name.len()).position(|bytes| bytes == name.as_bytes()).expect("an entry");
    at - 62
}

#[test]
fn an_index_that_says_that_nothing_changed_is_not_believed() {
    let made = repository();
    let root = made.path();
    git(root, &["config", "index.version", "2"]);
    git(root, &["config", "index.skipHash", "false"]);
    write(root, "a.txt", "fixed!");
    git(root, &["add", "-A"]);
    git(root, &["commit", "-qm", "fixed"]);
    let first = tree(root);
    let fixed = std::fs::read(root.join(".git/index")).expect("an index");
    let place = entry(&fixed, "a.txt");
    // Staged as it is now, so that size and times are true; then with the content that it had.
    write(root, "a.txt", "BROKEN");
    git(root, &["add", "-A"]);
    let mut forged = std::fs::read(root.join(".git/index")).expect("an index");
    forged[place + 40..place + 60].copy_from_slice(&fixed[place + 40..place + 60]);
    wait_until_times_tell();
    std::fs::write(root.join(".git/index"), &forged).expect("written");
    assert_eq!(git(root, &["diff", "--stat"]), "", "git believes it");
    assert_ne!(tree(root), first);
}

#[test]
fn an_index_that_names_its_tree_is_not_believed() {
    let made = repository();
    let root = made.path();
    let first = tree(root);
    let named = hex(&git(root, &["rev-parse", "HEAD^{tree}"]));
    write(root, "a.txt", "BROKEN");
    wait_until_times_tell();
    git(root, &["add", "-A"]);
    let broken = hex(&git(root, &["write-tree"]));
    let mut forged = std::fs::read(root.join(".git/index")).expect("an index");
    let at = forged.windows(20).position(|bytes| bytes == broken).expect("the tree that it names");
    forged[at..at + 20].copy_from_slice(&named);
    std::fs::write(root.join(".git/index"), &forged).expect("written");
    assert_eq!(git(root, &["write-tree"]), first.as_str(), "git believes it");
    assert_ne!(tree(root), first);
}

fn hex(text: &str) -> Vec<u8> {
    (0..text.len()).step_by(2).map(|at| u8::from_str_radix(&text[at..at + 2], 16).expect("a digit")).collect()
}

#[test]
fn a_folder_that_is_listed_as_a_submodule_hides_nothing() {
    let made = repository();
    let root = made.path();
    let commit = git(root, &["rev-parse", "HEAD"]);
    git(root, &["rm", "-qr", "--cached", "src"]);
    git(root, &["update-index", "--add", "--cacheinfo", &format!("160000,{commit},src")]);
    let first = tree(root);
    write(root, "src/b.txt", "changed");
    assert_ne!(tree(root), first, "an edit");
    write(root, "src/b.txt", "two");
    assert_eq!(tree(root), first);
    write(root, "src/new", "");
    assert_ne!(tree(root), first, "a new file");
    std::fs::remove_file(root.join("src/new")).expect("removed");
    // A submodule that is not checked out is an empty folder, and counts as it is listed.
    std::fs::remove_file(root.join("src/b.txt")).expect("removed");
    let listed = tree(root);
    assert_eq!(listed.as_str().len(), 40);
    git(root, &["update-index", "--add", "--cacheinfo", &format!("160000,{},src", "1".repeat(40))]);
    assert_ne!(tree(root), listed);
}

#[test]
fn a_repository_that_only_git_understands_hides_nothing() {
    let made = repository();
    let root = made.path();
    // Its folder ends with a blank, which git keeps and others might take off.
    let apart = root.join(".git/apart ");
    git(root, &["init", "-q", "--separate-git-dir", apart.to_str().expect("text"), "src"]);
    git(&root.join("src"), &["add", "-A"]);
    git(&root.join("src"), &["commit", "-qm", "within"]);
    git(root, &["rm", "-qr", "--cached", "src"]);
    let first = tree(root);
    write(root, "src/b.txt", "changed");
    assert_ne!(tree(root), first);
}

#[test]
fn what_is_committed_in_a_submodule_changes_nothing() {
    let made = repository();
    let other = repository();
    let root = made.path();
    git(root, &["submodule", "add", "-q", other.path().to_str().expect("text"), "sub"]);
    git(root, &["commit", "-qm", "with a submodule"]);
    let clean = tree(root);
    let within = root.join("sub");
    write(&within, "a.txt", "changed");
    let dirty = tree(root);
    assert_ne!(dirty, clean);
    git(&within, &["commit", "-qam", "changed"]);
    assert_eq!(tree(root), dirty, "committed there");
    git(root, &["add", "-A"]);
    assert_eq!(tree(root), dirty, "and staged here");
}

#[test]
fn an_index_that_cannot_be_read_hides_nothing() {
    for mark in ["--assume-unchanged", "--skip-worktree"] {
        let made = repository();
        let root = made.path();
        git(root, &["update-index", mark, "a.txt", "src/b.txt"]);
        let first = tree(root);
        let whole = std::fs::read(root.join(".git/index")).expect("an index");
        // Its last entry is missing, and so is whatever was to follow: what came before is marked.
        let cut = entry(&whole, "src/b.txt");
        std::fs::write(root.join(".git/index"), &whole[..cut + 10]).expect("written");
        assert_eq!(tree(root), first, "what is there is there");
        write(root, "src/b.txt", "changed");
        write(root, "a.txt", "changed");
        let changed = tree(root);
        assert_ne!(changed, first, "{mark}");
        write(root, "src/b.txt", "two");
        assert_ne!(tree(root), changed, "{mark}");
    }
}

#[test]
fn files_that_are_tracked_and_ignored_count_in_a_split_index_too() {
    let made = repository();
    let root = made.path();
    write(root, "ignored", "one");
    git(root, &["add", "-f", "ignored"]);
    git(root, &["commit", "-qm", "tracked all the same"]);
    git(root, &["update-index", "--split-index"]);
    let first = tree(root);
    assert_eq!(first.as_str(), git(root, &["rev-parse", "HEAD^{tree}"]));
    write(root, "ignored", "two");
    assert_ne!(tree(root), first);
}

#[test]
fn an_index_beyond_every_size_is_not_read() {
    let made = repository();
    let root = made.path();
    let index = std::fs::File::options().write(true).open(root.join(".git/index")).expect("an index");
    index.set_len(limits::INDEX_BYTES + 1).expect("it has holes");
    assert!(matches!(tree_blocking(root), Err(TreeError::TooLarge { bytes: limits::INDEX_BYTES, .. })));
    let made = repository();
    let exclude = std::fs::File::create(made.path().join(".git/info/exclude")).expect("a file");
    exclude.set_len(limits::RULES_BYTES + 1).expect("it has holes");
    assert!(matches!(tree_blocking(made.path()), Err(TreeError::TooLarge { bytes: limits::RULES_BYTES, .. })));
}

#[test]
fn a_name_leads_nowhere_else() {
    let made = repository();
    let root = made.path();
    git(root, &["config", "index.version", "2"]);
    git(root, &["update-index", "--index-version", "2"]);
    let outside = tempfile::tempdir().expect("a folder");
    write(outside.path(), "b.txt", "two");
    let clean = tree(root);
    // A folder becomes a link: what the index has in it is gone, wherever the link leads.
    std::fs::remove_dir_all(root.join("src")).expect("removed");
    symlink(outside.path(), root.join("src")).expect("a link");
    let linked = tree(root);
    assert_ne!(linked, clean);
    write(outside.path(), "b.txt", "changed");
    assert_eq!(tree(root), linked, "what lies elsewhere is none of the work");
    // An index that names what lies in git's own folder, or above.
    let mut index = std::fs::read(root.join(".git/index")).expect("an index");
    let at = entry(&index, "src/b.txt") + 62;
    index[at..at + 9].copy_from_slice(b"../../etc");
    std::fs::write(root.join(".git/index"), &index).expect("written");
    assert_eq!(tree(root), linked);
}

#[test]
fn a_change_that_keeps_size_and_times_is_seen() {
    let made = repository();
    let root = made.path();
    let first = tree(root);
    change_quietly(&root.join("a.txt"), "ONE");
    assert_ne!(tree(root), first);
    change_quietly(&root.join("a.txt"), "one");
    assert_eq!(tree(root), first);
    // Another file in its place, with the same times.
    let known = std::fs::metadata(root.join("a.txt")).expect("it is there");
    write(root, "other", "ONE");
    std::fs::rename(root.join("other"), root.join("a.txt")).expect("moved");
    change_quietly(&root.join("a.txt"), "ONE");
    let times = std::fs::FileTimes::new().set_modified(known.modified().expect("a time"));
    std::fs::File::options().write(true).open(root.join("a.txt")).expect("opened").set_times(times).expect("set");
    assert_ne!(known.ino(), std::fs::metadata(root.join("a.txt")).expect("it is there").ino());
    assert_ne!(tree(root), first);
}

/// Whoever is root lists any folder: this one goes on as nobody.
#[test]
#[expect(clippy::print_stderr, reason = "what was not tried is told")]
fn a_folder_that_cannot_be_listed_is_no_tree() {
    if std::env::var_os("AS_NOBODY").is_some() {
        let made = repository();
        let root = made.path();
        write(root, "shut/new", "");
        let folder = root.join("shut");
        std::fs::set_permissions(&folder, std::fs::Permissions::from_mode(0o311)).expect("set");
        let found = tree_blocking(root);
        std::fs::set_permissions(&folder, std::fs::Permissions::from_mode(0o755)).expect("set");
        let error = found.expect_err("nobody knows what is in there");
        let said = "\"shut/\" cannot be read: make it readable, or have git ignore it";
        assert_eq!(error.to_string(), said);
        // So it says itself what to do.
        write(root, ".gitignore", "shut/\n");
        std::fs::set_permissions(&folder, std::fs::Permissions::from_mode(0o311)).expect("set");
        let found = tree_blocking(root);
        std::fs::set_permissions(&folder, std::fs::Permissions::from_mode(0o755)).expect("set");
        assert!(found.is_ok(), "{found:?}");
        return;
    }
    let this = std::env::current_exe().expect("a program");
    let name = "hidden::a_folder_that_cannot_be_listed_is_no_tree";
    let as_nobody = |command: &mut Command| {
        command.args(["--reuid=65534", "--regid=65534", "--clear-groups"]);
    };
    let mut can = Command::new("setpriv");
    as_nobody(&mut can);
    if !can.args(["test", "-x"]).arg(&this).status().is_ok_and(|status| status.success()) {
        eprintln!("NOT TRIED: nobody else can be had here");
        return;
    }
    let mut command = Command::new("setpriv");
    as_nobody(&mut command);
    let done = command.arg(&this).args(["--exact", name, "--nocapture"]).env("AS_NOBODY", "1").env("HOME", "/");
    let done = done.current_dir("/").output().expect("it runs");
    assert!(
        done.status.success(),
        "{}{}",
        String::from_utf8_lossy(&done.stdout),
        String::from_utf8_lossy(&done.stderr)
    );
}
