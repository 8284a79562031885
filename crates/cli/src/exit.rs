//! How the program ends: every failure has one exit code, and scripts may rely on it.

use docket_core::store::StoreError;
use docket_core::{Code, Error, Invalid, Kind, Reason};

use crate::config::ConfigError;
use crate::names::Names;

/// Everything was done.
pub(crate) const OK: u8 = 0;
/// `doctor` found something.
pub(crate) const FOUND: u8 = 1;
/// The request is malformed, or names what is not there.
pub(crate) const USAGE: u8 = 2;
/// The surroundings or the configuration do not allow it.
pub(crate) const ENVIRONMENT: u8 = 3;
/// The caller may not do this.
pub(crate) const NOT_ALLOWED: u8 = 4;
/// It collides with the present state, or a rule refuses it.
pub(crate) const CONFLICT: u8 = 5;
/// The store cannot serve this now.
pub(crate) const UNAVAILABLE: u8 = 6;
/// Over capacity.
pub(crate) const SHEDDING: u8 = 7;
/// `check run` did what it was asked, and a check does not hold.
pub(crate) const FAILED: u8 = 8;

/// Somebody interrupted it while it made checks; they were given up.
pub(crate) const INTERRUPTED: u8 = 130;

/// Why a command did not do what it was asked.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Failure {
    /// The engine said no, or the request could not be read.
    #[error("{0}")]
    Engine(Box<Error>),
    /// The same of a move that gates refuse, with the items that stand in the way by name.
    #[error("{0}")]
    Refused(Box<Error>, Names),
    /// The engine said no, and shows what it is about: in lines for people, in further fields for programs.
    #[error("{0}")]
    Showing(Box<Error>, Vec<String>, serde_json::Value),
    /// The surroundings or the configuration do not allow it.
    #[error("{0}")]
    Environment(String),
    /// Parts of a request failed and were told where they belong; this is the worst of them.
    #[error("not everything was done")]
    Told(u8),
    /// Whoever read our answer has gone.
    #[error("the reader of the answer is gone")]
    ClosedPipe,
    /// The answer could not be written.
    #[error("the answer cannot be written: {0}")]
    Write(std::io::Error),
}

impl Failure {
    /// The surroundings or the configuration do not allow it.
    pub(crate) fn environment(message: impl Into<String>) -> Self {
        Self::Environment(message.into())
    }

    /// Bytes that are no text.
    pub(crate) fn bad_utf8(message: impl Into<String>) -> Self {
        Error::validation(Reason::BadUtf8, message).into()
    }

    /// The code to end with.
    pub(crate) fn code(&self) -> u8 {
        match self {
            Self::Engine(error) | Self::Refused(error, _) | Self::Showing(error, ..) => code_of(error),
            Self::Environment(_) => ENVIRONMENT,
            Self::Told(code) => *code,
            Self::ClosedPipe => OK,
            Self::Write(_) => UNAVAILABLE,
        }
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Self::Engine(Box::new(error))
    }
}

impl From<Invalid> for Failure {
    fn from(invalid: Invalid) -> Self {
        Error::from(invalid).into()
    }
}

impl From<StoreError> for Failure {
    fn from(error: StoreError) -> Self {
        tracing::debug!(error = &error as &dyn std::error::Error, "the store failed");
        plain(error).into()
    }
}

/// A failure of the store; of damage with what the store knows of it, for it is the operator who must mend it.
pub(crate) fn plain(error: StoreError) -> Error {
    let known = match &error {
        StoreError::Corrupt(Some(detail)) => format!(": {detail}"),
        _ => String::new(),
    };
    let plain = Error::from(error);
    Error { message: format!("{}{known}", plain.message), ..plain }
}

impl From<ConfigError> for Failure {
    fn from(error: ConfigError) -> Self {
        Self::Environment(error.to_string())
    }
}

impl From<std::io::Error> for Failure {
    fn from(error: std::io::Error) -> Self {
        match error.kind() {
            std::io::ErrorKind::BrokenPipe => Self::ClosedPipe,
            _ => Self::Write(error),
        }
    }
}

/// The exit code of an error of the engine.
pub(crate) fn code_of(error: &Error) -> u8 {
    if error.kind == Kind::Shedding {
        return SHEDDING;
    }
    match (error.code, error.reason) {
        // Of more than the caller may hold, whatever the request looks like.
        (_, Reason::ClaimLimit) | (Code::RateLimited, _) => SHEDDING,
        (Code::Validation | Code::NotFound | Code::ProjectRequired, _) => USAGE,
        (Code::Forbidden, _) => NOT_ALLOWED,
        (Code::Conflict | Code::RuleBlocked, _) => CONFLICT,
        // What is in the file must be mended by somebody: to try again does not help.
        (
            Code::Unavailable,
            Reason::StoreCorrupt | Reason::StoreNewer | Reason::StoreForeign | Reason::NotConfigured,
        ) => ENVIRONMENT,
        // So does that nothing is set up that runs checks; that a runner has not come yet passes.
        (Code::Unavailable, Reason::NoRunner) if error.kind == Kind::Permanent => ENVIRONMENT,
        (Code::Unavailable, _) => UNAVAILABLE,
    }
}

#[cfg(test)]
mod tests {
    use docket_core::{Code, Error, Kind, Reason};

    use super::code_of;

    #[test]
    fn every_class_has_its_exit_code() {
        for (kind, code, reason, exit) in [
            (Kind::Permanent, Code::Validation, Reason::Blank, 2),
            (Kind::Permanent, Code::NotFound, Reason::NotFound, 2),
            (Kind::Permanent, Code::ProjectRequired, Reason::ProjectRequired, 2),
            (Kind::Permanent, Code::Forbidden, Reason::RejectedByPolicy, 4),
            (Kind::Permanent, Code::Conflict, Reason::Duplicate, 5),
            (Kind::Permanent, Code::RuleBlocked, Reason::RefusedByGate, 5),
            (Kind::Transient, Code::Unavailable, Reason::StoreBusy, 6),
            (Kind::Permanent, Code::Unavailable, Reason::StoreReadOnly, 6),
            (Kind::Permanent, Code::Unavailable, Reason::StoreForeign, 3),
            (Kind::Permanent, Code::Unavailable, Reason::StoreNewer, 3),
            (Kind::Permanent, Code::Unavailable, Reason::NoRunner, 3),
            (Kind::Transient, Code::Unavailable, Reason::NoRunner, 6),
            (Kind::Shedding, Code::Unavailable, Reason::StoreBusy, 7),
            (Kind::Permanent, Code::Validation, Reason::ClaimLimit, 7),
            (Kind::Shedding, Code::RateLimited, Reason::RateLimited, 7),
            (Kind::Permanent, Code::Unavailable, Reason::StoreReplaced, 6),
        ] {
            assert_eq!(code_of(&Error::new(kind, code, reason, "")), exit, "{code:?} {reason:?}");
        }
    }
}
