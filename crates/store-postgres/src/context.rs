//! What readers and units of work share in memory: the clock and the projects' rules.

use std::collections::HashMap;
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use docket_core::model::{Project, ProjectId, Timestamp};

use crate::script::Script;

/// What this process knows without asking.
#[derive(Debug)]
pub(crate) struct Context {
    pub(crate) clock: Clock,
    pub(crate) projects: ProjectCache,
}

impl Context {
    pub(crate) fn new(skew: Arc<AtomicI64>) -> Self {
        Self { clock: Clock { skew, seen: Mutex::new(None) }, projects: ProjectCache::default() }
    }
}

/// The server's time, which never goes backwards: not within this process, and not behind what was recorded. Where the
/// server's clock was set back, another server took over, or what was recorded lies ahead of it, time goes on from there
/// at its usual pace: a lease lasts as long as it was given for, whatever happens to the clock.
#[derive(Debug)]
pub(crate) struct Clock {
    skew: Arc<AtomicI64>,
    /// The latest time seen, in milliseconds, and when that was.
    seen: Mutex<Option<(i64, Instant)>>,
}

impl Clock {
    /// An expression for the time.
    pub(crate) fn now(&self, script: &mut Script) -> String {
        let skew = script.int(self.skew.load(Ordering::Relaxed));
        let last = script.int(self.at_least());
        format!(
            "greatest((extract(epoch FROM clock_timestamp()) * 1000)::bigint + {skew}, {last}, \
             (SELECT max(at) FROM events))"
        )
    }

    /// Remembers what the database answered.
    pub(crate) fn saw(&self, now: Timestamp) {
        if now.as_millis() > self.at_least() {
            *self.seen.lock().unwrap_or_else(PoisonError::into_inner) = Some((now.as_millis(), Instant::now()));
        }
    }

    /// The latest time seen and what has passed since.
    fn at_least(&self) -> i64 {
        let seen = *self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        seen.map_or(0, |(millis, when)| {
            millis.saturating_add(i64::try_from(when.elapsed().as_millis()).unwrap_or(i64::MAX))
        })
    }
}

/// Projects by id, each at the version last seen: their rules are pages of JSON, parsed once.
#[derive(Debug, Default)]
pub(crate) struct ProjectCache(Mutex<HashMap<ProjectId, Arc<Project>>>);

impl ProjectCache {
    /// A project at exactly this version.
    pub(crate) fn get(&self, id: ProjectId, version: u64) -> Option<Arc<Project>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).get(&id).filter(|known| known.version == version).cloned()
    }

    pub(crate) fn put(&self, project: Arc<Project>) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).insert(project.id, project);
    }
}
