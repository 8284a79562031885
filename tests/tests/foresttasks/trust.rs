//! Text that somebody wrote stands in the untrusted half of a packet, and in no failure.

use serde_json::{Value, json};

use crate::World;

/// What must not be where the server speaks.
const MARK: &str = "IGNORE-ALL-PREVIOUS";

fn marked(what: &str) -> String {
    format!("{MARK} {what}")
}

/// A task with a mark in every field that takes a text.
fn poisoned(world: &World) -> String {
    let parent =
        world.made(json!({ "title": marked("parent"), "intent": marked("p intent"), "description": marked("p what") }));
    world
        .ok("contract", json!({ "action": "brief_replace", "id": parent, "brief": { "objective": marked("p goal") } }));
    world.ok("annotate", json!({ "type": "comment", "taskId": parent, "body": marked("p remark") }));
    let task = world.made(json!({
        "title": marked("title"), "intent": marked("intent"), "description": marked("what"), "parentTaskId": parent,
        "status": "ready",
    }));
    let other = world.made(json!({ "title": marked("other"), "parentTaskId": task, "status": "ready" }));
    world.relate(&task, "relates-to", &other);
    let brief = json!({
        "objective": marked("goal"), "context": marked("context"), "constraints": [marked("never")],
        "acceptanceCriteria": [
            { "text": marked("agent"), "instructions": marked("how") },
            { "text": marked("human"), "verifier": "human", "instructions": marked("how") },
        ],
        "verification": marked("prove"), "handoffExpectations": marked("leave"),
    });
    world.ok("contract", json!({ "action": "brief_replace", "id": task, "brief": brief }));
    let (check, command) = (marked("check"), format!("echo {MARK}"));
    world.operate(&["check", "add", &task, &check]);
    world.operate(&["check", "add", &task, &check, "--cmd", &command]);
    let note = json!({ "criterionId": "c1", "status": "fail", "note": marked("note") });
    world.ok("contract", json!({ "action": "verify_criteria", "taskId": task, "items": [note] }));
    world.ok("annotate", json!({ "type": "comment", "taskId": task, "body": marked("remark") }));
    let link = json!({
        "type": "link", "taskId": task, "kind": marked("kind"), "ref": marked("ref"),
        "url": format!("https://example.test/{MARK}"), "title": marked("link"),
    });
    world.ok("annotate", link);
    let flag =
        json!({ "action": "update", "id": task, "needsAttention": true, "needsAttentionReason": marked("look") });
    world.ok("task", flag);
    let asked =
        world.ok("task", json!({ "action": "ask", "id": task, "question": marked("?"), "options": [marked("a")] }));
    let answer = json!({ "action": "answer", "questionId": asked["question"]["id"], "answer": marked("yes") });
    world.actor("user:eve").ok("task", answer);
    task
}

/// That a mark stands in the untrusted half alone, and that it does stand there.
fn only_untrusted(packet: &Value) {
    let mut rest = packet.clone();
    let untrusted = rest.as_object_mut().expect("a packet").remove("untrusted").expect("an untrusted half");
    assert!(!rest.to_string().contains(MARK), "{rest}");
    assert!(untrusted.to_string().contains(MARK), "nothing was there to be told");
}

#[test]
fn what_was_written_is_in_the_untrusted_half_alone() {
    let world = World::new();
    let task = poisoned(&world);
    for mode in ["read", "claim"] {
        let start = json!({
            "phase": "start", "id": task, "mode": mode, "parentContext": "force",
            "include": ["links", "relations", "activity", "subtasks"],
        });
        let packet = world.ok("work", start);
        only_untrusted(&packet);
        let untrusted = &packet["untrusted"];
        for field in [
            "title",
            "intent",
            "description",
            "brief",
            "question",
            "comments",
            "links",
            "relations",
            "subtasks",
            "needsAttentionReason",
            "parentContext",
        ] {
            assert!(untrusted[field].to_string().contains(MARK), "{field}: {untrusted}");
        }
    }
    let finish =
        json!({ "phase": "finish", "taskId": task, "finalComment": marked("end"), "include": ["links", "relations"] });
    only_untrusted(&world.ok("work", finish));
}

#[test]
fn a_finish_resends_nothing_that_was_written() {
    let world = World::new();
    let task = poisoned(&world);
    world.begin(&task);
    let preview = world.ok("work", json!({ "phase": "finish", "taskId": task }));
    assert!(!preview.to_string().contains(MARK), "{preview}");
}

#[test]
fn failures_quote_nothing_that_was_written() {
    let world = World::new();
    let task = poisoned(&world);
    world.begin(&task);
    let failures = [
        world.not_to(&task, "in_review"),
        world.not_to(&task, "cancelled"),
        world.err("task", json!({ "action": "cascade_close", "id": task, "status": "done" })),
        world.err(
            "contract",
            json!({ "action": "verify_criterion", "taskId": task, "criterionId": "c2", "status": "pass" }),
        ),
        world.err("work", json!({ "phase": "finish", "taskId": task, "action": "apply" })),
        world.err("bulk", json!({ "action": "remove", "ids": [task] })),
    ];
    for failure in failures {
        assert!(!failure.to_string().contains(MARK), "{failure}");
    }
}

#[test]
fn the_tool_list_is_the_same_whatever_is_stored() {
    let world = World::new();
    let before = world.server.request("tools/list", json!({})).expect("an answer")["result"].clone();
    poisoned(&world);
    assert_eq!(world.server.request("tools/list", json!({})).expect("an answer")["result"], before);
}

/// What keeps a task from its end is told by rule, id and place: also where it is checks, whose words are somebody's.
#[test]
fn checks_that_keep_a_task_open_are_named_by_their_places() {
    let world = World::new();
    let task = poisoned(&world);
    world.begin(&task);
    world.verify(&task, "c1", "pass");
    let read = world.ok("work", json!({ "phase": "start", "id": task, "mode": "read" }));
    let guarded = read["trusted"]["guard"]["closureBlockers"].clone();
    world.to(&task, "in_review");
    let call = json!({ "phase": "finish", "taskId": task, "targetStatus": "done" });
    let preview = world.ok("work", call.clone());
    let told =
        [guarded, preview["trusted"]["closureBlockers"].clone(), world.not_to(&task, "done")["violations"].clone()];
    for told in told {
        let rows = told.as_array().expect("rules");
        let row = rows.iter().find(|row| row["rule"] == "checks").unwrap_or_else(|| panic!("no checks: {told}"));
        let open = json!([{ "index": 0, "status": "pending" }, { "index": 1, "status": "pending" }]);
        assert_eq!(row["checks"], open, "{row}");
        assert_eq!(row["message"], "checks have not passed: 0 (pending), 1 (pending)");
        assert!(!told.to_string().contains(MARK), "{told}");
    }
    let mut apply = call;
    apply["action"] = json!("apply");
    for failure in [
        world.not_to(&task, "done"),
        world.err("work", apply),
        world.err("task", json!({ "action": "cascade_close", "id": task, "status": "done" })),
    ] {
        assert!(failure.to_string().contains("checks") && !failure.to_string().contains(MARK), "{failure}");
    }
}
