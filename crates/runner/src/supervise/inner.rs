//! The inner process: starts the shell, sees to its time limit, and ends everything that came of it.

use std::ffi::OsString;
use std::io::Read as _;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt as _;
use std::process::{Command, ExitCode, Stdio};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec};
use rustix::process::{Pid, PidfdFlags, Signal, WaitOptions, WaitStatus};

use super::herd::Herd;
use super::{confine, mounts, outer, text};
use crate::folder;
use crate::report::{Ended, Files, Own, Processes, Sandbox};
use crate::wire::{self, CANCEL, Outcome, Task};

/// How often orphans are buried while the shell runs.
const REAP: Duration = Duration::from_millis(500);
/// How often the dying are looked at.
const LOOK: Duration = Duration::from_millis(5);
/// How long the killed may take to be gone.
const BURIAL: Duration = Duration::from_secs(10);

/// The words are: what keeps the processes, and why it is not a namespace.
pub(super) fn run(words: &mut impl Iterator<Item = OsString>) -> ExitCode {
    let kept = text(words.next());
    let why = text(words.next());
    let processes = match kept.as_str() {
        "namespace" => Processes::Namespace { user: false, proc: mounts::own_proc() },
        "user-namespace" => Processes::Namespace { user: true, proc: mounts::own_proc() },
        _ => Processes::Subreaper { why },
    };
    let herd = if matches!(processes, Processes::Namespace { .. }) {
        // Whoever ends the outer process by force ends this one, and with it the namespace.
        let _ = rustix::process::set_parent_process_death_signal(Some(Signal::KILL));
        Herd::Namespace
    } else {
        let _ = rustix::process::set_child_subreaper(Some(rustix::process::getpid()));
        Herd::of_supervisor()
    };
    let Ok(line) = std::io::stdin().as_fd().try_clone_to_owned() else { return ExitCode::FAILURE };
    let mut line = UnixStream::from(line);
    let Ok(task) = wire::receive::<Task>(&mut line) else { return ExitCode::FAILURE };
    let is_apart = matches!(processes, Processes::Namespace { .. });
    // Whoever is confined cannot mount any more.
    let own = match is_apart {
        true => mounts::keep(&task.own, task.writable.as_deref()),
        false if task.own.there.is_empty() => Own::None,
        false => Own::Open { why: "no namespace".to_owned() },
    };
    let files = match &task.writable {
        Some(writable) => confine::confine(writable),
        None => Files::Open { why: "not asked for".to_owned() },
    };
    // Unless nobody was confined.
    let own = match (&files, own) {
        (Files::Open { .. }, Own::ReadOnly) if task.writable.is_some() => mounts::keep_above(&task.own),
        (Files::Open { .. } | Files::Landlock { .. }, own) => own,
    };
    let entered = if is_apart { enter_again(&task) } else { Ok(()) };
    confine::give_up_rights();
    let begun = Instant::now();
    let ended = match entered.and_then(|()| start(&task).map_err(|error| error.kind().to_string())) {
        Ok(shell) => Watch { line: &mut line, herd, shell, status: None, begun, task: &task }.run(),
        Err(error) => Ended::NotRun(format!("the shell cannot be started: {error}")),
    };
    let took_us = u64::try_from(begun.elapsed().as_micros()).unwrap_or(u64::MAX);
    // Nobody is left who could do it again.
    let put_back = task.own.restore();
    let outcome = Outcome { ended, took_us, sandbox: Sandbox { processes, files, own }, put_back };
    match wire::send(&mut line, &outcome) {
        Ok(()) => ExitCode::SUCCESS,
        Err(_) => ExitCode::FAILURE,
    }
}

/// Enters the folder once more, as it is found now: whoever was in it before goes past what was mounted since. It has to be the one
/// that was checked.
fn enter_again(task: &Task) -> Result<(), String> {
    let again = folder::open(&task.root, &task.folder).map_err(|refusal| refusal.to_string())?;
    let is_same = || {
        let (checked, found) = (rustix::fs::stat(".").ok()?, rustix::fs::fstat(&again).ok()?);
        Some((checked.st_dev, checked.st_ino) == (found.st_dev, found.st_ino))
    };
    if is_same() != Some(true) {
        return Err("the working folder is another one by now".to_owned());
    }
    rustix::process::fchdir(&again).map_err(|error| std::io::Error::from(error).kind().to_string())
}

fn start(task: &Task) -> std::io::Result<Pid> {
    let shell = Command::new("/bin/sh")
        .args(["-c", &task.command])
        .env_clear()
        .envs(task.environment.iter().map(|(name, value)| (name, value)))
        .stdin(Stdio::null())
        .stdout(outer::output())
        .stderr(outer::output())
        .process_group(0)
        .spawn()?;
    // It is waited for with all others.
    Ok(Pid::from_child(&shell))
}

/// A shell that is being watched.
struct Watch<'a> {
    line: &'a mut UnixStream,
    herd: Herd,
    shell: Pid,
    status: Option<WaitStatus>,
    begun: Instant,
    task: &'a Task,
}

impl Watch<'_> {
    /// Sees it through to the end of all its processes.
    fn run(mut self) -> Ended {
        let ended = self.until_over();
        if let Herd::Group(group) = &mut self.herd {
            *group = Some(self.shell);
        }
        self.herd.end(BURIAL);
        ended
    }

    fn until_over(&mut self) -> Ended {
        let deadline = self.begun + Duration::from_millis(self.task.timeout_ms);
        let shell = rustix::process::pidfd_open(self.shell, PidfdFlags::empty()).ok();
        loop {
            self.reap();
            if let Some(status) = self.status {
                return ended(status);
            }
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                self.ask_to_end();
                return Ended::TimedOut;
            }
            // Without a descriptor of the shell its end is looked for.
            let most = if shell.is_some() { REAP } else { LOOK };
            match self.told(shell.as_ref(), left.min(most)) {
                Told::Nothing => {}
                Told::Cancel => {
                    self.ask_to_end();
                    return Ended::Cancelled;
                }
                Told::Gone => return Ended::Cancelled,
            }
        }
    }

    /// TERM for all, and a little time to act on it.
    fn ask_to_end(&mut self) {
        if let Herd::Group(group) = &mut self.herd {
            *group = Some(self.shell);
        }
        self.herd.signal(Signal::TERM);
        let until = Instant::now() + Duration::from_millis(self.task.grace_ms);
        while Instant::now() < until {
            self.reap();
            if self.status.is_some() && self.herd.is_empty() {
                return;
            }
            if matches!(self.told(None, LOOK), Told::Gone) {
                return;
            }
        }
    }

    /// Waits for the runner or the shell.
    fn told(&mut self, shell: Option<&OwnedFd>, wait: Duration) -> Told {
        let wait = Timespec { tv_sec: wait.as_secs().cast_signed(), tv_nsec: i64::from(wait.subsec_nanos()) };
        let mut ready = vec![PollFd::new(&*self.line, PollFlags::IN)];
        ready.extend(shell.map(|shell| PollFd::new(shell, PollFlags::IN)));
        if rustix::event::poll(&mut ready, Some(&wait)).is_err() || ready[0].revents().is_empty() {
            return Told::Nothing;
        }
        let mut byte = [0];
        match self.line.read(&mut byte) {
            Ok(1) if byte[0] == CANCEL => Told::Cancel,
            Ok(1) => Told::Nothing,
            // The runner is gone: nobody wants to know any more.
            _ => Told::Gone,
        }
    }

    /// Buries the dead, and keeps the shell's last word.
    fn reap(&mut self) {
        while let Ok(Some((pid, status))) = rustix::process::wait(WaitOptions::NOHANG) {
            if pid == self.shell {
                self.status = Some(status);
            }
        }
    }
}

enum Told {
    Nothing,
    Cancel,
    Gone,
}

fn ended(status: WaitStatus) -> Ended {
    match (status.exit_status(), status.terminating_signal()) {
        (Some(code), _) => Ended::Exited(code),
        (None, Some(number)) => Ended::Signalled(number),
        (None, None) => Ended::NotRun("the shell ended in no known way".to_owned()),
    }
}
