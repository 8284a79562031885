//! What to work on next: ready work, the best first.

use serde::Serialize;

use crate::engine::Engine;
use crate::error::Error;
use crate::model::{Item, ItemRef, Name, Role, Tag, Timestamp};
use crate::query::cursor::{open, seal};
use crate::store::{Candidates, ProjectRef, Scope};

/// What work is asked for.
#[derive(Clone, Debug, Serialize)]
pub struct NextQuery {
    /// The project to look in.
    pub project: ProjectRef,
    /// The role to look in.
    pub role: Role,
    /// Only direct children of this item.
    pub parent: Option<ItemRef>,
    /// Only what lies anywhere beneath this item.
    pub under: Option<ItemRef>,
    /// Only items with one of these tags.
    pub tags: Vec<Tag>,
    /// Only items of this type.
    pub item_type: Option<Name>,
    /// Also items under a live claim.
    pub include_claimed: bool,
    /// How many.
    pub limit: usize,
}

/// An item that could be worked on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Ready {
    /// The item.
    pub item: Item,
    /// Whether somebody is on it.
    pub is_claimed: bool,
}

/// A page of ready work.
#[derive(Clone, Debug, Default)]
pub struct ReadyPage {
    /// The database's time.
    pub now: Timestamp,
    /// The items.
    pub items: Vec<Ready>,
    /// Where the next page begins; none on the last.
    pub next: Option<String>,
}

impl Engine {
    /// Ready work, the best first: its beginning, or what follows the page that ended with `cursor`.
    pub async fn next(&self, query: &NextQuery, cursor: Option<&str>) -> Result<ReadyPage, Error> {
        // Nothing of a project that was put away is handed out, and none of it takes others' places on a page.
        self.among_living(&query.project).await?.ready_in(query, cursor).await
    }

    async fn ready_in(&self, query: &NextQuery, cursor: Option<&str>) -> Result<ReadyPage, Error> {
        let of = ("queue", NextQuery { limit: 0, ..query.clone() });
        let after = cursor.map(|cursor| open(&of, cursor)).transpose()?;
        let named: Vec<ItemRef> = query.parent.iter().chain(&query.under).cloned().collect();
        let (mut parent, mut under) = (None, None);
        if !named.is_empty() {
            let scope = Scope { project: query.project.clone(), items: named, ..Scope::default() };
            let seen = self.view(&scope).await?;
            parent = query.parent.as_ref().map(|item| seen.resolve(item)).transpose()?.map(|item| item.id);
            under = query.under.as_ref().map(|item| seen.resolve(item)).transpose()?.map(|item| item.id);
        }
        let candidates = Candidates {
            role: query.role,
            parent,
            under,
            tags: query.tags.clone(),
            item_type: query.item_type.clone(),
            include_claimed: query.include_claimed,
            // Work put aside is never offered, yet somebody who triages asks for just that.
            offered_only: query.role != Role::Blocked,
            after,
            limit: query.limit,
        };
        let scope = Scope { project: query.project.clone(), candidates: Some(candidates), ..Scope::default() };
        let seen = self.view(&scope).await?;
        let found: Vec<&Item> = seen.candidates.rows.iter().filter_map(|id| seen.items.get(id)).collect();
        let last = found.last().filter(|_| seen.candidates.truncated);
        let next = last.map(|last| seal(&of, &(last.derived.rank, last.number, last.project)));
        // Nothing of a project that was put away is handed out.
        let live = |item: &&Item| seen.project_of(item).is_ok_and(|project| project.archived_at.is_none());
        let ready = |item: &Item| Ready { is_claimed: item.live_claim(seen.now).is_some(), item: item.clone() };
        Ok(ReadyPage { now: seen.now, items: found.into_iter().filter(live).map(ready).collect(), next })
    }
}
