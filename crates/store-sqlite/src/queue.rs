//! Whose turn it is to write, among several processes on one file.
//!
//! SQLite's own way to wait for its lock is to sleep and look again, longer each time: with many processes most of them
//! sleep while the lock is free, and some sleep for ever. Here the first try goes straight to the lock. Who finds it taken
//! lines up at a second file, and from then on every time: whoever has the lock of that is the head of the line, and keeps its
//! place until its transaction has ended, so that the kernel wakes the next one when the database is free, and not before. (Who comes
//! at that moment may be quicker: the line is short, not strict.) Only for somebody who has never met others does the head look
//! again and again. The line is a courtesy: what keeps two from writing at once is SQLite's lock alone.

use std::fs::{File, TryLockError};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, mpsc};
use std::time::{Duration, Instant};

use tokio::sync::oneshot;

use crate::options::SqliteOptions;

/// How long the head of the line waits before it looks again: less than a commit takes.
const PAUSE: Duration = Duration::from_micros(40);
/// How long it does so without going to sleep: some commits long.
const AWAKE: Duration = Duration::from_millis(5);
/// How long it sleeps between looks after that.
const NAP: Duration = Duration::from_micros(300);
/// How long to stand in line before looking at the database in any case: a head that was stopped holds nobody up for longer.
const GLANCE: Duration = Duration::from_millis(100);
/// How long to wait where there can be no line, as in a folder that cannot be written.
const LONG_PAUSE: Duration = Duration::from_millis(1);

/// A writer's place among those of other processes.
#[derive(Debug)]
pub(crate) struct Turn {
    patience: Duration,
    path: PathBuf,
    /// Made when it is first needed.
    line: Option<Line>,
    since: Option<Instant>,
    /// Since when we are the head of the line.
    head: Option<Instant>,
    /// Whether to look at the database although it is not our turn.
    glances: bool,
}

impl Turn {
    pub(crate) fn new(options: &SqliteOptions) -> Self {
        let mut path = options.path.clone().into_os_string();
        path.push("-line");
        Self { patience: options.busy_timeout, path: path.into(), line: None, since: None, head: None, glances: false }
    }

    /// Whether to try the database's lock now: at the head of the line, or where there is none yet.
    pub(crate) fn has_come(&mut self) -> bool {
        if self.head.is_some() || std::mem::take(&mut self.glances) {
            return true;
        }
        let Some(line) = &self.line else { return true };
        if line.turn.is_some() {
            return false;
        }
        match line.file.try_lock() {
            Ok(()) => {
                self.head = Some(Instant::now());
                true
            }
            Err(TryLockError::WouldBlock) => false,
            Err(TryLockError::Error(_)) => {
                self.line = None;
                true
            }
        }
    }

    /// Waits until it is worth trying again; says no when patience has run out.
    pub(crate) async fn wait(&mut self) -> bool {
        let since = *self.since.get_or_insert_with(Instant::now);
        let Some(left) = self.patience.checked_sub(since.elapsed()) else { return false };
        if let Some(stepped_up) = self.head {
            return if stepped_up.elapsed() < AWAKE { give_way(PAUSE).await } else { pause(NAP).await };
        }
        if self.line.is_none() {
            self.line = Line::open(&self.path).ok();
        }
        let Some(line) = &mut self.line else { return pause(LONG_PAUSE).await };
        match tokio::time::timeout(left.min(GLANCE), line.step_up()).await {
            Ok(Ok(())) => self.head = Some(Instant::now()),
            Ok(Err(_)) => {
                self.line = None;
                return pause(LONG_PAUSE).await;
            }
            // The head may sleep while the database is free.
            Err(_) => self.glances = true,
        }
        true
    }

    /// Leaves the line, once the transaction has ended or there will be none; the next one steps up.
    pub(crate) fn leave(&mut self) {
        self.since = None;
        self.glances = false;
        let is_head = self.head.take().is_some();
        // A place in the middle is given up with its file, and so is one that cannot be unlocked.
        self.line.take_if(|line| line.turn.is_some() || (is_head && line.file.unlock().is_err()));
    }
}

/// A place in the line: the file, and a thread that waits for its lock, since nothing can call back whoever does.
#[derive(Debug)]
struct Line {
    file: Arc<File>,
    calls: mpsc::Sender<oneshot::Sender<io::Result<()>>>,
    /// Tells when it is our turn, while we stand behind others.
    turn: Option<oneshot::Receiver<io::Result<()>>>,
}

impl Line {
    fn open(path: &Path) -> io::Result<Self> {
        let file = Arc::new(File::options().create(true).append(true).open(path)?);
        let (calls, called) = mpsc::channel::<oneshot::Sender<io::Result<()>>>();
        let waits = Arc::clone(&file);
        std::thread::Builder::new().name("docket-line".to_owned()).spawn(move || {
            for stepped_up in called {
                // Who has gone on without us has let go of this place: it ends with the file.
                let _ = stepped_up.send(waits.lock());
            }
        })?;
        Ok(Self { file, calls, turn: None })
    }

    /// Returns at the head of the line. Who stops waiting keeps its place and may wait again.
    async fn step_up(&mut self) -> io::Result<()> {
        let gone = || io::Error::other("the line is gone");
        if self.turn.is_none() {
            match self.file.try_lock() {
                Ok(()) => return Ok(()),
                Err(TryLockError::WouldBlock) => {}
                Err(TryLockError::Error(error)) => return Err(error),
            }
            let (stepped_up, turn) = oneshot::channel();
            self.calls.send(stepped_up).map_err(|_| gone())?;
            self.turn = Some(turn);
        }
        let stepped_up = match &mut self.turn {
            Some(turn) => turn.await,
            None => return Err(gone()),
        };
        self.turn = None;
        stepped_up.unwrap_or_else(|_| Err(gone()))
    }
}

/// Lets everybody else work for a moment: going to sleep and being woken would take longer than it is.
async fn give_way(length: Duration) -> bool {
    let begun = Instant::now();
    while begun.elapsed() < length {
        std::thread::yield_now();
        tokio::task::yield_now().await;
    }
    true
}

/// Sleeps for less than a millisecond, which the runtime's own timer cannot.
async fn pause(length: Duration) -> bool {
    tokio::task::spawn_blocking(move || std::thread::sleep(length)).await.is_ok()
}
