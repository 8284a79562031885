//! Finishes a session: hands the work over for review. It closes nothing.

use serde::Serialize;
use serde_json::Map;

use super::{SessionEnded, check_held, own};
use crate::access::{Needs, Profile, Reach};
use crate::command::advance::{Applied, MoveRequest, MoveResult, advance};
use crate::command::may_close;
use crate::engine::{Call, Command, Decision, Draft};
use crate::error::{Error, Reason};
use crate::model::{Item, ItemRef, Name, Role, Session, SessionId, SessionState, Text, Verb};
use crate::store::{Around, EdgeReach, NoteReach, Scope, Slice};
use crate::workflow::Target;

/// Finishes a session.
#[derive(Clone, Debug, Serialize)]
pub struct FinishSession {
    /// The session.
    pub session: SessionId,
    /// What was done, for whoever reviews it.
    pub summary: Text,
    /// Where the work is: a commit, a branch.
    pub head: Option<Name>,
}

impl Command for FinishSession {
    type Output = SessionEnded;
    const NAME: &'static str = "finish-session";
    const NEEDS: Needs = Needs::new(Profile::Worker, Reach::Item);

    fn scope(&self, _call: &Call) -> Scope {
        Scope { session_ids: vec![self.session], ..Scope::default() }
    }

    fn decide(&self, call: &Call, seen: &Slice) -> Result<Decision<SessionEnded>, Error> {
        if self.summary.is_blank() {
            return Err(Error::validation(Reason::Blank, "must say what was done").at("summary"));
        }
        let (session, item) = own(call, seen, self.session)?;
        if seen.looks == 0 {
            // The item is known only now; everything that a move of it concerns is shown.
            let items = vec![ItemRef::Id(item.id)];
            return Ok(Decision::Look(Box::new(Scope { items, around: around(), ..Scope::default() })));
        }
        let mut draft = Draft::new(call, seen);
        check_held(session, item, draft.now)?;
        let moved = into_review(&mut draft, item, session, &self.summary)?;
        // Its part is done: whoever reviews it need not wait until the lease runs out.
        if draft.expect(item.id)?.claim.is_some() {
            draft.set_claim(item.id, None, false);
            draft.record(Verb::Released, item.id, None, Map::new());
        }
        let finished = Session { summary: Some(self.summary.clone()), head: self.head.clone(), ..session.clone() };
        let session = draft.end_session(finished, SessionState::Finished);
        let ended = SessionEnded::of(&draft, session, moved)?;
        Ok(Decision::done(draft.finish(), ended))
    }
}

fn around() -> Around {
    Around {
        ancestors: true,
        open_children: Some(may_close(1)),
        edges: EdgeReach::Shown,
        notes: NoteReach::Heads,
        briefs: true,
        ..Around::default()
    }
}

/// Moves the item to where the workflow reviews, through the same gates as any move. A workflow without such a place leaves
/// it where it is: to close it is a decision of its own.
fn into_review(
    draft: &mut Draft<'_>,
    item: &Item,
    session: &Session,
    summary: &Text,
) -> Result<Option<Box<Applied>>, Error> {
    let project = draft.project_of(item)?;
    let Some(review) = project.workflow.first_of(Role::Review).filter(|_| item.role != Role::Review) else {
        return Ok(None);
    };
    let target = Target::Status(review.name.clone());
    let request = MoveRequest {
        fence: Some(session.fence),
        summary: Some(summary.clone()),
        ..MoveRequest::of(ItemRef::Id(item.id), target)
    };
    match advance(draft, item.id, &request)? {
        MoveResult::Applied(applied) => Ok(Some(applied)),
        MoveResult::Refused(refused) => Err(refused.error),
    }
}
