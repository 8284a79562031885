//! `requestId`: the name of one call of one tool, whatever action that takes.

use docket_core::model::Project;
use docket_core::store::{ChangeSet, Store};
use docket_core::testing::rows::Put;
use docket_store_sqlite::{SqliteOptions, SqliteStore};
use serde_json::json;

use crate::{World, database, text};

/// Takes a status out of the workflow of all projects, as a newer program may do that knows better.
fn lose(world: &World, status: &str) {
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    runtime.block_on(async {
        let store = SqliteStore::open(SqliteOptions::new(database(&world.folder))).await.expect("the store");
        let mut projects: Vec<Project> = store.projects().await.expect("projects");
        for project in &mut projects {
            project.workflow.statuses.retain(|known| known.name.as_str() != status);
            project.version += 1;
        }
        let changes = ChangeSet { projects, ..ChangeSet::default() };
        store.execute(Box::new(Put(changes))).await.expect("written");
        store.close().await;
    });
}

/// What was done is told as it was done, whatever became of the workflow since.
#[test]
fn a_retry_is_answered_although_the_status_it_led_to_went_away() {
    let world = World::new();
    let task = world.task("one");
    world.begin(&task);
    let finish = |action: &str| json!({ "phase": "finish", "action": action, "taskId": task, "targetStatus": "cancelled", "requestId": "r-1" });
    let done = world.ok("work", finish("apply"));
    lose(&world, "cancelled");
    let again = world.ok("work", finish("apply"));
    assert_eq!((&again["action"], &again["trusted"]["transition"]), (&json!("apply"), &done["trusted"]["transition"]));
    let mut preview = finish("preview");
    preview.as_object_mut().expect("an object").remove("requestId");
    let refused = world.err("work", preview);
    assert_eq!((&refused["code"], &refused["field"]), (&json!("VALIDATION"), &json!("targetStatus")), "{refused}");
}

#[test]
fn another_action_of_the_same_tool_is_another_request() {
    let world = World::new();
    let (task, other) = (world.task("one"), world.task("other"));
    let made = world.ok("task", json!({ "action": "create", "title": "made", "requestId": "r-1" }));
    for (tool, arguments) in [
        ("task", json!({ "action": "update", "id": task, "title": "changed", "requestId": "r-1" })),
        ("task", json!({ "action": "cascade_close", "id": task, "status": "cancelled", "requestId": "r-1" })),
        ("task", json!({ "action": "ask", "id": task, "question": "Which?", "requestId": "r-1" })),
    ] {
        assert_eq!(world.code(tool, arguments.clone()), "CONFLICT", "{arguments}");
    }
    let again = world.ok("task", json!({ "action": "create", "title": "made", "requestId": "r-1" }));
    assert_eq!(text(&again["task"]["id"]), text(&made["task"]["id"]));
    // Other tools have the name for themselves, also where the engine does the same for them.
    world.ok("bulk", json!({ "action": "update", "ids": [task], "patch": { "title": "changed" }, "requestId": "r-1" }));
    assert_eq!(world.code("bulk", json!({ "action": "remove", "ids": [other], "requestId": "r-1" })), "CONFLICT");
    world.ok("annotate", json!({ "type": "comment", "taskId": task, "body": "words", "requestId": "r-1" }));
    let relation =
        json!({ "type": "relation", "fromTaskId": task, "toTaskId": other, "kind": "blocks", "requestId": "r-1" });
    assert_eq!(world.code("annotate", relation), "CONFLICT");
    assert_eq!(world.ok("find", json!({ "action": "list" }))["total"], 3);
}
