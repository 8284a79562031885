//! What holds a command, and that the report says what really did.

use docket_runner::{Files, Processes};

use crate::support::{Place, both, not_tried};

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
        return not_tried("there is no Landlock here");
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
        return not_tried("there is no Landlock here");
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
