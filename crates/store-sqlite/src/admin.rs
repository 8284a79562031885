//! What an operator does: backups, checks, compaction, and the repair of derived numbers.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use docket_core::model::{Derived, ItemId, ItemRef};
use docket_core::store::{ChangeSet, ItemChange, Scope, Slice, Step, Store, StoreError, Touched, Unit};
use sqlx::Row;

use crate::SqliteStore;
use crate::error::{failed, store_error};
use crate::migrate;
use crate::options::{SCAN_ROWS, SqliteOptions};
use crate::pool::{Connector, Link};
use crate::script::Script;

/// Findings of one check that are told; the rest would say no more.
const FINDINGS: usize = 100;

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
        script.add(&format!("VACUUM INTO {target}"));
        let copied = match self.connector.connect(false).await {
            Ok(mut link) => link.run(script).await.map(|_| ()),
            Err(error) => Err(error),
        };
        let kept = copied.map_err(store_error).and_then(|()| keep(&half, path));
        if kept.is_err() {
            remove_if_there(&half)?;
        }
        kept
    }

    /// Everything that is wrong with the file; empty when nothing is.
    pub async fn integrity(&self) -> Result<Vec<String>, StoreError> {
        let mut link = self.connector.connect(false).await.map_err(store_error)?;
        integrity_of(&mut link).await
    }

    /// Gives room back to the file system. Writers wait meanwhile.
    pub async fn compact(&self) -> Result<(), StoreError> {
        let mut link = self.connector.connect(false).await.map_err(store_error)?;
        for statement in [
            "INSERT INTO items_fts (items_fts) VALUES ('optimize')",
            "VACUUM",
            "PRAGMA optimize",
            "PRAGMA wal_checkpoint(TRUNCATE)",
        ] {
            let mut script = Script::default();
            script.add(statement);
            link.run(script).await.map_err(store_error)?;
        }
        link.close().await;
        Ok(())
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
    let mut link = migrate::open(&connector).await?;
    let findings = integrity_of(&mut link).await;
    link.close().await;
    findings
}

async fn integrity_of(link: &mut Link) -> Result<Vec<String>, StoreError> {
    let mut script = Script::default();
    let most = script.limit(FINDINGS);
    // Since SQLite 3.44 this looks into the full-text index as well.
    // Not as a table-valued function: that takes the number for the name of a table.
    script.add(&format!("PRAGMA integrity_check({FINDINGS})"));
    script.add(&format!(
        "SELECT 'a row of ' || \"table\" || ' refers to a row that is not in ' || \"parent\" \
         FROM pragma_foreign_key_check LIMIT {most}"
    ));
    script.add(&format!(
        "SELECT 'item ' || hex(i.id) || ' cannot be found by its words' FROM items i \
         WHERE NOT EXISTS (SELECT 1 FROM items_fts_docsize d WHERE d.id = i.pk) LIMIT {most}"
    ));
    script.add(&format!(
        "SELECT 'words of an item that does not exist' FROM items_fts_docsize d \
         WHERE NOT EXISTS (SELECT 1 FROM items i WHERE i.pk = d.id) LIMIT {most}"
    ));
    script.add(&format!(
        "SELECT 'item ' || hex(i.id) || ' cannot be found by its tags' FROM items i CROSS JOIN json_each(i.tags) t \
         WHERE NOT EXISTS (SELECT 1 FROM item_tags g WHERE g.tag = t.value AND g.item_pk = i.pk) LIMIT {most}"
    ));
    let rows = link.run(script).await.map_err(store_error)?;
    let findings: Result<Vec<String>, StoreError> =
        rows.iter().map(|row| row.try_get(0).map_err(store_error)).collect();
    Ok(findings?.into_iter().filter(|finding| finding != "ok").collect())
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
