//! What SQLite's result codes mean to Docket.

use docket_core::store::{Detail, StoreError};

/// Primary result codes of SQLite, from its documentation.
mod code {
    pub(super) const BUSY: i32 = 5;
    pub(super) const LOCKED: i32 = 6;
    pub(super) const READONLY: i32 = 8;
    pub(super) const CORRUPT: i32 = 11;
    pub(super) const FULL: i32 = 13;
    pub(super) const CANTOPEN: i32 = 14;
    pub(super) const NOTADB: i32 = 26;
    /// Extended codes: which part of the work with the file failed.
    pub(super) const IOERR_FSYNC: i32 = 1034;
    pub(super) const IOERR_DIR_FSYNC: i32 = 1290;
}

/// A stored value that does not mean anything, or a contradiction between rows.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub(crate) struct Damage(pub(crate) String);

/// A failure that has no source of its own.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub(crate) struct Failure(pub(crate) String);

/// Why a question was not answered.
#[derive(Debug)]
pub(crate) enum Trouble {
    /// SQLite refused; a transaction that was open is doubtful.
    Sql(rusqlite::Error),
    /// Not SQLite did: the rows make no sense, or the file is not the one that was opened. A transaction that was open is as it
    /// was.
    Rows(StoreError),
}

impl From<Trouble> for StoreError {
    fn from(trouble: Trouble) -> Self {
        match trouble {
            Trouble::Sql(error) => store_error(error),
            Trouble::Rows(error) => error,
        }
    }
}

/// The store's word for a failure of SQLite or of the connection to it.
pub(crate) fn store_error(error: rusqlite::Error) -> StoreError {
    match primary_code(&error) {
        Some(code::BUSY | code::LOCKED) => StoreError::Busy(Some(error.into())),
        Some(code::FULL) => StoreError::Full(Some(error.into())),
        Some(code::READONLY | code::CANTOPEN) => StoreError::ReadOnly(Some(error.into())),
        Some(code::CORRUPT | code::NOTADB) => StoreError::Corrupt(Some(error.into())),
        Some(_) | None => StoreError::Failed(error.into()),
    }
}

/// The same while a file is being opened: one that is no database at all is somebody else's.
pub(crate) fn open_error(error: rusqlite::Error) -> StoreError {
    match primary_code(&error) {
        Some(code::NOTADB) => StoreError::Foreign,
        Some(code::CANTOPEN) => StoreError::Failed(error.into()),
        Some(_) | None => store_error(error),
    }
}

/// Whether the system could not say that what was written is on the disk.
pub(crate) fn is_unflushed(error: &rusqlite::Error) -> bool {
    matches!(error.sqlite_error().map(|error| error.extended_code), Some(code::IOERR_FSYNC | code::IOERR_DIR_FSYNC))
}

/// Whether another process holds the lock.
pub(crate) fn is_busy(error: &rusqlite::Error) -> bool {
    matches!(primary_code(error), Some(code::BUSY | code::LOCKED))
}

/// Whether SQLite could not get at the files beside the database, as in a folder that cannot be written.
pub(crate) fn is_unreachable(error: &rusqlite::Error) -> bool {
    matches!(primary_code(error), Some(code::CANTOPEN | code::READONLY))
}

pub(crate) fn corrupt(what: impl Into<String>) -> StoreError {
    StoreError::Corrupt(Some(Box::new(Damage(what.into()))))
}

pub(crate) fn failed(what: impl Into<String>) -> StoreError {
    StoreError::Failed(Box::new(Failure(what.into())))
}

/// The same failure for the next unit of a batch: its meaning whole, its source as text.
pub(crate) fn again(error: &StoreError) -> StoreError {
    let detail = || -> Option<Detail> {
        let source = std::error::Error::source(error)?;
        Some(Box::new(Failure(source.to_string())))
    };
    match error {
        StoreError::Conflict => StoreError::Conflict,
        StoreError::Busy(_) => StoreError::Busy(detail()),
        StoreError::Overloaded => StoreError::Overloaded,
        StoreError::Full(_) => StoreError::Full(detail()),
        StoreError::ReadOnly(_) => StoreError::ReadOnly(detail()),
        StoreError::Standby(_) => StoreError::Standby(detail()),
        StoreError::Corrupt(_) => StoreError::Corrupt(detail()),
        StoreError::Newer { found, known } => StoreError::Newer { found: *found, known: *known },
        StoreError::Foreign => StoreError::Foreign,
        StoreError::Replaced => StoreError::Replaced,
        StoreError::Unfit(problem) => StoreError::Unfit(problem.clone()),
        StoreError::Away(problem) => StoreError::Away(problem.clone()),
        StoreError::Failed(source) => failed(source.to_string()),
    }
}

fn primary_code(error: &rusqlite::Error) -> Option<i32> {
    error.sqlite_error().map(|error| error.extended_code & 0xff)
}
