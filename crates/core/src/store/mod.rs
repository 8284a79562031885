//! The seam between the engine and a database.
//!
//! A store loads what a scope names, calls the unit of work's pure decision, and persists the change set whole or not
//! at all. It compares versions and times; it holds no rule. Whole units are handed over (instead of transactions
//! handed out) so that a store may run several in one commit and no transaction ever waits for a caller.

mod change;
pub mod code;
mod find;
mod knowledge;
pub mod row;
mod scope;
mod slice;

use std::collections::BTreeMap;
use std::time::Duration;

use async_trait::async_trait;

pub use change::{AnswerKey, ChangeSet, ItemChange, PassedQuestion, RunChange, SessionChange, StoredAnswer, Touched};
pub use find::{
    ChildTally, ClaimState, ClaimTally, EventFilter, Families, Filter, Found, Heads, Mark, Order, Place, RunFilter,
    ScanPage, ScanTable, SessionFilter, SortBy, Tie, TimeRange, fitting,
};
pub use knowledge::{
    EntryChange, EntryFilter, Heading, KnowledgeChanges, KnowledgeReach, KnowledgeSeen, Library, Listed, Making,
    MakingChange, NewVector, Posting, Postings, Sketch, Sketches, Walked, bits_of, bytes_of, facet, numbers_of,
};
pub use scope::{Around, Candidates, EdgeReach, KeyReach, NoteReach, ProjectRef, Scope, Visible};
pub use slice::{Busy, Capped, Resolution, Slice, WaitEdge, WaitGraph, WayGraph};

use crate::error::{Code, Error, Kind, Reason};
use crate::model::{Event, Item, ItemId, Note, NoteId, Project, Run, RunId, SessionId};

/// What a unit of work wants after it has seen a slice.
#[derive(Debug)]
pub enum Step {
    /// See more: the store loads it into the same slice and asks again.
    Look(Box<Scope>),
    /// Persist this, in one commit.
    Commit(Box<ChangeSet>),
    /// Persist nothing; the unit keeps its own answer.
    Nothing,
}

/// One unit of work: what it must see and what it decides. Object-safe, so that stores need not know commands.
pub trait Unit: Send + 'static {
    /// What it must see first.
    fn scope(&self) -> Scope;

    /// Decides over what it was shown. Pure; called again with a fresh slice if the commit loses a race.
    fn decide(&mut self, seen: &Slice) -> Step;
}

/// A database that holds Docket's rows.
#[async_trait]
pub trait Store: Library + Send + Sync + 'static {
    /// Runs a unit to its commit. When this returns `Ok` the change set is durable.
    async fn execute(&self, unit: Box<dyn Unit>) -> Result<(), StoreError>;

    /// Shows a scope as of one moment.
    async fn view(&self, scope: &Scope) -> Result<Slice, StoreError>;

    /// Items that match a filter, one page of them, with the count of all.
    async fn find(&self, filter: &Filter) -> Result<Found, StoreError>;

    /// How the direct children of each of these items stand. Where it is said how many are counted, no more of a role are, nor
    /// of the claims on them: an item may have any number of children.
    async fn tally_children(
        &self,
        parents: &[ItemId],
        most: Option<u64>,
    ) -> Result<BTreeMap<ItemId, ChildTally>, StoreError>;

    /// Items with as many of each one's direct children, the oldest, and how the children of all of these stand: as of one
    /// moment, in one read.
    async fn families(&self, of: &Heads, children: usize) -> Result<Families, StoreError>;

    /// How many claims are live and expired in a project, or in all that may be seen.
    async fn tally_claims(&self, project: &ProjectRef, visible: &Visible) -> Result<ClaimTally, StoreError>;

    /// How long it is until the next live claim runs out by itself, in a project or in all that may be seen; none when no
    /// live claim does.
    async fn next_expiry(&self, project: &ProjectRef, visible: &Visible) -> Result<Option<Duration>, StoreError>;

    /// Whole notes by id, in projects that may be seen.
    async fn notes(&self, ids: &[NoteId], visible: &Visible) -> Result<Vec<Note>, StoreError>;

    /// Events in commit order.
    async fn events(&self, filter: &EventFilter) -> Result<Vec<Event>, StoreError>;

    /// Sessions that match a filter, the newest first, by name alone: a scope shows them with their items.
    async fn sessions(&self, filter: &SessionFilter) -> Result<Vec<SessionId>, StoreError>;

    /// The number of the newest event.
    async fn head(&self) -> Result<u64, StoreError>;

    /// The highest number that an event was given or may be about to get; none where that is not known, on a copy that follows
    /// another database.
    async fn last_number(&self) -> Result<Option<u64>, StoreError>;

    /// Whether it can be read and written now.
    async fn ready(&self) -> Result<(), StoreError> {
        self.head().await.map(drop)
    }

    /// Returns when there is an event newer than `after`, whichever process committed it. Never misses one.
    async fn changed(&self, after: u64) -> Result<u64, StoreError>;

    /// A number that is another one as soon as it is known that keys may have changed, whichever process changed them. The
    /// database is asked nothing for it; none when nothing can be known without asking.
    fn keys_mark(&self) -> Option<u64> {
        None
    }

    /// A number that is another one after every commit, whichever process made it; that of a commit which can be seen is the
    /// new one. The database is asked nothing for it; none when nothing can be known without asking.
    fn commit_mark(&self) -> Option<u64> {
        None
    }

    /// Runs of checks, the newest first.
    async fn runs(&self, filter: &RunFilter) -> Result<Vec<Run>, StoreError>;

    /// What a run said, if it may be seen and has ended.
    async fn run_log(&self, run: RunId, visible: &Visible) -> Result<Option<String>, StoreError>;

    /// All projects, by slug.
    async fn projects(&self) -> Result<Vec<Project>, StoreError>;

    /// Every row of a table in a stable order, a page at a time: for export and for `doctor`.
    async fn scan(&self, table: ScanTable, after: Option<String>) -> Result<ScanPage, StoreError>;

    /// How often the database was asked anything so far, for reading and for writing: for whoever watches over a server.
    fn asked(&self) -> u64;
}

/// What a scan returns, by table.
#[derive(Clone, Debug)]
pub enum ScanRows {
    /// Items.
    Items(Vec<Item>),
    /// Edges.
    Edges(Vec<crate::model::Edge>),
    /// Notes.
    Notes(Vec<Note>),
    /// Briefs.
    Briefs(Vec<(ItemId, crate::model::Brief)>),
    /// Questions.
    Questions(Vec<crate::model::Question>),
    /// Comments.
    Comments(Vec<crate::model::Comment>),
    /// Links.
    Links(Vec<crate::model::Link>),
    /// Entries of the knowledge.
    Entries(Vec<crate::model::Entry>),
    /// Links of entries.
    EntryLinks(Vec<crate::model::EntryLink>),
    /// Sessions.
    Sessions(Vec<crate::model::Session>),
}

/// Why a store could not do it. The detail is for the log, never for a caller.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// Another unit of work was quicker, again and again.
    #[error("lost a race too often")]
    Conflict,
    /// The database is locked or overloaded.
    #[error("the store is busy")]
    Busy(#[source] Option<Detail>),
    /// More is asked for than can be done.
    #[error("the store is over capacity")]
    Overloaded,
    /// No room is left on the disk.
    #[error("the disk is full")]
    Full(#[source] Option<Detail>),
    /// The database cannot be written.
    #[error("the store is read-only")]
    ReadOnly(#[source] Option<Detail>),
    /// The server takes no writes now: it is a standby, or keeps everybody from writing.
    #[error("the database server takes no writes now")]
    Standby(#[source] Option<Detail>),
    /// What is stored contradicts itself.
    #[error("the store is damaged")]
    Corrupt(#[source] Option<Detail>),
    /// A newer Docket wrote this database.
    #[error("the database has schema version {found}, newer than {known}, the newest this program knows")]
    Newer {
        /// The version found.
        found: i64,
        /// The newest version known.
        known: i64,
    },
    /// This is not a Docket database.
    #[error("this is not a Docket database")]
    Foreign,
    /// Another file is in the place of the one that was opened, or none.
    #[error(
        "the database file was replaced or moved away while this program had it open, as `docket restore` does: it reads and \
         writes nothing more; start it again"
    )]
    Replaced,
    /// The database, the server or the role cannot be used; the text says what to do. Found while a store is opened, or
    /// when a privilege was taken away since.
    #[error("this database cannot be used: {0}")]
    Unfit(String),
    /// The server cannot be reached. Only while a store is opened: the text is for whoever opens it.
    #[error("the database server cannot be reached: {0}")]
    Away(String),
    /// Anything else.
    #[error("the store failed")]
    Failed(#[source] Detail),
}

/// The source of a store's failure, for the log.
pub type Detail = Box<dyn std::error::Error + Send + Sync + 'static>;

impl From<StoreError> for Error {
    fn from(error: StoreError) -> Self {
        let (kind, reason, retry) = match &error {
            StoreError::Conflict => (Kind::Transient, Reason::StoreBusy, Some(50)),
            StoreError::Busy(_) => (Kind::Transient, Reason::StoreBusy, Some(250)),
            StoreError::Overloaded => (Kind::Shedding, Reason::StoreBusy, Some(250)),
            StoreError::Full(_) => (Kind::Transient, Reason::StoreFull, None),
            StoreError::ReadOnly(_) => (Kind::Permanent, Reason::StoreReadOnly, None),
            StoreError::Standby(_) => (Kind::Transient, Reason::StoreReadOnly, Some(1000)),
            StoreError::Corrupt(_) => (Kind::Permanent, Reason::StoreCorrupt, None),
            StoreError::Newer { .. } => (Kind::Permanent, Reason::StoreNewer, None),
            StoreError::Foreign => (Kind::Permanent, Reason::StoreForeign, None),
            StoreError::Replaced => (Kind::Permanent, Reason::StoreReplaced, None),
            StoreError::Unfit(_) => (Kind::Permanent, Reason::NotConfigured, None),
            StoreError::Away(_) => (Kind::Transient, Reason::StoreBusy, Some(1000)),
            StoreError::Failed(_) => (Kind::Transient, Reason::StoreFailed, None),
        };
        Self { retry_after_ms: retry, ..Self::new(kind, Code::Unavailable, reason, error.to_string()) }
    }
}
