//! `docket session`: attempts from the command line.

use serde_json::json;

use crate::desk::Desk;

fn begin(desk: &Desk, item: &str, actor: &str) -> String {
    let begun =
        desk.json(&["--actor", actor, "session", "begin", item, "--runtime", "model=small", "--runtime", "n=3"]);
    assert_eq!(begun["session"]["runtime"], json!({ "model": "small", "n": 3 }));
    begun["session"]["id"].as_str().expect("an id").to_owned()
}

#[test]
fn an_attempt_from_its_beginning_to_its_end() {
    let desk = Desk::standard();
    let key = desk.add(&["Parse it"]);
    let session = begin(&desk, &key, "agent:ann");
    let refused = desk.error(5, &["--actor", "agent:ann", "session", "begin", &key]);
    assert_eq!(refused["reason"], "session_open");
    let told = desk.ok(&["--actor", "agent:ann", "session", "heartbeat", &session, "halfway", "--percent", "50"]);
    assert!(told.contains("active") && told.contains(&key), "{told}");
    let listed = desk.ok(&["session", "list"]);
    assert!(listed.contains(&session) && listed.contains("50 %, halfway"), "{listed}");
    let refused = desk.error(4, &["--actor", "agent:bob", "session", "finish", &session, "mine now"]);
    assert_eq!(refused["reason"], "not_yours");
    let told = desk.ok(&["--actor", "agent:ann", "session", "finish", &session, "It parses.", "--head", "abc"]);
    assert!(told.contains("awaiting_review") && told.contains("in_review"), "{told}");
    let shown = desk.ok(&["session", "show", &session]);
    for said in ["awaiting_review", "by ann", "It parses.", "at abc", "model: small"] {
        assert!(shown.contains(said), "{said} is not in {shown}");
    }
    let events = desk.ok(&["events", &key]);
    assert!(events.contains("session-ended") && events.contains("It parses."), "{events}");
}

#[test]
fn attempts_are_listed_and_given_up() {
    let desk = Desk::standard();
    let [first, second] = ["one", "two"].map(|title| desk.add(&[title]));
    let given_up = begin(&desk, &first, "agent:ann");
    desk.ok(&["--actor", "agent:ann", "session", "cancel", &given_up, "too hard"]);
    let goes_on = begin(&desk, &second, "agent:bob");
    let ids = |arguments: &[&str]| -> Vec<String> {
        let listed = desk.json(&[&["session", "list"], arguments].concat());
        let rows = listed["sessions"].as_array().expect("sessions").clone();
        rows.iter().map(|row| row["id"].as_str().expect("an id").to_owned()).collect()
    };
    assert_eq!(ids(&[]), [goes_on.clone(), given_up.clone()]);
    assert_eq!(ids(&["--health", "cancelled"]), std::slice::from_ref(&given_up));
    assert_eq!(ids(&["--of", "bob", "--state", "active"]), std::slice::from_ref(&goes_on));
    assert_eq!(ids(&["--item", &first]), [given_up]);
    assert_eq!(ids(&["--limit", "1"]), [goes_on]);
    desk.fails(2, &["session", "list", "--health", "well"]);
    desk.fails(2, &["session", "show", "nonsense"]);
    desk.fails(2, &["session", "show", "01K7SA4Z0C8R5QY3M2B1N0V9XT"]);
    desk.fails(2, &["session", "begin", &first, "--runtime", "alone"]);
    let exported = desk.ok(&["export"]);
    assert_eq!(exported.lines().filter(|line| line.starts_with("{\"session\"")).count(), 2);
    desk.ok(&["doctor"]);
}

#[test]
fn an_attempt_whose_item_is_handed_in_awaits_its_review_and_ends_with_it() {
    let desk = Desk::standard();
    let health = |session: &str| desk.json(&["session", "show", session])["health"].clone();
    let shown = desk.add(&["Show it"]);
    desk.ok(&["check", "add", &shown, "Ann likes it"]);
    let session = begin(&desk, &shown, "agent:ann");
    desk.ok(&["--actor", "agent:ann", "submit", &shown]);
    assert_eq!(health(&session), "awaiting_review");
    let listed = desk.json(&["session", "list", "--health", "awaiting_review"]);
    assert_eq!(listed["sessions"][0]["id"], json!(session), "{listed}");
    desk.ok(&["check", "attest", &shown, "0=pass"]);
    assert_eq!(desk.json(&["item", "show", &shown])["item"]["role"], "terminal");
    assert_eq!(health(&session), "finished");

    let plain = desk.add(&["Do it"]);
    let session = begin(&desk, &plain, "agent:ann");
    desk.ok(&["--actor", "agent:ann", "close", &plain]);
    assert_eq!(health(&session), "finished");
    desk.ok(&["advance", &plain, "reopen"]);
    assert_eq!(health(&session), "lost", "it is to be done again, and nobody is at it");

    let dropped = desk.add(&["Leave it"]);
    let session = begin(&desk, &dropped, "agent:ann");
    desk.ok(&["--actor", "agent:ann", "release", &dropped]);
    assert_eq!(health(&session), "lost");
}

#[test]
fn messages_say_what_to_do_next() {
    let desk = Desk::standard();
    let item = desk.add(&["One"]);
    desk.ok(&["--actor", "agent:ann", "start", &item]);
    let told = desk.ok(&["--actor", "agent:ann", "session", "begin", &item]);
    assert!(told.contains("stays in_progress") && !told.contains("in_progress → in_progress"), "{told}");
    desk.ok(&["--actor", "agent:ann", "session", "finish", told_session(&told), "It works."]);
    let refused = desk.fails(5, &["--actor", "agent:ann", "finish", &item]);
    assert!(refused.contains("--to complete"), "{refused}");
    let bare = Desk::bare();
    bare.write("work.jsonl", desk.ok(&["export"]));
    let refused = bare.fails(3, &["import", "work.jsonl"]);
    assert!(refused.contains("docket import --create"), "{refused}");
}

/// The session that was said to begin.
fn told_session(told: &str) -> &str {
    told.split_whitespace().find(|word| word.len() == 26).expect("a session")
}
