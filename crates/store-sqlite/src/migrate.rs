//! Whose file it is, which schema it has, and how it gets the newest one.
//!
//! The schema version is read again under the database's write lock: of several processes that start at once, one finds work to do and the others find it done.

use std::sync::Arc;
use std::time::{Duration, Instant};

use docket_core::plant::{Bug, planted};
use docket_core::store::{Detail, StoreError};
use serde::Deserialize;

use crate::error::{Trouble, is_busy, is_unreachable, open_error, store_error};
use crate::pool::{Access, Connector, Link};
use crate::script::Script;
use crate::{journal, log};

/// Marks a file as Docket's: the letters "DOCK".
pub(crate) const APPLICATION_ID: i64 = 0x444f_434b;
/// Every migration, in order; the schema version is their number.
const MIGRATIONS: [&str; 8] = [
    include_str!("../../../migrations/sqlite/0001_init.sql"),
    include_str!("../../../migrations/sqlite/0002_keys.sql"),
    include_str!("../../../migrations/sqlite/0003_contract.sql"),
    include_str!("../../../migrations/sqlite/0004_checks.sql"),
    include_str!("../../../migrations/sqlite/0005_sessions.sql"),
    include_str!("../../../migrations/sqlite/0006_knowledge.sql"),
    include_str!("../../../migrations/sqlite/0007_unindexed.sql"),
    include_str!("../../../migrations/sqlite/0008_sign_offs.sql"),
];
/// The newest schema that this program knows.
pub(crate) const SCHEMA_VERSION: i64 = 8;
/// How long to wait before trying again to switch the journal, which SQLite does not wait for itself.
const JOURNAL_PAUSE: Duration = Duration::from_millis(5);

/// What is asked of a file, in the order of [`Found`].
const LOOK: &str = "SELECT json_array((SELECT application_id FROM pragma_application_id), \
    (SELECT user_version FROM pragma_user_version), (SELECT count(*) FROM sqlite_schema), \
    (SELECT journal_mode FROM pragma_journal_mode))";

/// What a file turned out to be.
#[derive(Debug, Deserialize)]
struct Found {
    application: i64,
    version: i64,
    tables: u64,
    journal: String,
}

impl Found {
    fn is_empty(&self) -> bool {
        self.application == 0 && self.version == 0 && self.tables == 0
    }

    fn is_logged(&self) -> bool {
        self.journal.eq_ignore_ascii_case("wal")
    }

    fn is_current(&self) -> bool {
        self.application == APPLICATION_ID && self.version == SCHEMA_VERSION
    }

    /// Refuses what is not ours, or not yet known to us.
    fn check(&self, create: bool) -> Result<(), StoreError> {
        if self.application != APPLICATION_ID && !(self.is_empty() && create) {
            return Err(StoreError::Foreign);
        }
        if self.version > SCHEMA_VERSION {
            return Err(StoreError::Newer { found: self.version, known: SCHEMA_VERSION });
        }
        Ok(())
    }
}

/// Opens the file and brings it to the newest schema; returns the connection that did so.
pub(crate) async fn open(connector: &Arc<Connector>) -> Result<Link, StoreError> {
    let options = &connector.options;
    let create = options.create && !options.read_only;
    if !create {
        std::fs::metadata(&options.path).map_err(|error| StoreError::Failed(Box::new(error)))?;
    }
    // SQLite would throw it away without a word, and with it what may be all that is left of a database.
    if create && connector.has_log() && std::fs::metadata(&options.path).map_or(true, |file| file.len() == 0) {
        let found = "there is no database, and beside its place lies the log of one (its name ends in -wal): put the database that \
                     it belongs to back, or move the log away";
        return Err(StoreError::Unfit(found.to_owned()));
    }
    journal::check(connector)?;
    log::check(connector)?;
    let (mut link, found) = match reach(connector, create) {
        Err(Trouble::Sql(error)) if is_unreachable(&error) && options.path.is_file() && !connector.has_log() => {
            // The folder cannot be written, so SQLite cannot make the files that share a log. Nobody else can write the
            // database from here either, so it is read as it stands.
            connector.set_access(Access::Frozen);
            reach(connector, false)
        }
        reached => reached,
    }
    .map_err(|trouble| match trouble {
        Trouble::Sql(error) => open_error(error),
        Trouble::Rows(error) => error,
    })?;
    found.check(create)?;
    if !(found.is_current() && found.is_logged()) && connector.access() == Access::Write {
        upgrade(&mut link, connector, create).await?;
    } else if !found.is_current() {
        return Err(StoreError::ReadOnly(None));
    }
    Ok(link)
}

/// Opens the file as it is, for reading alone; says whether it has the newest schema.
pub(crate) fn open_as_it_is(connector: &Arc<Connector>) -> Result<(Link, bool), StoreError> {
    journal::check(connector)?;
    log::check(connector)?;
    let (link, found) = reach(connector, false).map_err(|trouble| match trouble {
        Trouble::Sql(error) => open_error(error),
        Trouble::Rows(error) => error,
    })?;
    found.check(false)?;
    Ok((link, found.is_current()))
}

fn reach(connector: &Arc<Connector>, create: bool) -> Result<(Link, Found), Trouble> {
    let mut link = connector.connect(create)?;
    let mut script = Script::default();
    script.add(LOOK);
    let found = link.ask(&script)?;
    Ok((link, found))
}

async fn upgrade(link: &mut Link, connector: &Connector, create: bool) -> Result<(), StoreError> {
    log_ahead(link, connector.options.busy_timeout).await?;
    let mut script = Script::default();
    if planted(Bug::MigrationUnlocked) {
        script.add("BEGIN");
        script.add(LOOK);
        tokio::time::sleep(JOURNAL_PAUSE).await;
    } else {
        script.add("BEGIN EXCLUSIVE");
        script.add(LOOK);
    }
    let found: Found = link.ask(&script)?;
    let checked = found.check(create);
    let steps = if checked.is_err() || found.is_current() {
        "ROLLBACK".to_owned()
    } else {
        tracing::info!(from = found.version, to = SCHEMA_VERSION, "bringing the database to the newest schema");
        let done = usize::try_from(found.version).unwrap_or(0);
        let missing = MIGRATIONS[done..].join(";\n");
        format!("{missing};\nPRAGMA application_id = {APPLICATION_ID}; PRAGMA user_version = {SCHEMA_VERSION}; COMMIT")
    };
    link.run_once(&steps).map_err(store_error)?;
    checked
}

/// Switches to the write-ahead log. The switch is kept in the file, so this is done once in its life, and again after it
/// was restored from a backup.
async fn log_ahead(link: &mut Link, patience: Duration) -> Result<(), StoreError> {
    let begun = Instant::now();
    loop {
        let mut script = Script::default();
        script.add("PRAGMA journal_mode = WAL");
        match link.texts(&script) {
            Ok(modes) => {
                let mode = modes.concat();
                if mode.eq_ignore_ascii_case("wal") {
                    return Ok(());
                }
                return Err(StoreError::ReadOnly(Some(Detail::from(format!("the journal mode stays {mode}")))));
            }
            Err(error) if is_busy(&error) && begun.elapsed() < patience => tokio::time::sleep(JOURNAL_PAUSE).await,
            Err(error) => return Err(store_error(error)),
        }
    }
}
