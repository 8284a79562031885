//! Sessions: those that are heard of, those that end, those that begin.

use std::sync::LazyLock;

use docket_core::model::{Name, Session, Text, Timestamp};
use docket_core::store::code::Coded;
use docket_core::store::{ChangeSet, SessionChange};
use uuid::Uuid;

use super::rows;
use crate::script::{Script, Value};

static INSERT: LazyLock<String> = LazyLock::new(|| {
    let columns = [
        "item_id",
        "project_id",
        "actor",
        "fence",
        "started_at",
        "runtime",
        "heartbeat_at",
        "progress",
        "state",
        "ended_at",
        "summary",
        "head",
        "reason",
        "id",
    ];
    rows::insert("sessions", &columns, "")
});
/// What no index holds.
static BEAT: LazyLock<String> = LazyLock::new(|| rows::update("sessions", &["heartbeat_at", "progress"]));
static END: LazyLock<String> =
    LazyLock::new(|| rows::update("sessions", &["state", "ended_at", "summary", "head", "reason"]));

/// Those that change come first, since an item has one session at the most that has not ended.
pub(super) fn add_sessions(script: &mut Script, changes: &ChangeSet) {
    let those = |ends: bool| changes.changed_sessions.iter().filter(move |change: &&SessionChange| change.ends == ends);
    script.put(&BEAT, those(false).map(|change| about(&change.session, beat(&change.session))));
    script.put(&END, those(true).map(|change| about(&change.session, end(&change.session))));
    let new = |session: &Session| about(session, [made(session), beat(session), end(session)].concat());
    script.put(&INSERT, changes.new_sessions.iter().map(new));
}

/// Cells about a session, with its id as the last.
fn about(session: &Session, mut cells: Vec<Value>) -> Vec<Value> {
    cells.push(Uuid::from_u128(session.id.0.0).into());
    cells
}

fn made(session: &Session) -> Vec<Value> {
    vec![
        session.item.as_uuid().into(),
        session.project.as_uuid().into(),
        session.actor.as_str().into(),
        session.fence.0.into(),
        session.started_at.as_millis().into(),
        Value::json(&session.runtime),
    ]
}

fn beat(session: &Session) -> Vec<Value> {
    vec![session.heartbeat_at.as_millis().into(), Value::json(&session.progress)]
}

fn end(session: &Session) -> Vec<Value> {
    vec![
        session.state.code().into(),
        session.ended_at.map(Timestamp::as_millis).into(),
        session.summary.as_ref().map(Text::as_str).into(),
        session.head.as_ref().map(Name::as_str).into(),
        session.reason.as_ref().map(Text::as_str).into(),
    ]
}
