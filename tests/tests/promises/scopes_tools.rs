//! What P15 asks of the tools of MCP surfaces, here of the native one: every tool and everything that it can be told to do, with words
//! in capitals for what it names.

use std::collections::{BTreeMap, BTreeSet};

use docket_core::access::Profile::{self, Maintainer, Planner, Viewer, Worker};
use serde_json::{Value, json};

/// How far a call reaches.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Reach {
    /// The item it names.
    Item,
    /// The project.
    Project,
    /// The whole database.
    Everything,
    /// Only a person does it, and these clients cannot ask one.
    Person,
}

/// One call: the tool, who may make it, and its arguments.
pub(crate) struct Call {
    pub(crate) tool: &'static str,
    pub(crate) least: Profile,
    pub(crate) reach: Reach,
    pub(crate) arguments: Value,
}

impl Call {
    /// Whether it only looks.
    pub(crate) fn reads(&self) -> bool {
        self.least == Viewer
    }

    /// Whether it names nothing but an item.
    pub(crate) fn is_about_items(&self) -> bool {
        let text = self.arguments.to_string();
        !WORDS.iter().any(|(word, _)| *word != "TASK" && text.contains(word))
    }
}

const NOWHERE: &str = "00000000-0000-7000-8000-000000000001";
/// What has another form of id, and never was.
const NO_ULID: &str = "01JZK3V5Q8X4R2M7N9P6T1B0CD";

/// The words for what is named, and what never was of the kind. `OWN` is an item of the caller's own.
pub(crate) const WORDS: [(&str, &str); 9] = [
    ("TASK", NOWHERE),
    ("EDGE", NOWHERE),
    ("NOTE", NOWHERE),
    ("QUESTION", NO_ULID),
    ("ENTRY", NO_ULID),
    ("RUN", NO_ULID),
    ("SESSION", NO_ULID),
    ("LINK", NO_ULID),
    ("SLUG", "none"),
];

/// A surface, its calls, and the arguments that name nothing and do nothing by themselves.
pub(crate) struct Surface {
    pub(crate) name: &'static str,
    /// The argument by which a tool is told what to do.
    pub(crate) by: &'static [&'static str],
    pub(crate) calls: Vec<Call>,
    pub(crate) resources: &'static [&'static str],
    pub(crate) plain: &'static [&'static str],
}

impl Surface {
    /// Fails for a tool, a way to use one, or an argument that no call names.
    pub(crate) fn names_all(&self, tools: &[Value]) {
        let mut used: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
        for call in &self.calls {
            let names = call.arguments.as_object().expect("arguments").keys().map(String::as_str);
            used.entry(call.tool).or_default().extend(names);
        }
        let mut missing = Vec::new();
        for tool in tools {
            let name = tool["name"].as_str().expect("a name");
            let used = used.get(name).unwrap_or_else(|| panic!("{}: the tool {name} is not in the matrix", self.name));
            for (argument, schema) in tool["inputSchema"]["properties"].as_object().expect("properties") {
                let known = used.contains(argument.as_str()) || self.plain.contains(&argument.as_str());
                if !known {
                    missing.push(format!("{argument} of {name}"));
                }
                if !self.by.contains(&argument.as_str()) {
                    continue;
                }
                for word in schema["enum"].as_array().into_iter().flatten() {
                    let said = |call: &&Call| call.tool == name && call.arguments[argument] == *word;
                    if !self.calls.iter().any(|call| said(&call)) {
                        missing.push(format!("{name} {word}"));
                    }
                }
            }
        }
        assert!(missing.is_empty(), "{}: not in the matrix: {}", self.name, missing.join(", "));
    }
}

pub(crate) fn call(tool: &'static str, least: Profile, reach: Reach, arguments: Value) -> Call {
    Call { tool, least, reach, arguments }
}

pub(crate) fn read(tool: &'static str, arguments: Value) -> Call {
    call(tool, Viewer, Reach::Item, arguments)
}

pub(crate) fn write(tool: &'static str, arguments: Value) -> Call {
    call(tool, Worker, Reach::Item, arguments)
}

/// The native surface.
pub(crate) fn native() -> Surface {
    let mut calls = native_reads();
    calls.extend(native_work());
    calls.extend(native_words());
    // Where an item is looked up in a project that is named, that must be one's own too.
    let named = ["edit", "annotate", "contract", "ask", "remove", "advance"];
    calls.extend(native_words_in_projects(named));
    calls.extend(native_ends());
    Surface {
        name: "docket",
        by: &["what", "phase", "op"],
        calls,
        resources: &["docket://item/TASK", "board://SLUG"],
        plain: &[
            "actor",
            "requestId",
            "fence",
            "version",
            "atomic",
            "dryRun",
            "limit",
            "maxTokens",
            "cursor",
            "fields",
            "sort",
            "order",
            "since",
            "roles",
            "status",
            "statuses",
            "tags",
            "type",
            "priority",
            "claim",
            "blocked",
            "attention",
            "capabilities",
            "state",
            "health",
            "verbs",
            "ttlSeconds",
            "knowledge",
            "parentContext",
            "runtime",
            "percent",
            "step",
            "blankNotes",
            "summary",
            "options",
            "recursive",
            "all",
            "lastsSeconds",
            "name",
            "prefix",
            "preset",
            "profile",
            "include",
            "replace",
            "learned",
            "progress",
            "waitMs",
            "timeoutMs",
            "preview",
            "archived",
        ],
    }
}

fn native_reads() -> Vec<Call> {
    let find = |arguments: Value| read("find", arguments);
    let include = json!(["parent", "links", "relations", "activity", "subtasks", "comments", "notes", "checks"]);
    let mut calls = vec![
        read("get", json!({ "id": "TASK", "profile": "full", "include": include })),
        read("get", json!({ "id": "TASK", "project": "SLUG" })),
        find(json!({ "what": "list", "parent": "TASK" })),
        find(json!({ "what": "search", "query": "zebra", "under": "TASK" })),
        find(json!({ "what": "tree", "id": "TASK" })),
        find(json!({ "what": "queue", "under": "TASK" })),
        find(json!({ "what": "why", "id": "TASK" })),
        find(json!({ "what": "activity", "id": "TASK" })),
        find(json!({ "what": "runs", "id": "TASK" })),
        find(json!({ "what": "log", "id": "RUN" })),
        find(json!({ "what": "sessions", "id": "TASK" })),
        find(json!({ "what": "sessions", "actor": "zoe" })),
        find(json!({ "what": "knowledge", "id": "TASK" })),
        find(json!({ "what": "knowledge", "query": "zebra" })),
        find(json!({ "what": "search", "query": "zebra" })),
        find(json!({ "what": "projects" })),
        read("wait", json!({ "id": "TASK", "timeoutMs": 0 })),
        read("wait", json!({ "parent": "TASK", "timeoutMs": 0 })),
        read("wait", json!({ "project": "SLUG", "timeoutMs": 0 })),
    ];
    let whole = ["list", "queue", "blocked", "why", "overview", "health", "inbox", "estimate", "events", "knowledge"];
    calls.extend(whole.map(|what| find(json!({ "what": what, "project": "SLUG" }))));
    calls
}

fn native_work() -> Vec<Call> {
    let plan = |arguments: Value| call("plan", Planner, Reach::Project, arguments);
    let project = |tool: &'static str, arguments: Value| call(tool, Worker, Reach::Project, arguments);
    vec![
        plan(json!({ "items": [{ "title": "x" }], "parent": "TASK" })),
        plan(json!({ "items": [{ "title": "x", "blockedBy": ["TASK"] }] })),
        plan(
            json!({ "items": [{ "title": "x", "ref": "a" }], "edges": [{ "from": "a", "to": "TASK", "kind": "relates-to" }] }),
        ),
        plan(json!({ "markdown": "# x", "parent": "TASK" })),
        plan(json!({ "items": [{ "title": "x" }], "project": "SLUG" })),
        write("work", json!({ "phase": "start", "id": "TASK" })),
        project("work", json!({ "phase": "start", "under": "TASK" })),
        project("work", json!({ "phase": "start", "project": "SLUG" })),
        write("work", json!({ "phase": "heartbeat", "id": "TASK" })),
        write("work", json!({ "phase": "heartbeat", "session": "SESSION", "progress": "x" })),
        write("work", json!({ "phase": "finish", "id": "TASK", "preview": true })),
        write(
            "work",
            json!({ "phase": "finish", "id": "TASK", "comment": "x", "to": "start", "verify": [{ "id": "c1", "passed": true }],
            "links": [{ "kind": "a", "ref": "b", "url": "https://example.com/" }] }),
        ),
        write("work", json!({ "phase": "release", "id": "TASK" })),
        write("edit", json!({ "ids": ["TASK"], "patch": { "title": "x" } })),
        write("edit", json!({ "items": [{ "id": "TASK", "title": "x" }] })),
        write("edit", json!({ "ids": ["OWN"], "patch": { "parent": "TASK" }, "project": "mine" })),
        write("advance", json!({ "id": "TASK", "to": "start" })),
        write("advance", json!({ "moves": [{ "id": "TASK", "to": "start" }] })),
        project("advance", json!({ "id": "TASK", "to": "complete", "tree": true })),
        project("advance", json!({ "id": "TASK", "to": "cancel", "tree": true, "force": true })),
    ]
}

fn native_words() -> Vec<Call> {
    let project = |tool: &'static str, arguments: Value| call(tool, Worker, Reach::Project, arguments);
    let person = |arguments: Value| call("contract", Profile::Operator, Reach::Person, arguments);
    vec![
        write("annotate", json!({ "id": "TASK", "comment": "x" })),
        write("annotate", json!({ "id": "TASK", "notes": [{ "key": "k", "body": "b" }] })),
        write("annotate", json!({ "id": "TASK", "attention": "x" })),
        write(
            "annotate",
            json!({ "id": "TASK", "links": [{ "kind": "a", "ref": "b", "url": "https://example.com/" }] }),
        ),
        project("annotate", json!({ "id": "TASK", "edges": [{ "to": "OWN", "kind": "relates-to" }] })),
        project("annotate", json!({ "id": "OWN", "edges": [{ "to": "TASK", "kind": "relates-to" }] })),
        write("contract", json!({ "id": "TASK" })),
        write("contract", json!({ "id": "TASK", "brief": { "objective": "x" } })),
        write("contract", json!({ "id": "TASK", "verify": [{ "id": "c1", "passed": true }] })),
        write("contract", json!({ "id": "TASK", "checks": [{ "desc": "x" }] })),
        write("contract", json!({ "id": "TASK", "run": { "only": [0] } })),
        person(json!({ "id": "TASK", "approve": [] })),
        person(json!({ "id": "TASK", "attest": 0 })),
        write("contract", json!({ "id": "OWN", "cancel": "RUN" })),
        write("ask", json!({ "id": "TASK", "question": "x" })),
        write("ask", json!({ "id": "TASK", "answer": "x" })),
        write("ask", json!({ "questionId": "QUESTION", "withdraw": true })),
        write("ask", json!({ "questionId": "QUESTION", "answer": "x" })),
        write("learn", json!({ "learned": [{ "title": "x", "body": "b" }], "id": "TASK" })),
        project("learn", json!({ "learned": [{ "title": "x", "body": "b" }], "project": "SLUG" })),
        project("learn", json!({ "edit": { "id": "ENTRY", "title": "x" } })),
        write("learn", json!({ "used": ["ENTRY"], "id": "OWN" })),
        write("learn", json!({ "unused": ["ENTRY"], "id": "OWN" })),
    ]
}

fn native_words_in_projects(tools: [&'static str; 6]) -> Vec<Call> {
    let arguments = |tool: &str| match tool {
        "edit" => json!({ "ids": ["TASK"], "patch": { "title": "x" }, "project": "SLUG" }),
        "annotate" => json!({ "id": "TASK", "comment": "x", "project": "SLUG" }),
        "contract" => json!({ "id": "TASK", "project": "SLUG" }),
        "ask" => json!({ "id": "TASK", "question": "x", "project": "SLUG" }),
        "remove" => json!({ "notesOf": { "id": "TASK" }, "project": "SLUG" }),
        _ => json!({ "id": "TASK", "to": "start", "project": "SLUG" }),
    };
    let least = |tool: &str| if tool == "remove" { Maintainer } else { Worker };
    tools.map(|tool| call(tool, least(tool), Reach::Item, arguments(tool))).into()
}

fn native_ends() -> Vec<Call> {
    let remove = |reach: Reach, arguments: Value| call("remove", Maintainer, reach, arguments);
    let all = |arguments: Value| call("admin", Maintainer, Reach::Everything, arguments);
    vec![
        remove(Reach::Item, json!({ "notesOf": { "id": "TASK" } })),
        remove(Reach::Item, json!({ "notes": [NOWHERE] })),
        remove(Reach::Item, json!({ "links": ["LINK"] })),
        remove(Reach::Project, json!({ "entries": ["ENTRY"] })),
        remove(Reach::Project, json!({ "edges": ["EDGE"] })),
        remove(Reach::Project, json!({ "edgesOf": { "id": "TASK" } })),
        remove(Reach::Project, json!({ "edgesOf": { "id": "OWN", "to": "TASK" } })),
        remove(Reach::Project, json!({ "items": ["TASK"], "dryRun": true })),
        call("admin", Maintainer, Reach::Project, json!({ "op": "project.set", "slug": "SLUG", "name": "x" })),
        call("admin", Maintainer, Reach::Project, json!({ "op": "settings", "slug": "SLUG" })),
        call(
            "admin",
            Maintainer,
            Reach::Project,
            json!({ "op": "settings", "slug": "SLUG", "settings": { "maxDepth": 7 } }),
        ),
        all(json!({ "op": "project.create", "slug": "brand-new" })),
        // That there is one's own already is no secret.
        call("admin", Maintainer, Reach::Project, json!({ "op": "project.create", "slug": "SLUG" })),
        all(json!({ "op": "key.create", "profile": "viewer", "projects": ["SLUG"] })),
        all(json!({ "op": "key.create", "profile": "viewer", "item": "TASK" })),
        all(json!({ "op": "key.rotate", "key": "admin" })),
        all(json!({ "op": "key.revoke", "key": "admin" })),
        all(json!({ "op": "key.list" })),
        remove(Reach::Project, json!({ "items": ["TASK"], "recursive": true })),
    ]
}
