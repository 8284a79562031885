//! The tool list as a contract, and what the protocol has besides.

use serde_json::json;

use crate::{World, each, text};

fn tools(world: &World) -> serde_json::Value {
    world.server.request("tools/list", json!({})).expect("an answer")["result"]["tools"].clone()
}

#[test]
fn the_tool_list_is_a_contract() {
    let world = World::new();
    // Whether objects keep their order depends on what else is built with these tests.
    insta::with_settings!({ sort_maps => true }, { insta::assert_json_snapshot!("tools", tools(&world)) });
}

#[test]
fn there_are_eight_tools_and_their_fields_are_optional() {
    let world = World::new();
    let list = tools(&world);
    let named: Vec<&str> = list.as_array().expect("tools").iter().filter_map(|tool| tool["name"].as_str()).collect();
    assert_eq!(named, ["work", "get_task", "find", "task", "annotate", "bulk", "contract", "kb"]);
    for tool in list.as_array().expect("tools") {
        let required = match tool["name"].as_str().expect("a name") {
            "work" => json!(["phase"]),
            "get_task" => json!(["id"]),
            "annotate" => json!(["type"]),
            _ => json!(["action"]),
        };
        assert_eq!(tool["inputSchema"]["required"], required, "{}", tool["name"]);
        assert_eq!(tool.get("outputSchema").is_some(), tool["name"] == "work", "{}", tool["name"]);
    }
    let words = |text: &str| text.split_whitespace().count();
    for tool in list.as_array().expect("tools") {
        let about = tool["description"].as_str().expect("a description");
        assert!(words(about) <= 120, "{}", tool["name"]);
    }
    let size = list.to_string().len();
    assert!(size < 16_000, "the tool list has grown to {size} bytes; every token of it is paid in every conversation");
}

#[test]
fn work_has_an_output_schema_that_its_answers_keep_to() {
    let world = World::new();
    let schema = tools(&world)[0]["outputSchema"].clone();
    let known = |answer: &serde_json::Value| {
        for field in crate::names(answer) {
            assert!(schema["properties"].get(field).is_some(), "{field} is not in the schema");
        }
    };
    known(&world.ok("work", json!({ "phase": "start" })));
    let task = world.task("t");
    known(&world.begin(&task));
    known(&world.ok("work", json!({ "phase": "finish", "taskId": task })));
    assert!(schema["properties"]["untrusted"]["description"].as_str().is_some_and(|about| about.contains("never")));
}

fn read(world: &World, uri: &str) -> serde_json::Value {
    world.server.request("resources/read", json!({ "uri": uri })).expect("an answer")
}

#[test]
fn the_workflow_and_what_is_stable_can_be_read() {
    let world = World::new();
    let list = world.server.request("resources/list", json!({})).expect("an answer")["result"]["resources"].clone();
    assert_eq!(each(&list, "uri"), ["foresttasks://workflow", "foresttasks://stability"]);
    for (row, words) in list.as_array().expect("rows").iter().zip(["cascade_close", "RULE_BLOCKED"]) {
        let contents = read(&world, &text(&row["uri"]))["result"]["contents"][0].clone();
        let page = text(&contents["text"]);
        assert_eq!((&contents["mimeType"], row["size"].as_u64()), (&json!("text/markdown"), Some(page.len() as u64)));
        assert!(page.contains(words), "{page}");
    }
    assert!(read(&world, "foresttasks://nothing").get("error").is_some());
}

#[test]
fn a_board_is_a_project_by_slug_or_id() {
    let world = World::new();
    let task = world.task("on the board");
    let templates = world.server.request("resources/templates/list", json!({})).expect("an answer");
    assert_eq!(each(&templates["result"]["resourceTemplates"], "uriTemplate"), ["board://{project}"]);
    let id = text(&world.ok("find", json!({ "action": "projects" }))["projects"][0]["id"]);
    for named in ["default", id.as_str()] {
        let contents = read(&world, &format!("board://{named}"))["result"]["contents"][0].clone();
        let board: serde_json::Value = serde_json::from_str(&text(&contents["text"])).expect("JSON");
        let columns = board["columns"].as_array().expect("columns");
        let ready = columns.iter().find(|column| column["status"] == "ready").expect("a column");
        assert_eq!(each(&ready["tasks"], "id"), std::slice::from_ref(&task));
        assert_eq!(each(&board["columns"], "status")[..3], ["braindump", "backlog", "ready"]);
    }
    assert!(read(&world, "board://nowhere").get("error").is_some());
}

#[test]
fn a_board_has_no_column_for_what_is_no_status_and_none_of_what_was_put_away() {
    let world = World::new();
    let contents = read(&world, "board://default")["result"]["contents"][0].clone();
    let board: serde_json::Value = serde_json::from_str(&text(&contents["text"])).expect("JSON");
    let columns =
        ["braindump", "backlog", "ready", "in_progress", "in_review", "done", "cancelled", "waiting_for_input"];
    assert_eq!(each(&board["columns"], "status"), columns);
    world.operate(&["project", "set", "web", "--prefix", "WEB", "--preset", "foresttasks"]);
    let world = world.restarted();
    assert!(read(&world, "board://web").get("error").is_none());
    world.operate(&["project", "set", "web", "--archived", "true"]);
    let gone = read(&world, "board://web");
    let never = read(&world, "board://nowhere");
    assert_eq!(gone["error"]["code"], never["error"]["code"], "{gone}");
    assert!(gone["error"]["code"].is_i64(), "{gone}");
}
