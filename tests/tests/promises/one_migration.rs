//! P16: migrations have one winner and are never run by an older program.
//!
//! Two to eight servers start at once on a file that is not there yet, some are killed on the way. There is one history:
//! one project, one schema, and every server that lives serves it. A file of a newer schema is refused, untouched.
//! Planted bug it catches: the schema version is not read again under the lock.

use std::process::Command;
use std::sync::Arc;

use docket_core::testing::acts::Dice;
use docket_tests::audit;
use docket_tests::program::docket;
use serde_json::json;

use crate::fleet::{Place, must_fail_with, soak};

fn experiment(place: fn(Option<&'static str>) -> Place, plant: Option<&'static str>, rounds: u64) {
    for round in 0..rounds {
        let place = Arc::new(place(plant));
        let mut dice = Dice::new(round);
        let starters: Vec<_> = (0..2 + dice.roll(7))
            .map(|number| {
                let place = Arc::clone(&place);
                let doomed = number > 0 && dice.roll(3) == 0;
                let after = std::time::Duration::from_micros(dice.roll(20_000));
                std::thread::spawn(move || if doomed { start_and_kill(&place, after) } else { start_and_use(&place) })
            })
            .collect();
        for starter in starters {
            starter.join().expect("a server that lives serves");
        }
        let world = place.check();
        assert_eq!(world.projects.len(), 1, "one history");
    }
}

fn start_and_use(place: &Place) {
    let answer = place.peer().call("get_next_item", json!({})).expect("it lives");
    assert!(!answer.is_error, "{}", answer.content);
}

fn start_and_kill(place: &Place, after: std::time::Duration) {
    let mut command = Command::new(docket());
    command.arg("--db").arg(place.word()).args(place.verb()).current_dir(place.folder());
    command.stdin(std::process::Stdio::piped()).stdout(std::process::Stdio::null()).stderr(std::process::Stdio::null());
    place.prepare(&mut command);
    let mut child = command.spawn().expect("the program");
    std::thread::sleep(after);
    let _ = child.kill();
    let _ = child.wait();
}

#[test]
fn migrations_have_one_winner() {
    experiment(Place::new, None, 12 * u64::from(soak()));
}

#[test]
fn they_have_on_a_server() {
    experiment(Place::on_server, None, 8 * u64::from(soak()));
}

#[test]
fn they_have_among_servers_over_http() {
    experiment(|plant| Place::on_server(plant).over_http(), None, 6 * u64::from(soak()));
}

#[test]
fn and_two_winners_would_be_seen() {
    must_fail_with(&["a server that lives serves"], || experiment(Place::new, Some("migration-unlocked"), 12));
}

#[test]
fn and_two_on_a_server_would_be_seen() {
    must_fail_with(&["a server that lives serves"], || experiment(Place::on_server, Some("migration-unlocked"), 12));
}

#[test]
fn a_newer_schema_is_refused_and_left_alone() {
    let place = Place::new(None);
    place.items(1);
    let database = place.database();
    // The schema version is the number at byte 60 of the file's header; the log is folded into the file first.
    drop(audit::read(&database));
    let mut bytes = std::fs::read(&database).expect("the file");
    bytes[60..64].copy_from_slice(&99_u32.to_be_bytes());
    std::fs::write(&database, &bytes).expect("the file");
    let output =
        Command::new(docket()).arg("--db").arg(&database).args(["item", "list"]).output().expect("the program");
    assert_eq!(output.status.code(), Some(3), "{}", String::from_utf8_lossy(&output.stderr));
    assert!(String::from_utf8_lossy(&output.stderr).contains("99"));
    assert_eq!(std::fs::read(&database).expect("the file"), bytes, "not a byte has changed");
}
