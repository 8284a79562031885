//! The file with keys, read again when it is old: an operator may put another in its place. One that cannot be read then
//! takes nothing away.

use std::fs::File;
use std::io::Read;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use crate::keyset::KeySet;
use crate::settings::SetupError;
use crate::{FETCH_BYTES, REFRESH_MOMENT};

/// A file and the keys that were in it.
pub(crate) struct KeyFile {
    path: PathBuf,
    /// How long what was read is good.
    lasts: Duration,
    known: Mutex<Known>,
}

struct Known {
    keys: Arc<KeySet>,
    /// When somebody last began to read.
    read: Instant,
}

impl KeyFile {
    /// Reads a file for the first time: it must have a key that can be used.
    pub(crate) fn open(path: PathBuf, lasts: Duration) -> Result<Self, SetupError> {
        let read = Instant::now();
        let file = Self { path, lasts, known: Mutex::new(Known { keys: Arc::default(), read }) };
        let keys = file.read().map_err(|what| SetupError(format!("{}: {what}", file.path.display())))?;
        file.known().keys = Arc::new(keys);
        Ok(file)
    }

    /// Its keys. Whoever finds them old reads them again; those that come meanwhile have the old ones.
    pub(crate) async fn keys(self: &Arc<Self>) -> Arc<KeySet> {
        {
            let mut known = self.known();
            if known.read.elapsed() < self.lasts {
                return Arc::clone(&known.keys);
            }
            known.read = Instant::now();
        }
        let file = Arc::clone(self);
        let reading = tokio::task::spawn_blocking(move || file.read_again());
        // A disk that does not answer keeps nobody at the door.
        _ = tokio::time::timeout(REFRESH_MOMENT, reading).await;
        Arc::clone(&self.known().keys)
    }

    fn read_again(&self) {
        match self.read() {
            Ok(keys) => self.known().keys = Arc::new(keys),
            Err(what) => {
                let path = self.path.display();
                tracing::warn!(%path, what, "the file of keys cannot be used as it is now: those that were read stay");
            }
        }
    }

    fn read(&self) -> Result<KeySet, String> {
        let mut text = Vec::new();
        let most = u64::try_from(FETCH_BYTES).unwrap_or(u64::MAX);
        File::open(&self.path)
            .and_then(|file| file.take(most.saturating_add(1)).read_to_end(&mut text))
            .map_err(|error| format!("cannot be read: {error}"))?;
        if text.len() > FETCH_BYTES {
            return Err(format!("is longer than {FETCH_BYTES} bytes"));
        }
        KeySet::parse(&text)
    }

    fn known(&self) -> std::sync::MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
