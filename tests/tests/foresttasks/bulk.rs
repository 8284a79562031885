//! `bulk`: one change for many, each on its own, removal, and Markdown.

use serde_json::{Value, json};

use crate::{World, each, text};

#[test]
fn an_update_is_all_or_none() {
    let world = World::new();
    let tasks = ["a", "b"].map(|title| world.task(title));
    let update =
        |ids: Value| json!({ "action": "update", "ids": ids, "patch": { "priority": "high", "labels": ["x"] } });
    let unknown = "00000000-0000-7000-8000-000000000000";
    assert_eq!(world.code("bulk", update(json!([tasks[0], unknown]))), "NOT_FOUND");
    assert_eq!(world.code("bulk", update(json!([tasks[0], "no id"]))), "VALIDATION");
    assert_eq!(world.guard(&tasks[0])["priority"], "medium", "nothing was changed");
    let done = world.ok("bulk", update(json!(tasks)));
    assert_eq!(done["updated"], 2);
    for task in &tasks {
        assert_eq!(world.guard(task)["priority"], "high");
    }
}

#[test]
fn a_batch_answers_for_each() {
    let world = World::new();
    let [mine, theirs] = ["a", "b"].map(|title| world.task(title));
    world.actor("agent:bob").ok("work", json!({ "phase": "start", "id": theirs }));
    let call = json!({ "action": "batch", "ids": [mine, theirs, "no id", "DEFA-99"], "patch": { "priority": "low" } });
    let answer = world.ok("bulk", call);
    assert_eq!((&answer["updated"], &answer["failed"]), (&json!(1), &json!(3)), "{answer}");
    let codes: Vec<Value> =
        answer["results"].as_array().expect("rows").iter().map(|row| row["error"]["code"].clone()).collect();
    assert_eq!(codes, [Value::Null, json!("CONFLICT"), json!("VALIDATION"), json!("NOT_FOUND")]);
    assert_eq!(world.guard(&mine)["priority"], "low");
}

#[test]
fn a_bad_patch_or_list_is_refused_whole() {
    let world = World::new();
    let task = world.task("a");
    for action in ["update", "batch"] {
        for (ids, patch) in [
            (json!([task]), json!({ "status": "done" })),
            (json!([task]), json!({ "needsAttention": true })),
            (json!([task]), json!({ "priority": "urgent" })),
            (json!([]), json!({ "priority": "low" })),
            (json!([task, task]), json!({ "priority": "low" })),
            (json!([7]), json!({ "priority": "low" })),
        ] {
            assert_eq!(
                world.code("bulk", json!({ "action": action, "ids": ids, "patch": patch })),
                "VALIDATION",
                "{patch}"
            );
        }
    }
    assert_eq!(world.guard(&task)["priority"], "medium");
}

#[test]
fn a_call_is_about_two_hundred_tasks_at_the_most() {
    let world = World::new();
    let ids: Vec<String> = (1..=201).map(|number| format!("DEFA-{number}")).collect();
    for action in ["update", "batch"] {
        let call = json!({ "action": action, "ids": ids, "patch": { "priority": "low" } });
        let refused = world.err("bulk", call);
        assert_eq!((&refused["reason"], &refused["field"]), (&json!("batch_too_large"), &json!("ids")), "{refused}");
    }
}

/// However it is spelled.
#[test]
fn one_task_is_not_counted_twice() {
    let world = World::new();
    let task = world.task("a");
    let key = text(&world.guard(&task)["key"]);
    let call = json!({ "action": "update", "ids": [task, key], "patch": { "priority": "low" } });
    let refused = world.err("bulk", call);
    assert_eq!((&refused["reason"], &refused["field"]), (&json!("duplicate"), &json!("ids[1]")), "{refused}");
    assert_eq!(world.guard(&task)["priority"], "medium");
}

#[test]
fn null_clears_in_an_update() {
    let world = World::new();
    let parent = world.task("parent");
    let task = world.made(json!({ "title": "t", "parentTaskId": parent, "description": "d", "dueAt": "2030-01-01T00:00:00Z", "labels": ["x"] }));
    let clear = json!({ "action": "update", "id": task, "parentTaskId": null, "description": null, "dueAt": null, "labels": null });
    world.ok("task", clear);
    let read = world.get(&task);
    assert_eq!((&read["guard"]["parent"], &read["sections"]["task"]), (&Value::Null, &json!({})), "{read}");
}

#[test]
fn removal_is_all_or_none_and_takes_nothing_unasked() {
    let world = World::new();
    let parent = world.task("parent");
    let child = world.child(&parent, "child");
    let remove = |ids: Value| json!({ "action": "remove", "ids": ids });
    let refused = world.err("bulk", remove(json!([parent])));
    assert_eq!((&refused["code"], &refused["reason"]), (&json!("CONFLICT"), &json!("has_children")));
    assert_eq!(world.code("bulk", remove(json!([child, "DEFA-99"]))), "NOT_FOUND");
    assert_eq!(world.ok("find", json!({ "action": "list" }))["total"], 2);
    assert_eq!(world.ok("bulk", remove(json!([parent, child])))["removed"], 2);
    assert_eq!(world.ok("find", json!({ "action": "list" }))["total"], 0);
}

#[test]
fn markdown_is_previewed_and_then_applied() {
    let world = World::new();
    let markdown = "# Release\n\n- [ ] Write it\n  - [ ] Test it\n- [x] Plan it\n";
    let import = |mode: &str| json!({ "action": "import", "markdown": markdown, "mode": mode, "status": "ready" });
    let preview = world.ok("bulk", import("preview"));
    assert_eq!((&preview["applied"], &preview["total"]), (&json!(false), &json!(4)), "{preview}");
    assert_eq!(each(&preview["tasks"], "title"), ["Release", "Write it", "Test it", "Plan it"]);
    assert!(preview["tasks"][0].get("id").is_none());
    assert_eq!(world.ok("find", json!({ "action": "list" }))["total"], 0);
    let applied = world.ok("bulk", import("apply"));
    assert_eq!(applied["applied"], true);
    assert_eq!(each(&applied["tasks"], "status"), ["ready", "ready", "ready", "done"]);
    let root = text(&applied["tasks"][0]["id"]);
    let tree = world.ok("find", json!({ "action": "tree", "id": root }))["tree"].clone();
    assert_eq!(each(&tree["children"], "title"), ["Write it", "Plan it"]);
    assert_eq!(each(&tree["children"][0]["children"], "title"), ["Test it"]);
}

#[test]
fn an_import_goes_beneath_a_task_and_its_mode_must_be_known() {
    let world = World::new();
    let parent = world.task("parent");
    let import =
        |mode: &str, text: &str| json!({ "action": "import", "markdown": text, "mode": mode, "parentTaskId": parent });
    world.ok("bulk", import("apply", "- child"));
    let tree = world.ok("find", json!({ "action": "tree", "id": parent }))["tree"].clone();
    assert_eq!(each(&tree["children"], "title"), ["child"]);
    let unknown = world.err("bulk", import("replace", "- child"));
    assert!(text(&unknown["message"]).contains("preview, apply"), "{unknown}");
    assert_eq!(world.code("bulk", import("apply", "nothing to make of this")), "VALIDATION");
}

#[test]
fn an_import_says_which_lines_are_wrong_and_makes_nothing() {
    let world = World::new();
    let long = "x".repeat(1100);
    let markdown = format!("# Goal\n\n- [x] done\n  - [ ] open\n- {long}\n- fine\n");
    for mode in ["preview", "apply"] {
        let refused = world.err("bulk", json!({ "action": "import", "markdown": markdown, "mode": mode }));
        assert_eq!((&refused["code"], &refused["field"]), (&json!("VALIDATION"), &json!("markdown")), "{refused}");
        let message = text(&refused["message"]);
        assert!(message.contains("line 3: ") && message.contains("line 5: "), "{message}");
        assert!(!message.contains("line 6"), "{message}");
    }
    assert_eq!(world.ok("find", json!({ "action": "list" }))["total"], 0);
}

#[test]
fn an_update_reaches_each_editable_field() {
    let world = World::new();
    let (parent, task) = (world.task("parent"), world.task("t"));
    let change = json!({
        "action": "update", "id": task, "parentTaskId": parent, "requiredCapabilities": ["gpu"], "rank": 7,
        "estimateMinutes": 45, "title": "u", "intent": "why", "dueAt": "2030-01-01T00:00:00Z",
    });
    world.ok("task", change);
    assert_eq!(world.guard(&task)["parent"]["id"], json!(parent), "it was moved");
    let tree =
        world.ok("find", json!({ "action": "tree", "id": parent, "detail": "full" }))["tree"]["children"][0].clone();
    assert_eq!(
        (&tree["id"], &tree["title"], &tree["rank"], &tree["estimateMinutes"], &tree["requiredCapabilities"]),
        (&json!(task), &json!("u"), &json!(7), &json!(45), &json!(["gpu"]))
    );
    assert_eq!(world.queue(), std::slice::from_ref(&parent), "it wants what this agent cannot do");
    for (field, value) in [
        ("parentTaskId", json!(task)),
        ("rank", json!(1.5)),
        ("estimateMinutes", json!(-1)),
        ("requiredCapabilities", json!("gpu")),
    ] {
        assert_eq!(
            world.code("task", json!({ "action": "update", "id": task, field: value })),
            "VALIDATION",
            "{field}"
        );
    }
    let top = json!({ "action": "update", "id": task, "parentTaskId": null, "requiredCapabilities": [], "estimateMinutes": null });
    world.ok("task", top);
    assert_eq!((&world.guard(&task)["parent"], world.queue().len()), (&Value::Null, 2));
}

#[test]
fn every_field_of_a_task_is_kept() {
    let world = World::new();
    let task = world.made(json!({
        "title": "t", "intent": "why", "description": "what", "priority": "high", "labels": ["x", "y", "x"],
        "dueAt": "2030-01-01T00:00:00+02:00", "estimateMinutes": 30,
    }));
    let kept = || {
        let row = world.ok("find", json!({ "action": "list", "detail": "full" }))["tasks"][0].clone();
        assert_eq!(world.get(&task)["sections"]["task"]["dueAt"], row["dueAt"], "both reads agree");
        ["title", "intent", "description", "priority", "labels", "dueAt", "estimateMinutes"]
            .map(|field| row[field].clone())
    };
    let made = [
        json!("t"),
        json!("why"),
        json!("what"),
        json!("high"),
        json!(["x", "y"]),
        json!("2029-12-31T22:00:00.000Z"),
        json!(30),
    ];
    assert_eq!(kept(), made);
    world.ok(
        "task",
        json!({
            "action": "update", "id": task, "title": "u", "intent": "because", "description": "this", "priority": "low",
            "labels": ["z"], "dueAt": "2031-01-01T00:00:00Z", "estimateMinutes": 45,
        }),
    );
    let changed = [
        json!("u"),
        json!("because"),
        json!("this"),
        json!("low"),
        json!(["z"]),
        json!("2031-01-01T00:00:00.000Z"),
        json!(45),
    ];
    assert_eq!(kept(), changed);
}
