//! P9: the graph stays acyclic and no close skips a gate.
//!
//! Several processes make the halves of cycles at the same time, move parts of the tree under each other, and close while
//! others reopen. Afterwards no work waits for itself, nothing open lies beneath something closed, and every number
//! derived is what it should be. Planted bugs it catches: a new edge is not looked at for cycles; it is looked at before the
//! transaction that makes it.

use std::sync::{Arc, Barrier};

use docket_core::testing::acts::Dice;
use docket_tests::mcp::Server;
use serde_json::{Value, json};

use crate::fleet::{Place, must_fail_with, soak};

const ITEMS: u64 = 12;
const PROCESSES: u64 = 4;

fn experiment(place: Place, rounds: u64) {
    let place = Arc::new(place);
    // The standard workflow keeps closed work whole; the surface is the same.
    std::fs::write(place.folder().join("docket.toml"), "[project]\nslug = \"default\"\npreset = \"standard\"\n")
        .expect("a file");
    let items = Arc::new(place.items(usize::try_from(ITEMS).expect("small")));
    let workers: Vec<_> = (0..PROCESSES)
        .map(|number| {
            let (place, items) = (Arc::clone(&place), Arc::clone(&items));
            std::thread::spawn(move || {
                let server = place.server();
                let mut dice = Dice::new(number + 1);
                for _ in 0..rounds {
                    act(&server, &mut dice, &items);
                }
            })
        })
        .collect();
    for worker in workers {
        worker.join().expect("a worker");
    }
    let world = place.check();
    assert!(!world.edges.is_empty() && world.items.values().any(|item| item.parent.is_some()), "nothing was linked");
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

fn act(server: &Server, dice: &mut Dice, items: &[String]) {
    let pick = |dice: &mut Dice| items[usize::try_from(dice.roll(ITEMS)).expect("small")].clone();
    let (a, b) = (pick(dice), pick(dice));
    let (tool, arguments): (&str, Value) = match dice.roll(10) {
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
        _ => ("complete_tree", json!({ "rootId": a })),
    };
    let answer = server.call(tool, arguments).expect("the server lives");
    assert!(!answer.is_error || answer.content["error"]["kind"] == json!("permanent"), "{tool}: {}", answer.content);
}

#[test]
fn the_graph_stays_sound() {
    experiment(Place::new(None), 150 * u64::from(soak()));
}

#[test]
fn it_does_on_a_server() {
    experiment(Place::on_server(None), 100 * u64::from(soak()));
}

#[test]
fn and_a_cycle_would_be_seen() {
    must_fail_with(&["work that can never finish"], || experiment(Place::new(Some("cycles-unchecked")), 60));
}

#[test]
fn and_so_would_one_on_a_server() {
    must_fail_with(&["work that can never finish"], || experiment(Place::on_server(Some("cycles-unchecked")), 60));
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
