//! Lists of keys: bounded, and what was left out is said. How much a connection may do that shows none.

use docket_tests::mcp::Server;
use serde_json::json;

use crate::{World, each};

#[test]
fn a_long_list_of_keys_is_cut_and_says_so() {
    let world = World::new();
    for number in 0..201 {
        world.ok("admin", json!({ "op": "key.create", "name": format!("k{number}"), "profile": "viewer" }));
    }
    let listed = world.ok("admin", json!({ "op": "key.list" }));
    let told = &listed["trusted"];
    assert_eq!(told["keys"].as_array().map(Vec::len), Some(200));
    assert_eq!((&told["truncated"], &told["total"]), (&json!(true), &json!(201)));
    world.ok("admin", json!({ "op": "key.revoke", "key": "k200" }));
    let listed = world.ok("admin", json!({ "op": "key.list" }));
    assert!(listed["trusted"].get("truncated").is_none(), "{listed}");
}

/// The tools that a connection is offered.
fn offered(world: &World) -> Vec<String> {
    let listed = world.server.request("tools/list", json!({})).expect("an answer");
    each(&listed["result"]["tools"], "name")
}

#[test]
fn an_agent_that_is_started_without_a_key_switches_no_rule_off_and_removes_nothing() {
    let gates = json!({ "op": "settings", "slug": "default", "settings": { "gates": [] } });
    let key = json!({ "op": "key.create", "name": "mine", "profile": "maintainer" });
    for (actor, profile, least) in [
        ("subagent:ann", None, Some("operator")),
        ("orchestrator:ann", None, Some("operator")),
        ("subagent:ann", Some("worker"), Some("worker")),
        ("user:ann", Some("worker"), Some("worker")),
        ("user:ann", None, None),
        ("subagent:ann", Some("maintainer"), None),
    ] {
        let words: Vec<&str> = ["--actor", actor]
            .into_iter()
            .chain(profile.into_iter().flat_map(|profile| ["--profile", profile]))
            .collect();
        let world = World::with(&words);
        let item = world.item("One");
        let tools = offered(&world);
        for (tool, arguments) in [("admin", &gates), ("admin", &key), ("remove", &json!({ "items": [item] }))] {
            assert_eq!(tools.contains(&tool.to_owned()), least.is_none(), "{words:?}: {tools:?}");
            let Some(least) = least else {
                world.ok(tool, arguments.clone());
                continue;
            };
            let refused = world.err(tool, arguments.clone());
            assert_eq!(refused["reason"], "profile_too_low", "{words:?}: {refused}");
            assert!(refused.to_string().contains(least), "{refused}");
        }
    }
    // What may do less has fewer tools to read about.
    let viewer = World::with(&["--profile", "viewer"]);
    assert_eq!(offered(&viewer), ["get", "find", "wait"]);
}

#[test]
fn the_tools_of_other_systems_stay_as_their_agents_know_them() {
    let folder = tempfile::tempdir().expect("a folder");
    let words = ["--surface", "task-orchestrator", "--actor", "orchestrator:ann"];
    let server = Server::start_with(&folder.path().join("work.db"), &words, |_| {});
    let made = server.ok("manage_items", json!({ "operation": "create", "items": [{ "title": "One" }] }));
    let gone = server.ok("manage_items", json!({ "operation": "delete", "ids": [made["items"][0]["id"]] }));
    assert_eq!(gone["deleted"], json!(1), "{gone}");
}
