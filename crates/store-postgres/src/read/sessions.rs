//! Sessions: those that were named, the newest of the items shown, and lists of their names.

use docket_core::model::{SessionId, SessionState};
use docket_core::store::code::{ACTIVE_SESSION, Coded};
use docket_core::store::{Scope, SessionFilter, StoreError};
use ulid::Ulid;
use uuid::Uuid;

use super::limit::Limit;
use super::statement::{Statement, each};
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
    statement.part("named_sessions (session, id)", &named_sessions(script, scope, limit)?);
    Some("named_sessions")
}

/// The sessions that were named, with their items.
pub(super) fn named_sessions(script: &mut Script, scope: &Scope, limit: &Limit) -> Option<String> {
    if scope.session_ids.is_empty() {
        return None;
    }
    let ids = script.uuids(scope.session_ids.iter().map(|id| bytes(*id)));
    let seen = limit.and("a.project_id");
    Some(format!("SELECT a.id AS session, a.item_id AS id FROM sessions a WHERE a.id = ANY({ids}){seen}"))
}

/// The newest session of each named item, and what was named of them.
pub(super) fn add_attached(statement: &mut Statement, scope: &Scope) {
    let newest = "SELECT n.id FROM named s CROSS JOIN LATERAL ( \
                  SELECT x.id FROM sessions x WHERE x.item_id = s.id ORDER BY x.id DESC LIMIT 1) n";
    let named = "SELECT session AS id FROM named_sessions";
    let from = match (scope.around.sessions, scope.session_ids.is_empty()) {
        (false, true) => return,
        (true, true) => newest.to_owned(),
        (false, false) => named.to_owned(),
        (true, false) => format!("{newest} UNION {named}"),
    };
    statement.rows("sessions", SESSION, &each(&format!("({from}) m"), "sessions", "a", "a.id = m.id"));
}

/// The names of sessions that match a filter, the newest first.
pub(crate) async fn find_sessions(link: &mut Link, filter: &SessionFilter) -> Result<Vec<SessionId>, StoreError> {
    let found: Vec<Uuid> = link.ask(compose(filter)).await?;
    Ok(found.into_iter().map(|id| SessionId(Ulid(id.as_u128()))).collect())
}

fn compose(filter: &SessionFilter) -> Script {
    let mut script = Script::default();
    let mut fits = vec!["true".to_owned()];
    if let Some(project) = Limit::of(&mut script, &filter.visible).meant(&mut script, &filter.project) {
        fits.push(project.holds("a.project_id"));
    }
    if let Some(item) = filter.item {
        fits.push(format!("a.item_id = {}", script.uuid(item.as_uuid())));
    }
    if let Some(actor) = &filter.actor {
        fits.push(format!("a.actor = {}", script.text(actor.as_str())));
    }
    if filter.states == [SessionState::Active] {
        fits.push(format!("a.state = {ACTIVE_SESSION}"));
    } else if !filter.states.is_empty() {
        let states = script.ints(filter.states.iter().map(|state| state.code()));
        fits.push(format!("a.state = ANY({states})"));
    }
    if let Some(before) = filter.before {
        fits.push(format!("a.id < {}", script.uuid(bytes(before))));
    }
    let (fits, limit) = (fits.join(" AND "), Script::limit(filter.limit));
    script.set(format!(
        "SELECT coalesce(json_agg(id ORDER BY id DESC), '[]')::text \
         FROM (SELECT a.id FROM sessions a WHERE {fits} ORDER BY a.id DESC LIMIT {limit}) f"
    ));
    script
}

fn bytes(id: SessionId) -> Uuid {
    Uuid::from_u128(id.0.0)
}
