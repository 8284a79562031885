//! Answers: items as they go over the wire, pages, tags.
//!
//! An item is the core's own, with its key beside it. Who holds it is shown only where one item is asked for.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;

use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use docket_core::model::{Attribution, Event, Item, Key, Name, Note, Timestamp};
use docket_core::{Engine, Error, Reason, limits};
use http::header::{CONTENT_TYPE, ETAG};
use http::{HeaderValue, StatusCode};
use serde::Serialize;
use sha2::{Digest, Sha256};
use utoipa::openapi::schema::{Object, Schema};
use utoipa::openapi::{Ref, RefOr};
use utoipa::{PartialSchema, ToSchema};

use crate::app::Shared;
use crate::failure::Failure;
use crate::keys::Keys;

/// The answer to a request.
pub(crate) type Answer = Result<Response, Failure>;

/// An item with its key.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct ItemOut {
    #[serde(skip_serializing_if = "Option::is_none")]
    key: Option<Key>,
    #[serde(flatten)]
    item: Item,
    #[serde(skip_serializing_if = "Option::is_none")]
    claim: Option<LeaseOut>,
}

/// A lease on an item.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = Lease)]
pub(crate) struct LeaseOut {
    /// Who holds it; only where one item is asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    holder: Option<Name>,
    /// When the lease was last placed or extended by claiming.
    claimed_at: Timestamp,
    /// When it ends; none is until released.
    #[serde(skip_serializing_if = "Option::is_none")]
    expires_at: Option<Timestamp>,
    /// When this holder first claimed it.
    original_claimed_at: Timestamp,
    /// How long it was asked for; 0 is until released.
    ttl_seconds: u32,
}

impl ItemOut {
    /// Whether it has the name that people know it by.
    pub(crate) fn is_named(&self) -> bool {
        self.key.is_some()
    }

    /// An item of a list.
    pub(crate) fn listed(item: Item, keys: &Keys) -> Self {
        Self::new(item, keys, false)
    }

    /// An item that was asked for by itself.
    pub(crate) fn whole(item: Item, keys: &Keys) -> Self {
        Self::new(item, keys, true)
    }

    fn new(mut item: Item, keys: &Keys, with_holder: bool) -> Self {
        let claim = item.claim.take().map(|claim| LeaseOut {
            holder: with_holder.then_some(claim.holder),
            claimed_at: claim.claimed_at,
            expires_at: claim.expires_at,
            original_claimed_at: claim.original_claimed_at,
            ttl_seconds: claim.ttl_seconds,
        });
        Self { key: keys.of(&item), item, claim }
    }
}

impl ToSchema for ItemOut {
    fn name() -> Cow<'static, str> {
        Cow::Borrowed("Item")
    }

    fn schemas(schemas: &mut Vec<(String, RefOr<Schema>)>) {
        schemas.push((LeaseOut::name().into_owned(), LeaseOut::schema()));
        schemas.push((Key::name().into_owned(), Key::schema()));
        <Item as ToSchema>::schemas(schemas);
    }
}

/// The core's item with a key and without the holder.
impl PartialSchema for ItemOut {
    fn schema() -> RefOr<Schema> {
        let mut object = match <Item as PartialSchema>::schema() {
            RefOr::T(Schema::Object(object)) => object,
            RefOr::T(_) | RefOr::Ref(_) => Object::new(),
        };
        object.properties.insert("key".to_owned(), RefOr::Ref(Ref::from_schema_name("Key")));
        object.properties.insert("claim".to_owned(), RefOr::Ref(Ref::from_schema_name("Lease")));
        object.required.retain(|field| field != "claim");
        RefOr::T(Schema::Object(object))
    }
}

impl Shared {
    /// The keys of items.
    pub(crate) async fn keys<'i>(&self, engine: &Engine, items: impl Iterator<Item = &'i Item> + Send) -> Keys {
        self.keys.of(engine, items).await
    }

    /// Items of a list.
    pub(crate) async fn listed(&self, engine: &Engine, items: Vec<Item>) -> Vec<ItemOut> {
        let keys = self.keys(engine, items.iter()).await;
        items.into_iter().map(|item| ItemOut::listed(item, &keys)).collect()
    }

    /// One item that was asked for.
    pub(crate) async fn whole(&self, engine: &Engine, item: Item) -> ItemOut {
        let keys = self.keys(engine, std::iter::once(&item)).await;
        ItemOut::whole(item, &keys)
    }
}

/// An answer as JSON.
pub(crate) fn json<T: Serialize>(status: StatusCode, answer: &T) -> Answer {
    let body = serde_json::to_vec(answer).map_err(|error| unwritable(&error))?;
    Ok((status, [(CONTENT_TYPE, HeaderValue::from_static("application/json"))], body).into_response())
}

/// The same with status 200.
pub(crate) fn ok<T: Serialize>(answer: &T) -> Answer {
    json(StatusCode::OK, answer)
}

/// An item as it is shown, with its tag: its version, and a mark of all that is shown.
#[derive(Clone, Debug)]
pub(crate) struct Tagged {
    pub(crate) body: Bytes,
    pub(crate) tag: String,
}

impl Tagged {
    pub(crate) fn of<T: Serialize>(version: u64, answer: &T) -> Result<Self, Failure> {
        let body = serde_json::to_vec(answer).map_err(|error| unwritable(&error))?;
        let digest = Sha256::digest(&body);
        let mark = digest.iter().take(6).fold(0_u64, |mark, byte| (mark << 8) | u64::from(*byte));
        Ok(Self { body: body.into(), tag: format!("\"{version}-{mark:012x}\"") })
    }

    pub(crate) fn answer(self, status: StatusCode) -> Response {
        let kind = HeaderValue::from_static("application/json");
        let mut response = (status, [(CONTENT_TYPE, kind)], self.body).into_response();
        if let Ok(tag) = HeaderValue::from_str(&self.tag) {
            response.headers_mut().insert(ETAG, tag);
        }
        response
    }
}

/// An answer that shows an item, with its tag.
pub(crate) fn tagged<T: Serialize>(status: StatusCode, version: u64, answer: &T) -> Answer {
    Ok(Tagged::of(version, answer)?.answer(status))
}

/// The tag of an item whose answer shows something else than the item.
pub(crate) fn with_version(mut response: Response, version: u64) -> Response {
    if let Ok(value) = HeaderValue::from_str(&format!("\"{version}\"")) {
        response.headers_mut().insert(ETAG, value);
    }
    response
}

/// How many rows a page has.
pub(crate) fn page(limit: Option<i64>, default: usize) -> Result<usize, Error> {
    let Some(limit) = limit else { return Ok(default) };
    usize::try_from(limit).ok().filter(|limit| (1..=limits::PAGE).contains(limit)).ok_or_else(|| {
        Error::validation(Reason::BadValue, format!("limit must be from 1 to {}, not {limit}", limits::PAGE))
            .at("limit")
    })
}

/// Takes credentials out: whoever reads an answer has no use for them but a bad one.
pub(crate) fn without_proof(by: &mut Option<Attribution>) {
    if let Some(by) = by {
        by.actor.proof = None;
    }
}

/// A note without the credential of its author.
pub(crate) fn note_out(mut note: Note) -> Note {
    without_proof(&mut note.by);
    note
}

/// An event without the credential of its author.
pub(crate) fn event_out(mut event: Event) -> Event {
    without_proof(&mut event.by);
    if let Some(proof) = event.data.pointer_mut("/by/actor") {
        proof.as_object_mut().map(|actor| actor.remove("proof"));
    }
    event
}

/// Groups by an item's parent, in the order of numbers.
pub(crate) fn children<'i>(
    items: impl Iterator<Item = &'i Item>,
) -> BTreeMap<docket_core::model::ItemId, Vec<&'i Item>> {
    let mut children: BTreeMap<_, Vec<&Item>> = BTreeMap::new();
    for item in items {
        if let Some(parent) = item.parent {
            children.entry(parent).or_default().push(item);
        }
    }
    for siblings in children.values_mut() {
        siblings.sort_by_key(|item| item.number);
    }
    children
}

fn unwritable(error: &serde_json::Error) -> Failure {
    // Answers are plain data with text keys: this cannot happen, and must not take the server down if it does.
    tracing::error!(%error, "an answer could not be written");
    Failure::shedding("the answer could not be written")
}

/// What handlers share.
pub(crate) type State = axum::extract::State<Arc<Shared>>;
