//! What Postgres' error codes mean to Docket.

use docket_core::store::StoreError;

/// Error codes of Postgres, from its documentation. Two letters stand for a class.
mod code {
    pub(super) const CONNECTION_CLASS: &str = "08";
    pub(super) const TAKEN: &str = "23505";
    pub(super) const DANGLING: &str = "23503";
    pub(super) const READ_ONLY: &str = "25006";
    pub(super) const AUTHORISATION_CLASS: &str = "28";
    pub(super) const NO_SUCH_DATABASE: &str = "3D000";
    pub(super) const TRANSACTION_CLASS: &str = "40";
    pub(super) const NO_PRIVILEGE: &str = "42501";
    pub(super) const DISK_FULL: &str = "53100";
    pub(super) const RESOURCES_CLASS: &str = "53";
    pub(super) const LOCK_NOT_AVAILABLE: &str = "55P03";
    pub(super) const INTERVENTION_CLASS: &str = "57";
    pub(super) const CORRUPT: [&str; 2] = ["XX001", "XX002"];
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
    /// Postgres refused, or is not there; a transaction that was open is lost.
    Sql(sqlx::Error),
    /// The rows make no sense; a transaction that was open is as it was.
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

/// The store's word for a failure of Postgres or of the connection to it.
pub(crate) fn store_error(error: sqlx::Error) -> StoreError {
    if is_lost(&error) {
        return StoreError::Busy(Some(error.into()));
    }
    let Some(code) = code_of(&error) else { return StoreError::Failed(error.into()) };
    if code == code::DISK_FULL {
        StoreError::Full(Some(error.into()))
    } else if code == code::READ_ONLY {
        StoreError::Standby(Some(error.into()))
    } else if code.starts_with(code::TRANSACTION_CLASS) {
        StoreError::Conflict
    } else if code == code::LOCK_NOT_AVAILABLE || code.starts_with(code::RESOURCES_CLASS) {
        StoreError::Busy(Some(error.into()))
    } else if code == code::NO_PRIVILEGE {
        // Which one, and what to do about it, is for the log: whoever called is not whoever runs this.
        tracing::error!(error = &error as &dyn std::error::Error, "the database's role lacks a privilege: {GRANT}");
        StoreError::Unfit("its role lacks a privilege; whoever runs the server finds in its log which one".to_owned())
    } else if code::CORRUPT.contains(&code.as_str()) {
        StoreError::Corrupt(Some(error.into()))
    } else {
        StoreError::Failed(error.into())
    }
}

/// The same while a database is being opened: what an operator has to mend is said in words.
pub(crate) fn open_error(error: sqlx::Error, user: &str, place: &str) -> StoreError {
    let said = error.as_database_error().map(|error| error.message().to_owned()).unwrap_or_default();
    match code_of(&error) {
        Some(code) if code.starts_with(code::AUTHORISATION_CLASS) => StoreError::Unfit(format!(
            "the server does not let the role \"{user}\" in ({said}): check the name, the password and pg_hba.conf"
        )),
        Some(code) if code == code::NO_SUCH_DATABASE => StoreError::Unfit(format!(
            "the server has no such database ({said}): make it with CREATE DATABASE ... ENCODING 'UTF8'"
        )),
        Some(code) if code == code::NO_PRIVILEGE => StoreError::Unfit(no_privilege(user, &said)),
        None if is_about_encryption(&error, place) => StoreError::Unfit(format!(
            "no encrypted connection to {place} could be made ({error}): check sslmode and sslrootcert in the address"
        )),
        None if is_lost(&error) => StoreError::Away(format!("{place}: {error}")),
        Some(_) | None => store_error(error),
    }
}

/// What an operator does whose role may not do what is needed.
const GRANT: &str = "let it own the schema, or GRANT it CREATE and USAGE on the schema, SELECT, INSERT, UPDATE, DELETE on all \
                     tables in it and SELECT, USAGE on all sequences";

/// What to say to an operator whose role may not do what is needed.
pub(crate) fn no_privilege(user: &str, said: &str) -> String {
    format!("the role \"{user}\" lacks a privilege ({said}): {GRANT}")
}

/// Whether a connection could not be encrypted as wanted: the certificate is not believed, or there is none.
fn is_about_encryption(error: &sqlx::Error, place: &str) -> bool {
    use std::io::ErrorKind;
    // A socket is a file, too.
    let by_network = !place.starts_with("postgres:///");
    match error {
        sqlx::Error::Tls(_) => true,
        // What is wrong with a certificate is told as data that makes no sense, and of a file of ours as of any file.
        sqlx::Error::Io(error) => match error.kind() {
            ErrorKind::InvalidData => true,
            ErrorKind::NotFound | ErrorKind::PermissionDenied => by_network,
            _ => false,
        },
        _ => false,
    }
}

/// Whether the server, or the way to it, is gone.
pub(crate) fn is_lost(error: &sqlx::Error) -> bool {
    match error {
        sqlx::Error::Io(_) | sqlx::Error::PoolTimedOut | sqlx::Error::Protocol(_) => true,
        _ => code_of(error)
            .is_some_and(|code| code.starts_with(code::CONNECTION_CLASS) || code.starts_with(code::INTERVENTION_CLASS)),
    }
}

/// Whether the transaction lost against another and may be tried again.
pub(crate) fn is_conflict(error: &sqlx::Error) -> bool {
    code_of(error).is_some_and(|code| code.starts_with(code::TRANSACTION_CLASS))
}

/// Whether a row was not written because another has what must be its own, such as its number, or because one that it refers to
/// is gone.
pub(crate) fn is_taken(error: &sqlx::Error) -> bool {
    code_of(error).is_some_and(|code| code == code::TAKEN || code == code::DANGLING)
}

pub(crate) fn corrupt(what: impl Into<String>) -> StoreError {
    StoreError::Corrupt(Some(Box::new(Damage(what.into()))))
}

pub(crate) fn failed(what: impl Into<String>) -> StoreError {
    StoreError::Failed(Box::new(Failure(what.into())))
}

fn code_of(error: &sqlx::Error) -> Option<String> {
    error.as_database_error()?.code().map(std::borrow::Cow::into_owned)
}
