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
    let web = Web::start_with("[schemas.default]\nnotes = []\n", |_| {});
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
            if path == "/events/stream" {
                continue;
            }
            prepare(&web, wanted, path);
            let sample = operation["x-codeSamples"][0]["source"].as_str().expect("a sample").to_owned();
            let mut sample = sample.replace("127.0.0.1:7420", &web.address.to_string());
            if path == "/edges/{edge}" {
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
        _ => {}
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
            assert_eq!(schema["type"], json!("array"), "{at}");
            values.iter().for_each(|inner| fits(document, &schema["items"], inner, &format!("{at}[]")));
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
