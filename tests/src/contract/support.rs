//! A store to try, and small units of work to fill it with.

use std::sync::Arc;
use std::sync::atomic::AtomicI64;

use async_trait::async_trait;
use docket_core::model::{Item, ItemId, Project};
use docket_core::store::{ChangeSet, Scope, Store, StoreError, Touched};
pub use docket_core::testing::name;
pub use docket_core::testing::rows::{
    ClaimBest, Edit, LooksForEver, Panics, Put, best, brief, child, claim, comment, edge, entry, entry_link, event,
    item, link, new_uuid, note, project, question, session,
};

/// A database to try a store on: a file, a server, whatever a second store can be opened on beside the first.
#[async_trait]
pub trait Place: Send + Sync {
    /// Opens a store on it, whose clock is ahead by as many milliseconds as `skew` says.
    async fn open(&self, skew: Arc<AtomicI64>) -> Arc<dyn Probe>;

    /// Has the database count its rows now, as it does by itself at some time or other: its plans may change by that.
    async fn take_stock(&self);
}

/// A store, and what tests want to know of it beside what a store says.
#[async_trait]
pub trait Probe: Store {
    /// Everything that is wrong with what it keeps beside the rows.
    async fn integrity(&self) -> Vec<String>;

    /// How often it has asked the database.
    fn round_trips(&self) -> u64;

    /// How many statements it has run there.
    fn statements(&self) -> u64;

    /// How many more these may be at one time than at another, for the same command.
    fn noise(&self) -> u64;

    /// Finishes what runs.
    async fn close(&self);
}

/// A store on a database of its own, with one project.
pub struct Bench {
    place: Box<dyn Place>,
    /// The store.
    pub store: Arc<dyn Probe>,
    /// The project.
    pub project: Project,
}

impl Bench {
    /// Opens a store and makes a project.
    pub async fn new(place: Box<dyn Place>) -> Self {
        let store = place.open(Arc::default()).await;
        let bench = Self { place, store, project: project("docket", "DOC") };
        bench.put(ChangeSet { projects: vec![bench.project.clone()], ..ChangeSet::default() }).await;
        bench
    }

    /// Has the database count its rows.
    pub async fn take_stock(&self) {
        self.place.take_stock().await;
    }

    /// Another store on the same database, which shares nothing else with the first: as in another process.
    pub async fn other(&self) -> Arc<dyn Probe> {
        self.place.open(Arc::default()).await
    }

    /// The same with a clock that is ahead.
    pub async fn ahead(&self, skew: Arc<AtomicI64>) -> Arc<dyn Probe> {
        self.place.open(skew).await
    }

    /// Persists a change set.
    pub async fn put(&self, changes: ChangeSet) {
        self.try_put(changes).await.expect("the changes are written");
    }

    /// Persists a change set that may be refused.
    pub async fn try_put(&self, changes: ChangeSet) -> Result<(), StoreError> {
        self.store.execute(Box::new(Put(changes))).await
    }

    /// Persists items.
    pub async fn put_items(&self, items: &[Item]) {
        self.put(ChangeSet { new_items: items.to_vec(), ..ChangeSet::default() }).await;
    }

    /// Changes an item.
    pub async fn edit(&self, id: ItemId, touched: Touched, change: impl FnMut(&mut Item) + Send + 'static) {
        self.store.execute(Box::new(Edit(id, touched, change))).await.expect("the item is changed");
    }

    /// Reads an item.
    pub async fn get(&self, id: ItemId) -> Option<Item> {
        let scope = Scope { items: vec![id.into()], ..Scope::default() };
        self.store.view(&scope).await.expect("a slice").items.remove(&id)
    }

    /// Says what is wrong with what the store keeps beside the rows, if anything is.
    pub async fn is_sound(&self) {
        assert_eq!(self.store.integrity().await, Vec::<String>::new());
    }
}
