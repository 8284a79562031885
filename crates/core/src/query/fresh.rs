//! Events that are read once for all who follow them.
//!
//! A process that shows events to many reads each of them once, under no limit. So they come closed: only
//! [`Engine::told`] opens one, for a caller who may see it and who asked for such. It says of one event what
//! [`Engine::events`] says of many.

use std::collections::{BTreeMap, BTreeSet, btree_map};

use crate::engine::Engine;
use crate::error::Error;
use crate::limits;
use crate::model::{Event, ItemId, ProjectId, Verb};
use crate::plant::{Bug, planted};
use crate::store::{EventFilter, ProjectRef};

/// How many times an item may have been made that those who look for its projects see: more than once only where it was
/// removed and brought back by an import.
const MADE: usize = 8;
/// How many other ends are remembered.
const OTHER_ENDS: usize = 4096;

/// An event that was read for everybody, and that nobody may look into without [`Engine::told`].
#[derive(Clone, Debug)]
pub struct Fresh {
    event: Event,
    /// The projects that its other end was ever in.
    other: BTreeSet<ProjectId>,
}

/// The projects that the other ends of events were ever in, as far as they were looked up.
#[derive(Debug, Default)]
pub struct OtherEnds(BTreeMap<ItemId, BTreeSet<ProjectId>>);

impl Fresh {
    /// Its number.
    pub fn seq(&self) -> u64 {
        self.event.seq
    }
}

impl Engine {
    /// The events of the whole database after this number, the first few of them. Items that edges lead to come up again
    /// and again: what is known of them is kept from page to page.
    pub async fn fresh(&self, after: u64, limit: usize, known: &mut OtherEnds) -> Result<Vec<Fresh>, Error> {
        let filter = EventFilter { after: Some(after), limit: limit.min(limits::PAGE), ..EventFilter::default() };
        let events = self.store().events(&filter).await?;
        if known.0.len() > OTHER_ENDS {
            known.0.clear();
        }
        let mut fresh = Vec::with_capacity(events.len());
        for event in events {
            let other = match event.other {
                None => BTreeSet::new(),
                Some(other) => {
                    if let btree_map::Entry::Vacant(unknown) = known.0.entry(other) {
                        unknown.insert(self.projects_of(other, event.seq).await?);
                    }
                    known.0[&other].clone()
                }
            };
            fresh.push(Fresh { event, other });
        }
        Ok(fresh)
    }

    /// The event, if the caller may see it and the filter asks for such. The page that a filter describes is not looked at:
    /// neither its limit nor its order.
    pub fn told<'e>(&self, fresh: &'e Fresh, filter: &EventFilter) -> Option<&'e Event> {
        let Fresh { event, other } = fresh;
        let access = self.access();
        let visible = planted(Bug::ReadsUnlimited)
            || (access.sees(event.project)
                && (event.other.is_none() || access.projects.is_none() || other.iter().any(|id| access.sees(*id))));
        let meant = match &filter.project {
            ProjectRef::Any => true,
            ProjectRef::Id(id) => event.project == *id,
            // What is read once for all knows projects by their ids.
            ProjectRef::Slug(_) => false,
        };
        let touched = filter.item.is_none_or(|item| event.item == Some(item) || event.other == Some(item));
        let wanted = filter.verbs.is_empty() || filter.verbs.contains(&event.verb);
        let new = filter.after.is_none_or(|after| event.seq > after) && filter.since.is_none_or(|at| event.at > at);
        (visible && meant && touched && wanted && new).then_some(event)
    }

    /// The projects that an item was ever in before an event; also of one that is not there any more.
    async fn projects_of(&self, item: ItemId, before: u64) -> Result<BTreeSet<ProjectId>, Error> {
        let made = EventFilter {
            item: Some(item),
            verbs: vec![Verb::Created],
            before: Some(before),
            limit: MADE,
            ..EventFilter::default()
        };
        Ok(self.store().events(&made).await?.into_iter().map(|event| event.project).collect())
    }
}
