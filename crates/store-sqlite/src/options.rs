//! How a database file is opened, and the limits of this store.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicI64;
use std::time::Duration;

/// Most units of work that share one commit.
pub(crate) const BATCH_UNITS: usize = 64;
/// Most units of work that wait for the writer; one more is turned away at once. Four batches take well under the
/// quarter of a second within which an overloaded server has to say so.
pub(crate) const QUEUED_UNITS: usize = 4 * BATCH_UNITS;
/// How long a read waits for a free connection before it is turned away.
pub(crate) const READER_WAIT: Duration = Duration::from_millis(250);
/// How often the index of the log is glanced at, while somebody waits, to see whether another process has committed.
pub(crate) const GLANCE_EVERY: Duration = Duration::from_millis(25);
/// How often the database is asked in any case, while somebody waits: for a file system on which glances show nothing.
pub(crate) const SAFETY_LOOK: Duration = Duration::from_secs(30);
/// Rows of one page of a scan.
pub(crate) const SCAN_ROWS: usize = 1000;
/// Most keys that a list of them holds, the newest first.
pub(crate) const KEYS_SHOWN: usize = 10_000;
/// Expired answers removed with each answer stored: more than one, so that they run out.
pub(crate) const ANSWERS_SWEPT: usize = 8;
/// Items whose words the full-text index takes in together; fewer wait, and are searched one by one.
pub(crate) const INDEXED_TOGETHER: usize = 64;
/// One of so many items asks whether there are as many.
pub(crate) const CATCH_UP_EVERY: u64 = 8;
/// The longest words of an item that wait for it, in bytes.
pub(crate) const UNINDEXED_BYTES: usize = 2048;
/// Pages in the write-ahead log after which the writer copies them back into the database.
pub(crate) const CHECKPOINT_PAGES: u32 = 2000;
/// Prepared statements kept on a connection. One is fixed by the shape of a scope or change set; these are some dozens.
pub(crate) const PREPARED_STATEMENTS: usize = 256;
/// Page cache of a connection, in KiB.
pub(crate) const CACHE_KIB: u32 = 8 * 1024;

/// How many bytes of the disk are kept free.
pub(crate) const RESERVE_BYTES: u64 = 64 * 1024 * 1024;

/// What an acknowledged write survives.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Durability {
    /// The end of the process and a power cut: every commit is flushed to the disk.
    #[default]
    Full,
    /// The end of the process; a power cut may lose the last commits, never tear one.
    Normal,
}

impl Durability {
    pub(crate) fn pragma(self) -> &'static str {
        match self {
            Self::Full => "FULL",
            Self::Normal => "NORMAL",
        }
    }
}

/// How a database file is opened.
#[derive(Clone, Debug)]
pub struct SqliteOptions {
    /// The file.
    pub path: PathBuf,
    /// Whether to make the database when there is none.
    pub create: bool,
    /// Whether to open it for reading alone.
    pub read_only: bool,
    /// What an acknowledged write survives.
    pub durability: Durability,
    /// Most connections that read at the same time.
    pub readers: usize,
    /// How many bytes must be free on the disk for anything to be written.
    pub reserve: u64,
    /// How long another process may hold the lock before a write is answered as busy.
    pub busy_timeout: Duration,
    /// Milliseconds added to the database's clock: a hook by which tests turn the time.
    pub clock_skew: Arc<AtomicI64>,
}

impl SqliteOptions {
    /// The usual options for a file: it must exist, every commit is flushed.
    pub fn new(path: impl Into<PathBuf>) -> Self {
        Self {
            path: path.into(),
            create: false,
            read_only: false,
            durability: Durability::Full,
            readers: 4,
            reserve: RESERVE_BYTES,
            busy_timeout: Duration::from_secs(10),
            clock_skew: Arc::new(AtomicI64::new(0)),
        }
    }

    /// Makes the database when there is none.
    #[must_use]
    pub fn create(self, create: bool) -> Self {
        Self { create, ..self }
    }

    /// Opens it for reading alone.
    #[must_use]
    pub fn read_only(self, read_only: bool) -> Self {
        Self { read_only, ..self }
    }

    /// Chooses what an acknowledged write survives.
    #[must_use]
    pub fn durability(self, durability: Durability) -> Self {
        Self { durability, ..self }
    }
}
