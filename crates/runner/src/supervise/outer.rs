//! The outer process: makes the namespace, waits for the inner one, and leaves nothing behind.

use std::ffi::OsString;
use std::os::fd::AsFd;
use std::path::PathBuf;
use std::process::{Command, ExitCode, Stdio};
use std::time::Duration;

use nix::sched::{CloneFlags, unshare};
use rustix::process::{Resource, Rlimit};
use rustix::thread::CapabilitySet;

use super::herd::Herd;
use super::text;
use crate::wire::{CONTAIN, NO_NAMESPACE};

/// How the processes are kept together.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kept {
    /// In a PID namespace of the system's user namespace.
    Privileged,
    /// In a PID namespace of a user namespace of its own.
    Unprivileged,
    /// By inheriting orphans.
    Subreaper,
}

/// How long what was not caught inside is looked for.
const SWEEP: Duration = Duration::from_secs(10);

/// The words are: whether a namespace is wanted, or why not; the private folder, which is removed at the end.
pub(super) fn run(words: &mut impl Iterator<Item = OsString>) -> ExitCode {
    let why = text(words.next());
    let temp = PathBuf::from(words.next().unwrap_or_default());
    close_inherited();
    let none = Rlimit { current: Some(0), maximum: Some(0) };
    let _ = rustix::process::setrlimit(Resource::Core, none);
    let _ = rustix::process::set_child_subreaper(Some(rustix::process::getpid()));
    let (kept, why) = if why.is_empty() { namespace() } else { Ok((Kept::Subreaper, why)) }.unwrap_or_else(|()| {
        // Half of a namespace is worse than none, and there is no way back: the runner starts another supervisor.
        std::process::exit(NO_NAMESPACE)
    });
    let word = match kept {
        Kept::Privileged => "namespace",
        Kept::Unprivileged => "user-namespace",
        Kept::Subreaper => "subreaper",
    };
    let started = Command::new("/proc/self/exe").args([CONTAIN, word, &why]).spawn();
    let code = match started {
        Ok(mut inner) => inner.wait().ok().and_then(|status| status.code()).unwrap_or(1),
        Err(_) if kept == Kept::Unprivileged || kept == Kept::Privileged => NO_NAMESPACE,
        Err(_) => 1,
    };
    if kept == Kept::Subreaper {
        Herd::of_supervisor().end(SWEEP);
    }
    if !temp.as_os_str().is_empty() {
        let _ = std::fs::remove_dir_all(&temp);
    }
    ExitCode::from(u8::try_from(code).unwrap_or(1))
}

/// A namespace for the children to come, with or without privileges; or why there is none. Fails when it stopped half-way.
fn namespace() -> Result<(Kept, String), ()> {
    if Herd::is_group_only() {
        return Ok((Kept::Subreaper, "planted".to_owned()));
    }
    let wanted = CloneFlags::CLONE_NEWPID | CloneFlags::CLONE_NEWNS;
    if unshare(wanted).is_ok() {
        return Ok((Kept::Privileged, String::new()));
    }
    let user = rustix::process::geteuid().as_raw();
    let group = rustix::process::getegid().as_raw();
    if let Err(error) = unshare(wanted | CloneFlags::CLONE_NEWUSER) {
        return Ok((Kept::Subreaper, format!("no namespaces here: {}", error.desc())));
    }
    // The same user inside as outside, so that files keep their owners.
    for (file, line) in [
        ("/proc/self/setgroups", "deny".to_owned()),
        ("/proc/self/uid_map", format!("{user} {user} 1")),
        ("/proc/self/gid_map", format!("{group} {group} 1")),
    ] {
        std::fs::write(file, line).map_err(drop)?;
    }
    keep_mounting();
    Ok((Kept::Unprivileged, String::new()))
}

/// Lets the inner process mount its own process table, which it may in this namespace but would forget how to. Without, it
/// sees the outer one, and says so.
fn keep_mounting() {
    let Ok(mut rights) = rustix::thread::capabilities(None) else { return };
    rights.inheritable |= CapabilitySet::SYS_ADMIN;
    if rustix::thread::set_capabilities(None, rights).is_ok() {
        let _ = rustix::thread::configure_capability_in_ambient_set(CapabilitySet::SYS_ADMIN, true);
    }
}

/// Closes whatever the runner's process had open without meaning to hand it on.
fn close_inherited() {
    let Ok(list) = std::fs::read_dir("/proc/self/fd") else { return };
    let open: Vec<i32> = list.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok()).collect();
    for number in open.into_iter().filter(|number| *number > 2) {
        // The list's own descriptor is closed by now, and closing it again is an error that means nothing.
        let _ = nix::unistd::close(number);
    }
}

/// Standard output, once more: errors go where the rest goes, in order.
pub(super) fn output() -> Stdio {
    std::io::stdout().as_fd().try_clone_to_owned().map_or_else(|_| Stdio::null(), Stdio::from)
}
