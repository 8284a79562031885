//! Several statements sent to SQLite as one text, in one round trip.
//!
//! A round trip to the thread of a connection costs about ten times what a statement costs, so whatever belongs
//! together is one script. Its text depends on the shape of a request alone, never on its rows or values: values are
//! bound, lists are bound as one JSON array. That keeps the prepared statements in the cache of the connection.

use std::fmt;

use serde::Serialize;
use sqlx::Arguments;
use sqlx::sqlite::SqliteArguments;
use uuid::Uuid;

/// Statements with the values they share.
#[derive(Clone, Debug, Default)]
pub(crate) struct Script {
    sql: String,
    values: Vec<Value>,
    statements: u64,
    /// Whether a place was spelled.
    spelled: bool,
    /// Where each statement ends in the text, and the values that are its own.
    #[cfg(feature = "plant")]
    ends: Vec<(usize, Option<std::ops::Range<usize>>)>,
}

/// The place of a bound value, as a statement spells it.
///
/// It is spelled `$3`, not `?3`: SQLite numbers `$` parameters by appearance in each statement, so that none has holes.
/// With `?3` a statement that uses the third value alone has two unnamed ones before it, which sqlx counts as used up
/// until, some statements later, it silently binds nothing.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Param(usize);

impl fmt::Display for Param {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "${}", self.0)
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

/// Inside JSON, where bytes are the hex digits that `unhex` reads.
impl Serialize for Value {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Null => serializer.serialize_none(),
            Self::Int(value) => serializer.serialize_i64(*value),
            Self::Text(value) => serializer.serialize_str(value),
            Self::Id(value) => Hex(*value).serialize(serializer),
            Self::Blob(value) => {
                let digits: Vec<String> = value.iter().map(|byte| format!("{byte:02x}")).collect();
                serializer.serialize_str(&digits.concat())
            }
        }
    }
}

impl Script {
    /// Adds one statement, without its semicolon. Its values are named by their places.
    pub(crate) fn add(&mut self, statement: &str) {
        self.push(statement);
        #[cfg(feature = "plant")]
        self.ends.push((self.sql.len(), None));
    }

    /// Adds one statement with values of its own, one for each question mark: its text is always the same, whatever
    /// comes before it. sqlx counts question marks through the script, so all such statements come first in it.
    pub(crate) fn put(&mut self, statement: &str, values: impl IntoIterator<Item = Value>) {
        debug_assert!(!self.spelled, "a question mark after a place");
        #[cfg(feature = "plant")]
        let begin = self.values.len();
        self.push(statement);
        self.values.extend(values);
        #[cfg(feature = "plant")]
        self.ends.push((self.sql.len(), Some(begin..self.values.len())));
    }

    fn push(&mut self, statement: &str) {
        self.sql.push_str(statement);
        self.sql.push_str(";\n");
        self.statements += 1;
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
    pub(crate) fn statements(&self) -> u64 {
        self.statements
    }

    /// The statements one by one, each with its own values, or with all.
    #[cfg(feature = "plant")]
    pub(crate) fn one_by_one(&self) -> Vec<Self> {
        let begins = std::iter::once(0).chain(self.ends.iter().map(|(end, _)| *end));
        begins
            .zip(&self.ends)
            .map(|(begin, (end, own))| {
                let values = own.as_ref().map_or(&self.values[..], |own| &self.values[own.clone()]);
                let mut one = Self { values: values.to_vec(), ..Self::default() };
                one.add(self.sql[begin..*end].trim_end().trim_end_matches(';'));
                one
            })
            .collect()
    }

    /// Asks how SQLite would run the first statement, instead of running it.
    #[cfg(test)]
    pub(crate) fn explained(self) -> Self {
        Self { sql: format!("EXPLAIN QUERY PLAN {}", self.sql), ..self }
    }

    /// The text and the values as sqlx takes them.
    pub(crate) fn into_parts(self) -> Result<(String, SqliteArguments), sqlx::Error> {
        let mut arguments = SqliteArguments::default();
        for value in self.values {
            let added = match value {
                Value::Null => arguments.add(None::<i64>),
                Value::Int(value) => arguments.add(value),
                Value::Text(value) => arguments.add(value),
                Value::Id(value) => arguments.add(value.into_bytes().to_vec()),
                Value::Blob(value) => arguments.add(value),
            };
            added.map_err(sqlx::Error::Encode)?;
        }
        Ok((self.sql, arguments))
    }

    fn bind(&mut self, value: impl Into<Value>) -> Param {
        self.spelled = true;
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
