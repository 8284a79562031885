//! P8: state, event and stored answer are one.
//!
//! A server is made to die before each statement of each kind of write, one after the other. After every death the file
//! is whole: the rows are what the events say, and a retry of the request takes effect once. Planted bug it catches:
//! events written in a transaction of their own, after the rows.

use serde_json::{Value, json};

use crate::fleet::{Place, actor, must_fail_with};

/// More statements than any write has.
const DEEPEST: usize = 24;

/// One request of each kind, on items that exist.
fn writes(ids: &[String]) -> Vec<(&'static str, Value)> {
    let (a, b) = (&ids[0], &ids[1]);
    let named = |number: u128, mut arguments: Value| {
        arguments["requestId"] = json!(uuid::Uuid::from_u128(number << 64).to_string());
        arguments["actor"] = actor("ann");
        arguments
    };
    vec![
        ("manage_items", named(1, json!({ "operation": "create", "items": [{ "title": "new", "tags": "x" }] }))),
        ("manage_items", named(2, json!({ "operation": "update", "items": [{ "id": a, "title": "renamed" }] }))),
        (
            "manage_dependencies",
            named(3, json!({ "operation": "create", "dependencies": [{ "fromItemId": a, "toItemId": b }] })),
        ),
        (
            "manage_notes",
            named(
                4,
                json!({ "operation": "upsert", "notes": [{ "itemId": a, "key": "plan", "role": "queue", "body": "x" }] }),
            ),
        ),
        ("claim_item", named(5, json!({ "claims": [{ "itemId": a }] }))),
        (
            "advance_item",
            named(6, json!({ "transitions": [{ "itemId": a, "trigger": "complete", "actor": actor("ann") }] })),
        ),
        (
            "create_work_tree",
            named(7, json!({ "root": { "title": "root" }, "children": [{ "ref": "c", "title": "child" }] })),
        ),
        ("manage_notes", named(8, json!({ "operation": "delete", "itemId": a }))),
        ("manage_dependencies", named(9, json!({ "operation": "delete", "fromItemId": a, "toItemId": b }))),
        ("complete_tree", named(10, json!({ "itemIds": [b] }))),
        ("manage_items", named(11, json!({ "operation": "delete", "ids": [b] }))),
    ]
}

fn experiment(place: &Place, least: usize) {
    let ids = place.items(2);
    let mut deaths = 0;
    for (tool, arguments) in writes(&ids) {
        for statement in 0..DEEPEST {
            let dying = place.server_with(|command| {
                place.prepare(command);
                command.env("DOCKET_DIE_AT", statement.to_string());
            });
            let answered = dying.call(tool, arguments.clone()).is_ok();
            drop(dying);
            place.check();
            if answered {
                assert!(statement >= least, "{tool} wrote nothing to die in");
                break;
            }
            deaths += 1;
            assert!(statement + 1 < DEEPEST, "{tool} never ends");
        }
        let again = place.server();
        let (first, second) = (again.ok(tool, arguments.clone()), again.ok(tool, arguments.clone()));
        assert_eq!(first, second, "{tool} was answered in two ways");
    }
    assert!(deaths > 20, "{deaths} deaths show little");
    let world = place.check();
    assert_eq!(world.items.len(), 2 + 1 + 2 - 1, "every write took effect once");
}

#[test]
fn state_event_and_answer_are_one() {
    experiment(&Place::new(None), 3);
}

#[test]
fn they_are_on_a_server() {
    // Before its writes, before their commit, before the answer.
    experiment(&Place::on_server(None), 3);
}

#[test]
fn and_an_event_after_the_commit_would_be_seen() {
    must_fail_with(&["rebuilt from events", "an event that fits", "took effect once", "answered in two ways"], || {
        experiment(&Place::new(Some("events-apart")), 3);
    });
}

#[test]
fn and_so_would_one_on_a_server() {
    must_fail_with(&["rebuilt from events", "an event that fits", "took effect once", "answered in two ways"], || {
        experiment(&Place::on_server(Some("events-apart")), 3);
    });
}
