//! P17: a backup taken under load restores.
//!
//! While agents write, the file is backed up by the command line, several times. Each backup is a whole database in which
//! every rule holds, and a restored one serves. Planted bug it catches: copying the file without its log.

use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use docket_tests::audit;
use docket_tests::mcp::Server;
use docket_tests::program::docket;
use serde_json::json;

use crate::fleet::{Fleet, Place, actor, must_fail_with, request, soak};

fn experiment(copy: fn(&Place, &Path), backups: u32) {
    let place = Arc::new(Place::new(None));
    let items = Arc::new(place.items(64));
    let fleet = Fleet::new(&place, 3);
    let acknowledged = Arc::new(AtomicUsize::new(items.len()));
    let agents: Vec<_> = (0..12_usize)
        .map(|number| {
            let (fleet, items, acknowledged) = (Arc::clone(&fleet), Arc::clone(&items), Arc::clone(&acknowledged));
            std::thread::spawn(move || {
                let name = format!("agent-{number}");
                for round in 0_usize.. {
                    if fleet.is_over() {
                        return;
                    }
                    let item = &items[(number * 7 + round) % items.len()];
                    let claim = json!({ "actor": actor(&name), "requestId": request(), "claims": [{ "itemId": item, "ttlSeconds": 1 }] });
                    let _ = fleet.call(number, "claim_item", claim);
                    let tree = json!({ "root": { "title": name }, "children": [{ "ref": "c", "title": "child" }], "deps": [{ "from": "root", "to": "c" }] });
                    if fleet.call(number, "create_work_tree", tree).is_ok_and(|answer| !answer.is_error) {
                        acknowledged.fetch_add(2, Ordering::Relaxed);
                    }
                }
            })
        })
        .collect();
    for number in 0..backups {
        std::thread::sleep(Duration::from_millis(300));
        let backup = place.folder().join(format!("backup-{number}.db"));
        let least = acknowledged.load(Ordering::Relaxed);
        copy(&place, &backup);
        let world = audit::check(&backup);
        assert!(world.items.len() >= least, "a backup holds what was acknowledged before it");
    }
    fleet.over.store(true, Ordering::Relaxed);
    for agent in agents {
        agent.join().expect("an agent");
    }
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
    must_fail_with(
        &["it does not open", "holds what was acknowledged", "the file is damaged", "rebuilt from events"],
        || experiment(plain_copy, 4),
    );
}
