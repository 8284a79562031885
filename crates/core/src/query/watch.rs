//! Waiting for a change of an item, or of what matches a filter, with a cursor that cannot miss one.
//!
//! A cursor names the last event that its holder was told of. What was committed after it is told at once by the next
//! wait, so nothing that happens between two waits is lost, whichever process served them.

use std::collections::BTreeSet;
use std::future::Future;
use std::pin::{Pin, pin};
use std::task::Poll;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::engine::Engine;
use crate::error::{Code, Error, Kind};
use crate::limits;
use crate::model::{Event, Item, ItemId, ItemRef, Name, Tag, Verb};
use crate::query::cursor::{open, seal};
use crate::store::{Around, EventFilter, ProjectRef};

/// What is waited for.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Watch {
    /// The project that is looked at.
    pub project: ProjectRef,
    /// One item; otherwise all that match what follows.
    pub item: Option<ItemRef>,
    /// Only once it stands at one of these, or has come to one of them since the cursor, wherever it is now.
    pub statuses: Vec<Name>,
    /// Only what was done in one of these ways.
    pub verbs: Vec<Verb>,
    /// Only direct children of this item.
    pub parent: Option<ItemRef>,
    /// Only items with one of these tags.
    pub tags: Vec<Tag>,
    /// Only items of this type.
    pub item_type: Option<Name>,
}

/// Why a wait ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum Woken {
    /// It changed while it was waited for.
    TaskChanged,
    /// It stood at a wanted status to begin with.
    AlreadyAtStatus,
    /// It had changed since the cursor.
    ChangedSinceCursor,
    /// Nothing happened for as long as was to be waited.
    WaitTimeout,
    /// The server or its store could not be waited at any longer: wait again with the cursor.
    WaitInterrupted,
    /// The item was removed.
    TaskDeleted,
}

/// How a wait ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Watched {
    /// Why.
    pub woken: Woken,
    /// What happened, in order; a page of it at the most.
    pub events: Vec<Event>,
    /// The items it happened to, as they are now; one that is waited for by name is there in any case.
    pub items: Vec<Item>,
    /// Where the next wait goes on.
    pub cursor: String,
}

/// The last event that was told, and the item that is waited for: its key is gone when it is.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct Place(
    u64,
    Option<ItemId>,
    /// How many others the item waited for: that changes by what happens to them, and leaves no event of its own.
    #[serde(default)]
    Option<u32>,
);

/// A page of what happened.
#[derive(Debug, Default)]
struct Happened {
    events: Vec<Event>,
    items: Vec<Item>,
    /// The number of the last event that was looked at.
    seen: u64,
}

impl Engine {
    /// Waits until something that is watched changes, or `patience` is over. `sleep` is the shell's timer: the core has none.
    pub async fn watch<S, F>(
        &self,
        watch: &Watch,
        cursor: Option<&str>,
        patience: Duration,
        sleep: S,
    ) -> Result<Watched, Error>
    where
        S: Fn(Duration) -> F + Send + Sync,
        F: Future<Output = ()> + Send,
    {
        let since: Option<Place> = cursor.map(|cursor| open(&("watch", watch), cursor)).transpose()?;
        self.check_awaited(&watch.project, &watch.statuses).await?;
        // Read before anything is looked at, so that what is committed after is seen as a change.
        let mut head = self.head().await?;
        if let Some(Place(after, ..)) = since.filter(|place| place.0 > head) {
            self.check_follows(after, "cursor").await?;
        }
        let named = self.watched_item(watch, since).await?;
        let parent = self.watched_parent(watch).await?;
        let mut place = Place(
            since.map_or(head, |place| place.0),
            named.as_ref().map_or(since.and_then(|p| p.1), |item| Some(item.id)),
            since.and_then(|p| p.2).or(named.as_ref().map(|item| item.derived.blockers)),
        );
        let ended = |woken, place: Place, happened: Happened| Watched {
            woken,
            cursor: seal(&("watch", watch), &place),
            events: happened.events,
            items: happened.items,
        };
        if let Some(item) = named.filter(|item| since.is_none() && watch.statuses.contains(&item.status)) {
            let there = Happened { items: vec![item], ..Happened::default() };
            return Ok(ended(Woken::AlreadyAtStatus, place, there));
        }
        let patience = self.patience(patience);
        let mut over = pin!(sleep(patience));
        let mut first = true;
        loop {
            if let Some(happened) = self.news(watch, &mut place, parent).await? {
                return Ok(ended(woken_by(&happened, place, first && since.is_some()), place, happened));
            }
            if first && !patience.is_zero() {
                self.begins_to_wait()?;
            }
            first = false;
            head = match self.newer(head, over.as_mut()).await {
                None => return Ok(ended(Woken::WaitTimeout, place, self.as_it_is(place.1).await?)),
                Some(Ok(newer)) => newer,
                Some(Err(error)) if error.kind == Kind::Permanent => return Err(error),
                Some(Err(_)) => return Ok(ended(Woken::WaitInterrupted, place, Happened::default())),
            };
        }
    }

    /// The number of a newer event, once there is one; none where the time is over before.
    async fn newer<F>(&self, head: u64, mut over: Pin<&mut F>) -> Option<Result<u64, Error>>
    where
        F: Future<Output = ()> + Send,
    {
        let mut changed = pin!(self.store().changed(head));
        let newer = std::future::poll_fn(|context| {
            if over.as_mut().poll(context).is_ready() {
                return Poll::Ready(None);
            }
            changed.as_mut().poll(context).map(Some)
        });
        newer.await.map(|newer| newer.map_err(Error::from))
    }

    /// The item that is waited for. One that was there when its cursor was given out may be gone.
    async fn watched_item(&self, watch: &Watch, since: Option<Place>) -> Result<Option<Item>, Error> {
        let Some(item) = &watch.item else { return Ok(None) };
        let seen = self.show(&watch.project, std::slice::from_ref(item), Around::default()).await;
        match seen.and_then(|seen| seen.resolve(item).cloned()) {
            Err(error) if error.code == Code::NotFound && since.is_some_and(|place| place.1.is_some()) => Ok(None),
            found => found.map(Some),
        }
    }

    async fn watched_parent(&self, watch: &Watch) -> Result<Option<ItemId>, Error> {
        let Some(parent) = &watch.parent else { return Ok(None) };
        let seen = self.show(&watch.project, std::slice::from_ref(parent), Around::default()).await?;
        Ok(Some(seen.resolve(parent)?.id))
    }

    /// What is to be told, and where the next look begins: behind all that was looked at.
    async fn news(&self, watch: &Watch, place: &mut Place, parent: Option<ItemId>) -> Result<Option<Happened>, Error> {
        loop {
            let happened = self.happened(watch, *place, parent).await?;
            let more = happened.seen > place.0;
            place.0 = place.0.max(happened.seen);
            if !happened.events.is_empty() {
                place.2 = blockers(&happened.items, *place).or(place.2);
                return Ok(Some(happened));
            }
            if !more {
                break;
            }
        }
        let others = self.waits_for_others(watch, *place).await?;
        if let Some(happened) = &others {
            place.2 = blockers(&happened.items, *place);
        }
        Ok(others)
    }

    /// What happened after a place, as far as it is watched. An empty page that looked at something is not the last.
    async fn happened(&self, watch: &Watch, place: Place, parent: Option<ItemId>) -> Result<Happened, Error> {
        // Whoever waits for an item hears of its end, whatever else it waits for.
        let ends = place.1.is_some() && !watch.verbs.is_empty() && !watch.verbs.contains(&Verb::Removed);
        let told = watch.verbs.iter().copied().chain(ends.then_some(Verb::Removed)).collect();
        let filter = EventFilter {
            project: if place.1.is_some() { ProjectRef::Any } else { watch.project.clone() },
            item: place.1,
            verbs: told,
            after: Some(place.0),
            limit: limits::PAGE,
            ..EventFilter::default()
        };
        let mut events = self.events(&filter).await?;
        let Some(seen) = events.last().map(|event| event.seq) else { return Ok(Happened::default()) };
        if watch.verbs.is_empty() {
            // Nobody is woken because somebody is still at it.
            events.retain(|event| !event.is_sign_of_life());
        }
        let ids: BTreeSet<ItemId> = events.iter().filter_map(|event| event.item).chain(place.1).collect();
        let named: Vec<ItemRef> = ids.into_iter().map(ItemRef::Id).collect();
        let now = self.show(&ProjectRef::Any, &named, Around::default()).await?;
        // What it came to counts, also where it has gone on since: whoever waits for it would not hear of it again.
        let reached = |event: &Event| status_after(event).is_some_and(|status| watch.is_wanted(status));
        let suits = |item: &Item, event: &Event| {
            (watch.statuses.is_empty() || watch.statuses.contains(&item.status) || reached(event))
                && parent.is_none_or(|parent| item.parent == Some(parent))
                && (watch.tags.is_empty() || watch.tags.iter().any(|tag| item.tags.contains(tag)))
                && watch.item_type.as_ref().is_none_or(|wanted| item.item_type.as_ref() == Some(wanted))
        };
        let any_item = parent.is_none() && watch.tags.is_empty() && watch.item_type.is_none();
        // Of what is gone nothing is known but that it was there, and where it came.
        let of_gone = |event: &Event| any_item && (watch.statuses.is_empty() || reached(event));
        events.retain(|event| match place.1.or(event.item) {
            Some(id) => now.items.get(&id).map_or(place.1.is_some() || of_gone(event), |item| suits(item, event)),
            None => of_gone(event),
        });
        let told: BTreeSet<ItemId> = events.iter().filter_map(|event| place.1.or(event.item)).collect();
        let items = now.items.into_values().filter(|item| told.contains(&item.id)).collect();
        Ok(Happened { events, items, seen })
    }

    /// An item that is waited for, if it waits for more or for fewer others than when it was last told of.
    async fn waits_for_others(&self, watch: &Watch, place: Place) -> Result<Option<Happened>, Error> {
        let Some(before) = place.2.filter(|_| watch.verbs.is_empty()) else { return Ok(None) };
        let now = self.as_it_is(place.1).await?;
        let suits = |item: &Item| watch.statuses.is_empty() || watch.statuses.contains(&item.status);
        let is_news = now.items.first().is_some_and(|item| item.derived.blockers != before && suits(item));
        Ok(is_news.then_some(now))
    }

    /// An item that is waited for, as it is.
    async fn as_it_is(&self, item: Option<ItemId>) -> Result<Happened, Error> {
        let Some(id) = item else { return Ok(Happened::default()) };
        let seen = self.show(&ProjectRef::Any, &[ItemRef::Id(id)], Around::default()).await?;
        Ok(Happened { items: seen.items.into_values().filter(|item| item.id == id).collect(), ..Happened::default() })
    }
}

impl Watch {
    fn is_wanted(&self, status: &str) -> bool {
        self.statuses.iter().any(|wanted| wanted.as_str() == status)
    }
}

/// The status that an event brought its item to, if it did.
fn status_after(event: &Event) -> Option<&str> {
    let at = if event.verb == Verb::Created { "/status" } else { "/set/status" };
    event.data.pointer(at).and_then(serde_json::Value::as_str)
}

/// How many others the item that is waited for waits for itself.
fn blockers(items: &[Item], place: Place) -> Option<u32> {
    items.iter().find(|item| Some(item.id) == place.1).map(|item| item.derived.blockers)
}

/// What ended a wait: the end of the item, or a change of it, made before the wait or since.
fn woken_by(happened: &Happened, place: Place, before: bool) -> Woken {
    let gone = |event: &Event| event.verb == Verb::Removed && event.item == place.1;
    if place.1.is_some() && happened.events.iter().any(gone) {
        Woken::TaskDeleted
    } else if before {
        Woken::ChangedSinceCursor
    } else {
        Woken::TaskChanged
    }
}
