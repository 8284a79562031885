//! P15 on this surface: every tool × what is another project's and what never was, with keys of two projects, over HTTP.
//!
//! Whoever has a key for one project hears of the other's task, question, entry and project what is said of those that never
//! were, word for word; no list tells of them; nothing of them changes; and each key does all of it in its own project.

use std::process::Command;

use docket_tests::program::docket;
use docket_tests::web::Web;
use serde_json::{Value, json};

use crate::text;

/// A word in every text of the other project.
const SECRET: &str = "zebra";
const NOWHERE: &str = "00000000-0000-7000-8000-000000000001";
const NO_ULID: &str = "01JZK3V5Q8X4R2M7N9P6T1B0CD";

/// What is named in a call.
#[derive(Clone)]
struct Names {
    task: String,
    question: String,
    entry: String,
    project: String,
}

/// A server, and what a key of it sees.
struct Door<'w> {
    web: &'w Web,
    bearer: String,
}

impl Door<'_> {
    /// What a tool answers: whether it failed, and all it said.
    fn call(&self, tool: &str, arguments: &Value) -> (bool, Value) {
        let headers = [("accept", "application/json, text/event-stream"), ("authorization", self.bearer.as_str())];
        let params = json!({ "name": tool, "arguments": arguments });
        let message = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params });
        let reply = self.web.to("POST", "/mcp/foresttasks", &headers, Some(message.to_string().as_bytes())).with(200);
        (reply["result"]["isError"] == json!(true), reply["result"]["structuredContent"].clone())
    }

    fn ok(&self, tool: &str, arguments: Value) -> Value {
        let (failed, said) = self.call(tool, &arguments);
        assert!(!failed, "{tool} {arguments}: {said}");
        said
    }
}

/// Every tool and action that names something.
fn calls(names: &Names) -> Vec<(&'static str, Value)> {
    let Names { task, question, entry, project } = names;
    let pass = json!([{ "criterionId": "c1", "status": "pass" }]);
    vec![
        ("get_task", json!({ "id": task })),
        (
            "get_task",
            json!({ "id": task, "profile": "full", "include": ["links", "relations", "activity", "subtasks"] }),
        ),
        ("find", json!({ "action": "tree", "id": task })),
        ("find", json!({ "action": "list", "parentTaskId": task })),
        ("find", json!({ "action": "search", "query": SECRET, "parentTaskId": task })),
        ("find", json!({ "action": "list", "projectId": project })),
        ("find", json!({ "action": "search", "query": SECRET, "projectId": project })),
        ("find", json!({ "action": "queue", "projectId": project })),
        ("find", json!({ "action": "activity", "projectId": project })),
        ("find", json!({ "action": "estimate", "projectId": project })),
        ("work", json!({ "phase": "start", "id": task })),
        ("work", json!({ "phase": "start", "id": task, "mode": "read", "parentContext": "force" })),
        ("work", json!({ "phase": "start", "projectId": project })),
        ("work", json!({ "phase": "finish", "taskId": task })),
        ("work", json!({ "phase": "finish", "taskId": task, "action": "apply", "finalComment": "mine now" })),
        ("task", json!({ "action": "create", "title": "mine", "projectId": project })),
        ("task", json!({ "action": "create", "title": "mine", "parentTaskId": task })),
        ("task", json!({ "action": "update", "id": task, "title": "mine now" })),
        ("task", json!({ "action": "update", "id": task, "needsAttention": true, "needsAttentionReason": "mine" })),
        ("task", json!({ "action": "status", "id": task, "status": "in_progress" })),
        ("task", json!({ "action": "cascade_close", "id": task, "status": "cancelled" })),
        ("task", json!({ "action": "ask", "id": task, "question": "mine?" })),
        ("task", json!({ "action": "answer", "questionId": question, "answer": "mine" })),
        ("annotate", json!({ "type": "comment", "taskId": task, "body": "mine" })),
        (
            "annotate",
            json!({ "type": "link", "taskId": task, "kind": "pr", "ref": "1", "url": "https://example.com/" }),
        ),
        ("annotate", json!({ "type": "relation", "fromTaskId": task, "toTaskId": "OWN", "kind": "blocks" })),
        ("annotate", json!({ "type": "relation", "fromTaskId": "OWN", "toTaskId": task, "kind": "blocks" })),
        ("bulk", json!({ "action": "update", "ids": [task], "patch": { "priority": "high" } })),
        ("bulk", json!({ "action": "batch", "ids": ["OWN", task], "patch": { "priority": "high" } })),
        ("bulk", json!({ "action": "remove", "ids": [task] })),
        ("bulk", json!({ "action": "import", "mode": "apply", "markdown": "- one", "parentTaskId": task })),
        ("bulk", json!({ "action": "import", "mode": "apply", "markdown": "- one", "projectId": project })),
        ("contract", json!({ "action": "brief_replace", "id": task, "brief": { "objective": "mine" } })),
        ("contract", json!({ "action": "brief_merge", "id": task, "patch": { "objective": "mine" } })),
        ("contract", json!({ "action": "verify_criterion", "taskId": task, "criterionId": "c1", "status": "pass" })),
        ("contract", json!({ "action": "verify_criteria", "taskId": task, "items": pass })),
        ("contract", json!({ "action": "verdict", "taskId": task })),
        ("kb", json!({ "action": "get", "entryId": entry })),
        ("kb", json!({ "action": "update", "entryId": entry, "title": "mine now" })),
        ("kb", json!({ "action": "link", "entryId": entry, "taskId": "OWN" })),
        ("kb", json!({ "action": "add", "title": "mine", "body": "b", "taskId": task })),
        ("kb", json!({ "action": "add", "title": "mine", "body": "b", "project": project })),
        ("kb", json!({ "action": "search", "query": SECRET, "project": project })),
        ("kb", json!({ "action": "list", "project": project })),
    ]
}

/// Every list that names nothing.
fn lists() -> Vec<(&'static str, Value)> {
    let find = |action: &str| ("find", json!({ "action": action }));
    vec![
        find("list"),
        find("queue"),
        find("projects"),
        find("activity"),
        ("find", json!({ "action": "search", "query": SECRET })),
        ("find", json!({ "action": "projects", "includeArchived": true })),
        ("find", json!({ "action": "list", "needsHuman": true })),
        ("kb", json!({ "action": "list" })),
        ("kb", json!({ "action": "search", "query": SECRET })),
    ]
}

/// What was said, without the names that were asked for and what differs each time.
fn plain(said: &Value, names: &Names, own: &str) -> String {
    let mut said = said.clone();
    forget_times(&mut said);
    let mut text = said.to_string();
    let quoted = format!("\\\"{}\\\"", names.project);
    for name in [names.task.as_str(), &names.question, &names.entry, &quoted, own] {
        text = text.replace(name, "X");
    }
    text
}

fn forget_times(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            for name in ["now", "asOf", "readToken", "until"] {
                fields.remove(name);
            }
            fields.values_mut().for_each(forget_times);
        }
        Value::Array(rows) => rows.iter_mut().for_each(forget_times),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

/// Fills a project with one of everything, through its own key.
fn fill(door: &Door<'_>, project: &str, word: &str) -> Names {
    let create = |title: &str| {
        let made =
            door.ok("task", json!({ "action": "create", "title": title, "projectId": project, "status": "ready" }));
        find_id(&made)
    };
    let (task, asked) = (create(word), create(&format!("{word} asked")));
    let brief = json!({ "objective": word, "acceptanceCriteria": [{ "text": word }] });
    door.ok("contract", json!({ "action": "brief_replace", "id": task, "brief": brief }));
    door.ok("annotate", json!({ "type": "comment", "taskId": task, "body": word }));
    let question = door.ok("task", json!({ "action": "ask", "id": asked, "question": format!("{word}?") }));
    let entry = door.ok("kb", json!({ "action": "add", "title": word, "body": word, "taskId": task }));
    let named = |said: &Value, name: &str| {
        let found = at(said, name);
        found.unwrap_or_else(|| panic!("no {name} in {said}"))
    };
    Names {
        task,
        question: named(&question["question"], "id"),
        entry: named(&entry, "entryId"),
        project: project.to_owned(),
    }
}

/// The id of what was made.
fn find_id(made: &Value) -> String {
    at(made, "id").or_else(|| at(made, "taskId")).unwrap_or_else(|| panic!("no id in {made}"))
}

/// The first text of this name, however deep.
fn at(value: &Value, name: &str) -> Option<String> {
    match value {
        Value::Object(fields) => match fields.get(name) {
            Some(Value::String(found)) => Some(found.clone()),
            _ => fields.values().find_map(|inner| at(inner, name)),
        },
        Value::Array(rows) => rows.iter().find_map(|row| at(row, name)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => None,
    }
}

#[test]
fn a_key_of_one_project_hears_and_changes_nothing_of_the_other() {
    let folder = tempfile::tempdir().expect("a folder");
    let database = folder.path().join("work.db");
    let run = |arguments: &[&str]| -> Value {
        let mut command = Command::new(docket());
        command.args(["--db", &format!("sqlite:{}", database.display()), "--json"]).args(arguments);
        let out = command.current_dir(folder.path()).output().expect("the program");
        assert!(out.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&out.stderr));
        serde_json::from_slice(&out.stdout).expect("JSON")
    };
    run(&["--project", "mine", "init", "--prefix", "MINE", "--preset", "foresttasks"]);
    run(&["project", "set", "other", "--prefix", "OTHER", "--preset", "foresttasks"]);
    let key = |project: &str| {
        let made = run(&["key", "create", "--profile", "maintainer", "--name", project, "--project", project]);
        format!("Bearer {}", text(&made["secret"]))
    };
    let keys = [key("mine"), key("other")];
    std::fs::remove_file(folder.path().join("docket.toml")).ok();
    let web = Web::on(&database, |_| {});
    let [mine, other] = keys.map(|bearer| Door { web: &web, bearer });
    let own = fill(&mine, "mine", "plain");
    let theirs = fill(&other, "other", SECRET);
    let nobodys = Names {
        task: NOWHERE.to_owned(),
        question: NO_ULID.to_owned(),
        entry: NO_ULID.to_owned(),
        project: "never".to_owned(),
    };
    let events = || run(&["--project", "other", "events", "--limit", "200"])["events"].as_array().map(Vec::len);
    let before = events();
    assert!(before.is_some_and(|events| events > 3), "{before:?}");
    let fill_in = |arguments: &Value| -> Value {
        serde_json::from_str(&arguments.to_string().replace("OWN", &own.task)).expect("JSON")
    };
    for ((tool, about_theirs), (_, about_nothing)) in calls(&theirs).into_iter().zip(calls(&nobodys)) {
        let (failed, told) = mine.call(tool, &fill_in(&about_theirs));
        let (_, untold) = mine.call(tool, &fill_in(&about_nothing));
        let (told, untold) = (plain(&told, &theirs, &own.task), plain(&untold, &nobodys, &own.task));
        assert_eq!(told, untold, "{tool} {about_theirs} tells");
        // A batch tells of each by itself.
        assert!(failed || told.contains("\"code\":\"NOT_FOUND\""), "{tool} {about_theirs} was done: {told}");
        assert!(!told.contains("OTHER") && !told.contains(&theirs.task), "{tool} {about_theirs}: {told}");
    }
    for (tool, arguments) in lists() {
        let said = mine.ok(tool, arguments.clone()).to_string().replace(&format!("\"query\":\"{SECRET}\""), "");
        assert!(!said.contains(SECRET) && !said.contains("OTHER") && !said.contains(&theirs.task), "{tool}: {said}");
    }
    assert_eq!(events(), before, "something of the other project has changed");
    // And with the other's own key all of it is there.
    assert!(other.ok("get_task", json!({ "id": theirs.task })).to_string().contains(SECRET));
    assert!(other.ok("kb", json!({ "action": "get", "entryId": theirs.entry })).to_string().contains(SECRET));
    other.ok("task", json!({ "action": "answer", "questionId": theirs.question, "answer": "this one" }));
    assert!(mine.ok("get_task", json!({ "id": own.task })).to_string().contains("plain"));
}

/// Runs the program on a database; returns its JSON answer.
fn operate(folder: &std::path::Path, arguments: &[&str]) -> Value {
    let mut command = Command::new(docket());
    command.current_dir(folder).arg("--db").arg(format!("sqlite:{}", folder.join("work.db").display()));
    let out = command.arg("--json").args(arguments).output().expect("it runs");
    assert!(out.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&out.stderr));
    serde_json::from_slice(&out.stdout).expect("JSON")
}

/// A database with these projects, and nothing of it in a file.
fn projects(slugs: &[&str]) -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    for (number, slug) in slugs.iter().enumerate() {
        let prefix = slug.to_uppercase();
        let words = ["--prefix", &prefix, "--preset", "foresttasks"];
        if number == 0 {
            operate(folder.path(), &[&["--project", slug, "init"], &words[..]].concat());
        } else {
            operate(folder.path(), &[&["project", "set", slug], &words[..]].concat());
        }
    }
    std::fs::remove_file(folder.path().join("docket.toml")).ok();
    folder
}

fn bearer(folder: &std::path::Path, name: &str, projects: &[&str]) -> String {
    let mut words = vec!["key", "create", "--profile", "worker", "--name", name];
    words.extend(projects.iter().flat_map(|slug| ["--project", slug]));
    format!("Bearer {}", text(&operate(folder, &words)["secret"]))
}

#[test]
fn a_key_of_one_project_need_not_name_it_and_one_of_several_must() {
    let folder = projects(&["one", "two", "three"]);
    let single = bearer(folder.path(), "single", &["two"]);
    let double = bearer(folder.path(), "double", &["one", "two"]);
    let web = Web::on(&folder.path().join("work.db"), |_| {});
    let calls = [
        ("task", json!({ "action": "create", "title": "t" })),
        ("bulk", json!({ "action": "import", "markdown": "- a", "mode": "apply" })),
        ("find", json!({ "action": "list" })),
    ];
    let single = Door { web: &web, bearer: single };
    for (tool, arguments) in &calls {
        single.ok(tool, arguments.clone());
    }
    let made = single.ok("find", json!({ "action": "list" }))["tasks"].clone();
    assert_eq!(crate::each(&made, "project"), ["two", "two"], "{made}");
    let double = Door { web: &web, bearer: double };
    for (tool, arguments) in &calls {
        let (failed, said) = double.call(tool, arguments);
        assert!(failed && said["error"]["code"] == "PROJECT_REQUIRED", "{tool}: {said}");
        let message = text(&said["error"]["message"]);
        assert!(message.contains("one") && message.contains("two") && !message.contains("three"), "{message}");
        let mut named = arguments.clone();
        named["projectId"] = json!("one");
        double.ok(tool, named.clone());
        named["projectId"] = json!("three");
        assert_eq!(double.call(tool, &named).1["error"]["code"], "NOT_FOUND", "{tool}");
    }
    let found = double.ok("find", json!({ "action": "search", "query": "t" }));
    assert_eq!(found["total"], 2, "a search is of all it may see: {found}");
}

/// The measure of the original: 60 at once, then one a second, over REST and MCP together.
#[test]
fn who_calls_too_often_is_told_when_to_come_again() {
    let folder = projects(&["one"]);
    let bearer = bearer(folder.path(), "busy", &["one"]);
    std::fs::write(folder.path().join("docket.toml"), "[limits]\nburst = 60\nper_second = 1\n").expect("a file");
    let place = folder.path().to_owned();
    let web = Web::on(&folder.path().join("work.db"), |serve| {
        serve.current_dir(place);
    });
    let message = json!({
        "jsonrpc": "2.0", "id": 1, "method": "tools/call",
        "params": { "name": "find", "arguments": { "action": "projects" } },
    });
    let headers = [("accept", "application/json, text/event-stream"), ("authorization", bearer.as_str())];
    let call = || web.to("POST", "/mcp/foresttasks", &headers, Some(message.to_string().as_bytes()));
    let begun = std::time::Instant::now();
    let mut good = 0;
    let limited = loop {
        let reply = call();
        if reply.status != 200 {
            break reply;
        }
        good += 1;
        assert!(good < 200, "nothing limits it");
    };
    let most = 60 + usize::try_from(begun.elapsed().as_secs()).unwrap_or_default() + 1;
    assert!((60..=most).contains(&good), "{good} in {:?}", begun.elapsed());
    assert_eq!(limited.reason(429), "rate_limited");
    assert!(limited.header("retry-after").parse::<u32>().is_ok_and(|seconds| seconds >= 1), "{limited:?}");
    let by_rest = web.send("GET", "/projects", &[("authorization", bearer.as_str())], None);
    assert!(by_rest.status == 429 || begun.elapsed().as_secs() >= 1, "one measure for both: {by_rest:?}");
}
