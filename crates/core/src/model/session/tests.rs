//! How sessions fare: each health by itself, and what may be said of a runtime.

use serde_json::{Value, json};

use super::*;
use crate::error::Reason;
use crate::testing::rows::{claim, item, project, session};

const BEGUN: i64 = 1_000_000;

/// An item held by `ann` until a moment, and a session of hers on it that began at [`BEGUN`].
fn scene(until: Option<i64>) -> (Item, Session) {
    let project = project("web", "WEB");
    let mut item = item(&project, 1, "one");
    item.claim = Some(claim("ann", until));
    item.fence = Fence(3);
    item.role = Role::Work;
    let session = Session {
        fence: Fence(3),
        started_at: Timestamp::from_millis(BEGUN),
        heartbeat_at: Timestamp::from_millis(BEGUN),
        ..session(&item, "ann")
    };
    (item, session)
}

fn health(session: &Session, item: &Item, after_ms: i64) -> Health {
    session.health(item, ClaimRules::default(), Timestamp::from_millis(BEGUN + after_ms))
}

#[test]
fn who_holds_its_item_and_was_heard_of_is_active_and_then_stalled() {
    let (item, session) = scene(None);
    assert_eq!(health(&session, &item, 0), Health::Active);
    assert_eq!(health(&session, &item, 300_000), Health::Active, "five minutes are not longer than five minutes");
    assert_eq!(health(&session, &item, 300_001), Health::Stalled);
    let heard = Session { heartbeat_at: Timestamp::from_millis(BEGUN + 200_000), ..session.clone() };
    assert_eq!(health(&heard, &item, 300_001), Health::Active);
    let patient = ClaimRules { stalled_after_seconds: 0, ..ClaimRules::default() };
    assert_eq!(session.health(&item, patient, Timestamp::MAX), Health::Active, "0 is never");
}

#[test]
fn whose_claim_is_gone_is_lost_however_lately_it_was_heard_of() {
    let (item, session) = scene(Some(BEGUN + 500));
    assert_eq!(health(&session, &item, 499), Health::Active);
    assert_eq!(health(&session, &item, 500), Health::Lost, "its lease ran out");
    let released = Item { claim: None, ..item.clone() };
    assert_eq!(health(&session, &released, 0), Health::Lost);
    let taken = Item { claim: Some(claim("bob", None)), fence: Fence(4), ..item.clone() };
    assert_eq!(health(&session, &taken, 0), Health::Lost);
    let again = Item { fence: Fence(5), ..item.clone() };
    assert_eq!(health(&session, &again, 0), Health::Lost, "the same agent holds it by another claim");
    let ended = Session { state: SessionState::Lost, ..session };
    assert_eq!(health(&ended, &item, 0), Health::Lost);
}

#[test]
fn whose_item_was_handed_in_or_closed_went_with_it() {
    let (item, session) = scene(None);
    let changed = |role, outcome, fence, claim, after: i64| {
        let role_changed_at = Timestamp::from_millis(BEGUN + after);
        let item = Item { role, outcome, fence: Fence(fence), claim, role_changed_at, ..item.clone() };
        health(&session, &item, 400_000)
    };
    let success = |role| (role == Role::Terminal).then_some(Outcome::Success);
    let at = |role, fence, claim| changed(role, success(role), fence, claim, 1000);
    assert_eq!(at(Role::Review, 3, None), Health::AwaitingReview);
    assert_eq!(at(Role::Terminal, 3, None), Health::Finished);
    assert_eq!(changed(Role::Terminal, Some(Outcome::Cancelled), 3, None, 1000), Health::Lost, "given up around it");
    assert_eq!(changed(Role::Review, None, 3, None, -1), Health::Lost, "it began in review and has let go");
    for role in [Role::Queue, Role::Work, Role::Blocked] {
        assert_eq!(at(role, 3, None), Health::Lost, "{role:?}: still to be done, and not by this attempt");
    }
    assert_eq!(at(Role::Review, 4, None), Health::Lost, "somebody else handed it in");
    assert_eq!(at(Role::Terminal, 4, None), Health::Lost, "somebody else closed it");
    assert_eq!(at(Role::Review, 3, item.claim.clone()), Health::Stalled, "it is held, wherever it stands");
}

#[test]
fn what_was_finished_awaits_review_as_long_as_its_item_has_been_there() {
    let (item, session) = scene(None);
    let end = Timestamp::from_millis(BEGUN + 100);
    let finished = Session { state: SessionState::Finished, ended_at: Some(end), ..session };
    let reviewed = Item { role: Role::Review, role_changed_at: end, claim: None, ..item };
    assert_eq!(health(&finished, &reviewed, 200), Health::AwaitingReview);
    assert_eq!(health(&finished, &reviewed, i64::from(u32::MAX)), Health::AwaitingReview, "however long that takes");
    let closed = Item { role: Role::Terminal, ..reviewed.clone() };
    assert_eq!(health(&finished, &closed, 200), Health::Finished);
    let back = Item { role: Role::Work, ..reviewed.clone() };
    assert_eq!(health(&finished, &back, 200), Health::Finished);
    let later = Item { role_changed_at: Timestamp::from_millis(BEGUN + 150), ..reviewed };
    assert_eq!(health(&finished, &later, 200), Health::Finished, "it is a later attempt that waits there");
}

#[test]
fn what_was_given_up_stays_so() {
    let (item, session) = scene(None);
    let cancelled = Session { state: SessionState::Cancelled, ..session };
    assert_eq!(health(&cancelled, &item, 0), Health::Cancelled);
}

#[test]
fn every_health_is_of_the_states_that_it_is_looked_for_in() {
    let (item, session) = scene(None);
    for state in SessionState::ALL {
        let ended_at = (state != SessionState::Active).then_some(session.started_at);
        for role in Role::ALL {
            for claim in [None, item.claim.clone()] {
                for after in [0, 400_000] {
                    let item = Item { role, claim: claim.clone(), ..item.clone() };
                    let session = Session { state, ended_at, ..session.clone() };
                    let health = health(&session, &item, after);
                    assert!(health.states().contains(&state), "{health:?} of {state:?}");
                }
            }
        }
    }
}

#[test]
fn a_runtime_is_a_few_plain_values() {
    let runtime = |value: Value| serde_json::from_value::<Runtime>(value).map_err(|error| error.to_string());
    let good = json!({ "model": "m-1", "attempt": 3, "dry": false });
    let read = runtime(good.clone()).expect("a runtime");
    assert_eq!(serde_json::to_value(read).expect("JSON"), good);
    for bad in [json!({ "a": null }), json!({ "a": [] }), json!({ "a": {} }), json!({ " ": 1 }), json!([])] {
        assert!(runtime(bad.clone()).is_err(), "{bad}");
    }
    let many: Map<String, Value> = (0..=limits::RUNTIME_ENTRIES).map(|n| (format!("k{n}"), json!(n))).collect();
    assert_eq!(Runtime::parse(many).expect_err("too many").reason, Reason::TooMany);
    let long = Map::from_iter([("a".to_owned(), json!("x".repeat(limits::RUNTIME_BYTES + 1)))]);
    assert_eq!(Runtime::parse(long).expect_err("too long").reason, Reason::TooLong);
}

#[test]
fn progress_is_a_share_of_the_whole() {
    let read = |percent: i64| serde_json::from_value::<Progress>(json!({ "percent": percent }));
    assert_eq!(read(100).expect("progress").percent, Some(100));
    assert!(read(101).is_err() && read(-1).is_err());
}
