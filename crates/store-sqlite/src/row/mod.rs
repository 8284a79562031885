//! Rows of the database as values of the model.
//!
//! SQL hands every row over as a JSON array ([`ITEM`], [`EDGE`] and the like say of what), and all rows of a read as one
//! text. That costs one message from the thread of the connection instead of one for each row, and less than copying
//! every cell apart. Text that does not parse means that the file was damaged or written by something else; it is an
//! error, never skipped.

pub(crate) mod api_key;
mod edge;
mod event;
mod item;
mod note;
mod project;

use docket_core::model::{ItemId, Timestamp};
use serde::{Deserialize, Deserializer};
use uuid::Uuid;

pub(crate) use api_key::{KEY, KeyRow};
pub(crate) use edge::{EDGE, EdgeRow};
pub(crate) use event::{EVENT, EventRow};
pub(crate) use item::{ITEM, ItemRow};
pub(crate) use note::{HEAD, HeadRow, NOTE, NoteRow};
pub(crate) use project::{PROJECT, ProjectRow};

/// The models of rows.
pub(crate) fn models<M, R: Into<M>>(rows: Vec<R>) -> Vec<M> {
    rows.into_iter().map(Into::into).collect()
}

/// A point in time as it is stored.
#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(transparent)]
pub(crate) struct Millis(i64);

impl From<Millis> for Timestamp {
    fn from(millis: Millis) -> Self {
        Self::from_millis(millis.0)
    }
}

/// A truth value as it is stored: not 0 is true.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Flag(pub(crate) bool);

impl<'de> Deserialize<'de> for Flag {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        i64::deserialize(deserializer).map(|flag| Self(flag != 0))
    }
}

/// Ids packed into one text, 32 hex digits each, or nothing: a long list of them is quicker made and read so.
#[derive(Clone, Debug, Default)]
pub(crate) struct Packed(pub(crate) Vec<ItemId>);

impl<'de> Deserialize<'de> for Packed {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = Option::<std::borrow::Cow<'de, str>>::deserialize(deserializer)?.unwrap_or_default();
        let ids = text.as_bytes().chunks(32).map(|digits| Uuid::try_parse_ascii(digits).map(ItemId::from_uuid));
        ids.collect::<Result<_, _>>().map(Self).map_err(serde::de::Error::custom)
    }
}
