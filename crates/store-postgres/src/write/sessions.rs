//! Sessions: those that are heard of, those that end, those that begin.

use docket_core::model::{Name, Session, Text, Timestamp};
use docket_core::store::code::{ACTIVE_SESSION, Coded};
use docket_core::store::{ChangeSet, SessionChange};
use uuid::Uuid;

use super::Writes;
use super::rows::{Cell, Column, Kind, Rows};
use crate::script::{Script, json};

const ID: Column = ("id", Kind::Id);
const MADE: [Column; 6] = [
    ("item_id", Kind::Id),
    ("project_id", Kind::Id),
    ("actor", Kind::Text),
    ("fence", Kind::Int),
    ("started_at", Kind::Int),
    ("runtime", Kind::Json),
];
/// What no index holds.
const BEAT: [Column; 2] = [("heartbeat_at", Kind::Int), ("progress", Kind::Json)];
const END: [Column; 5] = [
    ("state", Kind::Int),
    ("ended_at", Kind::Int),
    ("summary", Kind::Text),
    ("head", Kind::Text),
    ("reason", Kind::Text),
];

/// Those that change come first, since an item has one session at the most that has not ended. One that has ended since it
/// was read is not written, and the unit is decided again.
pub(super) fn add_sessions(script: &mut Script, writes: &mut Writes, changes: &ChangeSet) {
    let those = |ends: bool| changes.changed_sessions.iter().filter(move |change: &&SessionChange| change.ends == ends);
    let open = format!("sessions.state = {ACTIVE_SESSION}");
    let beats: Vec<Vec<Cell>> = those(false).map(|change| about(&change.session, beat(&change.session))).collect();
    let count = beats.len();
    if let Some(rows) = Rows::bind(script, &[&BEAT[..], &[ID]].concat(), beats) {
        writes.add_counted(rows.update("sessions", &BEAT, &open), count);
    }
    let ends: Vec<Vec<Cell>> = those(true).map(|change| about(&change.session, end(&change.session))).collect();
    let count = ends.len();
    let ended = Rows::bind(script, &[&END[..], &[ID]].concat(), ends)
        .map(|rows| writes.add_counted(rows.update("sessions", &END, &open), count));
    let all = [&MADE[..], &BEAT[..], &END[..], &[ID]].concat();
    let new = |session: &Session| about(session, [made(session), beat(session), end(session)].concat());
    let Some(rows) = Rows::bind(script, &all, changes.new_sessions.iter().map(new).collect()) else { return };
    // Parts of a statement have no order of their own: a row of the join exists only after the part before was run.
    let before = ended.map(|part| format!("(SELECT count(*) AS done FROM {part} OFFSET 0) a CROSS JOIN"));
    writes.add(rows.insert_after("sessions", &all, before.as_deref().unwrap_or_default(), ""));
}

/// Cells about a session, with its id as the last.
fn about(session: &Session, mut cells: Vec<Cell>) -> Vec<Cell> {
    cells.push(Uuid::from_u128(session.id.0.0).into());
    cells
}

fn made(session: &Session) -> Vec<Cell> {
    vec![
        session.item.as_uuid().into(),
        session.project.as_uuid().into(),
        session.actor.as_str().into(),
        session.fence.0.into(),
        session.started_at.as_millis().into(),
        json(&session.runtime).into(),
    ]
}

fn beat(session: &Session) -> Vec<Cell> {
    vec![session.heartbeat_at.as_millis().into(), json(&session.progress).into()]
}

fn end(session: &Session) -> Vec<Cell> {
    vec![
        session.state.code().into(),
        session.ended_at.map(Timestamp::as_millis).into(),
        session.summary.as_ref().map(Text::as_str).into(),
        session.head.as_ref().map(Name::as_str).into(),
        session.reason.as_ref().map(Text::as_str).into(),
    ]
}
