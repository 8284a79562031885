//! Where a command runs.

use std::os::unix::fs::symlink;

use docket_runner::{Order, Refusal};

use crate::support::Place;

#[test]
fn a_command_runs_in_its_folder() {
    let place = Place::new();
    std::fs::create_dir_all(place.root().join("src/deep")).expect("folders");
    symlink("src", place.root().join("in")).expect("a link");
    let root = place.root().canonicalize().expect("a path");
    assert_eq!(place.said("pwd -P").trim(), root.to_str().expect("text"));
    for folder in ["src/deep", "in/deep", "./src//deep/"] {
        let order = Order { folder: folder.to_owned(), ..place.order("pwd -P") };
        let report = place.try_run(&order).expect("it runs");
        assert_eq!(report.log.text().trim(), root.join("src/deep").to_str().expect("text"), "{folder}");
    }
}

#[test]
fn no_folder_outside_is_entered() {
    let place = Place::new();
    let other = tempfile::tempdir().expect("a folder");
    symlink(other.path(), place.root().join("out")).expect("a link");
    std::fs::write(place.root().join("file"), "").expect("a file");
    for (folder, expected) in [
        ("..", "outside_worktree"),
        ("/", "outside_worktree"),
        ("out", "outside_worktree"),
        ("missing", "no_such_folder"),
        ("file", "not_a_folder"),
        ("a\0b", "bad_folder"),
    ] {
        let order = Order { folder: folder.to_owned(), ..place.order("touch ran") };
        let refusal = place.try_run(&order).expect_err("it is refused");
        assert_eq!(refusal.code(), expected, "{folder}");
    }
    assert!(!other.path().join("ran").exists() && !place.root().join("ran").exists());
    let gone = Order::new("/no/such/repository", "true");
    assert_eq!(place.try_run(&gone), Err(Refusal::NoSuchRoot));
}

#[test]
fn a_folder_that_is_swapped_after_the_look_is_not_entered() {
    // The folder is swapped for a link while runs go on: each run is inside, or refused, and never outside.
    let place = Place::new();
    let other = tempfile::tempdir().expect("a folder");
    let outside = other.path().canonicalize().expect("a path");
    let folder = place.root().join("here");
    std::fs::create_dir(&folder).expect("a folder");
    let over = std::sync::atomic::AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let aside = place.root().join("aside");
            while !over.load(std::sync::atomic::Ordering::Relaxed) {
                std::fs::rename(&folder, &aside).expect("moved");
                symlink(&outside, &folder).expect("a link");
                std::fs::remove_file(&folder).expect("removed");
                std::fs::rename(&aside, &folder).expect("moved back");
            }
        });
        for _ in 0..20 {
            let order = Order { folder: "here".to_owned(), ..place.order("pwd -P; ls -A") };
            match place.try_run(&order) {
                Ok(report) => assert!(!report.log.text().contains(outside.to_str().expect("text")), "{report:?}"),
                Err(refusal) => assert!(matches!(refusal, Refusal::OutsideWorktree | Refusal::NoSuchFolder)),
            }
        }
        over.store(true, std::sync::atomic::Ordering::Relaxed);
    });
}
