//! Names in the path of an address.

use std::str::FromStr;

use axum::extract::{FromRequestParts, RawPathParams};
use docket_core::model::{ItemRef, Name};
use docket_core::{Error, Invalid, Reason, echo};
use http::request::Parts;

use crate::failure::Failure;

/// The item that an address names.
#[derive(Debug)]
pub(crate) struct ItemPath(pub(crate) ItemRef);

/// The note of an item that an address names.
#[derive(Debug)]
pub(crate) struct NotePath(pub(crate) ItemRef, pub(crate) Name);

/// The check of an item that an address names, by its place.
#[derive(Debug)]
pub(crate) struct CheckPath(pub(crate) ItemRef, pub(crate) usize);

/// The last name of an address, read into a type.
#[derive(Debug)]
pub(crate) struct TextPath<T>(pub(crate) T);

impl<S: Send + Sync> FromRequestParts<S> for ItemPath {
    type Rejection = Failure;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Failure> {
        let names = names(parts, state).await?;
        Ok(Self(find(&names, "id", ItemRef::from_str)?))
    }
}

impl<S: Send + Sync> FromRequestParts<S> for NotePath {
    type Rejection = Failure;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Failure> {
        let names = names(parts, state).await?;
        Ok(Self(find(&names, "id", ItemRef::from_str)?, find(&names, "key", Name::parse)?))
    }
}

impl<S: Send + Sync> FromRequestParts<S> for CheckPath {
    type Rejection = Failure;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Failure> {
        let names = names(parts, state).await?;
        let place = |text: &str| {
            let digits = text.bytes().all(|byte| byte.is_ascii_digit());
            text.parse().ok().filter(|_| digits).ok_or_else(|| {
                let message = format!("must be the place of a check, counted from 0, not \"{}\"", echo(text));
                Invalid::new(Reason::BadValue, message)
            })
        };
        Ok(Self(find(&names, "id", ItemRef::from_str)?, find(&names, "index", place)?))
    }
}

impl<T: FromStr<Err = Invalid>, S: Send + Sync> FromRequestParts<S> for TextPath<T> {
    type Rejection = Failure;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Failure> {
        let names = names(parts, state).await?;
        let (name, text) = names.last().ok_or_else(|| Error::not_found("this address names nothing"))?;
        Ok(Self(text.parse::<T>().map_err(|invalid| Error::from(invalid.at(name)))?))
    }
}

async fn names<S: Send + Sync>(parts: &mut Parts, state: &S) -> Result<Vec<(String, String)>, Failure> {
    let found = RawPathParams::from_request_parts(parts, state)
        .await
        .map_err(|_| Failure::malformed(Reason::BadUtf8, "the address is not UTF-8 text"))?;
    Ok(found.iter().map(|(name, text)| (name.to_owned(), text.to_owned())).collect())
}

fn find<T>(
    names: &[(String, String)],
    wanted: &str,
    parse: impl FnOnce(&str) -> Result<T, Invalid>,
) -> Result<T, Failure> {
    let text = names.iter().find(|(name, _)| name == wanted).map(|(_, text)| text.as_str()).unwrap_or_default();
    parse(text).map_err(|invalid| Error::from(invalid.at(wanted)).into())
}
