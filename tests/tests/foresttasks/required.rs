//! The table of required fields: each row, with each of its fields left out.

use serde_json::{Value, json};

use crate::{World, text};

/// A call that is complete, and the fields without which it is not.
fn rows(task: &str, question: &str) -> Vec<(&'static str, Value, &'static [&'static str])> {
    let brief = json!({ "objective": "o" });
    vec![
        ("task", json!({ "action": "create", "title": "t" }), &["title"]),
        ("task", json!({ "action": "update", "id": task, "title": "t" }), &["id"]),
        ("task", json!({ "action": "status", "id": task, "status": "backlog" }), &["id", "status"]),
        ("task", json!({ "action": "cascade_close", "id": task, "status": "done" }), &["id", "status"]),
        ("task", json!({ "action": "ask", "id": task, "question": "q" }), &["id", "question"]),
        ("task", json!({ "action": "answer", "questionId": question, "answer": "a" }), &["questionId", "answer"]),
        ("find", json!({ "action": "search", "query": "q" }), &["query"]),
        ("find", json!({ "action": "tree", "id": task }), &["id"]),
        ("find", json!({ "action": "estimate", "projectId": "default" }), &["projectId"]),
        ("annotate", json!({ "type": "comment", "taskId": task, "body": "b" }), &["taskId", "body"]),
        (
            "annotate",
            json!({ "type": "link", "taskId": task, "kind": "pr", "ref": "1", "url": "https://example.test/1" }),
            &["taskId", "kind", "ref", "url"],
        ),
        (
            "annotate",
            json!({ "type": "relation", "fromTaskId": task, "toTaskId": task, "kind": "blocks" }),
            &["fromTaskId", "toTaskId", "kind"],
        ),
        ("bulk", json!({ "action": "update", "ids": [task], "patch": {} }), &["ids", "patch"]),
        ("bulk", json!({ "action": "batch", "ids": [task], "patch": {} }), &["ids", "patch"]),
        ("bulk", json!({ "action": "remove", "ids": [task] }), &["ids"]),
        ("bulk", json!({ "action": "import", "markdown": "- a", "mode": "preview" }), &["markdown", "mode"]),
        ("work", json!({ "phase": "finish", "taskId": task }), &["taskId"]),
        ("contract", json!({ "action": "brief_replace", "id": task, "brief": brief }), &["id", "brief"]),
        ("contract", json!({ "action": "brief_merge", "id": task, "patch": brief }), &["id", "patch"]),
        (
            "contract",
            json!({ "action": "verify_criterion", "taskId": task, "criterionId": "c1", "status": "pass" }),
            &["taskId", "criterionId", "status"],
        ),
        (
            "contract",
            json!({ "action": "verify_criteria", "taskId": task, "items": [{ "criterionId": "c1", "status": "pass" }] }),
            &["taskId", "items"],
        ),
        ("contract", json!({ "action": "verdict", "taskId": task }), &["taskId"]),
        ("get_task", json!({ "id": task }), &["id"]),
    ]
}

#[test]
fn a_missing_field_is_a_clean_validation_error_that_names_it() {
    let world = World::new();
    let task = world.task("a task");
    let question = "01J00000000000000000000000";
    for (tool, whole, required) in rows(&task, question) {
        for field in required {
            let mut part = whole.clone();
            part.as_object_mut().expect("an object").remove(*field);
            let error = world.err(tool, part.clone());
            assert_eq!(
                (&error["code"], &error["field"]),
                (&json!("VALIDATION"), &json!(field)),
                "{tool} {part}: {error}"
            );
            assert_eq!(error["reason"], "missing_field", "{tool} {part}: {error}");
            // `null` stands for nothing, except where it means something.
            if *field != "brief" {
                part[*field] = Value::Null;
                assert_eq!(world.code(tool, part), "VALIDATION");
            }
        }
    }
    assert_eq!(world.status(&task), "ready", "nothing was done by halves");
}

#[test]
fn what_is_complete_is_not_refused_for_want_of_a_field() {
    let world = World::new();
    let task = world.task("a task");
    for (tool, whole, _) in rows(&task, "01J00000000000000000000000") {
        let answer = world.server.call(tool, whole.clone()).expect("an answer");
        assert_ne!(answer.content["error"]["reason"], "missing_field", "{tool} {whole}");
    }
}

#[test]
fn rows_without_required_fields_need_none() {
    let world = World::new();
    for arguments in [
        json!({ "action": "list" }),
        json!({ "action": "queue" }),
        json!({ "action": "projects" }),
        json!({ "action": "activity" }),
    ] {
        world.ok("find", arguments);
    }
    world.ok("work", json!({ "phase": "start" }));
}

#[test]
fn the_discriminator_is_needed_and_known() {
    let world = World::new();
    for (tool, by) in [
        ("work", "phase"),
        ("find", "action"),
        ("task", "action"),
        ("annotate", "type"),
        ("bulk", "action"),
        ("contract", "action"),
    ] {
        let missing = world.err(tool, json!({}));
        assert_eq!((&missing["code"], &missing["field"]), (&json!("VALIDATION"), &json!(by)), "{tool}");
        let unknown = world.err(tool, json!({ by: "fly" }));
        assert_eq!((&unknown["code"], &unknown["reason"]), (&json!("VALIDATION"), &json!("unknown_value")), "{tool}");
        assert!(text(&unknown["message"]).contains("must be one of"), "{unknown}");
    }
}

#[test]
fn a_field_of_another_act_or_of_none_is_refused() {
    let world = World::new();
    let task = world.task("a task");
    let other = world.err("task", json!({ "action": "status", "id": task, "status": "backlog", "question": "?" }));
    assert_eq!((&other["code"], &other["reason"]), (&json!("VALIDATION"), &json!("unknown_field")));
    let slip = world.err("task", json!({ "action": "create", "titel": "t" }));
    assert!(text(&slip["message"]).contains("did you mean \"title\""), "{slip}");
}

#[test]
fn attention_needs_a_reason() {
    let world = World::new();
    let task = world.task("a task");
    let flag = |rest: Value| {
        let mut call = rest;
        call["action"] = json!("update");
        call["id"] = json!(task);
        call
    };
    let bare = world.err("task", flag(json!({ "needsAttention": true })));
    assert_eq!((&bare["code"], &bare["field"]), (&json!("VALIDATION"), &json!("needsAttentionReason")));
    assert_eq!(world.code("task", flag(json!({ "needsAttention": true, "needsAttentionReason": " " }))), "VALIDATION");
    world.ok("task", flag(json!({ "needsAttention": true, "needsAttentionReason": "the budget" })));
    let guard = world.guard(&task);
    assert_eq!((&guard["needsAttention"], &guard["needsAttentionReason"]), (&json!(true), &json!("the budget")));
    assert_eq!(guard["status"], "ready", "a flag is no status");
    world.begin(&task);
    assert_eq!(world.guard(&task)["needsAttention"], true, "it stays beside any status");
    world.ok("task", flag(json!({ "needsAttention": false })));
    assert_eq!(world.guard(&task)["needsAttention"], false);
}

/// What the engine calls otherwise is told by the name that the caller knows, in the field and in the line.
#[test]
fn a_field_at_fault_is_named_as_it_was_sent() {
    let world = World::new();
    let (task, other) = (world.task("a task"), world.task("another"));
    world.criteria(&task, json!(["it works"]));
    let labels: Vec<String> = (0..100).map(|number| format!("l{number}")).collect();
    let lines = vec!["never"; 51];
    let unknown = "DEFA-99";
    let proof = |id: &str| json!({ "criterionId": id, "status": "pass" });
    for (tool, arguments, field) in [
        ("task", json!({ "action": "create", "title": "t", "labels": labels }), "labels"),
        ("task", json!({ "action": "create", "title": "t", "parentTaskId": unknown }), "parentTaskId"),
        ("task", json!({ "action": "update", "id": task, "labels": labels }), "labels"),
        ("task", json!({ "action": "update", "id": task, "parentTaskId": task }), "parentTaskId"),
        ("task", json!({ "action": "update", "id": task, "title": null }), "title"),
        ("task", json!({ "action": "update", "id": task, "priority": null }), "priority"),
        ("task", json!({ "action": "ask", "id": task, "question": "?", "options": vec!["a"; 99] }), "options"),
        ("bulk", json!({ "action": "update", "ids": [task], "patch": { "labels": labels } }), "patch.labels"),
        ("bulk", json!({ "action": "update", "ids": [task], "patch": { "title": null } }), "patch.title"),
        ("bulk", json!({ "action": "update", "ids": [task, "DEFA-1"], "patch": { "priority": "low" } }), "ids[1]"),
        (
            "bulk",
            json!({ "action": "import", "markdown": "- a", "mode": "apply", "parentTaskId": unknown }),
            "parentTaskId",
        ),
        (
            "contract",
            json!({ "action": "verify_criteria", "taskId": task, "items": [proof("c1"), proof("c9")] }),
            "items[1]",
        ),
        (
            "contract",
            json!({ "action": "verify_criterion", "taskId": task, "criterionId": "c9", "status": "pass" }),
            "criterionId",
        ),
        ("work", json!({ "phase": "finish", "taskId": task, "verify": [proof("c9")] }), "verify[0]"),
        (
            "contract",
            json!({ "action": "brief_merge", "id": task, "patch": { "constraints": lines } }),
            "patch.constraints",
        ),
        (
            "contract",
            json!({ "action": "brief_replace", "id": task, "brief": { "acceptanceCriteria": ["a", "a"] } }),
            "brief.acceptanceCriteria[1]",
        ),
        (
            "annotate",
            json!({ "type": "relation", "fromTaskId": other, "toTaskId": other, "kind": "blocks" }),
            "toTaskId",
        ),
        ("get_task", json!({ "id": task, "since": "made up" }), "since"),
    ] {
        let error = world.err(tool, arguments.clone());
        assert_eq!(error["field"], json!(field), "{tool} {arguments}: {error}");
        let leaf = field.rsplit('.').next().unwrap_or(field);
        assert!(text(&error["message"]).contains(leaf), "{tool} {arguments}: {error}");
    }
    assert_eq!(world.ok("find", json!({ "action": "list" }))["total"], 2, "nothing was made");
}

#[test]
fn a_first_status_that_there_is_not_is_told_with_the_nearest() {
    let world = World::new();
    let import = json!({ "action": "import", "markdown": "- a\n- b", "mode": "apply", "status": "redy" });
    for (tool, call) in [("task", json!({ "action": "create", "title": "t", "status": "redy" })), ("bulk", import)] {
        let error = world.err(tool, call);
        assert_eq!((&error["code"], &error["field"]), (&json!("VALIDATION"), &json!("status")), "{error}");
        assert!(text(&error["message"]).contains("did you mean \"ready\""), "{error}");
    }
}
