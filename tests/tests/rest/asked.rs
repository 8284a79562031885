//! Lists of a dialect ask the store as often for many rows as for few.

use docket_tests::web::Web;
use serde_json::{Value, json};

use crate::contract::standard;
use crate::followers::asked;

const MANY: usize = 12;

/// What a list answers, and how often the store was asked for it.
fn listed(web: &Web, tool: &str, rows: &str, limit: usize) -> (Vec<Value>, u64) {
    let call = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call",
        "params": { "name": tool, "arguments": { "limit": limit } } });
    let before = asked(web, &[]);
    let headers = [("accept", "application/json, text/event-stream")];
    let answer = web.to("POST", "/mcp/cairn", &headers, Some(call.to_string().as_bytes())).with(200);
    let after = asked(web, &[]);
    let answer = answer["result"]["structuredContent"][rows].as_array().unwrap_or_else(|| panic!("{answer}")).clone();
    (answer, after - before)
}

#[test]
fn a_list_of_tasks_or_sessions_of_many_agents_is_asked_for_as_one_of_two() {
    let web = standard();
    for number in 0..MANY {
        let item = web.item(&format!("Task {number}"));
        let agent = format!("subagent:bot-{number}");
        let begin = json!({ "ttlSeconds": 600 }).to_string();
        let headers = [("x-docket-actor", agent.as_str())];
        web.send("POST", &format!("/items/{item}/sessions"), &headers, Some(begin.as_bytes())).with(201);
    }
    for (tool, rows, field) in [("list", "tasks", "assignee"), ("list_sessions", "sessions", "actor")] {
        // What is read once for all is read by now.
        listed(&web, tool, rows, 1);
        let (few, for_few) = listed(&web, tool, rows, 2);
        let (many, for_many) = listed(&web, tool, rows, MANY);
        assert_eq!((few.len(), many.len()), (2, MANY), "{tool}");
        let mut who: Vec<&str> = many.iter().map(|row| row[field].as_str().unwrap_or_default()).collect();
        who.sort_unstable();
        who.dedup();
        assert_eq!(who.len(), MANY, "{tool}: each has its own: {who:?}");
        assert!(who.iter().all(|who| who.starts_with("agent:bot-")), "{tool}: of what sort each is, is told: {who:?}");
        assert_eq!(for_many, for_few, "{tool}: the store is asked once for all rows");
    }
}
