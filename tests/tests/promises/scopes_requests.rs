//! What P15 asks over HTTP: every operation of the OpenAPI document, with words in capitals for what it names.

use std::collections::BTreeSet;

use docket_core::access::Profile;
use serde_json::{Value, json};

use crate::openapi::{Document, Operation};

/// A method, an address and a body.
pub(crate) type Request = (&'static str, &'static str, Value);

/// Every request that names an item, with `ID` for it; `OWN` is an item of the caller's, `MINE` an entry.
pub(crate) fn about_items() -> Vec<Request> {
    let reads = READS.iter().map(|path| ("GET", *path, Value::Null));
    reads.chain(writes_to_items()).collect()
}

const READS: [&str; 26] = [
    "/items/ID",
    "/items/ID/context",
    "/items/ID/standing",
    "/items/ID/why",
    "/items/ID/overview",
    "/items/ID/tree",
    "/items/ID/notes",
    "/items/ID/notes/remark",
    "/items/ID/edges",
    "/items/ID/dossier?profile=full",
    "/items/ID/brief",
    "/items/ID/verdict",
    "/items/ID/questions",
    "/items/ID/checks",
    "/items/ID/runs",
    "/sessions?item=ID",
    "/items/ID/comments",
    "/items/ID/links",
    "/items/ID/events",
    "/events?item=ID",
    "/queue?under=ID",
    "/items?parent=ID",
    "/items/ID/knowledge",
    "/knowledge?item=ID",
    "/knowledge/search?q=zebra&item=ID",
    "/events/stream?item=ID",
];

fn writes_to_items() -> Vec<Request> {
    vec![
        ("POST", "/items/ID/sessions", json!({ "runtime": { "model": "small" } })),
        ("PATCH", "/items/ID", json!({ "title": "new" })),
        ("POST", "/items/ID/transitions", json!({ "trigger": "start" })),
        ("PUT", "/items/ID/claim", json!({})),
        ("DELETE", "/items/ID/claim", Value::Null),
        ("PUT", "/items/ID/notes/late", json!({ "body": "words" })),
        ("DELETE", "/items/ID/notes/remark", Value::Null),
        ("PUT", "/items/ID/brief", json!({ "objective": "new" })),
        ("PATCH", "/items/ID/brief", json!({ "objective": null })),
        ("DELETE", "/items/ID/brief", Value::Null),
        ("POST", "/items/ID/evidence", json!({ "criteria": [{ "id": "c1", "passed": true }] })),
        ("PUT", "/items/ID/checks", json!({ "checks": [{ "desc": "new", "cmd": "true" }] })),
        ("POST", "/items/ID/checks", json!({ "checks": [{ "desc": "more" }] })),
        ("POST", "/items/ID/checks/approve", json!({ "version": 2 })),
        ("POST", "/items/ID/checks/0/attest", json!({ "passed": true })),
        ("POST", "/items/ID/checks/run", json!({})),
        ("POST", "/items/ID/submit", json!({ "output": "words" })),
        ("POST", "/items/ID/questions", json!({ "question": "which?" })),
        ("POST", "/items/ID/comments", json!({ "comment": "words" })),
        ("POST", "/items/ID/links", json!({ "links": [{ "kind": "a", "ref": "b", "url": "https://example.com/" }] })),
        ("POST", "/items/ID/begin", json!({})),
        ("POST", "/items/ID/finish", json!({ "preview": true })),
        ("POST", "/items/ID/close-tree", json!({})),
        ("POST", "/bulk/items/patch", json!({ "ids": ["ID"], "patch": { "title": "new" } })),
        ("POST", "/projects/mine/import-markdown", json!({ "markdown": "- one", "parent": "ID" })),
        ("POST", "/items/ID/close-beneath", json!({})),
        ("PUT", "/items/ID/knowledge/MINE", Value::Null),
        ("DELETE", "/items/ID/knowledge/MINE", Value::Null),
        ("POST", "/knowledge", json!({ "entries": [{ "title": "new", "body": "words" }], "item": "ID" })),
        ("POST", "/queue/claim", json!({ "under": "ID" })),
        ("POST", "/queue/claim", json!({ "parent": "ID" })),
        ("POST", "/bulk/items", json!({ "items": [{ "title": "child", "parent": "ID" }] })),
        ("POST", "/bulk/edges", json!({ "edges": [{ "from": "OWN", "to": "ID" }] })),
        ("DELETE", "/edges?from=OWN&to=ID", Value::Null),
        ("DELETE", "/edges?from=ID&to=OWN", Value::Null),
        ("POST", "/edges", json!({ "from": "ID", "to": "OWN" })),
        ("POST", "/edges", json!({ "from": "OWN", "to": "ID" })),
        ("POST", "/items", json!({ "title": "child", "parent": "ID" })),
        ("POST", "/trees", json!({ "root": { "title": "root" }, "parent": "ID" })),
        ("PATCH", "/bulk/items", json!({ "items": [{ "item": "ID", "title": "new" }] })),
        ("POST", "/bulk/transitions", json!({ "transitions": [{ "item": "ID", "trigger": "start" }] })),
        ("POST", "/bulk/claims", json!({ "claims": [{ "item": "ID" }], "releases": ["ID"] })),
        ("PUT", "/bulk/notes", json!({ "notes": [{ "item": "ID", "key": "late", "body": "words" }] })),
        ("POST", "/bulk/items/remove", json!({ "items": ["ID"] })),
        ("DELETE", "/items/ID", Value::Null),
    ]
}

/// Every request that names something else: a run, a session, a question, a link, an edge, an entry.
pub(crate) fn about_others() -> Vec<Request> {
    vec![
        ("GET", "/runs/RUN", Value::Null),
        ("GET", "/runs/RUN/log", Value::Null),
        ("POST", "/runs/RUN/cancel", Value::Null),
        ("GET", "/sessions/SESSION", Value::Null),
        ("POST", "/sessions/SESSION/heartbeat", json!({ "text": "mine" })),
        ("POST", "/sessions/SESSION/finish", json!({ "summary": "mine" })),
        ("POST", "/sessions/SESSION/cancel", json!({ "reason": "mine" })),
        ("POST", "/questions/QUESTION/answer", json!({ "answer": "mine" })),
        ("POST", "/questions/QUESTION/withdraw", Value::Null),
        ("DELETE", "/links/LINK", Value::Null),
        ("DELETE", "/edges/EDGE", Value::Null),
        ("GET", "/knowledge/ENTRY", Value::Null),
        ("PATCH", "/knowledge/ENTRY", json!({ "title": "mine" })),
        ("POST", "/knowledge/ENTRY/review", json!({ "reviewed": true, "version": 1 })),
        ("PUT", "/items/OWN/knowledge/ENTRY", Value::Null),
        ("DELETE", "/items/OWN/knowledge/ENTRY", Value::Null),
        ("DELETE", "/knowledge/ENTRY", Value::Null),
    ]
}

/// Every write that names a project, with `SLUG` for it.
pub(crate) fn about_projects() -> Vec<Request> {
    vec![
        ("PATCH", "/projects/SLUG", json!({ "name": "mine" })),
        ("PATCH", "/projects/SLUG/settings", json!({ "maxDepth": 4 })),
        ("POST", "/projects", json!({ "slug": "SLUG" })),
        ("POST", "/items", json!({ "title": "new", "project": "SLUG" })),
        ("POST", "/trees", json!({ "root": { "title": "new" }, "project": "SLUG" })),
        ("POST", "/bulk/items", json!({ "items": [{ "title": "new" }], "project": "SLUG" })),
        ("POST", "/knowledge", json!({ "entries": [{ "title": "new", "body": "words" }], "project": "SLUG" })),
        ("POST", "/queue/claim", json!({ "project": "SLUG" })),
        ("POST", "/projects/SLUG/import-markdown", json!({ "markdown": "- one" })),
    ]
}

/// What concerns the whole database: refused to whoever is limited, before anything is looked at.
pub(crate) fn about_everything() -> Vec<Request> {
    vec![
        ("GET", "/keys", Value::Null),
        ("POST", "/keys", json!({ "profile": "viewer" })),
        ("POST", "/keys/KEY/rotate", Value::Null),
        ("DELETE", "/keys/KEY", Value::Null),
        ("GET", "/export", Value::Null),
        ("POST", "/import", json!({ "docket": 1 })),
    ]
}

/// Every list, and what names a project as `SLUG`.
pub(crate) const LISTS: [&str; 35] = [
    "/projects/SLUG/settings",
    "/sessions",
    "/sessions?health=active",
    "/sessions?project=SLUG",
    "/items",
    "/search?q=zebra",
    "/tree",
    "/queue",
    "/why",
    "/blocked",
    "/overview",
    "/events",
    "/projects",
    "/projects/SLUG",
    "/projects/SLUG/health",
    "/projects/SLUG/activity?since=2020-01-01T00:00:00Z",
    "/projects/SLUG/estimate",
    "/projects/SLUG/workflow",
    "/projects?includeArchived=true",
    "/inbox",
    "/inbox?project=SLUG",
    "/items?project=SLUG",
    "/knowledge",
    "/knowledge?project=SLUG",
    "/knowledge/search?q=zebra",
    "/knowledge/search?q=zebra&project=SLUG",
    "/me",
    "/node-types",
    "/node-types?project=SLUG",
    "/node-types/default?project=SLUG",
    "/node-types/default/workflow?project=SLUG",
    "/workflows",
    "/workflows/standard",
    "/queue?project=SLUG",
    "/events?project=SLUG",
];

/// The least profile that each operation needs which is no read of a project's.
const LEAST: [(Profile, &[(&str, &str)]); 4] = [
    (
        Profile::Planner,
        &[
            ("POST", "/items"),
            ("POST", "/trees"),
            ("POST", "/bulk/items"),
            ("POST", "/projects/{slug}/import-markdown"),
        ],
    ),
    (
        Profile::Worker,
        &[
            ("PATCH", "/items/{id}"),
            ("POST", "/items/{id}/sessions"),
            ("POST", "/items/{id}/transitions"),
            ("PUT", "/items/{id}/claim"),
            ("DELETE", "/items/{id}/claim"),
            ("PUT", "/items/{id}/notes/{key}"),
            ("PUT", "/items/{id}/brief"),
            ("PATCH", "/items/{id}/brief"),
            ("DELETE", "/items/{id}/brief"),
            ("POST", "/items/{id}/evidence"),
            ("PUT", "/items/{id}/checks"),
            ("POST", "/items/{id}/checks"),
            ("POST", "/items/{id}/checks/run"),
            ("POST", "/items/{id}/submit"),
            ("POST", "/items/{id}/questions"),
            ("POST", "/items/{id}/comments"),
            ("POST", "/items/{id}/links"),
            ("POST", "/items/{id}/begin"),
            ("POST", "/items/{id}/finish"),
            ("POST", "/items/{id}/close-tree"),
            ("POST", "/items/{id}/close-beneath"),
            ("PUT", "/items/{id}/knowledge/{key}"),
            ("DELETE", "/items/{id}/knowledge/{key}"),
            ("POST", "/bulk/items/patch"),
            ("PATCH", "/bulk/items"),
            ("POST", "/bulk/transitions"),
            ("POST", "/bulk/claims"),
            ("POST", "/bulk/edges"),
            ("PUT", "/bulk/notes"),
            ("POST", "/edges"),
            ("POST", "/knowledge"),
            ("PATCH", "/knowledge/{entry}"),
            ("POST", "/queue/claim"),
            ("POST", "/runs/{run}/cancel"),
            ("POST", "/sessions/{session}/heartbeat"),
            ("POST", "/sessions/{session}/finish"),
            ("POST", "/sessions/{session}/cancel"),
            ("POST", "/questions/{question}/answer"),
            ("POST", "/questions/{question}/withdraw"),
        ],
    ),
    (
        Profile::Operator,
        &[
            ("POST", "/items/{id}/checks/approve"),
            ("POST", "/items/{id}/checks/{index}/attest"),
            ("POST", "/knowledge/{entry}/review"),
        ],
    ),
    (
        Profile::Maintainer,
        &[
            ("DELETE", "/items/{id}"),
            ("DELETE", "/links/{link}"),
            ("DELETE", "/knowledge/{entry}"),
            ("DELETE", "/items/{id}/notes/{key}"),
            ("DELETE", "/edges"),
            ("DELETE", "/edges/{edge}"),
            ("POST", "/bulk/items/remove"),
            ("POST", "/projects"),
            ("PATCH", "/projects/{slug}"),
            ("PATCH", "/projects/{slug}/settings"),
            ("GET", "/keys"),
            ("POST", "/keys"),
            ("POST", "/keys/{key}/rotate"),
            ("DELETE", "/keys/{key}"),
            ("GET", "/export"),
            ("POST", "/import"),
        ],
    ),
];

/// The least profile that may do an operation: whoever reads needs none but the first.
pub(crate) fn least((method, path): &Operation) -> Profile {
    let named = |(_, operations): &&(Profile, &[(&str, &str)])| operations.contains(&(method, path));
    match LEAST.iter().find(named) {
        Some((profile, _)) => *profile,
        None if method == "GET" => Profile::Viewer,
        None => panic!("{method} {path}: say who may do it"),
    }
}

/// The operations of the document that nothing above asks for.
fn left_out() -> BTreeSet<Operation> {
    let document = Document::read();
    let lists = LISTS.iter().map(|path| ("GET", *path, Value::Null));
    let asked = [about_items(), about_others(), about_projects(), about_everything()].concat();
    let mut left = document.operations();
    for (method, path, _) in asked.into_iter().chain(lists) {
        left.remove(&document.meant(method, path));
    }
    left
}

#[test]
fn every_operation_of_the_document_is_asked_for() {
    let left = left_out();
    assert!(left.is_empty(), "P15 asks nothing of these: name them here, and see what they tell: {left:?}");
}
