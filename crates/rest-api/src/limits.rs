//! How much of everything a server takes, each with its default. An operator may lower or raise them in `docket.toml`.

use std::time::Duration;

/// How much a server takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Largest body of a request, in bytes.
    pub body_bytes: usize,
    /// Largest body of an import, in bytes: it is one unit of work, and takes some thirty times its size in memory.
    pub import_bytes: usize,
    /// Largest head of a request, in bytes.
    pub header_bytes: usize,
    /// Longest address of a request, in bytes.
    pub url_bytes: usize,
    /// Most headers of a request.
    pub headers: usize,
    /// How long the head of a request may take to arrive.
    pub header_timeout: Duration,
    /// How long the body of a request may take to arrive.
    pub body_timeout: Duration,
    /// How long a client may leave what is sent to it unread.
    pub stall_timeout: Duration,
    /// Most connections at a time.
    pub connections: usize,
    /// Most requests under way at a time; those that wait for work or events are not counted.
    pub in_flight: usize,
    /// Most requests that wait for work or events at a time.
    pub waiters: usize,
    /// How long a request may wait for its turn before it is turned away.
    pub turn: Duration,
    /// How long requests under way may take once the server is told to stop.
    pub drain: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            body_bytes: 1024 * 1024,
            import_bytes: 8 * 1024 * 1024,
            header_bytes: 16 * 1024,
            url_bytes: 8 * 1024,
            headers: 100,
            header_timeout: Duration::from_secs(10),
            body_timeout: Duration::from_secs(30),
            stall_timeout: Duration::from_secs(30),
            connections: 4096,
            in_flight: 256,
            waiters: 4096,
            turn: Duration::from_millis(100),
            drain: Duration::from_secs(20),
        }
    }
}

/// Most bytes of all bodies that are arriving or worked on, or so many times what one may have, if that is more.
pub(crate) const BODIES_BYTES: usize = 64 * 1024 * 1024;
/// The part of that, as a divisor, that is for the bodies of one caller.
pub(crate) const BODIES_SHARE: usize = 4;
/// Most bodies of one caller that are waited for at a time.
pub(crate) const ARRIVING: usize = 256;
/// Most requests that look at the store at a time before they begin to wait: the store reads no faster when more do.
pub(crate) const LOOKING: usize = 32;
/// How long a live stream may stand in line before it begins.
pub(crate) const STREAM_PATIENCE: Duration = Duration::from_secs(10);
/// Most events that are kept for those who follow them and have not taken them yet.
pub(crate) const FEED_EVENTS: usize = 256;
/// The same, in bytes of what is sent; the newest event is kept whatever its size.
pub(crate) const FEED_BYTES: usize = 1024 * 1024;
/// How long to leave the store alone after it failed to show events.
pub(crate) const FEED_REST: Duration = Duration::from_millis(500);
/// How often a stream without events says that it is alive.
pub(crate) const HEARTBEAT: Duration = Duration::from_secs(15);
/// Pause between two looks at what was committed, so that a burst is read at once.
pub(crate) const STREAM_PAUSE: Duration = Duration::from_millis(20);
/// When somebody who was turned away should come again.
pub(crate) const RETRY_MS: u64 = 1000;
/// How long the store may take to say that it is there.
pub(crate) const READY_TIMEOUT: Duration = Duration::from_secs(2);
/// How long one look at the store counts for all who ask whether it is there: however many ask, it is asked ten times a second.
pub(crate) const READY_SHARED: Duration = Duration::from_millis(100);
/// How long a store counts as there that has too much to do to say so: one that is away can look the same.
pub(crate) const READY_BUSY: Duration = Duration::from_secs(5);
/// Rows of a page when nobody says how many.
pub(crate) const PAGE_DEFAULT: usize = 50;
/// Most items of a tree that is shown.
pub(crate) const TREE_ITEMS: usize = 1000;
/// Longest proof of an actor that comes in a header, in bytes: all headers together have to fit into `header_bytes`.
pub(crate) const PROOF_BYTES: usize = 8 * 1024;
/// Longest name that a caller may give a request.
pub(crate) const REQUEST_NAME: usize = 128;
