//! The tool list as a contract.

use serde_json::json;

use crate::World;

#[test]
fn the_tool_list_is_a_contract() {
    let world = World::new();
    let tools = world.server.request("tools/list", json!({})).expect("an answer")["result"]["tools"].clone();
    let named: Vec<&str> = tools.as_array().expect("tools").iter().filter_map(|tool| tool["name"].as_str()).collect();
    let verbs = [
        "identity",
        "list",
        "get",
        "create",
        "claim",
        "transition",
        "run_checks",
        "note",
        "begin",
        "heartbeat",
        "finish",
        "cancel",
        "get_session",
        "list_sessions",
    ];
    assert_eq!(named, verbs);
    for tool in tools.as_array().expect("tools") {
        let reads = ["identity", "list", "get", "get_session", "list_sessions"]
            .contains(&tool["name"].as_str().expect("a name"));
        assert_eq!(tool["annotations"]["readOnlyHint"], reads, "{}", tool["name"]);
        assert!(tool["inputSchema"]["properties"].get("actor").is_none() || tool["name"] == "list_sessions");
    }
    // Whether objects keep their order depends on what else is built with these tests.
    insta::with_settings!({ sort_maps => true }, { insta::assert_json_snapshot!("tools", tools) });
}
