//! What a command finds: its variables, its descriptors, its input.

use std::os::fd::AsRawFd as _;

use crate::support::{Place, both};

#[test]
fn nothing_of_the_servers_environment_goes_in_but_what_is_listed() {
    let mut place = Place::new();
    place.settings.environment.set = vec![("EXTRA".to_owned(), "given".to_owned())];
    let mut order = place.order("env");
    order.marks = vec![("DOCKET_ITEM".to_owned(), "D-1".to_owned())];
    let text = place.try_run(&order).expect("it runs").log.text();
    let names: Vec<&str> = text.lines().filter_map(|line| line.split_once('=')).map(|(name, _)| name).collect();
    for name in ["PATH", "TMPDIR", "EXTRA", "DOCKET_ITEM", "DOCKET_CHECK", "CI"] {
        assert!(names.contains(&name), "{name} is missing of {names:?}");
    }
    // Cargo gives every test a number of variables that are on no list.
    assert!(std::env::var_os("CARGO_MANIFEST_DIR").is_some());
    assert!(!names.iter().any(|name| name.starts_with("CARGO_MANIFEST") || name.starts_with("NEXTEST")), "{names:?}");
}

#[test]
fn no_descriptor_of_the_server_goes_in() {
    for place in both() {
        let secret = std::fs::File::create(place.root().join("secret")).expect("a file");
        // Rust opens everything so that children do not get it; other libraries do not.
        rustix::io::fcntl_setfd(&secret, rustix::io::FdFlags::empty()).expect("inheritable");
        let number = secret.as_raw_fd();
        let plain = std::process::Command::new("ls").arg(format!("/proc/self/fd/{number}")).output().expect("it runs");
        assert!(plain.status.success(), "a bare child does get it");
        let said = place.said("ls -l /proc/self/fd");
        let open: Vec<&str> = said.lines().filter(|line| line.contains("->")).collect();
        assert_eq!(open.len(), 4, "three, and the list itself: {said}");
        assert!(!said.contains("secret"), "{said}");
        drop(secret);
    }
}

#[test]
fn input_is_empty() {
    assert_eq!(Place::new().said("cat; echo done"), "done\n");
}

#[test]
fn the_private_folder_is_writable_and_gone_afterwards() {
    for place in both() {
        let said = place.said("echo text > $TMPDIR/file && mkdir $TMPDIR/more && cat $TMPDIR/file && echo $TMPDIR");
        let folder = said.lines().nth(1).expect("two lines");
        assert!(said.starts_with("text\n") && folder.contains("docket-check-"), "{said}");
        assert!(!std::path::Path::new(folder).exists());
    }
}

#[test]
fn no_core_is_dumped() {
    assert_eq!(Place::new().said("ulimit -c").trim(), "0");
}
