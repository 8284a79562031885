//! Where the programs of others are put, and how: once, whoever asks first. Where their registry does not answer, that is said and nothing
//! is tried; `DOCKET_TEST_CLIENTS=required` makes that a failure. Whatever else goes wrong is one in any case.
#![expect(clippy::print_stderr, reason = "what was passed over is told")]

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// Says, as `required`, that whatever cannot be tried here fails.
const VARIABLE: &str = "DOCKET_TEST_CLIENTS";

/// What the installers say where a registry does not answer: it, or the way to it, is not there today.
const UNREACHABLE: [&str; 12] = [
    // pip
    "after connection broken by",
    "Could not fetch URL",
    // npm
    "ENOTFOUND",
    "EAI_AGAIN",
    "ECONNREFUSED",
    "ECONNRESET",
    "ETIMEDOUT",
    "ENETUNREACH",
    "EHOSTUNREACH",
    "ERR_SOCKET_TIMEOUT",
    // either
    "Temporary failure in name resolution",
    "Network is unreachable",
];

/// Why something cannot be installed.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Failed {
    /// It cannot be tried on this machine today.
    Unreachable(String),
    /// It could be, and something is wrong.
    Wrong(String),
}

impl Failed {
    /// What a step's own words mean.
    fn told(said: &str) -> Self {
        let unreachable = UNREACHABLE.iter().any(|words| said.contains(words));
        if unreachable { Self::Unreachable(said.to_owned()) } else { Self::Wrong(said.to_owned()) }
    }
}

/// Installs into a folder of this name what a list of ours asks for; nothing where no registry answers. Each step is a command
/// for the folder and the list.
pub(crate) fn installed(name: &str, list: &str, steps: &[fn(&Path, &Path) -> Command]) -> Option<PathBuf> {
    let required = std::env::var(VARIABLE).is_ok_and(|value| value == "required");
    match install(&target(), name, &ours().join(list), steps) {
        Ok(folder) => Some(folder),
        Err(Failed::Unreachable(why)) if !required => {
            eprintln!("NOT TRIED: the programs of {list} cannot be had here: {why}");
            None
        }
        Err(Failed::Unreachable(why) | Failed::Wrong(why)) => panic!("the programs of {list} are not installed: {why}"),
    }
}

fn target() -> PathBuf {
    let here = std::env::current_exe().expect("this test has a path");
    here.ancestors().nth(3).expect("a target folder").to_owned()
}

fn install(target: &Path, name: &str, wanted: &Path, steps: &[fn(&Path, &Path) -> Command]) -> Result<PathBuf, Failed> {
    let folder = target.join(name);
    // Test processes run at the same time: the first one installs, the others wait.
    std::fs::create_dir_all(&folder).expect("the target folder");
    let lock = std::fs::File::create(target.join(format!("{name}.lock"))).expect("a lock");
    lock.lock().expect("the lock");
    let (made, list) = (folder.join("made"), std::fs::read(wanted).expect("the list"));
    if std::fs::read(&made).is_ok_and(|before| before == list) {
        return Ok(folder);
    }
    for step in steps {
        let mut command = step(&folder, wanted);
        let program = command.get_program().to_string_lossy().into_owned();
        match command.output() {
            Ok(out) if out.status.success() => {}
            Ok(out) => return Err(Failed::told(&String::from_utf8_lossy(&out.stderr))),
            // Not every machine has Python and npm; one that has them has what comes after.
            Err(error) if error.kind() == std::io::ErrorKind::NotFound && !program.contains('/') => {
                return Err(Failed::Unreachable(format!("there is no {program} on the path")));
            }
            Err(error) => return Err(Failed::Wrong(format!("{program}: {error}"))),
        }
    }
    std::fs::write(made, list).expect("a mark");
    Ok(folder)
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

#[cfg(test)]
mod tests {
    use super::*;

    /// A step that fails with these words.
    fn failing(words: &'static str) -> Result<PathBuf, Failed> {
        let folder = tempfile::tempdir().expect("a folder");
        let list = folder.path().join("list");
        std::fs::write(&list, words).expect("a list");
        install(
            folder.path(),
            "made",
            &list,
            &[|_, list| {
                let mut step = Command::new("sh");
                step.args(["-c", "cat \"$1\" >&2; exit 1", "sh"]).arg(list);
                step
            }],
        )
    }

    /// Words that pip and npm were heard to say.
    #[test]
    fn a_registry_that_does_not_answer_is_told_from_everything_else() {
        for away in [
            "WARNING: Retrying (Retry(total=0)) after connection broken by 'NewConnectionError('<pip._vendor>: Failed to \
             establish a new connection: [Errno 111] Connection refused')': /simple/mcp/\nERROR: No matching distribution",
            "npm error code ECONNREFUSED\nnpm error errno ECONNREFUSED\nnpm error FetchError: request to http://127.0.0.1:1/node failed",
        ] {
            assert!(matches!(failing(away), Err(Failed::Unreachable(said)) if said == away), "{away}");
        }
        for wrong in [
            "ERROR: Could not find a version that satisfies the requirement mcp==99.9 (from versions: 0.9.1)",
            "npm error code ETARGET\nnpm error notarget No matching version found for node@99.",
            "npm error code ENOSPC",
            "",
        ] {
            assert_eq!(failing(wrong), Err(Failed::Wrong(wrong.to_owned())));
        }
    }

    #[test]
    fn a_machine_without_the_installer_is_told_from_one_whose_installer_fails() {
        let folder = tempfile::tempdir().expect("a folder");
        let list = folder.path().join("list");
        std::fs::write(&list, "").expect("a list");
        let missing = install(folder.path(), "missing", &list, &[|_, _| Command::new("docket-no-such-program")]);
        assert!(matches!(missing, Err(Failed::Unreachable(_))), "{missing:?}");
        // What should have been installed with the step before.
        let wrong = install(folder.path(), "wrong", &list, &[|folder, _| Command::new(folder.join("bin/pip"))]);
        assert!(matches!(wrong, Err(Failed::Wrong(_))), "{wrong:?}");
    }
}
