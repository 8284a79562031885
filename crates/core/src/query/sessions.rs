//! Sessions: one of them, lists of them, and the items that they are about.
//!
//! A store finds sessions by what is stored of them. How they fare is derived here, from each session and its item as of one
//! moment, by the one function that every surface's answer comes from; a list by health is what that function says of each.

use std::collections::BTreeSet;

use serde::Serialize;

use crate::engine::Engine;
use crate::error::Error;
use crate::limits;
use crate::model::{
    Health, Item, ItemId, ItemRef, Key, Name, Role, Session, SessionId, SessionState, Timestamp, Title,
};
use crate::query::cursor::{open, seal};
use crate::store::{ProjectRef, Scope, SessionFilter, Slice};

/// Which sessions a list holds.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SessionQuery {
    /// In this project.
    pub project: ProjectRef,
    /// On this item.
    pub item: Option<ItemRef>,
    /// Of this agent.
    pub actor: Option<Name>,
    /// In this state.
    pub state: Option<SessionState>,
    /// Of this health.
    pub health: Option<Health>,
    /// How many.
    pub limit: usize,
}

/// A session with how it fares and where its item stands.
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct SessionView {
    /// The session.
    #[serde(flatten)]
    pub session: Session,
    /// How it fares.
    pub health: Health,
    /// Its item's key.
    pub key: Key,
    /// The item's title.
    pub title: Title,
    /// The item's status.
    pub status: Name,
    /// The item's role.
    pub role: Role,
}

/// A page of sessions.
#[derive(Clone, Debug, Default)]
pub struct SessionPage {
    /// The database's time.
    pub now: Timestamp,
    /// The sessions, the newest first.
    pub sessions: Vec<SessionView>,
    /// Where the next page begins; none on the last. A list by health may have a page that is not full, or empty, and goes on.
    pub next: Option<String>,
}

impl Engine {
    /// One session.
    pub async fn session(&self, id: SessionId) -> Result<SessionView, Error> {
        let seen = self.view(&Scope { session_ids: vec![id], ..Scope::default() }).await?;
        let found = seen.sessions.get(&id).and_then(|session| view(&seen, session));
        found.ok_or_else(|| Error::not_found(format!("no session \"{id}\"")))
    }

    /// A page of sessions, the newest first: the beginning, or what follows the page that ended with `cursor`.
    pub async fn sessions(&self, query: &SessionQuery, cursor: Option<&str>) -> Result<SessionPage, Error> {
        let query = &SessionQuery { limit: self.page(query.limit), ..query.clone() };
        let item = match &query.item {
            Some(item) => Some(self.item_named(&query.project, item).await?),
            None => None,
        };
        let of = ("sessions", &query.project, item, &query.actor, query.state, query.health);
        let mut filter = SessionFilter {
            visible: self.access().projects.clone(),
            project: query.project.clone(),
            item,
            actor: query.actor.clone(),
            states: states(query),
            before: cursor.map(|cursor| open(&of, cursor)).transpose()?,
            limit: if query.health.is_some() { limits::PAGE } else { query.limit + 1 },
        };
        let mut page = SessionPage::default();
        if query.state.is_some() && filter.states.is_empty() {
            // No session in that state is of that health.
            return Ok(page);
        }
        let mut looked_at = 0;
        loop {
            let ids = self.store().sessions(&filter).await?;
            let seen = self.view(&Scope { session_ids: ids.clone(), ..Scope::default() }).await?;
            page.now = seen.now;
            for id in &ids {
                // A session may have ended since it was found: what it is now is what is told.
                let found = seen.sessions.get(id).and_then(|session| view(&seen, session));
                let Some(found) = found.filter(|found| fits(query, found)) else { continue };
                if page.sessions.len() == query.limit {
                    page.next = page.sessions.last().map(|last| seal(&of, &last.session.id));
                    return Ok(page);
                }
                page.sessions.push(found);
            }
            looked_at += ids.len();
            let Some(last) = ids.last().filter(|_| ids.len() == filter.limit) else { return Ok(page) };
            if looked_at >= limits::SESSIONS_LOOKED_AT {
                page.next = Some(seal(&of, last));
                return Ok(page);
            }
            filter.before = Some(*last);
        }
    }

    /// The items with an attempt that fares like this, the newest attempt first; and whether there may be more.
    pub async fn items_in(&self, project: &ProjectRef, health: Health) -> Result<(Vec<ItemId>, bool), Error> {
        let query = SessionQuery {
            project: project.clone(),
            health: Some(health),
            limit: limits::PAGE,
            ..SessionQuery::default()
        };
        let mut items: Vec<ItemId> = Vec::new();
        let mut known = BTreeSet::new();
        let mut cursor: Option<String> = None;
        for _ in 0..limits::LOOK_ROUNDS {
            let page = self.sessions(&query, cursor.as_deref()).await?;
            items.extend(page.sessions.iter().map(|found| found.session.item).filter(|item| known.insert(*item)));
            cursor = page.next;
            if cursor.is_none() {
                return Ok((items, false));
            }
        }
        Ok((items, true))
    }

    async fn item_named(&self, project: &ProjectRef, item: &ItemRef) -> Result<ItemId, Error> {
        let scope = Scope { project: project.clone(), items: vec![item.clone()], ..Scope::default() };
        Ok(self.view(&scope).await?.resolve(item)?.id)
    }
}

/// The states that a store looks in; none when all of them.
fn states(query: &SessionQuery) -> Vec<SessionState> {
    match (query.state, query.health) {
        (None, None) => Vec::new(),
        (Some(state), None) => vec![state],
        (None, Some(health)) => health.states().to_vec(),
        (Some(state), Some(health)) => health.states().iter().copied().filter(|known| *known == state).collect(),
    }
}

fn fits(query: &SessionQuery, found: &SessionView) -> bool {
    query.state.is_none_or(|state| found.session.state == state)
        && query.health.is_none_or(|health| found.health == health)
}

fn view(seen: &Slice, session: &Session) -> Option<SessionView> {
    let item: &Item = seen.items.get(&session.item)?;
    let project = seen.project_of(item).ok()?;
    Some(SessionView {
        session: session.clone(),
        health: session.health(item, project.workflow.claims, seen.now),
        key: project.key(item.number),
        title: item.title.clone(),
        status: item.status.clone(),
        role: item.role,
    })
}
