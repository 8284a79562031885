//! Connections: how one is opened, and the few that readers share.
//!
//! The pool never looks whether a connection is alive, because a file has no peer that could be gone. What it does look
//! at is whether the last use of a connection has left a transaction open: one that did is thrown away.

use std::fmt::Write as _;
use std::ops::{ControlFlow, Deref, DerefMut};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU8, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;

use docket_core::store::StoreError;
use rusqlite::config::DbConfig;
use rusqlite::{Connection, OpenFlags, Row};
use serde::de::DeserializeOwned;
use tokio::sync::{Notify, Semaphore, SemaphorePermit};

use crate::error::{Trouble, corrupt, failed, store_error};
use crate::journal;
use crate::options::{self, SqliteOptions};
use crate::original::Original;
use crate::script::Script;

/// Most links that lead on to each other before one that is taken for a file; the system itself follows no more.
const LINKS: usize = 40;
/// How often a database is opened for the first time where it turns into another file meanwhile.
const FIRST_LOOKS: usize = 3;
/// How long after the file was not found in its place it is looked for again, before that counts.
const ASTRAY_PAUSE: Duration = Duration::from_millis(200);

/// What this process has asked of the database.
#[derive(Debug, Default)]
pub(crate) struct Counters {
    pub(crate) statements: AtomicU64,
    pub(crate) scripts: AtomicU64,
    pub(crate) commits: AtomicU64,
}

/// What the file lets us do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Access {
    /// Read and write, as far as the file system allows.
    Write,
    /// Read.
    Read,
    /// Read a file beside which no log can be made, in a folder that cannot be written.
    Frozen,
}

/// Opens connections to one file.
#[derive(Debug)]
pub(crate) struct Connector {
    pub(crate) options: SqliteOptions,
    pub(crate) counters: Counters,
    access: AtomicU8,
    /// The file itself, from the moment at which a connection to it was made.
    original: OnceLock<Original>,
    /// Where that lies, wherever links to it lie: beside it, SQLite keeps log and journal.
    place: OnceLock<PathBuf>,
    /// Somebody found that the file does not lie there any more.
    astray: Notify,
}

impl Connector {
    pub(crate) fn new(options: SqliteOptions) -> Self {
        let access = AtomicU8::new(if options.read_only { Access::Read } else { Access::Write } as u8);
        Self {
            options,
            counters: Counters::default(),
            access,
            original: OnceLock::new(),
            place: OnceLock::new(),
            astray: Notify::new(),
        }
    }

    /// Whether the file that all connections are to still lies in its place.
    pub(crate) fn is_in_place(&self) -> bool {
        let is_in_place = self.original.get().is_none_or(Original::is_in_place);
        if !is_in_place {
            self.astray.notify_one();
        }
        is_in_place
    }

    /// Refuses to go on once it does not.
    pub(crate) fn check(&self) -> Result<(), StoreError> {
        if self.is_in_place() { Ok(()) } else { Err(StoreError::Replaced) }
    }

    /// Returns when somebody found that the file does not lie in its place, and it does not a little later either: what is moved away
    /// and back at once was not replaced.
    pub(crate) async fn replaced(&self) {
        loop {
            self.astray.notified().await;
            tokio::time::sleep(ASTRAY_PAUSE).await;
            if self.original.get().is_some_and(|file| !file.is_in_place()) {
                return;
            }
        }
    }

    /// Remembers which file it is, and where it lies.
    fn settle(&self, file: Original) {
        // Whoever was quicker has seen the same one, or its next look tells.
        let _ = self.place.set(real(&self.options.path));
        let _ = self.original.set(file);
    }

    pub(crate) fn access(&self) -> Access {
        match self.access.load(Ordering::Relaxed) {
            access if access == Access::Write as u8 => Access::Write,
            access if access == Access::Read as u8 => Access::Read,
            _ => Access::Frozen,
        }
    }

    pub(crate) fn set_access(&self, access: Access) {
        self.access.store(access as u8, Ordering::Relaxed);
    }

    /// Whether there is a log beside the database that holds anything.
    pub(crate) fn has_log(&self) -> bool {
        self.log_bytes() > 0
    }

    /// How much it holds.
    pub(crate) fn log_bytes(&self) -> u64 {
        std::fs::metadata(self.log_path()).map_or(0, |log| log.len())
    }

    /// Where it lies.
    pub(crate) fn log_path(&self) -> PathBuf {
        self.beside("-wal")
    }

    /// The file that SQLite calls so: it lies beside the database itself, not beside a link to it.
    pub(crate) fn beside(&self, suffix: &str) -> PathBuf {
        let mut path = self.place.get().cloned().unwrap_or_else(|| real(&self.options.path)).into_os_string();
        path.push(suffix);
        PathBuf::from(path)
    }

    /// A connection that waits for locks as long as the options say.
    pub(crate) fn connect(self: &Arc<Self>, create: bool) -> Result<Link, Trouble> {
        self.connect_waiting(create, self.options.busy_timeout)
    }

    /// A connection that is told at once when somebody else holds the lock.
    pub(crate) fn connect_impatient(self: &Arc<Self>) -> Result<Link, Trouble> {
        self.connect_waiting(false, Duration::ZERO)
    }

    /// A connection to the file that was opened first. Before it is made nothing is done to what lies in its place, for SQLite takes
    /// whatever log and journal it finds there for the file's own. What is put there in that very moment is left as it is, too.
    fn connect_waiting(self: &Arc<Self>, create: bool, patience: Duration) -> Result<Link, Trouble> {
        self.check().map_err(Trouble::Rows)?;
        journal::check(self).map_err(Trouble::Rows)?;
        let opened = if self.original.get().is_some() {
            self.open(create, patience).map_err(Trouble::Sql)
        } else {
            self.open_first(create, patience)
        };
        self.check().map_err(Trouble::Rows)?;
        let connection = opened?;
        connection.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, false).map_err(Trouble::Sql)?;
        Ok(Link { connection, connector: Arc::clone(self) })
    }

    /// The first connection, which says which file all others are to. A file system in layers makes another file of one that is
    /// opened to be written for the first time; so does whoever puts another in its place just then. The next look tells them apart.
    fn open_first(&self, create: bool, patience: Duration) -> Result<Connection, Trouble> {
        let path = &self.options.path;
        let mut before = Original::of(path);
        for _ in 0..FIRST_LOOKS {
            let opened = self.open(create, patience).map_err(Trouble::Sql)?;
            let Some(now) = Original::of(path) else { break };
            if before.as_ref().is_none_or(|before| *before == now) {
                self.settle(now);
                return Ok(opened);
            }
            before = Some(now);
        }
        Err(Trouble::Rows(StoreError::Replaced))
    }

    /// A connection that does not copy the log into the database when it is closed.
    fn open(&self, create: bool, patience: Duration) -> Result<Connection, rusqlite::Error> {
        let path = &self.options.path;
        // One thread at a time has a connection, so that SQLite need not see to that.
        let mode = OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let connection = match self.access() {
            Access::Write if create => Connection::open_with_flags(
                path,
                mode | OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_CREATE,
            ),
            Access::Write => Connection::open_with_flags(path, mode | OpenFlags::SQLITE_OPEN_READ_WRITE),
            Access::Read => Connection::open_with_flags(path, mode | OpenFlags::SQLITE_OPEN_READ_ONLY),
            Access::Frozen => {
                let mode = mode | OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_URI;
                Connection::open_with_flags(immutable(path), mode)
            }
        }?;
        connection.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true)?;
        connection.busy_timeout(patience)?;
        connection.set_prepared_statement_cache_capacity(options::PREPARED_STATEMENTS);
        connection.execute_batch(&format!(
            "PRAGMA foreign_keys = ON; PRAGMA synchronous = {}; PRAGMA temp_store = MEMORY; \
             PRAGMA cache_size = -{}; PRAGMA wal_autocheckpoint = {}",
            self.options.durability.pragma(),
            options::CACHE_KIB,
            options::CHECKPOINT_PAGES
        ))?;
        Ok(connection)
    }
}

/// Where a file lies, or would be made: what links to it lead to, also where nothing is there yet.
fn real(path: &Path) -> PathBuf {
    let mut at = path.to_owned();
    for _ in 0..LINKS {
        let Ok(to) = std::fs::read_link(&at) else { break };
        at = at.parent().map_or_else(|| to.clone(), |folder| folder.join(&to));
    }
    std::fs::canonicalize(&at).unwrap_or(at)
}

/// The address of a file that nobody changes.
pub(crate) fn immutable(path: &Path) -> String {
    let path = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"/-_.~".contains(&byte);
    let mut address = String::from("file://");
    for byte in path.as_os_str().as_encoded_bytes() {
        // Writing into a String does not fail.
        let _ = if plain(*byte) { address.write_char(char::from(*byte)) } else { write!(address, "%{byte:02X}") };
    }
    address + "?immutable=1"
}

/// One connection.
#[derive(Debug)]
pub(crate) struct Link {
    connection: Connection,
    connector: Arc<Connector>,
}

impl Link {
    /// Runs all statements of a script. After an error, later statements have not run and a transaction may be open.
    pub(crate) fn run(&mut self, script: &Script) -> Result<(), rusqlite::Error> {
        self.answer(script, |_| Ok(()))
    }

    /// Runs a script that returns one row: one JSON text. Reads that.
    pub(crate) fn ask<T: DeserializeOwned>(&mut self, script: &Script) -> Result<T, Trouble> {
        let mut answer = None;
        let read = |row: &Row<'_>| {
            answer = Some(serde_json::from_slice(row.get_ref(0)?.as_bytes()?));
            Ok(())
        };
        self.answer(script, read).map_err(Trouble::Sql)?;
        let answer = answer.ok_or_else(|| Trouble::Rows(corrupt("a question was not answered")))?;
        answer.map_err(|error| Trouble::Rows(StoreError::Corrupt(Some(error.into()))))
    }

    /// Runs a script and shows the rows that it returns as they come, for the few questions whose answers are long: of each run
    /// of a statement until one is enough.
    pub(crate) fn rows(
        &mut self,
        script: &Script,
        read: impl FnMut(&Row<'_>) -> Result<ControlFlow<()>, rusqlite::Error>,
    ) -> Result<(), StoreError> {
        self.count_script();
        self.each_until(script, read).map_err(store_error)
    }

    /// Runs a script and returns the first column of all rows, as texts.
    pub(crate) fn texts(&mut self, script: &Script) -> Result<Vec<String>, rusqlite::Error> {
        let mut texts = Vec::new();
        let read = |row: &Row<'_>| {
            texts.push(row.get(0)?);
            Ok(())
        };
        self.answer(script, read)?;
        Ok(texts)
    }

    /// The steps by which SQLite would run an explained statement, each with the number of the step that it is a part of.
    #[cfg(test)]
    pub(crate) fn plan(&mut self, script: &Script) -> Result<Vec<(i64, String)>, rusqlite::Error> {
        let mut steps = Vec::new();
        let read = |row: &Row<'_>| {
            steps.push((row.get("parent")?, row.get("detail")?));
            Ok(())
        };
        self.answer(script, read)?;
        Ok(steps)
    }

    /// Runs statements that are needed once, in one text.
    pub(crate) fn run_once(&mut self, sql: &str) -> Result<(), rusqlite::Error> {
        self.connection.execute_batch(sql)
    }

    /// Whether no transaction was left open.
    pub(crate) fn is_whole(&self) -> bool {
        self.connection.is_autocommit()
    }

    /// Closes the file.
    pub(crate) fn close(self) {
        if let Err((_, error)) = self.connection.close() {
            tracing::debug!(error = &error as &dyn std::error::Error, "a connection did not close cleanly");
        }
    }

    /// Begins or ends a transaction.
    pub(crate) fn turn(&mut self, how: &'static str) -> Result<(), rusqlite::Error> {
        let mut script = Script::default();
        script.add(how);
        self.each(&script, |_| Ok(()))
    }

    /// Runs a script and shows every row that it returns.
    fn answer(
        &mut self,
        script: &Script,
        read: impl FnMut(&Row<'_>) -> Result<(), rusqlite::Error>,
    ) -> Result<(), rusqlite::Error> {
        self.count_script();
        self.each(script, read)
    }

    fn count_script(&self) {
        self.connector.counters.scripts.fetch_add(1, Ordering::Relaxed);
    }

    /// Runs a part of a longer script and shows every row that it returns.
    pub(crate) fn each(
        &mut self,
        script: &Script,
        mut read: impl FnMut(&Row<'_>) -> Result<(), rusqlite::Error>,
    ) -> Result<(), rusqlite::Error> {
        self.each_until(script, |row| read(row).map(ControlFlow::Continue))
    }

    fn each_until(
        &mut self,
        script: &Script,
        mut read: impl FnMut(&Row<'_>) -> Result<ControlFlow<()>, rusqlite::Error>,
    ) -> Result<(), rusqlite::Error> {
        let counters = &self.connector.counters;
        counters.statements.fetch_add(u64::try_from(script.len()).unwrap_or(u64::MAX), Ordering::Relaxed);
        for (sql, rows) in script.statements() {
            let mut statement = self.connection.prepare_cached(sql)?;
            let wanted = statement.parameter_count();
            for values in rows {
                // One that is missing would keep its value from the row before.
                if values.len() < wanted {
                    return Err(rusqlite::Error::InvalidParameterCount(values.len(), wanted));
                }
                for (place, value) in (1..=wanted).zip(values) {
                    statement.raw_bind_parameter(place, value)?;
                }
                let mut found = statement.raw_query();
                while let Some(row) = found.next()? {
                    if read(row)?.is_break() {
                        break;
                    }
                }
            }
        }
        Ok(())
    }
}

/// The connections that readers share.
#[derive(Debug)]
pub(crate) struct Pool {
    connector: Arc<Connector>,
    permits: Semaphore,
    idle: Mutex<Vec<Link>>,
}

impl Pool {
    pub(crate) fn new(connector: Arc<Connector>) -> Self {
        let permits = Semaphore::new(connector.options.readers.max(1));
        Self { connector, permits, idle: Mutex::new(Vec::new()) }
    }

    /// Takes in a connection that was opened for something else.
    pub(crate) fn adopt(&self, link: Link) {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner).push(link);
    }

    /// A connection for one read of the file that was opened; turned away when none becomes free in time.
    pub(crate) async fn lease(&self) -> Result<Lease<'_>, StoreError> {
        let permit = match self.permits.try_acquire() {
            Ok(permit) => permit,
            Err(_) => match tokio::time::timeout(options::READER_WAIT, self.permits.acquire()).await {
                Ok(Ok(permit)) => permit,
                Ok(Err(_)) => return Err(failed("the store is closed")),
                Err(_) => return Err(StoreError::Overloaded),
            },
        };
        let idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner).pop();
        let link = match idle {
            Some(link) => self.connector.check().map(|()| link)?,
            None => self.connector.connect(false)?,
        };
        Ok(Lease { pool: self, link: Some(link), _permit: permit })
    }

    /// Turns new reads away and closes what is idle.
    pub(crate) fn close(&self) {
        self.permits.close();
        let idle = std::mem::take(&mut *self.idle.lock().unwrap_or_else(PoisonError::into_inner));
        for link in idle {
            link.close();
        }
    }
}

/// A connection on loan.
pub(crate) struct Lease<'p> {
    pool: &'p Pool,
    link: Option<Link>,
    _permit: SemaphorePermit<'p>,
}

impl Deref for Lease<'_> {
    type Target = Link;

    fn deref(&self) -> &Link {
        self.link.as_ref().unwrap_or_else(|| unreachable!("a lease holds its connection until it is dropped"))
    }
}

impl DerefMut for Lease<'_> {
    fn deref_mut(&mut self) -> &mut Link {
        self.link.as_mut().unwrap_or_else(|| unreachable!("a lease holds its connection until it is dropped"))
    }
}

impl Drop for Lease<'_> {
    fn drop(&mut self) {
        if let Some(link) = self.link.take().filter(Link::is_whole) {
            self.pool.adopt(link);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::Connector;
    use crate::options::SqliteOptions;
    use crate::script::Script;

    #[test]
    fn a_row_with_too_few_values_is_refused() {
        let folder = tempfile::tempdir().expect("a folder");
        let connector = Arc::new(Connector::new(SqliteOptions::new(folder.path().join("some.db"))));
        let mut link = connector.connect(true).expect("a connection");
        let mut script = Script::default();
        script.add("CREATE TABLE pairs (a, b)");
        script.put("INSERT INTO pairs VALUES (?, ?)", [vec![1_i64.into(), 2_i64.into()], vec![3_i64.into()]]);
        assert!(matches!(link.run(&script), Err(rusqlite::Error::InvalidParameterCount(1, 2))));
    }
}
