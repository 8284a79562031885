//! Every limit of Docket in one place. The errors they cause name the number; `docs/limits.md` lists them.

/// Longest title, in bytes.
pub const TITLE_BYTES: usize = 1024;
/// Longest summary, in bytes.
pub const SUMMARY_BYTES: usize = 8 * 1024;
/// Longest free text field (description, note body, metadata, properties), in bytes.
pub const TEXT_BYTES: usize = 256 * 1024;
/// Longest short name: a tag, a trait, an item type, a note key, a status, an actor id, a label.
pub const NAME_BYTES: usize = 255;
/// Longest address of a link, in bytes.
pub const URL_BYTES: usize = 2048;
/// Most acceptance criteria, and most constraints, of one brief.
pub const CRITERIA: usize = 50;
/// Most acceptance criteria that one item has in its life: their names are never used twice.
pub const CRITERIA_EVER: u32 = 1_000_000;
/// Most checks of one item.
pub const CHECKS: usize = 50;
/// Longest command line of a check, in bytes.
pub const COMMAND_BYTES: usize = 8 * 1024;
/// Longest folder that a check runs in, in bytes.
pub const FOLDER_BYTES: usize = 1024;
/// How long a check may take where it does not say so, in seconds.
pub const CHECK_SECONDS: u32 = 120;
/// The shortest and the longest that a check may ask for, in seconds.
pub const CHECK_SECONDS_ALLOWED: std::ops::RangeInclusive<u32> = 1..=3_600;
/// How long after its time a run may still come back before its runner counts as gone, in milliseconds.
pub const RUN_GRACE_MS: i64 = 60_000;
/// How many runners that could not make a run are remembered with it.
pub const DECLINED: usize = 20;
/// The first pause before a run is looked at again that could not be made or is about what is not decided yet, in milliseconds;
/// each following one is twice as long.
pub const RUN_PAUSE_MS: i64 = 5_000;
/// The longest of these pauses, in milliseconds, unless whoever is asked wants a longer one.
pub const RUN_PAUSE_MOST_MS: i64 = 900_000;
/// The longest pause that whoever is asked about a run may want, in seconds.
pub const RUN_PAUSE_ASKED_SECONDS: u32 = 86_400;
/// The most checks that one runner may be told to make at once.
pub const RUNNER_JOBS: usize = 64;
/// How often checks are tried for one call where others make the same ones on a work tree that changes.
pub const PROVE_ROUNDS: usize = 3;
/// How often a store that has no time is asked to record how a run ended, before what it found is lost.
pub const PATIENT_TRIES: usize = 7;
/// The first pause between these tries, in milliseconds; each following one is twice as long.
pub const PATIENCE_MS: u64 = 250;
/// How long a run waits for a runner before whoever wanted it is told, in milliseconds.
pub const RUN_WAIT_MS: u64 = 20_000;
/// Longest log kept of a run, in bytes.
pub const LOG_BYTES: usize = 256 * 1024;
/// Most of a log shown at a time, in bytes.
pub const LOG_PAGE_BYTES: usize = 32 * 1024;
/// Most answers a question offers.
pub const OPTIONS: usize = 20;
/// Most comments shown of an item's parent.
pub const PARENT_COMMENTS: usize = 5;
/// Most comments in the packet of whoever begins work.
pub const PACKET_COMMENTS: usize = 3;
/// How much of each of them is shown there.
pub const PACKET_COMMENT_BYTES: usize = 600;
/// Most children of one role that are counted for an item's parent: what has more is told as that many and more.
pub const CHILDREN_COUNTED: u64 = 1_000;
/// Most siblings shown with an item's parent.
pub const SIBLINGS: usize = 20;
/// Most links on one item.
pub const LINKS: usize = 200;
/// Most entries of what a session says of its runtime.
pub const RUNTIME_ENTRIES: usize = 32;
/// Longest value of such an entry, in bytes.
pub const RUNTIME_BYTES: usize = 1024;
/// Most sessions that signs of life are written for over one look.
pub const BEATS_TOGETHER: usize = 64;
/// The part of a lease, as a divisor, that must have passed before a heartbeat extends it.
pub const LEASE_SLACK: u32 = 10;
/// Most sessions looked at for one page of a list by health.
pub const SESSIONS_LOOKED_AT: usize = 2_000;
/// Most tags, traits, path globs, resources or capabilities on one item.
pub const TAGS: usize = 50;
/// Most different words that a list of items is searched by.
pub const SEARCH_WORDS: usize = 16;
/// Most edges that touch one item: a move looks at all of them.
pub const EDGES: usize = 10_000;
/// Most entries of one batch: items, notes, edges, moves, claims.
pub const BATCH: usize = 200;
/// Furthest column at which a list or quote may begin in Markdown that is imported.
pub const MARKER_COLUMN: usize = 512;
/// Most faulty lines of an import that its refusal lists.
pub const FAULTS_SHOWN: usize = 20;
/// Most rows of one page.
pub const PAGE: usize = 200;
/// Most bytes of long texts on one page, and of one tree that is shown: descriptions, summaries, properties and metadata of items, bodies
/// of notes. A page that would hold more ends sooner and says where the next begins; one row it always holds.
pub const PAGE_BYTES: usize = 4 * 1024 * 1024;
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
pub const CONFLICT_RETRIES: usize = 3;
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
/// Most entries of knowledge that a database holds, unless its operator says otherwise.
pub const KNOWLEDGE_STORED: u64 = 1_000_000;
/// Most different words of one entry that it is found by.
pub const ENTRY_WORDS: usize = 2_000;
/// Most learnings that come with one completion.
pub const LEARNINGS: usize = 20;
/// Most links shown of one entry, the newest.
pub const ENTRY_LINKS: usize = 100;
/// Most characters of an entry's text that a list shows.
pub const ENTRY_LISTED_CHARS: usize = 400;
/// Most entries that one search returns.
pub const KNOWLEDGE_PAGE: usize = 50;
/// How many entries are looked at for each word of a search, the newest: a word that more have says little.
pub const WORD_ENTRIES: usize = 256;
/// How many entries under a heading are so few that a search asks all of them for every word.
pub const HEADED_ENTRIES: usize = 512;
/// How many rows one search looks at for all its words, in all projects.
pub const WORD_ROWS: usize = 32_768;
/// How many entries are looked at for those that have several words that very many have, or that are filed under something.
pub const KNOWLEDGE_WALK: usize = 2_048;
/// How many projects one search or list looks into, the newest.
pub const KNOWLEDGE_PLACES: usize = 64;
/// How many entries of each half of a search are ranked.
pub const KNOWLEDGE_CANDIDATES: usize = 64;
/// How many entries a search by vectors compares exactly.
pub const VECTORS_COMPARED: usize = 128;
/// Most bytes of memory for the bits of all vectors; beyond it the oldest are not searched by meaning.
pub const SKETCH_BYTES: usize = 256 * 1024 * 1024;
/// How long it is a process's turn to make vectors after it last kept some, in seconds.
pub const MAKING_SECONDS: u32 = 60;
/// Most numbers of one vector.
pub const VECTOR_NUMBERS: usize = 4_096;
/// Longest text of an entry that is made a vector, in bytes: models look at no more.
pub const EMBEDDED_BYTES: usize = 8 * 1024;
/// Most entries made vectors in one request.
pub const EMBEDDED_AT_ONCE: usize = 32;

/// What the operator of a process may set lower than it is; none may be set higher.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lowered {
    /// Longest title, in bytes.
    pub title_bytes: usize,
    /// Longest free text field, in bytes.
    pub text_bytes: usize,
    /// Most entries of one batch.
    pub batch: usize,
    /// Most tags, traits, path globs, resources or capabilities on one item.
    pub tags: usize,
    /// Most rows of one page.
    pub page: usize,
    /// Longest lease that may be asked for, in seconds.
    pub lease_seconds: u32,
    /// Longest wait, in milliseconds.
    pub wait_ms: u64,
}

impl Lowered {
    /// None of them is lowered.
    pub const NOT: Self = Self {
        title_bytes: TITLE_BYTES,
        text_bytes: TEXT_BYTES,
        batch: BATCH,
        tags: TAGS,
        page: PAGE,
        lease_seconds: *LEASE_SECONDS.end(),
        wait_ms: WAIT_MS,
    };

    /// How many rows are shown to whoever asks for so many: a list without pages may have more than one, unless pages are made
    /// smaller.
    pub fn rows(&self, asked: usize) -> usize {
        if self.page < PAGE { asked.min(self.page) } else { asked }
    }
}

#[cfg(test)]
mod tests {
    use super::{Lowered, PAGE};

    #[test]
    fn lists_without_pages_are_cut_only_where_pages_are_made_smaller() {
        assert_eq!(Lowered::NOT.rows(2 * PAGE), 2 * PAGE);
        let lowered = Lowered { page: 50, ..Lowered::NOT };
        assert_eq!((lowered.rows(2 * PAGE), lowered.rows(20)), (50, 20));
    }
}
