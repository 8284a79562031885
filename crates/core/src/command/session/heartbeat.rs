//! A sign of life of a session: writes the least that can be written, since there are many of them.

use serde::{Deserialize, Serialize};

use super::{check_held, own};
use crate::access::{Needs, Profile, Reach};
use crate::engine::{Call, Command, Decision, Draft};
use crate::error::Error;
use crate::limits;
use crate::model::{Claim, Health, Key, Progress, Session, SessionId, Timestamp};
use crate::store::{Scope, Slice};

/// Says that a session goes on, and how far it has come.
#[derive(Clone, Debug, Serialize)]
pub struct Heartbeat {
    /// The session.
    pub session: SessionId,
    /// How far it has come; what was said before stays where nothing is said.
    pub progress: Option<Progress>,
}

/// A session that was heard of.
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Beat {
    /// The session.
    pub session: Session,
    /// How it fares.
    pub health: Health,
    /// Its item's key.
    pub key: Key,
    /// When the claim ends; none is until released.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub claim_expires_at: Option<Timestamp>,
}

impl Command for Heartbeat {
    type Output = Beat;
    const NAME: &'static str = "heartbeat";
    const NEEDS: Needs = Needs::new(Profile::Worker, Reach::Item);

    fn scope(&self, _call: &Call) -> Scope {
        // Nothing but the session, so that a store may show many of them in one look.
        Scope { session_ids: vec![self.session], ..Scope::default() }
    }

    fn decide(&self, call: &Call, seen: &Slice) -> Result<Decision<Beat>, Error> {
        let mut draft = Draft::new(call, seen);
        let (session, item) = own(call, seen, self.session)?;
        check_held(session, item, draft.now)?;
        if let Some(claim) = item.claim.as_ref().and_then(|claim| extended(claim, draft.now)) {
            draft.set_claim(item.id, Some(claim), false);
        }
        let said = self.progress.as_ref().filter(|progress| !progress.is_empty());
        let progress = said.unwrap_or(&session.progress).clone();
        let session = Session { heartbeat_at: draft.now, progress, ..session.clone() };
        draft.beat_session(session.clone(), said.is_some());
        let item = draft.expect(session.item)?;
        let project = draft.project_of(item)?;
        let health = session.health(item, project.workflow.claims, draft.now);
        let claim_expires_at = item.claim.as_ref().and_then(|claim| claim.expires_at);
        let key = project.key(item.number);
        Ok(Decision::done(draft.finish(), Beat { session, health, key, claim_expires_at }))
    }
}

/// The lease as it shall be, if it is worth writing: an agent that beats every second does not move its claim among those
/// that run out for each of them. It always has nine tenths of its lease before it.
fn extended(claim: &Claim, now: Timestamp) -> Option<Claim> {
    let end = claim.expires_at?;
    let later = now.plus_seconds(claim.ttl_seconds);
    let slack = u64::from(claim.ttl_seconds) * 1000 / u64::from(limits::LEASE_SLACK);
    (later.millis_since(end) >= slack.max(1)).then(|| Claim {
        claimed_at: now,
        expires_at: Some(later),
        ..claim.clone()
    })
}
