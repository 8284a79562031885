//! MCP over HTTP, for clients of every revision that is served, without anything kept between requests.

use std::io::{Read, Write};
use std::time::{Duration, Instant};

use docket_tests::web::{Reply, Web};
use serde_json::{Value, json};

const ACCEPT: (&str, &str) = ("accept", "application/json, text/event-stream");

fn rpc(web: &Web, path: &str, headers: &[(&str, &str)], message: &Value) -> Reply {
    let headers: Vec<(&str, &str)> = headers.iter().copied().chain([ACCEPT]).collect();
    web.to("POST", path, &headers, Some(message.to_string().as_bytes()))
}

fn call(tool: &str, arguments: &Value) -> Value {
    json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": tool, "arguments": arguments}})
}

#[test]
fn clients_of_each_revision_are_served() {
    let web = Web::start();
    for revision in ["2025-06-18", "2025-11-25"] {
        let hello = json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
            "protocolVersion": revision, "capabilities": {}, "clientInfo": {"name": "tests", "version": "1"}}});
        let opened = rpc(&web, "/mcp/task-orchestrator", &[], &hello);
        assert_eq!(opened.with(200)["result"]["protocolVersion"], json!(revision));
        // No session is made: the name that is given is one of nothing, and is needed for nothing but to take calls back.
        let (given, again) = (opened, rpc(&web, "/mcp/task-orchestrator", &[], &hello));
        assert!(uuid::Uuid::parse_str(given.header("mcp-session-id")).is_ok(), "{given:?}");
        assert_ne!(given.header("mcp-session-id"), again.header("mcp-session-id"));
        let version = [("mcp-protocol-version", revision)];
        let ready = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
        assert_eq!(rpc(&web, "/mcp/task-orchestrator", &version, &ready).status, 202);
        let tools =
            rpc(&web, "/mcp/task-orchestrator", &version, &json!({"jsonrpc": "2.0", "id": 2, "method": "tools/list"}));
        assert_eq!(tools.with(200)["result"]["tools"].as_array().map(Vec::len), Some(14));
        let made = rpc(
            &web,
            "/mcp/task-orchestrator",
            &version,
            &call("manage_items", &json!({"operation": "create", "items": [{"title": revision}]})),
        );
        assert_eq!(made.with(200)["result"]["structuredContent"]["items"][0]["title"], json!(revision));
    }
    let meta = json!({"io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": {"name": "tests", "version": "1"}, "io.modelcontextprotocol/clientCapabilities": {}});
    let new = [("mcp-protocol-version", "2026-07-28"), ("mcp-method", "tools/call"), ("mcp-name", "query_items")];
    let mut message = call("query_items", &json!({"operation": "search"}));
    message["params"]["_meta"] = meta;
    let found = rpc(&web, "/mcp/task-orchestrator", &new, &message).with(200);
    assert_eq!(found["result"]["structuredContent"]["total"], json!(2), "{found}");
    // A header that contradicts the body, and a version that nobody knows.
    let wrong = [("mcp-protocol-version", "2026-07-28"), ("mcp-method", "tools/call"), ("mcp-name", "other")];
    assert_eq!(rpc(&web, "/mcp/task-orchestrator", &wrong, &message).status, 400);
    let unknown = [("mcp-protocol-version", "1999-01-01")];
    assert_eq!(
        rpc(&web, "/mcp/task-orchestrator", &unknown, &json!({"jsonrpc": "2.0", "id": 2, "method": "tools/list"}))
            .status,
        400
    );
    // What REST made, MCP shows.
    web.item("By REST");
    let found = rpc(
        &web,
        "/mcp/task-orchestrator",
        &[],
        &call("query_items", &json!({"operation": "search", "query": "REST"})),
    )
    .with(200);
    assert_eq!(found["result"]["structuredContent"]["total"], json!(1), "{found}");
}

/// In the newest revision headers say again what the body says, and both must agree.
#[test]
fn headers_and_body_agree_or_the_call_is_refused_with_its_code() {
    let web = Web::start();
    let message = |version: &str| {
        let mut message = call("query_items", &json!({"operation": "search"}));
        message["params"]["_meta"] = json!({"io.modelcontextprotocol/protocolVersion": version,
            "io.modelcontextprotocol/clientInfo": {"name": "tests", "version": "1"}, "io.modelcontextprotocol/clientCapabilities": {}});
        message
    };
    let headers = |version: &'static str, method: &'static str, name: &'static str| {
        [("mcp-protocol-version", version), ("mcp-method", method), ("mcp-name", name)]
    };
    let new = "2026-07-28";
    let refused = |headers: &[(&str, &str)], message: &Value, status: u16| {
        let reply = rpc(&web, "/mcp/task-orchestrator", headers, message);
        assert_eq!(reply.status, status, "{headers:?}: {}", String::from_utf8_lossy(&reply.body));
        reply.json()["error"]["code"].clone()
    };
    rpc(&web, "/mcp/task-orchestrator", &headers(new, "tools/call", "query_items"), &message(new)).with(200);
    assert_eq!(refused(&headers(new, "tools/call", "other"), &message(new), 400), json!(-32020));
    assert_eq!(refused(&headers(new, "tools/list", "query_items"), &message(new), 400), json!(-32020));
    assert_eq!(refused(&headers(new, "tools/call", "query_items")[..2], &message(new), 400), json!(-32020));
    assert_eq!(refused(&headers(new, "tools/call", "query_items")[1..], &message(new), 400), json!(-32020));
    assert_eq!(refused(&headers("2025-06-18", "tools/call", "query_items"), &message(new), 400), json!(-32020));
    let future = headers("2030-01-01", "tools/call", "query_items");
    assert_eq!(refused(&future, &message("2030-01-01"), 400), json!(-32022));
    let mut unknown = message(new);
    unknown["method"] = json!("nope");
    assert_eq!(refused(&headers(new, "nope", "query_items")[..2], &unknown, 404), json!(-32601));
    // What older clients send along means nothing.
    let with_session: Vec<_> =
        headers(new, "tools/call", "query_items").into_iter().chain([("mcp-session-id", "another's")]).collect();
    rpc(&web, "/mcp/task-orchestrator", &with_session, &message(new)).with(200);
}

#[test]
fn what_is_not_offered_is_not_there() {
    let web = Web::start();
    let meta = json!({"io.modelcontextprotocol/protocolVersion": "2026-07-28", "io.modelcontextprotocol/clientCapabilities": {}});
    let hello =
        json!({"protocolVersion": "2026-07-28", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}});
    let named = json!({"ref": {"type": "ref/prompt", "name": "x"}, "argument": {"name": "a", "value": ""}});
    let nothing = json!({});
    let unknown = |method: &str, params: &Value, old: bool| {
        let mut params = params.clone();
        let message = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params});
        if old {
            let answer =
                rpc(&web, "/mcp/task-orchestrator", &[("mcp-protocol-version", "2025-11-25")], &message).with(200);
            assert_eq!(answer["error"]["code"], json!(-32601), "{method}: {answer}");
        }
        params["_meta"] = meta.clone();
        let message = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params});
        let new = [("mcp-protocol-version", "2026-07-28"), ("mcp-method", method)];
        let answer = rpc(&web, "/mcp/task-orchestrator", &new, &message).with(404);
        assert_eq!(answer["error"]["code"], json!(-32601), "{method}: {answer}");
    };
    for method in ["prompts/list", "resources/list", "resources/templates/list"] {
        unknown(method, &nothing, true);
    }
    unknown("completion/complete", &named, true);
    // The handshake is gone from the newest revision, however it is written.
    for params in [&hello, &nothing] {
        unknown("initialize", params, false);
    }
    unknown("ping", &nothing, false);
}

#[test]
fn what_is_no_message_is_refused() {
    let web = Web::start();
    let send = |body: &str| web.to("POST", "/mcp/task-orchestrator", &[ACCEPT], Some(body.as_bytes()));
    for (body, code) in [
        ("{", -32700),
        ("", -32700),
        ("[]", -32600),
        (r#"[{"jsonrpc":"2.0","id":1,"method":"ping"}]"#, -32600),
        (r#"{"jsonrpc":"2.0","id":null,"method":"ping"}"#, -32600),
        (r#"{"jsonrpc":"2.0","id":1}"#, -32600),
        (r#"{"jsonrpc":"2.0","id":1,"result":{}}"#, -32600),
        (r#"{"jsonrpc":"2.0","id":1,"id":2,"method":"ping"}"#, -32600),
    ] {
        let refused = send(body).with(400);
        assert_eq!(refused["error"]["code"], json!(code), "{body}");
    }
    assert_eq!(send(r#"{"jsonrpc":"2.0","id":1,"method":"nope"}"#).with(200)["error"]["code"], json!(-32601));
    assert_eq!(
        rpc(&web, "/mcp/task-orchestrator", &[], &call("nope", &json!({}))).with(200)["error"]["code"],
        json!(-32602)
    );
    for method in ["GET", "DELETE"] {
        assert_eq!(web.to(method, "/mcp/task-orchestrator", &[ACCEPT], None).status, 405, "{method}");
    }
    assert_eq!(rpc(&web, "/mcp/nope", &[], &call("x", &json!({}))).reason(404), "not_found");
    assert_eq!(rpc(&web, "/mcp/task-orchestrator?project=nope", &[], &call("x", &json!({}))).reason(404), "not_found");
    assert_eq!(rpc(&web, "/mcp/task-orchestrator?token=x", &[], &call("x", &json!({}))).reason(422), "unknown_field");
    let plain = web.to(
        "POST",
        "/mcp/task-orchestrator",
        &[ACCEPT, ("content-type", "text/plain")],
        Some(b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}"),
    );
    assert_eq!(plain.status, 415);
    // Two callers may use one id at the same time: it belongs to the request alone.
    std::thread::scope(|scope| {
        let calls: Vec<_> = (0..8)
            .map(|number| {
                let web = &web;
                scope.spawn(move || {
                    let title = format!("t{number}");
                    let made = rpc(
                        web,
                        "/mcp/task-orchestrator",
                        &[],
                        &call("manage_items", &json!({"operation": "create", "items": [{"title": title}]})),
                    );
                    assert_eq!(made.with(200)["result"]["structuredContent"]["items"][0]["title"], json!(title));
                })
            })
            .collect();
        for call in calls {
            call.join().expect("answered");
        }
    });
}

#[test]
fn whoever_hangs_up_is_handed_nothing_and_progress_is_told() {
    let web = Web::start();
    let wait = json!({"claims": [{"selector": {"waitMs": 30_000}}], "requestId": "0199f3a2-7c1e-7d3b-8f00-2a4b5c6d7e01", "actor": {"id": "gone", "kind": "subagent"}});
    let message = call("claim_item", &wait).to_string();
    let mut stream = web.connect();
    let head = format!(
        "POST /mcp/task-orchestrator HTTP/1.1\r\nhost: {}\r\naccept: {}\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n{message}",
        web.address,
        ACCEPT.1,
        message.len()
    );
    stream.write_all(head.as_bytes()).expect("sent");
    stream.set_read_timeout(Some(Duration::from_millis(700))).expect("a timeout");
    let mut early = [0; 512];
    match stream.read(&mut early) {
        Ok(read) => panic!("answered at once: {}", String::from_utf8_lossy(&early[..read])),
        Err(error) => {
            assert!(matches!(error.kind(), std::io::ErrorKind::WouldBlock | std::io::ErrorKind::TimedOut), "{error}");
        }
    }
    drop(stream);
    std::thread::sleep(Duration::from_millis(300));
    let item = web.item("Not for the gone");
    std::thread::sleep(Duration::from_millis(1200));
    assert!(
        web.get(&format!("/items/{item}")).with(200).get("claim").is_none(),
        "it was handed to somebody who had gone"
    );

    // With a progress token the answer is a stream that says every few seconds that the call is under way.
    web.send("PUT", &format!("/items/{item}/claim"), &[("x-docket-actor", "user:ann")], None).with(200);
    let mut message = call(
        "claim_item",
        &json!({"claims": [{"selector": {"waitMs": 7000}}], "requestId": "0199f3a2-7c1e-7d3b-8f00-2a4b5c6d7e02", "actor": {"id": "w", "kind": "subagent"}}),
    );
    message["params"]["_meta"] = json!({"progressToken": "p1"});
    let begun = Instant::now();
    let answer = rpc(&web, "/mcp/task-orchestrator", &[], &message);
    assert!(begun.elapsed() >= Duration::from_secs(6), "{:?}", begun.elapsed());
    assert_eq!(answer.header("content-type"), "text/event-stream");
    let text = String::from_utf8_lossy(&answer.body).into_owned();
    assert!(text.contains("notifications/progress") && text.contains("\"p1\""), "{text}");
    assert!(text.contains("\"result\""), "{text}");
}

/// A greeting; returns the name that the client was given.
fn greeted(web: &Web) -> String {
    let hello = json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {
        "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "tests", "version": "1"}}});
    rpc(web, "/mcp/task-orchestrator", &[], &hello).header("mcp-session-id").to_owned()
}

/// Clients that shake hands give a call up by a message, and leave its connection open.
#[test]
fn a_call_is_taken_back_by_whoever_made_it_and_by_nobody_else() {
    let web = Web::start();
    let (mine, others) = (greeted(&web), greeted(&web));
    let take_back = |name: Option<&str>, id: u64| {
        let message = json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": id}});
        let name = name.map(|name| ("mcp-session-id", name));
        let headers: Vec<_> = name.into_iter().chain([("mcp-protocol-version", "2025-11-25")]).collect();
        assert_eq!(rpc(&web, "/mcp/task-orchestrator", &headers, &message).status, 202);
    };
    for (id, token) in [(7, None), (8, Some("p"))] {
        let mut message = call(
            "claim_item",
            &json!({"claims": [{"selector": {"waitMs": 30_000}}], "requestId": uuid::Uuid::new_v4(), "actor": {"id": "gone", "kind": "subagent"}}),
        );
        message["id"] = json!(id);
        if let Some(token) = token {
            message["params"]["_meta"] = json!({ "progressToken": token });
        }
        std::thread::scope(|scope| {
            let waiter = scope.spawn(|| {
                let headers = [("mcp-session-id", mine.as_str()), ("mcp-protocol-version", "2025-11-25")];
                let begun = Instant::now();
                (rpc(&web, "/mcp/task-orchestrator", &headers, &message), begun.elapsed())
            });
            std::thread::sleep(Duration::from_millis(400));
            // The same id, of another client and of one that shows no name; and another id.
            take_back(Some(&others), id);
            take_back(None, id);
            take_back(Some(&mine), id + 100);
            std::thread::sleep(Duration::from_millis(400));
            assert!(!waiter.is_finished(), "a call was taken back by somebody else");
            take_back(Some(&mine), id);
            let (answer, took) = waiter.join().expect("an answer");
            assert!(took < Duration::from_secs(5), "it went on for {took:?}");
            let said = String::from_utf8_lossy(&answer.body).into_owned();
            assert!(!said.contains("result") && !said.contains("error"), "{} {said}", answer.status);
        });
        let item = web.item("Not for the gone");
        std::thread::sleep(Duration::from_millis(300));
        let shown = web.get(&format!("/items/{item}")).with(200);
        assert!(shown.get("claim").is_none(), "it was handed to somebody who gave up: {shown}");
        web.delete(&format!("/items/{item}"));
    }
    // A message on another connection may overtake its call.
    take_back(Some(&mine), 9);
    let mut late = call("query_items", &json!({"operation": "search"}));
    late["id"] = json!(9);
    let headers = [("mcp-session-id", mine.as_str()), ("mcp-protocol-version", "2025-11-25")];
    let answer = rpc(&web, "/mcp/task-orchestrator", &headers, &late);
    assert_eq!((answer.status, answer.body.len()), (202, 0), "{answer:?}");
    // What has ended is not known any more, and its id may be used again.
    let list = json!({"jsonrpc": "2.0", "id": 7, "method": "tools/list"});
    rpc(&web, "/mcp/task-orchestrator", &headers, &list).with(200);
}
