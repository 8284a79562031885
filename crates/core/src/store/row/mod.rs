//! Rows as a store's SQL hands them over, each a JSON array in the order of its struct, and what they mean in the model.
//!
//! All rows of a read come as one text. Text that does not parse means that the rows were damaged or written by something
//! else; it is an error, never skipped. Ids are UUIDs in any spelling, times are milliseconds, closed sets are the numbers
//! of [`super::code`], truth is a boolean or a number that is not 0.

mod api_key;
mod edge;
mod event;
mod item;
mod knowledge;
mod note;
mod project;
mod seen;
mod session;
mod talk;
mod tally;

use serde::de::{Deserialize, Deserializer, Error as _, Visitor};
use uuid::Uuid;

pub use api_key::KeyRow;
pub use edge::EdgeRow;
pub use event::EventRow;
pub use item::ItemRow;
pub use knowledge::{
    EntryLinkRow, EntryRow, FiledRows, ListedRows, MakingRow, PairRow, PostingRows, SketchRows, VectorRow, WalkedRows,
};
pub use note::{HeadRow, NoteRow};
pub use project::ProjectRow;
pub use seen::Seen;
pub use session::SessionRow;
pub use talk::{BriefRow, CommentRow, LinkRow, QuestionRow};
pub use tally::{ChildCounts, ClaimCounts, FamilyRows};

use crate::model::{ItemId, Timestamp};

/// The models of rows.
pub fn models<M, R: Into<M>>(rows: Vec<R>) -> Vec<M> {
    rows.into_iter().map(Into::into).collect()
}

/// A point in time as it is stored.
#[derive(Clone, Copy, Debug, Default, serde::Deserialize)]
#[serde(transparent)]
pub struct Millis(i64);

impl From<Millis> for Timestamp {
    fn from(millis: Millis) -> Self {
        Self::from_millis(millis.0)
    }
}

/// A truth value as it is stored.
#[derive(Clone, Copy, Debug, Default)]
struct Flag(bool);

impl<'de> Deserialize<'de> for Flag {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Truth;

        impl Visitor<'_> for Truth {
            type Value = bool;

            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("a boolean or a number")
            }

            fn visit_bool<E>(self, value: bool) -> Result<bool, E> {
                Ok(value)
            }

            fn visit_i64<E>(self, value: i64) -> Result<bool, E> {
                Ok(value != 0)
            }

            fn visit_u64<E>(self, value: u64) -> Result<bool, E> {
                Ok(value != 0)
            }
        }

        deserializer.deserialize_any(Truth).map(Self)
    }
}

/// Ids packed into one text, 32 hex digits each, or nothing: a long list of them is quicker made and read so.
#[derive(Clone, Debug, Default)]
pub struct Packed(pub Vec<ItemId>);

impl<'de> Deserialize<'de> for Packed {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = Option::<std::borrow::Cow<'de, str>>::deserialize(deserializer)?.unwrap_or_default();
        let ids = text.as_bytes().chunks(32).map(|digits| Uuid::try_parse_ascii(digits).map(ItemId::from_uuid));
        ids.collect::<Result<_, _>>().map(Self).map_err(D::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn truth_is_read_from_either_store() {
        let flags: Vec<Flag> = serde_json::from_str("[true, false, 1, 0]").expect("flags");
        assert_eq!(flags.into_iter().map(|flag| flag.0).collect::<Vec<_>>(), [true, false, true, false]);
        assert!(serde_json::from_str::<Flag>("\"yes\"").is_err());
    }

    #[test]
    fn an_edge_is_the_same_from_either_store() {
        let id = "00000000-0000-7000-8000-000000000001";
        let postgres = format!("[\"{id}\", 0, \"{id}\", \"{id}\", null, true, 5]");
        let sqlite = postgres.replace('-', "").replace("true", "1");
        let edge = |text: &str| crate::model::Edge::from(serde_json::from_str::<EdgeRow>(text).expect("a row"));
        assert_eq!(edge(&postgres), edge(&sqlite));
        assert!(serde_json::from_str::<EdgeRow>(&postgres.replace(", 0,", ", 9,")).is_err(), "no such kind");
    }
}
