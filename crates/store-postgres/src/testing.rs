//! Statements of a test's own: to make a database for each test, and to do to one what no program of ours would.

use docket_core::store::StoreError;
use sqlx::{AssertSqlSafe, ConnectOptions, Connection, Row};

use crate::error::store_error;
use crate::options::PostgresOptions;

/// Runs statements, in one round trip and a connection of their own.
pub async fn run(url: &str, statements: &str) -> Result<(), StoreError> {
    let mut connection = PostgresOptions::parse(url)?.server.connect().await.map_err(store_error)?;
    let sent = sqlx::raw_sql(AssertSqlSafe(statements.to_owned()));
    sqlx::Executor::execute(&mut connection, sent).await.map_err(store_error)?;
    connection.close().await.map_err(store_error)
}

/// Asks a question whose answer is one text.
pub async fn ask(url: &str, question: &str) -> Result<String, StoreError> {
    let mut connection = PostgresOptions::parse(url)?.server.connect().await.map_err(store_error)?;
    let asked = sqlx::raw_sql(AssertSqlSafe(question.to_owned()));
    let row = sqlx::Executor::fetch_one(&mut connection, asked).await.map_err(store_error)?;
    let answer = row.try_get(0).map_err(store_error)?;
    connection.close().await.map_err(store_error)?;
    Ok(answer)
}
