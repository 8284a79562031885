//! Every limit of Docket in one place. The errors they cause name the number; `docs/limits.md` lists them.

/// Longest title, in bytes.
pub const TITLE_BYTES: usize = 1024;
/// Longest summary, in bytes.
pub const SUMMARY_BYTES: usize = 8 * 1024;
/// Longest free text field (description, note body, metadata, properties), in bytes.
pub const TEXT_BYTES: usize = 256 * 1024;
/// Longest short name: a tag, a trait, an item type, a note key, a status, an actor id, a label.
pub const NAME_BYTES: usize = 255;
/// Most tags, traits, path globs, resources or capabilities on one item.
pub const TAGS: usize = 50;
/// Most entries of one batch: items, notes, edges, moves, claims.
pub const BATCH: usize = 200;
/// Most rows of one page.
pub const PAGE: usize = 200;
/// Shortest and longest lease, in seconds. A surface may narrow it further.
pub const LEASE_SECONDS: std::ops::RangeInclusive<u32> = 1..=86_400;
/// Longest request id, in characters.
pub const REQUEST_ID_CHARS: usize = 255;
/// How long a stored answer is kept, in milliseconds.
pub const ANSWER_KEPT_MS: i64 = 24 * 60 * 60 * 1000;
/// Shortest hex prefix that may name an item.
pub const ID_PREFIX_DIGITS: usize = 4;
/// How many candidates an ambiguous prefix lists.
pub const AMBIGUOUS_SHOWN: usize = 10;
/// Most nodes a graph walk visits before it says that it was cut short.
pub const GRAPH_NODES: usize = 100_000;
/// Most ids shown of a cycle.
pub const CYCLE_SHOWN: usize = 20;
/// Deepest tree any workflow may allow.
pub const DEPTH: u8 = 32;
/// Longest text echoed back inside an error, in characters.
pub const ECHO_CHARS: usize = 200;
/// Ready items that find-and-claim looks at first: few, since nearly always the best one suits.
pub const CANDIDATES: usize = 2;
/// Ready items of its second look.
pub const CANDIDATES_MORE: usize = 64;
/// Ready items of each look after that.
pub const CANDIDATES_MOST: usize = 2048;
/// Most rounds of looking that one command may take.
pub const LOOK_ROUNDS: usize = 12;
/// How often a unit of work that lost a race is tried again before the caller is told.
pub const CONFLICT_RETRIES: usize = 8;
/// Longest wait for work or for a change, in milliseconds.
pub const WAIT_MS: u64 = 60_000;
/// Most descendants that one call closes or removes.
pub const SUBTREE: usize = 10_000;
/// Most open descendants looked at to say what keeps an item from closing.
pub const OPEN_SHOWN: usize = 20;
/// Most keys of callers that hold at a time.
pub const KEYS: usize = 1_000;
/// Shortest and longest life of a key that ends by itself, in seconds.
pub const KEY_SECONDS: std::ops::RangeInclusive<u32> = 60..=315_360_000;
/// How old the note of a key's last use may be before a use is noted again, in milliseconds.
pub const KEY_TOUCH_MS: i64 = 60_000;
