//! Flags beside the status: blocked, superseded and duplicate are derived, take a task out of the queue, and give it back.

use serde_json::json;

use crate::{World, text};

#[test]
fn blocked_is_derived_from_open_blockers() {
    let world = World::new();
    let (blocker, task) = (world.task("blocker"), world.task("task"));
    world.relate(&blocker, "blocks", &task);
    let guard = world.guard(&task);
    assert_eq!(guard["blocked"], true);
    assert_eq!(guard["blockedReasons"][0]["taskId"], json!(blocker), "{guard}");
    assert_eq!(world.queue(), std::slice::from_ref(&blocker));
    let refused = world.not_to(&task, "in_progress");
    assert_eq!((&refused["code"], &refused["rule"]), (&json!("RULE_BLOCKED"), &json!("dependencies")), "{refused}");
    assert_eq!(world.code("work", json!({ "phase": "start", "id": task })), "RULE_BLOCKED");
    world.finish(&blocker);
    let guard = world.guard(&task);
    assert_eq!((&guard["blocked"], &guard["blockedReasons"]), (&json!(false), &json!([])));
    assert_eq!(world.queue(), std::slice::from_ref(&task));
    world.to(&blocker, "ready");
    assert_eq!(world.guard(&task)["blocked"], true, "a blocker that is opened again blocks again");
}

#[test]
fn nobody_sets_blocked() {
    let world = World::new();
    let task = world.task("task");
    assert_eq!(world.code("task", json!({ "action": "update", "id": task, "blocked": true })), "VALIDATION");
}

/// A task as a row that shows no more than it must.
fn flagged(world: &World, task: &str) -> serde_json::Value {
    let list = world.ok("find", json!({ "action": "list", "fields": ["id"] }));
    let rows = list["tasks"].as_array().expect("rows");
    rows.iter().find(|row| row["id"] == json!(task)).expect("the task").clone()
}

#[test]
fn superseded_counts_once_the_replacement_has_shipped() {
    let world = World::new();
    let (replacement, moot) = (world.task("replacement"), world.task("moot"));
    world.relate(&replacement, "supersedes", &moot);
    assert_eq!(world.guard(&moot)["superseded"], false, "not yet");
    assert!(world.queue().contains(&moot));
    world.to(&replacement, "in_progress");
    assert!(world.queue().contains(&moot), "work is not shipped");
    world.to(&replacement, "in_review");
    assert_eq!(world.guard(&moot)["superseded"], true);
    assert!(!world.queue().contains(&moot));
    let row = flagged(&world, &moot);
    assert_eq!((&row["superseded"], row.get("duplicate"), row.get("moot")), (&json!(true), None, None), "{row}");
    assert_eq!(world.ok("work", json!({ "phase": "start" }))["found"], false, "it is not found");
    world.to(&replacement, "in_progress");
    assert!(world.queue().contains(&moot), "what comes back from review has not shipped");
    world.to(&replacement, "in_review");
    world.to(&replacement, "done");
    let packet = world.begin(&moot);
    assert_eq!(packet["trusted"]["guard"]["superseded"], true, "by name it can be claimed all the same");
    world.to(&moot, "cancelled");
}

#[test]
fn a_duplicate_of_live_work_leaves_at_once_and_comes_back_when_that_is_cancelled() {
    let world = World::new();
    let (canonical, duplicate) = (world.task("canonical"), world.task("duplicate"));
    world.relate(&duplicate, "duplicate-of", &canonical);
    assert_eq!(world.guard(&duplicate)["duplicate"], true);
    assert_eq!(world.queue(), std::slice::from_ref(&canonical));
    let row = flagged(&world, &duplicate);
    assert_eq!((&row["duplicate"], row.get("superseded")), (&json!(true), None), "{row}");
    for status in ["in_progress", "in_review", "done"] {
        world.to(&canonical, status);
        assert!(!world.queue().contains(&duplicate), "{status}");
    }
    world.to(&canonical, "ready");
    world.to(&canonical, "cancelled");
    assert_eq!(world.guard(&duplicate)["duplicate"], false);
    assert_eq!(world.queue(), [duplicate]);
}

#[test]
fn a_duplicate_is_claimable_by_name() {
    let world = World::new();
    let (canonical, duplicate) = (world.task("canonical"), world.task("duplicate"));
    world.relate(&duplicate, "duplicate-of", &canonical);
    assert_eq!(world.begin(&duplicate)["trusted"]["guard"]["id"], json!(duplicate));
}

/// Of items that were all duplicates of each other none would ever be handed out.
#[test]
fn duplicates_of_each_other_are_refused() {
    let world = World::new();
    let [a, b, c] = ["a", "b", "c"].map(|title| world.task(title));
    let relation = |from: &str, kind: &str, to: &str| json!({ "type": "relation", "fromTaskId": from, "toTaskId": to, "kind": kind });
    world.relate(&a, "duplicate-of", &b);
    world.relate(&b, "duplicate-of", &c);
    for from in [&b, &c] {
        let refused = world.err("annotate", relation(from, "duplicate-of", &a));
        assert_eq!((&refused["code"], &refused["reason"]), (&json!("VALIDATION"), &json!("cycle")), "{refused}");
    }
    assert_eq!(world.queue(), std::slice::from_ref(&c), "one of them is left to be done");
    let refused = world.err("annotate", relation(&a, "supersedes", &c));
    assert_eq!(refused["reason"], "cycle", "the same in other words: {refused}");
}

#[test]
fn kinds_of_relations_are_known() {
    let world = World::new();
    let (a, b) = (world.task("a"), world.task("b"));
    world.relate(&a, "relates-to", &b);
    assert_eq!(world.queue().len(), 2, "it is only worth knowing");
    let relation = |kind: &str, to: &str| json!({ "type": "relation", "fromTaskId": a, "toTaskId": to, "kind": kind });
    let unknown = world.err("annotate", relation("hates", &b));
    assert!(text(&unknown["message"]).contains("supersedes"), "{unknown}");
    assert_eq!(world.code("annotate", relation("blocks", &a)), "VALIDATION", "not to itself");
    world.relate(&a, "blocks", &b);
    assert_eq!(world.code("annotate", relation("blocks", &b)), "CONFLICT", "not twice");
    let cycle = world.err("annotate", json!({ "type": "relation", "fromTaskId": b, "toTaskId": a, "kind": "blocks" }));
    assert_eq!((&cycle["code"], &cycle["reason"]), (&json!("VALIDATION"), &json!("cycle")));
}

#[test]
fn a_flag_for_people_leaves_the_task_with_whoever_has_it() {
    let world = World::new();
    let task = world.task("t");
    world.begin(&task);
    let flag = json!({ "action": "update", "id": task, "needsAttention": true, "needsAttentionReason": "look" });
    world.ok("task", flag);
    let guard = world.guard(&task);
    assert_eq!((&guard["assignee"]["name"], &guard["status"]), (&json!("ann"), &json!("in_progress")), "{guard}");
    assert_eq!((&guard["needsAttention"], &guard["needsAttentionReason"]), (&json!(true), &json!("look")));
    world.task("another");
    world.ok("work", json!({ "phase": "start" }));
    assert_eq!(world.guard(&task)["assignee"]["name"], "ann", "also while other work is done");
    world.ok("task", json!({ "action": "update", "id": task, "needsAttention": false }));
    assert_eq!(world.guard(&task)["needsAttention"], false);
}

/// Relations are removed at the command line: no tool of this surface does.
#[test]
fn a_task_comes_back_to_the_queue_when_the_relation_is_gone() {
    for kind in ["blocks", "supersedes", "duplicate-of"] {
        let world = World::new();
        let (other, task) = (world.task("other"), world.task("task"));
        let (from, to) = if kind == "duplicate-of" { (&task, &other) } else { (&other, &task) };
        world.relate(from, kind, to);
        if kind == "supersedes" {
            world.to(&other, "in_progress");
            world.to(&other, "in_review");
        }
        assert!(!world.queue().contains(&task), "{kind}");
        world.operate(&["unlink", from, to, "--kind", kind]);
        assert!(world.queue().contains(&task), "{kind}");
        let guard = world.guard(&task);
        for flag in ["blocked", "superseded", "duplicate"] {
            assert_eq!(guard[flag], false, "{kind}: {guard}");
        }
    }
}

#[test]
fn a_blocker_that_is_given_up_blocks_nothing() {
    let world = World::new();
    let (blocker, task) = (world.task("blocker"), world.task("task"));
    world.relate(&blocker, "blocks", &task);
    assert_eq!(world.guard(&task)["blocked"], true);
    world.to(&blocker, "cancelled");
    assert_eq!((&world.guard(&task)["blocked"], world.queue()), (&json!(false), vec![task]));
}

#[test]
fn a_flag_goes_down_while_an_agent_is_at_work() {
    let world = World::new();
    let task = world.task("t");
    let flag = json!({ "action": "update", "id": task, "needsAttention": true, "needsAttentionReason": "the budget" });
    world.ok("task", flag);
    world.actor("agent:bob").ok("work", json!({ "phase": "start", "id": task }));
    world.ok("task", json!({ "action": "update", "id": task, "needsAttention": false }));
    assert_eq!(world.guard(&task)["needsAttention"], false);
    assert_eq!(world.code("task", json!({ "action": "update", "id": task, "title": "mine" })), "CONFLICT");
}
