//! Bodies, read into types: JSON without a name twice. They were taken in at the door, where how large and how slow they may
//! be is looked to.

use std::sync::Arc;

use axum::body::Body;
use axum::extract::{FromRequest, Request};
use bytes::Bytes;
use docket_core::wire::{Fault, NAMES, from_value, look_over};
use docket_core::{Error, Reason, echo};
use http::header::CONTENT_TYPE;
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

    async fn from_request(request: Request, _: &Arc<Shared>) -> Result<Self, Failure> {
        check_type(request.headers(), &["application/json"])?;
        read(&whole(request.into_body()).await?).map(Self)
    }
}

impl<T: DeserializeOwned + Default> FromRequest<Arc<Shared>> for MaybeJson<T> {
    type Rejection = Failure;

    async fn from_request(request: Request, _: &Arc<Shared>) -> Result<Self, Failure> {
        let (parts, body) = request.into_parts();
        let bytes = whole(body).await?;
        if bytes.is_empty() {
            return Ok(Self(T::default()));
        }
        check_type(&parts.headers, &["application/json"])?;
        read(&bytes).map(Self)
    }
}

impl FromRequest<Arc<Shared>> for Lines {
    type Rejection = Failure;

    async fn from_request(request: Request, _: &Arc<Shared>) -> Result<Self, Failure> {
        check_type(request.headers(), &["application/x-ndjson", "application/jsonl", "application/x-jsonlines"])?;
        whole(request.into_body()).await.map(Self)
    }
}

/// The whole body, which was read at the door.
pub(crate) async fn whole(body: Body) -> Result<Bytes, Failure> {
    let all = body.collect().await.map_err(|_| Failure::malformed(Reason::BadValue, "the body broke off"))?;
    Ok(all.to_bytes())
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
