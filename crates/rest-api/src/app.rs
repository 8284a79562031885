//! Everything a server is made of, and the router over it.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use axum::Router;
use docket_core::model::{ProjectId, Slug};
use docket_core::store::ProjectRef;
use docket_core::{Code, Engine, Error, Kind, Reason};
use tokio::sync::{Semaphore, watch};

use crate::endpoint::Endpoint;
use crate::gate::{Caller, Gatekeeper};
use crate::hosts::Hosts;
use crate::keys::KeyBook;
use crate::limits::Limits;
use crate::metrics::Metrics;
use crate::turn::Turns;

/// What a server is started with. The composition root fills it in.
pub struct Settings {
    /// The rules without a limit: to see whether the store is there.
    pub engine: Engine,
    /// Who lets callers in.
    pub gate: Arc<dyn Gatekeeper>,
    /// The names the server answers to.
    pub hosts: Hosts,
    /// How much it takes.
    pub limits: Limits,
    /// The project that is meant when a request names none.
    pub project: Option<ProjectId>,
    /// What answers at `/mcp`.
    pub mcp: Option<Arc<dyn Endpoint>>,
}

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
    pub(crate) hosts: Hosts,
    pub(crate) limits: Limits,
    pub(crate) project: Option<ProjectId>,
    pub(crate) mcp: Option<Arc<dyn Endpoint>>,
    pub(crate) keys: KeyBook,
    pub(crate) metrics: Metrics,
    pub(crate) turns: Turns,
    /// An import or export holds all its rows in memory: one at a time.
    pub(crate) exchange: Semaphore,
    /// Whether the server was told to stop; waiters look at it.
    pub(crate) stopping: watch::Sender<bool>,
    warned: AtomicBool,
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
        let shared = Arc::new(Shared {
            engine: settings.engine,
            gate: settings.gate,
            hosts: settings.hosts,
            limits,
            project: settings.project,
            mcp: settings.mcp,
            keys: KeyBook::default(),
            metrics: Metrics::default(),
            turns: Turns::new(limits.in_flight, limits.waiters, limits.turn),
            exchange: Semaphore::new(1),
            stopping: watch::Sender::new(false),
            warned: AtomicBool::new(false),
        });
        Self { router: crate::routes::router(&shared), shared }
    }
}

impl Shared {
    /// Whether the store answers and the server is not stopping.
    pub(crate) async fn is_ready(&self) -> bool {
        if *self.stopping.borrow() {
            return false;
        }
        let answered = tokio::time::timeout(crate::limits::READY_TIMEOUT, self.engine.head()).await;
        let ready = matches!(answered, Ok(Ok(_)));
        // Said once, not at every look of a load balancer.
        if !ready && !self.warned.swap(true, Ordering::Relaxed) {
            tracing::warn!("the store does not answer");
        } else if ready && self.warned.swap(false, Ordering::Relaxed) {
            tracing::warn!("the store answers again");
        }
        ready
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
        let found = projects.iter().find(|project| project.slug == *slug);
        found.map(|project| ProjectRef::Id(project.id)).ok_or_else(|| no_project(slug))
    }

    /// The project of a write that needs one: the one named, the one served, or the only one the caller sees.
    pub(crate) async fn project(&self, caller: &Caller, named: Option<&Slug>) -> Result<ProjectRef, Error> {
        if let Some(slug) = named {
            return Ok(ProjectRef::Slug(slug.clone()));
        }
        if let Some(id) = self.project {
            return Ok(ProjectRef::Id(id));
        }
        match caller.engine.projects().await?.as_slice() {
            [only] => Ok(ProjectRef::Id(only.id)),
            [] => Err(project_required("there is no project yet: make one")),
            _ => Err(project_required("there are several projects: say which one is meant")),
        }
    }
}

/// That a project is not there, or may not be seen.
pub(crate) fn no_project(slug: &Slug) -> Error {
    Error::not_found(format!("no project \"{slug}\"")).at("project")
}

fn project_required(message: &str) -> Error {
    Error::new(Kind::Permanent, Code::ProjectRequired, Reason::ProjectRequired, message).at("project")
}
