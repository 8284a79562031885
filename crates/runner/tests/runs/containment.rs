//! What holds a command, and that the report says what really did.

use docket_runner::{Files, Own, Processes};

use crate::support::{Place, both};

fn has_landlock() -> bool {
    matches!(Place::new().run("true").sandbox.files, Files::Landlock { .. })
}

#[test]
fn the_report_says_what_was_applied() {
    let report = Place::new().run("echo $$; readlink /proc/self/ns/pid");
    let outside = std::fs::read_link("/proc/self/ns/pid").expect("a namespace");
    let same = report.log.text().contains(outside.to_str().expect("text"));
    assert_eq!(matches!(report.sandbox.processes, Processes::Namespace { .. }), !same, "{}", report.sandbox);
    if let Processes::Namespace { proc, .. } = report.sandbox.processes {
        // With its own process table it sees itself by the number it has.
        let seen = Place::new().run("test -d /proc/$$ && grep -q '^Name:.*sh' /proc/$$/status");
        assert!(!proc || seen.passed());
    }
    let lesser = Place::lesser().run("readlink /proc/self/ns/pid");
    assert!(lesser.log.text().contains(outside.to_str().expect("text")));
    assert_eq!(lesser.sandbox.processes, Processes::Subreaper { why: "not asked for".to_owned() });
    let mut open = Place::lesser();
    open.settings.landlock = false;
    assert_eq!(open.run("true").sandbox.to_string(), "subreaper (not asked for), files open (not asked for)");
}

#[test]
fn a_command_writes_where_it_may_and_nowhere_else() {
    if !has_landlock() {
        return;
    }
    for mut place in both() {
        let cache = tempfile::tempdir().expect("a folder");
        let other = tempfile::tempdir().expect("a folder");
        place.settings.writable = vec![cache.path().to_owned(), "/no/such/folder".into()];
        std::fs::write(other.path().join("kept"), "text").expect("a file");
        let report = place.run(&format!(
            "cd {other}; touch new; echo more > kept; rm kept; mkdir folder; ln -s x link; mv kept moved; truncate -s 0 kept; \
             cat kept; echo; touch {cache}/file && mkdir {cache}/folder && touch $TMPDIR/file && echo x > /dev/null && echo fine",
            other = other.path().display(),
            cache = cache.path().display(),
        ));
        assert!(report.log.text().contains("text\n") && report.log.text().ends_with("fine\n"), "{}", report.log.text());
        let left: Vec<_> =
            std::fs::read_dir(other.path()).expect("a list").map(|entry| entry.expect("one").file_name()).collect();
        assert_eq!(left, ["kept"]);
        assert_eq!(std::fs::read_to_string(other.path().join("kept")).expect("a file"), "text");
        assert!(place.run("mkdir made && echo x > made/file && mv made/file moved && rm -r made").passed());
    }
}

#[test]
fn without_landlock_the_report_does_not_claim_it() {
    let mut place = Place::new();
    place.settings.landlock = false;
    let other = tempfile::tempdir().expect("a folder");
    let report = place.run(&format!("touch {}/new", other.path().display()));
    assert!(report.passed() && matches!(report.sandbox.files, Files::Open { .. }));
    assert!(other.path().join("new").exists());
}

#[test]
fn a_command_cannot_end_or_read_the_server() {
    let me = std::process::id();
    if !has_landlock() {
        return;
    }
    for place in both() {
        let report = place.run(&format!("kill -0 {me} && echo alive; cat /proc/{me}/environ > environ; echo done"));
        assert!(report.passed() && !report.log.text().contains("alive"), "{}: {}", report.sandbox, report.log.text());
        let read = std::fs::read(place.root().join("environ")).expect("a file");
        assert!(read.is_empty(), "{}", report.sandbox);
    }
}

#[test]
fn no_rights_are_gained() {
    assert!(Place::new().said("grep NoNewPrivs /proc/self/status").contains('1'));
}

/// A database in a folder of its own within the work tree, another beside files of the work, and a configuration.
fn with_own() -> Place {
    let mut place = Place::new();
    let root = place.root().to_owned();
    for folder in [".docket", "data/deep"] {
        std::fs::create_dir_all(root.join(folder)).expect("folders");
    }
    for file in [".docket/docket.db", ".docket/docket.db-wal", "data/deep/work.db", "docket.toml"] {
        std::fs::write(root.join(file), "ours").expect("a file");
    }
    place.settings.own = [".docket", ".docket/docket.db", "data/deep/work.db", "data/deep/work.db-wal", "docket.toml"]
        .map(|name| root.join(name))
        .to_vec();
    place
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
    let Processes::Namespace { .. } = report.sandbox.processes else {
        assert_eq!(report.sandbox.own, Own::Open { why: "no namespace".to_owned() });
        return;
    };
    assert_eq!(report.sandbox.own, Own::ReadOnly, "{}", report.sandbox);
    assert!(report.sandbox.to_string().ends_with(", database read-only"), "{}", report.sandbox);
    let said = report.log.text();
    assert!(said.contains("oursours\n") && said.ends_with("done\n"), "{said}");
    for file in [".docket/docket.db", ".docket/docket.db-wal", "data/deep/work.db", "docket.toml"] {
        assert_eq!(std::fs::read_to_string(place.root().join(file)).unwrap_or_default(), "ours", "{file}: {said}");
    }
    assert!(!place.root().join(".docket/new").exists());
    // We ourselves write it as before, also while nothing and while something runs.
    std::fs::write(place.root().join(".docket/new"), "ours").expect("it is ours");
}

#[test]
fn beside_what_is_the_operators_everything_is_written_as_before() {
    let place = with_own();
    let all = "echo x > new && mkdir -p data/deep/more && echo x > data/deep/more/file && mv data/deep/more data/more && \
               ln new linked && echo x > data/deep/one && ln data/deep/one data/deep/two && rm -r data/more && mv new moved && rm linked moved";
    let report = place.run(all);
    assert!(report.passed(), "{}: {}", report.sandbox, report.log.text());
    // A work tree may lie in the folder of the database: then the files alone are kept from it.
    let mut inside = with_own();
    let tree = inside.root().join(".docket/tree");
    std::fs::create_dir(&tree).expect("a folder");
    inside.settings.writable = vec![inside.root().join("data")];
    let order = docket_runner::Order::new(&tree, "echo x > new && rm new && echo x > ../../data/new");
    let report = inside.try_run(&order).expect("it runs");
    assert!(report.passed(), "{}: {}", report.sandbox, report.log.text());
    let order = docket_runner::Order::new(&tree, "echo x > ../docket.db");
    assert!(!inside.try_run(&order).expect("it runs").passed());
}

#[test]
fn without_a_namespace_it_is_said_that_the_operators_files_are_open() {
    let mut place = with_own();
    place.settings.namespace = false;
    let report = place.run("true");
    assert!(report.sandbox.to_string().ends_with(", database writable (no namespace)"), "{}", report.sandbox);
}
