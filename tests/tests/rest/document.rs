//! The OpenAPI document: as it is checked in, and with examples that work when they are pasted.

use std::path::Path;

use docket_tests::web::Web;
use serde_json::{Value, json};

/// Where the document is kept, for readers and for review of its changes.
fn kept() -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/openapi.json")
}

#[test]
fn the_document_is_the_one_that_is_checked_in() {
    let web = Web::start();
    let document = web.get("/openapi.json").with(200);
    let text = format!("{}\n", serde_json::to_string_pretty(&document).expect("JSON"));
    if std::env::var_os("DOCKET_BLESS").is_some() {
        std::fs::write(kept(), &text).expect("written");
    }
    let known = std::fs::read_to_string(kept()).unwrap_or_default();
    assert!(known == text, "docs/openapi.json differs: run this test with DOCKET_BLESS=1 and look at what changed");
    assert!(document["openapi"].as_str().is_some_and(|version| version.starts_with("3.1")));
}

#[test]
fn the_page_needs_no_network() {
    let web = Web::start();
    let page = web.to("GET", "/docs", &[], None);
    assert_eq!((page.status, page.header("content-type")), (200, "text/html; charset=utf-8"));
    assert!(page.header("content-security-policy").contains("default-src 'none'"));
    for path in ["/docs", "/docs/page.js", "/docs/page.css"] {
        let text = String::from_utf8(web.to("GET", path, &[], None).body).expect("text");
        assert!(!text.contains("http://") && !text.contains("https://"), "{path} names another place");
    }
}

/// Every example against a database in which what they name is there.
#[test]
fn examples_work_when_they_are_pasted() {
    let web = Web::start_with("[schemas.default]\nnotes = []\n[runner]\nallow = \"all\"\n", |_| {});
    let _runner = docket_tests::web::Runner::beside(&web);
    for number in 1..=9 {
        web.item(&format!("Example {number}"));
    }
    let document = web.get("/openapi.json").with(200);
    let mut tried = 0;
    // Reads first, removals last.
    for wanted in ["get", "put", "post", "patch", "delete"] {
        let mut paths: Vec<_> = document["paths"].as_object().expect("paths").iter().collect();
        // The item itself goes after what is on it.
        paths.sort_by_key(|(path, _)| path.as_str() == "/items/{id}");
        for (path, item) in paths {
            let Some(operation) = item.get(wanted) else { continue };
            // A stream has no end; and once there is a key, examples would have to show one.
            if path == "/events/stream" || path.starts_with("/keys") {
                continue;
            }
            prepare(&web, wanted, path);
            let sample = operation["x-codeSamples"][0]["source"].as_str().expect("a sample").to_owned();
            let mut sample = sample.replace("127.0.0.1:7420", &web.address.to_string());
            let newest = |list: &str, id: &str| {
                let found = web.get(&format!("/items/DEFA-1/{list}")).with(200);
                found.pointer(id).and_then(Value::as_str).unwrap_or_else(|| panic!("no {id} in {found}")).to_owned()
            };
            if path.starts_with("/questions/") {
                sample = sample.replace("01K7SA4Z0C8R5QY3M2B1N0V9XT", &newest("questions", "/questions/0/id"));
            } else if path.starts_with("/runs/") {
                sample = sample.replace("01K7SA4Z0C8R5QY3M2B1N0V9XT", &newest("runs", "/runs/0/id"));
            } else if path == "/links/{link}" {
                sample = sample.replace("01K7SA4Z0C8R5QY3M2B1N0V9XT", &newest("links", "/links/0/id"));
            } else if path.starts_with("/sessions/{session}") {
                let open = web.get("/sessions?item=DEFA-1").with(200)["sessions"][0]["id"].clone();
                sample = sample.replace("01K7SA4Z0C8R5QY3M2B1N0V9XT", open.as_str().expect("a session"));
            } else if path.contains("/knowledge/{") {
                let newest = web.get("/knowledge?limit=1").with(200)["entries"][0]["id"].clone();
                sample = sample.replace("01K7SA4Z0C8R5QY3M2B1N0V9XT", newest.as_str().expect("an entry"));
            } else if path == "/items/{id}/checks/approve" {
                let read = web.get("/items/DEFA-1/checks").with(200)["version"].to_string();
                sample = sample.replace("\"version\":2", &format!("\"version\":{read}"));
            } else if path == "/edges/{edge}" {
                let edge =
                    web.get("/items/DEFA-4/edges").with(200)["edges"][0]["id"].as_str().expect("an edge").to_owned();
                sample = sample.replace("0199f3a2-7c1e-7d3b-8f00-2a4b5c6d7e8f", &edge);
            }
            let shell = format!("{sample} -o /dev/null -w '%{{http_code}}'");
            let out = std::process::Command::new("sh").arg("-c").arg(&shell).output().expect("curl runs");
            let status = String::from_utf8_lossy(&out.stdout).into_owned();
            assert!(status.starts_with('2'), "{status}: {sample}\n{}", again(&sample));
            tried += 1;
        }
    }
    assert!(tried >= 45, "{tried} were tried");
}

/// The same for keys, each on a server of its own: the first key is the end of examples that show none.
#[test]
fn examples_of_keys_work_too() {
    for (method, path) in
        [("get", "/keys"), ("post", "/keys"), ("post", "/keys/{key}/rotate"), ("delete", "/keys/{key}")]
    {
        let web = Web::start();
        let operation = web.get("/openapi.json").with(200)["paths"][path][method].clone();
        let sample = operation["x-codeSamples"][0]["source"].as_str().expect("a sample").to_owned();
        let mut shell = sample.replace("127.0.0.1:7420", &web.address.to_string());
        if path.contains("{key}") {
            let made = web.post("/keys", &json!({"name": "ci", "profile": "maintainer"})).with(201);
            let secret = made["secret"].as_str().expect("a secret").to_owned();
            shell = format!("{shell} -H 'authorization: Bearer {secret}'");
        }
        shell.push_str(" -o /dev/null -w '%{http_code}'");
        let out = std::process::Command::new("sh").arg("-c").arg(&shell).output().expect("curl runs");
        let status = String::from_utf8_lossy(&out.stdout).into_owned();
        assert!(status.starts_with('2'), "{status}: {sample}");
    }
}

/// What an example takes for granted.
fn prepare(web: &Web, method: &str, path: &str) {
    match (method, path) {
        ("get" | "delete", "/items/{id}/notes/{key}") => {
            web.json("PUT", "/items/DEFA-1/notes/plan", &json!({"body": "x"})).with(200);
        }
        ("delete", "/edges/{edge}") => {
            web.post("/edges", &json!({"from": "DEFA-4", "to": "DEFA-5"}));
        }
        ("delete", "/items/{id}/claim") => {
            web.send("PUT", "/items/DEFA-1/claim", &[], None).with(200);
        }
        ("delete", "/items/{id}") => {
            web.send("DELETE", "/items/DEFA-1/claim", &[], None);
        }
        ("post", "/items/{id}/evidence") => {
            let line = "Every query of the sample file is read";
            web.json("PUT", "/items/DEFA-1/brief", &json!({"acceptanceCriteria": [line]})).with(200);
        }
        ("post", "/items/{id}/questions") => {
            withdraw(web);
        }
        ("post", "/questions/{question}/answer" | "/questions/{question}/withdraw") => {
            withdraw(web);
            // An example before may have closed it.
            web.post("/items/DEFA-1/transitions", &json!({"trigger": "reopen"}));
            web.post("/items/DEFA-1/questions", &json!({"question": "Which?"})).with(201);
        }
        ("delete", "/links/{link}") => {
            let link = json!({"kind": "pr", "ref": "8", "url": "https://example.com/8"});
            web.post("/items/DEFA-1/links", &json!({"links": [link]})).with(201);
        }
        ("post", "/items/{id}/begin" | "/items/{id}/finish" | "/items/{id}/transitions") => {
            settle(web);
            withdraw(web);
            web.post("/items/DEFA-1/transitions", &json!({"trigger": "reopen"}));
        }
        ("post", "/runs/{run}/cancel") => {
            fresh(web);
            check(web, &json!({"desc": "slow", "cmd": "sleep 600"}));
            submit(web);
        }
        ("get", path) if path.starts_with("/runs/") => {
            check(web, &json!({"desc": "quick", "cmd": "true"}));
            web.post("/items/DEFA-1/checks/run", &json!({})).with(200);
        }
        // By somebody else than the caller of the example.
        ("post", "/items/{id}/checks/approve" | "/items/{id}/checks/run") => {
            fresh(web);
            check(web, &json!({"desc": "quick", "cmd": "true"}));
        }
        ("post", "/items/{id}/checks/{index}/attest") => {
            fresh(web);
            check(web, &json!({"desc": "Ann likes the errors"}));
        }
        ("post", "/items/{id}/submit") => {
            fresh(web);
            check(web, &json!({"desc": "quick", "cmd": "true"}));
            web.post("/items/DEFA-1/transitions", &json!({"status": "work"}));
        }
        (_, path) if path.contains("/knowledge/{") => {
            web.post("/knowledge", &json!({"entries": [{"title": "t", "body": "b"}]})).with(201);
        }
        ("post", "/items/{id}/sessions") => fresh(web),
        (_, path) if path.starts_with("/sessions/{session}") => {
            fresh(web);
            web.send("POST", "/items/DEFA-1/sessions", &[], None).with(201);
        }
        _ => {}
    }
}

/// Gives the first item one check, by somebody else than who tries the examples.
fn check(web: &Web, check: &Value) {
    let body = json!({"checks": [check]}).to_string();
    let other = [("x-docket-actor", "user:zoe")];
    // An example before may have taken it.
    web.send("DELETE", "/items/DEFA-1/claim", &[], None);
    web.send("PUT", "/items/DEFA-1/checks", &other, Some(body.as_bytes())).with(200);
}

/// Hands the first item in.
fn submit(web: &Web) {
    web.post("/items/DEFA-1/transitions", &json!({"status": "work"}));
    web.post("/items/DEFA-1/submit", &json!({})).with(200);
}

/// Makes the first item one that nobody attempts.
fn fresh(web: &Web) {
    withdraw(web);
    let open = web.get("/sessions?item=DEFA-1&state=active").with(200);
    if let Some(id) = open["sessions"][0]["id"].as_str() {
        web.post(&format!("/sessions/{id}/cancel"), &json!({"reason": "x"})).with(200);
    }
    web.post("/items/DEFA-1/transitions", &json!({"trigger": "reopen"}));
    web.post("/items/DEFA-1/transitions", &json!({"status": "queue"}));
}

/// Waits until no check of the first item waits or runs: what an example handed in closes by itself meanwhile.
fn settle(web: &Web) {
    for _ in 0..200 {
        let runs = web.get("/items/DEFA-1/runs").with(200);
        let open = |run: &Value| run["state"] == "queued" || run["state"] == "running";
        if !runs["runs"].as_array().is_some_and(|runs| runs.iter().any(open)) {
            return;
        }
        std::thread::sleep(std::time::Duration::from_millis(50));
    }
}

/// Takes back what is asked of the first item.
fn withdraw(web: &Web) {
    let asked = web.get("/items/DEFA-1/questions").with(200);
    if let (Some(id), Some("open")) = (asked["questions"][0]["id"].as_str(), asked["questions"][0]["state"].as_str()) {
        web.send("POST", &format!("/questions/{id}/withdraw"), &[], None).with(200);
    }
}

fn again(sample: &str) -> String {
    let out = std::process::Command::new("sh").arg("-c").arg(sample).output();
    out.map(|out| String::from_utf8_lossy(&out.stdout).into_owned()).unwrap_or_default()
}

/// Answers hold what the document says and no more.
#[test]
fn answers_fit_their_schemas() {
    let web = Web::start();
    web.post("/trees", &json!({"root": {"title": "r", "children": [{"title": "c"}]}})).with(201);
    web.send("PUT", "/items/DEFA-2/claim", &[], None).with(200);
    let brief =
        json!({"objective": "o", "acceptanceCriteria": ["a", {"text": "b", "verifier": "human", "instructions": "i"}]});
    web.json("PUT", "/items/DEFA-1/brief", &brief).with(200);
    web.post("/items/DEFA-1/evidence", &json!({"criteria": [{"id": "c1", "passed": true, "note": "n"}]})).with(200);
    web.post("/items/DEFA-1/comments", &json!({"comment": "c"})).with(201);
    let link = json!({"kind": "pr", "ref": "8", "url": "https://example.com/8", "title": "t"});
    web.post("/items/DEFA-1/links", &json!({"links": [link]})).with(201);
    web.json("PATCH", "/items/DEFA-1", &json!({"attention": "look"})).with(200);
    web.post("/items/DEFA-1/questions", &json!({"question": "q", "options": ["o"]})).with(201);
    let document = web.get("/openapi.json").with(200);
    for (path, address) in [
        ("/items", "/items"),
        ("/items/{id}", "/items/DEFA-2"),
        ("/tree", "/tree"),
        ("/queue", "/queue?includeClaimed=true"),
        ("/events", "/events"),
        ("/projects", "/projects"),
        ("/items/{id}/context", "/items/DEFA-2/context"),
        ("/overview", "/overview?children=true"),
        ("/why", "/why"),
        ("/workflows", "/workflows"),
        ("/me", "/me"),
        ("/node-types", "/node-types"),
        ("/inbox", "/inbox"),
        ("/items/{id}/dossier", "/items/DEFA-1/dossier?profile=full"),
        ("/items/{id}/brief", "/items/DEFA-1/brief"),
        ("/items/{id}/verdict", "/items/DEFA-1/verdict"),
        ("/items/{id}/questions", "/items/DEFA-1/questions"),
        ("/items/{id}/comments", "/items/DEFA-1/comments"),
        ("/items/{id}/links", "/items/DEFA-1/links"),
        ("/projects/{slug}/estimate", "/projects/default/estimate"),
        ("/items/{id}/edges", "/items/DEFA-1/edges?graph=true"),
    ] {
        let schema = &document["paths"][path]["get"]["responses"]["200"]["content"]["application/json"]["schema"];
        let answer = web.get(address).with(200);
        fits(&document, schema, &answer, path);
    }
    let failure = json!({"$ref": "#/components/schemas/Failure"});
    fits(&document, &failure, &web.get("/items/DEFA-99").with(404), "failure");
}

/// A small check of a schema: types, required fields, and no field that is not described.
fn fits(document: &Value, schema: &Value, value: &Value, at: &str) {
    if let Some(reference) = schema["$ref"].as_str() {
        let target = document.pointer(reference.trim_start_matches('#'));
        return fits(document, target.unwrap_or_else(|| panic!("{reference}")), value, at);
    }
    if schema["oneOf"].is_array() || schema["anyOf"].is_array() || schema["allOf"].is_array() {
        return;
    }
    match value {
        Value::Object(fields) => {
            let Some(known) = schema["properties"].as_object() else { return };
            for name in schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str) {
                assert!(fields.contains_key(name), "{at}: no {name} in {value}");
            }
            for (name, inner) in fields {
                let field = known.get(name).unwrap_or_else(|| panic!("{at}: {name} is not described"));
                fits(document, field, inner, &format!("{at}.{name}"));
            }
        }
        Value::Array(values) => {
            let is_list = |kind: &Value| *kind == json!("array") || *kind == json!(["array", "null"]);
            assert!(is_list(&schema["type"]), "{at}: {}", schema["type"]);
            for inner in values {
                fits(document, &schema["items"], inner, &format!("{at}[]"));
            }
        }
        Value::String(text) => {
            if let Some(allowed) = schema["enum"].as_array() {
                assert!(allowed.contains(value), "{at}: {text} is none of {allowed:?}");
            }
        }
        Value::Null => panic!("{at}: null"),
        Value::Bool(_) | Value::Number(_) => {}
    }
}

/// What agents read by MCP of a set of tools.
fn markdown(web: &Web, surface: &str, uri: &str) -> String {
    let message = json!({"jsonrpc": "2.0", "id": 1, "method": "resources/read", "params": {"uri": uri}}).to_string();
    let headers = [("accept", "application/json, text/event-stream")];
    let read = web.to("POST", &format!("/mcp/{surface}"), &headers, Some(message.as_bytes())).with(200);
    read["result"]["contents"][0]["text"].as_str().expect("a text").to_owned()
}

/// A page of text, which says of which tools it is.
fn page(web: &Web, path: &str, surface: &str) -> String {
    let page = web.to("GET", path, &[], None);
    assert_eq!((page.status, page.header("content-type")), (200, "text/html; charset=utf-8"), "{path}");
    assert!(page.header("content-security-policy").contains("default-src 'none'"));
    let html = String::from_utf8(page.body).expect("text");
    assert!(!html.contains("http://") && !html.contains("https://"), "{path} names another place");
    assert!(html.contains("<link rel=\"stylesheet\" href=\"/docs/page.css\">"), "{html}");
    assert!(
        !html.contains("\n## ") && !html.contains("**") && !html.contains("| ---") && !html.contains('`'),
        "{html}"
    );
    assert!(html.contains(&format!("({surface})</title>")), "{path} is not titled as {surface}'s: {html}");
    assert!(html.contains(&format!("<code>/mcp/{surface}</code>")), "{path} does not say whose it is: {html}");
    html
}

/// What agents read by MCP, people read as pages: at the plain address what goes with the tools that `/mcp` has.
#[test]
fn how_agents_work_here_and_what_is_stable_are_pages() {
    let folder = tempfile::tempdir().expect("a folder");
    let foresttasks = Web::first(&folder.path().join("other.db"), &["--surface", "foresttasks"]);
    for (web, path, surface, uri) in [
        (&Web::start(), "/docs/agent-workflow", "docket", "docket://workflow"),
        (&foresttasks, "/docs/agent-workflow-docket", "docket", "docket://workflow"),
        (&Web::start(), "/docs/agent-workflow-foresttasks", "foresttasks", "foresttasks://workflow"),
        (&Web::start(), "/docs/stability-foresttasks", "foresttasks", "foresttasks://stability"),
        (&foresttasks, "/docs/agent-workflow", "foresttasks", "foresttasks://workflow"),
        (&foresttasks, "/docs/stability", "foresttasks", "foresttasks://stability"),
    ] {
        let html = page(web, path, surface);
        // The same text: every heading of it is one of the page.
        let titles: Vec<String> = markdown(web, surface, uri)
            .lines()
            .filter_map(|line| line.strip_prefix("## ").map(|title| format!("<h2>{title}</h2>")))
            .collect();
        assert!(!titles.is_empty(), "{uri}");
        for title in titles {
            assert!(html.contains(&title), "{path} has no {title}");
        }
    }
}

/// A set of tools that has no guide has a page all the same, and its plain address is about no other set.
#[test]
fn every_set_of_tools_says_how_agents_work_with_it() {
    let folder = tempfile::tempdir().expect("a folder");
    let cairn = Web::first(&folder.path().join("other.db"), &["--surface", "cairn"]);
    assert!(page(&cairn, "/docs/agent-workflow", "cairn").contains("identity, begin, heartbeat*"));
    let web = Web::start();
    for (surface, word) in [("cairn", "begin"), ("execution", "claim_task"), ("task-orchestrator", "advance_item")] {
        let html = page(&web, &format!("/docs/agent-workflow-{surface}"), surface);
        assert!(html.contains(word), "{html}");
    }
}

/// Every page leads to all others, and to nothing that is not there.
#[test]
fn the_reference_leads_to_the_pages_that_there_are() {
    let web = Web::start();
    let stable = page(&web, "/docs/stability", "docket");
    assert!(stable.contains("<h2>What is a contract</h2>") && stable.contains("<code>refusals</code>"), "{stable}");
    let reference = String::from_utf8(web.to("GET", "/docs", &[], None).body).expect("text");
    let ways = |html: &str| -> Vec<String> {
        let found = html.split("href=\"/docs/").skip(1).filter_map(|rest| rest.split_once('"'));
        found.map(|(name, _)| name.to_owned()).filter(|name| !name.contains('.')).collect()
    };
    let all = [
        "agent-workflow",
        "stability",
        "agent-workflow-task-orchestrator",
        "agent-workflow-foresttasks",
        "stability-foresttasks",
        "agent-workflow-cairn",
        "agent-workflow-execution",
    ];
    assert_eq!(ways(&reference), all);
    assert_eq!(ways(&stable), all);
    for name in all {
        assert_eq!(web.to("GET", &format!("/docs/{name}"), &[], None).status, 200, "{name}");
    }
    assert_eq!(web.to("GET", "/docs/nothing", &[], None).status, 404);
}
