//! One statement in the making, with the values it binds.
//!
//! A round trip to a server costs more than most statements do, so whatever belongs together is one statement. Its text
//! depends on the shape of a request alone, never on its rows or values: values are bound, lists are bound as arrays. That
//! keeps the prepared statements of a connection few.

use std::fmt;

use serde::Serialize;
use sqlx::Arguments;
use sqlx::postgres::PgArguments;
use uuid::Uuid;

/// A statement with its values.
#[derive(Clone, Debug, Default)]
pub(crate) struct Script {
    sql: String,
    values: Vec<Value>,
}

/// The place of a bound value, as a statement spells it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Param(usize);

impl fmt::Display for Param {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "${}", self.0)
    }
}

/// A value to be bound: one, or one for each of several rows.
#[derive(Clone, Debug)]
pub(crate) enum Value {
    Int(i64),
    Text(String),
    Id(Uuid),
    Bytes(Vec<u8>),
    Ints(Vec<Option<i64>>),
    Texts(Vec<Option<String>>),
    Ids(Vec<Option<Uuid>>),
    Bools(Vec<Option<bool>>),
}

impl Script {
    /// Sets the statement.
    pub(crate) fn set(&mut self, statement: String) {
        self.sql = statement;
    }

    pub(crate) fn int(&mut self, value: i64) -> Param {
        self.bind(Value::Int(value))
    }

    /// A limit. It stands in the text, since a plan depends on it: only for limits of which there are few.
    pub(crate) fn limit(value: usize) -> String {
        i64::try_from(value).unwrap_or(i64::MAX).to_string()
    }

    /// A limit that a caller chooses.
    pub(crate) fn page(&mut self, value: usize) -> Param {
        self.int(i64::try_from(value).unwrap_or(i64::MAX))
    }

    pub(crate) fn text(&mut self, value: impl Into<String>) -> Param {
        self.bind(Value::Text(value.into()))
    }

    pub(crate) fn bytes(&mut self, value: impl Into<Vec<u8>>) -> Param {
        self.bind(Value::Bytes(value.into()))
    }

    pub(crate) fn uuid(&mut self, value: Uuid) -> Param {
        self.bind(Value::Id(value))
    }

    /// Ids, as an array.
    pub(crate) fn uuids(&mut self, ids: impl IntoIterator<Item = Uuid>) -> Param {
        self.bind(Value::Ids(ids.into_iter().map(Some).collect()))
    }

    /// Numbers, as an array.
    pub(crate) fn ints(&mut self, numbers: impl IntoIterator<Item = i64>) -> Param {
        self.bind(Value::Ints(numbers.into_iter().map(Some).collect()))
    }

    /// Texts, as an array.
    pub(crate) fn texts<T: Into<String>>(&mut self, texts: impl IntoIterator<Item = T>) -> Param {
        self.bind(Value::Texts(texts.into_iter().map(|text| Some(text.into())).collect()))
    }

    pub(crate) fn bind(&mut self, value: Value) -> Param {
        self.values.push(value);
        Param(self.values.len())
    }

    /// The text and the values as sqlx takes them.
    pub(crate) fn into_parts(self) -> Result<(String, PgArguments), sqlx::Error> {
        let mut arguments = PgArguments::default();
        for value in self.values {
            let added = match value {
                Value::Int(value) => arguments.add(value),
                Value::Text(value) => arguments.add(value),
                Value::Id(value) => arguments.add(value),
                Value::Bytes(value) => arguments.add(value),
                Value::Ints(value) => arguments.add(value),
                Value::Texts(value) => arguments.add(value),
                Value::Ids(value) => arguments.add(value),
                Value::Bools(value) => arguments.add(value),
            };
            added.map_err(sqlx::Error::Encode)?;
        }
        Ok((self.sql, arguments))
    }
}

/// Plain data as JSON.
pub(crate) fn json(value: &impl Serialize) -> String {
    // What is given here is made of texts, numbers and lists of them: it always serialises.
    serde_json::to_string(value).unwrap_or_default()
}
