//! What the core asks of whoever starts processes, answered by this crate.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use docket_core::checks::Allowed;
use docket_core::command::Report as CheckReport;
use docket_core::model::{CheckKind, Item, Name, Project, Run, RunEnd, Text, Tree as CheckedTree};
use docket_core::prove::{Listener, Prover, Room};
use docket_core::{Code, Error, Kind, Reason, limits};
use tokio::sync::Semaphore;

use crate::github::{self, Pull, PullRef, PullState, Repository};
use crate::{Cancel, Ended, Files, Live, Order, PutBack, Refusal, Report, Runner, Tree, TreeError};

/// How many pieces of output may wait for whoever looks on.
const LOOKERS_ON: usize = 256;
/// Kept free for the line that says what a log left out.
const LOG_SPARE: usize = 1024;

/// What programs say when they are not let write somewhere.
const DENIED: [&str; 3] = ["Permission denied", "permission denied", "EACCES"];

/// Makes checks in one work tree.
#[derive(Debug)]
pub struct CheckRunner {
    name: Name,
    runner: Runner,
    root: PathBuf,
    place: Option<Name>,
    allowed: Allowed,
    github: Result<github::Client, String>,
    room: Arc<Semaphore>,
}

impl CheckRunner {
    /// The most that a log may hold so that the core takes it.
    pub const LOG_BYTES: usize = limits::LOG_BYTES - LOG_SPARE;

    /// One that runs commands in a repository or worktree, and asks about pull requests, or says why it cannot. A place that is
    /// named is that of the root, where it is a work tree. One command at a time runs in it.
    pub fn new(
        name: Name,
        runner: Runner,
        root: PathBuf,
        place: Option<Name>,
        allowed: Allowed,
        github: Result<github::Client, String>,
    ) -> Self {
        Self { name, runner, root, place, allowed, github, room: Arc::new(Semaphore::new(1)) }
    }

    /// The same, where so many commands may run in the work tree at once.
    #[must_use]
    pub fn with_room_for(self, commands: usize) -> Self {
        Self { room: Arc::new(Semaphore::new(commands.max(1))), ..self }
    }

    async fn command(&self, run: &Run, item: &Item, project: &Project, listener: &dyn Listener) -> CheckReport {
        let CheckKind::Command { cmd, cwd, .. } = &run.kind else { return not_started("it is no command", None) };
        let order = Order {
            root: self.root.clone(),
            folder: cwd.as_ref().map(|folder| folder.as_str().to_owned()).unwrap_or_default(),
            command: cmd.as_str().to_owned(),
            timeout: Duration::from_secs(u64::from(run.kind.timeout_seconds())),
            marks: vec![
                ("DOCKET_ITEM".to_owned(), project.key(item.number).to_string()),
                ("DOCKET_ITEM_ID".to_owned(), item.id.to_string()),
                ("DOCKET_RUN".to_owned(), run.id.to_string()),
            ],
        };
        let cancel = match Cancel::new() {
            Ok(cancel) => cancel,
            Err(error) => return not_made(&format!("it could not be made ready: {error}"), true),
        };
        let (live, mut said) = Live::new(LOOKERS_ON);
        let ended = async { self.runner.run(order, Some(live), cancel).await };
        let told = async {
            while let Some(chunk) = said.recv().await {
                if chunk.missed > 0 {
                    listener.says(run, &format!("[{} bytes not shown]\n", chunk.missed));
                }
                listener.says(run, &chunk.text);
            }
        };
        // What is told ends with the run: the sender goes with it.
        match tokio::join!(ended, told).0 {
            Ok(report) => from_report(&report, &self.root),
            Err(Refusal::NoSuchRoot) => {
                let why = format!(
                    "the repository {} cannot be opened: start the runner in it, or name it by [runner] repository in docket.toml",
                    self.root.display()
                );
                // It may be put back.
                not_made(&why, true)
            }
            Err(refusal) => not_started(&refusal.to_string(), Some(refusal.code())),
        }
    }

    async fn pull_request(&self, run: &Run) -> CheckReport {
        let CheckKind::PullRequest { repository, number, branch } = &run.kind else {
            return not_started("it is no pull request", None);
        };
        let client = match &self.github {
            Ok(client) => client,
            Err(why) => return not_made(why, false),
        };
        let named = Repository::parse(repository.as_str()).and_then(|repository| match (number, branch) {
            (Some(number), _) => PullRef::number(repository, *number),
            (None, branch) => PullRef::branch(repository, branch.as_ref().map(Name::as_str).unwrap_or_default()),
        });
        let wanted = match named {
            Ok(wanted) => wanted,
            Err(error) => return not_started(&error.to_string(), None),
        };
        match client.pull(&wanted).await {
            Ok(pull) => from_pull(&pull),
            // What the check names is not there: that is for whoever wrote it to mend.
            Err(failure @ github::Failure::NotFound) => not_started(&failure.to_string(), None),
            Err(failure) => {
                let after = match &failure {
                    github::Failure::RateLimited { after } => *after,
                    github::Failure::Unauthorized
                    | github::Failure::Forbidden
                    | github::Failure::NotFound
                    | github::Failure::Hidden
                    | github::Failure::Unavailable(_)
                    | github::Failure::Unexpected(_)
                    | github::Failure::BadAnswer(_) => None,
                };
                let after_seconds = after.map(|after| u32::try_from(after.as_secs()).unwrap_or(u32::MAX));
                CheckReport { after_seconds, ..not_made(&failure.to_string(), failure.is_transient()) }
            }
        }
    }
}

#[async_trait]
impl Prover for CheckRunner {
    fn name(&self) -> &Name {
        &self.name
    }

    fn allowed(&self) -> &Allowed {
        &self.allowed
    }

    fn place(&self) -> Option<&Name> {
        self.place.as_ref()
    }

    async fn tree(&self, _project: &Project) -> Result<Option<CheckedTree>, Error> {
        let seen = self.runner.tree(self.root.clone()).await.map_err(|error| unreadable(&error))?;
        Ok(seen.as_ref().and_then(checked))
    }

    async fn room(&self) -> Room {
        // It is never closed.
        Arc::clone(&self.room).acquire_owned().await.map(Room::held_by).unwrap_or_default()
    }

    fn room_now(&self) -> Option<Room> {
        Arc::clone(&self.room).try_acquire_owned().ok().map(Room::held_by)
    }

    async fn run(&self, run: &Run, item: &Item, project: &Project, listener: &dyn Listener) -> CheckReport {
        match &run.kind {
            CheckKind::Command { .. } => self.command(run, item, project, listener).await,
            CheckKind::PullRequest { .. } => self.pull_request(run).await,
            CheckKind::Manual => not_started("a person attests it", None),
        }
    }
}

/// What became of a pull request: merged is what was asked for, open is not decided yet.
fn from_pull(pull: &Pull) -> CheckReport {
    let (seen, is_open) = match &pull.state {
        PullState::Open => (format!("pull request #{} is open", pull.number), true),
        PullState::Closed => (format!("pull request #{} was closed without being merged", pull.number), false),
        PullState::Merged { commit, .. } => (format!("pull request #{} was merged as {commit}", pull.number), false),
    };
    let log = text(&format!("{seen}\n{}\n", pull.url));
    let seen = text(&seen);
    let end = if is_open { RunEnd::NotYet { seen } } else { RunEnd::Fact { holds: pull.is_merged(), seen } };
    CheckReport { log, ..CheckReport::undone(end) }
}

fn checked(tree: &Tree) -> Option<CheckedTree> {
    CheckedTree::parse(tree.as_str()).ok()
}

fn unreadable(error: &TreeError) -> Error {
    tracing::warn!(error = error as &dyn std::error::Error, "a work tree could not be looked at");
    let message = format!("the work tree cannot be looked at: {error}");
    Error::new(Kind::Permanent, Code::Unavailable, Reason::NoRunner, message)
}

fn from_report(report: &Report, root: &Path) -> CheckReport {
    let made = made(report, root);
    let end = match &report.ended {
        Ended::Exited(0) if let Some(made) = &made => RunEnd::Fact { holds: false, seen: text(made) },
        Ended::Exited(code) => RunEnd::Exited { code: *code },
        Ended::Signalled(signal) => RunEnd::Signalled { signal: *signal },
        Ended::TimedOut => RunEnd::TimedOut,
        Ended::Cancelled => RunEnd::Cancelled,
        Ended::NotRun(why) => return not_made(why, true),
    };
    let mut log = report.log.text();
    if let Some(made) = &made {
        let _ = writeln!(log, "[{made}: docs/guides/sandbox.md]");
    }
    let still = report.tree_stood_still();
    // Only where there was no git all along nothing is known of a change: whoever breaks git has changed the work tree.
    let changed = !still && !matches!((&report.before, &report.after), (Ok(None), Ok(None)));
    if let Err(error) = &report.after {
        let _ = writeln!(log, "[the work tree could not be looked at after this: {error}]");
    } else if changed {
        log.push_str(
            "[the work tree changed while this ran: what it writes must be ignored by git, or it counts for nothing]\n",
        );
    }
    if was_kept_from_writing(report, &log) {
        log.push_str(
            "[it may write in the work tree, in $TMPDIR and where [runner] writable in docket.toml says, and nowhere else: \
             docs/guides/sandbox.md]\n",
        );
    }
    let before = report.before.as_ref().ok();
    CheckReport {
        end,
        log: text(&log),
        log_left_out: report.log.left_out,
        tree: before.and_then(Option::as_ref).filter(|_| still).and_then(checked),
        tree_changed: changed,
        sandbox: Name::parse(&report.sandbox.to_string()).ok(),
        after_seconds: None,
    }
}

/// That what is the operator's was not there, or was another, and is so again; or why it is not. Who did it is not known.
fn made(report: &Report, root: &Path) -> Option<String> {
    let root = root.canonicalize().unwrap_or_else(|_| root.to_owned());
    let name = |path: &Path| docket_core::echo(&path.strip_prefix(&root).unwrap_or(path).to_string_lossy());
    let one = |found: &PutBack| {
        let place = name(&found.place);
        match (found.is_done, found.is_link, found.moved_to.as_deref().map(name)) {
            (false, ..) => {
                format!("{place} is not as it was and could not be put back: see to it before anything else is run")
            }
            (true, false, Some(moved)) => format!("{place} was not there before: moved to {moved}"),
            (true, true, Some(moved)) => {
                format!("the link {place} was replaced: put back, and what was there moved to {moved}")
            }
            (true, _, None) => format!("the link {place} was removed: put back"),
        }
    };
    let found: Vec<String> = report.put_back.iter().map(one).collect();
    let made =
        || format!("while it ran, what Docket goes by was changed, by it or by somebody else: {}", found.join("; "));
    (!found.is_empty()).then(made)
}

/// Whether a command that failed says what programs say when they may not write somewhere, and was kept from it by us.
fn was_kept_from_writing(report: &Report, log: &str) -> bool {
    let is_confined = matches!(report.sandbox.files, Files::Landlock { .. });
    let failed = matches!(report.ended, Ended::Exited(code) if code != 0);
    is_confined && failed && DENIED.iter().any(|words| log.contains(words))
}

/// The check cannot be made as it is written.
fn not_started(why: &str, code: Option<&str>) -> CheckReport {
    let code = code.and_then(|code| Name::parse(code).ok());
    CheckReport { log: text(why), ..CheckReport::undone(RunEnd::NotStarted { why: text(why), code }) }
}

/// This runner cannot make it, perhaps only for the moment, and nothing is known of the check.
fn not_made(why: &str, passing: bool) -> CheckReport {
    CheckReport { log: text(why), ..CheckReport::undone(RunEnd::NotMade { why: text(why), passing }) }
}

/// A text for the core. Composing characters may make it longer than it was: then its end is kept.
fn text(words: &str) -> Text {
    let parsed = Text::parse(words).or_else(|_| {
        let from = words.len().saturating_sub(limits::LOG_BYTES / 4);
        Text::parse(words.get(words.ceil_char_boundary(from)..).unwrap_or_default())
    });
    parsed.unwrap_or_else(|_| Text::empty())
}
