//! P14: no process of a check outlives its end, whatever it does to get away and however the end comes.
//!
//! Planted bug: only the process group of the shell is killed.
#![expect(clippy::print_stderr, reason = "what was not tried is told")]

use std::io::{Read as _, Write as _};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use docket_tests::program::docket;

use super::fleet::{must_fail_with, soak};

/// How long anything may take that should take no time, on a machine that does much else.
const PATIENCE: Duration = Duration::from_mins(1);

/// What is promised.
pub(crate) const PROMISED: Duration = Duration::from_secs(2);

/// How a run is ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum End {
    /// At its time limit.
    Timeout,
    /// By a wish.
    Cancel,
    /// The server is killed the hard way.
    Death,
    /// The shell ends by itself, and leaves others.
    Exit,
}

/// What tries to get away: its name, and a script that goes on for ever and has a word to be known by.
pub(crate) const FUGITIVES: [(&str, &str); 6] = [
    ("a child", "sh -c 'while :; do sleep 1; done' MARK &"),
    ("a double fork", "(sh -c '(sh -c \"while :; do sleep 1; done\" MARK &) &' &);"),
    ("an own session", "setsid sh -c 'while :; do sleep 1; done' MARK </dev/null >/dev/null 2>&1 &"),
    ("deaf to TERM", "sh -c 'trap \"\" TERM HUP INT; while :; do sleep 1; done' MARK &"),
    (
        "all of it",
        "(setsid sh -c 'trap \"\" TERM HUP; (setsid sh -c \"trap \\\"\\\" TERM; while :; do sleep 1; done\" MARK &)' &);",
    ),
    ("talking without end", "setsid yes MARK &"),
];

/// What the shell alone has in its command line.
pub(crate) const SHELL: &str = "the shell itself";

pub(crate) fn mark() -> String {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    format!("fugitive-{}-{}-end", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed))
}

fn start(folder: &std::path::Path, seconds: u32, kept: &str, command: &str, plant: Option<&str>) -> Child {
    let mut host = Command::new(env!("CARGO_BIN_EXE_run-check"));
    host.arg(docket()).arg(folder).arg(seconds.to_string()).arg(kept).arg(command);
    host.stdin(Stdio::piped()).stdout(Stdio::piped());
    if let Some(bug) = plant {
        host.env("DOCKET_PLANT", bug);
    }
    host.spawn().expect("the host starts")
}

/// The processes that have a word in their command line, the host apart, with that line.
fn lines(mark: &str, host: u32) -> Vec<(u32, String)> {
    let table = std::fs::read_dir("/proc").expect("a process table");
    let pids = table.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse::<u32>().ok());
    let line = |pid: u32| {
        let line = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        (pid, String::from_utf8_lossy(&line).into_owned())
    };
    pids.filter(|pid| *pid != host).map(line).filter(|(_, line)| line.contains(mark)).collect()
}

pub(crate) fn alive(mark: &str, host: u32) -> Vec<u32> {
    lines(mark, host).into_iter().map(|(pid, _)| pid).collect()
}

/// Whether something got away from the shell: neither the shell nor a fork of it, which has all of its words for a moment,
/// nor what is about to leave its session and has not yet.
pub(crate) fn is_off(mark: &str, host: u32) -> bool {
    lines(mark, host).iter().any(|(_, line)| !line.contains(SHELL) && !line.starts_with("setsid"))
}

pub(crate) fn eventually(what: &str, mut is_so: impl FnMut() -> bool) {
    let until = Instant::now() + PATIENCE;
    while !is_so() {
        assert!(Instant::now() < until, "{what} did not come about");
        std::thread::sleep(Duration::from_millis(10));
    }
}

fn experiment(kept: &str, end: End, fugitive: (&str, &str), plant: Option<&str>) {
    let (name, script) = fugitive;
    let folder = tempfile::tempdir().expect("a folder");
    let mark = mark();
    // The shell waits until the test has seen the fugitive, or for ever.
    let last = if end == End::Exit { "while [ ! -e go ]; do sleep 0.02; done" } else { "while :; do sleep 1; done" };
    let command = format!("{} {last} # {SHELL}", script.replace("MARK", &mark));
    let seconds = if end == End::Timeout { 3 } else { 600 };
    let mut host = start(folder.path(), seconds, kept, &command, plant);
    let pid = host.id();
    eventually(name, || is_off(&mark, pid));
    match end {
        End::Timeout => {}
        End::Cancel => host.stdin.as_mut().expect("an input").write_all(b"cancel\n").expect("it listens"),
        End::Death => host.kill().expect("killed"),
        End::Exit => std::fs::write(folder.path().join("go"), "").expect("a file"),
    }
    let mut said = String::new();
    host.stdout.take().expect("an output").read_to_string(&mut said).expect("text");
    host.wait().expect("it ends");
    let expected = match end {
        End::Timeout => "timed out\n",
        End::Cancel => "cancelled\n",
        End::Death => "",
        End::Exit => "exited with 0\n",
    };
    assert!(said.starts_with(expected), "{name} by {end:?}: {said}");
    if kept == "namespace" && said.contains("subreaper") && plant.is_none() {
        eprintln!("NOT TRIED: there are no namespaces here");
    }
    // A report says that all is over. A dead server says nothing: what is promised then is a time.
    let left = left_after(if end == End::Death { PROMISED } else { Duration::ZERO }, &mark, pid);
    assert_eq!(left, 0, "{left} survived: {name}, kept by {kept}, ended by {end:?}");
}

/// How many processes with a word in their command line are left after a time, or sooner when none is. They are ended.
pub(crate) fn left_after(patience: Duration, mark: &str, host: u32) -> usize {
    let begun = Instant::now();
    while !alive(mark, host).is_empty() && begun.elapsed() < patience {
        std::thread::sleep(Duration::from_millis(20));
    }
    let left = alive(mark, host);
    for pid in &left {
        let _ = Command::new("kill").args(["-9", &pid.to_string()]).status();
    }
    left.len()
}

fn all(kept: &str, end: End) {
    for fugitive in FUGITIVES {
        experiment(kept, end, fugitive, None);
    }
}

#[test]
fn in_a_namespace_nothing_survives_the_time_limit() {
    all("namespace", End::Timeout);
}

#[test]
fn in_a_namespace_nothing_survives_a_cancel() {
    all("namespace", End::Cancel);
}

#[test]
fn in_a_namespace_nothing_survives_the_server() {
    all("namespace", End::Death);
}

#[test]
fn in_a_namespace_nothing_survives_the_shell() {
    all("namespace", End::Exit);
}

#[test]
fn without_a_namespace_nothing_survives_the_time_limit() {
    all("subreaper", End::Timeout);
}

#[test]
fn without_a_namespace_nothing_survives_a_cancel() {
    all("subreaper", End::Cancel);
}

#[test]
fn without_a_namespace_nothing_survives_the_server() {
    all("subreaper", End::Death);
}

#[test]
fn without_a_namespace_nothing_survives_the_shell() {
    all("subreaper", End::Exit);
}

#[test]
fn a_gigabyte_of_output_is_read_to_its_end() {
    let folder = tempfile::tempdir().expect("a folder");
    let mark = mark();
    let gigabyte = 1_u64 << 30;
    let command = format!("yes {mark} | head -c {gigabyte}; setsid yes {mark} > /dev/null &");
    let mut host = start(folder.path(), 3000, "namespace", &command, None);
    let mut said = String::new();
    host.stdout.take().expect("an output").read_to_string(&mut said).expect("text");
    let pid = host.id();
    host.wait().expect("it ends");
    assert!(said.starts_with("exited with 0\n") && said.ends_with(&format!("{gigabyte}\n")), "{said}");
    assert!(alive(&mark, pid).is_empty());
}

/// A gigabyte with `DOCKET_SOAK=32`; to its end one is read above.
#[test]
fn much_output_keeps_nothing_alive_however_it_ends() {
    let much = (32_u64 << 20) * u64::from(soak());
    for end in [End::Timeout, End::Cancel, End::Death] {
        let folder = tempfile::tempdir().expect("a folder");
        let mark = mark();
        // Much is said, that is told by a file, and then it goes on for ever, in a session of its own too.
        let command = format!("setsid yes {mark} & yes {mark} | head -c {much}; touch said; exec yes {mark}");
        let seconds = if end == End::Timeout { 15 * soak() } else { 3000 };
        let mut host = start(folder.path(), seconds, "namespace", &command, None);
        let pid = host.id();
        let until = Instant::now() + PATIENCE * 3 * soak();
        while end != End::Timeout && !folder.path().join("said").exists() {
            assert!(Instant::now() < until, "{end:?}: it was not said");
            std::thread::sleep(Duration::from_millis(20));
        }
        match end {
            End::Timeout | End::Exit => {}
            End::Cancel => host.stdin.as_mut().expect("an input").write_all(b"cancel\n").expect("it listens"),
            End::Death => host.kill().expect("killed"),
        }
        let mut said = String::new();
        host.stdout.take().expect("an output").read_to_string(&mut said).expect("text");
        host.wait().expect("it ends");
        let left = left_after(if end == End::Death { PROMISED } else { Duration::ZERO }, &mark, pid);
        assert_eq!(left, 0, "{left} survived much output, ended by {end:?}");
        if end != End::Death {
            let bytes: u64 = said.lines().last().and_then(|line| line.parse().ok()).unwrap_or_default();
            let (begins, least) = if end == End::Timeout { ("timed out", much / 32) } else { ("cancelled", much) };
            assert!(said.starts_with(begins) && bytes >= least, "{end:?}: {said}");
        }
    }
}

/// Who has no privileges gets a namespace of its own users, or is told that there is none.
#[test]
fn without_privileges_nothing_survives_either() {
    let ids = ["--reuid=65534", "--regid=65534", "--clear-groups"];
    let can = Command::new("setpriv").args(ids).args(["test", "-x"]).arg(docket()).status();
    if !can.is_ok_and(|status| status.success()) {
        eprintln!("NOT TRIED: nobody without privileges can be had here");
        return;
    }
    let folder = tempfile::Builder::new().permissions(std::os::unix::fs::PermissionsExt::from_mode(0o777)).tempdir();
    let folder = folder.expect("a folder");
    let mark = mark();
    let (_, script) = FUGITIVES[4];
    let command = format!("{} id -u; sleep 0.5", script.replace("MARK", &mark));
    let host = Command::new("setpriv")
        .args(ids)
        .arg(env!("CARGO_BIN_EXE_run-check"))
        .arg(docket())
        .arg(folder.path())
        .args(["60", "namespace", &command])
        .output()
        .expect("it runs");
    let said = String::from_utf8_lossy(&host.stdout);
    assert!(said.starts_with("exited with 0\n"), "{said}");
    assert!(said.contains("user namespace") || said.contains("subreaper ("), "{said}");
    assert!(alive(&mark, 0).is_empty());
}

#[test]
fn a_killed_group_alone_is_caught() {
    for end in [End::Timeout, End::Cancel, End::Death, End::Exit] {
        must_fail_with(&["survived"], move || experiment("namespace", end, FUGITIVES[2], Some("group-killed-only")));
    }
}
