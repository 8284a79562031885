//! P2: a stale holder never writes.
//!
//! A holder sleeps past its lease, and the server it claimed by is killed and started again meanwhile; a successor claims the
//! item and, in half the cases, releases it again. Then the holder
//! tries every write it has, on the MCP surface, over HTTP at each of two servers and on the command line, with the fence it was
//! given. Each is answered as a lost claim and not a row changes. Planted bugs it catches: the fence is not looked at when a note is
//! written, or an edge.

use std::process::Command;
use std::time::Duration;

use docket_tests::mcp::Server;
use docket_tests::program::docket;
use serde_json::{Value, json};

use crate::fleet::{Place, actor, must_fail_with, request};
use crate::stale_holders_over_http::{Target, over_http};

fn experiment(place: fn(Option<&'static str>) -> Place, plant: Option<&'static str>) {
    for released in [false, true] {
        let place = place(plant);
        let [item, other]: [String; 2] = place.items(2).try_into().expect("two items");
        let target = Target::prepare(&place, &item, &other);
        let claim = |server: &Server, who: &str| {
            let arguments =
                json!({ "actor": actor(who), "requestId": request(), "claims": [{ "itemId": item, "ttlSeconds": 1 }] });
            server.ok("claim_item", arguments)["claimResults"][0].clone()
        };
        let first = place.server();
        let stale = claim(&first, "ann")["fence"].as_u64().expect("a fence");
        first.kill();
        std::thread::sleep(Duration::from_millis(1100));
        let server = place.server();
        assert_eq!(claim(&server, "bob")["outcome"], json!("success"));
        if released {
            server.ok(
                "claim_item",
                json!({ "actor": actor("bob"), "requestId": request(), "releases": [{ "itemId": item }] }),
            );
        }
        let before = place.read();
        for trigger in ["start", "complete", "block", "hold", "resume", "cancel", "reopen"] {
            let step = json!({ "itemId": item, "trigger": trigger, "actor": actor("ann"), "fence": stale });
            let answer = server.ok("advance_item", json!({ "transitions": [step] }));
            lost(&answer["results"][0], trigger);
        }
        let note = json!({ "itemId": item, "key": "late", "role": "work", "body": "words", "actor": actor("ann"), "fence": stale });
        lost(&server.ok("manage_notes", json!({ "operation": "upsert", "notes": [note] }))["failures"][0], "note");
        let patch = json!({ "id": item, "title": "late", "fence": stale });
        lost(
            &server.ok("manage_items", json!({ "operation": "update", "items": [patch], "actor": actor("ann") }))["failures"]
                [0],
            "update",
        );
        on_the_command_line(&place, &item, &other, stale);
        around_the_item(&place, &item, &other, stale);
        on_the_native_surface(&place, &item, &other, stale);
        over_http(&place, &target, stale);
        let after = place.read();
        assert_eq!((before.items, before.notes, before.events.len()), (after.items, after.notes, after.events.len()));
    }
}

pub(crate) fn lost(answer: &Value, what: &str) {
    let said = answer.to_string();
    assert!(said.contains("claim_lost") || said.contains("claim lost"), "{what} was not refused as lost: {said}");
}

fn on_the_command_line(place: &Place, item: &str, other: &str, fence: u64) {
    let fence = fence.to_string();
    let calls: [&[&str]; 10] = [
        &["advance", item, "start", "--fence", &fence],
        &["note", "set", item, "late", "words", "--fence", &fence],
        &["item", "edit", item, "--title", "late", "--fence", &fence],
        &["link", item, "blocks", other, "--fence", &fence],
        &["unlink", item, "--all", "--fence", &fence],
        &["item", "rm", item, "--fence", &fence],
        &["note", "rm", item, "--all", "--fence", &fence],
        &["close", item, "--fence", &fence],
        &["close", item, "--tree", "--fence", &fence],
        &["advance", item, "cancel", "--beneath", "--fence", &fence],
    ];
    for arguments in calls {
        let mut command = Command::new(docket());
        command.arg("--db").arg(place.word()).args(["--json", "--actor", "subagent:ann"]).args(arguments);
        command.current_dir(place.folder());
        place.prepare(&mut command);
        let output = command.output().expect("the program");
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(5), "{arguments:?}: {said}");
        assert!(said.contains("claim_lost"), "{arguments:?}: {said}");
    }
}

/// The writes of the task-orchestrator's surface that touch more than one row of the item.
fn around_the_item(place: &Place, item: &str, other: &str, fence: u64) {
    let server = place.server();
    let edge = json!({ "fromItemId": item, "toItemId": other });
    let writes = [
        ("complete_tree", json!({ "itemIds": [item] })),
        ("complete_tree", json!({ "rootId": item, "trigger": "cancel" })),
        ("manage_notes", json!({ "operation": "delete", "itemId": item })),
        ("manage_notes", json!({ "operation": "delete", "itemId": item, "key": "late" })),
        ("manage_dependencies", json!({ "operation": "create", "dependencies": [edge], "fenceOf": item })),
        (
            "manage_dependencies",
            json!({ "operation": "create", "pattern": "fan-in", "sources": [other], "target": item, "fenceOf": item }),
        ),
        (
            "manage_dependencies",
            json!({ "operation": "delete", "fromItemId": item, "toItemId": other, "fenceOf": item }),
        ),
        (
            "manage_dependencies",
            json!({ "operation": "delete", "fromItemId": item, "deleteAll": true, "fenceOf": item }),
        ),
    ];
    for (tool, mut arguments) in writes {
        arguments["actor"] = actor("ann");
        arguments["fence"] = json!(fence);
        let said = arguments.to_string();
        lost(&server.err(tool, arguments), &said);
    }
    for recursive in [false, true] {
        let delete = json!({ "operation": "delete", "ids": [item], "recursive": recursive, "fence": fence, "actor": actor("ann") });
        lost(&server.ok("manage_items", delete)["failures"][0], "delete");
    }
}

/// The writes of the native surface that touch more than the item's own fields.
fn on_the_native_surface(place: &Place, item: &str, other: &str, fence: u64) {
    let server = place.server_on("docket");
    let writes = [
        ("annotate", json!({ "id": item, "edges": [{ "to": other }] })),
        ("annotate", json!({ "id": item, "edges": [{ "from": other }] })),
        ("annotate", json!({ "id": item, "notes": [{ "key": "late", "body": "words" }] })),
        ("remove", json!({ "edgesOf": { "id": item } })),
        ("remove", json!({ "edgesOf": { "id": item, "to": other } })),
        ("remove", json!({ "notesOf": { "id": item } })),
        ("remove", json!({ "items": [item] })),
        ("advance", json!({ "id": item, "tree": true, "to": "cancel" })),
        ("advance", json!({ "id": item, "tree": true, "force": true, "to": "cancel" })),
        ("advance", json!({ "id": item, "to": "cancel" })),
    ];
    for (tool, mut arguments) in writes {
        arguments["actor"] = actor("ann");
        arguments["fence"] = json!(fence);
        let said = arguments.to_string();
        lost(&server.err(tool, arguments), &said);
    }
}

#[test]
fn a_stale_holder_never_writes() {
    experiment(Place::new, None);
}

#[test]
fn nor_on_a_server() {
    experiment(Place::on_server, None);
}

#[test]
fn and_a_write_that_forgets_the_fence_would_be_seen() {
    must_fail_with(&["note was not refused as lost"], || {
        experiment(Place::new, Some("fence-ignored-on-notes"));
    });
}

#[test]
fn and_so_would_one_on_a_server() {
    must_fail_with(&["note was not refused as lost"], || {
        experiment(Place::on_server, Some("fence-ignored-on-notes"));
    });
}

#[test]
fn and_one_that_forgets_it_for_edges_would_be_seen() {
    must_fail_with(&["\"link\""], || experiment(Place::new, Some("fence-ignored-on-edges")));
}
