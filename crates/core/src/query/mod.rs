//! The reads: what they mean is decided here, so that every surface says the same of an item.

mod blocked;
mod context;
mod dependencies;
mod health;
mod next;
mod overview;
mod standing;
mod wait;
mod why;

pub use blocked::{BlockedBy, BlockedItem};
pub use context::ItemContext;
pub use dependencies::{Chain, Dependencies};
pub use health::{Health, Resume, Stalled, Transition};
pub use next::{NextQuery, Ready};
pub use overview::{Overview, OverviewEntry};
pub use standing::{Prospect, Standing};
pub use why::Why;

use crate::engine::Engine;
use crate::error::Error;
use crate::model::{Item, ItemId, ItemRef, Note, NoteId};
use crate::store::{Around, Filter, Found, NoteReach, ProjectRef, Scope, Slice};

impl Engine {
    /// Items with what is around them, as of one moment.
    pub async fn show(&self, project: &ProjectRef, items: &[ItemRef], around: Around) -> Result<Slice, Error> {
        let scope = Scope { project: project.clone(), items: items.to_vec(), around, ..Scope::default() };
        self.view(&scope).await
    }

    /// A list of items.
    pub async fn find(&self, filter: &Filter) -> Result<Found, Error> {
        Ok(self.store().find(filter).await?)
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
        let found = self.store().notes(&[id]).await?;
        found.into_iter().next().ok_or_else(|| Error::not_found(format!("no note \"{id}\"")))
    }

    pub(crate) async fn view(&self, scope: &Scope) -> Result<Slice, Error> {
        Ok(self.store().view(scope).await?)
    }
}
