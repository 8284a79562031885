//! Completion of the names of items and projects.

use docket_tests::web::Web;
use serde_json::{Value, json};

use crate::World;

fn template(uri: &str) -> Value {
    json!({ "type": "ref/resource", "uri": uri })
}

fn values(result: &Value) -> Vec<String> {
    let values = result["completion"]["values"].as_array().expect("values");
    values.iter().filter_map(|value| value.as_str().map(ToOwned::to_owned)).collect()
}

impl World {
    fn completed(&self, of: Value, argument: &str, typed: &str) -> Vec<String> {
        values(
            &self.result("completion/complete", json!({ "ref": of, "argument": { "name": argument, "value": typed } })),
        )
    }
}

#[test]
fn items_are_completed_by_key_id_and_words() {
    let world = World::new();
    let keys: Vec<String> = (1..=12).map(|number| world.item(&format!("Paint wall {number}"))).collect();
    let door = world.item("Oil the door");
    let of = || template("docket://item/{id}");
    let by = |typed: &str| world.completed(of(), "id", typed);
    let (prefix, _) = door.split_once('-').expect("a key");
    assert_eq!(by("door"), [door.as_str()]);
    assert_eq!(by("oil doo"), [door.as_str()]);
    assert_eq!(by(&format!("{prefix}-1")), [1, 10, 11, 12, 13].map(|number| format!("{prefix}-{number}")));
    assert_eq!(by(&format!("{}-12", prefix.to_lowercase())), [keys[11].as_str()]);
    assert_eq!(by(&format!("{prefix}-99")), [""; 0]);
    assert_eq!(by(&format!("{prefix}-"))[0], door, "the newest first");
    assert_eq!(by("").len(), 13);
    assert_eq!(by("nothing like it"), [""; 0]);
    // An id is completed to an id.
    let id = world.hand.ok("query_items", json!({ "operation": "get", "id": door }));
    let id = id["id"].as_str().or(id["item"]["id"].as_str()).expect("an id").to_owned();
    assert_eq!(by(&id[..30]), [id.as_str()]);
    // The same for prompts.
    let prompt = || json!({ "type": "ref/prompt", "name": "work" });
    assert_eq!(world.completed(prompt(), "item", "door"), [door.as_str()]);
    assert_eq!(world.completed(prompt(), "project", "def"), ["default"]);
    let known = json!({ "ref": prompt(), "argument": { "name": "item", "value": "door" }, "context": { "arguments": { "project": "nope" } } });
    assert_eq!(world.error("completion/complete", known)["code"], json!(-32602));
    for (of, argument) in [
        (of(), "key"),
        (template("docket://item/{key}"), "id"),
        (json!({ "type": "ref/prompt", "name": "rest" }), "item"),
    ] {
        let error =
            world.error("completion/complete", json!({ "ref": of, "argument": { "name": argument, "value": "" } }));
        assert_eq!(error["code"], json!(-32602), "{of} {argument}: {error}");
    }
}

#[test]
fn what_is_offered_is_bounded() {
    let world = World::new();
    let items: Vec<Value> = (0..70).map(|number| json!({ "title": format!("wall {number}") })).collect();
    world.hand.ok("manage_items", json!({ "operation": "create", "items": items }));
    let params = json!({ "ref": template("docket://item/{id}"), "argument": { "name": "id", "value": "wall" } });
    let result = world.result("completion/complete", params);
    assert_eq!(values(&result).len(), 50);
    assert_eq!(result["completion"]["hasMore"], json!(true));
}

/// A caller is offered what it may see, over HTTP by its key.
#[test]
fn nobody_is_offered_what_they_may_not_see() {
    let folder = tempfile::tempdir().expect("a folder");
    let database = folder.path().join("docket.db");
    let run = |arguments: &[&str]| -> Value {
        let mut command = std::process::Command::new(docket_tests::program::docket());
        command.arg("--db").arg(format!("sqlite:{}", database.display())).args(arguments).arg("--json");
        let done = command.current_dir(folder.path()).output().expect("it runs");
        assert!(done.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&done.stderr));
        serde_json::from_slice(&done.stdout).unwrap_or(Value::Null)
    };
    run(&["init", "--project", "mine"]);
    run(&["project", "set", "yours", "--name", "Yours"]);
    run(&["--project", "yours", "item", "add", "A secret wall"]);
    run(&["--project", "mine", "item", "add", "A plain wall"]);
    let made = run(&["key", "create", "--profile", "worker", "--project", "mine"]);
    let secret = made["secret"].as_str().or(made["key"]["secret"].as_str()).expect("a secret").to_owned();
    let web = Web::on(&database, |_| {});
    let authorization = format!("Bearer {secret}");
    let ask = |of: Value, argument: &str, typed: &str| {
        let message = json!({ "jsonrpc": "2.0", "id": 1, "method": "completion/complete",
            "params": { "ref": of, "argument": { "name": argument, "value": typed } } });
        let headers = [("accept", "application/json, text/event-stream"), ("authorization", authorization.as_str())];
        web.to("POST", "/mcp/docket", &headers, Some(message.to_string().as_bytes())).with(200)
    };
    assert_eq!(values(&ask(template("board://{project}"), "project", "")["result"]), ["mine"]);
    assert_eq!(values(&ask(template("docket://item/{id}"), "id", "wall")["result"]).len(), 1);
    assert_eq!(values(&ask(template("docket://item/{id}"), "id", "secret")["result"]), [""; 0]);
    assert_eq!(values(&ask(template("docket://item/{id}"), "id", "YOURS-1")["result"]), [""; 0]);
    let read = |uri: &str| {
        let message = json!({ "jsonrpc": "2.0", "id": 1, "method": "resources/read", "params": { "uri": uri } });
        let headers = [("accept", "application/json, text/event-stream"), ("authorization", authorization.as_str())];
        let answer = web.to("POST", "/mcp/docket", &headers, Some(message.to_string().as_bytes())).with(200);
        answer["error"]["code"].clone()
    };
    assert_eq!(read("board://mine"), Value::Null);
    assert_eq!((read("board://yours"), read("board://nobodys")), (json!(-32002), json!(-32002)));
}
