//! Lists in pages that nothing shifts.

use crate::engine::Engine;
use crate::error::Error;
use crate::limits;
use crate::model::{Event, Item, Timestamp};
use crate::query::cursor::{open, seal, unknown};
use crate::store::{EventFilter, Filter, fitting};

/// A page of items.
#[derive(Clone, Debug, Default)]
pub struct ItemPage {
    /// The database's time.
    pub now: Timestamp,
    /// The items.
    pub items: Vec<Item>,
    /// How many match in all, where that was asked for.
    pub total: u64,
    /// Where the next page begins; none on the last.
    pub next: Option<String>,
}

/// A page of events.
#[derive(Clone, Debug, Default)]
pub struct EventPage {
    /// The events.
    pub events: Vec<Event>,
    /// Where the next page begins; none on the last.
    pub next: Option<String>,
}

impl Engine {
    /// A page of a list: its beginning, or what follows the page that ended with `cursor`.
    ///
    /// Of what is there throughout and keeps its place in the order, every item comes once, whatever is added, closed or
    /// removed between pages. A page holds no more long text than [`limits::PAGE_BYTES`], but one item at least.
    pub async fn list(&self, filter: &Filter, cursor: Option<&str>) -> Result<ItemPage, Error> {
        let bytes = Some(limits::PAGE_BYTES);
        let of = ("items", Filter { after: None, limit: 0, offset: 0, count: false, visible: None, ..filter.clone() });
        let after = cursor.map(|cursor| open(&of, cursor)).transpose()?;
        if after.as_ref().is_some_and(|place| !filter.has(place)) {
            return Err(unknown());
        }
        let limit = self.page(filter.limit);
        let mut found = self.find(&Filter { after, limit: limit + 1, bytes, ..filter.clone() }).await?;
        let fits = limit.min(fitting(&found.items, limits::PAGE_BYTES).max(1));
        let more = found.items.len() > fits;
        found.items.truncate(fits);
        let last = found.items.last().filter(|_| more);
        let next = last.map(|last| seal(&of, &filter.place(last)));
        Ok(ItemPage { now: found.now, items: found.items, total: found.total, next })
    }

    /// A page of events: the beginning, or what follows the page that ended with `cursor`.
    pub async fn event_list(&self, filter: &EventFilter, cursor: Option<&str>) -> Result<EventPage, Error> {
        let of = ("events", EventFilter { limit: 0, visible: None, ..filter.clone() });
        let place: Option<u64> = cursor.map(|cursor| open(&of, cursor)).transpose()?;
        let limit = self.page(filter.limit);
        let mut wider = EventFilter { limit: limit + 1, ..filter.clone() };
        match place {
            None => {}
            Some(place) if filter.newest_first => wider.before = Some(filter.before.map_or(place, |b| b.min(place))),
            Some(place) => wider.after = Some(filter.after.map_or(place, |after| after.max(place))),
        }
        let mut events = self.events(&wider).await?;
        if let Some(after) = wider.after.filter(|_| events.is_empty()) {
            self.check_follows(after, if place.is_some() { "cursor" } else { "after" }).await?;
        }
        let more = events.len() > limit;
        events.truncate(limit);
        let next = events.last().filter(|_| more).map(|last| seal(&of, &last.seq));
        Ok(EventPage { events, next })
    }
}
