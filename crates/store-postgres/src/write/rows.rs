//! Rows on their way into a table: each column is bound as one array, whatever the number of rows.

use uuid::Uuid;

use crate::script::{Script, Value};

/// How a column is bound, and how a statement reads it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Id,
    Int,
    Bool,
    Text,
    /// A document kept as it was written.
    Json,
    /// A list that is looked into.
    List,
    /// Words apart by spaces.
    Words,
    /// Bytes, as hex digits on their way.
    Hex,
}

/// A column: its name and kind.
pub(super) type Column = (&'static str, Kind);

/// A value in a row, or none.
#[derive(Clone, Debug)]
pub(super) enum Cell {
    Id(Option<Uuid>),
    Int(Option<i64>),
    Bool(bool),
    Text(Option<String>),
}

impl From<Uuid> for Cell {
    fn from(value: Uuid) -> Self {
        Self::Id(Some(value))
    }
}

impl From<Option<Uuid>> for Cell {
    fn from(value: Option<Uuid>) -> Self {
        Self::Id(value)
    }
}

impl From<i64> for Cell {
    fn from(value: i64) -> Self {
        Self::Int(Some(value))
    }
}

impl From<Option<i64>> for Cell {
    fn from(value: Option<i64>) -> Self {
        Self::Int(value)
    }
}

impl From<u8> for Cell {
    fn from(value: u8) -> Self {
        Self::Int(Some(value.into()))
    }
}

impl From<u32> for Cell {
    fn from(value: u32) -> Self {
        Self::Int(Some(value.into()))
    }
}

impl From<u64> for Cell {
    /// Versions and fences, which count from zero: none comes near the end of what a column holds.
    fn from(value: u64) -> Self {
        Self::Int(Some(i64::try_from(value).unwrap_or(i64::MAX)))
    }
}

impl From<bool> for Cell {
    fn from(value: bool) -> Self {
        Self::Bool(value)
    }
}

impl From<&str> for Cell {
    fn from(value: &str) -> Self {
        Self::Text(Some(value.to_owned()))
    }
}

impl From<String> for Cell {
    fn from(value: String) -> Self {
        Self::Text(Some(value))
    }
}

impl From<Option<&str>> for Cell {
    fn from(value: Option<&str>) -> Self {
        Self::Text(value.map(str::to_owned))
    }
}

impl From<Option<String>> for Cell {
    fn from(value: Option<String>) -> Self {
        Self::Text(value)
    }
}

/// Rows with the same columns, as a statement's source `r`.
pub(super) struct Rows {
    columns: Vec<Column>,
    from: String,
}

impl Rows {
    /// Binds rows; nothing when there are none. Every row has a value for each column.
    pub(super) fn bind(script: &mut Script, columns: &[Column], rows: Vec<Vec<Cell>>) -> Option<Self> {
        if rows.is_empty() {
            return None;
        }
        let count = rows.len();
        let mut arrays: Vec<Vec<Cell>> = columns.iter().map(|_| Vec::with_capacity(count)).collect();
        for row in rows {
            arrays.iter_mut().zip(row).for_each(|(array, cell)| array.push(cell));
        }
        let params: Vec<String> =
            columns.iter().zip(arrays).map(|((_, kind), cells)| script.bind(array(*kind, cells)).to_string()).collect();
        let names: Vec<&str> = columns.iter().map(|(name, _)| *name).collect();
        let from = format!("unnest({}) WITH ORDINALITY r ({}, place)", params.join(", "), names.join(", "));
        Some(Self { columns: columns.to_vec(), from })
    }

    /// Inserts the rows in the order given, as far as their columns are named; `otherwise` says what becomes of a row
    /// that is there already, or what to return.
    pub(super) fn insert(&self, table: &str, columns: &[Column], otherwise: &str) -> String {
        self.insert_after(table, columns, "", otherwise)
    }

    /// The same after something else was done, which is a source of one row.
    pub(super) fn insert_after(&self, table: &str, columns: &[Column], before: &str, otherwise: &str) -> String {
        let cells: Vec<String> = columns.iter().map(|(name, _)| self.cell(name)).collect();
        let names: Vec<&str> = columns.iter().map(|(name, _)| *name).collect();
        format!(
            "INSERT INTO {table} ({}) SELECT {} FROM {before} {} WHERE true ORDER BY r.place {otherwise}",
            names.join(", "),
            cells.join(", "),
            self.from
        )
    }

    /// Inserts or replaces rows by `entry_id`, each with a number in `place` that follows from the `base` of another part.
    pub(super) fn insert_placed(&self, table: &str, columns: &[Column], place: &str, base: &str) -> String {
        let cells: Vec<String> = columns.iter().map(|(name, _)| self.cell(name)).collect();
        let names: Vec<&str> = columns.iter().map(|(name, _)| *name).collect();
        let set = names.iter().chain([&place]).map(|name| format!("{name} = excluded.{name}"));
        format!(
            "INSERT INTO {table} ({}, {place}) SELECT {}, b.base + r.place FROM {base} b CROSS JOIN {} \
             ON CONFLICT (entry_id) DO UPDATE SET {}",
            names.join(", "),
            cells.join(", "),
            self.from,
            set.collect::<Vec<_>>().join(", ")
        )
    }

    /// Sets columns of the rows with the same id, where `only` holds.
    pub(super) fn update(&self, table: &str, columns: &[Column], only: &str) -> String {
        let set: Vec<String> = columns.iter().map(|(name, _)| format!("{name} = {}", self.cell(name))).collect();
        format!(
            "UPDATE {table} SET {} FROM {} WHERE {table}.id = r.id AND {only} RETURNING 1",
            set.join(", "),
            self.from
        )
    }

    /// How a statement spells the cell of a row.
    fn cell(&self, column: &str) -> String {
        let kind = self.columns.iter().find(|(known, _)| *known == column).map(|(_, kind)| *kind);
        match kind {
            Some(Kind::Id | Kind::Int | Kind::Bool | Kind::Text) => format!("r.{column}"),
            Some(Kind::Json) => format!("r.{column}::json"),
            Some(Kind::List) => format!("r.{column}::jsonb"),
            Some(Kind::Words) => format!("array_to_tsvector(string_to_array(r.{column}, ' '))"),
            Some(Kind::Hex) => format!("decode(r.{column}, 'hex')"),
            None => unreachable!("rows without a column {column}"),
        }
    }
}

fn array(kind: Kind, cells: Vec<Cell>) -> Value {
    match kind {
        Kind::Id => Value::Ids(cells.into_iter().map(|cell| if let Cell::Id(id) = cell { id } else { None }).collect()),
        Kind::Int => Value::Ints(
            cells.into_iter().map(|cell| if let Cell::Int(number) = cell { number } else { None }).collect(),
        ),
        Kind::Bool => Value::Bools(
            cells.into_iter().map(|cell| if let Cell::Bool(flag) = cell { Some(flag) } else { None }).collect(),
        ),
        Kind::Text | Kind::Json | Kind::List | Kind::Words | Kind::Hex => {
            Value::Texts(cells.into_iter().map(|cell| if let Cell::Text(text) = cell { text } else { None }).collect())
        }
    }
}
