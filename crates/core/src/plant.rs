//! Bugs that can be planted, to show that the test of a promise would catch them.
//!
//! Only programs built with the feature `plant` have them, and only one that `DOCKET_PLANT` names is alive. Without the
//! feature [`planted`] is the constant `false`, and the compiler leaves the bugs out.

/// A bug that a promise's test must catch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bug {
    /// A claim is placed without looking whether another one is live.
    ClaimsOverlap,
    /// The fence is not looked at when a note is written.
    FenceIgnoredOnNotes,
    /// The fence is not looked at when an edge is made or removed.
    FenceIgnoredOnEdges,
    /// What a unit decides on is read before its transaction, and not compared with what is there when it writes.
    LookedOutside,
    /// The answer of a request is not kept.
    AnswersForgotten,
    /// The answer of a request is kept in memory.
    AnswersInMemory,
    /// The answer of a request is written in a transaction of its own, after the rows.
    AnswersApart,
    /// A caller is answered before its unit is committed.
    AnswerBeforeCommit,
    /// Events are written in a transaction of their own, after the rows.
    EventsApart,
    /// A new edge is not looked at for cycles.
    CyclesUnchecked,
    /// The gate `dependencies` is not asked when an item is closed.
    DependenciesSkipped,
    /// The gate `notes` is not asked when an item is closed.
    NotesSkipped,
    /// The schema version is not read again under the lock.
    MigrationUnlocked,
    /// What is shown of items is not limited to what the caller may see.
    ReadsUnlimited,
    /// Whoever knows an item may do to it what those of higher profiles may.
    ProfileIgnored,
    /// Waiters are told of a unit before it is committed, and not after.
    ToldBeforeCommit,
    /// A transaction belongs to the request that wants it, and its connection is lent on as it was left.
    TransactionOfCaller,
    /// The work tree that a check ran on is not compared with the one that is there.
    TreeNotCompared,
    /// The words that evidence is about are not compared with those of its criterion.
    WordsNotCompared,
    /// What a run was ordered to make is not compared with what its check says.
    DefinitionNotCompared,
    /// Requests wait for their turn for as long as it takes.
    QueueUnbounded,
    /// Of the processes of a check, only the group of its shell is ended.
    GroupKilledOnly,
    /// What a command is about is looked at one by one.
    RowsOneByOne,
}

impl Bug {
    /// Its name in `DOCKET_PLANT`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::ClaimsOverlap => "claims-overlap",
            Self::FenceIgnoredOnNotes => "fence-ignored-on-notes",
            Self::FenceIgnoredOnEdges => "fence-ignored-on-edges",
            Self::LookedOutside => "looked-outside",
            Self::AnswersForgotten => "answers-forgotten",
            Self::AnswersInMemory => "answers-in-memory",
            Self::AnswersApart => "answers-apart",
            Self::AnswerBeforeCommit => "answer-before-commit",
            Self::EventsApart => "events-apart",
            Self::CyclesUnchecked => "cycles-unchecked",
            Self::DependenciesSkipped => "dependencies-skipped",
            Self::NotesSkipped => "notes-skipped",
            Self::MigrationUnlocked => "migration-unlocked",
            Self::ReadsUnlimited => "reads-unlimited",
            Self::ProfileIgnored => "profile-ignored",
            Self::ToldBeforeCommit => "told-before-commit",
            Self::TransactionOfCaller => "transaction-of-caller",
            Self::TreeNotCompared => "tree-not-compared",
            Self::WordsNotCompared => "words-not-compared",
            Self::DefinitionNotCompared => "definition-not-compared",
            Self::QueueUnbounded => "queue-unbounded",
            Self::GroupKilledOnly => "group-killed-only",
            Self::RowsOneByOne => "rows-one-by-one",
        }
    }
}

/// Whether a bug is alive in this process.
#[cfg(feature = "plant")]
pub fn planted(bug: Bug) -> bool {
    static NAMED: std::sync::OnceLock<Option<String>> = std::sync::OnceLock::new();
    NAMED.get_or_init(|| std::env::var("DOCKET_PLANT").ok()).as_deref() == Some(bug.name())
}

/// Whether a bug is alive in this process: none is.
#[cfg(not(feature = "plant"))]
pub const fn planted(_bug: Bug) -> bool {
    false
}
