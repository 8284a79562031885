//! What P15 asks of the tools of the surface `foresttasks`; see `scopes_tools`.

use docket_core::access::Profile::{Maintainer, Planner, Worker};
use serde_json::{Value, json};

use crate::scopes_tools::{Call, Reach, Surface, call, read, write};

/// The surface `foresttasks`.
pub(crate) fn foresttasks() -> Surface {
    let mut calls = forest_reads();
    calls.extend(forest_writes());
    calls.extend(forest_rest());
    Surface {
        name: "foresttasks",
        by: &["action", "type", "phase"],
        calls,
        resources: &["board://SLUG"],
        plain: &[
            "requestId",
            "fence",
            "since",
            "status",
            "limit",
            "cursor",
            "detail",
            "fields",
            "assignee",
            "blocked",
            "labels",
            "capabilities",
            "requiredCapabilities",
            "includeArchived",
            "needsHuman",
            "priority",
            "maxDepth",
            "ttlSeconds",
            "description",
            "dueAt",
            "estimateMinutes",
            "intent",
            "options",
            "rank",
            "tags",
            "version",
            "note",
            "profile",
        ],
    }
}

fn forest_reads() -> Vec<Call> {
    let find = |arguments: Value| read("find", arguments);
    vec![
        read(
            "get_task",
            json!({ "id": "TASK", "profile": "full", "include": ["links", "relations", "activity", "subtasks"] }),
        ),
        find(json!({ "action": "list", "parentTaskId": "TASK" })),
        find(json!({ "action": "list", "projectId": "SLUG" })),
        find(json!({ "action": "search", "query": "zebra", "parentTaskId": "TASK" })),
        find(json!({ "action": "search", "query": "zebra", "projectId": "SLUG" })),
        find(json!({ "action": "search", "query": "zebra" })),
        find(json!({ "action": "tree", "id": "TASK" })),
        find(json!({ "action": "queue", "projectId": "SLUG" })),
        find(json!({ "action": "projects", "includeArchived": true })),
        find(json!({ "action": "activity", "projectId": "SLUG" })),
        find(json!({ "action": "estimate", "projectId": "SLUG" })),
        read("contract", json!({ "action": "verdict", "taskId": "TASK" })),
        read("kb", json!({ "action": "get", "entryId": "ENTRY" })),
        read("kb", json!({ "action": "search", "query": "zebra", "project": "SLUG" })),
        read("kb", json!({ "action": "search", "query": "zebra" })),
        read("kb", json!({ "action": "list", "project": "SLUG" })),
    ]
}

fn forest_writes() -> Vec<Call> {
    let project = |tool: &'static str, arguments: Value| call(tool, Worker, Reach::Project, arguments);
    let planner = |tool: &'static str, arguments: Value| call(tool, Planner, Reach::Project, arguments);
    vec![
        write("work", json!({ "phase": "start", "id": "TASK", "mode": "claim" })),
        project("work", json!({ "phase": "start", "projectId": "SLUG", "include": [], "parentContext": "none" })),
        write("work", json!({ "phase": "finish", "taskId": "TASK", "action": "preview" })),
        write(
            "work",
            json!({ "phase": "finish", "taskId": "TASK", "action": "apply", "finalComment": "x", "targetStatus": "in_review",
            "links": [], "verify": [{ "criterionId": "c1", "status": "pass" }] }),
        ),
        planner("task", json!({ "action": "create", "title": "x", "projectId": "SLUG" })),
        planner("task", json!({ "action": "create", "title": "x", "parentTaskId": "TASK", "projectId": "mine" })),
        write("task", json!({ "action": "update", "id": "TASK", "title": "x" })),
        write("task", json!({ "action": "update", "id": "TASK", "needsAttention": true, "needsAttentionReason": "x" })),
        write("task", json!({ "action": "status", "id": "TASK", "status": "in_progress" })),
        write("task", json!({ "action": "ask", "id": "TASK", "question": "x?" })),
        write("task", json!({ "action": "answer", "questionId": "QUESTION", "answer": "x" })),
        project("task", json!({ "action": "cascade_close", "id": "TASK", "status": "cancelled" })),
        write("annotate", json!({ "type": "comment", "taskId": "TASK", "body": "x" })),
        write(
            "annotate",
            json!({ "type": "link", "taskId": "TASK", "kind": "pr", "ref": "1", "url": "https://example.com/", "title": "x" }),
        ),
        project(
            "annotate",
            json!({ "type": "relation", "fromTaskId": "TASK", "toTaskId": "OWN", "kind": "supersedes" }),
        ),
        project(
            "annotate",
            json!({ "type": "relation", "fromTaskId": "OWN", "toTaskId": "TASK", "kind": "supersedes" }),
        ),
    ]
}

fn forest_rest() -> Vec<Call> {
    let pass = json!([{ "criterionId": "c1", "status": "pass" }]);
    let import = |arguments: Value| call("bulk", Planner, Reach::Project, arguments);
    vec![
        write(
            "contract",
            json!({ "action": "verify_criterion", "taskId": "TASK", "criterionId": "c1", "status": "pass" }),
        ),
        write("contract", json!({ "action": "verify_criteria", "taskId": "TASK", "items": pass })),
        write("contract", json!({ "action": "brief_merge", "id": "TASK", "patch": { "objective": "x" } })),
        write("contract", json!({ "action": "brief_replace", "id": "TASK", "brief": { "objective": "x" } })),
        write("kb", json!({ "action": "add", "title": "x", "body": "b", "taskId": "TASK" })),
        call("kb", Worker, Reach::Project, json!({ "action": "add", "title": "x", "body": "b", "project": "SLUG" })),
        call("kb", Worker, Reach::Project, json!({ "action": "update", "entryId": "ENTRY", "title": "x" })),
        write("kb", json!({ "action": "link", "entryId": "ENTRY", "taskId": "OWN" })),
        write("bulk", json!({ "action": "update", "ids": ["TASK"], "patch": { "priority": "high" } })),
        write("bulk", json!({ "action": "batch", "ids": ["TASK"], "patch": { "priority": "high" } })),
        import(
            json!({ "action": "import", "mode": "apply", "markdown": "- one", "parentTaskId": "TASK", "projectId": "mine" }),
        ),
        import(json!({ "action": "import", "mode": "apply", "markdown": "- one", "projectId": "SLUG" })),
        call("bulk", Maintainer, Reach::Project, json!({ "action": "remove", "ids": ["TASK"] })),
    ]
}
