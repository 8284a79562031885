//! The files of others' programs, looked at by those programs: `HAProxy` reads its configuration, systemd its unit.
//!
//! Where a program is missing and may be installed, Debian's is. Where it cannot, that is said, and the test tries nothing.
#![expect(clippy::print_stderr, reason = "what was not tried is told")]

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use docket_tests::program::docket;

use super::read;

/// A program, which a package of Debian's has.
pub(crate) fn program(name: &str, package: &str) -> Option<PathBuf> {
    let find = || {
        ["/usr/sbin", "/usr/bin", "/usr/local/sbin"]
            .map(|at| Path::new(at).join(name))
            .into_iter()
            .find(|at| at.is_file())
    };
    if find().is_none() {
        let quiet = |words: &[&str]| {
            let mut command = Command::new("apt-get");
            command.args(words).env("DEBIAN_FRONTEND", "noninteractive");
            command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).status().is_ok()
        };
        let _ = quiet(&["update", "-q"]) && quiet(&["install", "-q", "-y", "--no-install-recommends", package]);
    }
    let found = find();
    if found.is_none() {
        eprintln!("NOT TRIED: {name} is not on this machine and cannot be installed (Debian's {package})");
    }
    found
}

/// A certificate with its key, in one file of a folder, as `HAProxy` wants it.
pub(crate) fn certificate(folder: &Path) -> PathBuf {
    let (key, certificate, both) = (folder.join("key"), folder.join("certificate"), folder.join("docket.pem"));
    let words = "req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 -subj /CN=docket-test -keyout";
    let mut openssl = Command::new("openssl");
    let (made, said) = run(openssl.args(words.split(' ')).arg(&key).arg("-out").arg(&certificate));
    assert!(made, "openssl: {said}");
    let text = |path: &Path| std::fs::read_to_string(path).expect("a file");
    std::fs::write(&both, format!("{}{}", text(&certificate), text(&key))).expect("a file");
    both
}

/// Runs a program; says whether it was content, and what it said.
fn run(command: &mut Command) -> (bool, String) {
    let out = command.stdin(Stdio::null()).output().expect("it runs");
    (out.status.success(), format!("{}{}", String::from_utf8_lossy(&out.stdout), String::from_utf8_lossy(&out.stderr)))
}

#[test]
fn haproxy_understands_its_file() {
    let Some(haproxy) = program("haproxy", "haproxy") else { return };
    let folder = tempfile::tempdir().expect("a folder");
    let both = certificate(folder.path());
    let file = read("deploy/haproxy.cfg");
    let ours = file.replace("/usr/local/etc/haproxy/docket.pem", &both.display().to_string());
    assert_ne!(file, ours, "it names its certificate");
    let check = |text: &str| {
        let path = folder.path().join("haproxy.cfg");
        std::fs::write(&path, text).expect("a file");
        run(Command::new(&haproxy).args(["-c", "-f"]).arg(&path))
    };
    let (content, said) = check(&ours);
    // That the replicas have no address here is nothing that is wrong with the file.
    let wrong = said.lines().find(|line| line.contains("[WARNING]") && !line.contains("could not resolve address"));
    assert!(content && wrong.is_none(), "{said}");
    let (content, said) = check(&ours.replace("balance leastconn", "balance leastcon"));
    assert!(!content, "a slip of the pen goes unseen: {said}");
}

#[test]
fn systemd_understands_the_units() {
    let Some(analyze) = program("systemd-analyze", "systemd") else { return };
    for name in ["docket.service", "docket-runner.service"] {
        // Each by itself: what one names is looked for beside it.
        let folder = tempfile::tempdir().expect("a folder");
        let file = read(&format!("deploy/{name}"));
        // It looks whether what is started is there.
        let ours = file.replace("/usr/local/bin/docket", &docket().display().to_string());
        assert_ne!(file, ours, "{name} names its program");
        let check = |text: &str| {
            let path = folder.path().join(name);
            std::fs::write(&path, text).expect("a file");
            run(Command::new(&analyze).args(["verify", "--man=no"]).arg(&path))
        };
        // As it stands, and with all that it offers.
        for text in [ours.clone(), ours.replace("\n#Environment", "\nEnvironment")] {
            let (content, said) = check(&text);
            assert!(content && said.trim().is_empty(), "{name}: {said}");
        }
        let (_, said) = check(&ours.replace("ProtectClock=yes", "ProtectClok=yes"));
        assert!(said.contains("ProtectClok"), "{name}: a slip of the pen goes unseen: {said}");
    }
}

/// A folder that a unit names and a machine lacks keeps it from starting, unless the unit makes it, or does without.
#[test]
fn units_start_where_their_folders_are_not() {
    for name in ["deploy/docket.service", "deploy/docket-runner.service"] {
        let unit = read(name);
        let said = |key: &str| {
            unit.lines().filter_map(|line| line.strip_prefix(key)).flat_map(str::split_whitespace).collect::<Vec<_>>()
        };
        let made: Vec<String> = said("StateDirectory=").iter().map(|folder| format!("/var/lib/{folder}")).collect();
        for folder in said("WorkingDirectory=") {
            // The work tree is the operator's, who puts it there.
            assert!(made.iter().any(|made| made == folder) || folder == "/srv/work/web", "{name}: {folder}");
        }
        for folder in said("ReadWritePaths=") {
            assert!(folder.starts_with('-') || said("WorkingDirectory=").contains(&folder), "{name}: {folder}");
        }
        // What systemd hands over as a credential its group may read, and a password file of that kind is passed over.
        assert!(!unit.contains("PGPASSFILE") && !unit.contains("LoadCredential"), "{name}");
    }
}

/// The user docket may not look into root's folder, where settings would be looked for from.
#[test]
fn commands_as_the_user_docket_are_run_from_a_folder_that_it_may_enter() {
    let mut count = 0;
    for file in super::FILES {
        for line in read(file).lines().filter(|line| line.contains("-u docket ")) {
            assert!(line.contains("cd / && "), "{file}: {line}");
            count += 1;
        }
    }
    assert!(count >= 2, "{count}");
}
