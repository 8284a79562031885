//! Whose turn it is to write, among several processes on one file.
//!
//! SQLite's own way to wait for its lock is to sleep and look again, longer each time: with many processes most of them
//! sleep while the lock is free, and some sleep for ever. Here the first try goes straight to the lock. Who finds it taken
//! lines up at a second file, whose lock the kernel hands on, and only the head of the line looks again and again at the
//! database's. The line is a courtesy: what keeps two from writing at once is SQLite's lock alone.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use tokio::sync::oneshot;

use crate::options::SqliteOptions;

/// How long the head of the line waits before it looks again: less than a commit takes.
const PAUSE: Duration = Duration::from_micros(40);
/// How long it does so without going to sleep: some commits long.
const AWAKE: Duration = Duration::from_millis(5);
/// How long it sleeps between looks after that.
const NAP: Duration = Duration::from_micros(300);
/// How long to wait where there can be no line, as in a folder that cannot be written.
const LONG_PAUSE: Duration = Duration::from_millis(1);

/// A writer's place among those of other processes.
#[derive(Debug)]
pub(crate) struct Turn {
    patience: Duration,
    line: PathBuf,
    since: Option<Instant>,
    /// The lock that makes us the head of the line, and since when.
    head: Option<(File, Instant)>,
}

impl Turn {
    pub(crate) fn new(options: &SqliteOptions) -> Self {
        let mut line = options.path.clone().into_os_string();
        line.push("-line");
        Self { patience: options.busy_timeout, line: line.into(), since: None, head: None }
    }

    /// Waits until it is worth looking again; says no when patience has run out.
    pub(crate) async fn wait(&mut self) -> bool {
        let since = *self.since.get_or_insert_with(Instant::now);
        let Some(left) = self.patience.checked_sub(since.elapsed()) else { return false };
        if let Some((_, stepped_up)) = &self.head {
            return if stepped_up.elapsed() < AWAKE { give_way(PAUSE).await } else { pause(NAP).await };
        }
        match tokio::time::timeout(left, line_up(&self.line)).await {
            Ok(Ok(head)) => {
                self.head = Some((head, Instant::now()));
                true
            }
            Ok(Err(_)) => pause(LONG_PAUSE).await,
            Err(_) => false,
        }
    }

    /// Leaves the line, whether the lock was got or not; the next one steps up.
    pub(crate) fn leave(&mut self) {
        self.since = None;
        self.head = None;
    }
}

/// Returns at the head of the line. A thread of its own waits there, since nothing can call it back: when the caller has
/// gone by then, the file is closed and the place given on.
async fn line_up(line: &Path) -> io::Result<File> {
    let file = File::options().create(true).append(true).open(line)?;
    match file.try_lock() {
        Ok(()) => return Ok(file),
        Err(std::fs::TryLockError::WouldBlock) => {}
        Err(std::fs::TryLockError::Error(error)) => return Err(error),
    }
    let (stepped_up, turn) = oneshot::channel();
    std::thread::Builder::new().name("docket-line".to_owned()).spawn(move || {
        let _ = stepped_up.send(file.lock().map(|()| file));
    })?;
    turn.await.unwrap_or_else(|_| Err(io::Error::other("the line is gone")))
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
