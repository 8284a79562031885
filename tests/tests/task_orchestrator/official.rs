//! The fourteen tools through the client of the SDK that others build theirs with, over a process of its own: what it makes
//! of our answers is what they do.

use std::path::Path;
use std::process::Stdio;

use docket_tests::program::docket;
use rmcp::model::{CallToolRequestParams, ContentBlock};
use rmcp::service::{RoleClient, RunningService};
use rmcp::{ServiceError, ServiceExt as _};
use serde_json::{Value, json};
use tokio::process::{Child, Command};

use crate::{claiming, fresh, subagent, text};

type Client = RunningService<RoleClient, ()>;

/// Calls a tool, and checks that it is told alike as text and as an object, and as a failure only where it is one.
async fn call(client: &Client, tool: &'static str, arguments: Value) -> Result<Value, Value> {
    let Value::Object(arguments) = arguments else { panic!("no object: {arguments}") };
    let answered = client.call_tool(CallToolRequestParams::new(tool).with_arguments(arguments)).await;
    let result = answered.unwrap_or_else(|error| panic!("{tool}: {error}"));
    let said = result.content.first().and_then(ContentBlock::as_text).expect("text");
    let read: Value = serde_json::from_str(&said.text).expect("JSON");
    let content = result.structured_content.expect("an object");
    assert_eq!(content, read, "{tool}");
    if result.is_error == Some(true) { Err(content) } else { Ok(content) }
}

async fn ok(client: &Client, tool: &'static str, arguments: Value) -> Value {
    call(client, tool, arguments).await.unwrap_or_else(|error| panic!("{tool}: {error}"))
}

/// The program on a database of its own, and a session with it.
async fn session(folder: &Path) -> (Child, Client) {
    let mut child = Command::new(docket())
        .args(["--db", "docket.db", "mcp", "--surface", "task-orchestrator"])
        .current_dir(folder)
        .env("AGENT_CONFIG_DIR", folder)
        .env_remove("DEGRADED_MODE_POLICY")
        .env_remove("DOCKET_ACTOR")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .kill_on_drop(true)
        .spawn()
        .expect("the program");
    let (Some(input), Some(output)) = (child.stdin.take(), child.stdout.take()) else { panic!("no pipes") };
    let client = ().serve((output, input)).await.expect("a session");
    (child, client)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_sdks_own_client_calls_every_tool() {
    let folder = tempfile::tempdir().expect("a folder");
    let (mut child, client) = session(folder.path()).await;
    let tools = client.list_all_tools().await.expect("the tools");
    assert_eq!(tools.len(), 14);

    // The examples of the reference, one of each tool.
    let tree = ok(
        &client,
        "create_work_tree",
        json!({
            "root": { "title": "Authentication Feature", "priority": "high", "tags": "feature" },
            "children": [{ "ref": "t1", "title": "Design login flow", "priority": "high" }, { "ref": "t2", "title": "Implement JWT handler" }],
            "deps": [{ "from": "t1", "to": "t2", "type": "BLOCKS" }],
        }),
    )
    .await;
    let root = text(&tree["root"]["id"]);
    let [first, second] = [0, 1].map(|n| text(&tree["children"][n]["id"]));
    let items = json!([{ "title": "Write unit tests", "priority": "medium", "complexity": 3 }]);
    let third = ok(&client, "manage_items", json!({ "operation": "create", "parentId": root, "items": items })).await;
    let third = text(&third["items"][0]["id"]);
    let found = ok(&client, "query_items", json!({ "operation": "overview", "itemId": root })).await;
    assert_eq!(found["childCounts"]["queue"], 3);
    let note = json!([{ "itemId": first, "key": "requirements", "role": "queue", "body": "validate", "actor": subagent("a") }]);
    assert_eq!(ok(&client, "manage_notes", json!({ "operation": "upsert", "notes": note })).await["upserted"], 1);
    assert_eq!(ok(&client, "query_notes", json!({ "operation": "list", "itemId": first })).await["total"], 1);
    let chain = json!({ "operation": "create", "pattern": "linear", "itemIds": [second, third] });
    assert_eq!(ok(&client, "manage_dependencies", chain).await["created"], 1);
    let graph = ok(&client, "query_dependencies", json!({ "itemId": first, "neighborsOnly": false })).await;
    assert_eq!(graph["graph"]["depth"], 2);
    assert_eq!(ok(&client, "get_next_status", json!({ "itemId": second })).await["recommendation"], "Blocked");
    assert_eq!(ok(&client, "get_blocked_items", json!({ "includeAncestors": true })).await["total"], 2);
    let next = ok(&client, "get_next_item", json!({ "parentId": root, "includeDetails": true })).await;
    assert_eq!(next["recommendations"][0]["itemId"], json!(first));
    let claimed = ok(&client, "claim_item", claiming("a", json!([{ "itemId": first }]), json!([]))).await;
    assert_eq!(claimed["claimResults"][0]["outcome"], "success");
    let start = json!([{ "itemId": first, "trigger": "start", "actor": subagent("a") }]);
    let moved = ok(&client, "advance_item", json!({ "transitions": start, "requestId": fresh() })).await;
    assert_eq!(moved["results"][0]["cascadeEvents"][0]["itemId"], json!(root));
    assert_eq!(ok(&client, "get_context", json!({})).await["mode"], "health-check");
    let closed =
        ok(&client, "complete_tree", json!({ "rootId": root, "trigger": "cancel", "actor": subagent("a") })).await;
    assert_eq!(closed["summary"]["completed"], 3);

    let error = call(&client, "query_items", json!({ "operation": "get", "id": fresh() })).await.expect_err("no item");
    assert_eq!(error["error"]["code"], "RESOURCE_NOT_FOUND");
    let unknown = client.call_tool(CallToolRequestParams::new("drop_everything")).await;
    assert!(matches!(unknown, Err(ServiceError::McpError(_))), "{unknown:?}");
    client.cancel().await.expect("the end of the session");
    assert!(child.wait().await.expect("its end").success());
}
