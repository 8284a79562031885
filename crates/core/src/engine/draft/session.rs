//! Sessions in a unit of work.

use serde_json::{Map, Value};

use super::Draft;
use crate::model::{Session, SessionId, SessionState, Verb};
use crate::store::SessionChange;

impl Draft<'_> {
    /// A new name for a session.
    pub fn new_session_id(&mut self) -> SessionId {
        SessionId(self.ids.ulid())
    }

    /// Begins a session.
    pub fn begin_session(&mut self, session: Session) {
        self.record(Verb::SessionBegun, session.item, None, said(&session));
        self.new_sessions.push(session);
    }

    /// Writes that a session was heard of; `has_said` is whether it said how far it has come.
    pub fn beat_session(&mut self, session: Session, has_said: bool) {
        let mut data = Map::new();
        data.insert("session".to_owned(), Value::from(session.id.to_string()));
        if has_said {
            data.insert("progress".to_owned(), serde_json::to_value(&session.progress).unwrap_or(Value::Null));
        }
        self.record(Verb::SessionBeat, session.item, None, data);
        self.changed_sessions.insert(session.id, SessionChange { session, ends: false });
    }

    /// Ends a session, now.
    pub fn end_session(&mut self, session: Session, state: SessionState) -> Session {
        let session = Session { state, ended_at: Some(self.now), ..session };
        self.record(Verb::SessionEnded, session.item, None, said(&session));
        self.changed_sessions.insert(session.id, SessionChange { session: session.clone(), ends: true });
        session
    }

    /// Brings a session of an import, as it was.
    pub fn bring_session(&mut self, session: Session) {
        let verb = if session.is_open() { Verb::SessionBegun } else { Verb::SessionEnded };
        self.push_on(verb, session.item, None, Value::Object(said(&session)));
        self.new_sessions.push(session);
    }
}

fn said(session: &Session) -> Map<String, Value> {
    let mut data = Map::new();
    data.insert("session".to_owned(), serde_json::to_value(session).unwrap_or(Value::Null));
    data
}
