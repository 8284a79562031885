//! The tool list and the instructions, as they are told.

use serde_json::json;

use crate::World;

#[test]
fn the_tool_list_is_a_contract() {
    let world = World::new();
    let list = world.server.request("tools/list", json!({})).expect("an answer")["result"]["tools"].clone();
    // Whether objects keep their order depends on what else is built with these tests.
    insta::with_settings!({ sort_maps => true }, { insta::assert_json_snapshot!("tools", list) });
    insta::assert_snapshot!("instructions", world.server.hello["instructions"].as_str().expect("instructions"));
}
