//! The baselines: the same rows written by hand, as well as we know how.
//!
//! A claim is two prepared statements: the best ready item is taken by the index that the product uses and its claim
//! columns are set, the event is recorded. Nothing is decided in between and nothing is answered but the item's id and
//! fence: no rule, no look at who holds what, no check of a fence, no stored answer. The connection is set up as the
//! product sets up its own.

use std::path::Path;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use anyhow::{Context as _, Result, anyhow, ensure};
use docket_core::model::ProjectId;
use rusqlite::types::Value;
use rusqlite::{Connection, params, params_from_iter};
use uuid::Uuid;

use crate::base::PRINCIPAL;

/// The lease of a claim, as the workflow's default is.
const TTL_SECONDS: i64 = 900;

const CLAIM: &str = "\
UPDATE items SET holder = ?1, claimed_at = ?2, claim_expires_at = ?3, original_claimed_at = ?2, claim_ttl = ?4, \
fence = fence + 1 WHERE pk = (SELECT pk FROM items INDEXED BY items_ready WHERE project_id = ?5 AND role = 0 \
AND offered = 1 AND holder IS NULL AND role <> 4 ORDER BY rank, number LIMIT 1) RETURNING id, fence";
const RECORD: &str = "\
INSERT INTO events (id, unit, at, project_id, item_id, verb, principal, attribution, data) \
VALUES (?, ?, ?, ?, ?, 4, ?, ?, ?)";

/// One connection to a database.
pub(crate) struct Raw(Connection);

/// The cells of a row, each with the name of its column.
pub(crate) type Cells = Vec<(String, Value)>;

impl Raw {
    /// Opens a database that the product has made; every commit is flushed.
    pub(crate) fn open(path: &Path) -> Result<Self> {
        let connection = Connection::open(path).with_context(|| path.display().to_string())?;
        connection.busy_timeout(Duration::from_secs(10))?;
        connection.set_prepared_statement_cache_capacity(256);
        connection.execute_batch(
            "PRAGMA foreign_keys = ON; PRAGMA synchronous = FULL; PRAGMA temp_store = MEMORY; \
             PRAGMA cache_size = -8192; PRAGMA wal_autocheckpoint = 2000",
        )?;
        Ok(Self(connection))
    }

    /// Claims the best ready item in a commit of its own.
    pub(crate) fn claim(&mut self, project: ProjectId, agent: &str) -> Result<()> {
        self.run("BEGIN IMMEDIATE", &[])?;
        self.claim_one(project, agent)?;
        self.run("COMMIT", &[])
    }

    /// Claims so many items in one commit.
    pub(crate) fn claim_together(&mut self, project: ProjectId, agents: &[String]) -> Result<()> {
        self.run("BEGIN IMMEDIATE", &[])?;
        for agent in agents {
            self.claim_one(project, agent)?;
        }
        self.run("COMMIT", &[])
    }

    fn claim_one(&mut self, project: ProjectId, agent: &str) -> Result<()> {
        let now = i64::try_from(SystemTime::now().duration_since(UNIX_EPOCH)?.as_millis())?;
        let project = project.as_uuid().into_bytes();
        let claim = params![agent, now, now + TTL_SECONDS * 1000, TTL_SECONDS, project];
        let mut statement = self.0.prepare_cached(CLAIM)?;
        let mut claimed = statement.query_map(claim, |row| Ok((row.get::<_, Vec<u8>>(0)?, row.get::<_, i64>(1)?)))?;
        let (item, fence) = claimed.next().ok_or_else(|| anyhow!("no item was left to claim"))??;
        ensure!(claimed.next().is_none(), "one claim took two items");
        let attribution = format!(
            r#"{{"actor":{{"id":"{agent}","kind":"subagent"}},"verification":{{"status":"unchecked","verifier":"noop"}}}}"#
        );
        let data = format!(
            r#"{{"set":{{"claim":{{"holder":"{agent}","claimedAt":"2026-01-01T00:00:00.000Z","expiresAt":"2026-01-01T00:15:00.000Z","originalClaimedAt":"2026-01-01T00:00:00.000Z","ttlSeconds":900}},"fence":{fence}}}}}"#
        );
        let [id, unit] = [Uuid::new_v4(), Uuid::new_v4()].map(Uuid::into_bytes);
        self.0.prepare_cached(RECORD)?.execute(params![id, unit, now, project, item, PRINCIPAL, attribution, data])?;
        Ok(())
    }

    /// Runs a prepared statement.
    pub(crate) fn run(&mut self, sql: &str, values: &[Value]) -> Result<()> {
        let mut statement = self.0.prepare_cached(sql)?;
        let mut rows = statement.query(params_from_iter(values))?;
        while rows.next()?.is_some() {}
        Ok(())
    }

    /// All rows that a statement finds.
    pub(crate) fn rows(&mut self, sql: &str) -> Result<Vec<Cells>> {
        let mut statement = self.0.prepare(sql)?;
        let names: Vec<String> = statement.column_names().into_iter().map(str::to_owned).collect();
        let cells = |row: &rusqlite::Row<'_>| {
            names.iter().enumerate().map(|(place, name)| Ok((name.clone(), row.get(place)?))).collect()
        };
        let rows = statement.query_map([], cells)?.collect::<Result<_, _>>()?;
        Ok(rows)
    }

    pub(crate) fn close(self) -> Result<()> {
        self.0.close().map_err(|(_, error)| error.into())
    }
}

/// A cell by the name of its column.
pub(crate) fn cell<'c>(cells: &'c Cells, name: &str) -> Result<&'c Value> {
    cells.iter().find(|(column, _)| column == name).map(|(_, value)| value).with_context(|| format!("no column {name}"))
}
