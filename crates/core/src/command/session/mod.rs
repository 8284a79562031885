//! Sessions: an attempt at an item begins, is heard of, and ends.
//!
//! A session holds its item by a claim, and by no other means: whatever ends the claim has ended the attempt, and the next
//! thing its agent does is told so.

mod begin;
mod cancel;
mod finish;
mod heartbeat;

use serde::{Deserialize, Serialize};

pub use begin::{BeginSession, SessionBegun};
pub use cancel::CancelSession;
pub use finish::FinishSession;
pub use heartbeat::{Beat, Heartbeat};

use super::advance::Applied;
use crate::engine::{Call, Draft};
use crate::error::{Code, Error, Kind, Reason};
use crate::model::{Health, Item, ItemId, Key, Name, Role, Session, SessionId, SessionState, Timestamp};
use crate::store::Slice;

/// How a session ended, and where that left its item.
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SessionEnded {
    /// The session.
    pub session: Session,
    /// How it fares.
    pub health: Health,
    /// Its item's key.
    pub key: Key,
    /// The item's status.
    pub status: Name,
    /// The item's role.
    pub role: Role,
    /// The item's version.
    pub version: u64,
    /// How the item moved.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub moved: Option<Box<Applied>>,
}

impl SessionEnded {
    /// The answer, from how things stand in a unit of work.
    fn of(draft: &Draft<'_>, session: Session, moved: Option<Box<Applied>>) -> Result<Self, Error> {
        let item = draft.expect(session.item)?;
        let project = draft.project_of(item)?;
        let health = session.health(item, project.workflow.claims, draft.now);
        let (status, role, version) = (item.status.clone(), item.role, item.version);
        Ok(Self { session, health, key: project.key(item.number), status, role, version, moved })
    }
}

/// A session of the caller's that has not ended, with its item.
fn own<'s>(call: &Call, seen: &'s Slice, id: SessionId) -> Result<(&'s Session, &'s Item), Error> {
    let missing = || Error::not_found(format!("no session \"{id}\""));
    let session = seen.sessions.get(&id).ok_or_else(missing)?;
    let item = seen.items.get(&session.item).ok_or_else(missing)?;
    if session.actor != call.holder()? {
        let message = "the session is another agent's: only whoever began it goes on with it or ends it";
        return Err(Error::new(Kind::Permanent, Code::Forbidden, Reason::NotYours, message));
    }
    match session.state {
        SessionState::Active => Ok((session, item)),
        SessionState::Finished => Err(ended(item, "the session was finished already: begin another to go on")),
        SessionState::Cancelled => Err(ended(item, "the session was cancelled already: begin another to go on")),
        SessionState::Lost => Err(ended(item, "the session was lost, and another attempt at its item has begun since")),
    }
}

/// A sign of life of whoever holds an item is one of the attempt that it is at.
pub(super) fn hear_of(draft: &mut Draft<'_>, id: ItemId) -> Result<(), Error> {
    let holder = draft.call.holder()?;
    let item = draft.expect(id)?;
    let session = draft.seen.session_of(id).filter(|session| session.is_open());
    if let Some(session) = session.filter(|session| session.actor == holder && session.holds(item, draft.now)) {
        let session = Session { heartbeat_at: draft.now, ..session.clone() };
        draft.beat_session(session, false);
    }
    Ok(())
}

fn ended(item: &Item, message: &str) -> Error {
    Error { contended_item: Some(item.id), ..Error::conflict(Reason::SessionEnded, message) }
}

/// Refuses to go on with a session whose claim is gone, unless a move into review gave it back.
fn check_held(session: &Session, item: &Item, now: Timestamp) -> Result<(), Error> {
    if session.holds(item, now) || session.awaits_review(item, now) {
        return Ok(());
    }
    let message =
        "the session is lost: its claim has ended, and the item may be somebody else's; begin again if it is free";
    Err(Error { contended_item: Some(item.id), ..Error::conflict(Reason::ClaimLost, message) })
}
