//! A statement about rows on their way into a table: one text, made once, and run for each row.
//!
//! A row's cells are bound one by one, in the order of the columns. To send all rows as one JSON array was measured at
//! twice the cost of the inserts themselves.

/// Inserts a row; `otherwise` says what becomes of one that is there already.
pub(super) fn insert(table: &str, columns: &[&str], otherwise: &str) -> String {
    let marks = vec!["?"; columns.len()].join(", ");
    format!("INSERT INTO {table} ({}) VALUES ({marks}) {otherwise}", columns.join(", "))
}

/// Sets columns of the row with the id that is the last cell.
pub(super) fn update(table: &str, columns: &[&str]) -> String {
    let set: Vec<String> = columns.iter().map(|column| format!("{column} = ?")).collect();
    format!("UPDATE {table} SET {} WHERE id = ?", set.join(", "))
}
