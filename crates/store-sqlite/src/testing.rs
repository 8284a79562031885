//! Statements of a test's own: to do to a file what no program of ours would.

use std::path::Path;

use docket_core::store::StoreError;
use rusqlite::Connection;

use crate::error::store_error;

/// Runs statements, on a connection of their own.
pub fn run(database: &Path, statements: &str) -> Result<(), StoreError> {
    let connection = Connection::open(database).map_err(store_error)?;
    connection.execute_batch(statements).map_err(store_error)?;
    connection.close().map_err(|(_, error)| store_error(error))
}
