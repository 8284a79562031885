//! P9: the graph stays acyclic and no close skips a gate.
//!
//! Several processes, of which one after the other is killed and replaced, make the halves of cycles at the same time, move parts
//! of the tree under each other, write and remove the note that every close asks for, and close while others reopen. Afterwards
//! no work waits for itself, nothing open lies beneath something closed, every number derived is what it should be, and each
//! close was past open gates by the rows as they stood at its number. Planted bugs it catches: a new edge is not looked at for
//! cycles; it is looked at before the transaction that makes it; one gate or another is not asked at a close.

use std::sync::{Arc, Barrier};

use std::time::Duration;

use docket_core::model::{Outcome, Verb};
use docket_core::testing::World;
use docket_core::testing::acts::Dice;
use docket_tests::mcp::Gone;
use serde_json::{Value, json};

use crate::fleet::{Fleet, Place, must_fail_with, soak};

const ITEMS: u64 = 12;
const PROCESSES: usize = 4;
const LENGTH: Duration = Duration::from_secs(5);
/// For a bug that shows at once.
const SHORT: Duration = Duration::from_secs(2);
/// How often a planted bug may hide that needs two halves to meet.
const TRIES: usize = 4;
/// What every item owes before it is closed.
const SCHEMAS: &str = "work_item_schemas:\n  default:\n    notes:\n      - {key: proof, role: work, required: true, description: What shows it}\n";

fn experiment(place: Place, length: Duration) {
    let place = Arc::new(place);
    std::fs::create_dir(place.folder().join(".taskorchestrator")).expect("a folder");
    std::fs::write(place.folder().join(".taskorchestrator/config.yaml"), SCHEMAS).expect("a file");
    // The standard workflow keeps closed work whole; the surface is the same.
    std::fs::write(place.folder().join("docket.toml"), "[project]\nslug = \"default\"\npreset = \"standard\"\n")
        .expect("a file");
    let items = Arc::new(place.items(usize::try_from(ITEMS).expect("small")));
    let fleet = Fleet::new(&place, PROCESSES);
    let workers: Vec<_> = (0..PROCESSES)
        .map(|number| {
            let (fleet, items) = (Arc::clone(&fleet), Arc::clone(&items));
            std::thread::spawn(move || {
                let mut dice = Dice::new(number as u64 + 1);
                while !fleet.is_over() {
                    act(&fleet, number, &mut dice, &items);
                }
            })
        })
        .collect();
    let (kills, _) = fleet.torment(9, length, 400..900);
    for worker in workers {
        worker.join().expect("a worker");
    }
    drop(fleet);
    let world = place.check();
    assert!(!world.edges.is_empty() && world.items.values().any(|item| item.parent.is_some()), "nothing was linked");
    let done = done(&world);
    assert!(kills > 2 && done > 5, "{kills} kills and {done} closes show little");
}

/// How often something was brought to success.
fn done(world: &World) -> usize {
    let success = json!(Outcome::Success);
    let closes = |event: &&docket_core::model::Event| {
        event.verb == Verb::Moved && event.data.pointer("/set/outcome") == Some(&success)
    };
    world.events.iter().filter(closes).count()
}

/// Two processes make the two halves of a cycle at the same moment, again and again: one of them is refused each time.
fn halves(place: &Place, rounds: usize) {
    let items = place.items(2 * rounds);
    let servers = [place.server(), place.server()];
    let meet = Barrier::new(2);
    let made = std::thread::scope(|scope| {
        let workers = [0, 1].map(|which: usize| {
            let (server, items, meet) = (&servers[which], &items, &meet);
            scope.spawn(move || {
                let link = |pair: &[String]| {
                    let edge = json!([{ "fromItemId": pair[which], "toItemId": pair[1 - which] }]);
                    meet.wait();
                    let arguments = json!({ "operation": "create", "dependencies": edge });
                    let answer = server.call("manage_dependencies", arguments).expect("the server lives");
                    usize::from(answer.content["created"] == json!(1))
                };
                items.chunks(2).map(link).sum::<usize>()
            })
        });
        workers.map(|worker| worker.join().expect("a worker")).iter().sum::<usize>()
    });
    assert_eq!(made, rounds, "of each cycle one half and no more");
    place.check();
}

fn act(fleet: &Fleet, number: usize, dice: &mut Dice, items: &[String]) {
    let pick = |dice: &mut Dice| items[usize::try_from(dice.roll(ITEMS)).expect("small")].clone();
    let (a, b) = (pick(dice), pick(dice));
    let (tool, arguments): (&str, Value) = match dice.roll(14) {
        0..=3 => (
            "manage_dependencies",
            json!({ "operation": "create", "dependencies": [{ "fromItemId": a, "toItemId": b }] }),
        ),
        4 => ("manage_dependencies", json!({ "operation": "delete", "fromItemId": a, "deleteAll": true })),
        5 | 6 => (
            "manage_items",
            json!({ "operation": "update", "items": [{ "id": a, "parentId": if dice.roll(3) == 0 { Value::Null } else { json!(b) } }] }),
        ),
        7 => ("advance_item", json!({ "transitions": [{ "itemId": a, "trigger": "complete" }] })),
        8 => ("advance_item", json!({ "transitions": [{ "itemId": a, "trigger": "reopen" }] })),
        9..=11 => {
            // Written for another phase it is not the one that is asked for.
            let role = if dice.roll(3) == 0 { "queue" } else { "work" };
            let note = json!([{ "itemId": a, "key": "proof", "role": role, "body": "words" }]);
            ("manage_notes", json!({ "operation": "upsert", "notes": note }))
        }
        12 => ("manage_notes", json!({ "operation": "delete", "itemId": a })),
        _ => ("complete_tree", json!({ "rootId": a })),
    };
    match fleet.call(number, tool, arguments) {
        Ok(answer) => {
            let refused = answer.content["error"]["kind"] == json!("permanent");
            assert!(!answer.is_error || refused, "{tool}: {}", answer.content);
        }
        // Its server was killed; another takes its place.
        Err(Gone) => std::thread::sleep(Duration::from_millis(20)),
    }
}

#[test]
fn the_graph_stays_sound() {
    experiment(Place::new(None), LENGTH * soak());
}

#[test]
fn it_does_on_a_server() {
    experiment(Place::on_server(None), LENGTH * soak());
}

#[test]
fn and_a_cycle_would_be_seen() {
    // Two halves have to meet: a bug that is one only then is seen in one of some tries.
    must_fail_with(&["work that can never finish"], || {
        for _ in 0..TRIES {
            experiment(Place::new(Some("cycles-unchecked")), SHORT);
        }
    });
}

#[test]
fn and_so_would_one_on_a_server() {
    must_fail_with(&["work that can never finish"], || {
        for _ in 0..TRIES {
            experiment(Place::on_server(Some("cycles-unchecked")), SHORT);
        }
    });
}

#[test]
fn and_a_close_past_a_gate_would_be_seen() {
    for bug in ["dependencies-skipped", "notes-skipped"] {
        for place in [Place::new, Place::on_server] {
            must_fail_with(&["moved past a shut gate"], || experiment(place(Some(bug)), SHORT));
        }
    }
}

#[test]
fn of_two_halves_of_a_cycle_one_is_made() {
    for place in [Place::new, Place::on_server] {
        halves(&place(None), 30 * usize::try_from(soak()).expect("small"));
    }
}

#[test]
fn and_a_check_outside_of_the_unit_would_be_seen() {
    for place in [Place::new, Place::on_server] {
        must_fail_with(&["one half and no more"], || halves(&place(Some("looked-outside")), 20));
    }
}
