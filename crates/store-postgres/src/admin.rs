//! What an operator does: all rows as of one moment, and checks of what the database keeps beside them.

use docket_core::model::{EntryId, Item, ItemId, Project};
use docket_core::search;
use docket_core::store::row::FiledRows;
use docket_core::store::{ScanPage, ScanRows, ScanTable, Store, StoreError};

use crate::PostgresStore;
use crate::error::store_error;
use crate::pool::Lease;
use crate::read;
use crate::row::ENTRY;
use crate::script::Script;

/// Findings of one check that are told; the rest would say no more.
const FINDINGS: usize = 100;
/// What findings about the row that counts the knowledge hold.
const COUNTED: &str = "of the knowledge";
/// Entries that are looked at together.
const FILED_ROWS: usize = 200;
/// The tables that grow and shrink.
const TABLES: [&str; 20] = [
    "projects",
    "rules",
    "items",
    "edges",
    "notes",
    "briefs",
    "questions",
    "comments",
    "links",
    "sessions",
    "runs",
    "knowledge",
    "knowledge_words",
    "knowledge_facets",
    "knowledge_links",
    "knowledge_vectors",
    "knowledge_counts",
    "events",
    "answers",
    "api_keys",
];

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
            "SELECT 'the project ' || p.slug || ' has no rules' FROM projects p \
             WHERE NOT EXISTS (SELECT 1 FROM rules r WHERE r.project_id = p.id)"
                .to_owned(),
            "SELECT 'the number of the knowledge is stored as ' || c.stored || ', should be ' || k.number \
             FROM knowledge_counts c, (SELECT count(*) AS number FROM knowledge) k WHERE c.stored <> k.number"
                .to_owned(),
            "SELECT 'the next vector of the knowledge would get a place that is taken' FROM knowledge_counts c \
             WHERE c.vectors < (SELECT max(place) FROM knowledge_vectors)"
                .to_owned(),
        ];
        let mut script = Script::default();
        script.set(format!(
            "SELECT coalesce(json_agg(finding), '[]')::text FROM (SELECT * FROM ({}) f LIMIT {most}) f",
            checks.join(" UNION ALL ")
        ));
        let mut link = self.connector.connect().await.map_err(store_error)?;
        link.patience = None;
        let findings = link.ask(script).await?;
        link.close().await;
        Ok(findings)
    }

    /// Items that are not found by their words. Tags are found by the items' own rows.
    pub async fn unfiled(&self) -> Result<Vec<ItemId>, StoreError> {
        let (mut unfiled, mut after) = (Vec::new(), None);
        loop {
            let page = self.scan(ScanTable::Items, after).await?;
            if let ScanRows::Items(items) = &page.rows {
                unfiled.extend(self.unfiled_among(items).await?);
            }
            after = page.next;
            if after.is_none() {
                return Ok(unfiled);
            }
        }
    }

    /// An item that has changed since it was read is none: its words have changed with it.
    async fn unfiled_among(&self, items: &[Item]) -> Result<Vec<ItemId>, StoreError> {
        let mut script = Script::default();
        let ids = script.uuids(items.iter().map(|item| item.id.as_uuid()));
        let versions = script.ints(items.iter().map(|item| i64::try_from(item.version).unwrap_or(i64::MAX)));
        let words = script.texts(items.iter().map(search::filed));
        script.set(format!(
            "SELECT coalesce(json_agg(i.id), '[]')::text FROM unnest({ids}, {versions}, {words}) AS r (id, version, words) \
             JOIN items i ON i.id = r.id AND i.version = r.version \
             WHERE i.words <> array_to_tsvector(string_to_array(r.words, ' '))"
        ));
        self.ask(script).await
    }

    /// Entries of the knowledge that are not found by their words, or by what they are filed under.
    pub async fn misfiled(&self) -> Result<Vec<EntryId>, StoreError> {
        let (mut wrong, mut after) = (Vec::new(), EntryId(ulid::Ulid(0)));
        loop {
            let mut script = Script::default();
            let last = script.uuid(uuid::Uuid::from_u128(after.0.0));
            let most = script.page(FILED_ROWS);
            script.set(format!(
                "WITH page AS MATERIALIZED (SELECT * FROM knowledge WHERE id > {last} ORDER BY id LIMIT {most}) \
                 SELECT json_build_array((SELECT coalesce(json_agg({ENTRY} ORDER BY k.id), '[]') FROM page k), \
                 (SELECT coalesce(json_agg(json_build_array(w.entry_id, w.word, w.in_title)), '[]') FROM page k \
                  JOIN knowledge_words w ON w.entry_id = k.id AND w.project_id = k.project_id), \
                 (SELECT coalesce(json_agg(json_build_array(g.entry_id, g.facet)), '[]') FROM page k \
                  JOIN knowledge_facets g ON g.entry_id = k.id AND g.project_id = k.project_id))::text"
            ));
            let rows: FiledRows = self.ask(script).await?;
            let (found, last) = rows.misfiled();
            wrong.extend(found);
            let Some(last) = last else { return Ok(wrong) };
            after = last;
        }
    }

    /// Counts the entries anew, and lets places go on after the last. Says whether something was wrong.
    pub async fn recount(&self) -> Result<bool, StoreError> {
        if !self.integrity().await?.iter().any(|finding| finding.contains(COUNTED)) {
            return Ok(false);
        }
        let mut link = self.connector.connect().await.map_err(store_error)?;
        // Whoever adds or removes entries writes the row: with it locked, a later statement counts all that are there.
        let count = "BEGIN; SELECT 1 FROM knowledge_counts FOR UPDATE; \
                     UPDATE knowledge_counts SET stored = (SELECT count(*) FROM knowledge), \
                     vectors = greatest(vectors, (SELECT coalesce(max(place), 0) FROM knowledge_vectors)); COMMIT";
        link.send(count).await.map_err(store_error)?;
        link.close().await;
        Ok(true)
    }

    /// Gives room back that removed rows have left, and counts what the planner wants to know.
    pub async fn compact(&self) -> Result<(), StoreError> {
        let mut link = self.connector.connect().await.map_err(store_error)?;
        link.patience = None;
        for table in TABLES {
            link.send(&format!("VACUUM (ANALYZE) {table}")).await.map_err(store_error)?;
        }
        link.close().await;
        Ok(())
    }
}
