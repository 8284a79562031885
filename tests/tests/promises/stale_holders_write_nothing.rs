//! P2: a stale holder never writes.
//!
//! A holder sleeps past its lease, and the server it claimed by is killed and started again meanwhile; a successor claims the
//! item and, in half the cases, releases it again. Then the holder
//! tries every write it has, by every tool of every MCP surface, over HTTP at each of two servers and on the command line, with the
//! fence it was given. Each is answered as a lost claim and not a row changes. Planted bugs it catches: the fence is not looked at when a note is
//! written, or an edge.

use std::time::Duration;

use docket_tests::mcp::Server;
use serde_json::{Value, json};

use crate::fleet::{Place, actor, must_fail_with, request};
use crate::stale_holders_by_tool::by_every_tool;
use crate::stale_holders_on_the_command_line::on_the_command_line;
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
        by_every_tool(&place, &target, stale);
        on_the_command_line(&place, &target, stale);
        over_http(&place, &target, stale);
        let after = place.read();
        assert_eq!((before.items, before.notes, before.events.len()), (after.items, after.notes, after.events.len()));
    }
}

pub(crate) fn lost(answer: &Value, what: &str) {
    let said = answer.to_string();
    assert!(said.contains("claim_lost") || said.contains("claim lost"), "{what} was not refused as lost: {said}");
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
    must_fail_with(&["annotate notes"], || {
        experiment(Place::new, Some("fence-ignored-on-notes"));
    });
}

#[test]
fn and_so_would_one_on_a_server() {
    must_fail_with(&["annotate notes"], || {
        experiment(Place::on_server, Some("fence-ignored-on-notes"));
    });
}

#[test]
fn and_one_that_forgets_it_for_edges_would_be_seen() {
    must_fail_with(&["annotate edges"], || experiment(Place::new, Some("fence-ignored-on-edges")));
}
