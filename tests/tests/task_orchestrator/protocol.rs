//! The protocol through the real program: the tool list as a contract, protocol errors, and the end of a connection.

use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Command, Stdio};

use docket_tests::program::docket;
use serde_json::{Value, json};

use crate::World;

#[test]
fn the_tool_list_is_a_contract() {
    let world = World::new();
    let list = world.server.request("tools/list", json!({})).expect("an answer")["result"]["tools"].clone();
    // Whether objects keep their order depends on what else is built with these tests.
    insta::with_settings!({ sort_maps => true }, { insta::assert_json_snapshot!("tools", list) });
}

#[test]
fn every_tool_says_what_it_does_to_what_is_stored() {
    let world = World::new();
    let list = world.server.request("tools/list", json!({})).expect("an answer")["result"]["tools"].clone();
    let tools = list.as_array().expect("tools");
    assert_eq!(tools.len(), 14);
    let reads = [
        "query_items",
        "query_notes",
        "query_dependencies",
        "get_next_status",
        "get_context",
        "get_next_item",
        "get_blocked_items",
    ];
    let destroys = ["manage_items", "manage_notes", "manage_dependencies"];
    for tool in tools {
        let name = tool["name"].as_str().expect("a name");
        let (read, destroy) = (reads.contains(&name), destroys.contains(&name));
        assert_eq!(
            tool["annotations"],
            json!({ "readOnlyHint": read, "destructiveHint": destroy, "idempotentHint": read, "openWorldHint": false }),
            "{name}"
        );
        assert_eq!(
            (&tool["inputSchema"]["type"], &tool["inputSchema"]["additionalProperties"]),
            (&json!("object"), &json!(false)),
            "{name}"
        );
        assert_eq!(tool["outputSchema"]["type"], "object", "{name}");
        let required = tool["inputSchema"]["required"].as_array().cloned().unwrap_or_default();
        assert!(
            required
                .iter()
                .all(|field| tool["inputSchema"]["properties"].get(field.as_str().unwrap_or_default()).is_some()),
            "{name}"
        );
    }
    let size = list.to_string().len();
    assert!(size < 26_000, "the tool list has grown to {size} bytes; every token of it is paid in every conversation");
}

#[test]
fn answers_keep_the_order_of_their_fields() {
    let world = World::new();
    let call = json!({ "name": "manage_items", "arguments": { "operation": "create", "items": [{ "title": "t" }] } });
    let result = world.server.request("tools/call", call).expect("an answer")["result"].clone();
    let text = result["content"][0]["text"].as_str().expect("text");
    let places: Vec<Option<usize>> = [
        "items",
        "\"id\"",
        "title",
        "depth",
        "role",
        "priority",
        "requiresVerification",
        "tags",
        "type",
        "created",
        "failed",
    ]
    .map(|name| text.find(name))
    .to_vec();
    assert!(places.iter().all(Option::is_some) && places.is_sorted(), "{text}");
}

#[test]
fn unknown_tools_are_protocol_errors_and_the_server_goes_on() {
    let world = World::new();
    let answer = world.server.request("tools/call", json!({ "name": "drop_all", "arguments": {} })).expect("an answer");
    assert_eq!(answer["error"]["code"], -32602);
    assert_eq!(world.server.request("no/such", json!({})).expect("an answer")["error"]["code"], -32601);
    world.item("still served");
}

#[test]
fn the_server_says_who_it_is() {
    let world = World::new();
    let hello = &world.server.hello;
    assert_eq!(hello["serverInfo"]["name"], "docket");
    assert_eq!(hello["protocolVersion"], "2025-06-18");
    assert!(hello["capabilities"]["tools"].is_object());
    assert!(hello["instructions"].as_str().is_some_and(|text| text.len() < 1000));
}

/// Runs the program with this input and returns its output and whether it ended well.
fn run(input: &[u8]) -> (Vec<Value>, bool) {
    let folder = tempfile::tempdir().expect("a folder");
    let mut child = Command::new(docket())
        .arg("--db")
        .arg(format!("sqlite:{}", folder.path().join("docket.db").display()))
        .args(["mcp", "--surface", "task-orchestrator"])
        .current_dir(folder.path())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .expect("started");
    let mut stdin = child.stdin.take().expect("a pipe");
    let stdout = child.stdout.take().expect("a pipe");
    let lines = std::thread::spawn(move || {
        BufReader::new(stdout)
            .lines()
            .map(|line| serde_json::from_str(&line.expect("text")).expect("only protocol on stdout"))
            .collect()
    });
    stdin.write_all(input).expect("written");
    drop(stdin);
    let ended = child.wait().expect("an end");
    (lines.join().expect("lines"), ended.success())
}

const HELLO: &str = r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}"#;

#[test]
fn what_is_in_flight_is_answered_before_the_end() {
    let calls: Vec<String> = (1..=20)
        .map(|id| {
            let arguments = json!({ "operation": "create", "items": [{ "title": format!("item {id}") }] });
            json!({ "jsonrpc": "2.0", "id": id, "method": "tools/call", "params": { "name": "manage_items", "arguments": arguments } }).to_string()
        })
        .collect();
    let (answers, ended_well) = run(format!("{HELLO}\n{}", calls.join("\n")).as_bytes());
    assert!(ended_well);
    let mut ids: Vec<u64> = answers.iter().filter_map(|answer| answer["id"].as_u64()).collect();
    ids.sort_unstable();
    assert_eq!(ids, (0..=20).collect::<Vec<_>>());
    assert!(answers.iter().skip(1).all(|answer| answer["result"]["isError"] == json!(false)));
}

#[test]
fn nonsense_is_answered_and_the_end_is_clean() {
    let mut input = format!("nonsense\n\n[{HELLO}]\n{HELLO}\n").into_bytes();
    input.extend(std::iter::repeat_n(b'x', 2 * 1024 * 1024));
    input.extend(b"\n\xff\xfe\n{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}\n");
    let (answers, ended_well) = run(&input);
    assert!(ended_well);
    let codes: Vec<Option<i64>> = answers.iter().map(|answer| answer["error"]["code"].as_i64()).collect();
    assert_eq!(codes.iter().flatten().filter(|code| **code == -32700).count(), 2, "{answers:?}");
    assert_eq!(codes.iter().flatten().filter(|code| **code == -32600).count(), 2, "{answers:?}");
    assert!(answers.iter().any(|answer| answer["id"] == json!(1) && answer["result"].is_object()));
    assert_eq!(run(b""), (Vec::new(), true));
}

#[test]
fn files_serve_as_streams_too() {
    let folder = tempfile::tempdir().expect("a folder");
    let (input, output) = (folder.path().join("in"), folder.path().join("out"));
    std::fs::write(&input, format!("{HELLO}\n{{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/list\"}}\n"))
        .expect("written");
    let status = Command::new(docket())
        .arg("--db")
        .arg(format!("sqlite:{}", folder.path().join("docket.db").display()))
        .args(["mcp", "--surface", "task-orchestrator"])
        .current_dir(folder.path())
        .stdin(std::fs::File::open(&input).expect("opened"))
        .stdout(std::fs::File::create(&output).expect("opened"))
        .status()
        .expect("started");
    assert!(status.success());
    let mut text = String::new();
    std::fs::File::open(&output).expect("opened").read_to_string(&mut text).expect("read");
    assert_eq!(text.lines().count(), 2, "{text}");
}

#[cfg(unix)]
#[test]
fn sockets_serve_as_streams_too() {
    use std::os::fd::OwnedFd;
    use std::os::unix::net::UnixStream;

    let folder = tempfile::tempdir().expect("a folder");
    let (mut near, far) = UnixStream::pair().expect("a pair");
    let copy = far.try_clone().expect("a copy");
    let mut child = Command::new(docket())
        .arg("--db")
        .arg(format!("sqlite:{}", folder.path().join("docket.db").display()))
        .args(["mcp", "--surface", "task-orchestrator"])
        .current_dir(folder.path())
        .stdin(Stdio::from(OwnedFd::from(far)))
        .stdout(Stdio::from(OwnedFd::from(copy)))
        .spawn()
        .expect("started");
    near.write_all(format!("{HELLO}\n").as_bytes()).expect("written");
    let mut lines = BufReader::new(near.try_clone().expect("a copy")).lines();
    assert!(lines.next().expect("a line").expect("text").contains("serverInfo"));
    near.shutdown(std::net::Shutdown::Write).expect("closed");
    assert!(child.wait().expect("an end").success());
}
