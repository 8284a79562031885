//! P6: a retry takes effect once, across restarts and processes.
//!
//! Each request is sent one to eight times, at the same time, to several servers, some of which are killed before they
//! answer, and once more when all is over; over HTTP, one answer in five is not waited for. There are as many effects as distinct names, and all answers to one name are
//! equal. Planted bug it catches: the answer is not kept.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use docket_core::testing::acts::Dice;
use serde_json::{Value, json};

use crate::fleet::{Fleet, Place, actor, must_fail_with, request, soak};

const PROCESSES: usize = 4;
/// Servers over HTTP.
const REPLICAS: usize = 2;

fn experiment(place: Place, processes: usize, requests: u64) {
    let place = Arc::new(place);
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
            let (fleet, answers) = (Arc::clone(&fleet), Arc::clone(&answers));
            std::thread::spawn(move || {
                for number in (worker..requests).step_by(8) {
                    let arguments = create(number);
                    let copies = 1 + Dice::new(number).roll(8);
                    let sent: Vec<_> = (0..copies)
                        .map(|copy| {
                            let (fleet, arguments) = (Arc::clone(&fleet), arguments.clone());
                            let place = usize::try_from(number + copy).expect("small");
                            std::thread::spawn(move || {
                                if (number + copy).is_multiple_of(5) {
                                    fleet.send_and_leave(place, "manage_items", &arguments);
                                }
                                fleet.insist(place, "manage_items", &arguments).ok()
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
        let again = late.ok("manage_items", create(*number));
        assert!(
            given.iter().all(|answer| *answer == again),
            "request {number} was answered in two ways: {given:?} and {again}"
        );
    }
    let other = json!({ "operation": "create", "items": [{ "title": "other" }], "requestId": create(0)["requestId"], "actor": actor("ann") });
    assert_eq!(late.err("manage_items", other)["reason"], json!("request_id_reused"));
    drop((late, fleet));
    let world = place.check();
    assert_eq!(world.items.len() as u64, requests, "as many items as requests");
}

/// The same for the same number, in every process and at any time.
fn create(number: u64) -> Value {
    let id = uuid::Uuid::from_u128(0x0190_0000_0000_7000_8000_0000_0000_0000 + u128::from(number));
    json!({ "operation": "create", "items": [{ "title": format!("request {number}") }], "requestId": id.to_string(), "actor": actor("ann") })
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
    must_fail_with(&["was answered in two ways", "as many items as requests"], || {
        experiment(Place::new(Some("answers-forgotten")), PROCESSES, 24);
    });
}

#[test]
fn and_so_would_one_on_a_server() {
    must_fail_with(&["was answered in two ways", "as many items as requests"], || {
        experiment(Place::on_server(Some("answers-forgotten")), PROCESSES, 24);
    });
}

#[test]
fn it_does_over_http_with_two_replicas() {
    experiment(Place::on_server(None).over_http(), REPLICAS, 120 * u64::from(soak()));
}

#[test]
fn and_so_would_one_over_http() {
    must_fail_with(&["was answered in two ways", "as many items as requests"], || {
        experiment(Place::on_server(Some("answers-forgotten")).over_http(), REPLICAS, 24);
    });
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
