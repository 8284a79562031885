//! Waiting for events, whichever process commits them.
//!
//! One of the waiters looks for all of them: it reads the newest event's number when something was committed, here or by
//! another process. That another process has committed it sees without asking the database anything: every commit changes
//! the head of the index of the log, which all processes share in memory (the file beside the database that ends in
//! `-shm`). When nobody waits, nobody looks. Numbers are compared, not signals counted, so a waiter misses nothing.

use std::fs::File;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

use docket_core::store::StoreError;
use tokio::sync::{Mutex, Notify, watch};

use crate::options::{GLANCE_EVERY, SAFETY_LOOK};
use crate::original::open_for_good;
use crate::pool::{Connector, Pool};
use crate::read::head_script;

/// What is known of the newest event.
#[derive(Debug)]
pub(crate) struct Watch {
    head: watch::Sender<u64>,
    /// Held by the waiter that looks for all.
    lookout: Mutex<()>,
    /// Wakes that waiter when this process has committed something.
    commit: Notify,
    /// The index lies beside the file itself, wherever links to it lie.
    database: PathBuf,
    connector: Arc<Connector>,
}

impl Watch {
    /// A watch over a database that is open already.
    pub(crate) fn new(connector: Arc<Connector>) -> Self {
        let path = &connector.options.path;
        let database = std::fs::canonicalize(path).unwrap_or_else(|_| path.clone());
        Self { head: watch::Sender::new(0), lookout: Mutex::new(()), commit: Notify::new(), database, connector }
    }

    /// Says that this process has committed something.
    pub(crate) fn committed(&self) {
        self.commit.notify_one();
    }

    /// A number that is another one after every commit, by whichever process; none without an index, and none once another file
    /// is in the place of the one that was opened.
    pub(crate) fn mark(&self) -> Option<u64> {
        if !self.connector.is_in_place() {
            return None;
        }
        let head = LogIndex::of(&self.database)?.head()?;
        let mut mark = DefaultHasher::new();
        head.hash(&mut mark);
        Some(mark.finish())
    }

    /// Reads the number of the newest event and tells waiters.
    pub(crate) async fn look(&self, pool: &Pool) -> Result<u64, StoreError> {
        let head: u64 = pool.lease().await?.ask(&head_script())?;
        self.head.send_if_modified(|known| {
            let newer = head > *known;
            *known = head.max(*known);
            newer
        });
        Ok(head)
    }

    /// Returns when there is an event newer than `after`.
    pub(crate) async fn changed(&self, pool: &Pool, after: u64) -> Result<u64, StoreError> {
        let mut head = self.head.subscribe();
        loop {
            let known = *head.borrow_and_update();
            if known > after {
                return Ok(known);
            }
            tokio::select! {
                // The sender lives as long as this store does.
                _ = head.changed() => {}
                found = self.keep_looking(pool, after) => found?,
            }
        }
    }

    /// Looks once nobody else does, until there is an event that counts. When the waiter that looks goes away, the next
    /// one takes over.
    async fn keep_looking(&self, pool: &Pool, after: u64) -> Result<(), StoreError> {
        let _lookout = self.lookout.lock().await;
        loop {
            // Before the look: what is committed after it changes the index once more.
            let before = LogIndex::of(&self.database).and_then(|index| index.head());
            if self.look(pool).await? > after {
                return Ok(());
            }
            self.rest(before).await;
        }
    }

    /// Returns when something was committed, as far as can be seen without asking the database; now and then in any case.
    async fn rest(&self, before: Option<IndexHead>) {
        let begun = Instant::now();
        while begun.elapsed() < SAFETY_LOOK {
            // Whichever comes first; a commit made since the last look is remembered.
            if tokio::time::timeout(GLANCE_EVERY, self.commit.notified()).await.is_ok() {
                return;
            }
            let now = LogIndex::of(&self.database).and_then(|index| index.head());
            // Without an index, as of a database that nobody can write, only the database itself can tell.
            if before.is_none() || now != before {
                return;
            }
        }
    }
}

/// What an index of the log begins with: it says how far the log goes, how often it was changed, and from which beginning.
/// SQLite keeps two copies, for readers who come while one is written; the first is changed last.
type IndexHead = [u8; 48];

/// The index of a database's log, open for reading.
#[derive(Debug)]
struct LogIndex(Arc<File>);

impl LogIndex {
    /// The index beside a database, if there is one.
    fn of(database: &Path) -> Option<Self> {
        let mut path = database.as_os_str().to_owned();
        path.push("-shm");
        open_for_good(Path::new(&path)).map(Self)
    }

    fn head(&self) -> Option<IndexHead> {
        let mut head = [0; size_of::<IndexHead>()];
        self.0.read_exact_at(&mut head, 0).ok()?;
        Some(head)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::Watch;
    use crate::options::SqliteOptions;
    use crate::pool::Connector;

    #[test]
    fn there_is_no_mark_once_another_file_is_in_the_place() {
        let folder = tempfile::tempdir().expect("a folder");
        let (database, index) = (folder.path().join("some.db"), folder.path().join("some.db-shm"));
        let connector = Arc::new(Connector::new(SqliteOptions::new(&database)));
        connector.connect(true).expect("a connection").run_once("CREATE TABLE one (x)").expect("a file");
        std::fs::write(&index, [1; 48]).expect("a file");
        let watch = Watch::new(connector);
        let mark = watch.mark().expect("a mark");
        assert_eq!(watch.mark(), Some(mark));
        std::fs::write(&index, [2; 48]).expect("a commit");
        assert!(watch.mark().is_some_and(|other| other != mark));
        std::fs::rename(&database, folder.path().join("aside.db")).expect("set aside");
        std::fs::write(&database, "another").expect("a file");
        assert_eq!(watch.mark(), None);
    }
}
