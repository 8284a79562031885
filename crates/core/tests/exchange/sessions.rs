//! Attempts at items, out and in.

use docket_core::Reason;
use docket_core::command::{BeginSession, FinishSession};
use docket_core::model::{Health, Session};
use docket_core::testing::{World, name};
use docket_core::workflow::ClaimRules;
use serde_json::{Value, json};

use super::{NOBODY, Spoil, change, first, kinds, scene, text};

/// The scene with two attempts at its bare item: one that was finished, one that goes on.
fn attempted() -> World {
    let (mut world, [_, _, _, bare]) = scene();
    for actor in ["ann", "bob"] {
        let call = world.call(Some(actor));
        let runtime = serde_json::from_value(json!({ "model": "m" })).expect("a runtime");
        let begin =
            BeginSession { project: World::project(), item: bare.into(), expected_actor: None, runtime, ttl: None };
        let session = world.run(&call, &begin).expect("a session").session.id;
        if actor == "ann" {
            let call = world.call(Some(actor));
            let finish = FinishSession { session, summary: text("done"), head: Some(name("abc")) };
            world.run(&call, &finish).expect("an end");
        }
    }
    world
}

#[test]
fn sessions_go_out_and_come_in_and_what_goes_on_is_lost_without_its_claim() {
    let world = attempted();
    let rows = world.export();
    assert_eq!(kinds(&rows).iter().filter(|kind| *kind == "session").count(), 2);
    let mut copy = World::empty();
    copy.import(&rows).expect("an import");
    copy.check();
    assert_eq!(copy.export(), rows);
    assert_eq!(copy.sessions, world.sessions);
    let health = |world: &World| -> Vec<Health> {
        let of = |session: &Session| session.health(&world.items[&session.item], ClaimRules::default(), world.now);
        world.sessions.values().map(of).collect()
    };
    assert_eq!(health(&world), [Health::AwaitingReview, Health::Active]);
    assert_eq!(health(&copy), [Health::AwaitingReview, Health::Lost], "leases stay behind");
}

#[test]
fn a_session_that_does_not_fit_is_refused_with_its_line() {
    let world = attempted();
    let spoils: [(Spoil, Reason); 6] = [
        (|rows| change(rows, "session", "item", json!(NOBODY)), Reason::NotFound),
        (|rows| change(rows, "session", "project", json!(NOBODY)), Reason::BadValue),
        (|rows| change(rows, "session", "endedAt", Value::Null), Reason::BadValue),
        (|rows| change(rows, "session", "summary", json!(" ")), Reason::BadValue),
        (|rows| change(rows, "session", "sumary", json!("x")), Reason::UnknownField),
        (
            |rows| {
                let at = first(rows, "session");
                let open = rows[at + 1]["session"].clone();
                rows[at]["session"] = open;
                rows[at]["session"]["id"] = json!("00000000000000000000000001");
                at
            },
            Reason::BadValue,
        ),
    ];
    for (spoil, reason) in spoils {
        let mut rows = world.export();
        let at = spoil(&mut rows);
        let (line, error) = World::empty().import(&rows).expect_err("it does not fit");
        assert_eq!((error.reason, line), (reason, Some(at + 1)), "{error}");
    }
}
