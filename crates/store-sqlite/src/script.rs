//! Statements on their way to SQLite, with their values.
//!
//! The text of a statement depends on the shape of a request alone, never on its rows or values: values are bound, lists
//! are bound as one JSON array. That keeps the prepared statements in the cache of the connection.

use std::borrow::Cow;
use std::fmt;

use rusqlite::ToSql;
use rusqlite::types::{ToSqlOutput, ValueRef};
use serde::Serialize;
use uuid::Uuid;

/// Statements, run in order.
#[derive(Clone, Debug, Default)]
pub(crate) struct Script {
    statements: Vec<Statement>,
    /// Values that statements name by their places.
    values: Vec<Value>,
}

/// One statement.
#[derive(Clone, Debug)]
struct Statement {
    sql: Cow<'static, str>,
    values: Values,
}

/// What a statement is run with.
#[derive(Clone, Debug)]
enum Values {
    /// Those of the script, by their places.
    Shared,
    /// Rows of its own, one value for each question mark: it is run for each.
    Rows(Vec<Vec<Value>>),
}

/// The place of a bound value, as a statement spells it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Param(usize);

impl fmt::Display for Param {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "?{}", self.0)
    }
}

/// A value to be bound.
#[derive(Clone, Debug)]
pub(crate) enum Value {
    Null,
    Int(i64),
    Text(String),
    Id(Uuid),
    Blob(Vec<u8>),
}

impl Value {
    /// Plain data as JSON.
    pub(crate) fn json(value: &impl Serialize) -> Self {
        // What is given here is made of texts, numbers and lists of them: it always serialises.
        Self::Text(serde_json::to_string(value).unwrap_or_default())
    }

    /// Ids as a JSON array of hex texts.
    pub(crate) fn ids(ids: impl IntoIterator<Item = Uuid>) -> Self {
        let ids: Vec<Hex> = ids.into_iter().map(Hex).collect();
        Self::json(&ids)
    }
}

impl From<i64> for Value {
    fn from(value: i64) -> Self {
        Self::Int(value)
    }
}

impl From<u32> for Value {
    fn from(value: u32) -> Self {
        Self::Int(value.into())
    }
}

impl From<usize> for Value {
    fn from(value: usize) -> Self {
        Self::Int(i64::try_from(value).unwrap_or(i64::MAX))
    }
}

impl From<u8> for Value {
    fn from(value: u8) -> Self {
        Self::Int(value.into())
    }
}

impl From<u64> for Value {
    /// Versions and fences, which count from zero: none comes near the end of what a column holds.
    fn from(value: u64) -> Self {
        Self::Int(i64::try_from(value).unwrap_or(i64::MAX))
    }
}

impl From<bool> for Value {
    fn from(value: bool) -> Self {
        Self::Int(value.into())
    }
}

impl From<&str> for Value {
    fn from(value: &str) -> Self {
        Self::Text(value.to_owned())
    }
}

impl From<String> for Value {
    fn from(value: String) -> Self {
        Self::Text(value)
    }
}

impl From<Uuid> for Value {
    fn from(value: Uuid) -> Self {
        Self::Id(value)
    }
}

impl<T: Into<Self>> From<Option<T>> for Value {
    fn from(value: Option<T>) -> Self {
        value.map_or(Self::Null, Into::into)
    }
}

impl ToSql for Value {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(ToSqlOutput::Borrowed(match self {
            Self::Null => ValueRef::Null,
            Self::Int(value) => ValueRef::Integer(*value),
            Self::Text(value) => ValueRef::Text(value.as_bytes()),
            Self::Id(value) => ValueRef::Blob(value.as_bytes()),
            Self::Blob(value) => ValueRef::Blob(value),
        }))
    }
}

impl Script {
    /// Adds one statement, without its semicolon. Its values are named by their places.
    pub(crate) fn add(&mut self, statement: impl Into<Cow<'static, str>>) {
        self.statements.push(Statement { sql: statement.into(), values: Values::Shared });
    }

    /// Adds one statement that is run for each of these rows of values; nothing where there are none.
    pub(crate) fn put(&mut self, statement: &'static str, rows: impl IntoIterator<Item = Vec<Value>>) {
        let rows: Vec<Vec<Value>> = rows.into_iter().collect();
        if !rows.is_empty() {
            self.statements.push(Statement { sql: statement.into(), values: Values::Rows(rows) });
        }
    }

    /// Adds one statement that is run for each of these rows: each takes the place of the first values that were bound.
    pub(crate) fn add_each(&mut self, statement: String, rows: impl IntoIterator<Item = Vec<Value>>) {
        let whole = |mut row: Vec<Value>| {
            row.extend(self.values.iter().skip(row.len()).cloned());
            row
        };
        let rows = rows.into_iter().map(whole).collect();
        self.statements.push(Statement { sql: statement.into(), values: Values::Rows(rows) });
    }

    pub(crate) fn int(&mut self, value: i64) -> Param {
        self.bind(Value::Int(value))
    }

    /// A limit, as an expression: SQLite compiles a statement anew for each value of a bare parameter that limits it.
    pub(crate) fn limit(&mut self, value: usize) -> String {
        let value = self.int(i64::try_from(value).unwrap_or(i64::MAX));
        format!("({value} + 0)")
    }

    pub(crate) fn text(&mut self, value: impl Into<String>) -> Param {
        self.bind(Value::Text(value.into()))
    }

    pub(crate) fn blob(&mut self, value: impl Into<Vec<u8>>) -> Param {
        self.bind(Value::Blob(value.into()))
    }

    pub(crate) fn uuid(&mut self, value: Uuid) -> Param {
        self.bind(value)
    }

    /// A list or a row as JSON, to be read by `json_each` or `jsonb_each`.
    pub(crate) fn json(&mut self, value: &impl Serialize) -> Param {
        self.bind(Value::json(value))
    }

    /// Ids as a JSON array of hex texts.
    pub(crate) fn uuids(&mut self, ids: impl IntoIterator<Item = Uuid>) -> Param {
        self.bind(Value::ids(ids))
    }

    /// How many statements there are.
    pub(crate) fn len(&self) -> usize {
        self.statements.len()
    }

    /// The statements, each with the rows of values it is run with.
    pub(crate) fn statements(&self) -> impl Iterator<Item = (&str, &[Vec<Value>])> {
        self.statements.iter().map(|one| {
            let rows = match &one.values {
                Values::Shared => std::slice::from_ref(&self.values),
                Values::Rows(rows) => rows.as_slice(),
            };
            (one.sql.as_ref(), rows)
        })
    }

    /// The first so many of its statements.
    #[cfg(feature = "plant")]
    pub(crate) fn first(&self, statements: usize) -> Self {
        Self { statements: self.statements.iter().take(statements).cloned().collect(), values: self.values.clone() }
    }

    /// Asks how SQLite would run the first statement, instead of running it.
    #[cfg(test)]
    pub(crate) fn explained(mut self) -> Self {
        let first = &mut self.statements[0];
        first.sql = format!("EXPLAIN QUERY PLAN {}", first.sql).into();
        self
    }

    fn bind(&mut self, value: impl Into<Value>) -> Param {
        self.values.push(value.into());
        Param(self.values.len())
    }
}

/// A UUID as the 32 hex digits that `unhex` reads: JSON cannot hold bytes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Hex(pub(crate) Uuid);

impl Serialize for Hex {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.0.simple().encode_lower(&mut Uuid::encode_buffer()))
    }
}
