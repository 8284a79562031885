//! Bodies: no larger than allowed, no slower than allowed, and JSON without a name twice.

use std::sync::Arc;

use axum::body::Body;
use axum::extract::{FromRequest, Request};
use bytes::{Bytes, BytesMut};
use docket_core::wire::{Fault, NAMES, from_value, look_over};
use docket_core::{Code, Error, Kind, Reason, echo};
use http::header::{CONTENT_ENCODING, CONTENT_LENGTH, CONTENT_TYPE};
use http::{HeaderMap, StatusCode};
use http_body_util::BodyExt;
use serde::de::DeserializeOwned;

use crate::app::Shared;
use crate::failure::Failure;

/// A JSON body.
#[derive(Debug)]
pub(crate) struct Json<T>(pub(crate) T);

/// A JSON body that may be left out.
#[derive(Debug)]
pub(crate) struct MaybeJson<T>(pub(crate) T);

/// Lines of JSON.
#[derive(Debug)]
pub(crate) struct Lines(pub(crate) Bytes);

impl<T: DeserializeOwned> FromRequest<Arc<Shared>> for Json<T> {
    type Rejection = Failure;

    async fn from_request(request: Request, shared: &Arc<Shared>) -> Result<Self, Failure> {
        check_type(request.headers(), &["application/json"])?;
        let (parts, body) = request.into_parts();
        let bytes = collect(&parts.headers, body, shared, shared.limits.body_bytes).await?;
        read(&bytes).map(Self)
    }
}

impl<T: DeserializeOwned + Default> FromRequest<Arc<Shared>> for MaybeJson<T> {
    type Rejection = Failure;

    async fn from_request(request: Request, shared: &Arc<Shared>) -> Result<Self, Failure> {
        let (parts, body) = request.into_parts();
        let bytes = collect(&parts.headers, body, shared, shared.limits.body_bytes).await?;
        if bytes.is_empty() {
            return Ok(Self(T::default()));
        }
        check_type(&parts.headers, &["application/json"])?;
        read(&bytes).map(Self)
    }
}

impl FromRequest<Arc<Shared>> for Lines {
    type Rejection = Failure;

    async fn from_request(request: Request, shared: &Arc<Shared>) -> Result<Self, Failure> {
        check_type(request.headers(), &["application/x-ndjson", "application/jsonl", "application/x-jsonlines"])?;
        let (parts, body) = request.into_parts();
        collect(&parts.headers, body, shared, shared.limits.import_bytes).await.map(Self)
    }
}

/// A whole body, refused as soon as it is known to be too large.
pub(crate) async fn collect(
    headers: &HeaderMap,
    mut body: Body,
    shared: &Shared,
    most: usize,
) -> Result<Bytes, Failure> {
    if headers.contains_key(CONTENT_ENCODING) {
        return Err(unsupported("a body is taken as it is: leave Content-Encoding out"));
    }
    let too_large = || {
        let error = Error::validation(Reason::TooLong, format!("the body must be at most {most} bytes"));
        Failure::with_status(StatusCode::PAYLOAD_TOO_LARGE, error)
            .header(http::header::CONNECTION, http::HeaderValue::from_static("close"))
    };
    let said = headers.get(CONTENT_LENGTH).and_then(|length| length.to_str().ok()?.parse::<u64>().ok());
    if said.is_some_and(|said| said > most as u64) {
        return Err(too_large());
    }
    let arrive = async {
        let mut bytes = BytesMut::new();
        while let Some(frame) = body.frame().await {
            let frame = frame.map_err(|_| Failure::malformed(Reason::BadValue, "the body broke off"))?;
            if let Ok(data) = frame.into_data() {
                if bytes.len() + data.len() > most {
                    return Err(too_large());
                }
                bytes.extend_from_slice(&data);
            }
        }
        Ok(bytes.freeze())
    };
    tokio::time::timeout(shared.limits.body_timeout, arrive).await.unwrap_or_else(|_| {
        let message = format!("the body took longer than {} seconds", shared.limits.body_timeout.as_secs());
        let error = Error::new(Kind::Transient, Code::Validation, Reason::TooSlow, message);
        Err(Failure::with_status(StatusCode::REQUEST_TIMEOUT, error)
            .header(http::header::CONNECTION, http::HeaderValue::from_static("close")))
    })
}

fn check_type(headers: &HeaderMap, known: &[&str]) -> Result<(), Failure> {
    let given = headers.get(CONTENT_TYPE).and_then(|given| given.to_str().ok()).unwrap_or_default();
    let plain = given.split(';').next().unwrap_or_default().trim();
    if known.iter().any(|known| plain.eq_ignore_ascii_case(known)) {
        return Ok(());
    }
    Err(unsupported(&format!("the body must be {}, not \"{}\"", known[0], echo(given))))
}

fn unsupported(message: &str) -> Failure {
    Failure::with_status(StatusCode::UNSUPPORTED_MEDIA_TYPE, Error::validation(Reason::BadMedia, message))
}

fn read<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, Failure> {
    if std::str::from_utf8(bytes).is_err() {
        return Err(Failure::malformed(Reason::BadUtf8, "the body is not UTF-8 text"));
    }
    look_over(bytes).map_err(|fault| match fault {
        Fault::NotJson => Failure::malformed(Reason::BadJson, "the body is not JSON"),
        Fault::Twice(name) => {
            Failure::malformed(Reason::Duplicate, format!("\"{}\" stands twice in one object", echo(&name)))
        }
        Fault::TooMany => Failure::malformed(Reason::TooMany, format!("the body has more than {NAMES} names")),
    })?;
    let value =
        serde_json::from_slice(bytes).map_err(|_| Failure::malformed(Reason::BadJson, "the body is not JSON"))?;
    from_value(value).map_err(Failure::from)
}
