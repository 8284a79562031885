//! P6: a retry takes effect once, across restarts and processes.
//!
//! Requests of every sort are each sent one to eight times, at the same time, to several servers, some of which are killed
//! before they answer, and once more when all is over; over HTTP, one answer in five is not waited for. There are as many
//! effects as distinct names, and all answers to one name are equal. Planted bugs it catches: the answer is not kept; it is kept in memory; it is
//! written in a transaction of its own.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use docket_core::model::Verb;
use docket_core::testing::World;
use docket_core::testing::acts::Dice;
use serde_json::{Value, json};

use crate::fleet::{Fleet, Place, actor, must_fail_with, request, soak};

/// How many sorts of requests there are: every writing tool, with every operation that it has.
const SORTS: usize = 11;
const PROCESSES: usize = 4;
/// Servers over HTTP.
const REPLICAS: usize = 2;

fn experiment(place: Place, processes: usize, requests: u64) {
    let place = Arc::new(place);
    let items = Arc::new(place.items(usize::try_from(requests).expect("few")));
    make_what_goes(&place, &items);
    let fleet = Fleet::new(&place, processes);
    let answers: Arc<Mutex<BTreeMap<u64, Vec<Value>>>> = Arc::default();
    let torment = std::thread::spawn({
        let fleet = Arc::clone(&fleet);
        move || {
            let mut dice = Dice::new(3);
            while !fleet.is_over() {
                std::thread::sleep(Duration::from_millis(200 + dice.roll(400)));
                fleet.replace(usize::try_from(dice.roll(processes as u64)).expect("small"));
            }
        }
    });
    let workers: Vec<_> = (0..8_u64)
        .map(|worker| {
            let (fleet, answers, items) = (Arc::clone(&fleet), Arc::clone(&answers), Arc::clone(&items));
            std::thread::spawn(move || {
                for number in (worker..requests).step_by(8) {
                    let (tool, arguments) = sent_as(number, &items);
                    let copies = 1 + Dice::new(number).roll(8);
                    let sent: Vec<_> = (0..copies)
                        .map(|copy| {
                            let (fleet, arguments) = (Arc::clone(&fleet), arguments.clone());
                            let place = usize::try_from(number + copy).expect("small");
                            std::thread::spawn(move || {
                                if (number + copy).is_multiple_of(5) {
                                    fleet.send_and_leave(place, tool, &arguments);
                                }
                                fleet.insist(place, tool, &arguments).ok()
                            })
                        })
                        .collect();
                    for copy in sent {
                        let answer = copy.join().expect("an answer");
                        answers.lock().expect("the list").entry(number).or_default().push(answer);
                    }
                }
            })
        })
        .collect();
    for worker in workers {
        worker.join().expect("a worker");
    }
    fleet.over.store(true, std::sync::atomic::Ordering::Relaxed);
    torment.join().expect("the torment");
    let late = place.server();
    let answers = answers.lock().expect("the list");
    for (number, given) in answers.iter() {
        let (tool, arguments) = sent_as(*number, &items);
        let again = late.ok(tool, arguments);
        assert!(
            given.iter().all(|answer| *answer == again),
            "request {number} was answered in two ways: {given:?} and {again}"
        );
    }
    let other = json!({ "operation": "create", "items": [{ "title": "other" }], "requestId": sent_as(0, &items).1["requestId"], "actor": actor("agent-0") });
    assert_eq!(late.err("manage_items", other)["reason"], json!("request_id_reused"));
    drop((late, fleet));
    check_effects(&place.check(), &items);
}

/// What the requests that remove something find there.
fn make_what_goes(place: &Place, items: &[String]) {
    let server = place.server();
    for (at, item) in items.iter().enumerate() {
        let next = &items[(at + 1) % items.len()];
        match at % SORTS {
            9 => {
                let note = json!([{ "itemId": item, "key": "log", "role": "work" }]);
                server.ok("manage_notes", json!({ "operation": "upsert", "notes": note }));
            }
            10 => {
                let edge = json!([{ "fromItemId": item, "toItemId": next, "type": "RELATES_TO" }]);
                server.ok("manage_dependencies", json!({ "operation": "create", "dependencies": edge }));
            }
            _ => {}
        }
    }
}

/// A request of one of the sorts; the same for the same number, in every process and at any time. It is about an item that no
/// other request is about.
fn sent_as(number: u64, items: &[String]) -> (&'static str, Value) {
    let id = uuid::Uuid::from_u128(0x0190_0000_0000_7000_8000_0000_0000_0000 + u128::from(number)).to_string();
    let at = usize::try_from(number).expect("few");
    let (item, next) = (&items[at], &items[(at + 1) % items.len()]);
    let by = actor(&format!("agent-{number}"));
    match at % SORTS {
        0 => {
            let new = json!([{ "title": format!("request {number}") }]);
            ("manage_items", json!({ "operation": "create", "items": new, "requestId": id, "actor": by }))
        }
        1 => {
            let children = json!([{ "ref": "c", "title": "beneath" }]);
            let root = json!({ "title": format!("request {number}") });
            ("create_work_tree", json!({ "root": root, "children": children, "requestId": id, "actor": by }))
        }
        2 => {
            let note = json!([{ "itemId": item, "key": "log", "role": "work", "body": "words" }]);
            ("manage_notes", json!({ "operation": "upsert", "notes": note, "requestId": id, "actor": by }))
        }
        // A second start would close it.
        3 => {
            let step = json!([{ "itemId": item, "trigger": "start", "actor": by }]);
            ("advance_item", json!({ "transitions": step, "requestId": id }))
        }
        4 => {
            let edge = json!([{ "fromItemId": item, "toItemId": next, "type": "RELATES_TO" }]);
            (
                "manage_dependencies",
                json!({ "operation": "create", "dependencies": edge, "requestId": id, "actor": by }),
            )
        }
        5 => ("claim_item", json!({ "claims": [{ "itemId": item }], "requestId": id, "actor": by })),
        6 => ("complete_tree", json!({ "itemIds": [item], "requestId": id, "actor": by })),
        7 => {
            let change = json!([{ "id": item, "title": format!("changed by {number}") }]);
            ("manage_items", json!({ "operation": "update", "items": change, "requestId": id, "actor": by }))
        }
        8 => ("manage_items", json!({ "operation": "delete", "ids": [item], "requestId": id, "actor": by })),
        9 => ("manage_notes", json!({ "operation": "delete", "itemId": item, "requestId": id, "actor": by })),
        _ => {
            let ends =
                json!({ "operation": "delete", "fromItemId": item, "toItemId": next, "requestId": id, "actor": by });
            ("manage_dependencies", ends)
        }
    }
}

/// Every request has been carried out once: as often as that, and no oftener, it is in the record.
fn check_effects(world: &World, items: &[String]) {
    let sorts = |sort: usize| items.len().saturating_sub(sort).div_ceil(SORTS);
    assert_eq!(
        world.items.len(),
        items.len() + sorts(0) + 2 * sorts(1) - sorts(8),
        "as many items as there were, and as requests made, without those that requests removed"
    );
    for (wanted, verb) in [
        (sorts(2) + sorts(9), Verb::Noted),
        (sorts(3) + sorts(6), Verb::Moved),
        (sorts(4) + sorts(10), Verb::Linked),
        (sorts(5), Verb::Claimed),
        (sorts(7), Verb::Edited),
        (sorts(8), Verb::Removed),
        (sorts(9), Verb::NoteRemoved),
        (sorts(10), Verb::Unlinked),
    ] {
        let done = world.events.iter().filter(|event| event.verb == verb).count();
        assert_eq!(done, wanted, "as many events {verb:?} as requests for them");
    }
}

#[test]
fn a_retry_takes_effect_once() {
    experiment(Place::new(None), PROCESSES, 200 * u64::from(soak()));
}

#[test]
fn it_does_on_a_server() {
    experiment(Place::on_server(None), PROCESSES, 120 * u64::from(soak()));
}

#[test]
fn and_an_answer_that_is_not_kept_would_be_seen() {
    must_fail_with(&["was answered in two ways", "as many"], || {
        experiment(Place::new(Some("answers-forgotten")), PROCESSES, 24);
    });
}

#[test]
fn and_so_would_one_on_a_server() {
    must_fail_with(&["was answered in two ways", "as many"], || {
        experiment(Place::on_server(Some("answers-forgotten")), PROCESSES, 24);
    });
}

#[test]
fn and_an_answer_that_is_kept_in_memory_would_be_seen() {
    for place in [Place::new, Place::on_server] {
        must_fail_with(&["was answered in two ways", "as many"], || {
            experiment(place(Some("answers-in-memory")), PROCESSES, 24);
        });
    }
}

#[test]
fn and_an_answer_that_is_written_apart_would_be_seen() {
    for place in [Place::new, Place::on_server] {
        must_fail_with(&["was answered in two ways", "as many"], || {
            experiment(place(Some("answers-apart")), PROCESSES, 48);
        });
    }
}

#[test]
fn it_does_over_http_with_two_replicas() {
    experiment(Place::on_server(None).over_http(), REPLICAS, 120 * u64::from(soak()));
}

#[test]
fn and_so_would_one_over_http() {
    must_fail_with(&["was answered in two ways", "as many"], || {
        experiment(Place::on_server(Some("answers-forgotten")).over_http(), REPLICAS, 24);
    });
}

#[test]
fn a_name_is_free_again_when_its_answer_is_no_longer_kept() {
    for place in [Place::new, Place::on_server] {
        let place = place(None);
        let server = place.server();
        let arguments = json!({ "operation": "create", "items": [{ "title": "once" }], "requestId": request(), "actor": actor("ann") });
        let made = || server.ok("manage_items", arguments.clone())["items"][0]["id"].clone();
        let first = made();
        assert_eq!(made(), first);
        let hours = |hours: i64| {
            std::fs::write(place.clock(), (hours * 3_600_000).to_string()).expect("the clock");
            std::thread::sleep(Duration::from_millis(200));
        };
        hours(23);
        assert_eq!(made(), first, "it is kept for a day");
        hours(49);
        assert_ne!(made(), first, "after that it is carried out anew");
        assert_eq!(place.read().items.len(), 2);
    }
}

#[test]
fn a_request_that_changed_nothing_burns_no_name() {
    let place = Place::new(None);
    let item = place.items(1).remove(0);
    let server = place.server();
    let id = request();
    let claim = |who: &str, request: &str| {
        server.ok(
            "claim_item",
            json!({ "actor": actor(who), "requestId": request, "claims": [{ "itemId": item, "ttlSeconds": 1 }] }),
        )["claimResults"][0]["outcome"]
            .clone()
    };
    assert_eq!(claim("ann", &request()), json!("success"));
    assert_eq!(claim("bob", &id), json!("already_claimed"));
    std::thread::sleep(Duration::from_millis(1100));
    assert_eq!(claim("bob", &id), json!("success"), "the same name, now that it can take effect");
}
