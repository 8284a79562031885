//! Sessions: begin, heartbeat, finish, cancel, and what becomes of one whose claim goes another way.

use docket_core::command::{
    Beat, BeginSession, CancelSession, FinishSession, Heartbeat, Progress as HandOver, Renew, SessionBegun,
    SessionEnded, Stage,
};
use docket_core::model::{
    Fence, Health, ItemId, Progress, Role, Runtime, Session, SessionId, SessionState, Trigger, Verb,
};
use docket_core::testing::{World, name};
use docket_core::workflow::{ClaimRules, Target, Workflow};
use docket_core::{Code, Error, Gate, Reason};

use crate::scene::Scene;
use crate::words::text;

impl Scene {
    fn begin_session(&mut self, item: ItemId, actor: &str) -> Result<SessionBegun, Error> {
        self.begin_expecting(item, actor, None)
    }

    fn begin_expecting(&mut self, item: ItemId, actor: &str, expected: Option<&str>) -> Result<SessionBegun, Error> {
        let call = self.world.call(Some(actor));
        let begin = BeginSession {
            project: World::project(),
            item: item.into(),
            expected_actor: expected.map(name),
            runtime: Runtime::default(),
            ttl: None,
        };
        self.world.run(&call, &begin)
    }

    fn beat(&mut self, session: SessionId, actor: &str, percent: Option<u8>) -> Result<Beat, Error> {
        let call = self.world.call(Some(actor));
        let progress = percent.map(|percent| Progress { percent: Some(percent), ..Progress::default() });
        self.world.run(&call, &Heartbeat { session, progress })
    }

    fn finish_session(&mut self, session: SessionId, actor: &str, summary: &str) -> Result<SessionEnded, Error> {
        let call = self.world.call(Some(actor));
        let head = Some(name("abc123"));
        self.world.run(&call, &FinishSession { session, summary: text(summary), head })
    }

    fn cancel_session(&mut self, session: SessionId, actor: &str, reason: &str) -> Result<SessionEnded, Error> {
        let call = self.world.call(Some(actor));
        self.world.run(&call, &CancelSession { session, reason: text(reason) })
    }

    fn session(&self, id: SessionId) -> &Session {
        &self.world.sessions[&id]
    }

    fn health(&self, id: SessionId) -> Health {
        let session = self.session(id);
        let item = self.get(session.item);
        session.health(item, self.world.projects[&item.project].workflow.claims, self.world.now)
    }

    /// The verbs of the events that a unit left, the first unit's being number 0.
    fn verbs_since(&self, before: usize) -> Vec<Verb> {
        self.world.events[before..].iter().map(|event| event.verb).collect()
    }
}

fn standard() -> Scene {
    Scene::new(Workflow::standard())
}

#[test]
fn beginning_claims_the_item_moves_it_into_work_and_notes_the_attempt() {
    let mut scene = standard();
    let item = scene.item("one");
    let before = scene.world.events.len();
    let begun = scene.begin_session(item, "ann").expect("a session");
    assert_eq!(scene.verbs_since(before), [Verb::Claimed, Verb::Moved, Verb::SessionBegun]);
    assert_eq!((begun.health, begun.session.state), (Health::Active, SessionState::Active));
    assert_eq!((begun.session.fence, begun.begun.held.fence), (Fence(1), Fence(1)));
    assert_eq!(begun.session.started_at, begun.session.heartbeat_at);
    assert_eq!(begun.begun.started.to_status.as_str(), "in_progress");
    let stands = scene.get(item);
    assert_eq!((stands.role, stands.claim.as_ref().map(|claim| claim.holder.as_str())), (Role::Work, Some("ann")));
    assert_eq!(scene.session(begun.session.id), &begun.session);
    scene.world.check();
}

#[test]
fn the_expected_actor_is_the_caller_to_the_letter() {
    let mut scene = standard();
    let item = scene.item("one");
    let refused = scene.begin_expecting(item, "ann", Some("Ann")).expect_err("another");
    assert_eq!((refused.code, refused.reason), (Code::Conflict, Reason::ActorMismatch));
    assert!(refused.message.contains("\"ann\"") && refused.message.contains("\"Ann\""), "{refused}");
    assert!(scene.get(item).claim.is_none() && scene.world.sessions.is_empty());
    scene.begin_expecting(item, "ann", Some("ann")).expect("the same");
}

#[test]
fn beginning_is_refused_by_the_same_rules_as_claiming_and_starting() {
    let mut scene = standard();
    let (first, second) = (scene.item("one"), scene.item("two"));
    scene.link(first, second, None);
    let refused = scene.begin_session(second, "ann").expect_err("it waits");
    assert_eq!(refused.refusals.iter().map(|refusal| refusal.gate).collect::<Vec<_>>(), [Gate::Dependencies]);
    scene.begin_session(first, "ann").expect("a session");
    let refused = scene.begin_session(first, "bob").expect_err("it is held");
    assert_eq!((refused.reason, refused.retry_after_ms.is_some()), (Reason::AlreadyClaimed, true));
    assert!(!refused.message.contains("ann"), "who holds it is not told: {refused}");
    let done = scene.item_in("done", Role::Terminal);
    assert_eq!(scene.begin_session(done, "ann").expect_err("closed").reason, Reason::Terminal);
    scene.world.check();
}

#[test]
fn a_second_beginning_by_the_same_agent_is_told_of_the_first() {
    let mut scene = standard();
    let item = scene.item("one");
    let first = scene.begin_session(item, "ann").expect("a session").session.id;
    let refused = scene.begin_session(item, "ann").expect_err("it goes on already");
    assert_eq!((refused.code, refused.reason), (Code::Conflict, Reason::SessionOpen));
    assert!(refused.message.contains(&first.to_string()), "{refused}");
    assert_eq!(scene.world.sessions.len(), 1);
}

#[test]
fn a_heartbeat_says_how_far_it_is_and_writes_no_more_than_that() {
    let mut scene = standard();
    let item = scene.item("one");
    let begun = scene.begin_session(item, "ann").expect("a session");
    let (id, lease) = (begun.session.id, begun.begun.held.claim.expires_at);
    let (before, stood) = (scene.world.events.len(), scene.get(item).clone());
    scene.world.pass(30);
    let beat = scene.beat(id, "ann", Some(40)).expect("a sign of life");
    assert_eq!((beat.health, beat.session.progress.percent), (Health::Active, Some(40)));
    assert_eq!(scene.verbs_since(before), [Verb::SessionBeat], "one event");
    assert_eq!(scene.get(item), &stood, "a lease that is nearly whole is not written again");
    assert_eq!(beat.claim_expires_at, lease);
    assert!(scene.session(id).heartbeat_at > begun.session.heartbeat_at);
    scene.world.pass(60);
    let beat = scene.beat(id, "ann", None).expect("a sign of life");
    assert_eq!(beat.session.progress.percent, Some(40), "what was said stays");
    assert!(beat.claim_expires_at > lease, "a tenth of the lease has passed");
    assert_eq!(scene.get(item).version, stood.version);
    scene.world.check();
}

#[test]
fn an_agent_that_beats_keeps_its_item_and_one_that_does_not_loses_it() {
    let mut scene = standard();
    let item = scene.item("one");
    let id = scene.begin_session(item, "ann").expect("a session").session.id;
    for _ in 0..40 {
        scene.world.pass(299);
        assert_eq!(scene.beat(id, "ann", None).expect("a sign of life").health, Health::Active);
    }
    scene.world.pass(301);
    assert_eq!(scene.health(id), Health::Stalled);
    scene.world.pass(600);
    assert_eq!(scene.health(id), Health::Lost);
    let refused = scene.beat(id, "ann", None).expect_err("its lease ran out");
    assert_eq!((refused.code, refused.reason), (Code::Conflict, Reason::ClaimLost));
    let refused = scene.finish_session(id, "ann", "all done").expect_err("its lease ran out");
    assert_eq!(refused.reason, Reason::ClaimLost);
    scene.world.check();
}

#[test]
fn only_its_agent_goes_on_with_a_session() {
    let mut scene = standard();
    let item = scene.item("one");
    let id = scene.begin_session(item, "ann").expect("a session").session.id;
    let refusals = [
        scene.beat(id, "bob", None).expect_err("not his"),
        scene.finish_session(id, "bob", "done").expect_err("not his"),
        scene.cancel_session(id, "bob", "enough").expect_err("not his"),
    ];
    for refused in refusals {
        assert_eq!((refused.code, refused.reason), (Code::Forbidden, Reason::NotYours));
    }
    assert_eq!(scene.health(id), Health::Active);
}

#[test]
fn finishing_hands_the_work_over_and_closes_nothing() {
    let mut scene = standard();
    let item = scene.item("one");
    let id = scene.begin_session(item, "ann").expect("a session").session.id;
    let refused = scene.finish_session(id, "ann", " \n").expect_err("nothing said");
    assert_eq!((refused.reason, refused.field.as_deref()), (Reason::Blank, Some("summary")));
    let ended = scene.finish_session(id, "ann", "all done").expect("the end");
    assert_eq!((ended.health, ended.role, ended.status.as_str()), (Health::AwaitingReview, Role::Review, "in_review"));
    assert_eq!((ended.session.state, ended.session.head), (SessionState::Finished, Some(name("abc123"))));
    assert!(ended.moved.is_some() && scene.get(item).claim.is_none());
    let refused = scene.beat(id, "ann", None).expect_err("it has ended");
    assert_eq!((refused.code, refused.reason), (Code::Conflict, Reason::SessionEnded));
    assert_eq!(scene.finish_session(id, "ann", "again").expect_err("it has ended").reason, Reason::SessionEnded);
    scene.must(item, Trigger::Complete);
    assert_eq!(scene.health(id), Health::Finished);
    scene.world.check();
}

#[test]
fn finishing_goes_through_the_gates_and_ends_nothing_when_they_refuse() {
    let mut scene = Scene::with_schema(Workflow::standard(), &[("proof", Role::Work)]);
    let item = scene.typed("one");
    let id = scene.begin_session(item, "ann").expect("a session").session.id;
    let refused = scene.finish_session(id, "ann", "all done").expect_err("a note is missing");
    assert_eq!(refused.refusals.iter().map(|refusal| refusal.gate).collect::<Vec<_>>(), [Gate::Notes]);
    assert_eq!((scene.health(id), scene.get(item).role), (Health::Active, Role::Work));
    scene.world.check();
}

#[test]
fn finishing_never_closes_even_where_no_review_is_asked_for() {
    let mut scene = Scene::task_orchestrator();
    let item = scene.item("one");
    let id = scene.begin_session(item, "ann").expect("a session").session.id;
    let ended = scene.finish_session(id, "ann", "all done").expect("the end");
    assert_eq!((ended.role, ended.health), (Role::Review, Health::AwaitingReview));
    let mut workflow = Workflow::standard();
    workflow.statuses.retain(|status| status.role != Role::Review);
    let mut scene = Scene::new(workflow);
    let item = scene.item("one");
    let id = scene.begin_session(item, "ann").expect("a session").session.id;
    let ended = scene.finish_session(id, "ann", "all done").expect("the end");
    assert_eq!((ended.role, ended.health, ended.moved), (Role::Work, Health::Finished, None));
    scene.world.check();
}

#[test]
fn giving_up_ends_the_session_alone() {
    let mut scene = standard();
    let item = scene.item("one");
    let id = scene.begin_session(item, "ann").expect("a session").session.id;
    assert_eq!(scene.cancel_session(id, "ann", " ").expect_err("no reason").field.as_deref(), Some("reason"));
    let ended = scene.cancel_session(id, "ann", "too hard").expect("the end");
    assert_eq!((ended.health, ended.role), (Health::Cancelled, Role::Work));
    assert_eq!(ended.session.reason.as_ref().map(docket_core::model::Text::as_str), Some("too hard"));
    assert!(scene.get(item).claim.is_none(), "somebody else may take it");
    let next = scene.begin_session(item, "bob").expect("a session");
    assert_eq!(next.session.fence, Fence(2));
    assert_eq!(scene.health(id), Health::Cancelled);
    scene.world.check();
}

#[test]
fn a_session_whose_claim_goes_another_way_is_lost_and_makes_room() {
    let mut scene = standard();
    let item = scene.item("one");
    let first = scene.begin_session(item, "ann").expect("a session").session.id;
    scene.world.pass(901);
    assert_eq!(scene.health(first), Health::Lost, "nobody has written anything");
    assert_eq!(scene.session(first).state, SessionState::Active);
    let before = scene.world.events.len();
    let second = scene.begin_session(item, "bob").expect("a session").session.id;
    assert_eq!(scene.verbs_since(before), [Verb::Claimed, Verb::SessionEnded, Verb::SessionBegun]);
    assert_eq!((scene.session(first).state, scene.health(first)), (SessionState::Lost, Health::Lost));
    assert_eq!(scene.health(second), Health::Active);
    assert_eq!(scene.beat(first, "ann", None).expect_err("it is over").reason, Reason::SessionEnded);
    scene.world.check();
}

#[test]
fn whatever_ends_the_claim_ends_the_attempt() {
    let mut scene = standard();
    let [closed, released, asked, moved_on] =
        ["closed", "released", "asked", "moved on"].map(|title| scene.item(title));
    let id = scene.begin_session(closed, "ann").expect("a session").session.id;
    scene.advance_as(closed, Trigger::Cancel, Some("ann")).expect("a move");
    assert_eq!(scene.health(id), Health::Lost);
    let id = scene.begin_session(released, "ann").expect("a session").session.id;
    scene.release(released, "ann");
    assert_eq!(scene.health(id), Health::Lost);
    let cancelled = scene.cancel_session(id, "ann", "it is gone").expect("what is lost can be given up");
    assert_eq!(cancelled.health, Health::Cancelled);
    let id = scene.begin_session(asked, "ann").expect("a session").session.id;
    scene.ask(asked, "ann").expect("a question");
    assert_eq!(scene.health(id), Health::Lost);
    let id = scene.begin_session(moved_on, "ann").expect("a session").session.id;
    let other = scene.item("another");
    let begun = scene.begin_session(other, "ann").expect("one claim is all an agent may hold here");
    assert_eq!(begun.begun.auto_released, [moved_on]);
    assert_eq!(scene.health(id), Health::Lost);
    scene.world.check();
}

#[test]
fn claims_that_only_say_whose_an_item_is_keep_nobody_out() {
    let mut workflow = Workflow::standard();
    workflow.claims = ClaimRules { guarded: false, ttl_seconds: 0, ..workflow.claims };
    let mut scene = Scene::new(workflow);
    let item = scene.item("one");
    let id = scene.begin_session(item, "ann").expect("a session").session.id;
    let refused = scene.begin_session(item, "bob").expect_err("it is hers all the same");
    assert_eq!((refused.reason, refused.retry_after_ms), (Reason::AlreadyClaimed, None));
    scene.advance_as(item, Trigger::Hold, Some("bob")).expect("anybody may move it");
    scene.advance_fenced(item, Trigger::Resume, "bob", Fence(0)).expect_err("who carries a fence is held to it");
    assert_eq!(scene.health(id), Health::Active, "and it stays hers");
    scene.world.check();
}

#[test]
fn an_attempt_whose_item_its_holder_moves_to_review_awaits_it() {
    let mut scene = standard();
    let item = scene.item("one");
    let id = scene.begin_session(item, "ann").expect("a session").session.id;
    scene.advance_by(item, Target::Status(name("in_review")), Some("ann"), None).expect("moved");
    scene.world.pass(901);
    assert_eq!(scene.health(id), Health::AwaitingReview, "its lease has run out, and nobody has taken the item");
    let item = scene.item("two");
    let id = scene.begin_session(item, "ann").expect("a session").session.id;
    let call = scene.world.call(Some("ann"));
    let progress =
        HandOver { project: World::project(), item: item.into(), to: Stage::Review, note: None, renew: false };
    scene.world.run(&call, &progress).expect("handed over");
    assert_eq!(scene.health(id), Health::AwaitingReview);
    // Somebody else who takes it up is at it, and the attempt is over.
    scene.begin_session(item, "bob").expect("a session");
    assert_eq!(scene.health(id), Health::Lost);
    scene.world.check();
}

#[test]
fn an_attempt_that_awaits_review_still_says_what_was_done() {
    let mut scene = standard();
    let item = scene.item("one");
    let id = scene.begin_session(item, "ann").expect("a session").session.id;
    scene.advance_by(item, Target::Status(name("in_review")), Some("ann"), None).expect("moved");
    scene.beat(id, "ann", None).expect("it is heard of");
    scene.finish_session(id, "ann", "It works.").expect("its last word");
    assert_eq!(scene.session(id).summary, Some(text("It works.")));
    assert_eq!(scene.health(id), Health::AwaitingReview);
    scene.world.check();
}

#[test]
fn whoever_renews_a_lease_is_heard_of() {
    let mut scene = standard();
    let item = scene.item("one");
    let id = scene.begin_session(item, "ann").expect("a session").session.id;
    let renew = Renew { project: World::project(), item: item.into(), ttl: None, fence: None };
    let goes_on = HandOver { project: World::project(), item: item.into(), to: Stage::Work, note: None, renew: true };
    for _ in 0..3 {
        scene.world.pass(200);
        let call = scene.world.call(Some("ann"));
        scene.world.run(&call, &renew).expect("renewed");
        scene.world.pass(200);
        let call = scene.world.call(Some("ann"));
        scene.world.run(&call, &goes_on).expect("a sign of life");
        assert_eq!(scene.health(id), Health::Active);
    }
    scene.world.pass(301);
    assert_eq!(scene.health(id), Health::Stalled);
    scene.world.check();
}

#[test]
fn where_every_move_is_free_nothing_has_to_come_back_first() {
    let mut scene = Scene::new(Workflow::cairn());
    let item = scene.item("one");
    let to = |scene: &mut Scene, status: &str| scene.advance_by(item, Target::Status(name(status)), None, None);
    to(&mut scene, "blocked").expect("moved");
    let begun = scene.begin_session(item, "ann").expect("begun where it stands");
    assert_eq!((begun.health, scene.get(item).status.as_str()), (Health::Active, "blocked"));
    for status in ["blocked", "in_progress", "done", "done"] {
        let before = (scene.world.events.len(), scene.get(item).clone());
        let moved = to(&mut scene, status).expect("any status to any");
        assert_eq!(moved.to_status.as_str(), status);
        if before.1.status.as_str() == status {
            assert_eq!((scene.world.events.len(), scene.get(item)), (before.0, &before.1), "nothing is written");
        }
    }
    let mut guided = standard();
    let item = guided.item("one");
    let again = guided.advance_by(item, Target::Status(name("backlog")), None, None).expect_err("it is there");
    assert!(again.message.contains("refused"), "{again}");
    scene.world.check();
}
