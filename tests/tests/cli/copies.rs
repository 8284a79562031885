//! Copies of the database: backups under load, restores, and files that are no database of ours.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::RecvTimeoutError;
use std::time::{Duration, Instant};

use docket_tests::mcp::Server;
use docket_tests::web::Web;
use serde_json::{Value, json};

use crate::desk::{Desk, text};

#[test]
fn a_backup_is_whole_and_restores() {
    let desk = Desk::new();
    desk.add(&["Before"]);
    assert!(desk.ok(&["backup", "b.db"]).contains("wrote"));
    assert!(desk.fails(5, &["backup", "b.db"]).contains("is there already"));
    assert!(desk.fails(3, &["backup", "no/such/b.db"]).contains("its folder is not there"));
    desk.add(&["After"]);
    assert!(desk.fails(5, &["restore", "b.db"]).contains("--force"));
    assert_eq!(desk.json(&["item", "list"])["total"], json!(2), "nothing has changed");
    let done = desk.json(&["restore", "b.db", "--force"]);
    assert_eq!(desk.json(&["item", "list"])["total"], json!(1));
    let aside = format!("sqlite:{}", done["replaced"].as_str().expect("a path"));
    assert_eq!(desk.json(&["--db", &aside, "item", "list"])["total"], json!(2), "what was there is kept");
    desk.add(&["On from there"]);
    desk.ok(&["doctor"]);
    desk.fails(5, &["restore", ".docket/docket.db", "--force"]);
    desk.fails(3, &["restore", "none.db"]);
}

#[test]
fn whoever_still_has_the_old_database_open_is_told_of_and_serves_nobody() {
    let desk = Desk::new();
    desk.add(&["One"]);
    desk.ok(&["backup", "b.db"]);
    let server = Server::start(&desk.database());
    let create = |title: &str| json!({ "operation": "create", "items": [{ "title": title }] });
    server.ok("manage_items", create("Two"));
    let claim = json!({
        "claims": [{ "selector": { "tags": "none", "waitMs": 60_000 } }], "actor": { "id": "a", "kind": "user" },
        "requestId": "0191e8a0-0000-7000-8000-000000000001",
    });
    let (_, waiting) = server.ask("tools/call", json!({ "name": "claim_item", "arguments": claim }));
    std::thread::sleep(Duration::from_millis(300));
    let ran = desk.run(&["--json", "restore", "b.db", "--force"]);
    assert!(ran.err.contains("another process has the database open"), "{ran:?}");
    let done: Value = serde_json::from_str(&ran.good()).expect("JSON");
    let search = json!({ "operation": "search" });
    // Some are told so, and then it ends: nobody is served any more.
    for (tool, arguments) in [
        ("manage_items", create("Three")),
        ("query_items", search.clone()),
        ("get_context", json!({})),
        ("manage_items", create("Four")),
    ] {
        let Ok(refused) = server.call(tool, arguments) else { break };
        let refused = refused.err();
        assert_eq!((&refused["kind"], &refused["reason"]), (&json!("permanent"), &json!("store_replaced")), "{tool}");
        assert!(refused["message"].as_str().is_some_and(|said| said.contains("start it again")), "{refused}");
    }
    match waiting.recv_timeout(Duration::from_secs(10)) {
        Ok(waited) => assert!(waited.to_string().contains("store_replaced"), "{waited}"),
        Err(ended) => assert_eq!(ended, RecvTimeoutError::Disconnected, "who waits is told soon"),
    }
    let begun = Instant::now();
    while !server.ended() {
        assert!(begun.elapsed() < Duration::from_secs(10), "it still runs");
        std::thread::sleep(Duration::from_millis(20));
    }
    assert_eq!(server.hang_up(Duration::from_secs(1)).and_then(|status| status.code()), Some(3), "it ends of itself");
    let aside = format!("sqlite:{}", done["replaced"].as_str().expect("a path"));
    assert_eq!(desk.json(&["item", "list"])["total"], json!(1), "what the old server was sent does not get in here");
    assert_eq!(desk.json(&["--db", &aside, "item", "list"])["total"], json!(2), "nor into what was set aside");
    desk.ok(&["doctor"]);
    let next = Server::start(&desk.database());
    next.ok("manage_items", create("Five"));
    assert_eq!(next.ok("query_items", search)["total"], json!(2));
    drop(next);
    desk.add(&["Seven"]);
    desk.ok(&["doctor"]);
    docket_tests::audit::check(&desk.database());
}

#[test]
fn a_server_whose_database_was_replaced_answers_nothing_and_ends() {
    let desk = Desk::new();
    let key = desk.add(&["One"]);
    desk.ok(&["backup", "b.db"]);
    let mut web = Web::on(&desk.database(), |_| {});
    let item = format!("/items/{key}");
    for _ in 0..3 {
        // Kept from the second time on.
        web.get(&item).with(200);
    }
    assert_eq!(web.to("GET", "/readyz", &[], None).status, 200);
    desk.ok(&["restore", "b.db", "--force"]);
    assert_eq!(web.to("GET", "/healthz", &[], None).status, 200, "nobody has asked yet");
    assert_eq!(web.get(&item).reason(503), "store_replaced", "what was kept is not answered either");
    assert_eq!(web.end(Duration::from_secs(10)), Some(3), "it ends, for whoever looks after it to start it again");
    assert_eq!(desk.json(&["item", "list"])["total"], json!(1));
}

#[test]
fn a_restore_into_an_empty_place_needs_no_force_and_leaves_no_old_log() {
    let desk = Desk::new();
    desk.add(&["One"]);
    desk.ok(&["backup", "b.db"]);
    // A log that another database left behind would be read as this one's.
    desk.write("new.db-wal", vec![7_u8; 40_000]);
    desk.write("new.db-shm", vec![7_u8; 32_768]);
    // One page is all there was, it says: SQLite would cut off the rest.
    let mut journal = vec![0xd9, 0xd5, 0x05, 0xf9, 0x20, 0xa1, 0x63, 0xd7];
    journal.extend([0, 7, 1, 512, 4096].iter().flat_map(|word: &u32| word.to_be_bytes()));
    journal.resize(512, 0);
    desk.write("new.db-journal", journal);
    desk.ok(&["--db", "new.db", "restore", "b.db"]);
    desk.ok(&["--db", "new.db", "item", "add", "Two"]);
    assert_eq!(desk.json(&["--db", "new.db", "item", "list"])["total"], json!(2));
    desk.ok(&["--db", "new.db", "doctor"]);
}

#[test]
fn a_backup_under_load_restores() {
    let desk = Desk::new();
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        for writer in 0..3 {
            let (desk, stop) = (&desk, &stop);
            scope.spawn(move || {
                for number in 0.. {
                    if stop.load(Ordering::Relaxed) {
                        break;
                    }
                    desk.ok(&["item", "add", &format!("writer {writer} item {number}")]);
                }
            });
        }
        for round in 0..4 {
            let file = format!("b{round}.db");
            desk.ok(&["backup", &file]);
            let whole = desk.run(&["--db", &file, "doctor"]);
            assert_eq!(whole.code, 0, "{whole:?}");
            let export = desk.ok(&["export"]);
            assert!(export.starts_with("{\"docket\":3}\n"), "an export is of one moment too");
        }
        stop.store(true, Ordering::Relaxed);
    });
    let all = desk.json(&["item", "list", "--limit", "1"])["total"].as_u64().expect("a count");
    let copied = desk.json(&["--db", "b3.db", "item", "list", "--limit", "1"])["total"].as_u64().expect("a count");
    assert!(copied > 0 && copied <= all, "{copied} of {all}");
    desk.ok(&["restore", "b3.db", "--force"]);
    desk.ok(&["doctor"]);
}

#[test]
fn what_is_no_database_of_ours_is_refused_and_left_alone() {
    let desk = Desk::new();
    desk.add(&["One"]);
    desk.ok(&["backup", "whole.db"]);
    let whole = std::fs::read(desk.file("whole.db")).expect("a file");
    desk.write("text.db", "this is no database\n".repeat(100));
    desk.write("empty.db", "");
    desk.write("cut.db", &whole[..whole.len() / 2]);
    let mut newer = whole.clone();
    newer[60..64].copy_from_slice(&99_u32.to_be_bytes());
    desk.write("newer.db", &newer);
    let mut foreign = whole;
    foreign[68..72].copy_from_slice(&7_u32.to_be_bytes());
    desk.write("foreign.db", &foreign);
    for (file, said) in [
        ("text.db", "not a Docket database"),
        ("foreign.db", "not a Docket database"),
        ("empty.db", "not a Docket database"),
        ("cut.db", "damaged"),
        ("newer.db", "newer than"),
    ] {
        let before = std::fs::read(desk.file(file)).expect("a file");
        for arguments in [
            vec!["--db", file, "item", "list"],
            vec!["--db", file, "item", "add", "x"],
            vec!["restore", file, "--force"],
        ] {
            let told = desk.fails(3, &arguments);
            assert!(told.contains(said) && told.contains(file), "{arguments:?}: {told}");
        }
        assert_eq!(std::fs::read(desk.file(file)).expect("a file"), before, "{file} is as it was");
    }
    assert_eq!(desk.json(&["item", "list"])["total"], json!(1), "our own is as it was");
    let folder = desk.fails(3, &["--db", text(&desk.path()), "item", "list"]);
    assert!(folder.contains("is a folder"), "{folder}");
}
