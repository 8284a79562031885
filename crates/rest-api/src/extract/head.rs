//! Headers that say under which condition, and how often, a request takes effect.

use axum::extract::FromRequestParts;
use docket_core::model::RequestId;
use docket_core::{Error, Reason};
use http::header::{IF_MATCH, IF_NONE_MATCH};
use http::request::Parts;
use http::{HeaderName, StatusCode};

use crate::failure::Failure;

const IDEMPOTENCY_KEY: HeaderName = HeaderName::from_static("idempotency-key");

/// The caller's name for one logical request, so that a retry takes effect once.
#[derive(Debug)]
pub(crate) struct Idempotency(pub(crate) Option<RequestId>);

/// The version that an item must still have.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Expected(pub(crate) Option<u64>);

/// What the caller has already.
#[derive(Debug)]
pub(crate) struct Unchanged(Option<String>);

impl<S: Send + Sync> FromRequestParts<S> for Idempotency {
    type Rejection = Failure;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Failure> {
        let Some(text) = one(parts, &IDEMPOTENCY_KEY)? else { return Ok(Self(None)) };
        let id = RequestId::parse(&text).map_err(|invalid| Error::from(invalid.at("Idempotency-Key")))?;
        Ok(Self(Some(id)))
    }
}

impl<S: Send + Sync> FromRequestParts<S> for Expected {
    type Rejection = Failure;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Failure> {
        let Some(text) = one(parts, &IF_MATCH)? else { return Ok(Self(None)) };
        if text.trim() == "*" {
            return Ok(Self(None));
        }
        // "7-1f3a9c": the version, and a mark of all that is shown. Only the version must be the same.
        let plain = text.trim().trim_start_matches("W/").trim_matches('"');
        let version = plain.split('-').next().and_then(|version| version.parse::<u64>().ok());
        version.map(|version| Self(Some(version))).ok_or_else(|| {
            let message = "If-Match must be one ETag of the item, such as \"7\", or *";
            Error::validation(Reason::BadValue, message).at("If-Match").into()
        })
    }
}

impl Expected {
    /// The failure of a write under a condition: that the condition does not hold has a status of its own.
    pub(crate) fn failed(self, error: Error) -> Failure {
        if self.0.is_some() && error.reason == Reason::VersionMismatch {
            return Failure::with_status(StatusCode::PRECONDITION_FAILED, error);
        }
        error.into()
    }
}

impl<S: Send + Sync> FromRequestParts<S> for Unchanged {
    type Rejection = Failure;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Failure> {
        one(parts, &IF_NONE_MATCH).map(Self)
    }
}

impl Unchanged {
    /// Whether the caller has what this tag stands for.
    pub(crate) fn has(&self, tag: &str) -> bool {
        self.0.as_ref().is_some_and(|known| {
            known
                .split(',')
                .map(|known| known.trim().trim_start_matches("W/"))
                .any(|known| known == tag || known == "*")
        })
    }
}

/// A header that may be there once.
fn one(parts: &Parts, name: &HeaderName) -> Result<Option<String>, Failure> {
    let mut values = parts.headers.get_all(name).iter();
    match (values.next(), values.next()) {
        (None, _) => Ok(None),
        (Some(value), None) => std::str::from_utf8(value.as_bytes())
            .map(|text| Some(text.to_owned()))
            .map_err(|_| Failure::malformed(Reason::BadUtf8, format!("{name} is not UTF-8 text"))),
        (Some(_), Some(_)) => Err(Failure::malformed(Reason::Duplicate, format!("{name} is there twice"))),
    }
}
