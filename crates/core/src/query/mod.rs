//! The reads: what they mean is decided here, so that every surface says the same of an item.

mod blocked;
mod board;
mod checks;
mod context;
mod cursor;
mod delta;
mod dependencies;
mod dossier;
mod estimate;
mod fresh;
mod health;
mod inbox;
mod keys;
mod knowledge;
mod list;
mod listed_entry;
mod moot;
mod next;
mod notes;
mod nothing;
mod overview;
mod questions;
mod runs;
mod select;
mod sessions;
mod standing;
mod statuses;
mod wait;
mod watch;
mod why;

pub use blocked::{BlockedBy, BlockedItem, BlockedPage};
pub use board::{Board, Column};
pub use checks::{ChecksShown, ProvedShown, ShownCheck};
pub use context::ItemContext;
pub use delta::{Delta, Section};
pub use dependencies::{Chain, Dependencies};
pub use dossier::{Activity, Dossier, Includes, ParentReach, ParentView, Relation};
pub use estimate::{Estimate, Spread};
pub use fresh::{Fresh, OtherEnds};
pub use health::{Health, Resume, Stalled, Transition};
pub use inbox::{InboxPage, Waiting, Waits};
pub use keys::Recognised;
pub(crate) use keys::unknown_key;
pub use knowledge::{
    EntryPage, EntryView, KnowledgeFound, KnowledgeHit, KnowledgeQuery, Reference, ReviewState, SearchMode,
};
pub use list::{EventPage, ItemPage};
pub use listed_entry::ListedEntry;
pub use moot::Moot;
pub use next::{Agent, NextQuery, Ready, ReadyPage};
pub use notes::NotePage;
pub use nothing::Nothing;
pub use overview::{Overview, OverviewEntry};
pub use questions::QuestionPage;
pub use runs::{LogPage, RunPage};
pub use select::thought_of;
pub use sessions::{SessionPage, SessionQuery, SessionView};
pub use standing::{Prospect, Standing};
pub(crate) use statuses::known_among;
pub(crate) use wait::WaitingRoom;
pub use watch::{Watch, Watched, Woken};
pub use why::{Why, WhyPage};

use crate::access::{Needs, Profile, Reach};
use crate::engine::Engine;
use crate::error::{Error, Reason};
use crate::model::{Event, Item, ItemRef, Project};
use crate::plant::{Bug, planted};
use crate::store::{Around, EventFilter, Filter, Found, ProjectRef, ScanPage, ScanTable, Scope, Slice};

impl Engine {
    /// Items with what is around them, as of one moment.
    pub async fn show(&self, project: &ProjectRef, items: &[ItemRef], around: Around) -> Result<Slice, Error> {
        let scope = Scope { project: project.clone(), items: items.to_vec(), around, ..Scope::default() };
        self.view(&scope).await
    }

    /// A number that is another one after every commit, by whichever process: while it stays, nothing has changed but the time.
    /// Asks the database nothing; none where that cannot be known.
    pub fn commit_mark(&self) -> Option<u64> {
        self.store().commit_mark()
    }

    /// Items that match a filter, without a cursor: for a list in pages see [`Engine::list`].
    pub async fn find(&self, filter: &Filter) -> Result<Found, Error> {
        if !filter.words.is_empty() && filter.project == ProjectRef::Any {
            // Whoever looks for words everywhere looks for what there is to do, not into what was put away.
            return Box::pin(self.among_living(&filter.project).await?.find_all(filter)).await;
        }
        self.find_all(filter).await
    }

    async fn find_all(&self, filter: &Filter) -> Result<Found, Error> {
        let found = self.find_any(filter).await?;
        // A count, and what lies past the end of a list, say nothing of whether there is such a status.
        if found.items.is_empty() && filter.limit > 0 && filter.offset == 0 {
            // Most lists never come here: they do not carry it along.
            Box::pin(self.check_status(filter)).await?;
        }
        Ok(found)
    }

    /// The same for who knows that there is such a status.
    pub(crate) async fn find_any(&self, filter: &Filter) -> Result<Found, Error> {
        filter.check_words()?;
        let filter = Filter { visible: self.access().projects.clone(), ..filter.clone() };
        let found = self.store().find(&filter).await?;
        filter.check_times(found.now)?;
        Ok(found)
    }

    /// The items and all their ancestors: for breadcrumbs beside a list.
    pub async fn with_ancestors<'i>(&self, items: impl Iterator<Item = &'i Item>) -> Result<Slice, Error> {
        let named: Vec<ItemRef> = items.map(|item| ItemRef::Id(item.id)).collect();
        self.show(&ProjectRef::Any, &named, Around { ancestors: true, ..Around::default() }).await
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

    /// Refuses to go on after a number that no event has had, such as one from before a database was put back: whoever waits there
    /// would hear nothing until numbers have come so far.
    pub async fn check_follows(&self, after: u64, field: &str) -> Result<(), Error> {
        match self.store().last_number().await? {
            Some(last) if after > last => {
                let message =
                    format!("cursor too new: the log ends at {last}; read everything anew, and go on from there");
                Err(Error::validation(Reason::BadCursor, message).at(field))
            }
            Some(_) | None => Ok(()),
        }
    }

    /// Whether the store can be read and written now.
    pub async fn ready(&self) -> Result<(), Error> {
        Ok(self.store().ready().await?)
    }

    /// Returns when anything was committed after this number, whoever may see it: ask for events, and wait again.
    pub async fn changed(&self, after: u64) -> Result<u64, Error> {
        Ok(self.store().changed(after).await?)
    }

    /// How often the database was asked anything so far.
    pub fn asked(&self) -> u64 {
        self.store().asked()
    }

    /// The projects that the caller may see, by slug.
    pub async fn projects(&self) -> Result<Vec<Project>, Error> {
        let all = self.store().projects().await?;
        Ok(all.into_iter().filter(|project| self.access().sees(project.id)).collect())
    }

    /// Every row of a table, a page at a time: for export and for `doctor`. Only for whoever may do everything.
    pub async fn scan(&self, table: ScanTable, after: Option<String>) -> Result<ScanPage, Error> {
        self.may("scan", Needs::new(Profile::Maintainer, Reach::Everything))?;
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
