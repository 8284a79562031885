//! P3: an acknowledged write survives `kill -9`.
//!
//! Writers put notes with tokens nobody else has, while servers are killed at random. Every token that was acknowledged
//! is stored, nothing is torn, and a new server is ready within two seconds. Planted bug it catches: the caller is
//! answered before the commit.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::json;

use crate::fleet::{Fleet, Place, must_fail_with, soak};

const WRITERS: usize = 16;
const PROCESSES: usize = 4;
/// Servers over HTTP.
const REPLICAS: usize = 2;

fn experiment(place: Place, processes: usize, length: Duration, pause: std::ops::Range<u64>) {
    let place = Arc::new(place);
    let items = Arc::new(place.items(WRITERS));
    let fleet = Fleet::new(&place, processes);
    let acknowledged = Arc::new(Mutex::new(BTreeSet::new()));
    let writers: Vec<_> = (0..WRITERS)
        .map(|number| {
            let (fleet, items, acknowledged) = (Arc::clone(&fleet), Arc::clone(&items), Arc::clone(&acknowledged));
            std::thread::spawn(move || {
                for count in 0_u64.. {
                    if fleet.is_over() {
                        return;
                    }
                    let token = format!("token-{number}-{count}");
                    let note = json!({ "itemId": items[number], "key": token, "role": "work", "body": token });
                    match fleet.call(number, "manage_notes", json!({ "operation": "upsert", "notes": [note] })) {
                        Ok(answer) if answer.content["upserted"] == json!(1) => {
                            acknowledged.lock().expect("the list").insert(token);
                        }
                        Ok(_) | Err(_) => std::thread::sleep(Duration::from_millis(10)),
                    }
                }
            })
        })
        .collect();
    let (kills, slowest) = fleet.torment(11, length, pause);
    for writer in writers {
        writer.join().expect("a writer");
    }
    drop(fleet);
    let world = place.check();
    let stored: BTreeSet<String> = world.notes.values().map(|note| note.body.to_string()).collect();
    let acknowledged = acknowledged.lock().expect("the list");
    let lost: Vec<&String> = acknowledged.difference(&stored).collect();
    assert!(
        lost.is_empty(),
        "{} of {} acknowledged writes are lost after {kills} kills: {:?}",
        lost.len(),
        acknowledged.len(),
        lost.first()
    );
    assert!(kills > 2 && acknowledged.len() > 100, "{kills} kills and {} writes show little", acknowledged.len());
    assert!(slowest < Duration::from_secs(2), "a new server needed {slowest:?}");
}

#[test]
fn an_acknowledged_write_survives_a_kill() {
    experiment(Place::new(None), PROCESSES, Duration::from_secs(12) * soak(), 300..1200);
}

#[test]
fn it_does_on_a_server() {
    experiment(Place::on_server(None), PROCESSES, Duration::from_secs(8) * soak(), 300..1200);
}

#[test]
fn and_an_answer_before_its_commit_would_be_seen() {
    must_fail_with(&["acknowledged writes are lost"], || {
        experiment(Place::new(Some("answer-before-commit")), PROCESSES, Duration::from_secs(8), 300..900);
    });
}

#[test]
fn and_so_would_one_on_a_server() {
    must_fail_with(&["acknowledged writes are lost"], || {
        experiment(Place::on_server(Some("answer-before-commit")), PROCESSES, Duration::from_secs(8), 300..900);
    });
}

#[test]
fn it_does_over_http_with_two_replicas() {
    experiment(Place::on_server(None).over_http(), REPLICAS, Duration::from_secs(8) * soak(), 300..1200);
}

#[test]
fn and_so_would_one_over_http() {
    must_fail_with(&["acknowledged writes are lost"], || {
        let place = Place::on_server(Some("answer-before-commit")).over_http();
        experiment(place, REPLICAS, Duration::from_secs(8), 300..900);
    });
}
