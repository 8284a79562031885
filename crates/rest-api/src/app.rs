//! Everything a server is made of, and the router over it.

use std::sync::Arc;
use std::time::Instant;

use axum::Router;
use docket_core::model::{Project, ProjectId, Slug};
use docket_core::store::ProjectRef;
use docket_core::{Engine, Error, Kind};
use tokio::sync::{Mutex, Semaphore, watch};

use crate::bodies::Bodies;
use crate::endpoint::Endpoint;
use crate::feed::Feed;
use crate::gate::{Actors, Caller, Gatekeeper};
use crate::hosts::Hosts;
use crate::kept::KeptAnswers;
use crate::keys::KeyBook;
use crate::limits::{Limits, READY_BUSY, READY_SHARED, READY_TIMEOUT};
use crate::metrics::Metrics;
use crate::pages::Page;
use crate::turn::Turns;

/// What a server is started with. The composition root fills it in.
pub struct Settings {
    /// The rules without a limit: to see whether the store is there.
    pub engine: Engine,
    /// Who lets callers in.
    pub gate: Arc<dyn Gatekeeper>,
    /// How actors are taken.
    pub actors: Actors,
    /// Where clients reach the server, such as `https://docket.example.org`; else by the name they call it.
    pub public_url: Option<String>,
    /// The names the server answers to.
    pub hosts: Hosts,
    /// How much it takes.
    pub limits: Limits,
    /// The project that is meant when a request names none.
    pub project: Option<ProjectId>,
    /// Pages of text beside the reference at `/docs`.
    pub pages: Vec<Page>,
    /// What answers at `/mcp`.
    pub mcp: Option<Arc<dyn Endpoint>>,
    /// Makes the span of a call a part of the trace that its headers name, where traces are collected.
    pub adopt: Option<Adopt>,
}

/// Ties the span of a call to what its headers say of the caller's own trace.
pub type Adopt = fn(&tracing::Span, &http::HeaderMap);

impl std::fmt::Debug for Settings {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Settings").field("hosts", &self.hosts).field("limits", &self.limits).finish_non_exhaustive()
    }
}

/// A server's routes with what they share.
#[derive(Clone, Debug)]
pub struct App {
    pub(crate) shared: Arc<Shared>,
    pub(crate) router: Router,
}

/// What all requests share.
pub(crate) struct Shared {
    pub(crate) engine: Engine,
    pub(crate) gate: Arc<dyn Gatekeeper>,
    pub(crate) actors: Actors,
    pub(crate) public_url: Option<String>,
    pub(crate) hosts: Hosts,
    pub(crate) limits: Limits,
    pub(crate) project: Option<ProjectId>,
    pub(crate) pages: Vec<Page>,
    pub(crate) mcp: Option<Arc<dyn Endpoint>>,
    pub(crate) adopt: Option<Adopt>,
    pub(crate) keys: KeyBook,
    pub(crate) kept: KeptAnswers,
    pub(crate) metrics: Metrics,
    /// Bodies that are arriving or worked on.
    pub(crate) bodies: Arc<Bodies>,
    pub(crate) turns: Turns,
    /// Events as they happen, read once for all who follow them.
    pub(crate) feed: Arc<Feed>,
    /// An import or export holds all its rows in memory: one at a time.
    pub(crate) exchange: Semaphore,
    /// Whether the server was told to stop; waiters look at it.
    pub(crate) stopping: watch::Sender<bool>,
    /// Held by the one that looks for all who ask.
    readiness: Mutex<Readiness>,
}

/// Whether the store was there when it was looked at last, and since when it has had too much to do to say so.
#[derive(Debug)]
struct Readiness {
    ready: bool,
    at: Option<Instant>,
    busy: Option<Instant>,
}

impl Readiness {
    /// Takes in what a look at the store found. Two looks that are far apart say nothing of the time between them.
    fn learn(&mut self, found: Result<(), Kind>, now: Instant) {
        if self.at.is_none_or(|at| now.saturating_duration_since(at) > READY_BUSY) {
            self.busy = None;
        }
        self.at = Some(now);
        match found {
            Ok(()) => (self.ready, self.busy) = (true, None),
            // A store that has much to do is there as it was: a server that is let go for it would leave all to the others. One that
            // went away while many asked looks the same, but does not answer before long.
            Err(Kind::Shedding) => self.ready &= now - *self.busy.get_or_insert(now) < READY_BUSY,
            Err(Kind::Transient | Kind::Permanent) => (self.ready, self.busy) = (false, None),
        }
    }
}

impl std::fmt::Debug for Shared {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Shared").field("hosts", &self.hosts).field("limits", &self.limits).finish_non_exhaustive()
    }
}

impl App {
    /// A server's routes.
    pub fn new(settings: Settings) -> Self {
        let limits = settings.limits;
        let feed = Feed::new(settings.engine.clone());
        let shared = Arc::new(Shared {
            feed,
            engine: settings.engine,
            gate: settings.gate,
            actors: settings.actors,
            public_url: settings.public_url,
            hosts: settings.hosts,
            limits,
            project: settings.project,
            pages: settings.pages,
            mcp: settings.mcp,
            adopt: settings.adopt,
            keys: KeyBook::default(),
            kept: KeptAnswers::default(),
            metrics: Metrics::default(),
            bodies: Arc::new(Bodies::new(&limits)),
            turns: Turns::new(limits.in_flight, limits.waiters, limits.turn),
            exchange: Semaphore::new(1),
            stopping: watch::Sender::new(false),
            readiness: Mutex::new(Readiness { ready: true, at: None, busy: None }),
        });
        Self { router: crate::routes::router(&shared), shared }
    }
}

impl Shared {
    /// Whether the store can be read and written, and the server is not stopping.
    pub(crate) async fn is_ready(&self) -> bool {
        if *self.stopping.borrow() {
            return false;
        }
        let mut known = self.readiness.lock().await;
        if known.at.is_some_and(|at| at.elapsed() < READY_SHARED) {
            return known.ready;
        }
        let before = known.ready;
        let found = tokio::time::timeout(READY_TIMEOUT, self.engine.ready()).await;
        let found = found.map_or(Err(Kind::Transient), |found| found.map_err(|error| error.kind));
        known.learn(found, Instant::now());
        // Said once, not at every look of a load balancer.
        match (before, known.ready) {
            (true, false) => tracing::warn!("the store does not answer, or takes no writes"),
            (false, true) => tracing::warn!("the store answers again"),
            (true, true) | (false, false) => {}
        }
        known.ready
    }

    /// Resolves when the server was told to stop.
    pub(crate) async fn stopped(&self) {
        let mut stopping = self.stopping.subscribe();
        // The sender lives as long as this does.
        _ = stopping.wait_for(|stopping| *stopping).await;
    }

    /// The project of a read: the one named, which must be there, else all that the caller sees.
    pub(crate) async fn scope(&self, caller: &Caller, named: Option<&Slug>) -> Result<ProjectRef, Error> {
        let Some(slug) = named else { return Ok(ProjectRef::Any) };
        let projects = caller.engine.projects().await?;
        let found = projects.iter().find(|project| is_meant(project, slug));
        found.map(|project| ProjectRef::Id(project.id)).ok_or_else(|| no_project(slug))
    }

    /// The project of a write that needs one: the one named, the one served, or the only one the caller sees.
    pub(crate) async fn project(&self, caller: &Caller, named: Option<&Slug>) -> Result<ProjectRef, Error> {
        if let Some(slug) = named {
            // An id reads like a slug.
            let id = slug.as_str().parse::<ProjectId>();
            return Ok(id.map_or_else(|_| ProjectRef::Slug(slug.clone()), ProjectRef::Id));
        }
        if let Some(id) = self.project {
            return Ok(ProjectRef::Id(id));
        }
        caller.engine.select_project(None, &ProjectRef::Any).await
    }
}

/// That a project is not there, or may not be seen.
pub(crate) fn no_project(slug: &Slug) -> Error {
    Error::not_found(format!("no project \"{slug}\"")).at("project")
}

/// Whether a caller who writes this means the project: it goes by its slug and by its id.
pub(crate) fn is_meant(project: &Project, named: &Slug) -> bool {
    project.slug == *named || project.id.to_string() == named.as_str()
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn a_store_counts_as_away_after_five_seconds_that_were_looked_at() {
        let begun = Instant::now();
        let at = |seconds: u64| begun + Duration::from_secs(seconds);
        let mut known = Readiness { ready: true, at: None, busy: None };
        let mut look = |seconds, found: Result<(), Kind>| {
            known.learn(found, at(seconds));
            known.ready
        };
        assert!(look(0, Err(Kind::Shedding)));
        // Two unlucky looks a minute apart are no minute of being busy.
        assert!(look(60, Err(Kind::Shedding)));
        assert!(look(63, Err(Kind::Shedding)) && !look(66, Err(Kind::Shedding)));
        assert!(look(67, Ok(())) && look(68, Err(Kind::Shedding)));
        assert!(!look(69, Err(Kind::Transient)));
    }
}
