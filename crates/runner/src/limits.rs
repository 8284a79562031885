//! Every limit of this crate, with what it is for.

use std::time::Duration;

use docket_core::limits;

// What a check may say is the core's to limit: here the same numbers hold.
pub use docket_core::limits::{COMMAND_BYTES, FOLDER_BYTES};

/// How long a command may take when nothing is said.
pub const TIMEOUT_DEFAULT: Duration = Duration::from_secs(limits::CHECK_SECONDS as u64);
/// The shortest time limit.
pub const TIMEOUT_LEAST: Duration = Duration::from_secs(*limits::CHECK_SECONDS_ALLOWED.start() as u64);
/// The longest time limit.
pub const TIMEOUT_MOST: Duration = Duration::from_secs(*limits::CHECK_SECONDS_ALLOWED.end() as u64);
/// Between TERM and KILL. Short enough that nothing is left two seconds after the end.
pub const GRACE: Duration = Duration::from_secs(1);
/// How long after its end a run is waited for before its supervisor is killed as well.
pub const SLACK: Duration = Duration::from_secs(5);
/// The most that is kept of a log when nothing is said, in bytes.
pub const LOG_DEFAULT: usize = 256 * 1024;
/// The least that a log may be limited to.
pub const LOG_LEAST: usize = 1024;
/// The most that a log may be limited to.
pub const LOG_MOST: usize = 16 * 1024 * 1024;
/// A line longer than this is cleaned and told in pieces.
pub const LINE_BYTES: usize = 32 * 1024;
/// The shortest value that is taken for a secret: shorter ones would blot out ordinary words.
pub const SECRET_LEAST: usize = 6;
/// Values of secrets are looked for in pieces of this length.
pub const SECRET_PIECE: usize = 4096;
/// The most that one message between the runner and its supervisor may hold, in bytes.
pub const FRAME_BYTES: usize = 1024 * 1024;
/// How long a look at a work tree may take.
pub const TREE_TIMEOUT: Duration = Duration::from_mins(1);
/// The largest index of git's that is looked into, in bytes: that of some million files.
pub const INDEX_BYTES: u64 = 256 * 1024 * 1024;
/// The most that git may list of a work tree, in bytes.
pub const LIST_BYTES: u64 = 256 * 1024 * 1024;
/// The largest list of what git leaves out, where it is no part of the tree, and the largest configuration, in bytes.
pub const RULES_BYTES: u64 = 1024 * 1024;
/// The most indexes that one may be written on top of.
pub const SHARED_INDEXES: usize = 4;
/// The most files of a work tree that are read at once.
pub const TREE_READERS: usize = 8;
/// How long nothing must have touched a file before its content is remembered: longer than a system leaves what was written through
/// a mapping off the disk.
pub const SETTLED: Duration = Duration::from_mins(1);
/// The most files of a work tree that are remembered.
pub const KEPT_FILES: usize = 250_000;
/// The most work trees of which files are remembered.
pub const KEPT_ROOTS: usize = 64;
/// How deep submodules of submodules are looked into.
pub const TREE_DEPTH: usize = 8;
/// How long one request to an outside service may take.
pub const FETCH_TIMEOUT: Duration = Duration::from_secs(10);
/// The longest answer of an outside service, in bytes.
pub const FETCH_BYTES: usize = 1024 * 1024;
/// How often an outside service is asked before it counts as failing.
pub const FETCH_TRIES: u32 = 4;
/// The first pause between two tries; each following one is up to twice as long.
pub const FETCH_PAUSE: Duration = Duration::from_millis(500);
/// The longest pause between two tries, whoever asks for a longer one.
pub const FETCH_PAUSE_MOST: Duration = Duration::from_secs(30);
