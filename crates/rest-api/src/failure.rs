//! How a failure is told over HTTP: one envelope, and the status that goes with each code and reason.

use std::sync::Arc;

use axum::response::{IntoResponse, Response};
use docket_core::{Code, Error, Kind, Reason};
use http::{HeaderName, HeaderValue, StatusCode};
use serde::Serialize;
use utoipa::ToSchema;

/// The header that carries the name of a request.
const IDEMPOTENCY_KEY: &str = "Idempotency-Key";

/// Why a request was not done, with its status.
#[derive(Clone, Debug)]
pub(crate) struct Failure {
    pub(crate) status: StatusCode,
    pub(crate) error: Arc<Error>,
    headers: Vec<(HeaderName, HeaderValue)>,
}

/// What every failed request is answered with.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Envelope<'e> {
    /// What went wrong.
    pub(crate) error: Told<'e>,
}

/// The error, with the name under which the server's log has more of it.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Told<'e> {
    /// What went wrong.
    #[serde(flatten)]
    pub(crate) error: &'e Error,
    /// The request's name in the log.
    pub(crate) request_id: &'e str,
}

impl Failure {
    /// An error under another status than its own.
    pub(crate) fn with_status(status: StatusCode, error: Error) -> Self {
        Self { status, error: Arc::new(error), headers: Vec::new() }
    }

    /// A malformed request: what is not JSON, not text, or not HTTP as we understand it.
    pub(crate) fn malformed(reason: Reason, message: impl Into<String>) -> Self {
        Self::with_status(StatusCode::BAD_REQUEST, Error::validation(reason, message))
    }

    /// The server is over capacity.
    pub(crate) fn shedding(message: &str) -> Self {
        let error = Error {
            retry_after_ms: Some(crate::limits::RETRY_MS),
            ..Error::new(Kind::Shedding, Code::Unavailable, Reason::Overloaded, message)
        };
        error.into()
    }

    pub(crate) fn header(mut self, name: HeaderName, value: HeaderValue) -> Self {
        self.headers.push((name, value));
        self
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Self::with_status(status_of(&error), in_our_words(error))
    }
}

/// Elsewhere a request's name is an argument; here it is a header, and is named as that.
fn in_our_words(error: Error) -> Error {
    if error.field.as_deref() != Some("requestId") {
        return error;
    }
    let message = error.message.replace("requestId", IDEMPOTENCY_KEY);
    Error { message, field: Some(IDEMPOTENCY_KEY.to_owned()), ..error }
}

impl From<docket_core::Invalid> for Failure {
    fn from(invalid: docket_core::Invalid) -> Self {
        Error::from(invalid).into()
    }
}

/// The body is written by [`crate::front`], which knows the request's name.
impl IntoResponse for Failure {
    fn into_response(self) -> Response {
        let mut response = self.status.into_response();
        for (name, value) in &self.headers {
            response.headers_mut().append(name.clone(), value.clone());
        }
        response.extensions_mut().insert(self.error);
        response
    }
}

/// The status of an error.
pub(crate) fn status_of(error: &Error) -> StatusCode {
    if error.kind == Kind::Shedding && error.code == Code::Unavailable {
        return StatusCode::SERVICE_UNAVAILABLE;
    }
    match (error.code, error.reason) {
        (_, Reason::BadJson | Reason::BadUtf8) => StatusCode::BAD_REQUEST,
        (_, Reason::ClaimLimit) | (Code::RateLimited, _) => StatusCode::TOO_MANY_REQUESTS,
        (
            Code::Forbidden,
            Reason::CredentialMissing
            | Reason::BadCredential
            | Reason::KeyRevoked
            | Reason::KeyExpired
            | Reason::ProofRejected,
        ) => StatusCode::UNAUTHORIZED,
        (_, Reason::ForeignClaim) | (Code::Forbidden, _) => StatusCode::FORBIDDEN,
        (_, Reason::RequestIdReused) | (Code::Validation | Code::ProjectRequired, _) => {
            StatusCode::UNPROCESSABLE_ENTITY
        }
        (Code::NotFound, _) => StatusCode::NOT_FOUND,
        (Code::Conflict | Code::RuleBlocked, _) => StatusCode::CONFLICT,
        (Code::Unavailable, Reason::StoreFull) => StatusCode::INSUFFICIENT_STORAGE,
        (Code::Unavailable, _) => StatusCode::SERVICE_UNAVAILABLE,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_class_has_its_status() {
        for (kind, code, reason, status) in [
            (Kind::Permanent, Code::Validation, Reason::BadJson, 400),
            (Kind::Permanent, Code::Validation, Reason::Blank, 422),
            (Kind::Permanent, Code::ProjectRequired, Reason::ProjectRequired, 422),
            (Kind::Permanent, Code::NotFound, Reason::NotFound, 404),
            (Kind::Permanent, Code::Forbidden, Reason::RejectedByPolicy, 403),
            (Kind::Permanent, Code::Conflict, Reason::Duplicate, 409),
            (Kind::Permanent, Code::Conflict, Reason::RequestIdReused, 422),
            (Kind::Permanent, Code::RuleBlocked, Reason::RefusedByGate, 409),
            (Kind::Permanent, Code::RuleBlocked, Reason::ForeignClaim, 403),
            (Kind::Permanent, Code::RuleBlocked, Reason::ClaimLost, 409),
            (Kind::Permanent, Code::Validation, Reason::ClaimLimit, 429),
            (Kind::Shedding, Code::RateLimited, Reason::StoreBusy, 429),
            (Kind::Shedding, Code::Unavailable, Reason::StoreBusy, 503),
            (Kind::Transient, Code::Unavailable, Reason::StoreFailed, 503),
            (Kind::Transient, Code::Unavailable, Reason::StoreFull, 507),
        ] {
            assert_eq!(status_of(&Error::new(kind, code, reason, "")).as_u16(), status, "{code:?} {reason:?}");
        }
    }
}
