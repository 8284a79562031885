//! The doctor: finds what was planted, mends what can be computed, and says so by its exit code.

use docket_core::model::{Derived, Inbox, ItemId, Sections};
use docket_core::store::{ChangeSet, Store};
use docket_core::testing::rows::Put;
use docket_store_sqlite::{SqliteOptions, SqliteStore};
use serde_json::{Value, json};

use crate::desk::Desk;

/// A database with a few items, and the ids of all.
fn scene() -> (Desk, Vec<ItemId>) {
    let desk = Desk::new();
    let first = desk.add(&["First"]);
    desk.add(&["Second", "--blocked-by", &first]);
    desk.add(&["Third", "--parent", &first]);
    let listed = desk.json(&["item", "list"]);
    let ids = listed["items"].as_array().expect("items").iter().filter_map(|item| item["id"].as_str()?.parse().ok());
    let ids = ids.collect();
    (desk, ids)
}

fn plant(desk: &Desk, rows: &[(ItemId, Derived)]) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    runtime.block_on(async {
        let store = SqliteStore::open(SqliteOptions::new(desk.database())).await.expect("a store");
        store.set_derived(rows).await.expect("planted");
        store.close().await;
    });
}

#[test]
fn a_healthy_database_is_said_to_be_so() {
    let (desk, _) = scene();
    assert!(desk.ok(&["doctor"]).contains("nothing is wrong: 3 items and 1 edge in"));
    let report = desk.json(&["doctor"]);
    assert_eq!((&report["file"], &report["rows"], &report["repaired"]), (&json!([]), &json!([]), &json!(0)));
}

#[test]
fn planted_damage_is_found_and_mended() {
    let (desk, ids) = scene();
    let wrong = Derived {
        blockers: 7,
        moot: 2,
        unblocks: 9,
        rank: 1,
        offered: true,
        sections: Sections(Sections::OBJECTIVE),
        inbox: Inbox(Inbox::QUESTION),
    };
    plant(&desk, &[(ids[1], wrong), (ids[2], Derived { offered: false, ..wrong })]);
    let ran = desk.run(&["doctor"]);
    assert_eq!(ran.code, 1, "{ran:?}");
    assert!(ran.out.contains("W-2 the count of open blockers is stored as 7, should be 1"), "{}", ran.out);
    assert!(ran.out.contains("docket doctor --repair"), "{}", ran.out);
    let ran = desk.run(&["--json", "doctor"]);
    let report: Value = serde_json::from_str(&ran.out).expect("JSON");
    let checks: Vec<&str> =
        report["rows"].as_array().expect("findings").iter().filter_map(|found| found["check"].as_str()).collect();
    for check in ["blockers", "moot", "unblocks", "rank", "offered", "brief", "inbox"] {
        assert!(checks.contains(&check), "{check} is not in {checks:?}");
    }
    let mended = desk.json(&["doctor", "--repair"]);
    assert_eq!((&mended["rows"], mended["repaired"].as_u64()), (&json!([]), Some(checks.len() as u64)));
    desk.ok(&["doctor"]);
    assert_eq!(desk.field("W-2", "derived")["blockers"], json!(1));
    assert_eq!(
        desk.json(&["events", "W-2"])["events"].as_array().map(Vec::len),
        Some(2),
        "a repair is no act of anybody's"
    );
}

/// An export would not help: what is in it is not taken in again as it is.
#[test]
fn what_stands_in_a_status_that_went_away_is_moved_out_of_it() {
    let (desk, _) = scene();
    desk.ok(&["advance", "W-2", "block"]);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    runtime.block_on(async {
        let store = SqliteStore::open(SqliteOptions::new(desk.database())).await.expect("a store");
        let mut projects = store.projects().await.expect("projects");
        for project in &mut projects {
            project.workflow.statuses.retain(|status| status.name.as_str() != "blocked");
            project.version += 1;
        }
        let changes = ChangeSet { projects, ..ChangeSet::default() };
        store.execute(Box::new(Put(changes))).await.expect("written");
        store.close().await;
    });
    let ran = desk.run(&["doctor"]);
    assert_eq!(ran.code, 1, "{ran:?}");
    assert!(ran.out.contains("no status \"blocked\"") && ran.out.contains("move the item"), "{}", ran.out);
    assert!(!ran.out.contains("export") && !ran.out.contains("restore"), "nothing is damaged: {}", ran.out);
    desk.ok(&["advance", "W-2", "resume"]);
    desk.ok(&["doctor"]);
}

#[test]
fn a_damaged_file_is_what_was_found() {
    let (desk, _) = scene();
    desk.ok(&["backup", "b.db"]);
    let mut bytes = std::fs::read(desk.file("b.db")).expect("a file");
    let pages = bytes.len() / 4096;
    for page in 2..pages {
        // The heads of all pages but the first two: nothing in them can be found any more.
        bytes[page * 4096..page * 4096 + 64].fill(0xa5);
    }
    desk.write("bad.db", &bytes);
    let ran = desk.run(&["--db", "bad.db", "doctor"]);
    assert_eq!(ran.code, 1, "{ran:?}");
    assert!(ran.out.contains("file:"), "{ran:?}");
    let ran = desk.run(&["--db", "bad.db", "--json", "doctor", "--repair"]);
    assert_eq!(ran.code, 1, "{ran:?}");
    let report: Value = serde_json::from_str(&ran.out).expect("JSON");
    assert!(!report["file"].as_array().expect("findings").is_empty(), "{report}");
    desk.fails(3, &["--db", "bad.db", "item", "list"]);
    assert!(desk.fails(3, &["restore", "bad.db", "--force"]).contains("damaged"));
}

#[test]
fn it_looks_while_others_work() {
    let (desk, _) = scene();
    std::thread::scope(|scope| {
        scope.spawn(|| {
            for number in 0..20 {
                desk.add(&[&format!("item {number}"), "--blocked-by", "W-1"]);
            }
        });
        for _ in 0..5 {
            let ran = desk.run(&["doctor"]);
            assert_eq!(ran.code, 0, "a number that is being changed is no damage: {ran:?}");
        }
    });
}

#[test]
fn a_network_file_system_is_told_by_the_doctor_and_by_whoever_writes() {
    let (desk, _) = scene();
    let nfs = [("DOCKET_FILE_SYSTEM", "6969")];
    let ran = desk.run_with(&nfs, &["doctor"]);
    assert_eq!(ran.code, 0, "nothing is wrong yet: {ran:?}");
    assert!(ran.out.contains("network file system (NFS)") && ran.out.contains("Postgres"), "{ran:?}");
    let ran = desk.run_with(&nfs, &["--json", "doctor"]);
    let report: Value = serde_json::from_str(&ran.out).expect("JSON");
    assert!(report["warnings"][0].as_str().is_some_and(|warning| warning.contains("NFS")), "{report}");
    let ran = desk.run_with(&nfs, &["item", "add", "There"]);
    assert!(ran.code == 0 && ran.err.contains("network file system"), "{ran:?}");
    assert_eq!(desk.json(&["doctor"]).get("warnings"), None, "this folder is on none");
    // ext4 is a file system as others are.
    let ran = desk.run_with(&[("DOCKET_FILE_SYSTEM", "ef53")], &["item", "add", "Here"]);
    assert!(ran.code == 0 && !ran.err.contains("network"), "{ran:?}");
}

#[test]
fn a_log_without_its_database_is_not_thrown_away() {
    let desk = Desk::new();
    desk.add(&["One"]);
    let log = vec![7_u8; 40_000];
    desk.write("gone.db-wal", &log);
    for arguments in [&["init"][..], &["mcp"], &["serve", "--listen", "127.0.0.1:0"]] {
        let arguments = [&["--db", "gone.db"][..], arguments].concat();
        let ran = desk.run(&arguments);
        assert_eq!(ran.code, 3, "{arguments:?}: {ran:?}");
        assert!(ran.err.contains("-wal"), "{arguments:?}: {ran:?}");
        assert_eq!(std::fs::read(desk.file("gone.db-wal")).expect("the log"), log, "{arguments:?}");
    }
    // An empty file is no database either.
    desk.write("gone.db", "");
    assert_eq!(desk.run(&["--db", "gone.db", "mcp"]).code, 3);
    std::fs::remove_file(desk.file("gone.db-wal")).expect("it is there");
    assert_eq!(desk.run(&["--db", "gone.db", "mcp"]).code, 0, "without it a new one is made");
}
