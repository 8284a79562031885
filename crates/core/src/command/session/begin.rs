//! Begins a session: claims the item, moves it into work, and notes the attempt, as one unit.

use serde::{Deserialize, Serialize};

use crate::access::{Needs, Profile, Reach};
use crate::command::begin::{Begun, around, begin};
use crate::engine::{Call, Command, Decision, Draft};
use crate::error::{Error, Reason};
use crate::model::{Fence, Health, Item, ItemRef, Key, Name, Progress, Runtime, Session, SessionState, Text, Ttl};
use crate::store::{Around, ProjectRef, Scope, Slice};

/// Begins a session on an item.
#[derive(Clone, Debug, Serialize)]
pub struct BeginSession {
    /// The project the item is looked up in.
    pub project: ProjectRef,
    /// The item.
    pub item: ItemRef,
    /// Who the caller believes to be; another is refused.
    pub expected_actor: Option<Name>,
    /// What runs it.
    pub runtime: Runtime,
    /// How long the claim lasts; the workflow's default where nothing is said.
    pub ttl: Option<Ttl>,
}

/// A session that began.
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SessionBegun {
    /// The session.
    pub session: Session,
    /// How it fares.
    pub health: Health,
    /// Its item's key.
    pub key: Key,
    /// The claim, and how the item was brought into work.
    #[serde(flatten)]
    pub begun: Begun,
}

impl Command for BeginSession {
    type Output = SessionBegun;
    const NAME: &'static str = "begin-session";
    const NEEDS: Needs = Needs::new(Profile::Worker, Reach::Item);

    fn scope(&self, call: &Call) -> Scope {
        Scope {
            project: self.project.clone(),
            items: vec![self.item.clone()],
            around: Around { sessions: true, ..around() },
            held_by: call.holder().into_iter().collect(),
            ..Scope::default()
        }
    }

    fn decide(&self, call: &Call, seen: &Slice) -> Result<Decision<SessionBegun>, Error> {
        let holder = call.holder()?;
        let actor = call.actor()?;
        if let Some(expected) = self.expected_actor.as_ref().filter(|expected| *expected != actor) {
            let message = format!("the caller is \"{actor}\", and \"{expected}\" was expected");
            return Err(Error::conflict(Reason::ActorMismatch, message).at("expectedActor"));
        }
        let mut draft = Draft::new(call, seen);
        let item = seen.resolve(&self.item)?.clone();
        let earlier = seen.session_of(item.id).filter(|session| session.is_open());
        if let Some(mine) = earlier.filter(|session| session.actor == holder && session.holds(&item, seen.now)) {
            let message = format!("the caller has the session {} on this item: go on with it, or end it", mine.id);
            return Err(Error { contended_item: Some(item.id), ..Error::conflict(Reason::SessionOpen, message) });
        }
        let begun = begin(&mut draft, &item, &holder, self.ttl)?;
        // Nobody holds the item by the claim of the earlier attempt, or this one would have been refused.
        if let Some(earlier) = earlier {
            give_up(&mut draft, earlier);
        }
        let session = self.session(&mut draft, &item, holder, begun.held.fence);
        draft.begin_session(session.clone());
        let now = draft.expect(item.id)?;
        let project = draft.project_of(now)?;
        let health = session.health(now, project.workflow.claims, draft.now);
        let key = project.key(now.number);
        Ok(Decision::done(draft.finish(), SessionBegun { session, health, key, begun }))
    }
}

impl BeginSession {
    fn session(&self, draft: &mut Draft<'_>, item: &Item, actor: Name, fence: Fence) -> Session {
        Session {
            id: draft.new_session_id(),
            item: item.id,
            project: item.project,
            actor,
            state: SessionState::Active,
            fence,
            started_at: draft.now,
            heartbeat_at: draft.now,
            ended_at: None,
            runtime: self.runtime.clone(),
            progress: Progress::default(),
            summary: None,
            head: None,
            reason: None,
        }
    }
}

/// Ends an attempt that lost its claim: a new one takes its place.
fn give_up(draft: &mut Draft<'_>, earlier: &Session) {
    let reason = Text::parse("its claim had ended when another attempt began").ok();
    draft.end_session(Session { reason, ..earlier.clone() }, SessionState::Lost);
}
