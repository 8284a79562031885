//! Rows of the database as values of the model. Text that does not parse means that the file was damaged or written by
//! something else; it is an error, never skipped.

mod answer;
pub(crate) mod code;
mod edge;
mod event;
mod item;
mod note;
mod project;

use docket_core::model::Timestamp;
use docket_core::store::StoreError;
use serde::de::DeserializeOwned;
use sqlx::sqlite::{Sqlite, SqliteRow};
use sqlx::{Decode, Row};
use uuid::Uuid;

pub(crate) use answer::read_answer;
pub(crate) use edge::{EDGE_COLUMNS, read_edge};
pub(crate) use event::{EVENT_COLUMNS, read_event};
pub(crate) use item::{ITEM_COLUMNS, read_item};
pub(crate) use note::{HEAD_COLUMNS, NOTE_COLUMNS, read_head, read_note};
pub(crate) use project::{PROJECT_COLUMNS, read_project};

use crate::error::corrupt;

/// Reads the cells of a row from left to right.
pub(crate) struct Cells<'r> {
    row: &'r SqliteRow,
    next: usize,
}

impl<'r> Cells<'r> {
    pub(crate) fn new(row: &'r SqliteRow) -> Self {
        Self { row, next: 0 }
    }

    /// The next cell. Tables are strict, so its type is not looked at again.
    pub(crate) fn get<T: Decode<'r, Sqlite>>(&mut self) -> Result<T, StoreError> {
        let at = self.next;
        self.next += 1;
        self.row.try_get_unchecked::<T, usize>(at).map_err(|error| StoreError::Corrupt(Some(error.into())))
    }

    pub(crate) fn uuid(&mut self) -> Result<Uuid, StoreError> {
        self.get::<&[u8]>().and_then(as_uuid)
    }

    pub(crate) fn maybe_uuid(&mut self) -> Result<Option<Uuid>, StoreError> {
        self.get::<Option<&[u8]>>()?.map(as_uuid).transpose()
    }

    pub(crate) fn number<T: TryFrom<i64>>(&mut self) -> Result<T, StoreError> {
        as_number(self.get()?)
    }

    pub(crate) fn time(&mut self) -> Result<Timestamp, StoreError> {
        self.get().map(Timestamp::from_millis)
    }

    pub(crate) fn maybe_time(&mut self) -> Result<Option<Timestamp>, StoreError> {
        Ok(self.get::<Option<i64>>()?.map(Timestamp::from_millis))
    }

    /// A text of one of the model's types.
    pub(crate) fn parsed<T: TryFrom<String, Error: std::fmt::Display>>(&mut self) -> Result<T, StoreError> {
        as_parsed(self.get()?)
    }

    pub(crate) fn maybe_parsed<T: TryFrom<String, Error: std::fmt::Display>>(&mut self) -> Result<Option<T>, StoreError> {
        self.get::<Option<String>>()?.map(as_parsed).transpose()
    }

    pub(crate) fn json<T: DeserializeOwned>(&mut self) -> Result<T, StoreError> {
        as_json(self.get()?)
    }

    pub(crate) fn maybe_json<T: DeserializeOwned>(&mut self) -> Result<Option<T>, StoreError> {
        self.get::<Option<&str>>()?.map(as_json).transpose()
    }

    /// A list; most are empty.
    pub(crate) fn list<T: DeserializeOwned>(&mut self) -> Result<Vec<T>, StoreError> {
        match self.get::<&str>()? {
            "[]" => Ok(Vec::new()),
            text => as_json(text),
        }
    }

    /// Ids that SQL packed into one text, 32 hex digits each: one cell instead of a row for each.
    pub(crate) fn packed(&mut self) -> Result<Vec<Uuid>, StoreError> {
        let text = self.get::<Option<&str>>()?.unwrap_or_default();
        text.as_bytes().chunks(32).map(as_hex_uuid).collect()
    }
}

/// An id from its 32 hex digits.
pub(crate) fn as_hex_uuid(digits: &[u8]) -> Result<Uuid, StoreError> {
    Uuid::try_parse_ascii(digits).map_err(|_| corrupt("an id in hex has not 32 digits"))
}

pub(crate) fn as_number<T: TryFrom<i64>>(number: i64) -> Result<T, StoreError> {
    T::try_from(number).map_err(|_| corrupt(format!("{number} is out of range")))
}

fn as_uuid(bytes: &[u8]) -> Result<Uuid, StoreError> {
    Uuid::from_slice(bytes).map_err(|_| corrupt("an id has not 16 bytes"))
}

fn as_parsed<T: TryFrom<String, Error: std::fmt::Display>>(text: String) -> Result<T, StoreError> {
    T::try_from(text).map_err(|error| corrupt(format!("a stored text {error}")))
}

fn as_json<T: DeserializeOwned>(text: &str) -> Result<T, StoreError> {
    serde_json::from_str(text).map_err(|error| StoreError::Corrupt(Some(error.into())))
}
