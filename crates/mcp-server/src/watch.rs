//! Tells subscribers that a resource has changed.
//!
//! While anybody subscribes, one task for each process reads each event once, as soon as it is committed; subscribers take
//! from that what they may see and asked for. An update says nothing but "read it again", so it may be said once for many
//! changes, and whoever lags behind is told it of everything: nothing is missed, and nothing grows.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Duration;

use docket_core::query::{Fresh, OtherEnds};
use docket_core::store::{Around, EventFilter, ProjectRef};
use docket_core::{Engine, Error, Kind, Reason, limits};
use rmcp::model::ResourceUpdatedNotificationParam;
use rmcp::service::{Peer, RequestContext, RoleServer};
use tokio::sync::broadcast::{self, error::RecvError};
use tokio::task::AbortHandle;

use crate::session::Session;
use crate::surface::Watch;

/// Most resources that one connection, or one stream, subscribes to.
pub(crate) const SUBSCRIPTIONS: usize = 100;
/// Pages of events that a subscriber may lag behind.
const PAGES: usize = 16;
/// How long events gather before they are told: many changes are one update.
const GATHER: Duration = Duration::from_millis(100);
/// How soon the store is asked again when it could not answer.
const AGAIN: Duration = Duration::from_secs(1);

type Page = Arc<[Fresh]>;

/// The one reader of a process, while there is anybody to read for.
#[derive(Debug, Default)]
pub(crate) struct Hub(Mutex<Weak<Reading>>);

#[derive(Debug)]
struct Reading {
    pages: broadcast::Sender<Page>,
    task: AbortHandle,
}

/// Hears of every event from the moment on in which it was made.
#[derive(Debug)]
pub(crate) struct Ear {
    pages: broadcast::Receiver<Page>,
    _reading: Arc<Reading>,
}

/// An ear that comes with a request.
#[derive(Clone, Debug)]
pub(crate) struct Overheard(Arc<Mutex<Option<Ear>>>);

/// What somebody subscribes to, by address.
#[derive(Clone, Debug, Default)]
pub(crate) struct Subjects(BTreeMap<String, EventFilter>);

/// The subscriptions of a connection that subscribes to one resource after the other.
#[derive(Debug, Default)]
pub(crate) struct Subscriptions(tokio::sync::Mutex<Subscribed>);

#[derive(Debug, Default)]
struct Subscribed {
    subjects: Arc<Mutex<Subjects>>,
    telling: Option<Telling>,
}

/// A task that tells of changes; it ends with this.
#[derive(Debug)]
struct Telling(AbortHandle);

impl Drop for Reading {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Drop for Telling {
    fn drop(&mut self) {
        self.0.abort();
    }
}

impl Hub {
    /// Listens from now on: whatever is committed after this returns is heard.
    pub(crate) async fn listen(&self, engine: &Engine) -> Result<Ear, Error> {
        if let Some(reading) = self.running().upgrade().filter(|reading| !reading.task.is_finished()) {
            return Ok(Ear { pages: reading.pages.subscribe(), _reading: reading });
        }
        let head = engine.head().await?;
        let mut running = self.running();
        // Somebody else may have begun meanwhile, with a place that is as good.
        let begun = running.upgrade().filter(|reading| !reading.task.is_finished());
        let reading = begun.unwrap_or_else(|| {
            let pages = broadcast::Sender::new(PAGES);
            let task = tokio::spawn(read(engine.telling_nobody(), head, pages.clone())).abort_handle();
            Arc::new(Reading { pages, task })
        });
        *running = Arc::downgrade(&reading);
        Ok(Ear { pages: reading.pages.subscribe(), _reading: reading })
    }

    fn running(&self) -> std::sync::MutexGuard<'_, Weak<Reading>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Reads events for all, for as long as it is let.
async fn read(engine: Engine, mut after: u64, pages: broadcast::Sender<Page>) {
    let mut known = OtherEnds::default();
    loop {
        let next = async {
            engine.changed(after).await?;
            tokio::time::sleep(GATHER).await;
            engine.fresh(after, limits::PAGE, &mut known).await
        };
        match next.await {
            Ok(page) => {
                after = page.last().map_or(after, Fresh::seq);
                if !page.is_empty() {
                    // Nobody may listen right now; the next one begins later.
                    _ = pages.send(page.into());
                }
            }
            Err(error) => {
                if error.kind != Kind::Shedding {
                    tracing::warn!(error = &error as &dyn std::error::Error, "events cannot be followed");
                }
                tokio::time::sleep(AGAIN).await;
            }
        }
    }
}

impl Overheard {
    /// Hands an ear to a request.
    pub(crate) fn new(ear: Ear) -> Self {
        Self(Arc::new(Mutex::new(Some(ear))))
    }

    /// The ear that came with a request, once.
    pub(crate) fn of(context: &RequestContext<RoleServer>) -> Option<Ear> {
        let with_parts = || context.extensions.get::<http::request::Parts>()?.extensions.get::<Self>();
        let came = context.extensions.get::<Self>().or_else(with_parts)?;
        came.0.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

impl Ear {
    /// The next events; `None` for too many to be told one by one.
    async fn next(&mut self) -> Option<Page> {
        match self.pages.recv().await {
            Ok(page) => Some(page),
            Err(RecvError::Lagged(_)) => None,
            // The reader ends with the last who listens: this is not the end of anything but itself.
            Err(RecvError::Closed) => std::future::pending().await,
        }
    }

    /// The addresses of those subjects that have changed, once some have.
    pub(crate) async fn changed(&mut self, engine: &Engine, subjects: &Subjects) -> Vec<String> {
        loop {
            let page = self.next().await;
            let changed = subjects.changed(engine, page.as_deref());
            if !changed.is_empty() {
                return changed;
            }
        }
    }
}

impl Subjects {
    /// The subjects at these addresses that are there, for this caller.
    pub(crate) async fn find(session: &Session, watched: impl Iterator<Item = (String, Watch)> + Send) -> Self {
        let mut subjects = Self::default();
        for (uri, watch) in watched.take(SUBSCRIPTIONS) {
            match find(session, &watch).await {
                Ok(Some(filter)) => _ = subjects.0.insert(uri, filter),
                Ok(None) => {}
                // What is not there, or may not be seen, never changes.
                Err(error) => tracing::debug!(%error, "nothing to subscribe to"),
            }
        }
        subjects
    }

    fn changed(&self, engine: &Engine, page: Option<&[Fresh]>) -> Vec<String> {
        let told = |filter: &EventFilter| {
            page.is_none_or(|page| page.iter().any(|fresh| engine.told(fresh, filter).is_some()))
        };
        self.0.iter().filter(|(_, filter)| told(filter)).map(|(uri, _)| uri.clone()).collect()
    }
}

/// The events that change a resource; none for one that never changes.
async fn find(session: &Session, watch: &Watch) -> Result<Option<EventFilter>, Error> {
    match watch {
        Watch::Item(item) => {
            let engine = session.engine();
            let seen = engine.show(session.project(), std::slice::from_ref(item), Around::default()).await?;
            Ok(Some(EventFilter { item: Some(seen.resolve(item)?.id), ..EventFilter::default() }))
        }
        Watch::Project(named) => {
            let project = ProjectRef::Id(session.engine().project_named(named).await?.id);
            Ok(Some(EventFilter { project, ..EventFilter::default() }))
        }
        Watch::Still => Ok(None),
    }
}

impl Subscriptions {
    /// Subscribes to one more resource; the peer is told of its changes from now on.
    pub(crate) async fn add(
        &self,
        hub: &Hub,
        session: &Session,
        peer: &Peer<RoleServer>,
        uri: String,
        watch: &Watch,
    ) -> Result<(), Error> {
        let filter = find(session, watch).await?;
        let mut subscribed = self.0.lock().await;
        let Some(filter) = filter else { return Ok(()) };
        {
            let mut subjects = subscribed.subjects.lock().unwrap_or_else(PoisonError::into_inner);
            if subjects.0.len() >= SUBSCRIPTIONS && !subjects.0.contains_key(&uri) {
                let message = format!("at most {SUBSCRIPTIONS} resources are subscribed to on one connection");
                return Err(Error::validation(Reason::TooMany, message).at("uri"));
            }
            subjects.0.insert(uri, filter);
        }
        if subscribed.telling.is_none() {
            let ear = hub.listen(session.engine()).await?;
            let subjects = Arc::clone(&subscribed.subjects);
            let task = tokio::spawn(tell(ear, session.engine().clone(), subjects, peer.clone()));
            subscribed.telling = Some(Telling(task.abort_handle()));
        }
        Ok(())
    }

    /// Ends a subscription; one that is not there is ended already.
    pub(crate) async fn remove(&self, uri: &str) {
        let mut subscribed = self.0.lock().await;
        let none_left = {
            let mut subjects = subscribed.subjects.lock().unwrap_or_else(PoisonError::into_inner);
            subjects.0.remove(uri);
            subjects.0.is_empty()
        };
        if none_left {
            subscribed.telling = None;
        }
    }
}

/// Tells a peer of changes until it is gone.
async fn tell(mut ear: Ear, engine: Engine, subjects: Arc<Mutex<Subjects>>, peer: Peer<RoleServer>) {
    loop {
        let page = ear.next().await;
        let changed = subjects.lock().unwrap_or_else(PoisonError::into_inner).changed(&engine, page.as_deref());
        for uri in changed {
            if peer.notify_resource_updated(ResourceUpdatedNotificationParam::new(uri)).await.is_err() {
                return;
            }
        }
    }
}
