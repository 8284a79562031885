//! A Postgres server for the bench, and claims by a bare loop over sqlx: the statements of the product's claim, one round
//! trip each, with nothing around them.

use std::panic::catch_unwind;
use std::str::FromStr as _;
use std::time::{SystemTime, UNIX_EPOCH};

use anyhow::{Result, anyhow, ensure};
use docket_core::model::ProjectId;
use docket_test_cluster::{Cluster, Flushes, VARIABLE, at_database};
use sqlx::postgres::{PgConnectOptions, PgConnection};
use sqlx::{AssertSqlSafe, ConnectOptions as _, Connection as _, Row as _};
use uuid::Uuid;

use crate::base::PRINCIPAL;

const TTL_SECONDS: i64 = 900;
/// Waits as long as the product does.
const BEGIN: &str = "BEGIN; SET LOCAL lock_timeout = 10000; SET LOCAL idle_in_transaction_session_timeout = 10000";
const LOCK: &str = "\
SELECT id FROM items WHERE project_id = $1 AND role = 0 AND holder IS NULL AND role <> 4 AND offered \
ORDER BY rank, number LIMIT 2 FOR NO KEY UPDATE SKIP LOCKED";
const READ: &str =
    "SELECT id, version, fence, row_to_json(i)::text FROM items i WHERE id = ANY($1) ORDER BY rank, number";
const WRITE: &str = "\
WITH claimed AS (UPDATE items SET holder = $2, claimed_at = $3, claim_expires_at = $4, original_claimed_at = $3, \
claim_ttl = $5, fence = fence + 1 WHERE id = $1 AND version = $6 AND fence = $7 RETURNING id), \
told AS (INSERT INTO events (id, unit, at, project_id, item_id, verb, principal, attribution, data) \
SELECT $8, $9, $3, $10, c.id, 4, $11, $12::json, $13::json FROM claimed c WHERE docket_announce()) \
SELECT count(*) FROM claimed";

/// A server, and our share in it where it is a throwaway cluster.
pub(crate) struct Host {
    url: String,
    cluster: Option<Cluster>,
}

impl Host {
    /// The server that the environment names, or a new one that flushes every commit as a server in use does.
    pub(crate) fn find() -> Result<Self> {
        if let Ok(url) = std::env::var(VARIABLE)
            && !url.is_empty()
        {
            return Ok(Self { url, cluster: None });
        }
        let cluster = catch_unwind(|| Cluster::join(Flushes::Always)).map_err(|panic| {
            let said = panic.downcast_ref::<String>().cloned();
            anyhow!(said.unwrap_or_else(|| "no Postgres server can be started".to_owned()))
        })?;
        Ok(Self { url: cluster.url(), cluster: Some(cluster) })
    }

    /// Makes a database, empty or as another one is; returns its address.
    pub(crate) async fn database(&self, name: &str, like: Option<&str>) -> Result<String> {
        let like = like.unwrap_or("template0");
        let mut server = PgConnectOptions::from_str(&self.url)?.disable_statement_logging().connect().await?;
        for statement in [
            format!("DROP DATABASE IF EXISTS docket_bench_{name} WITH (FORCE)"),
            format!("CREATE DATABASE docket_bench_{name} TEMPLATE {like} ENCODING 'UTF8'"),
        ] {
            sqlx::raw_sql(AssertSqlSafe(statement)).execute(&mut server).await?;
        }
        server.close().await?;
        Ok(at_database(&self.url, &format!("docket_bench_{name}")))
    }

    /// Lets the server go.
    pub(crate) async fn leave(self, names: &[&str]) -> Result<()> {
        let mut server = PgConnectOptions::from_str(&self.url)?.disable_statement_logging().connect().await?;
        for name in names {
            let statement = format!("DROP DATABASE IF EXISTS docket_bench_{name} WITH (FORCE)");
            sqlx::raw_sql(AssertSqlSafe(statement)).execute(&mut server).await?;
        }
        server.close().await?;
        if let Some(cluster) = self.cluster {
            cluster.leave();
        }
        Ok(())
    }
}

/// One connection.
pub(crate) struct RawPostgres(PgConnection);

impl RawPostgres {
    pub(crate) async fn open(url: &str) -> Result<Self> {
        // Planned once, as by the product.
        let settings = [("plan_cache_mode", "force_generic_plan"), ("jit", "off")];
        let server = PgConnectOptions::from_str(url)?.options(settings).disable_statement_logging();
        Ok(Self(server.connect().await?))
    }

    /// Looks after the tables, so that plans are as they will be.
    pub(crate) async fn analyze(mut self) -> Result<()> {
        sqlx::raw_sql("VACUUM ANALYZE").execute(&mut self.0).await?;
        Ok(self.0.close().await?)
    }

    /// Claims the best ready item.
    pub(crate) async fn claim(&mut self, project: ProjectId, agent: &str) -> Result<()> {
        let holder = i64::from(agent.bytes().fold(7_u32, |sum, byte| sum.wrapping_mul(31).wrapping_add(byte.into())));
        let begin = format!("{BEGIN}; SELECT pg_advisory_xact_lock_shared(1); SELECT pg_advisory_xact_lock({holder})");
        sqlx::raw_sql(AssertSqlSafe(begin)).execute(&mut self.0).await?;
        let locked = sqlx::query(LOCK).bind(project.as_uuid()).fetch_all(&mut self.0).await?;
        let ids: Vec<Uuid> = locked.iter().map(|row| row.try_get(0)).collect::<Result<_, _>>()?;
        let read = sqlx::query(READ).bind(ids).fetch_all(&mut self.0).await?;
        let first = read.first().ok_or_else(|| anyhow!("no item was left to claim"))?;
        let now = i64::try_from(SystemTime::now().duration_since(UNIX_EPOCH)?.as_millis())?;
        let row = sqlx::query(WRITE)
            .bind(first.try_get::<Uuid, _>(0)?)
            .bind(agent)
            .bind(now)
            .bind(now + TTL_SECONDS * 1000)
            .bind(TTL_SECONDS)
            .bind(first.try_get::<i64, _>(1)?)
            .bind(first.try_get::<i64, _>(2)?)
            .bind(Uuid::new_v4())
            .bind(Uuid::new_v4())
            .bind(project.as_uuid())
            .bind(PRINCIPAL)
            .bind(format!(
                r#"{{"actor":{{"id":"{agent}","kind":"subagent"}},"verification":{{"status":"unchecked","verifier":"noop"}}}}"#
            ))
            .bind(format!(
                r#"{{"set":{{"claim":{{"holder":"{agent}","claimedAt":"2026-01-01T00:00:00.000Z","expiresAt":"2026-01-01T00:15:00.000Z","originalClaimedAt":"2026-01-01T00:00:00.000Z","ttlSeconds":900}},"fence":1}}}}"#
            ))
            .fetch_one(&mut self.0)
            .await?;
        ensure!(row.try_get::<i64, _>(0)? == 1, "the item was not claimed");
        sqlx::raw_sql("COMMIT").execute(&mut self.0).await?;
        Ok(())
    }
}
