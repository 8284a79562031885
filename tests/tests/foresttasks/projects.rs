//! Projects: by slug or id, left out where there is one, asked for where there are several.

use serde_json::{Value, json};

use crate::{World, each, text};

fn several() -> World {
    let world = World::new();
    world.operate(&["project", "set", "web", "--prefix", "WEB", "--preset", "foresttasks"]);
    world.restarted()
}

fn ids(world: &World, arguments: Value) -> Vec<String> {
    each(&world.ok("find", arguments)["tasks"], "id")
}

#[test]
fn the_only_project_may_be_left_out() {
    let world = World::new();
    let task = world.task("t");
    assert_eq!(ids(&world, json!({ "action": "list" })), [task]);
}

#[test]
fn one_of_several_must_be_named_by_slug_or_id() {
    let world = several();
    for (tool, call) in [
        ("task", json!({ "action": "create", "title": "t" })),
        ("find", json!({ "action": "list" })),
        ("bulk", json!({ "action": "import", "markdown": "- a", "mode": "apply" })),
    ] {
        let refused = world.err(tool, call);
        assert_eq!(
            (&refused["code"], &refused["field"]),
            (&json!("PROJECT_REQUIRED"), &json!("projectId")),
            "{refused}"
        );
        assert!(text(&refused["message"]).contains("web"), "it names them: {refused}");
    }
    let rows = world.ok("find", json!({ "action": "projects" }))["projects"].clone();
    assert_eq!(each(&rows, "slug"), ["default", "web"]);
    let web = text(&rows[1]["id"]);
    let by_slug = world.made(json!({ "title": "by slug", "projectId": "web" }));
    let by_id = world.made(json!({ "title": "by id", "projectId": web }));
    for named in ["web", web.as_str()] {
        let mut found = ids(&world, json!({ "action": "list", "projectId": named }));
        found.sort();
        let mut made = vec![by_slug.clone(), by_id.clone()];
        made.sort();
        assert_eq!(found, made, "{named}");
    }
    assert!(ids(&world, json!({ "action": "list", "projectId": "default" })).is_empty());
    for unknown in ["nowhere", "00000000-0000-7000-8000-000000000000"] {
        assert_eq!(world.code("find", json!({ "action": "list", "projectId": unknown })), "NOT_FOUND", "{unknown}");
    }
}

#[test]
fn a_search_without_a_project_is_everywhere() {
    let world = several();
    let web = world.made(json!({ "title": "word in web", "projectId": "web" }));
    let other = world.made(json!({ "title": "word in default", "projectId": "default" }));
    let mut found = ids(&world, json!({ "action": "search", "query": "word" }));
    found.sort();
    let mut both = vec![web.clone(), other];
    both.sort();
    assert_eq!(found, both);
    let all = world.ok("find", json!({ "action": "projects" }))["projects"].clone();
    let by_id = all.as_array().expect("projects").iter().find(|project| project["slug"] == "web").expect("web");
    for named in [json!("web"), by_id["id"].clone()] {
        let search = json!({ "action": "search", "query": "word", "projectId": named });
        assert_eq!(ids(&world, search), std::slice::from_ref(&web));
        for action in ["queue", "activity", "estimate"] {
            world.ok("find", json!({ "action": action, "projectId": named }));
        }
    }
}

#[test]
fn a_connection_to_one_project_is_about_that_one() {
    let world = several();
    world.made(json!({ "title": "word elsewhere", "projectId": "default" }));
    let web = crate::start(&world.folder, &["--project", "web"]);
    let task =
        text(&web.ok("task", json!({ "action": "create", "title": "word here", "status": "ready" }))["task"]["id"]);
    assert_eq!(each(&web.ok("find", json!({ "action": "list" }))["tasks"], "id"), std::slice::from_ref(&task));
    assert_eq!(each(&web.ok("find", json!({ "action": "search", "query": "word" }))["tasks"], "id"), [task]);
    assert_eq!(web.err("find", json!({ "action": "list", "projectId": "default" }))["code"], "NOT_FOUND");
}

#[test]
fn an_archived_project_is_not_there_and_hands_nothing_out() {
    let world = several();
    let task = world.made(json!({ "title": "t", "projectId": "web", "status": "ready" }));
    assert_eq!(world.queue(), [task]);
    world.operate(&["project", "set", "web", "--archived", "true"]);
    assert_eq!(world.code("find", json!({ "action": "list", "projectId": "web" })), "NOT_FOUND");
    assert!(world.queue().is_empty());
    assert!(ids(&world, json!({ "action": "search", "query": "t" })).is_empty(), "nor is it found");
    assert_eq!(world.ok("work", json!({ "phase": "start" }))["found"], false);
    assert_eq!(each(&world.ok("find", json!({ "action": "projects" }))["projects"], "slug"), ["default"]);
    let all = world.ok("find", json!({ "action": "projects", "includeArchived": true }))["projects"].clone();
    assert_eq!(each(&all, "slug"), ["default", "web"]);
    assert!(all[1]["archivedAt"].is_string() && all[0].get("archivedAt").is_none(), "{all}");
    world.made(json!({ "title": "the one that is left" }));
}

#[test]
fn work_is_found_in_whichever_project_has_the_best() {
    let world = several();
    let low = world.made(json!({ "title": "low", "projectId": "default", "status": "ready", "priority": "low" }));
    let high = world.made(json!({ "title": "high", "projectId": "web", "status": "ready", "priority": "high" }));
    assert_eq!(world.queue(), [high.clone(), low.clone()]);
    let start = |rest: Value| {
        let mut call = rest;
        call["phase"] = json!("start");
        world.ok("work", call)["trusted"]["guard"]["id"].clone()
    };
    assert_eq!(start(json!({ "mode": "read" })), json!(high));
    assert_eq!(start(json!({ "projectId": "default" })), json!(low), "unless one is named");
    assert_eq!(start(json!({})), json!(high));
    assert_eq!(world.code("work", json!({ "phase": "start", "projectId": "nowhere" })), "NOT_FOUND");
}

#[test]
fn a_task_that_is_named_with_a_project_must_be_in_it() {
    let world = several();
    let task = world.made(json!({ "title": "t", "projectId": "web", "status": "ready" }));
    for mode in ["read", "claim"] {
        let start = |project: &str| json!({ "phase": "start", "id": task, "projectId": project, "mode": mode });
        for elsewhere in ["default", "nowhere"] {
            let refused = world.err("work", start(elsewhere));
            assert_eq!((&refused["code"], &refused["field"]), (&json!("NOT_FOUND"), &json!("projectId")), "{refused}");
        }
        assert_eq!(world.ok("work", start("web"))["trusted"]["guard"]["id"], json!(task), "{mode}");
    }
}
