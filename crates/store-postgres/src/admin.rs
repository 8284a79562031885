//! What an operator does: all rows as of one moment, and checks of what the database keeps beside them.

use docket_core::model::Project;
use docket_core::store::{ScanPage, ScanTable, StoreError};

use crate::PostgresStore;
use crate::error::store_error;
use crate::pool::Lease;
use crate::read;
use crate::script::Script;

/// Findings of one check that are told; the rest would say no more.
const FINDINGS: usize = 100;

/// The database as it was at one moment, however long it is looked at.
#[derive(Debug)]
pub struct Frozen {
    lease: Lease,
}

impl Frozen {
    /// All projects, by slug.
    pub async fn projects(&mut self) -> Result<Vec<Project>, StoreError> {
        read::all_projects(&mut self.lease).await
    }

    /// Every row of a table in a stable order, a page at a time.
    pub async fn scan(&mut self, table: ScanTable, after: Option<String>) -> Result<ScanPage, StoreError> {
        read::scan(&mut self.lease, table, after.as_deref()).await
    }
}

impl PostgresStore {
    /// Looks at the database as it is now, while others go on writing. Keeps a connection until it is dropped.
    pub async fn frozen(&self) -> Result<Frozen, StoreError> {
        let mut lease = self.lease().await?;
        lease.freeze().await.map_err(store_error)?;
        Ok(Frozen { lease })
    }

    /// Everything that is wrong with the tables and indexes; empty when nothing is.
    pub async fn integrity(&self) -> Result<Vec<String>, StoreError> {
        let most = Script::limit(FINDINGS);
        let here = "(SELECT oid FROM pg_namespace WHERE nspname = current_schema())";
        let checks = [
            format!(
                "SELECT 'the index ' || c.relname || ' is not valid: REINDEX INDEX ' || c.relname AS finding \
                 FROM pg_index x JOIN pg_class c ON c.oid = x.indexrelid \
                 WHERE c.relnamespace = {here} AND NOT (x.indisvalid AND x.indisready)"
            ),
            format!(
                "SELECT 'the constraint ' || conname || ' was never checked: ALTER TABLE ... VALIDATE CONSTRAINT' \
                 FROM pg_constraint WHERE connamespace = {here} AND NOT convalidated"
            ),
            "SELECT 'the next event would get a number that is taken' \
             WHERE (SELECT max(seq) FROM events) > (SELECT last_value FROM events_seq)"
                .to_owned(),
            "SELECT 'item ' || i.id || ' cannot be found by its words' FROM items i WHERE i.words = '' AND i.title ~ '[a-z]'"
                .to_owned(),
            "SELECT 'the project ' || p.slug || ' has no rules' FROM projects p \
             WHERE NOT EXISTS (SELECT 1 FROM rules r WHERE r.project_id = p.id)"
                .to_owned(),
        ];
        let mut script = Script::default();
        script.set(format!(
            "SELECT coalesce(json_agg(finding), '[]')::text FROM (SELECT * FROM ({}) f LIMIT {most}) f",
            checks.join(" UNION ALL ")
        ));
        self.ask(script).await
    }

    /// Gives room back that removed rows have left, and counts what the planner wants to know.
    pub async fn compact(&self) -> Result<(), StoreError> {
        let mut link = self.connector.connect().await.map_err(store_error)?;
        for table in ["projects", "rules", "items", "edges", "notes", "events", "answers", "api_keys"] {
            link.send(&format!("VACUUM (ANALYZE) {table}")).await.map_err(store_error)?;
        }
        link.close().await;
        Ok(())
    }
}
