//! What is told of a run.

use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::output::Log;
use crate::tree::{Tree, TreeError};

/// How a run went.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Report {
    /// How it ended.
    pub ended: Ended,
    /// From the start of the shell to the end of all its processes.
    pub took: Duration,
    /// What it said.
    pub log: Log,
    /// What held it, as it was really put in place.
    pub sandbox: Sandbox,
    /// Where something of the operator's was not as it was before: the command, or somebody else meanwhile, had made or replaced it.
    pub put_back: Vec<PutBack>,
    /// The work tree before.
    pub before: Result<Option<Tree>, TreeError>,
    /// The work tree afterwards.
    pub after: Result<Option<Tree>, TreeError>,
}

impl Report {
    /// Whether the command ended by itself, with exit code 0, and left alone what is not its own.
    pub fn passed(&self) -> bool {
        self.ended == Ended::Exited(0) && self.put_back.is_empty()
    }

    /// Whether the work tree is known to have been the same all along. What is no git work tree is not known.
    pub fn tree_stood_still(&self) -> bool {
        matches!((&self.before, &self.after), (Ok(Some(before)), Ok(Some(after))) if before == after)
    }
}

/// A place at which something else stood after a run than before it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PutBack {
    /// Where.
    pub place: PathBuf,
    /// What was found there, or on the way there, is here now; none where nothing was, or it could not be moved.
    pub moved_to: Option<PathBuf>,
    /// Whether a link stood there before; else nothing did.
    pub is_link: bool,
    /// Whether it is as it was. Where it is not, what was found still stands there.
    pub is_done: bool,
}

/// How a run ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Ended {
    /// By itself, with this code.
    Exited(i32),
    /// By a signal of this number that was not ours.
    Signalled(i32),
    /// At its time limit, whatever it said afterwards.
    TimedOut,
    /// Because somebody no longer wanted it.
    Cancelled,
    /// It never ran, or nothing is known of its end; the text says why and holds nothing secret.
    NotRun(String),
}

impl fmt::Display for Ended {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Exited(code) => write!(to, "exited with {code}"),
            Self::Signalled(number) => write!(to, "ended by signal {number}"),
            Self::TimedOut => write!(to, "timed out"),
            Self::Cancelled => write!(to, "cancelled"),
            Self::NotRun(why) => write!(to, "not run: {why}"),
        }
    }
}

/// What held a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sandbox {
    /// What kept its processes together.
    pub processes: Processes,
    /// What kept it from writing elsewhere.
    pub files: Files,
    /// What kept it from writing what is the operator's, where it lies among the files of the work.
    pub own: Own,
}

impl Sandbox {
    /// Nothing was put in place, because nothing ran.
    pub(crate) fn none() -> Self {
        Self { processes: Processes::None, files: Files::Open { why: "nothing ran".to_owned() }, own: Own::None }
    }
}

/// What kept the processes of a run together.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Processes {
    /// Nothing ran.
    None,
    /// A PID namespace: when its first process ends, the kernel ends all others.
    Namespace {
        /// It is in a user namespace as well, because the server has no privileges.
        user: bool,
        /// It sees its own processes in `/proc`, and no others.
        proc: bool,
    },
    /// A supervisor that inherits every orphan, and looks for them until none is left.
    Subreaper {
        /// Why there is no namespace.
        why: String,
    },
}

/// What kept a run from writing where it should not.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Files {
    /// Landlock, as far as this version of it goes.
    Landlock {
        /// The version that was applied.
        abi: u8,
    },
    /// Nothing but the rights of the user it ran as.
    Open {
        /// Why there is no Landlock.
        why: String,
    },
}

/// Whether a run could write what is the operator's: a database that is a file, its configuration.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Own {
    /// Nothing was named.
    None,
    /// It was mounted read-only.
    ReadOnly,
    /// Nothing but what holds for all files.
    Open {
        /// Why it is not read-only.
        why: String,
    },
}

impl fmt::Display for Sandbox {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.processes {
            Processes::None => write!(to, "no process")?,
            Processes::Namespace { user, proc } => {
                write!(to, "pid namespace")?;
                if *user {
                    write!(to, " in a user namespace")?;
                }
                if !proc {
                    write!(to, " with the outer /proc")?;
                }
            }
            Processes::Subreaper { why } => write!(to, "subreaper ({why})")?,
        }
        match &self.files {
            Files::Landlock { abi } => write!(to, ", landlock {abi}")?,
            Files::Open { why } => write!(to, ", files open ({why})")?,
        }
        match &self.own {
            Own::None => Ok(()),
            Own::ReadOnly => write!(to, ", own files read-only"),
            Own::Open { why } => write!(to, ", own files writable ({why})"),
        }
    }
}
