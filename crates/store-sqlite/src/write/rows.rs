//! A statement about rows on their way into a table, in two texts: for one row, and for several.
//!
//! Most writes concern one row, whose cells are bound one by one: taking JSON apart costs several times what the write
//! itself does. Several rows are bound as one JSON array of arrays: a text for each number of rows would fill the cache
//! of prepared statements. Both texts are made once; a row's cells come in the order of the columns.

use crate::script::{Script, Value};

/// The rows, when there are several.
const LIST: &str = "jsonb_each(?) j";

/// What is done with rows.
pub(super) struct Rows {
    one: String,
    several: String,
}

impl Rows {
    /// Inserts rows in the order given; `otherwise` says what becomes of a row that is there already.
    pub(super) fn insert(table: &str, columns: &[&str], otherwise: &str) -> Self {
        let marks = vec!["?"; columns.len()].join(", ");
        let cells: Vec<String> = columns.iter().enumerate().map(|(place, column)| cell(place, column)).collect();
        let (columns, cells) = (columns.join(", "), cells.join(", "));
        Self {
            one: format!("INSERT INTO {table} ({columns}) VALUES ({marks}) {otherwise}"),
            several: format!(
                "INSERT INTO {table} ({columns}) SELECT {cells} FROM {LIST} WHERE true ORDER BY j.key {otherwise}"
            ),
        }
    }

    /// Sets columns of the rows with the id that is the last cell.
    pub(super) fn update(table: &str, columns: &[&str]) -> Self {
        let set = |value: &dyn Fn(usize, &str) -> String| {
            let set: Vec<String> = columns
                .iter()
                .enumerate()
                .map(|(place, column)| format!("{column} = {}", value(place, column)))
                .collect();
            set.join(", ")
        };
        let id = cell(columns.len(), "id");
        Self {
            one: format!("UPDATE {table} SET {} WHERE id = ?", set(&|_, _| "?".to_owned())),
            several: format!("UPDATE {table} SET {} FROM {LIST} WHERE {table}.id = {id}", set(&cell)),
        }
    }

    /// Does something with a cell for each item `i`, whose id is the second cell. The texts are for one item and for
    /// several: in the second, `j.value ->> 0` is the cell and the items are named by `{items}`.
    pub(super) fn of_items(one: &str, several: &str) -> Self {
        let items = format!("{LIST} CROSS JOIN items i ON i.id = {}", cell(1, "id"));
        Self { one: one.to_owned(), several: several.replace("{items}", &items) }
    }

    /// Adds the statement; none where there are no rows.
    pub(super) fn add(&self, script: &mut Script, rows: impl IntoIterator<Item = Vec<Value>>) {
        let mut rows: Vec<Vec<Value>> = rows.into_iter().collect();
        match rows.len() {
            0 => {}
            1 => script.put(&self.one, rows.swap_remove(0)),
            _ => script.put(&self.several, [Value::json(&rows)]),
        }
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
