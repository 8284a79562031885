//! The reads: what they mean is decided here, so that every surface says the same of an item.

mod blocked;
mod context;
mod dependencies;
mod health;
mod keys;
mod next;
mod overview;
mod standing;
mod wait;
mod why;

pub use blocked::{BlockedBy, BlockedItem};
pub use context::ItemContext;
pub use dependencies::{Chain, Dependencies};
pub use health::{Health, Resume, Stalled, Transition};
pub(crate) use keys::unknown_key;
pub use next::{NextQuery, Ready};
pub use overview::{Overview, OverviewEntry};
pub use standing::{Prospect, Standing};
pub(crate) use wait::WaitingRoom;
pub use why::Why;

use crate::access::{Needs, Profile, Reach};
use crate::engine::Engine;
use crate::error::Error;
use crate::model::{Event, Item, ItemId, ItemRef, Note, NoteId, Project};
use crate::plant::{Bug, planted};
use crate::store::{Around, EventFilter, Filter, Found, NoteReach, ProjectRef, ScanPage, ScanTable, Scope, Slice};

impl Engine {
    /// Items with what is around them, as of one moment.
    pub async fn show(&self, project: &ProjectRef, items: &[ItemRef], around: Around) -> Result<Slice, Error> {
        let scope = Scope { project: project.clone(), items: items.to_vec(), around, ..Scope::default() };
        self.view(&scope).await
    }

    /// A list of items.
    pub async fn find(&self, filter: &Filter) -> Result<Found, Error> {
        let filter = Filter { visible: self.access().projects.clone(), ..filter.clone() };
        Ok(self.store().find(&filter).await?)
    }

    /// The items and all their ancestors: for breadcrumbs beside a list.
    pub async fn with_ancestors<'i>(&self, items: impl Iterator<Item = &'i Item>) -> Result<Slice, Error> {
        let named: Vec<ItemRef> = items.map(|item| ItemRef::Id(item.id)).collect();
        self.show(&ProjectRef::Any, &named, Around { ancestors: true, ..Around::default() }).await
    }

    /// Whole notes of an item.
    pub async fn notes_of(&self, project: &ProjectRef, item: &ItemRef) -> Result<(ItemId, Vec<Note>), Error> {
        let around = Around { notes: NoteReach::Bodies, ..Around::default() };
        let seen = self.show(project, std::slice::from_ref(item), around).await?;
        let id = seen.resolve(item)?.id;
        Ok((id, seen.notes.into_iter().filter(|note| note.item == id).collect()))
    }

    /// One whole note.
    pub async fn note(&self, id: NoteId) -> Result<Note, Error> {
        let found = self.store().notes(&[id], &self.access().projects).await?;
        found.into_iter().next().ok_or_else(|| Error::not_found(format!("no note \"{id}\"")))
    }

    /// Events in commit order.
    pub async fn events(&self, filter: &EventFilter) -> Result<Vec<Event>, Error> {
        let filter = EventFilter { visible: self.access().projects.clone(), ..filter.clone() };
        Ok(self.store().events(&filter).await?)
    }

    /// The number of the newest event of the database: where to begin to wait.
    pub async fn head(&self) -> Result<u64, Error> {
        Ok(self.store().head().await?)
    }

    /// Returns when anything was committed after this number, whoever may see it: ask for events, and wait again.
    pub async fn changed(&self, after: u64) -> Result<u64, Error> {
        Ok(self.store().changed(after).await?)
    }

    /// The projects that the caller may see, by slug.
    pub async fn projects(&self) -> Result<Vec<Project>, Error> {
        let all = self.store().projects().await?;
        Ok(all.into_iter().filter(|project| self.access().sees(project.id)).collect())
    }

    /// Every row of a table, a page at a time: for export and for `doctor`. Only for whoever may do everything.
    pub async fn scan(&self, table: ScanTable, after: Option<String>) -> Result<ScanPage, Error> {
        self.access().check(Needs::new(Profile::Maintainer, Reach::Everything))?;
        Ok(self.store().scan(table, after).await?)
    }

    pub(crate) async fn view(&self, scope: &Scope) -> Result<Slice, Error> {
        if planted(Bug::ReadsUnlimited) {
            return Ok(self.store().view(scope).await?);
        }
        let scope = Scope { visible: self.access().projects.clone(), ..scope.clone() };
        let mut seen = self.store().view(&scope).await?;
        seen.hide(self.access());
        Ok(seen)
    }
}
