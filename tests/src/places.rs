//! The databases that the contract of stores is tried on.

use std::sync::Arc;
use std::sync::atomic::AtomicI64;

use async_trait::async_trait;
use docket_store_postgres::{PostgresOptions, PostgresStore};
use docket_store_sqlite::{Durability, SqliteOptions, SqliteStore};
use tempfile::TempDir;

use crate::contract::support::{Place, Probe};
use crate::own_postgres::run_on;
use crate::postgres::{Database, GRANTED, pooler};

/// A file in a folder of its own.
pub fn sqlite() -> Box<dyn Place> {
    Box::new(SqlitePlace(tempfile::tempdir().unwrap_or_else(|error| panic!("no folder: {error}"))))
}

/// A database of its own on the tests' server.
pub fn postgres() -> Box<dyn Place> {
    Box::new(PostgresPlace { database: Database::new(), pooled: false })
}

/// A database that a test has done something to.
pub fn on(database: Database) -> Box<dyn Place> {
    Box::new(PostgresPlace { database, pooled: false })
}

/// The same behind a pooler that hands connections out by transaction: a real one, where the run has one (`with-postgres` says so
/// where it has none), else as if there were one.
pub fn pooled_postgres() -> Box<dyn Place> {
    Box::new(PostgresPlace { database: Database::new(), pooled: true })
}

struct SqlitePlace(TempDir);

#[async_trait]
impl Place for SqlitePlace {
    async fn open(&self, skew: Arc<AtomicI64>) -> Arc<dyn Probe> {
        // A power cut is none of these tests' business.
        let mut options =
            SqliteOptions::new(self.0.path().join("docket.db")).create(true).durability(Durability::Normal);
        options.clock_skew = skew;
        Arc::new(SqliteStore::open(options).await.unwrap_or_else(|error| panic!("it does not open: {error:?}")))
    }

    async fn take_stock(&self) {
        let store = SqliteStore::open(SqliteOptions::new(self.0.path().join("docket.db"))).await;
        let store = store.unwrap_or_else(|error| panic!("it does not open: {error:?}"));
        store.compact().await.unwrap_or_else(|error| panic!("it does not count: {error:?}"));
        SqliteStore::close(&store).await;
    }
}

#[async_trait]
impl Probe for SqliteStore {
    async fn integrity(&self) -> Vec<String> {
        let found = SqliteStore::integrity(self).await.unwrap_or_else(|error| panic!("integrity: {error:?}"));
        let unfiled = self.unfiled().await.unwrap_or_else(|error| panic!("unfiled: {error:?}"));
        let misfiled = self.misfiled().await.unwrap_or_else(|error| panic!("misfiled: {error:?}"));
        let unfiled = unfiled.iter().map(ToString::to_string).chain(misfiled.iter().map(ToString::to_string));
        found.into_iter().chain(unfiled.map(|lost| format!("{lost} is not found"))).collect()
    }

    fn round_trips(&self) -> u64 {
        SqliteStore::scripts(self)
    }

    fn statements(&self) -> u64 {
        SqliteStore::statements(self)
    }

    fn noise(&self) -> u64 {
        // Whether a lease is extended goes by the millisecond, and now and then one looks whether others wrote.
        2
    }

    async fn close(&self) {
        SqliteStore::close(self).await;
    }
}

struct PostgresPlace {
    database: Database,
    pooled: bool,
}

#[async_trait]
impl Place for PostgresPlace {
    async fn open(&self, skew: Arc<AtomicI64>) -> Arc<dyn Probe> {
        let pooler = std::env::var(pooler::VARIABLE).ok().filter(|_| self.pooled);
        let options = PostgresOptions::parse(&match &pooler {
            Some(folder) => self.database.url_behind(folder),
            // Under what is asked for at the start and nothing else: what is forgotten there fails here.
            None => self.database.url_for(GRANTED),
        });
        let mut options = options.unwrap_or_else(|error| panic!("its address: {error}")).create(true);
        options.clock_skew = skew;
        options.pooled = self.pooled;
        Arc::new(PostgresStore::open(options).await.unwrap_or_else(|error| panic!("it does not open: {error:?}")))
    }

    async fn take_stock(&self) {
        run_on(&self.database.url(), "ANALYZE");
    }
}

#[async_trait]
impl Probe for PostgresStore {
    async fn integrity(&self) -> Vec<String> {
        let found = PostgresStore::integrity(self).await.unwrap_or_else(|error| panic!("integrity: {error:?}"));
        let unfiled = self.unfiled().await.unwrap_or_else(|error| panic!("unfiled: {error:?}"));
        let misfiled = self.misfiled().await.unwrap_or_else(|error| panic!("misfiled: {error:?}"));
        let unfiled = unfiled.iter().map(ToString::to_string).chain(misfiled.iter().map(ToString::to_string));
        found.into_iter().chain(unfiled.map(|lost| format!("{lost} is not found"))).collect()
    }

    fn round_trips(&self) -> u64 {
        PostgresStore::round_trips(self)
    }

    fn statements(&self) -> u64 {
        // Each is a round trip.
        PostgresStore::round_trips(self)
    }

    fn noise(&self) -> u64 {
        // Each connection prepares statements for itself, and one of them listens beside the others.
        8
    }

    async fn close(&self) {
        PostgresStore::close(self).await;
    }
}
