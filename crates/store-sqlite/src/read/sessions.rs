//! Sessions: those that were named, the newest of the items shown, and lists of their names.

use docket_core::model::{SessionId, SessionState};
use docket_core::store::code::{ACTIVE_SESSION, Coded};
use docket_core::store::{Scope, SessionFilter, StoreError};
use ulid::Ulid;
use uuid::Uuid;

use super::contract::Part;
use super::limit::Limit;
use super::look::Look;
use super::names::Named;
use crate::error::Trouble;
use crate::pool::Link;
use crate::row::SESSION;
use crate::script::Script;

/// Sessions that were named themselves, and the newest of each named item. Returns the items of those that were named.
pub(super) fn named_sessions(look: &mut Look<'_>, scope: &Scope, named: &Named) -> Result<Vec<Uuid>, Trouble> {
    let newest = "sessions a ON a.pk = (SELECT y.pk FROM sessions y WHERE y.item_id = s.id ORDER BY y.id DESC LIMIT 1)";
    let of_items = scope.around.sessions.then_some(newest);
    let part = Part { result: "sessions", row: SESSION, item: "a.item_id", of_items };
    part.find(look, "sessions a ON a.id", scope.session_ids.iter().map(|id| bytes(*id)), named)
}

/// The names of sessions that match a filter, the newest first.
pub(crate) fn find_sessions(link: &mut Link, filter: &SessionFilter) -> Result<Vec<SessionId>, StoreError> {
    let found: Vec<Uuid> = link.ask(&compose(filter))?;
    Ok(found.into_iter().map(|id| SessionId(Ulid(id.as_u128()))).collect())
}

pub(super) fn compose(filter: &SessionFilter) -> Script {
    let mut script = Script::default();
    let mut fits = vec!["1".to_owned()];
    let project = Limit::of(&mut script, &filter.visible).meant(&mut script, &filter.project);
    let one_project = project.as_ref().is_some_and(super::limit::Set::is_one);
    let only_open = filter.states == [SessionState::Active];
    // The way to the rows is chosen here: SQLite knows nothing of how values are spread.
    let way = if filter.item.is_some() {
        "INDEXED BY sessions_item"
    } else if only_open {
        "INDEXED BY sessions_active"
    } else if filter.actor.is_some() {
        "INDEXED BY sessions_actor"
    } else if one_project {
        "INDEXED BY sessions_project"
    } else {
        ""
    };
    if let Some(project) = project {
        let column = if way.ends_with("sessions_project") { "a.project_id" } else { "+a.project_id" };
        fits.push(project.holds(column));
    }
    if let Some(item) = filter.item {
        fits.push(format!("a.item_id = {}", script.uuid(item.as_uuid())));
    }
    if let Some(actor) = &filter.actor {
        fits.push(format!("a.actor = {}", script.text(actor.as_str())));
    }
    if only_open {
        fits.push(format!("a.state = {ACTIVE_SESSION}"));
    } else if !filter.states.is_empty() {
        let states: Vec<i64> = filter.states.iter().map(|state| state.code()).collect();
        fits.push(format!("a.state IN (SELECT value FROM json_each({}))", script.json(&states)));
    }
    if let Some(before) = filter.before {
        fits.push(format!("a.id < {}", script.uuid(bytes(before))));
    }
    let (fits, limit) = (fits.join(" AND "), script.limit(filter.limit));
    script.add(format!(
        "SELECT json_group_array(hex(id)) FROM (SELECT a.id FROM sessions a {way} WHERE {fits} ORDER BY a.id DESC LIMIT {limit})"
    ));
    script
}

fn bytes(id: SessionId) -> Uuid {
    Uuid::from_u128(id.0.0)
}
