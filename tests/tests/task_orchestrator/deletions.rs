//! `manage_items` with `delete`: what is counted, whatever the order of `ids`.

use serde_json::{Value, json};

use crate::World;

/// A root with a child and a grandchild.
fn line(world: &World) -> [String; 3] {
    let root = world.item("root");
    let child = world.child(&root, "child");
    let grandchild = world.child(&child, "grandchild");
    [root, child, grandchild]
}

fn delete(world: &World, ids: Value, recursive: bool) -> Value {
    world.ok("manage_items", json!({ "operation": "delete", "ids": ids, "recursive": recursive }))
}

#[test]
fn what_was_named_is_no_descendant_whichever_goes_first() {
    let world = World::new();
    let [root, child, _] = line(&world);
    let answer = delete(&world, json!([root, child]), true);
    assert_eq!(answer, json!({ "ids": [root, child], "deleted": 3, "failed": 0, "descendantsDeleted": 1 }));
    let [root, child, _] = line(&world);
    let answer = delete(&world, json!([child, root]), true);
    assert_eq!(answer, json!({ "ids": [child, root], "deleted": 3, "failed": 0, "descendantsDeleted": 1 }));
    let [root, child, grandchild] = line(&world);
    let answer = delete(&world, json!([root, grandchild, child, root]), true);
    assert_eq!(answer, json!({ "ids": [root, grandchild, child, root], "deleted": 3, "failed": 0 }), "all were named");
}

#[test]
fn without_recursive_no_descendants_are_counted() {
    let world = World::new();
    let [root, child, grandchild] = line(&world);
    let answer = delete(&world, json!([root, child, grandchild]), false);
    assert_eq!(answer, json!({ "ids": [root, child, grandchild], "deleted": 3, "failed": 0 }));
}
