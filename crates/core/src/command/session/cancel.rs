//! Gives a session up: the attempt ends, its claim is released, and the item stays where it is, for another attempt.

use serde::Serialize;
use serde_json::Map;

use super::{SessionEnded, own};
use crate::access::{Needs, Profile, Reach};
use crate::engine::{Call, Command, Decision, Draft};
use crate::error::{Error, Reason};
use crate::model::{Session, SessionId, SessionState, Text, Verb};
use crate::store::{Scope, Slice};

/// Gives a session up.
#[derive(Clone, Debug, Serialize)]
pub struct CancelSession {
    /// The session.
    pub session: SessionId,
    /// Why.
    pub reason: Text,
}

impl Command for CancelSession {
    type Output = SessionEnded;
    const NAME: &'static str = "cancel-session";
    const NEEDS: Needs = Needs::new(Profile::Worker, Reach::Item);

    fn scope(&self, _call: &Call) -> Scope {
        Scope { session_ids: vec![self.session], ..Scope::default() }
    }

    fn decide(&self, call: &Call, seen: &Slice) -> Result<Decision<SessionEnded>, Error> {
        if self.reason.is_blank() {
            return Err(Error::validation(Reason::Blank, "must say why").at("reason"));
        }
        let (session, item) = own(call, seen, self.session)?;
        let mut draft = Draft::new(call, seen);
        // One that is lost can be given up too: there is no claim of its own left to release.
        if session.holds(item, draft.now) {
            draft.set_claim(item.id, None, false);
            draft.record(Verb::Released, item.id, None, Map::new());
        }
        let cancelled = Session { reason: Some(self.reason.clone()), ..session.clone() };
        let session = draft.end_session(cancelled, SessionState::Cancelled);
        let ended = SessionEnded::of(&draft, session, None)?;
        Ok(Decision::done(draft.finish(), ended))
    }
}
