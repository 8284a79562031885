//! Runs one order: opens the folder, starts a supervisor, follows what is said, and reports.

use std::fs::File;
use std::io::{self, Read as _, Write as _};
use std::os::fd::{AsRawFd as _, OwnedFd};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec};
use rustix::process::{Pid, PidfdFlags};

use crate::cancel::Cancel;
use crate::environment::{self, Environment};
use crate::limits::{GRACE, LOG_DEFAULT, LOG_LEAST, LOG_MOST, SLACK, TIMEOUT_LEAST};
use crate::order::{Order, Refusal};
use crate::output::{Live, Recorder, Secrets};
use crate::own::Owned;
use crate::report::{Ended, Report, Sandbox};
use crate::tree::{Memory, Tree, TreeError};
use crate::wire::{self, CANCEL, NO_NAMESPACE, Outcome, SUPERVISE, Task};
use crate::{folder, git_folder, temporary};

/// How much is read at once.
const READ: usize = 64 * 1024;
/// The most that is still read when every process has ended: what a pipe can hold.
const DRAIN: usize = 1024 * 1024;
/// How long a supervisor may take to listen.
const LISTEN: Duration = Duration::from_secs(10);

/// What the operator says about all runs.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The program that calls [`crate::supervise`] first thing: this one, when nothing is said.
    pub program: PathBuf,
    /// What commands find in their environment.
    pub environment: Environment,
    /// Where commands may write besides the work tree and their private folder: caches.
    pub writable: Vec<PathBuf>,
    /// Files that are none of the work though they may lie in the work tree: our own database and what lies beside it.
    pub apart: Vec<PathBuf>,
    /// What commands may read and not write, wherever it lies: the files above, their folder where it is ours, our configuration.
    pub own: Vec<PathBuf>,
    /// What commands may not make: files of the same kind that are not there. What a command makes of them is set aside afterwards.
    pub unmade: Vec<PathBuf>,
    /// Files by which git says that a folder belongs to a repository elsewhere, wherever one may be: commands may neither write those
    /// that are there nor make one. That of the root is one of them in any case.
    pub pointers: Vec<PathBuf>,
    /// Values to blot out besides those of secret variables.
    pub secrets: Vec<String>,
    /// The most that is kept of a log, in bytes; brought within the limits.
    pub log_bytes: usize,
    /// Whether a PID namespace is made where it can be. Off only to show what the lesser containment does.
    pub namespace: bool,
    /// Whether Landlock is applied where it can be. Off only to show what happens without.
    pub landlock: bool,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            program: PathBuf::from("/proc/self/exe"),
            environment: Environment::default(),
            writable: Vec::new(),
            apart: Vec::new(),
            own: Vec::new(),
            unmade: Vec::new(),
            pointers: Vec::new(),
            secrets: Vec::new(),
            log_bytes: LOG_DEFAULT,
            namespace: true,
            landlock: true,
        }
    }
}

/// Runs orders.
#[derive(Clone, Debug)]
pub struct Runner {
    settings: Arc<Settings>,
    secrets: Arc<Secrets>,
    /// Namespaces were tried and cannot be had.
    without_namespace: Arc<AtomicBool>,
    /// What was read of work trees.
    memory: Arc<Memory>,
}

impl Runner {
    /// A runner that keeps to these settings. The secrets of the process's environment are noted now.
    pub fn new(settings: Settings) -> Self {
        let known = environment::secrets(environment::of_process());
        let set = environment::secrets(settings.environment.set.iter().cloned());
        let secrets = Secrets::new(known.into_iter().chain(set).chain(settings.secrets.iter().cloned()));
        Self {
            settings: Arc::new(settings),
            secrets: Arc::new(secrets),
            without_namespace: Arc::default(),
            memory: Arc::default(),
        }
    }

    /// Runs an order to its end. When this is dropped before, the command is cancelled.
    pub async fn run(&self, order: Order, live: Option<Live>, cancel: Cancel) -> Result<Report, Refusal> {
        let mut dropped = CancelOnDrop(Some(cancel.clone()));
        let runner = self.clone();
        let done = tokio::task::spawn_blocking(move || runner.run_blocking(&order, live, &cancel)).await;
        dropped.0 = None;
        done.unwrap_or_else(|_| Ok(not_run("the runner broke off")))
    }

    /// The same on this thread, which waits.
    pub fn run_blocking(&self, order: &Order, live: Option<Live>, cancel: &Cancel) -> Result<Report, Refusal> {
        order.check()?;
        let folder = folder::open(&order.root, &order.folder)?;
        let before = self.memory.tree(&order.root, &self.settings.apart);
        let limit = self.settings.log_bytes.clamp(LOG_LEAST, LOG_MOST);
        let mut recorder = Recorder::new(self.secrets.clone(), limit, live);
        let outcome = self.supervised(order, &folder, &mut recorder, cancel);
        let after = self.memory.tree(&order.root, &self.settings.apart);
        let log = recorder.finish();
        Ok(match outcome {
            Ok(Outcome { ended, took_us, sandbox, put_back }) => {
                Report { ended, took: Duration::from_micros(took_us), log, sandbox, put_back, before, after }
            }
            Err(error) => Report { log, before, after, ..not_run(&error.to_string()) },
        })
    }

    /// What a work tree holds, as runs see it: without what is none of the work.
    pub async fn tree(&self, root: PathBuf) -> Result<Option<Tree>, TreeError> {
        let (settings, memory) = (Arc::clone(&self.settings), Arc::clone(&self.memory));
        let read = tokio::task::spawn_blocking(move || memory.tree(&root, &settings.apart)).await;
        read.unwrap_or(Err(TreeError::BrokeOff))
    }

    /// The same containment and nothing else: no log, no look at the work tree. What a run is measured against.
    pub fn bare_blocking(&self, order: &Order) -> Result<Ended, Refusal> {
        order.check()?;
        let folder = folder::open(&order.root, &order.folder)?;
        let why = if self.settings.namespace { "" } else { "not asked for" };
        let ended = self.start(order, &folder, why).and_then(|mut supervised| {
            let said = supervised.line.as_mut().map(wire::receive::<Outcome>);
            supervised.child.wait().map_err(Trouble::Start)?;
            said.and_then(Result::ok).map(|outcome| outcome.ended).ok_or(Trouble::Silent)
        });
        Ok(ended.unwrap_or_else(|error| Ended::NotRun(error.to_string())))
    }

    fn supervised(
        &self,
        order: &Order,
        folder: &OwnedFd,
        recorder: &mut Recorder,
        cancel: &Cancel,
    ) -> Result<Outcome, Trouble> {
        if cancel.is_cancelled() {
            let sandbox = Sandbox::none();
            return Ok(Outcome { ended: Ended::Cancelled, took_us: 0, sandbox, put_back: Vec::new() });
        }
        let why = if !self.settings.namespace {
            "not asked for"
        } else if self.without_namespace.load(Ordering::Relaxed) {
            "namespaces cannot be set up here"
        } else {
            ""
        };
        let done = self.start(order, folder, why)?.follow(recorder, cancel);
        match done {
            Err(Trouble::NoNamespace) if why.is_empty() => {
                self.without_namespace.store(true, Ordering::Relaxed);
                self.supervised(order, folder, recorder, cancel)
            }
            done => done,
        }
    }

    fn start(&self, order: &Order, folder: &OwnedFd, why: &str) -> Result<Supervised, Trouble> {
        let temp = temporary::folder().map_err(Trouble::Start)?;
        let (line, theirs) = UnixStream::pair().map_err(Trouble::Start)?;
        let (output, input) = io::pipe().map_err(Trouble::Start)?;
        let mut command = Command::new(&self.settings.program);
        command
            .arg(SUPERVISE)
            .arg(why)
            .arg(temp.path())
            .env_clear()
            // The descriptor that was checked, by the one name it has.
            .current_dir(format!("/proc/self/fd/{}", folder.as_raw_fd()))
            .stdin(Stdio::from(OwnedFd::from(theirs)))
            .stdout(Stdio::from(input))
            .stderr(Stdio::null());
        #[cfg(feature = "plant")]
        if let Some(bug) = std::env::var_os("DOCKET_PLANT") {
            command.env("DOCKET_PLANT", bug);
        }
        let child = command.spawn().map_err(Trouble::Start)?;
        // The command holds our copies of the other ends; without them the ends are seen.
        drop(command);
        let mut supervised = Supervised {
            child,
            line: Some(line),
            output: File::from(OwnedFd::from(output)),
            overdue: Instant::now() + order.timeout.max(TIMEOUT_LEAST) + GRACE + SLACK + LISTEN,
            temp,
        };
        let task = self.task(order, supervised.temp.path());
        if let Some(line) = &mut supervised.line {
            let _ = line.set_write_timeout(Some(LISTEN));
            // A supervisor that is gone already says why by its exit code.
            let _ = wire::send(line, &task);
        }
        Ok(supervised)
    }

    fn task(&self, order: &Order, temp: &Path) -> Task {
        let (settings, root) = (&self.settings, order.root.canonicalize().unwrap_or_else(|_| order.root.clone()));
        let mut writable = vec![root.clone(), temp.to_owned()];
        writable.extend(git_folder::of(&root));
        writable.extend(settings.writable.iter().cloned());
        // What is not there needs no permission, and what is there goes by one name.
        let writable: Vec<PathBuf> = writable.iter().filter_map(|path| path.canonicalize().ok()).collect();
        let needed = if settings.landlock { writable.as_slice() } else { std::slice::from_ref(&root) };
        let pointers: Vec<PathBuf> = settings.pointers.iter().cloned().chain([root.join(".git")]).collect();
        Task {
            command: order.command.clone(),
            folder: order.folder.clone(),
            environment: settings.environment.scrubbed(
                environment::of_process(),
                &temp.to_string_lossy(),
                &order.marks,
            ),
            timeout_ms: u64::try_from(order.timeout.as_millis()).unwrap_or(u64::MAX),
            grace_ms: u64::try_from(GRACE.as_millis()).unwrap_or(0),
            own: Owned::now(&settings.own, &settings.unmade, &pointers, needed),
            writable: settings.landlock.then_some(writable),
            root,
        }
    }
}

/// Why nothing is known of a run.
#[derive(Debug, thiserror::Error)]
enum Trouble {
    #[error("the supervisor cannot be started: {}", .0.kind())]
    Start(#[source] io::Error),
    #[error("no namespace can be set up")]
    NoNamespace,
    #[error("the supervisor ended without a word")]
    Silent,
    #[error("the supervisor did not end in time and was killed")]
    Overdue,
}

/// A supervisor at work. Letting go of it ends it: it sees the end of the line.
struct Supervised {
    child: Child,
    line: Option<UnixStream>,
    output: File,
    overdue: Instant,
    /// The command's private folder. The supervisor removes it as well, in case we do not live to.
    temp: tempfile::TempDir,
}

impl Supervised {
    fn follow(mut self, recorder: &mut Recorder, cancel: &Cancel) -> Result<Outcome, Trouble> {
        let ends = rustix::process::pidfd_open(Pid::from_child(&self.child), PidfdFlags::empty());
        let ends = ends.map_err(|error| Trouble::Start(error.into()))?;
        let mut outcome = None;
        let mut cancelled = false;
        let mut open = true;
        let mut buffer = vec![0; READ];
        let mut killed = false;
        loop {
            let left = self.overdue.saturating_duration_since(Instant::now());
            if left.is_zero() && !killed {
                killed = true;
                self.line = None;
                let _ = self.child.kill();
            }
            let ready = self.ready(&ends, (!cancelled).then_some(cancel), open, outcome.is_none(), left, killed);
            if ready.cancel {
                cancelled = true;
                if let Some(line) = &mut self.line {
                    let _ = line.write_all(&[CANCEL]);
                }
            }
            if ready.output {
                match self.output.read(&mut buffer) {
                    Ok(0) => open = false,
                    Ok(length) => recorder.push(&buffer[..length]),
                    Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                    Err(_) => open = false,
                }
            }
            if ready.line
                && outcome.is_none()
                && let Some(line) = &mut self.line
            {
                match wire::receive::<Outcome>(line) {
                    Ok(said) => outcome = Some(said),
                    Err(_) => self.line = None,
                }
            }
            // Its end is looked at last: what it said before is there by now.
            if ready.ended {
                break;
            }
        }
        let status = self.child.wait().map_err(Trouble::Start)?;
        if open {
            self.drain(recorder, &mut buffer);
        }
        if outcome.is_none()
            && let Some(line) = &mut self.line
        {
            outcome = wire::receive(line).ok();
        }
        match outcome {
            Some(outcome) => Ok(outcome),
            None if killed => Err(Trouble::Overdue),
            None if status.code() == Some(NO_NAMESPACE) => Err(Trouble::NoNamespace),
            None => Err(Trouble::Silent),
        }
    }

    /// Waits until there is something to do.
    fn ready(
        &self,
        ends: &OwnedFd,
        cancel: Option<&Cancel>,
        open: bool,
        listening: bool,
        left: Duration,
        killed: bool,
    ) -> Ready {
        let wait = Timespec { tv_sec: left.as_secs().cast_signed(), tv_nsec: i64::from(left.subsec_nanos()) };
        let mut ready = Ready::default();
        let mut names = vec![&mut ready.ended];
        let mut fds = vec![PollFd::new(ends, PollFlags::IN)];
        if open {
            names.push(&mut ready.output);
            fds.push(PollFd::new(&self.output, PollFlags::IN));
        }
        if let Some(line) = self.line.as_ref().filter(|_| listening) {
            names.push(&mut ready.line);
            fds.push(PollFd::new(line, PollFlags::IN));
        }
        if let Some(cancel) = cancel {
            names.push(&mut ready.cancel);
            fds.push(PollFd::new(cancel, PollFlags::IN));
        }
        if rustix::event::poll(&mut fds, (!killed).then_some(&wait)).is_ok() {
            for (name, fd) in names.into_iter().zip(&fds) {
                *name = !fd.revents().is_empty();
            }
        }
        ready
    }

    /// Reads what is still in the pipe, without waiting for somebody outside who may hold its other end.
    fn drain(&mut self, recorder: &mut Recorder, buffer: &mut [u8]) {
        if rustix::io::ioctl_fionbio(&self.output, true).is_err() {
            return;
        }
        let mut read = 0;
        while read < DRAIN {
            match self.output.read(buffer) {
                Ok(length) if length > 0 => {
                    recorder.push(&buffer[..length]);
                    read += length;
                }
                _ => return,
            }
        }
    }
}

/// What there is to do.
#[derive(Debug, Default)]
#[expect(clippy::struct_excessive_bools, reason = "any of these may be so at once")]
struct Ready {
    ended: bool,
    output: bool,
    line: bool,
    cancel: bool,
}

/// Cancels what is still to be cancelled.
struct CancelOnDrop(Option<Cancel>);

impl Drop for CancelOnDrop {
    fn drop(&mut self) {
        if let Some(cancel) = &self.0 {
            cancel.cancel();
        }
    }
}

fn not_run(why: &str) -> Report {
    Report {
        ended: Ended::NotRun(why.to_owned()),
        took: Duration::ZERO,
        log: crate::Log::default(),
        sandbox: Sandbox::none(),
        put_back: Vec::new(),
        before: Ok(None),
        after: Ok(None),
    }
}
