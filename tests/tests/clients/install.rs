//! Where the programs of others are put, and how: once, whoever asks first.
#![expect(clippy::print_stderr, reason = "what was passed over is told")]

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// Installs into a folder of this name what a list of ours asks for; nothing where it cannot be had. Each step is a command
/// for the folder and the list.
pub(crate) fn installed(name: &str, list: &str, steps: &[fn(&Path, &Path) -> Command]) -> Option<PathBuf> {
    let wanted = ours().join(list);
    let here = std::env::current_exe().expect("this test has a path");
    let target = here.ancestors().nth(3).expect("a target folder");
    let folder = target.join(name);
    // Test processes run at the same time: the first one installs, the others wait.
    std::fs::create_dir_all(&folder).expect("the target folder");
    let lock = std::fs::File::create(target.join(format!("{name}.lock"))).expect("a lock");
    lock.lock().expect("the lock");
    let (made, list) = (folder.join("made"), std::fs::read(&wanted).expect("the list"));
    if std::fs::read(&made).is_ok_and(|before| before == list) {
        return Some(folder);
    }
    for step in steps {
        match step(&folder, &wanted).output() {
            Ok(out) if out.status.success() => {}
            Ok(out) => return passed_over(&String::from_utf8_lossy(&out.stderr)),
            Err(error) => return passed_over(&error.to_string()),
        }
    }
    std::fs::write(made, list).expect("a mark");
    Some(folder)
}

fn passed_over(why: &str) -> Option<PathBuf> {
    eprintln!("passed over, since the clients cannot be installed: {why}");
    None
}

/// The scripts and lists of this repository.
pub(crate) fn ours() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("clients")
}

/// Runs a command that must end well; returns what it printed.
pub(crate) fn success(command: &mut Command) -> String {
    let out: Output = command.output().expect("it runs");
    let said = String::from_utf8_lossy(&out.stdout).into_owned() + &String::from_utf8_lossy(&out.stderr);
    assert!(out.status.success(), "{said}");
    said
}
