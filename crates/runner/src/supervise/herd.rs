//! All processes that came of a shell, wherever they have wandered.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use docket_core::plant::{Bug, planted};
use rustix::process::{Pid, Signal, WaitOptions};

/// How they are found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Herd {
    /// They are all others of this namespace, whose first process this one is.
    Namespace,
    /// They are this process's descendants: it inherits every orphan, so none can leave the tree.
    Descendants,
    /// The bug: the group that the shell began in, when there is one.
    Group(Option<Pid>),
}

impl Herd {
    /// What a supervisor without a namespace looks after.
    pub(super) fn of_supervisor() -> Self {
        if Self::is_group_only() { Self::Group(None) } else { Self::Descendants }
    }

    /// Whether the bug is alive.
    pub(super) fn is_group_only() -> bool {
        planted(Bug::GroupKilledOnly)
    }

    /// Sends a signal to all that can be seen now.
    pub(super) fn signal(self, signal: Signal) {
        match self {
            Self::Namespace => {
                let signal = nix::sys::signal::Signal::try_from(signal.as_raw()).ok();
                let _ = nix::sys::signal::kill(nix::unistd::Pid::from_raw(-1), signal);
            }
            Self::Descendants => {
                for pid in descendants() {
                    let _ = rustix::process::kill_process(pid, signal);
                }
            }
            Self::Group(group) => {
                if let Some(group) = group {
                    let _ = rustix::process::kill_process_group(group, signal);
                }
            }
        }
    }

    /// Whether none is left, the dead included that were not buried.
    pub(super) fn is_empty(self) -> bool {
        match self {
            Self::Namespace => nix::sys::signal::kill(nix::unistd::Pid::from_raw(-1), None).is_err(),
            Self::Descendants => descendants().is_empty(),
            Self::Group(group) => group.is_none_or(|group| rustix::process::test_kill_process_group(group).is_err()),
        }
    }

    /// Kills until none is left.
    pub(super) fn end(self, patience: Duration) {
        let until = Instant::now() + patience;
        let mut pause = Duration::from_micros(200);
        loop {
            bury();
            if self.is_empty() {
                return;
            }
            if self == Self::Descendants {
                freeze();
            }
            self.signal(Signal::KILL);
            bury();
            if self.is_empty() || Instant::now() >= until {
                return;
            }
            std::thread::sleep(pause);
            pause = (pause * 2).min(Duration::from_millis(20));
        }
    }
}

/// Stops all before any is killed: what forks faster than it is killed would never be caught. A stopped process has no
/// children to come, so a look that finds nobody new has found everybody.
fn freeze() {
    let mut stopped = BTreeSet::new();
    loop {
        let new: Vec<Pid> = descendants().into_iter().filter(|pid| stopped.insert(pid.as_raw_nonzero())).collect();
        if new.is_empty() {
            return;
        }
        for pid in new {
            let _ = rustix::process::kill_process(pid, Signal::STOP);
        }
    }
}

fn bury() {
    while let Ok(Some(_)) = rustix::process::wait(WaitOptions::NOHANG) {}
}

/// Every process that descends from this one, by the process table.
fn descendants() -> Vec<Pid> {
    let Ok(table) = std::fs::read_dir("/proc") else { return Vec::new() };
    let pairs: Vec<(i32, i32)> = table
        .filter_map(|entry| {
            let pid: i32 = entry.ok()?.file_name().to_str()?.parse().ok()?;
            let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
            Some((pid, parent(&stat)?))
        })
        .collect();
    let mut found = BTreeSet::from([rustix::process::getpid().as_raw_nonzero().get()]);
    let me = found.clone();
    // A parent may stand behind its child in the table: look until nothing is added.
    loop {
        let before = found.len();
        for (pid, parent) in &pairs {
            if found.contains(parent) {
                found.insert(*pid);
            }
        }
        if found.len() == before {
            break;
        }
    }
    found.difference(&me).filter_map(|pid| Pid::from_raw(*pid)).collect()
}

/// The parent in a line of the process table. The name before it may hold spaces and brackets.
fn parent(stat: &str) -> Option<i32> {
    stat.rsplit_once(") ")?.1.split(' ').nth(1)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_parent_is_read_behind_any_name() {
        assert_eq!(parent("12 (sh) S 7 12 12 0"), Some(7));
        assert_eq!(parent("12 (a) R 1 (b) S 9 12"), Some(9));
        assert_eq!(parent(""), None);
    }

    #[test]
    fn a_child_is_seen_in_the_table() {
        let mut child = std::process::Command::new("sleep").arg("60").spawn().expect("a process");
        let pid = Pid::from_child(&child);
        assert!(descendants().contains(&pid));
        child.kill().expect("killed");
        child.wait().expect("buried");
        assert!(!descendants().contains(&pid));
    }
}
