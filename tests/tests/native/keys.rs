//! Lists of keys: bounded, and what was left out is said.

use serde_json::json;

use crate::World;

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
