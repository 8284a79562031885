//! The baselines: the same rows written by hand with sqlx, as well as we know how.
//!
//! A claim is one text of prepared statements sent in one round trip: the best ready item is taken by the index that the
//! product uses, its claim columns are set, the event is recorded. Nothing is decided in between and nothing is answered
//! but the item's id and fence: no rule, no look at who holds what, no check of a fence, no stored answer. The connection
//! is set up as the product sets up its own.

use std::path::Path;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use anyhow::{Context as _, Result, ensure};
use docket_core::model::ProjectId;
use sqlx::sqlite::{SqliteArguments, SqliteConnectOptions, SqliteConnection, SqliteRow};
use sqlx::{
    Arguments as _, AssertSqlSafe, ConnectOptions as _, Connection as _, Row as _, TypeInfo as _, ValueRef as _,
};
use uuid::Uuid;

use crate::base::PRINCIPAL;

/// The lease of a claim, as the workflow's default is.
const TTL_SECONDS: i64 = 900;

const CLAIM: &str = "\
UPDATE items SET holder = $1, claimed_at = $2, claim_expires_at = $3, original_claimed_at = $2, claim_ttl = $4, \
fence = fence + 1 WHERE pk = (SELECT pk FROM items INDEXED BY items_ready WHERE project_id = $5 AND role = 0 \
AND offered = 1 AND holder IS NULL AND role <> 4 ORDER BY rank, number LIMIT 1) RETURNING id, fence;
INSERT INTO events (id, unit, at, project_id, item_id, verb, principal, attribution, data) \
SELECT $6, $7, $2, $5, id, 4, $8, $9, $10 FROM items WHERE holder = $1;";

/// One connection to a database.
pub(crate) struct Raw {
    connection: SqliteConnection,
    claim: String,
    claim_and_commit: String,
}

impl Raw {
    /// Opens a database that the product has made; every commit is flushed.
    pub(crate) async fn open(path: &Path) -> Result<Self> {
        let connection = SqliteConnectOptions::new()
            .filename(path)
            .busy_timeout(Duration::from_secs(10))
            .statement_cache_capacity(256)
            .row_buffer_size(1024)
            .foreign_keys(true)
            .pragma("synchronous", "FULL")
            .pragma("temp_store", "MEMORY")
            .pragma("cache_size", "-8192")
            .pragma("wal_autocheckpoint", "2000")
            .disable_statement_logging()
            .connect()
            .await
            .with_context(|| path.display().to_string())?;
        let claim_and_commit = format!("BEGIN IMMEDIATE;\n{CLAIM}\nCOMMIT;");
        Ok(Self { connection, claim: CLAIM.to_owned(), claim_and_commit })
    }

    /// Claims the best ready item in a commit of its own.
    pub(crate) async fn claim(&mut self, project: ProjectId, agent: &str) -> Result<()> {
        let rows = self.run(&self.claim_and_commit.clone(), claim_values(project, agent)?).await?;
        ensure!(rows.len() == 1, "no item was left to claim");
        Ok(())
    }

    /// Claims so many items in one commit.
    pub(crate) async fn claim_together(&mut self, project: ProjectId, agents: &[String]) -> Result<()> {
        self.run("BEGIN IMMEDIATE", SqliteArguments::default()).await?;
        for agent in agents {
            let rows = self.run(&self.claim.clone(), claim_values(project, agent)?).await?;
            ensure!(rows.len() == 1, "no item was left to claim");
        }
        self.run("COMMIT", SqliteArguments::default()).await?;
        Ok(())
    }

    /// Runs statements in one round trip and returns the rows of all.
    pub(crate) async fn run(&mut self, sql: &str, values: SqliteArguments) -> Result<Vec<SqliteRow>> {
        Ok(sqlx::query_with(AssertSqlSafe(sql.to_owned()), values).fetch_all(&mut self.connection).await?)
    }

    pub(crate) async fn close(self) -> Result<()> {
        Ok(self.connection.close().await?)
    }
}

/// Values for one text of statements, in order.
#[derive(Default)]
pub(crate) struct Values(SqliteArguments);

impl Values {
    pub(crate) fn add<'v, T>(&mut self, value: T) -> Result<()>
    where
        T: sqlx::Encode<'v, sqlx::Sqlite> + sqlx::Type<sqlx::Sqlite>,
    {
        self.0.add(value).map_err(|error| anyhow::anyhow!("a value cannot be bound: {error}"))
    }

    /// Adds a cell as it was read.
    pub(crate) fn add_cell(&mut self, row: &SqliteRow, column: usize) -> Result<()> {
        let cell = row.try_get_raw(column)?;
        let (is_null, kind) = (cell.is_null(), cell.type_info().name().to_owned());
        match kind.as_str() {
            _ if is_null => self.add(None::<i64>),
            "INTEGER" => self.add(row.try_get_unchecked::<i64, _>(column)?),
            "TEXT" => self.add(row.try_get_unchecked::<String, _>(column)?),
            "BLOB" => self.add(row.try_get_unchecked::<Vec<u8>, _>(column)?),
            kind => anyhow::bail!("a cell of the type {kind}"),
        }
    }

    pub(crate) fn done(self) -> SqliteArguments {
        self.0
    }
}

fn claim_values(project: ProjectId, agent: &str) -> Result<SqliteArguments> {
    let now = i64::try_from(SystemTime::now().duration_since(UNIX_EPOCH)?.as_millis())?;
    let expires = now + TTL_SECONDS * 1000;
    let mut values = Values::default();
    values.add(agent.to_owned())?;
    values.add(now)?;
    values.add(expires)?;
    values.add(TTL_SECONDS)?;
    values.add(project.as_uuid().into_bytes().to_vec())?;
    values.add(Uuid::new_v4().into_bytes().to_vec())?;
    values.add(Uuid::new_v4().into_bytes().to_vec())?;
    values.add(PRINCIPAL)?;
    values.add(format!(
        r#"{{"actor":{{"id":"{agent}","kind":"subagent"}},"verification":{{"status":"unchecked","verifier":"noop"}}}}"#
    ))?;
    values.add(format!(
        r#"{{"set":{{"claim":{{"holder":"{agent}","claimedAt":"2026-01-01T00:00:00.000Z","expiresAt":"2026-01-01T00:15:00.000Z","originalClaimedAt":"2026-01-01T00:00:00.000Z","ttlSeconds":900}},"fence":1}}}}"#
    ))?;
    Ok(values.done())
}
