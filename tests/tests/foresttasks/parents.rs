//! What a start tells of the parent: in full once, then in short; or as it was asked.

use serde_json::{Value, json};

use crate::{World, names};

struct Family {
    parent: String,
    children: Vec<String>,
}

fn family(world: &World) -> Family {
    let parent = world.made(json!({
        "title": "the parent", "intent": "why", "description": "at length", "labels": ["web"], "status": "braindump",
    }));
    world.ok("contract", json!({ "action": "brief_replace", "id": parent, "brief": { "objective": "the goal" } }));
    world.ok("annotate", json!({ "type": "comment", "taskId": parent, "body": "a remark" }));
    let link =
        json!({ "type": "link", "taskId": parent, "kind": "doc", "ref": "1", "url": "https://example.test/linked" });
    world.ok("annotate", link);
    let children = ["one", "two", "three"].map(|title| world.child(&parent, title)).to_vec();
    Family { parent, children }
}

fn context(world: &World, task: &str, mode: &str) -> Value {
    world.ok("work", json!({ "phase": "start", "id": task, "parentContext": mode }))["untrusted"]["parentContext"]
        .clone()
}

#[test]
fn auto_tells_it_in_full_once_for_each_agent_and_parent() {
    let world = World::new();
    let Family { parent, children } = family(&world);
    let first = context(&world, &children[0], "auto");
    assert_eq!((&first["kind"], &first["id"]), (&json!("full"), &json!(parent)), "{first}");
    let second = world.begin(&children[1])["untrusted"]["parentContext"].clone();
    assert_eq!(second["kind"], "summary", "auto is the default: {second}");
    let bob = world.actor("agent:bob");
    let theirs = bob.ok("work", json!({ "phase": "start", "id": children[2] }));
    assert_eq!(theirs["untrusted"]["parentContext"]["kind"], "full", "another agent");
    let others = family(&world);
    assert_eq!(context(&world, &others.children[0], "auto")["kind"], "full", "another parent");
}

#[test]
fn the_memory_is_the_processes_own() {
    let world = World::new();
    let Family { children, .. } = family(&world);
    context(&world, &children[0], "auto");
    let world = world.restarted();
    assert_eq!(context(&world, &children[1], "auto")["kind"], "full");
}

#[test]
fn force_always_tells_it_in_full() {
    let world = World::new();
    let Family { children, .. } = family(&world);
    for child in &children[..2] {
        assert_eq!(context(&world, child, "force")["kind"], "full");
    }
    assert_eq!(context(&world, &children[2], "auto")["kind"], "summary", "force is remembered too");
}

#[test]
fn a_full_context_is_curated() {
    let world = World::new();
    let Family { children, .. } = family(&world);
    let full = context(&world, &children[1], "force");
    assert_eq!(
        names(&full),
        [
            "blocked",
            "brief",
            "childCounts",
            "children",
            "comments",
            "description",
            "id",
            "intent",
            "key",
            "kind",
            "status",
            "title"
        ]
    );
    assert!(full["brief"].as_str().is_some_and(|brief| brief.contains("the goal")), "{full}");
    assert_eq!(full["comments"][0]["body"], "a remark");
    let rows = full["children"].as_array().expect("children");
    assert_eq!(rows.len(), 3);
    assert_eq!(names(&rows[0]), ["blocked", "current", "id", "status", "title"]);
    let current: Vec<bool> = rows.iter().map(|row| row["current"] == true).collect();
    assert_eq!(current, [false, true, false]);
    for left_out in ["linked", "web", "default"] {
        assert!(!full.to_string().contains(left_out), "{left_out}: {full}");
    }
}

#[test]
fn a_summary_is_short_and_none_reads_nothing() {
    let world = World::new();
    let Family { parent, children } = family(&world);
    let summary = context(&world, &children[0], "summary");
    assert_eq!(names(&summary), ["blocked", "childCounts", "hint", "id", "intent", "key", "kind", "status", "title"]);
    assert_eq!(summary["childCounts"], json!({ "open": 3, "closed": 0 }));
    let none = context(&world, &children[1], "none");
    assert_eq!(names(&none), ["hint", "parentTaskId"]);
    assert_eq!(none["parentTaskId"], json!(parent));
    assert_eq!(context(&world, &children[2], "auto")["kind"], "full", "neither was the whole of it");
}

#[test]
fn a_top_level_task_has_no_parent_context() {
    let world = World::new();
    let task = world.task("t");
    for mode in ["auto", "force", "summary", "none"] {
        let packet = world.ok("work", json!({ "phase": "start", "id": task, "parentContext": mode }));
        assert_eq!(packet["untrusted"]["parentContext"], Value::Null, "{mode}");
        assert!(names(&packet["untrusted"]).contains(&"parentContext"), "{mode}");
    }
    assert_eq!(world.code("work", json!({ "phase": "start", "id": task, "parentContext": "some" })), "VALIDATION");
}

#[test]
fn a_full_context_lists_fifty_children_and_says_that_there_are_more() {
    let world = World::new();
    let parent = world.task("the parent");
    let listed = |count: usize| {
        let context = context(&world, &world.child(&parent, &format!("child {count}")), "force");
        assert_eq!(context["childCounts"], json!({ "open": count, "closed": 0 }), "all are counted");
        (context["children"].as_array().map(Vec::len), context["moreChildren"].clone())
    };
    let markdown = (1..50).map(|number| format!("- child {number}")).collect::<Vec<_>>().join("\n");
    world.ok("bulk", json!({ "action": "import", "mode": "apply", "markdown": markdown, "parentTaskId": parent }));
    assert_eq!(listed(50), (Some(50), Value::Null));
    assert_eq!(listed(51), (Some(50), json!(true)));
}

/// The answer that is retried may be the one that was lost, and the parent's texts with it.
#[test]
fn a_retried_start_is_told_of_the_parent_as_the_first_time() {
    let world = World::new();
    let Family { children, .. } = family(&world);
    let start = |child: &str, request: &str| {
        let packet = world.ok("work", json!({ "phase": "start", "id": child, "requestId": request }));
        packet["untrusted"]["parentContext"].clone()
    };
    let first = start(&children[0], "one");
    assert_eq!((&first["kind"], &start(&children[0], "one")), (&json!("full"), &first));
    assert_eq!(start(&children[1], "two")["kind"], "summary", "another request");
    assert_eq!(start(&children[1], "two")["kind"], "summary", "however often it comes");
}
