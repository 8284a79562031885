//! What an operator does: backups, checks, compaction, and the repair of derived numbers.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use docket_core::model::{Derived, EntryId, ItemId, ItemRef};
use docket_core::store::row::FiledRows;
use docket_core::store::{ChangeSet, ItemChange, Scope, Slice, Step, Store, StoreError, Touched, Unit};

use crate::SqliteStore;
use crate::error::{failed, store_error};
use crate::migrate;
use crate::options::{SCAN_ROWS, SqliteOptions};
use crate::place::aside;
use crate::pool::{Connector, Link};
use crate::row::ENTRY;
use crate::script::Script;

/// Findings of one check that are told; the rest would say no more.
const FINDINGS: usize = 100;
/// The name of the search index, which findings about it hold.
const SEARCH_INDEX: &str = "items_fts";
/// Where words wait for it.
const UNINDEXED: &str = "items_unindexed";
/// What findings about the row that counts the knowledge begin with.
const COUNTED: &str = "of the knowledge";
/// Entries that are looked at together.
const FILED_ROWS: usize = 200;

impl SqliteStore {
    /// Writes a consistent copy of the database to a new file while others read and write. The file appears whole or not
    /// at all; one that is there is never overwritten.
    pub async fn backup_to(&self, path: &Path) -> Result<(), StoreError> {
        if path.exists() {
            return Err(failed("the backup's file exists already"));
        }
        let half = half_made(path);
        remove_if_there(&half)?;
        let mut script = Script::default();
        let target = script.text(half.to_str().ok_or_else(|| failed("the backup's path is not UTF-8"))?);
        script.add(format!("VACUUM INTO {target}"));
        let connector = Arc::clone(&self.connector);
        let copied = aside(move || connector.connect(false)?.run(&script).map_err(store_error)).await?;
        let kept = copied.and_then(|()| keep(&half, path));
        if kept.is_err() {
            remove_if_there(&half)?;
        }
        kept
    }

    /// Everything that is wrong with the file; empty when nothing is.
    pub async fn integrity(&self) -> Result<Vec<String>, StoreError> {
        let connector = Arc::clone(&self.connector);
        aside(move || integrity_of(&mut connector.connect(false)?)).await?
    }

    /// Items that are not found by their words and tags, or by tags that are not theirs.
    pub async fn unfiled(&self) -> Result<Vec<ItemId>, StoreError> {
        let connector = Arc::clone(&self.connector);
        aside(move || unfiled_of(&mut connector.connect(false)?)).await?
    }

    /// Empties the search index where it holds what it should not, so that all items are [unfiled](Self::unfiled) and can
    /// be filed anew. Says whether it did.
    pub async fn clear_search(&self) -> Result<bool, StoreError> {
        let concerns_search = |finding: &String| [SEARCH_INDEX, UNINDEXED].iter().any(|name| finding.contains(name));
        if !self.integrity().await?.iter().any(concerns_search) {
            return Ok(false);
        }
        let clear = "INSERT INTO items_fts (items_fts) VALUES ('delete-all'); DELETE FROM items_unindexed";
        self.run_once(clear).await?;
        Ok(true)
    }

    /// Entries of the knowledge that are not found by their words, or by what they are filed under.
    pub async fn misfiled(&self) -> Result<Vec<EntryId>, StoreError> {
        let connector = Arc::clone(&self.connector);
        aside(move || misfiled_of(&mut connector.connect(false)?)).await?
    }

    /// Counts the entries anew, and lets places go on after the last. Says whether something was wrong.
    pub async fn recount(&self) -> Result<bool, StoreError> {
        if !self.integrity().await?.iter().any(|finding| finding.contains(COUNTED)) {
            return Ok(false);
        }
        let count = "UPDATE knowledge_counts SET stored = (SELECT count(*) FROM knowledge), \
                     vectors = max(vectors, (SELECT coalesce(max(place), 0) FROM knowledge_vectors))";
        self.run_once(count).await?;
        Ok(true)
    }

    /// Gives room back to the file system. Writers wait meanwhile.
    pub async fn compact(&self) -> Result<(), StoreError> {
        self.run_once(
            "INSERT INTO items_fts (items_fts) VALUES ('optimize'); VACUUM; PRAGMA optimize; \
             PRAGMA wal_checkpoint(TRUNCATE)",
        )
        .await
    }

    /// Runs statements on a connection of their own.
    async fn run_once(&self, sql: &'static str) -> Result<(), StoreError> {
        let connector = Arc::clone(&self.connector);
        aside(move || connector.connect(false)?.run_once(sql).map_err(store_error)).await?
    }

    /// Puts derived numbers right, as `doctor` computed them. Items that are gone by now are left out.
    pub async fn set_derived(&self, rows: &[(ItemId, Derived)]) -> Result<(), StoreError> {
        for page in rows.chunks(SCAN_ROWS) {
            self.execute(Box::new(SetDerived { rows: page.to_vec() })).await?;
        }
        Ok(())
    }
}

/// Whether a file is a whole Docket database that this program can read; what is wrong with it, if anything is.
pub async fn verify_backup(path: &Path) -> Result<Vec<String>, StoreError> {
    let connector = Arc::new(Connector::new(SqliteOptions::new(path).read_only(true)));
    std::fs::metadata(path).map_err(|error| StoreError::Failed(Box::new(error)))?;
    let (mut link, is_current) = migrate::open_as_it_is(&connector)?;
    // What an older program left is brought to the newest schema when it is opened for use; until then its pages tell.
    aside(move || if is_current { findings_of(&mut link) } else { structure_of(&mut link) }).await?
}

/// What is wrong with a file, and with what items are found by.
fn findings_of(link: &mut Link) -> Result<Vec<String>, StoreError> {
    let mut findings = integrity_of(link)?;
    let unfiled = unfiled_of(link)?;
    findings
        .extend(unfiled.iter().take(FINDINGS).map(|item| format!("item {item} is not found by its words and tags")));
    Ok(findings)
}

fn unfiled_of(link: &mut Link) -> Result<Vec<ItemId>, StoreError> {
    let mut script = Script::default();
    script.add(
        "SELECT json_group_array(hex(i.id)) FROM items i \
         WHERE NOT (EXISTS (SELECT 1 FROM items_fts_docsize d WHERE d.id = i.pk) \
            OR EXISTS (SELECT 1 FROM items_unindexed u WHERE u.pk = i.pk)) \
         OR EXISTS (SELECT 1 FROM json_each(i.tags) t \
            WHERE NOT EXISTS (SELECT 1 FROM item_tags g WHERE g.tag = t.value AND g.item_pk = i.pk)) \
         OR EXISTS (SELECT 1 FROM item_tags g WHERE g.item_pk = i.pk \
            AND NOT EXISTS (SELECT 1 FROM json_each(i.tags) t WHERE t.value = g.tag))",
    );
    Ok(link.ask(&script)?)
}

fn misfiled_of(link: &mut Link) -> Result<Vec<EntryId>, StoreError> {
    let (mut wrong, mut after) = (Vec::new(), EntryId(ulid::Ulid(0)));
    loop {
        let mut script = Script::default();
        let (last, most) = (script.uuid(uuid::Uuid::from_u128(after.0.0)), script.limit(FILED_ROWS));
        script.add(format!(
            "WITH page AS MATERIALIZED (SELECT * FROM knowledge WHERE id > {last} ORDER BY id LIMIT {most}) SELECT json_array( \
             (SELECT json_group_array({ENTRY} ORDER BY k.id) FROM page k), \
             (SELECT json_group_array(json_array(hex(w.entry_id), w.word, w.in_title)) FROM page k \
              CROSS JOIN knowledge_words w ON w.entry_id = k.id AND w.project_id = k.project_id), \
             (SELECT json_group_array(json_array(hex(g.entry_id), g.facet)) FROM page k \
              CROSS JOIN knowledge_facets g ON g.entry_id = k.id AND g.project_id = k.project_id))"
        ));
        let rows: FiledRows = link.ask(&script)?;
        let (found, last) = rows.misfiled();
        wrong.extend(found);
        let Some(last) = last else { return Ok(wrong) };
        after = last;
    }
}

/// What is wrong with the pages of a file and with what its rows refer to, whatever its schema is.
fn structure_of(link: &mut Link) -> Result<Vec<String>, StoreError> {
    let mut script = Script::default();
    let most = script.limit(FINDINGS);
    // Since SQLite 3.44 this looks into the full-text index as well.
    // Not as a table-valued function: that takes the number for the name of a table.
    script.add(format!("PRAGMA integrity_check({FINDINGS})"));
    script.add(format!(
        "SELECT 'a row of ' || \"table\" || ' refers to a row that is not in ' || \"parent\" \
         FROM pragma_foreign_key_check LIMIT {most}"
    ));
    let findings = link.texts(&script).map_err(store_error)?;
    Ok(findings.into_iter().filter(|finding| finding != "ok").collect())
}

fn integrity_of(link: &mut Link) -> Result<Vec<String>, StoreError> {
    let mut findings = structure_of(link)?;
    let mut script = Script::default();
    let most = script.limit(FINDINGS);
    script.add(format!(
        "SELECT '{SEARCH_INDEX} holds words of an item that does not exist' FROM items_fts_docsize d \
         WHERE NOT EXISTS (SELECT 1 FROM items i WHERE i.pk = d.id) LIMIT {most}"
    ));
    script.add(format!(
        "SELECT '{SEARCH_INDEX} holds words of an item that still wait for it' FROM items_fts_docsize d \
         WHERE EXISTS (SELECT 1 FROM items_unindexed u WHERE u.pk = d.id) LIMIT {most}"
    ));
    script.add(
        "SELECT 'the number of the knowledge is stored as ' || c.stored || ', should be ' || k.number \
         FROM knowledge_counts c, (SELECT count(*) AS number FROM knowledge) k WHERE c.stored <> k.number",
    );
    script.add(
        "SELECT 'the next vector of the knowledge would get a place that is taken' FROM knowledge_counts c \
         WHERE c.vectors < (SELECT max(place) FROM knowledge_vectors)",
    );
    findings.extend(link.texts(&script).map_err(store_error)?);
    Ok(findings)
}

/// Where a backup is made before it gets its name.
fn half_made(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(format!(".{}.part", std::process::id()));
    PathBuf::from(name)
}

/// Puts a finished copy on the disk for good, then gives it its name.
fn keep(half: &Path, path: &Path) -> Result<(), StoreError> {
    let kept = || -> io::Result<()> {
        File::open(half)?.sync_all()?;
        // A link, unlike a rename, fails when somebody else made the file in the meantime.
        fs::hard_link(half, path)?;
        fs::remove_file(half)?;
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
        File::open(folder)?.sync_all()
    };
    kept().map_err(|error| StoreError::Failed(Box::new(error)))
}

fn remove_if_there(path: &Path) -> Result<(), StoreError> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(StoreError::Failed(Box::new(error))),
        Ok(()) | Err(_) => Ok(()),
    }
}

/// Writes derived numbers as they were computed.
struct SetDerived {
    rows: Vec<(ItemId, Derived)>,
}

impl Unit for SetDerived {
    fn scope(&self) -> Scope {
        Scope { items: self.rows.iter().map(|(id, _)| ItemRef::Id(*id)).collect(), ..Scope::default() }
    }

    fn decide(&mut self, seen: &Slice) -> Step {
        let changed_items: Vec<ItemChange> = self
            .rows
            .iter()
            .filter_map(|(id, derived)| {
                let mut item = seen.items.get(id)?.clone();
                item.derived = *derived;
                Some(ItemChange {
                    read_version: item.version,
                    read_fence: item.fence.0,
                    item,
                    touched: Touched { derived: true, ..Touched::default() },
                })
            })
            .collect();
        if changed_items.is_empty() {
            return Step::Nothing;
        }
        Step::Commit(Box::new(ChangeSet { changed_items, ..ChangeSet::default() }))
    }
}
