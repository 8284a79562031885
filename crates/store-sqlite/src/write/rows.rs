//! Rows on their way into a table: one is bound value by value, several as one JSON array of arrays.
//!
//! Most writes concern one row, and taking JSON apart costs several times what the write itself does. A text for each
//! number of rows would fill the cache of prepared statements, so there are two: for one, and for more.

use crate::script::{Script, Value};

/// Rows with the same columns.
pub(super) struct Rows {
    columns: Vec<&'static str>,
    /// How a statement spells each cell of a row.
    cells: Vec<String>,
    /// Where the rows come from, when there are several.
    list: Option<String>,
}

impl Rows {
    /// Binds rows; nothing when there are none. Every row has a value for each column.
    pub(super) fn bind(script: &mut Script, columns: &[&'static str], mut rows: Vec<Vec<Value>>) -> Option<Self> {
        let columns = columns.to_vec();
        if rows.len() > 1 {
            let list = format!("jsonb_each({}) j", script.json(&rows));
            let cells = columns.iter().enumerate().map(|(place, column)| cell(place, column)).collect();
            return Some(Self { columns, cells, list: Some(list) });
        }
        let cells = rows.pop()?.into_iter().map(|value| script.bind(value).to_string()).collect();
        Some(Self { columns, cells, list: None })
    }

    /// Inserts the rows in the order given, as far as their columns are named; `otherwise` says what becomes of a row
    /// that is there already.
    pub(super) fn insert(&self, script: &mut Script, table: &str, columns: &[&str], otherwise: &str) {
        let cells: Vec<&str> = columns.iter().map(|column| self.cell(column)).collect();
        let (columns, cells) = (columns.join(", "), cells.join(", "));
        script.add(&match &self.list {
            None => format!("INSERT INTO {table} ({columns}) VALUES ({cells}) {otherwise}"),
            Some(list) => {
                format!(
                    "INSERT INTO {table} ({columns}) SELECT {cells} FROM {list} WHERE true ORDER BY j.key {otherwise}"
                )
            }
        });
    }

    /// Sets columns of the rows with the same id, where `only` holds.
    pub(super) fn update(&self, script: &mut Script, table: &str, columns: &[&str], only: &str) {
        let set: Vec<String> = columns.iter().map(|column| format!("{column} = {}", self.cell(column))).collect();
        let set = set.join(", ");
        let from = self.list.as_ref().map_or_else(String::new, |list| format!("FROM {list}"));
        script.add(&format!("UPDATE {table} SET {set} {from} WHERE {table}.id = {} AND {only}", self.cell("id")));
    }

    /// The items `i` that the rows are about: a FROM clause, and what must hold.
    pub(super) fn items(&self) -> (String, String) {
        let from = self.list.as_ref().map_or_else(String::new, |list| format!("{list} CROSS JOIN "));
        (format!("{from}items i"), format!("i.id = {}", self.cell("id")))
    }

    /// How a statement spells the cell of a row.
    pub(super) fn cell(&self, column: &str) -> &str {
        let mut cells = self.columns.iter().zip(&self.cells);
        let found = cells.find(|(known, _)| **known == column);
        found.map_or_else(|| unreachable!("rows without a column {column}"), |(_, cell)| cell)
    }
}

fn cell(place: usize, column: &str) -> String {
    // Ids and digests are bytes.
    if ["id", "unit", "digest"].contains(&column) || column.ends_with("_id") {
        format!("unhex(j.value ->> {place})")
    } else {
        format!("j.value ->> {place}")
    }
}
