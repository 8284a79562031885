//! P16: migrations have one winner and are never run by an older program.
//!
//! Two to eight servers start at once on a database that is not there yet, or that an older program left, some are killed on the
//! way. There is one history: one project, one schema, every server that lives serves it, and what was there still is. A database
//! of a newer schema is refused, untouched. Planted bug it catches: the schema version is not read again under the lock.

use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use docket_core::testing::acts::Dice;
use docket_tests::program::docket;
use docket_tests::{audit, older};
use serde_json::json;

use crate::fleet::{Place, must_fail_with, soak};

type Where = fn(Option<&'static str>) -> Place;

fn experiment(place: Where, plant: Option<&'static str>, rounds: u64) {
    for round in 0..rounds {
        let place = Arc::new(place(plant));
        start_together(&place, round);
        let world = place.check();
        assert_eq!(world.projects.len(), 1, "one history");
    }
}

/// The same on what the first program there was might have left.
fn upgrading(place: Where, plant: Option<&'static str>, rounds: u64) {
    for round in 0..rounds {
        let place = Arc::new(place(plant));
        place.items(3);
        let before = place.read();
        match place.on_a_server() {
            None => older::file(&place.database()),
            Some(server) => older::server(server),
        }
        start_together(&place, round);
        let after = place.check();
        assert_eq!((before.projects, before.items), (after.projects, after.items), "what was there still is");
        assert_eq!(before.events.len(), after.events.len(), "and nothing was made twice");
    }
}

/// Starts servers at once, and kills some of them on the way.
fn start_together(place: &Arc<Place>, round: u64) {
    let mut dice = Dice::new(round);
    let starters: Vec<_> = (0..2 + dice.roll(7))
        .map(|number| {
            let place = Arc::clone(place);
            let doomed = number > 0 && dice.roll(3) == 0;
            let after = Duration::from_micros(dice.roll(20_000));
            std::thread::spawn(move || if doomed { start_and_kill(&place, after) } else { start_and_use(&place) })
        })
        .collect();
    for starter in starters {
        starter.join().expect("a server that lives serves");
    }
}

fn start_and_use(place: &Place) {
    let answer = place.peer().call("get_next_item", json!({})).expect("it lives");
    assert!(!answer.is_error, "{}", answer.content);
}

fn start_and_kill(place: &Place, after: Duration) {
    let mut command = Command::new(docket());
    command.arg("--db").arg(place.word()).args(place.verb()).current_dir(place.folder());
    command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
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
fn upgrades_have_one_winner() {
    upgrading(Place::new, None, 8 * u64::from(soak()));
}

#[test]
fn upgrades_have_on_a_server() {
    upgrading(Place::on_server, None, 6 * u64::from(soak()));
}

#[test]
fn upgrades_have_among_servers_over_http() {
    upgrading(|plant| Place::on_server(plant).over_http(), None, 4 * u64::from(soak()));
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
fn and_two_upgrades_would_be_seen() {
    must_fail_with(&["a server that lives serves"], || upgrading(Place::new, Some("migration-unlocked"), 12));
}

#[test]
fn and_two_upgrades_on_a_server_would_be_seen() {
    must_fail_with(&["a server that lives serves"], || upgrading(Place::on_server, Some("migration-unlocked"), 12));
}

/// What somebody starts on a database of a newer schema, whichever way: it ends by itself, and says why.
fn must_refuse(place: &Place) {
    let ways: [&[&str]; 5] = [
        &["item", "list"],
        &["item", "add", "late"],
        &["mcp"],
        &["serve", "--listen", "127.0.0.1:0"],
        &["key", "create", "--profile", "viewer"],
    ];
    for words in ways {
        let mut command = Command::new(docket());
        command.arg("--db").arg(place.word()).args(words).current_dir(place.folder());
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
        let mut child = command.spawn().expect("the program");
        let begun = Instant::now();
        while child.try_wait().expect("a state").is_none() && begun.elapsed() < Duration::from_secs(20) {
            std::thread::sleep(Duration::from_millis(10));
        }
        let _ = child.kill();
        let output = child.wait_with_output().expect("its words");
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(3), "{words:?}: {said}");
        assert!(said.contains("99") && said.contains("newer"), "{words:?}: {said}");
    }
}

#[test]
fn a_newer_schema_on_a_server_is_refused_and_left_alone() {
    let place = Place::on_server(None);
    place.items(1);
    let before = place.read();
    let server = place.on();
    let known = server.ask("SELECT version::text FROM docket");
    server.run("UPDATE docket SET version = 99");
    must_refuse(&place);
    assert_eq!(server.ask("SELECT version::text FROM docket"), "99");
    server.run(&format!("UPDATE docket SET version = {known}"));
    let after = place.read();
    assert_eq!((before.items, before.events.len()), (after.items, after.events.len()));
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
    must_refuse(&place);
    assert_eq!(std::fs::read(&database).expect("the file"), bytes, "not a byte has changed");
}
