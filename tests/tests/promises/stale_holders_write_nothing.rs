//! P2: a stale holder never writes.
//!
//! A holder sleeps past its lease; a successor claims the item and, in half the cases, releases it again. Then the holder
//! tries every write it has, on the MCP surface, over HTTP and on the command line, with the fence it was given. Each is answered as
//! a lost claim and not a row changes. Planted bugs it catches: the fence is not looked at when a note is written, or an edge.

use std::process::Command;
use std::time::Duration;

use docket_tests::program::docket;
use serde_json::{Value, json};

use crate::fleet::{Place, actor, call_over_http, must_fail_with, request};

fn experiment(place: fn(Option<&'static str>) -> Place, plant: Option<&'static str>) {
    for released in [false, true] {
        let place = place(plant);
        let [item, other]: [String; 2] = place.items(2).try_into().expect("two items");
        let server = place.server();
        let claim = |who: &str| {
            let arguments =
                json!({ "actor": actor(who), "requestId": request(), "claims": [{ "itemId": item, "ttlSeconds": 1 }] });
            server.ok("claim_item", arguments)["claimResults"][0].clone()
        };
        let stale = claim("ann")["fence"].as_u64().expect("a fence");
        std::thread::sleep(Duration::from_millis(1100));
        assert_eq!(claim("bob")["outcome"], json!("success"));
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
        on_the_native_surface(&place, &item, &other, stale);
        over_http(&place, &item, &other, stale);
        let after = place.read();
        assert_eq!((before.items, before.notes, before.events.len()), (after.items, after.notes, after.events.len()));
    }
}

fn lost(answer: &Value, what: &str) {
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

/// Every write of REST that a holder has, and MCP over HTTP, at each of two servers.
fn over_http(place: &Place, item: &str, other: &str, fence: u64) {
    let webs = [place.web(), place.web()];
    let triggers = ["start", "complete", "block", "hold", "resume", "cancel", "reopen"];
    let moves = triggers
        .map(|trigger| ("POST", format!("/items/{item}/transitions"), json!({ "trigger": trigger, "fence": fence })));
    let writes = [
        ("PATCH", format!("/items/{item}"), json!({ "title": "late", "fence": fence })),
        ("PUT", format!("/items/{item}/notes/late"), json!({ "body": "words", "phase": "work", "fence": fence })),
        ("PATCH", "/bulk/items".to_owned(), json!({ "items": [{ "item": item, "title": "late", "fence": fence }] })),
        (
            "POST",
            "/bulk/transitions".to_owned(),
            json!({ "transitions": [{ "item": item, "trigger": "start", "fence": fence }] }),
        ),
        (
            "PUT",
            "/bulk/notes".to_owned(),
            json!({ "notes": [{ "item": item, "key": "late", "body": "words", "phase": "work", "fence": fence }] }),
        ),
    ];
    let contract = [
        ("PUT", "brief", json!({ "objective": "late" })),
        ("PATCH", "brief", json!({ "objective": "late" })),
        ("PUT", "checks", json!({ "checks": [{ "type": "manual", "desc": "look at it" }] })),
        ("POST", "checks", json!({ "checks": [{ "type": "manual", "desc": "look at it" }] })),
        ("POST", "comments", json!({ "comment": "late" })),
        ("POST", "links", json!({ "links": [{ "kind": "pr", "ref": "1", "url": "https://example.com/1" }] })),
        ("POST", "questions", json!({ "question": "late?" })),
        ("POST", "finish", json!({ "comment": "late" })),
        ("POST", "submit", json!({ "output": "late" })),
    ]
    .map(|(method, part, mut body)| {
        body["fence"] = json!(fence);
        (method, format!("/items/{item}/{part}"), body)
    });
    let around = around(item, other, fence);
    for (at, (method, path, body)) in moves.into_iter().chain(writes).chain(contract).chain(around).enumerate() {
        let ann = [("x-docket-actor", "subagent:ann")];
        let body = if body.is_null() { None } else { Some(body.to_string()) };
        let reply = webs[at % 2].send(method, &path, &ann, body.as_deref().map(str::as_bytes));
        // What stands alone has a status of its own; an entry of a list says it inside.
        assert_eq!(
            reply.status,
            if path.starts_with("/bulk") && path != "/bulk/edges" { 200 } else { 409 },
            "{method} {path}: {}",
            reply.json()
        );
        lost(&reply.json(), &format!("{method} {path}"));
    }
    let note = json!({ "itemId": item, "key": "late", "role": "work", "body": "words", "actor": actor("ann"), "fence": fence });
    let put = json!({ "operation": "upsert", "notes": [note] });
    let answer = call_over_http(webs[0].address, "manage_notes", &put).expect("an answer");
    lost(&answer.content["failures"][0], "a note by MCP over HTTP");
}

/// The writes of REST that touch more than the item's own fields.
fn around(item: &str, other: &str, fence: u64) -> [(&'static str, String, Value); 8] {
    let edge = json!({ "from": other, "to": item });
    let held = json!({ "from": other, "to": item, "fence": fence, "fenceOf": item });
    let query = format!("from={other}&to={item}&fence={fence}&fenceOf={item}");
    [
        ("POST", "/edges".to_owned(), held),
        ("DELETE", format!("/edges?{query}"), Value::Null),
        ("POST", "/bulk/edges".to_owned(), json!({ "edges": [edge], "fence": fence, "fenceOf": item })),
        ("DELETE", format!("/items/{item}/notes/late?fence={fence}"), Value::Null),
        ("DELETE", format!("/items/{item}?fence={fence}"), Value::Null),
        ("POST", "/bulk/items/remove".to_owned(), json!({ "items": [item], "fence": fence })),
        ("POST", format!("/items/{item}/close-beneath"), json!({ "cancel": true, "fence": fence })),
        ("POST", format!("/items/{item}/close-tree"), json!({ "cancel": true, "fence": fence })),
    ]
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
