//! What is the operator's is neither written, nor removed, nor moved away, nor made by a command, wherever the command begins and
//! by whatever name it comes there.

use std::os::unix::fs::symlink;
use std::path::Path;

use docket_runner::{Ended, Order, Own, Processes, Report};

use crate::support::{Place, both, not_tried};

const OWN: [&str; 4] = [".docket/docket.db", ".docket/docket.db-wal", "data/deep/work.db", "docket.toml"];

/// A database in a folder of its own within the work tree, another beside files of the work, and a configuration.
fn with_own() -> Place {
    let mut place = Place::new();
    let root = place.root().to_owned();
    for folder in [".docket", "data/deep"] {
        std::fs::create_dir_all(root.join(folder)).expect("folders");
    }
    for file in OWN {
        std::fs::write(root.join(file), "ours").expect("a file");
    }
    place.settings.own = [".docket", ".docket/docket.db", "data/deep/work.db", "data/deep/work.db-wal", "docket.toml"]
        .map(|name| root.join(name))
        .to_vec();
    place
}

/// Whether it was kept in a namespace; where there is none, nothing keeps what is in the work tree.
fn is_held(report: &Report) -> bool {
    if matches!(report.sandbox.processes, Processes::Namespace { .. }) {
        assert_eq!(report.sandbox.own, Own::ReadOnly, "{}", report.sandbox);
        return true;
    }
    assert_eq!(report.sandbox.own, Own::Open { why: "no namespace".to_owned() });
    not_tried("there are no namespaces here");
    false
}

fn places(report: &Report) -> Vec<std::path::PathBuf> {
    report.put_back.iter().map(|put_back| put_back.place.clone()).collect()
}

fn is_as_it_was(root: &Path, said: &str) {
    for file in OWN {
        assert_eq!(std::fs::read_to_string(root.join(file)).unwrap_or_default(), "ours", "{file}: {said}");
    }
    assert!(!root.join(".docket/new").exists(), "{said}");
}

#[test]
fn what_is_the_operators_is_neither_written_nor_removed_nor_moved_away() {
    let place = with_own();
    let report = place.run(
        "echo x > .docket/docket.db; echo x >> docket.toml; rm -rf .docket; rm -f docket.toml; mv .docket away; \
         mv docket.toml away.toml; mv data/deep moved; mv data moved; rm -rf data; echo x > .docket/new; \
         cat .docket/docket.db docket.toml; echo; umount .docket docket.toml data data/deep data/deep/work.db; \
         unshare -Urm umount .docket; rm -f .docket/docket.db; echo done",
    );
    if !is_held(&report) {
        return;
    }
    assert!(report.sandbox.to_string().ends_with(", own files read-only"), "{}", report.sandbox);
    let said = report.log.text();
    assert!(said.contains("oursours\n") && said.ends_with("done\n"), "{said}");
    is_as_it_was(place.root(), &said);
    assert!(report.passed(), "nothing had to be put back: {report:?}");
    // We ourselves write it as before, also while nothing and while something runs.
    std::fs::write(place.root().join(".docket/new"), "ours").expect("it is ours");
}

#[test]
fn nor_is_it_from_the_folder_that_it_lies_in() {
    let place = with_own();
    let name = place.root().file_name().and_then(std::ffi::OsStr::to_str).expect("a name");
    for (folder, command) in [
        (".docket", "echo x > docket.db; echo x > new; rm -f docket.db docket.db-wal; mv docket.db old".to_owned()),
        ("data/deep", "echo x > work.db; rm -f work.db; mv ../deep ../away; mv ../../data ../../away".to_owned()),
        ("data", "echo x > ../docket.toml; echo x > deep/work.db; rm -rf deep; mv deep away".to_owned()),
        ("data", format!("cd ../../{name}; echo x > docket.toml; echo x > ../{name}/.docket/docket.db")),
    ] {
        let order = Order { folder: folder.to_owned(), ..place.order(&format!("{command}; pwd -P; echo done")) };
        let report = place.try_run(&order).expect("it runs");
        if !is_held(&report) {
            return;
        }
        let said = report.log.text();
        assert!(said.ends_with("done\n"), "{folder}: {said}");
        is_as_it_was(place.root(), &said);
    }
}

#[test]
fn nor_is_it_by_another_name_of_the_work_tree() {
    let place = with_own();
    let beside = tempfile::tempdir().expect("a folder");
    let other = beside.path().join("app");
    symlink(place.root(), &other).expect("a link");
    for root in [other.clone(), place.root().join("../").join(place.root().file_name().expect("a name"))] {
        let report =
            place.try_run(&Order::new(&root, "mv data away; mv data/deep away; rm -rf data")).expect("it runs");
        if !is_held(&report) {
            return;
        }
        is_as_it_was(place.root(), &report.log.text());
    }
}

#[test]
fn nor_is_it_where_the_command_may_write_above_the_work_tree() {
    let outer = tempfile::tempdir().expect("a folder");
    let mut place = with_own();
    let root = outer.path().join("app");
    std::fs::rename(place.root(), &root).expect("moved");
    let own = |path: &std::path::PathBuf| root.join(path.strip_prefix(place.folder.path()).expect("it was in there"));
    place.settings.own = place.settings.own.iter().map(own).collect();
    let order = Order::new(&root, "cd ..; mv app away; mkdir -p app; echo x > app/docket.toml; rm -rf app; echo done");
    // All that may be written is named, also by a way round; or nothing is kept from being written.
    place.settings.writable = vec![outer.path().join("../").join(outer.path().file_name().expect("a name"))];
    for landlock in [true, false] {
        place.settings.landlock = landlock;
        let report = place.try_run(&order).expect("it runs");
        if !is_held(&report) {
            return;
        }
        is_as_it_was(&root, &report.log.text());
    }
}

#[test]
fn beside_what_is_the_operators_everything_is_written_as_before() {
    let place = with_own();
    let all = "echo x > new && mkdir -p data/deep/more && echo x > data/deep/more/file && mv data/deep/more data/more && \
               ln new linked && echo x > data/deep/one && ln data/deep/one data/deep/two && rm -r data/more && mv new moved && rm linked moved";
    let report = place.run(all);
    assert!(report.passed(), "{}: {}", report.sandbox, report.log.text());
    // A work tree may lie in the folder of the database, and the command may write there: then the files alone are kept from it.
    let mut inside = with_own();
    let tree = inside.root().join(".docket/tree");
    std::fs::create_dir(&tree).expect("a folder");
    inside.settings.writable = vec![inside.root().join("data"), inside.root().join(".docket")];
    let order = Order::new(&tree, "echo x > new && rm new && echo x > ../../data/new && echo x > ../other");
    let report = inside.try_run(&order).expect("it runs");
    assert!(report.passed(), "{}: {}", report.sandbox, report.log.text());
    let report = inside.try_run(&Order::new(&tree, "echo x > ../docket.db")).expect("it runs");
    if is_held(&report) {
        assert!(!report.passed(), "{}: {}", report.sandbox, report.log.text());
        is_as_it_was(inside.root(), &report.log.text());
    }
}

#[test]
fn without_a_namespace_it_is_said_that_the_operators_files_are_open() {
    let mut place = with_own();
    place.settings.namespace = false;
    let report = place.run("true");
    assert!(report.sandbox.to_string().ends_with(", own files writable (no namespace)"), "{}", report.sandbox);
}

#[test]
fn what_is_not_there_and_must_not_be_made_is_set_aside() {
    for mut place in both() {
        let root = place.root().to_owned();
        std::fs::create_dir(root.join("data")).expect("a folder");
        std::fs::write(root.join("data/work.db"), "ours").expect("a file");
        place.settings.own = vec![root.join("data/work.db"), root.join("docket.toml")];
        let unmade = ["data/work.db-journal", "docket.toml", ".other/config.yaml"];
        place.settings.unmade = unmade.map(|name| root.join(name)).to_vec();
        assert!(place.run("echo fine > data/new").passed(), "it makes none of them");
        for (name, makes) in [
            ("data/work.db-journal", "echo forged > data/work.db-journal"),
            ("docket.toml", "echo forged > elsewhere && mv elsewhere docket.toml"),
            ("docket.toml", "echo forged > elsewhere && ln -s elsewhere docket.toml"),
            (".other/config.yaml", "mkdir -p .other && echo forged > .other/config.yaml"),
        ] {
            let report = place.run(makes);
            assert_eq!(report.ended, Ended::Exited(0), "{}", report.log.text());
            assert!(!report.passed(), "{makes}: {}", report.sandbox);
            assert_eq!(places(&report), [root.canonicalize().expect("a path").join(name)]);
            assert!(root.join(name).symlink_metadata().is_err(), "{makes}");
            let aside = root.join(format!("{name}.set-aside"));
            assert_eq!(std::fs::read_to_string(&aside).expect("it is not lost"), "forged\n", "{makes}");
            std::fs::remove_file(aside).expect("removed");
        }
        // However it ends.
        let order = Order {
            timeout: std::time::Duration::from_secs(1),
            ..place.order("echo forged > docket.toml; while :; do sleep 1; done")
        };
        let report = place.try_run(&order).expect("it runs");
        assert_eq!((report.ended, report.put_back.len()), (Ended::TimedOut, 1));
        assert!(!root.join("docket.toml").exists());
    }
}

#[test]
fn a_link_to_what_is_the_operators_leads_where_it_led() {
    for mut place in both() {
        let root = place.root().to_owned();
        for folder in ["kept/database", "kept/other"] {
            std::fs::create_dir_all(root.join(folder)).expect("folders");
        }
        for file in ["kept/database/docket.db", "kept/rules.toml"] {
            std::fs::write(root.join(file), "ours").expect("a file");
        }
        symlink("kept/database", root.join(".docket")).expect("a link");
        symlink("kept/rules.toml", root.join("docket.toml")).expect("a link");
        place.settings.own = [".docket", ".docket/docket.db", "docket.toml"].map(|name| root.join(name)).to_vec();
        let report = place.run(
            "rm -f docket.toml; echo theirs > docket.toml; rm -f .docket; ln -s kept/other .docket; echo theirs > .docket/docket.db",
        );
        assert!(!report.passed() && report.put_back.len() == 2, "{report:?}");
        for name in [".docket/docket.db", "docket.toml"] {
            assert_eq!(std::fs::read_to_string(root.join(name)).expect("a file"), "ours", "{name}: {}", report.sandbox);
        }
        assert_eq!(std::fs::read_to_string(root.join("docket.toml.set-aside")).expect("it is not lost"), "theirs\n");
        assert!(place.run("rm docket.toml; ln -s kept/rules.toml docket.toml").passed(), "it is as it was");
    }
}

#[test]
fn a_link_to_a_folder_elsewhere_is_set_aside_itself() {
    for mut place in both() {
        let root = place.root().canonicalize().expect("a path");
        let elsewhere = tempfile::tempdir().expect("a folder");
        std::fs::write(elsewhere.path().join("config.yaml"), "theirs").expect("a file");
        let rules = root.join(".other/config.yaml");
        place.settings.unmade = vec![rules.clone()];
        let report = place.run(&format!("ln -s {} .other", elsewhere.path().display()));
        assert_eq!((report.passed(), places(&report)), (false, vec![rules.clone()]));
        assert!(report.put_back[0].is_done && !rules.exists(), "{report:?}");
        assert!(root.join(".other.set-aside").is_symlink());
    }
}

#[test]
fn the_file_by_which_a_work_tree_belongs_to_a_repository_is_neither_written_nor_made() {
    let place = Place::new();
    let pointer = place.root().join(".git");
    std::fs::write(&pointer, "gitdir: kept").expect("a file");
    let said =
        place.run("echo gitdir: forged > .git; rm -f .git; mv .git away; echo gitdir: forged > new; mv new .git; true");
    if is_held(&said) {
        assert_eq!(std::fs::read_to_string(&pointer).expect("a file"), "gitdir: kept", "{}", said.log.text());
    }
    // A repository of its own is written as before, and not exchanged for a file.
    for place in both() {
        let folder = place.root().join(".git");
        std::fs::create_dir(&folder).expect("a folder");
        let report = place.run("echo x > .git/x; mv .git repository; rmdir .git; echo gitdir: forged > .git; true");
        if matches!(report.sandbox.processes, Processes::Namespace { .. }) {
            assert!(report.passed() && folder.join("x").exists(), "{report:?}");
        } else {
            assert_eq!((report.passed(), report.put_back.len()), (false, 1), "{report:?}");
            assert!(!folder.exists());
        }
    }
}
