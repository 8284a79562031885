//! Sessions: those that were named, the newest of the items shown, and lists of their names.

use docket_core::model::{SessionId, SessionState};
use docket_core::store::code::{ACTIVE_SESSION, Coded};
use docket_core::store::{Scope, SessionFilter, StoreError};
use ulid::Ulid;
use uuid::Uuid;

use super::limit::Limit;
use super::statement::Statement;
use crate::pool::Link;
use crate::row::SESSION;
use crate::script::Script;

/// Sessions that were named themselves. Returns the part whose items are shown.
pub(super) fn add_named(
    script: &mut Script,
    statement: &mut Statement,
    scope: &Scope,
    limit: &Limit,
) -> Option<&'static str> {
    if scope.session_ids.is_empty() {
        return None;
    }
    let ids = script.uuids(scope.session_ids.iter().map(|id| bytes(*id)));
    let seen = limit.and("a.project_id");
    statement.part(
        "named_sessions (pk, id)",
        &format!("SELECT a.pk, a.item_id FROM json_each({ids}) j CROSS JOIN sessions a ON a.id = unhex(j.value){seen}"),
    );
    Some("named_sessions")
}

/// The newest session of each named item, and what was named of them.
pub(super) fn add_attached(statement: &mut Statement, scope: &Scope) {
    let newest = "SELECT (SELECT y.pk FROM sessions y WHERE y.item_id = s.id ORDER BY y.id DESC LIMIT 1) AS pk \
                  FROM named s";
    let named = "SELECT pk FROM named_sessions";
    let from = match (scope.around.sessions, scope.session_ids.is_empty()) {
        (false, true) => return,
        (true, true) => newest.to_owned(),
        (false, false) => named.to_owned(),
        (true, false) => format!("{newest} UNION {named}"),
    };
    statement.rows("sessions", SESSION, &format!("({from}) m CROSS JOIN sessions a ON a.pk = m.pk"));
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
