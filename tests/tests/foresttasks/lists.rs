//! `find`: lists, search, trees, projections, activity, estimates; and that lists are cut and say so.

use serde_json::{Value, json};

use crate::{World, each, names, text};

#[test]
fn a_list_is_filtered() {
    let world = World::new();
    let parent = world.made(json!({ "title": "parent", "labels": ["web"], "priority": "high" }));
    let child = world.child(&parent, "child");
    world.begin(&child);
    let ids = |filter: Value| {
        let mut call = filter;
        call["action"] = json!("list");
        let answer = world.ok("find", call);
        assert_eq!(answer["total"].as_u64(), answer["tasks"].as_array().map(|rows| rows.len() as u64));
        each(&answer["tasks"], "id")
    };
    assert_eq!(ids(json!({ "status": "in_progress" })), [child.clone(), parent.clone()], "it starts with its child");
    assert!(ids(json!({ "status": "backlog" })).is_empty());
    assert_eq!(ids(json!({ "priority": "high" })), std::slice::from_ref(&parent));
    assert_eq!(ids(json!({ "labels": ["web", "other"] })), std::slice::from_ref(&parent));
    assert_eq!(ids(json!({ "parentTaskId": parent })), std::slice::from_ref(&child));
    assert_eq!(ids(json!({ "parentTaskId": null })), std::slice::from_ref(&parent));
    assert_eq!(ids(json!({ "assignee": "ann" })), std::slice::from_ref(&child));
    assert_eq!(ids(json!({ "blocked": true })), Vec::<String>::new());
    assert_eq!(ids(json!({ "needsHuman": true })), Vec::<String>::new());
    assert_eq!(ids(json!({})).len(), 2);
}

#[test]
fn concise_rows_name_things_and_full_rows_tell_everything() {
    let world = World::new();
    world.made(json!({ "title": "t", "intent": "why", "description": "what", "estimateMinutes": 5 }));
    let concise = world.ok("find", json!({ "action": "list" }));
    let row = &concise["tasks"][0];
    assert_eq!(
        (&row["project"], &row["key"], row.get("intent"), concise.get("labels")),
        (&json!("default"), &json!("DEFA-1"), None, None)
    );
    let full = world.ok("find", json!({ "action": "list", "detail": "full" }));
    let row = &full["tasks"][0];
    assert_eq!(
        (&row["intent"], &row["description"], &row["estimateMinutes"]),
        (&json!("why"), &json!("what"), &json!(5))
    );
    assert_eq!(full["labels"]["projects"][text(&row["projectId"])], "default");
}

#[test]
fn a_projection_keeps_what_blocks() {
    let world = World::new();
    let (blocker, task) = (world.task("blocker"), world.task("task"));
    world.relate(&blocker, "blocks", &task);
    world.ok("task", json!({ "action": "update", "id": task, "needsAttention": true, "needsAttentionReason": "r" }));
    let answer = world.ok("find", json!({ "action": "list", "fields": ["title"] }));
    let row = answer["tasks"].as_array().expect("rows").iter().find(|row| row["id"] == json!(task)).expect("the task");
    assert_eq!(names(row), ["blocked", "id", "needsAttention", "status", "title"]);
    assert_eq!(row["blocked"], true);
    world.ok("task", json!({ "action": "ask", "id": task, "question": "?" }));
    let answer = world.ok("find", json!({ "action": "list", "fields": ["title"], "status": "waiting_for_input" }));
    assert_eq!(answer["tasks"][0]["openQuestion"], true, "{answer}");
    let unknown = world.err("find", json!({ "action": "list", "fields": ["fence"] }));
    assert_eq!((&unknown["code"], &unknown["field"]), (&json!("VALIDATION"), &json!("fields[0]")));
}

#[test]
fn lists_have_two_hundred_rows_and_say_what_was_cut() {
    let world = World::new();
    for part in 0..2 {
        let lines: String = (0..105).map(|line| format!("- word {part} {line}")).collect::<Vec<_>>().join("\n");
        world.ok("bulk", json!({ "action": "import", "markdown": lines, "mode": "apply", "status": "ready" }));
    }
    for call in [json!({ "action": "list" }), json!({ "action": "search", "query": "word" })] {
        let answer = world.ok("find", call);
        assert_eq!(answer["tasks"].as_array().map(Vec::len), Some(200));
        assert_eq!((&answer["total"], &answer["cut"]), (&json!(210), &json!(10)));
        assert!(text(&answer["hint"]).contains("filters"), "{}", answer["hint"]);
    }
    let queue = world.ok("find", json!({ "action": "queue" }));
    assert_eq!((queue["queue"].as_array().map(Vec::len), &queue["truncated"]), (Some(200), &json!(true)));
    let few = world.ok("find", json!({ "action": "list", "limit": 3 }));
    assert_eq!((few["tasks"].as_array().map(Vec::len), &few["cut"]), (Some(3), &json!(207)));
    assert_eq!(world.code("find", json!({ "action": "list", "limit": 201 })), "VALIDATION");
}

#[test]
fn a_tree_is_as_deep_as_asked() {
    let world = World::new();
    let root = world.task("root");
    let child = world.child(&root, "child");
    let below = world.child(&child, "grandchild");
    let tree = |depth: Value| world.ok("find", json!({ "action": "tree", "id": root, "maxDepth": depth }));
    let whole = tree(Value::Null);
    assert_eq!((&whole["total"], &whole["tree"]["children"][0]["children"][0]["id"]), (&json!(3), &json!(below)));
    let one = tree(json!(1));
    assert_eq!((&one["tree"]["children"][0]["id"], one["tree"]["children"][0].get("children")), (&json!(child), None));
    assert_eq!(tree(json!(0))["tree"].get("children"), None);
    assert_eq!(world.code("find", json!({ "action": "tree", "id": root, "maxDepth": -1 })), "VALIDATION");
}

#[test]
fn activity_is_who_did_what_and_when() {
    let world = World::new();
    let task = world.task("secret words");
    let before = text(&world.ok("find", json!({ "action": "activity" }))["readToken"]);
    world.to(&task, "in_progress");
    let new = world.ok("find", json!({ "action": "activity", "since": before }));
    let rows = new["activity"].as_array().expect("rows");
    assert_eq!(rows.len(), 1);
    assert_eq!(names(&rows[0]), ["action", "actor", "createdAt", "summary", "taskId"]);
    assert_eq!(
        (&rows[0]["actor"], &rows[0]["action"], &rows[0]["taskId"]),
        (&json!("ann"), &json!("moved"), &json!(task))
    );
    assert!(!new.to_string().contains("secret"), "no text of anybody's");
    let quiet = world.ok("find", json!({ "action": "activity", "since": new["readToken"] }));
    assert_eq!((&quiet["activity"], &quiet["readToken"]), (&json!([]), &new["readToken"]));
    let time = world.ok("find", json!({ "action": "activity", "since": "2020-01-01T00:00:00Z" }));
    assert!(time["activity"].as_array().is_some_and(|rows| rows.len() > 1), "{time}");
    assert_eq!(world.code("find", json!({ "action": "activity", "since": "yesterday" })), "VALIDATION");
    // What does not fit is left for the next read, and none of it is passed over.
    let many: Vec<serde_json::Value> = (0..230).map(|number| json!({ "title": format!("t{number}") })).collect();
    let mut token = text(&quiet["readToken"]);
    for made in many {
        world.made(made);
    }
    let mut seen = 0;
    loop {
        let page = world.ok("find", json!({ "action": "activity", "since": token }));
        let rows = page["activity"].as_array().expect("rows").len();
        seen += rows;
        token = text(&page["readToken"]);
        if page["truncated"] != json!(true) {
            break;
        }
        assert!(rows > 0 && page["hint"].is_string(), "{page}");
    }
    assert!(seen >= 230, "{seen}");
}

#[test]
fn an_estimate_is_of_what_was_done() {
    let world = World::new();
    for (title, labels) in [("a", json!(["web"])), ("b", json!(["api"]))] {
        let task = world.made(json!({ "title": title, "labels": labels, "status": "ready", "estimateMinutes": 30 }));
        world.finish(&task);
    }
    let estimate = |labels: Value| {
        world.ok("find", json!({ "action": "estimate", "projectId": "default", "labels": labels }))["estimate"].clone()
    };
    assert_eq!(estimate(json!([]))["sample"], 2);
    let web = estimate(json!(["web"]));
    assert_eq!((&web["sample"], &web["statedMinutes"]["p50"]), (&json!(1), &json!(30)));
    assert_eq!(estimate(json!(["none"]))["sample"], 0);
    let able = json!({ "action": "estimate", "projectId": "default", "requiredCapabilities": ["gpu"] });
    assert_eq!(world.ok("find", able.clone())["estimate"]["sample"], 0);
    world.finish(&world.made(json!({ "title": "c", "status": "ready", "requiredCapabilities": ["gpu"] })));
    assert_eq!(world.ok("find", able)["estimate"]["sample"], 1);
}

#[test]
fn search_finds_words() {
    let world = World::new();
    let task = world.task("Write the parser");
    world.task("Something else");
    let found = |query: &str| each(&world.ok("find", json!({ "action": "search", "query": query }))["tasks"], "id");
    assert_eq!(found("pars"), [task]);
    assert!(found("nothing").is_empty());
    assert_eq!(world.code("find", json!({ "action": "search", "query": "…" })), "VALIDATION");
}

#[test]
fn a_search_takes_filters_a_limit_and_a_detail() {
    let world = World::new();
    let parent = world.made(json!({ "title": "word parent", "priority": "high", "labels": ["web"], "intent": "why" }));
    let child = world.child(&parent, "word child");
    let other = world.made(json!({ "title": "word other", "status": "backlog", "priority": "low" }));
    world.begin(&child);
    world.relate(&parent, "blocks", &other);
    let found = |more: Value| {
        let mut call = json!({ "action": "search", "query": "word" });
        call.as_object_mut().expect("an object").extend(more.as_object().cloned().expect("an object"));
        world.ok("find", call)
    };
    let ids = |more: Value| {
        let mut ids = each(&found(more)["tasks"], "id");
        ids.sort();
        ids
    };
    for (filter, task) in [
        (json!({ "status": "backlog" }), &other),
        (json!({ "priority": "high" }), &parent),
        (json!({ "labels": ["web"] }), &parent),
        (json!({ "parentTaskId": parent }), &child),
        (json!({ "assignee": "ann" }), &child),
        (json!({ "blocked": true }), &other),
    ] {
        assert_eq!(ids(filter.clone()), std::slice::from_ref(task), "{filter}");
    }
    assert!(ids(json!({ "needsHuman": true })).is_empty());
    assert_eq!(ids(json!({ "parentTaskId": null })).len(), 2);
    let few = found(json!({ "limit": 2 }));
    assert_eq!((few["tasks"].as_array().map(Vec::len), &few["total"], &few["cut"]), (Some(2), &json!(3), &json!(1)));
    let concise = found(json!({ "priority": "high" }));
    assert_eq!((concise["tasks"][0].get("intent"), concise.get("labels")), (None, None), "{concise}");
    let full = found(json!({ "priority": "high", "detail": "full" }));
    assert_eq!(full["tasks"][0]["intent"], "why", "{full}");
    assert_eq!(full["labels"]["projects"][text(&full["tasks"][0]["projectId"])], "default");
    for (field, value) in [("limit", json!(0)), ("detail", json!("some")), ("fields", json!(["id"]))] {
        let refused = world.err("find", json!({ "action": "search", "query": "word", field: value }));
        assert_eq!((&refused["code"], &refused["field"]), (&json!("VALIDATION"), &json!(field)), "{refused}");
    }
}

/// What is searched is what the tool says.
#[test]
fn a_search_is_of_titles() {
    let world = World::new();
    world.made(json!({ "title": "plain", "intent": "zebra", "description": "zebra" }));
    assert_eq!(world.ok("find", json!({ "action": "search", "query": "zebra" }))["total"], 0);
    assert_eq!(world.ok("find", json!({ "action": "search", "query": "plain" }))["total"], 1);
}

#[test]
fn a_status_that_there_is_not_is_a_slip_and_no_empty_list() {
    let world = World::new();
    world.task("word");
    for call in [json!({ "action": "list" }), json!({ "action": "search", "query": "word" })] {
        let mut call = call;
        call["status"] = json!("in_progres");
        let refused = world.err("find", call.clone());
        assert_eq!((&refused["code"], &refused["field"]), (&json!("VALIDATION"), &json!("status")), "{refused}");
        assert!(text(&refused["message"]).contains("did you mean \"in_progress\""), "{refused}");
        call["status"] = json!("in_progress");
        assert_eq!(world.ok("find", call)["total"], 0, "nothing stands there, and that is an answer");
    }
}

/// How many tasks a tree shows.
fn rows(node: &Value) -> usize {
    1 + node["children"].as_array().into_iter().flatten().map(rows).sum::<usize>()
}

#[test]
fn a_tree_tells_everything_where_asked_and_is_cut_like_any_list() {
    let world = World::new();
    let root = world.made(json!({ "title": "root", "intent": "why", "status": "ready" }));
    let lines: Vec<String> = (0..130).map(|line| format!("- child {line}\n  - below {line}\n")).collect();
    let lines = lines.concat();
    let import = |text: &str| json!({ "action": "import", "markdown": text, "mode": "apply", "parentTaskId": root });
    for part in lines.split_inclusive("below 64\n") {
        world.ok("bulk", import(part));
    }
    let tree = |more: Value| {
        let mut call = json!({ "action": "tree", "id": root });
        call.as_object_mut().expect("an object").extend(more.as_object().cloned().expect("an object"));
        world.ok("find", call)
    };
    let whole = tree(json!({}));
    assert_eq!(
        (rows(&whole["tree"]), &whole["total"], &whole["cut"]),
        (200, &json!(261), &json!(61)),
        "{}",
        whole["cut"]
    );
    assert!(text(&whole["hint"]).contains("61"), "{}", whole["hint"]);
    let first = tree(json!({ "maxDepth": 1 }));
    assert_eq!((rows(&first["tree"]), &first["total"], first.get("cut")), (131, &json!(131), None));
    assert_eq!((whole["tree"].get("intent"), whole.get("labels")), (None, None));
    let full = tree(json!({ "maxDepth": 1, "detail": "full" }));
    assert_eq!(full["tree"]["intent"], "why");
    assert!(full["tree"]["children"][0]["createdAt"].is_string(), "{}", full["tree"]["children"][0]);
    assert_eq!(full["labels"]["projects"][text(&full["tree"]["projectId"])], "default");
}
