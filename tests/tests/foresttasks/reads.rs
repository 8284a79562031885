//! `get_task`: profiles, includes, the guard that is always there, and reads that only say what changed.

use serde_json::{Value, json};

use crate::{World, names, text};

const GUARD: [&str; 17] = [
    "assignee",
    "blocked",
    "blockedReasons",
    "blockingHumanRequests",
    "closureBlockers",
    "duplicate",
    "id",
    "key",
    "needsAttention",
    "openQuestion",
    "parent",
    "priority",
    "status",
    "superseded",
    "title",
    "verdict",
    "",
];

fn rich(world: &World) -> (String, String) {
    let parent =
        world.made(json!({ "title": "parent", "intent": "parent's intent", "description": "parent's description" }));
    let task = world.made(json!({
        "title": "task", "intent": "why", "description": "what", "parentTaskId": parent, "status": "ready",
    }));
    world.criteria(&task, json!(["it works"]));
    world.ok("annotate", json!({ "type": "comment", "taskId": task, "body": "a remark" }));
    let link = json!({ "type": "link", "taskId": task, "kind": "pr", "ref": "7", "url": "https://example.test/7", "title": "The change" });
    world.ok("annotate", link);
    world.relate(&task, "relates-to", &parent);
    (parent, task)
}

#[test]
fn the_work_profile_is_the_default() {
    let world = World::new();
    let (parent, task) = rich(&world);
    let read = world.get(&task);
    assert_eq!(names(&read), ["guard", "readToken", "sections"]);
    assert_eq!(names(&read["sections"]), ["brief", "parent", "task", "verdict"]);
    assert_eq!(read["sections"]["task"], json!({ "intent": "why", "description": "what" }));
    let shown = &read["sections"]["parent"];
    assert_eq!((&shown["id"], &shown["intent"]), (&json!(parent), &json!("parent's intent")));
    assert!(shown["hint"].is_string() && shown["childCounts"].is_object(), "{shown}");
    assert!(!read.to_string().contains("parent's description"), "only the summary of it");
    assert_eq!(read, world.ok("get_task", json!({ "id": task, "profile": "work" })));
}

#[test]
fn the_guard_is_always_there() {
    let world = World::new();
    let (parent, task) = rich(&world);
    let mut expected: Vec<&str> = GUARD.into_iter().filter(|name| !name.is_empty()).collect();
    expected.sort_unstable();
    for profile in ["compact", "work", "full"] {
        let guard = world.ok("get_task", json!({ "id": task, "profile": profile }))["guard"].clone();
        assert_eq!(names(&guard), expected, "{profile}");
        assert_eq!(guard["parent"]["id"], json!(parent));
        assert_eq!(names(&guard["verdict"]), ["counts", "readyForDone", "readyForReview"]);
    }
}

#[test]
fn compact_is_the_guard_and_full_is_everything() {
    let world = World::new();
    let (parent, task) = rich(&world);
    assert_eq!(world.ok("get_task", json!({ "id": task, "profile": "compact" }))["sections"], json!({}));
    let full = world.ok("get_task", json!({ "id": task, "profile": "full" }));
    let sections = &full["sections"];
    assert_eq!(sections["raw"]["task"]["description"], "what");
    assert_eq!(sections["raw"]["parent"]["description"], "parent's description");
    assert_eq!(sections["raw"]["agentBrief"]["acceptanceCriteria"][0]["text"], "it works");
    assert_eq!(sections["raw"]["labels"]["tasks"][&parent], "DEFA-1");
    assert_eq!(sections["comments"][0]["body"], "a remark");
    assert_eq!(full, world.ok("get_task", json!({ "id": task, "detail": "full" })), "the older word for it");
    assert_eq!(world.code("get_task", json!({ "id": task, "profile": "some" })), "VALIDATION");
}

#[test]
fn more_is_included_when_it_is_asked_for() {
    let world = World::new();
    let (parent, task) = rich(&world);
    let read = world.ok(
        "get_task",
        json!({ "id": task, "profile": "compact", "include": ["links", "relations", "activity", "subtasks"] }),
    );
    let sections = &read["sections"];
    assert_eq!(names(sections), ["activity", "links", "relations", "subtasks"]);
    assert_eq!(
        sections["links"],
        json!([{ "kind": "pr", "ref": "7", "url": "https://example.test/7", "title": "The change" }])
    );
    assert_eq!(
        (&sections["relations"][0]["kind"], &sections["relations"][0]["task"]["id"]),
        (&json!("relates-to"), &json!(parent))
    );
    for row in sections["activity"].as_array().expect("rows") {
        assert!(names(row).iter().all(|name| ["actor", "action", "summary", "createdAt"].contains(name)), "{row}");
    }
    let subtasks =
        world.ok("get_task", json!({ "id": parent, "include": ["subtasks"] }))["sections"]["subtasks"].clone();
    assert_eq!(subtasks[0]["id"], json!(task));
    assert_eq!(world.code("get_task", json!({ "id": task, "include": ["secrets"] })), "VALIDATION");
}

#[test]
fn a_repeated_read_says_only_what_changed() {
    let world = World::new();
    let (_, task) = rich(&world);
    let first = world.get(&task);
    let since = |token: &Value| json!({ "id": task, "since": token });
    let same = world.ok("get_task", since(&first["readToken"]));
    assert_eq!(names(&same), ["guard", "readToken", "unchanged"]);
    assert_eq!(
        (&same["unchanged"], &same["guard"], &same["readToken"]),
        (&json!(true), &first["guard"], &first["readToken"])
    );
    world.ok("task", json!({ "action": "update", "id": task, "description": "other" }));
    let changed = world.ok("get_task", since(&first["readToken"]));
    assert_eq!((&changed["changed"], names(&changed["sections"])), (&json!(["task"]), vec!["task"]));
    world.verify(&task, "c1", "pass");
    let changed = world.ok("get_task", since(&changed["readToken"]));
    assert_eq!(changed["changed"], json!(["guard", "verdict"]));
    world.ok("contract", json!({ "action": "brief_replace", "id": task, "brief": null }));
    let gone = world.ok("get_task", since(&changed["readToken"]));
    assert_eq!(gone["sections"]["brief"], Value::Null, "{gone}");
    assert!(names(&gone["sections"]).contains(&"brief"), "that it is gone is said");
}

#[test]
fn a_token_holds_after_a_restart_and_not_for_leases() {
    let world = World::new();
    let (_, task) = rich(&world);
    world.begin(&task);
    let read = |world: &World, profile: &str, since: &Value| {
        world.ok("get_task", json!({ "id": task, "profile": profile, "since": since }))
    };
    let before = ["compact", "work", "full"].map(|profile| (profile, read(&world, profile, &Value::Null)));
    let world = world.restarted();
    // To claim it again makes its lease longer, and changes nothing that is to be known.
    world.begin(&task);
    for (profile, first) in &before {
        let again = read(&world, profile, &first["readToken"]);
        assert_eq!(again["unchanged"], true, "{profile}: {again}");
    }
}

#[test]
fn a_delta_upon_the_earlier_read_is_a_full_read() {
    let world = World::new();
    let (_, task) = rich(&world);
    let mut kept = world.get(&task);
    let steps: [&dyn Fn(); 4] = [
        &|| drop(world.begin(&task)),
        &|| drop(world.verify(&task, "c1", "fail")),
        &|| drop(world.ok("task", json!({ "action": "ask", "id": task, "question": "?" }))),
        &|| drop(world.to(&task, "cancelled")),
    ];
    for step in steps {
        step();
        let delta = world.ok("get_task", json!({ "id": task, "since": kept["readToken"] }));
        kept["guard"] = delta["guard"].clone();
        kept["readToken"] = delta["readToken"].clone();
        for (section, value) in delta["sections"].as_object().into_iter().flatten() {
            let sections = kept["sections"].as_object_mut().expect("sections");
            if value.is_null() {
                sections.remove(section)
            } else {
                sections.insert(section.clone(), value.clone())
            };
        }
        assert_eq!(kept, world.get(&task));
    }
}

#[test]
fn tasks_go_by_id_key_or_prefix() {
    let world = World::new();
    let task = world.task("t");
    for name in [task.as_str(), "DEFA-1", "defa-1", &task[..13].replace('-', "")] {
        assert_eq!(text(&world.guard(name)["id"]), task, "{name}");
    }
    assert_eq!(world.code("get_task", json!({ "id": "00000000-0000-7000-8000-000000000000" })), "NOT_FOUND");
}

#[test]
fn what_is_cut_of_a_section_is_said() {
    let world = World::new();
    let parent = world.task("parent");
    for part in 0..2 {
        let lines: String = (0..105).map(|line| format!("- child {part} {line}")).collect::<Vec<_>>().join("\n");
        let import = json!({ "action": "import", "markdown": lines, "mode": "apply", "status": "ready", "parentTaskId": parent });
        world.ok("bulk", import);
    }
    for number in 0..25 {
        world.ok("annotate", json!({ "type": "comment", "taskId": parent, "body": format!("remark {number}") }));
    }
    let rows = |section: &Value| section.as_array().map(Vec::len);
    let read = world.ok("get_task", json!({ "id": parent, "profile": "full" }));
    for (section, shown) in [("subtasks", 200), ("comments", 20), ("activity", 20)] {
        assert_eq!(rows(&read["sections"][section]), Some(shown), "{section}");
        assert_eq!(read["cut"][section]["shown"], shown, "{section}: {}", read["cut"]);
        assert!(read["cut"][section]["hint"].is_string(), "{section}");
    }
    assert!(world.get(&parent).get("cut").is_none(), "nothing was cut of what was read");
    let packet = world.ok("work", json!({ "phase": "start", "id": parent, "include": ["subtasks"] }));
    assert_eq!(rows(&packet["untrusted"]["comments"]), Some(5));
    let cut = &packet["trusted"]["cut"];
    assert_eq!((&cut["subtasks"]["shown"], &cut["comments"]["shown"]), (&json!(200), &json!(5)), "{cut}");
}

#[test]
fn activity_says_what_was_done_in_words_that_mean_it() {
    let world = World::new();
    let task = world.task("t");
    world.criteria(&task, json!(["it works", "and that"]));
    world.begin(&task);
    world.verify(&task, "c2", "pass");
    world.verify(&task, "c1", "pass");
    world.to(&task, "in_review");
    let read = world.ok("get_task", json!({ "id": task, "include": ["activity"] }));
    let rows = read["sections"]["activity"].as_array().expect("rows");
    assert!(rows.iter().all(|row| names(row).len() >= 3), "{rows:?}");
    let of = |action: &str| -> Vec<String> {
        rows.iter().filter(|row| row["action"] == action).map(|row| text(&row["summary"])).collect()
    };
    assert_eq!(of("verified"), ["c1", "c2"], "the newest first");
    assert_eq!(of("moved"), ["in_progress to in_review", "ready to in_progress"]);
    assert_eq!(names(&rows[0]), ["action", "actor", "createdAt", "summary"]);
}

#[test]
fn a_full_read_has_the_parent_as_it_is_kept() {
    let world = World::new();
    let (parent, task) = rich(&world);
    world.ok("contract", json!({ "action": "brief_merge", "id": parent, "patch": { "objective": "all of it" } }));
    let raw = |id: &str| world.ok("get_task", json!({ "id": id, "profile": "full" }))["sections"]["raw"].clone();
    assert_eq!(raw(&task)["parentAgentBrief"]["objective"], "all of it");
    assert_eq!(raw(&parent)["parent"], Value::Null);
}
