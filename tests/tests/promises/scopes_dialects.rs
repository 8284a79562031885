//! What P15 asks of the tools of the surfaces `task-orchestrator`, `cairn` and `execution`; see `scopes_tools`.

use docket_core::access::Profile::{Maintainer, Planner, Worker};
use serde_json::{Value, json};

use crate::scopes_tools::{Call, Reach, Surface, call, read, write};

/// Of the tools of several.
fn project(tool: &'static str, arguments: Value) -> Call {
    call(tool, Worker, Reach::Project, arguments)
}

fn plan(tool: &'static str, arguments: Value) -> Call {
    call(tool, Planner, Reach::Project, arguments)
}

fn remove(tool: &'static str, reach: Reach, arguments: Value) -> Call {
    call(tool, Maintainer, reach, arguments)
}

/// The surface `task-orchestrator`.
pub(crate) fn task_orchestrator() -> Surface {
    let mut calls = orchestrator_reads();
    calls.extend(orchestrator_writes());
    calls.extend(orchestrator_edges());
    calls.extend(orchestrator_ends());
    Surface {
        name: "task-orchestrator",
        by: &["operation", "trigger", "pattern"],
        calls,
        resources: &[],
        plain: &[
            "actor",
            "requestId",
            "requiresVerification",
            "traits",
            "claimStatus",
            "createdAfter",
            "createdBefore",
            "modifiedAfter",
            "modifiedBefore",
            "roleChangedAfter",
            "roleChangedBefore",
            "cursor",
            "depth",
            "fence",
            "limit",
            "offset",
            "priority",
            "role",
            "sortBy",
            "sortOrder",
            "tags",
            "type",
            "unblockAt",
        ],
    }
}

fn orchestrator_reads() -> Vec<Call> {
    let items = |arguments: Value| read("query_items", arguments);
    vec![
        items(json!({ "operation": "get", "id": "TASK", "includeAncestors": true })),
        items(json!({ "operation": "search", "parentId": "TASK", "includeAncestors": true })),
        items(json!({ "operation": "search", "query": "zebra" })),
        items(json!({ "operation": "search" })),
        items(json!({ "operation": "overview", "itemId": "TASK" })),
        items(json!({ "operation": "overview", "includeChildren": true })),
        read("query_notes", json!({ "operation": "list", "itemId": "TASK", "includeBody": true })),
        read("query_notes", json!({ "operation": "get", "id": "NOTE" })),
        read(
            "query_dependencies",
            json!({ "itemId": "TASK", "neighborsOnly": false, "includeItemInfo": true, "direction": "all" }),
        ),
        read("get_next_status", json!({ "itemId": "TASK" })),
        read("get_context", json!({ "itemId": "TASK", "includeAncestors": true })),
        read("get_context", json!({ "since": "2020-01-01T00:00:00Z" })),
        read("get_context", json!({})),
        read("get_next_item", json!({ "parentId": "TASK" })),
        read("get_next_item", json!({ "includeClaimed": true, "includeDetails": true, "includeAncestors": true })),
        read("get_blocked_items", json!({ "parentId": "TASK" })),
        read("get_blocked_items", json!({ "includeItemDetails": true, "includeAncestors": true })),
    ]
}

fn orchestrator_writes() -> Vec<Call> {
    let agent = json!({ "id": "agent-1", "kind": "subagent" });
    let claim = |reach: Reach, claims: Value, releases: Value| {
        let arguments = json!({ "actor": agent, "requestId": "REQUEST", "claims": claims, "releases": releases });
        call("claim_item", Worker, reach, arguments)
    };
    vec![
        plan("manage_items", json!({ "operation": "create", "items": [{ "title": "x" }] })),
        plan("manage_items", json!({ "operation": "create", "items": [{ "title": "x" }], "parentId": "TASK" })),
        plan("manage_items", json!({ "operation": "create", "items": [{ "title": "x", "parentId": "TASK" }] })),
        plan(
            "create_work_tree",
            json!({ "root": { "title": "x" }, "children": [{ "ref": "a", "title": "y" }],
            "deps": [{ "from": "root", "to": "a" }], "notes": [{ "itemRef": "a", "key": "k", "role": "queue", "body": "b" }],
            "createNotes": true }),
        ),
        plan("create_work_tree", json!({ "root": { "title": "x" }, "parentId": "TASK" })),
        write("manage_items", json!({ "operation": "update", "items": [{ "id": "TASK", "title": "x" }] })),
        write("manage_items", json!({ "operation": "update", "items": [{ "id": "OWN", "parentId": "TASK" }] })),
        write(
            "manage_notes",
            json!({ "operation": "upsert", "notes": [{ "itemId": "TASK", "key": "late", "role": "work", "body": "b" }] }),
        ),
        claim(Reach::Item, json!([{ "itemId": "TASK" }]), json!([])),
        claim(Reach::Item, json!([]), json!([{ "itemId": "TASK" }])),
        claim(Reach::Project, json!([{ "selector": { "parentId": "TASK" } }]), json!([])),
        write("advance_item", json!({ "transitions": [{ "itemId": "TASK", "trigger": "start" }] })),
    ]
}

fn orchestrator_edges() -> Vec<Call> {
    let create = |arguments: Value| project("manage_dependencies", arguments);
    let delete = |arguments: Value| remove("manage_dependencies", Reach::Project, arguments);
    let between = |from: &str, to: &str| json!([{ "fromItemId": from, "toItemId": to, "type": "RELATES_TO" }]);
    vec![
        create(json!({ "operation": "create", "dependencies": between("TASK", "OWN") })),
        create(json!({ "operation": "create", "dependencies": between("OWN", "TASK") })),
        create(json!({ "operation": "create", "pattern": "linear", "itemIds": ["OWN", "TASK"] })),
        create(
            json!({ "operation": "create", "pattern": "linear", "itemIds": ["OWN", "TASK"], "fence": 1, "fenceOf": "TASK" }),
        ),
        create(json!({ "operation": "create", "pattern": "fan-out", "source": "TASK", "targets": ["OWN"] })),
        create(json!({ "operation": "create", "pattern": "fan-in", "sources": ["OWN"], "target": "TASK" })),
        delete(json!({ "operation": "delete", "id": "EDGE" })),
        delete(json!({ "operation": "delete", "fromItemId": "OWN", "toItemId": "TASK" })),
        delete(json!({ "operation": "delete", "fromItemId": "OWN", "toItemId": "OWN", "fence": 1, "fenceOf": "TASK" })),
        delete(json!({ "operation": "delete", "fromItemId": "TASK", "deleteAll": true })),
    ]
}

fn orchestrator_ends() -> Vec<Call> {
    vec![
        project("complete_tree", json!({ "rootId": "TASK", "trigger": "complete" })),
        project("complete_tree", json!({ "itemIds": ["TASK"], "trigger": "cancel" })),
        remove("manage_notes", Reach::Item, json!({ "operation": "delete", "ids": ["NOTE"] })),
        remove("manage_notes", Reach::Item, json!({ "operation": "delete", "itemId": "TASK", "key": "late" })),
        remove("manage_notes", Reach::Item, json!({ "operation": "delete", "itemId": "TASK" })),
        remove("manage_items", Reach::Project, json!({ "operation": "delete", "ids": ["TASK"], "recursive": true })),
    ]
}

/// The surface `cairn`.
pub(crate) fn cairn() -> Surface {
    Surface {
        name: "cairn",
        by: &[],
        calls: vec![
            read("identity", json!({})),
            read("list", json!({})),
            read("list", json!({ "assignee": "agent:zoe" })),
            read("get", json!({ "id": "TASK" })),
            read("get_session", json!({ "session": "SESSION" })),
            read("list_sessions", json!({ "task": "TASK" })),
            read("list_sessions", json!({ "actor": "agent:zoe" })),
            read("list_sessions", json!({})),
            plan("create", json!({ "title": "x", "body": "b", "checks": [{ "desc": "d" }] })),
            plan("create", json!({ "title": "x", "deps": ["TASK"] })),
            write("claim", json!({ "id": "TASK" })),
            write("note", json!({ "id": "TASK", "text": "b" })),
            write("begin", json!({ "task": "TASK", "expected_actor": "ACTOR", "idempotency_key": "REQUEST" })),
            write("heartbeat", json!({ "session": "SESSION", "progress": "b" })),
            write("run_checks", json!({ "id": "TASK", "only": [0] })),
            write("transition", json!({ "id": "TASK", "to": "in-progress" })),
            write("finish", json!({ "session": "SESSION", "summary": "b", "head": "main" })),
            write("cancel", json!({ "session": "SESSION", "reason": "b" })),
        ],
        resources: &[],
        plain: &["cursor", "execution", "limit", "ready", "status", "health", "runtime"],
    }
}

/// The surface `execution`.
pub(crate) fn execution() -> Surface {
    Surface {
        name: "execution",
        by: &["status"],
        calls: vec![
            read("get_next_actionable", json!({})),
            read("get_next_actionable", json!({ "planId": "TASK" })),
            write("claim_task", json!({ "taskId": "TASK", "leaseSec": 60 })),
            write("update_task_status", json!({ "taskId": "TASK", "status": "in_progress", "note": "b" })),
            write("update_task_status", json!({ "taskId": "TASK", "status": "needs_review" })),
            write(
                "complete_task",
                json!({ "taskId": "TASK", "output": "b", "learnings": [{ "title": "t", "body": "b" }] }),
            ),
        ],
        resources: &[],
        plain: &["limit", "priorityLte", "heartbeat", "requestId"],
    }
}
