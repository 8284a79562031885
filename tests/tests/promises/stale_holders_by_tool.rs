//! P2 by MCP: every tool that takes a fence, in every way in which it does, by stdio and at each of two servers over HTTP.
//!
//! Which tools these are, and which ways they have, is read from what a server says of them: one that is not named here fails
//! the test. A way that takes no fence says so of one that is sent along; nobody may believe that it was looked at.

use std::collections::BTreeSet;

use docket_tests::mcp::{Answer, Gone};
use docket_tests::web::Web;
use serde_json::{Value, json};

use crate::fleet::{Place, actor};
use crate::stale_holders_over_http::Target;
use crate::stale_holders_write_nothing::lost;

/// A call: its tool, the way in which that is used, and its arguments.
type Call = (&'static str, &'static str, Value);

/// A set of tools, with what it is asked.
struct Surface {
    name: &'static str,
    /// Whether a call says who makes it.
    says_who: bool,
    /// With a fence.
    writes: fn(&Target, u64) -> Vec<Call>,
    /// With a fence that is not taken.
    others: fn(&Target, u64) -> Vec<Call>,
}

const SURFACES: [Surface; 5] = [
    Surface { name: "docket", says_who: true, writes: native, others: native_without },
    Surface { name: "task-orchestrator", says_who: true, writes: task_orchestrator, others: task_orchestrator_without },
    Surface { name: "foresttasks", says_who: false, writes: foresttasks, others: foresttasks_without },
    Surface { name: "cairn", says_who: false, writes: |_, _| Vec::new(), others: |_, _| Vec::new() },
    Surface { name: "execution", says_who: false, writes: |_, _| Vec::new(), others: |_, _| Vec::new() },
];

/// What goes with several ways of a tool and is none by itself.
const BESIDE: [&str; 15] = [
    "id",
    "fence",
    "version",
    "actor",
    "requestId",
    "project",
    "atomic",
    "dryRun",
    "recursive",
    "replace",
    "force",
    "summary",
    "options",
    "questionId",
    "patch",
];

/// Asks everything, for a holder whose claim is gone.
pub(crate) fn by_every_tool(place: &Place, target: &Target, fence: u64) {
    let webs = [place.web(), place.web()];
    for surface in SURFACES {
        let server = place.server_on(surface.name);
        let (writes, others) = ((surface.writes)(target, fence), (surface.others)(target, fence));
        let tools = server.request("tools/list", json!({})).unwrap_or_else(|Gone| panic!("the server is gone"));
        let tried: BTreeSet<_> = writes.iter().chain(&others).map(|(tool, way, _)| (*tool, *way)).collect();
        let ways = ways(&tools["result"]["tools"]);
        let ways: BTreeSet<_> = ways.iter().map(|(tool, way)| (tool.as_str(), way.as_str())).collect();
        assert_eq!(tried, ways, "what takes a fence on {} is not what a late holder tries", surface.name);
        let by_stdio = |tool: &str, arguments: &Value| {
            server.call(tool, arguments.clone()).unwrap_or_else(|Gone| panic!("the server is gone"))
        };
        let by_http = |web: &Web, tool: &str, arguments: &Value| web.tool(surface.name, &[], tool, arguments);
        for (tool, way, mut arguments) in writes {
            if surface.says_who {
                arguments["actor"] = actor("ann");
            }
            let said = format!("{tool} {way} {arguments}");
            lost(&by_stdio(tool, &arguments).content, &said);
            for web in &webs {
                lost(&by_http(web, tool, &arguments).content, &format!("{said} over HTTP"));
            }
        }
        for (tool, way, mut arguments) in others {
            if surface.says_who {
                arguments["actor"] = actor("ann");
            }
            unknown(&by_stdio(tool, &arguments), &format!("{tool} {way} {arguments}"));
        }
    }
}

/// Where a fence is nobody's, it is refused by its name.
fn unknown(answer: &Answer, what: &str) {
    let said = answer.content.to_string();
    assert!(said.contains("fence") && !said.contains("claim_lost"), "{what} took a fence for nothing: {said}");
}

/// Every way of every tool that says anything of a fence.
fn ways(tools: &Value) -> BTreeSet<(String, String)> {
    let mut found = BTreeSet::new();
    for tool in tools.as_array().expect("tools") {
        let schema = &tool["inputSchema"];
        if !schema.to_string().contains("fence") {
            continue;
        }
        let name = tool["name"].as_str().expect("a name").to_owned();
        let properties = schema["properties"].as_object().expect("properties");
        let choice = ["phase", "operation"].into_iter().find_map(|choice| properties.get(choice)?["enum"].as_array());
        match choice {
            Some(values) => {
                found.extend(values.iter().map(|value| (name.clone(), value.as_str().expect("a word").to_owned())));
            }
            // On the other surfaces a tool without phases has one way.
            None if properties.contains_key("fence") && !properties.contains_key("project")
                || properties.contains_key("transitions") =>
            {
                found.insert((name, String::new()));
            }
            None => {
                let own = properties.keys().filter(|property| !BESIDE.contains(&property.as_str()));
                found.extend(own.map(|property| (name.clone(), property.clone())));
            }
        }
    }
    found
}

fn native(target: &Target, fence: u64) -> Vec<Call> {
    let Target { item, other, note, link, .. } = target;
    let edge = json!({ "to": other });
    let calls: Vec<Call> = vec![
        ("work", "heartbeat", json!({ "phase": "heartbeat", "id": item })),
        ("work", "finish", json!({ "phase": "finish", "id": item, "comment": "late" })),
        ("advance", "to", json!({ "id": item, "to": "cancel" })),
        ("advance", "tree", json!({ "id": item, "tree": true, "to": "cancel" })),
        ("advance", "tree", json!({ "id": item, "tree": true, "force": true, "to": "cancel" })),
        ("annotate", "edges", json!({ "id": item, "edges": [edge] })),
        ("annotate", "edges", json!({ "id": item, "edges": [{ "from": other }] })),
        ("annotate", "notes", json!({ "id": item, "notes": [{ "key": "late", "body": "words" }] })),
        ("annotate", "comment", json!({ "id": item, "comment": "late" })),
        (
            "annotate",
            "links",
            json!({ "id": item, "links": [{ "kind": "pr", "ref": "1", "url": "https://example.com/1" }] }),
        ),
        ("annotate", "attention", json!({ "id": item, "attention": "late" })),
        ("contract", "brief", json!({ "id": item, "brief": { "objective": "late" } })),
        ("contract", "brief", json!({ "id": item, "brief": { "objective": "late" }, "replace": true })),
        ("contract", "verify", json!({ "id": item, "verify": [{ "id": "c1", "passed": true }] })),
        ("contract", "checks", json!({ "id": item, "checks": [{ "type": "manual", "desc": "look at it" }] })),
        ("ask", "question", json!({ "id": item, "question": "late?" })),
        ("remove", "items", json!({ "items": [item] })),
        ("remove", "notes", json!({ "notes": [note] })),
        ("remove", "notesOf", json!({ "notesOf": { "id": item } })),
        ("remove", "edgesOf", json!({ "edgesOf": { "id": item } })),
        ("remove", "edgesOf", json!({ "edgesOf": { "id": item, "to": other } })),
        ("remove", "links", json!({ "links": [link] })),
    ];
    let mut calls = with_fence(calls, fence);
    // Of several, each has its own.
    calls.push(("edit", "items", json!({ "items": [{ "id": item, "title": "late", "fence": fence }] })));
    calls.push(("advance", "moves", json!({ "moves": [{ "id": item, "to": "cancel", "fence": fence }] })));
    calls
}

fn native_without(target: &Target, fence: u64) -> Vec<Call> {
    let Target { item, edge, .. } = target;
    let nothing = "01M7S5RPRW00000NCAT944N0DD";
    let calls: Vec<Call> = vec![
        ("work", "start", json!({ "phase": "start", "id": item })),
        ("work", "release", json!({ "phase": "release", "id": item })),
        ("contract", "run", json!({ "id": item, "run": {} })),
        ("contract", "approve", json!({ "id": item, "approve": [0] })),
        ("contract", "attest", json!({ "id": item, "attest": 0 })),
        ("contract", "cancel", json!({ "id": item, "cancel": nothing })),
        ("ask", "answer", json!({ "id": item, "answer": "late" })),
        ("ask", "withdraw", json!({ "id": item, "withdraw": true })),
        ("remove", "edges", json!({ "edges": [edge] })),
        ("remove", "entries", json!({ "entries": [nothing] })),
        ("edit", "ids", json!({ "ids": [item], "patch": { "title": "late" } })),
    ];
    with_fence(calls, fence)
}

fn task_orchestrator(target: &Target, fence: u64) -> Vec<Call> {
    let Target { item, other, .. } = target;
    let edge = json!({ "fromItemId": item, "toItemId": other });
    let (create, delete) = (json!({ "operation": "create" }), json!({ "operation": "delete" }));
    let calls: Vec<Call> = vec![
        ("complete_tree", "", json!({ "itemIds": [item] })),
        ("complete_tree", "", json!({ "rootId": item, "trigger": "cancel" })),
        ("manage_notes", "delete", json!({ "operation": "delete", "itemId": item })),
        ("manage_notes", "delete", json!({ "operation": "delete", "itemId": item, "key": "late" })),
        ("manage_dependencies", "create", and(&create, &json!({ "dependencies": [edge], "fenceOf": item }))),
        (
            "manage_dependencies",
            "create",
            and(&create, &json!({ "pattern": "fan-in", "sources": [other], "target": item, "fenceOf": item })),
        ),
        (
            "manage_dependencies",
            "delete",
            and(&delete, &json!({ "fromItemId": item, "toItemId": other, "fenceOf": item })),
        ),
        (
            "manage_dependencies",
            "delete",
            and(&delete, &json!({ "fromItemId": item, "deleteAll": true, "fenceOf": item })),
        ),
        ("manage_items", "delete", and(&delete, &json!({ "ids": [item], "recursive": false }))),
        ("manage_items", "delete", and(&delete, &json!({ "ids": [item], "recursive": true }))),
    ];
    let mut calls = with_fence(calls, fence);
    for trigger in ["start", "complete", "block", "hold", "resume", "cancel", "reopen"] {
        let step = json!({ "itemId": item, "trigger": trigger, "actor": actor("ann"), "fence": fence });
        calls.push(("advance_item", "", json!({ "transitions": [step] })));
    }
    let note = json!({
        "itemId": item, "key": "late", "role": "work", "body": "words", "actor": actor("ann"), "fence": fence
    });
    calls.push(("manage_notes", "upsert", json!({ "operation": "upsert", "notes": [note] })));
    let patch = json!({ "id": item, "title": "late", "fence": fence });
    calls.push(("manage_items", "update", json!({ "operation": "update", "items": [patch] })));
    calls
}

fn task_orchestrator_without(_: &Target, fence: u64) -> Vec<Call> {
    let made = json!({ "operation": "create", "items": [{ "title": "late", "fence": fence }] });
    vec![("manage_items", "create", made)]
}

fn foresttasks(target: &Target, fence: u64) -> Vec<Call> {
    let call = json!({ "phase": "finish", "action": "apply", "taskId": target.item, "finalComment": "late" });
    with_fence(vec![("work", "finish", call)], fence)
}

fn foresttasks_without(target: &Target, fence: u64) -> Vec<Call> {
    with_fence(vec![("work", "start", json!({ "phase": "start", "mode": "claim", "id": target.item }))], fence)
}

fn with_fence(mut calls: Vec<Call>, fence: u64) -> Vec<Call> {
    for (_, _, arguments) in &mut calls {
        arguments["fence"] = json!(fence);
    }
    calls
}

fn and(some: &Value, more: &Value) -> Value {
    let mut all = some.clone();
    for (name, value) in more.as_object().into_iter().flatten() {
        all[name] = value.clone();
    }
    all
}
