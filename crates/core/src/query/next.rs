//! What to work on next: ready work, the best first.

use std::collections::BTreeSet;

use serde::Serialize;

use crate::engine::Engine;
use crate::error::Error;
use crate::limits;
use crate::model::{Item, ItemId, ItemRef, Name, Priority, ProjectId, Role, Tag, Timestamp};
use crate::query::cursor::{open, seal};
use crate::readiness::{pool, suits};
use crate::store::{Candidates, ProjectRef, Scope, Slice};
use crate::workflow::RankBy;

/// What work is asked for.
#[derive(Clone, Debug, Serialize)]
pub struct NextQuery {
    /// The project to look in.
    pub project: ProjectRef,
    /// The role to look in; where none is named, what find-and-claim hands out: the queue, and work that was begun and left.
    pub role: Option<Role>,
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
    /// Only what this agent would be handed; otherwise whatever is ready, whoever could do it.
    pub agent: Option<Agent>,
    /// The most urgent and of those the oldest first, in place of the workflow's order, and only what is at least so urgent; on
    /// one page.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub urgent: Option<Priority>,
    /// How many.
    pub limit: usize,
}

/// Who asks for work.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Agent {
    /// Its name: what it holds itself is not in its way.
    pub name: Option<Name>,
    /// What it can do.
    pub capabilities: BTreeSet<Name>,
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
    /// How much ready work was looked at, what is not shown included.
    pub looked_at: usize,
}

impl Engine {
    /// Ready work, the best first: its beginning, or what follows the page that ended with `cursor`.
    pub async fn next(&self, query: &NextQuery, cursor: Option<&str>) -> Result<ReadyPage, Error> {
        // Nothing of a project that was put away is handed out, and none of it takes others' places on a page.
        let query = NextQuery { limit: self.page(query.limit), ..query.clone() };
        self.among_living(&query.project).await?.ready_in(&query, cursor).await
    }

    async fn ready_in(&self, query: &NextQuery, cursor: Option<&str>) -> Result<ReadyPage, Error> {
        let of = ("queue", NextQuery { limit: 0, ..query.clone() });
        let mut after = cursor.map(|cursor| open(&of, cursor)).transpose()?;
        let named: Vec<ItemRef> = query.parent.iter().chain(&query.under).cloned().collect();
        let (mut parent, mut under) = (None, None);
        if !named.is_empty() {
            let scope = Scope { project: query.project.clone(), items: named, ..Scope::default() };
            let seen = self.view(&scope).await?;
            parent = query.parent.as_ref().map(|item| seen.resolve(item)).transpose()?.map(|item| item.id);
            under = query.under.as_ref().map(|item| seen.resolve(item)).transpose()?.map(|item| item.id);
        }
        if let Some(page) = self.urgent_by_rank(query).await? {
            return Ok(page);
        }
        let mut page = ReadyPage::default();
        for round in 0..limits::LOOK_ROUNDS {
            // What does not suit the agent takes nobody's place; the further it goes, the more is looked at once, so that it
            // goes at least as far as a claim does: who is shown nothing would be handed nothing.
            let wanted = query.limit.saturating_sub(page.items.len());
            let limit = wanted.max(match round {
                0 => 0,
                1 => limits::CANDIDATES_MORE,
                _ => limits::CANDIDATES_MOST,
            });
            let seen = self.view(&query.scope(parent, under, after, limit)).await?;
            page.now = seen.now;
            let mut rest = seen.candidates.rows.iter().filter_map(|id| seen.items.get(id)).peekable();
            while page.items.len() < query.limit {
                let Some(item) = rest.next() else { break };
                after = Some((item.derived.rank, item.number, item.project));
                page.looked_at += 1;
                if query.shows(item, &seen) {
                    let is_claimed = item.live_claim(seen.now).is_some();
                    page.items.push(Ready { is_claimed, item: item.clone() });
                }
            }
            let more = query.urgent.is_none() && (seen.candidates.truncated || rest.peek().is_some());
            page.next = after.filter(|_| more).map(|last: (i64, u32, ProjectId)| seal(&of, &last));
            if page.next.is_none() || page.items.len() >= query.limit {
                break;
            }
        }
        Ok(page)
    }
}

impl Engine {
    /// The most urgent work of a project whose workflow goes by urgency alone: it lies in that order in its index, and no more of it is
    /// looked at than is shown. None where it goes by anything else, for then all that is ready has to be put in order.
    async fn urgent_by_rank(&self, query: &NextQuery) -> Result<Option<ReadyPage>, Error> {
        let Some(least) = query.urgent else { return Ok(None) };
        let is_whole = query.parent.is_none() && query.under.is_none() && query.project != ProjectRef::Any;
        if !is_whole || query.agent.is_some() {
            return Ok(None);
        }
        let by_rank = NextQuery { urgent: None, ..query.clone() };
        let seen = self.view(&by_rank.scope(None, None, None, query.limit)).await?;
        if seen.projects.values().any(|project| project.workflow.ranking != [RankBy::Priority]) {
            return Ok(None);
        }
        let ready = seen.candidates.rows.iter().filter_map(|id| seen.items.get(id)).take(query.limit);
        let urgent: Vec<&Item> = ready.take_while(|item| item.priority <= least).collect();
        let shown = urgent.iter().filter(|item| query.shows(item, &seen));
        let items =
            shown.map(|item| Ready { is_claimed: item.live_claim(seen.now).is_some(), item: Item::clone(item) });
        Ok(Some(ReadyPage { now: seen.now, items: items.collect(), next: None, looked_at: urgent.len() }))
    }
}

impl NextQuery {
    /// Ready work of one project or of all, for whoever asks.
    pub fn of(project: ProjectRef, limit: usize) -> Self {
        Self {
            project,
            role: None,
            parent: None,
            under: None,
            tags: Vec::new(),
            item_type: None,
            include_claimed: false,
            agent: None,
            urgent: None,
            limit,
        }
    }

    fn scope(
        &self,
        parent: Option<ItemId>,
        under: Option<ItemId>,
        after: Option<(i64, u32, ProjectId)>,
        limit: usize,
    ) -> Scope {
        let (role, left) = pool(self.role);
        let candidates = Candidates {
            role,
            left,
            parent,
            under,
            tags: self.tags.clone(),
            item_type: self.item_type.clone(),
            include_claimed: self.include_claimed,
            // Work put aside is never offered, yet somebody who triages asks for just that.
            offered_only: self.role != Some(Role::Blocked),
            urgent: self.urgent,
            after,
            limit,
        };
        Scope {
            project: self.project.clone(),
            candidates: Some(candidates),
            busy: self.agent.is_some(),
            held_by: self.agent.iter().filter_map(|agent| agent.name.clone()).collect(),
            ..Scope::default()
        }
    }

    /// Whether an item is among what is asked for. Nothing of a project that was put away is handed out.
    fn shows(&self, item: &Item, seen: &Slice) -> bool {
        let living = seen.project_of(item).is_ok_and(|project| project.archived_at.is_none());
        let suiting = |agent: &Agent| suits(item, &agent.capabilities, agent.name.as_ref(), seen);
        living && self.agent.as_ref().is_none_or(suiting)
    }
}
