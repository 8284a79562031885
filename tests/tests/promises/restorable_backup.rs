//! P17: a backup taken under load restores.
//!
//! Under the load of P1, agents in processes that are killed while the clock jumps, the file is backed up by the command line,
//! several times. Each backup is a whole database in which every rule holds and that has every claim acknowledged before it, and
//! a restored one serves. Planted bug it catches: copying the file without its log.

use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

use docket_tests::audit;
use docket_tests::mcp::Server;
use docket_tests::program::docket;
use serde_json::json;

use crate::claims_never_overlap::{check_order, under_load};
use crate::fleet::{Place, must_fail_with, soak};

const PROCESSES: usize = 3;
const PAUSE: Duration = Duration::from_millis(400);

fn experiment(copy: fn(&Place, &Path), backups: u32) {
    let place = Arc::new(Place::new(None));
    let (kills, seen) = under_load(&place, PROCESSES, 2 * PAUSE * (backups + 1), |seen| {
        for number in 0..backups {
            std::thread::sleep(PAUSE);
            let backup = place.folder().join(format!("backup-{number}.db"));
            let before = seen.lock().expect("the list").clone();
            copy(&place, &backup);
            // It holds what was acknowledged before it, in the order in which that happened.
            check_order(&audit::check(&backup).events, &before);
        }
    });
    assert!(kills > 0 && seen.len() > 50, "{kills} kills and {} claims show little", seen.len());
    let restored = place.folder().join("restored.db");
    let status = Command::new(docket())
        .arg("--db")
        .arg(&restored)
        .arg("restore")
        .arg(place.folder().join("backup-0.db"))
        .status();
    assert!(status.expect("the program").success());
    let server = Server::start(&restored);
    server.ok("manage_items", json!({ "operation": "create", "items": [{ "title": "after the restore" }] }));
    drop(server);
    audit::check(&restored);
}

fn online(place: &Place, to: &Path) {
    let status = Command::new(docket()).arg("--db").arg(place.database()).arg("backup").arg(to).status();
    assert!(status.expect("the program").success());
}

fn plain_copy(place: &Place, to: &Path) {
    std::fs::copy(place.database(), to).expect("a copy");
}

#[test]
fn a_backup_taken_under_load_restores() {
    experiment(online, 4 * soak());
}

#[test]
fn and_a_copy_without_its_log_would_be_seen() {
    must_fail_with(&["it does not open", "lost:", "the file is damaged", "rebuilt from events"], || {
        experiment(plain_copy, 4);
    });
}
