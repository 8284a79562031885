//! A database in a folder of its own, and small units of work to fill it.

use std::sync::Arc;

use docket_core::model::{Item, ItemId, Project};
use docket_core::store::{ChangeSet, Scope, Store, StoreError};
pub(crate) use docket_core::testing::name;
pub(crate) use docket_core::testing::rows::{
    ClaimBest, LooksForEver, Panics, Put, child, edge, entry, event, item, new_uuid, note, project,
};
use docket_store_sqlite::{Durability, SqliteOptions, SqliteStore};
use tempfile::TempDir;

/// A store on a file in a folder of its own, with one project.
pub(crate) struct Bench {
    pub(crate) folder: TempDir,
    pub(crate) store: Arc<SqliteStore>,
    pub(crate) project: Project,
}

impl Bench {
    pub(crate) async fn new() -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let store = SqliteStore::open(fast(&folder)).await.expect("a new database");
        let bench = Self { folder, store: Arc::new(store), project: project("docket", "DOC") };
        bench.put(ChangeSet { projects: vec![bench.project.clone()], ..ChangeSet::default() }).await;
        bench
    }

    pub(crate) async fn put(&self, changes: ChangeSet) {
        self.try_put(changes).await.expect("the changes are written");
    }

    pub(crate) async fn try_put(&self, changes: ChangeSet) -> Result<(), StoreError> {
        self.store.execute(Box::new(Put(changes))).await
    }

    pub(crate) async fn put_items(&self, items: &[Item]) {
        self.put(ChangeSet { new_items: items.to_vec(), ..ChangeSet::default() }).await;
    }

    pub(crate) async fn get(&self, id: ItemId) -> Option<Item> {
        let scope = Scope { items: vec![id.into()], ..Scope::default() };
        self.store.view(&scope).await.expect("a slice").items.remove(&id)
    }
}

/// Options for tests: a power cut is none of their business.
pub(crate) fn fast(folder: &TempDir) -> SqliteOptions {
    SqliteOptions::new(folder.path().join("docket.db")).create(true).durability(Durability::Normal)
}
