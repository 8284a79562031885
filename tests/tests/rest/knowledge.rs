//! Knowledge by REST: a word for what was read, provenance that follows the writer, lists that say what they cut; and the same
//! by the command line and by tools.

use std::collections::BTreeMap;
use std::process::Output;

use docket_tests::mcp::Server;
use docket_tests::web::{Web, command_on};
use serde_json::{Value, json};

const BOT: (&str, &str) = ("x-docket-actor", "subagent:bot");

fn learned(web: &Web, headers: &[(&str, &str)], body: &str) -> String {
    let sent = json!({ "entries": [{ "title": "Linker", "body": body, "tags": ["build"] }] }).to_string();
    let added = web.send("POST", "/knowledge", headers, Some(sent.as_bytes())).with(201);
    added["entries"][0].as_str().expect("an entry").to_owned()
}

fn send(web: &Web, method: &str, path: &str, headers: &[(&str, &str)], body: &Value) -> docket_tests::web::Reply {
    web.send(method, path, headers, Some(body.to_string().as_bytes()))
}

#[test]
fn a_review_lands_on_what_was_read() {
    let web = Web::start();
    let entry = learned(&web, &[], "gcc alone");
    let review = format!("/knowledge/{entry}/review");
    let unsaid = web.post(&review, &json!({ "reviewed": true })).error(422);
    assert_eq!((&unsaid["reason"], &unsaid["field"]), (&json!("missing_field"), &json!("version")));
    let read = web.get(&format!("/knowledge/{entry}"));
    let tag = read.header("etag").to_owned();
    // An agent changes it while a person reads.
    send(&web, "PATCH", &format!("/knowledge/{entry}"), &[BOT], &json!({ "body": "rm -rf" })).with(200);
    let stale = web.post(&review, &json!({ "reviewed": true, "version": read.json()["version"] })).error(409);
    assert_eq!(stale["reason"], "version_mismatch");
    let stale = send(&web, "POST", &review, &[("if-match", &tag)], &json!({ "reviewed": true }));
    assert_eq!(stale.status, 412, "{}", stale.json());
    assert_eq!(web.get(&format!("/knowledge/{entry}")).with(200)["reviewState"], "unreviewed");
    let both = json!({ "reviewed": true, "version": 2 });
    assert_eq!(send(&web, "POST", &review, &[("if-match", "\"1\"")], &both).error(422)["field"], "version");
    assert_eq!(send(&web, "POST", &review, &[BOT], &both).error(403)["reason"], "not_yours");
    let done = web.post(&review, &both).with(200);
    assert_eq!((&done["version"], &done["changed"]), (&json!(3), &json!(true)), "{done}");
    assert!(done["review"]["by"].is_string(), "{done}");
    let back = web.post(&review, &json!({ "reviewed": false })).with(200);
    assert_eq!((&back["version"], &back["review"]), (&json!(4), &Value::Null));
}

#[test]
fn whose_words_they_are_follows_the_writer() {
    let web = Web::start();
    let entry = learned(&web, &[], "by a person");
    let path = format!("/knowledge/{entry}");
    let first = web.get(&path).with(200);
    assert_eq!((&first["source"], &first["updatedBy"]), (&json!("person"), &first["author"]));
    web.post(&format!("{path}/review"), &json!({ "reviewed": true, "version": 1 })).with(200);
    let edited = send(&web, "PATCH", &path, &[BOT], &json!({ "body": "by an agent" })).with(200)["entry"].clone();
    assert_eq!((&edited["source"], &edited["updatedBy"]), (&json!("agent"), &json!("bot")));
    assert_eq!((&edited["author"], edited.get("review")), (&first["author"], None));
    let again = web.json("PATCH", &path, &json!({ "title": "A person's title" })).with(200)["entry"].clone();
    assert_eq!((&again["updatedBy"], again.get("review")), (&first["author"], None), "an edit is no review");
}

#[test]
fn lists_say_what_they_cut_and_one_entry_is_whole() {
    let web = Web::start();
    let long = "lang und länger ".repeat(1000);
    let entry = learned(&web, &[], &long);
    let listed = web.get("/knowledge").with(200)["entries"][0].clone();
    assert_eq!(listed["truncated"], json!(true));
    assert_eq!(listed["body"].as_str().expect("a text").chars().count(), 400);
    let found = web.get("/knowledge/search?q=linker").with(200)["hits"][0].clone();
    assert_eq!(found["truncated"], json!(true));
    assert_eq!(web.get(&format!("/knowledge/{entry}")).with(200)["body"], json!(long));
    learned(&web, &[], "short");
    assert_eq!(web.get("/knowledge").with(200)["entries"][0]["truncated"], json!(false));
}

#[test]
fn an_entry_that_is_too_large_is_refused_and_nothing_is_kept() {
    let web = Web::start();
    let entry = |size: usize| json!({ "entries": [{ "title": "t", "body": "x".repeat(size) }] });
    assert_eq!(web.post("/knowledge", &entry(10 * 1024 * 1024)).status, 413);
    let long = web.post("/knowledge", &entry(256 * 1024 + 1)).error(422);
    assert_eq!(long["reason"], "too_long", "{long}");
    let blank = web.post("/knowledge", &json!({ "entries": [{ "title": "t", "body": " " }] })).error(422);
    assert_eq!((&blank["reason"], &blank["field"]), (&json!("blank"), &json!("entries[0].body")));
    let nul = web.post("/knowledge", &json!({ "entries": [{ "title": "t", "body": "a\u{0}b" }] })).error(422);
    assert_eq!(nul["reason"], "bad_char");
    assert_eq!(web.get("/knowledge").with(200)["entries"], json!([]));
    learned(&web, &[], "a plain call still works");
}

/// A step in the words of three surfaces, with the code of its failure. `ENTRY` stands for the newest entry.
struct Step {
    name: &'static str,
    rest: (&'static str, &'static str, Value),
    cli: &'static [&'static str],
    tool: Option<(&'static str, Value)>,
    code: Option<&'static str>,
}

const NOBODY: &str = "01JZK3V5Q8X4R2M7N9P6T1B0CD";

fn step(
    name: &'static str,
    rest: (&'static str, &'static str, Value),
    cli: &'static [&'static str],
    tool: Option<(&'static str, Value)>,
    code: Option<&'static str>,
) -> Step {
    Step { name, rest, cli, tool, code }
}

fn writing() -> Vec<Step> {
    let linker = json!({ "title": "Linker", "body": "gcc alone", "tags": ["build"] });
    let blank = json!({ "title": "Linker", "body": " " });
    vec![
        step(
            "an item",
            ("POST", "/items", json!({ "title": "One" })),
            &["item", "add", "One"],
            Some(("plan", json!({ "items": [{ "title": "One" }] }))),
            None,
        ),
        step(
            "learned from it",
            ("POST", "/knowledge", json!({ "item": "DEFA-1", "entries": [linker] })),
            &["learn", "Linker", "gcc alone", "--tag", "build", "--item", "DEFA-1"],
            Some(("learn", json!({ "id": "DEFA-1", "learned": [linker] }))),
            None,
        ),
        step(
            "a blank text",
            ("POST", "/knowledge", json!({ "entries": [blank] })),
            &["learn", "Linker", " "],
            Some(("learn", json!({ "learned": [blank] }))),
            Some("VALIDATION"),
        ),
        step(
            "learned from nothing there",
            ("POST", "/knowledge", json!({ "item": "DEFA-9", "entries": [linker] })),
            &["learn", "Linker", "gcc alone", "--item", "DEFA-9"],
            Some(("learn", json!({ "id": "DEFA-9", "learned": [linker] }))),
            Some("NOT_FOUND"),
        ),
        step(
            "edited",
            ("PATCH", "/knowledge/ENTRY", json!({ "body": "gcc or clang", "tags": [] })),
            &["knowledge", "edit", "ENTRY", "--body", "gcc or clang", "--no-tags"],
            Some(("learn", json!({ "edit": { "id": "ENTRY", "body": "gcc or clang", "tags": [] } }))),
            None,
        ),
        step(
            "an old version",
            ("PATCH", "/knowledge/ENTRY", json!({ "body": "neither" })),
            &["knowledge", "edit", "ENTRY@1", "--body", "neither"],
            Some(("learn", json!({ "edit": { "id": "ENTRY", "body": "neither", "version": 1 } }))),
            Some("CONFLICT"),
        ),
        step(
            "nothing to change",
            ("PATCH", "/knowledge/ENTRY", json!({})),
            &["knowledge", "edit", "ENTRY"],
            Some(("learn", json!({ "edit": { "id": "ENTRY" } }))),
            Some("VALIDATION"),
        ),
    ]
}

fn linking() -> Vec<Step> {
    vec![
        step(
            "used",
            ("PUT", "/items/DEFA-1/knowledge/ENTRY", Value::Null),
            &["knowledge", "use", "DEFA-1", "ENTRY"],
            Some(("learn", json!({ "id": "DEFA-1", "used": ["ENTRY"] }))),
            None,
        ),
        step(
            "not used after all",
            ("DELETE", "/items/DEFA-1/knowledge/ENTRY", Value::Null),
            &["knowledge", "use", "DEFA-1", "ENTRY", "--undo"],
            Some(("learn", json!({ "id": "DEFA-1", "unused": ["ENTRY"] }))),
            None,
        ),
        step(
            "an entry that never was",
            ("PUT", "/items/DEFA-1/knowledge/01JZK3V5Q8X4R2M7N9P6T1B0CD", Value::Null),
            &["knowledge", "use", "DEFA-1", NOBODY],
            Some(("learn", json!({ "id": "DEFA-1", "used": [NOBODY] }))),
            Some("NOT_FOUND"),
        ),
        step(
            "shown, one that never was",
            ("GET", "/knowledge/01JZK3V5Q8X4R2M7N9P6T1B0CD", Value::Null),
            &["knowledge", "show", NOBODY],
            Some(("find", json!({ "what": "knowledge", "id": NOBODY }))),
            Some("NOT_FOUND"),
        ),
        step(
            "a search without words",
            ("GET", "/knowledge/search?q=.", Value::Null),
            &["knowledge", "search", "."],
            Some(("find", json!({ "what": "knowledge", "query": "." }))),
            Some("VALIDATION"),
        ),
        step(
            "an agent's word",
            ("POST", "/knowledge/ENTRY/review", json!({ "reviewed": true, "version": 2 })),
            &["knowledge", "review", "ENTRY@2"],
            None,
            Some("FORBIDDEN"),
        ),
        step(
            "gone",
            ("DELETE", "/knowledge/ENTRY", Value::Null),
            &["knowledge", "rm", "ENTRY"],
            Some(("remove", json!({ "entries": ["ENTRY"] }))),
            None,
        ),
    ]
}

fn newest(web: &Web) -> String {
    let newest = web.get("/knowledge?limit=1").with(200)["entries"][0]["id"].clone();
    newest.as_str().unwrap_or(NOBODY).to_owned()
}

/// The entries as they are, without ids and times.
fn rows(web: &Web) -> Value {
    let listed = web.get("/knowledge").with(200)["entries"].clone();
    let row = |entry: &Value| {
        let shown = web.get(&format!("/knowledge/{}", entry["id"].as_str().expect("an id"))).with(200);
        let fields = ["title", "body", "tags", "source", "author", "updatedBy", "version", "reviewState"];
        let mut row: BTreeMap<&str, Value> =
            fields.into_iter().map(|name| (name, shown.get(name).cloned().unwrap_or_default())).collect();
        let links = shown["links"].as_array().expect("links");
        row.insert("links", links.iter().map(|link| link["kind"].clone()).collect());
        json!(row)
    };
    listed.as_array().expect("entries").iter().map(row).collect()
}

fn by_rest(web: &Web, step: &Step, entry: &str) -> Option<String> {
    let (method, path, body) = &step.rest;
    let body = (!body.is_null()).then(|| body.to_string());
    let mut headers = vec![BOT];
    if step.name == "an old version" {
        headers.push(("if-match", "\"1\""));
    }
    let reply = web.send(method, &path.replace("ENTRY", entry), &headers, body.as_deref().map(str::as_bytes));
    (reply.status >= 400).then(|| reply.json()["error"]["code"].as_str().unwrap_or_default().to_owned())
}

fn by_cli(word: &str, folder: &std::path::Path, step: &Step, entry: &str) -> Option<String> {
    let arguments = step.cli.iter().map(|argument| argument.replace("ENTRY", entry));
    let ran: Output = command_on(word, folder)
        .args(["--json", "--actor", "subagent:bot"])
        .args(arguments)
        .output()
        .expect("the program");
    (!ran.status.success()).then(|| {
        let told: Value = serde_json::from_slice(&ran.stderr).unwrap_or_default();
        told["error"]["code"].as_str().unwrap_or_else(|| panic!("{ran:?}")).to_owned()
    })
}

fn by_tool(server: &Server, step: &Step, entry: &str) -> Option<String> {
    // What no tool does fails nowhere.
    let Some((tool, arguments)) = step.tool.as_ref() else { return step.code.map(str::to_owned) };
    let arguments = serde_json::from_str(&arguments.to_string().replace("ENTRY", entry)).expect("JSON");
    let answer = server.call(tool, arguments).unwrap_or_else(|gone| panic!("{gone:?}"));
    answer.is_error.then(|| answer.content["error"]["code"].as_str().unwrap_or_default().to_owned())
}

#[test]
fn every_surface_answers_and_does_the_same_of_knowledge() {
    let mut effects: Vec<Vec<Value>> = Vec::new();
    for surface in ["rest", "cli", "tools"] {
        let folder = tempfile::tempdir().expect("a folder");
        let word = format!("sqlite:{}", folder.path().join("work.db").display());
        std::fs::write(folder.path().join("docket.toml"), "[project]\nslug = \"default\"\n").expect("written");
        let web = Web::serving(&word, folder.path(), |_| {});
        let arguments = ["--surface", "docket", "--actor", "subagent:bot", "--profile", "maintainer"];
        let server = Server::try_start_on(&word, folder.path(), &arguments, |_| {}).expect("a server");
        let mut seen = Vec::new();
        for step in writing().into_iter().chain(linking()) {
            let entry = newest(&web);
            let code = match surface {
                "rest" => by_rest(&web, &step, &entry),
                "cli" => by_cli(&word, folder.path(), &step, &entry),
                _ => by_tool(&server, &step, &entry),
            };
            assert_eq!(code.as_deref(), step.code, "{surface}: {}", step.name);
            seen.push(rows(&web));
        }
        assert_eq!(seen.last(), Some(&json!([])));
        effects.push(seen);
    }
    let steps: Vec<Step> = writing().into_iter().chain(linking()).collect();
    for (at, step) in steps.iter().enumerate() {
        for other in &effects[1..] {
            assert_eq!(effects[0][at], other[at], "after {}", step.name);
        }
    }
    assert_eq!(effects[0][4][0]["source"], "agent", "{:?}", effects[0][4]);
}
