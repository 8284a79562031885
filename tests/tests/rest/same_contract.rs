//! The work contract by REST and by the command line: the same codes, and the same rows after each step.

use docket_tests::web::{Web, command_on};
use serde_json::{Value, json};

/// A step in the words of both, with the code of its failure.
type Step = ((&'static str, &'static str, Value), &'static [&'static str], Option<&'static str>);

const TOML: &str = "[project]\nslug = \"default\"\npreset = \"standard\"\n";

fn steps() -> Vec<Step> {
    let brief = json!({"objective": "o", "acceptanceCriteria": ["a", {"text": "b", "verifier": "human"}]});
    let first: Vec<Step> = vec![
        (("POST", "/items", json!({"title": "One", "intent": "i"})), &["item", "add", "One", "--intent", "i"], None),
        (("POST", "/items", json!({"title": "Two"})), &["item", "add", "Two"], None),
        (
            ("PUT", "/items/DEFA-1/brief", brief),
            &["brief", "set", "DEFA-1", "--objective", "o", "--criterion", "a", "--sign-off", "b"],
            None,
        ),
        (
            ("PATCH", "/items/DEFA-1/brief", json!({"objective": null, "context": "c"})),
            &["brief", "merge", "DEFA-1", "--context", "c", "--clear", "objective"],
            None,
        ),
    ];
    first.into_iter().chain(checks()).chain(contract()).chain(people()).collect()
}

/// Checks are written, and only a person's is left.
fn checks() -> Vec<Step> {
    vec![
        (
            ("PUT", "/items/DEFA-1/checks", json!({"checks": [{"desc": "t", "cmd": "true", "cwd": ".."}]})),
            &["check", "add", "DEFA-1", "t", "--cmd", "true", "--cwd", ".."],
            Some("VALIDATION"),
        ),
        (
            (
                "POST",
                "/items/DEFA-1/checks",
                json!({"checks": [{"desc": "t", "cmd": "true", "timeout": 60, "proves": "c1"}]}),
            ),
            &["check", "add", "DEFA-1", "t", "--cmd", "true", "--timeout", "1m", "--proves", "c1"],
            None,
        ),
        (
            ("POST", "/items/DEFA-1/checks/run", json!({"only": [9]})),
            &["check", "run", "DEFA-1", "--only", "9"],
            Some("VALIDATION"),
        ),
        (("POST", "/items/DEFA-1/checks/approve", json!({})), &["check", "approve", "DEFA-1"], Some("FORBIDDEN")),
        (
            ("POST", "/items/DEFA-1/checks/0/attest", json!({"passed": true})),
            &["check", "attest", "DEFA-1", "0=pass"],
            Some("CONFLICT"),
        ),
        (
            ("PUT", "/items/DEFA-1/checks", json!({"checks": [{"desc": "looked"}]})),
            &["check", "set", "DEFA-1", "--file", "looked.json"],
            None,
        ),
    ]
}

/// Work begins, is shown and ends.
fn contract() -> Vec<Step> {
    let proof = |id: &str| json!({"criteria": [{"id": id, "passed": true}]});
    vec![
        (("POST", "/items/DEFA-1/begin", json!({})), &["start", "DEFA-1"], None),
        (("POST", "/items/DEFA-1/finish", json!({"preview": true})), &["finish", "DEFA-1", "--preview"], None),
        (("POST", "/items/DEFA-1/finish", json!({})), &["finish", "DEFA-1"], Some("RULE_BLOCKED")),
        (("POST", "/items/DEFA-1/evidence", proof("c9")), &["verify", "DEFA-1", "c9=pass"], Some("NOT_FOUND")),
        (("POST", "/items/DEFA-1/evidence", proof("c2")), &["verify", "DEFA-1", "c2=pass"], Some("RULE_BLOCKED")),
        (("POST", "/items/DEFA-1/evidence", proof("c1")), &["verify", "DEFA-1", "c1=pass"], None),
        (("POST", "/items/DEFA-1/finish", json!({"comment": "w"})), &["finish", "DEFA-1", "--comment", "w"], None),
        (("POST", "/items/DEFA-1/close-tree", json!({})), &["close", "DEFA-1", "--tree"], Some("RULE_BLOCKED")),
        (
            (
                "POST",
                "/items/DEFA-1/evidence",
                json!({"authority": "human", "criteria": [{"id": "c2", "passed": true}]}),
            ),
            &["verify", "DEFA-1", "c2=pass", "--as", "human"],
            None,
        ),
        (("POST", "/items/DEFA-1/close-tree", json!({})), &["close", "DEFA-1", "--tree"], Some("RULE_BLOCKED")),
        (
            ("POST", "/items/DEFA-1/checks/0/attest", json!({"passed": true, "note": "seen"})),
            &["check", "attest", "DEFA-1", "0=pass", "--note", "seen"],
            None,
        ),
        (("POST", "/items/DEFA-1/close-tree", json!({})), &["close", "DEFA-1", "--tree"], None),
    ]
}

/// What people are asked and told, and projects that are put away.
fn people() -> Vec<Step> {
    vec![
        (("POST", "/items/DEFA-1/questions", json!({"question": "q"})), &["ask", "DEFA-1", "q"], Some("CONFLICT")),
        (("POST", "/items/DEFA-2/questions", json!({"question": "q"})), &["ask", "DEFA-2", "q"], None),
        (("POST", "/items/DEFA-2/questions", json!({"question": "r"})), &["ask", "DEFA-2", "r"], Some("CONFLICT")),
        (("POST", "/items/DEFA-2/comments", json!({"comment": " "})), &["comment", "DEFA-2", " "], Some("VALIDATION")),
        (("POST", "/items/DEFA-2/comments", json!({"comment": "c"})), &["comment", "DEFA-2", "c"], None),
        (
            ("POST", "/items/DEFA-2/links", json!({"links": [{"kind": "a", "ref": "b", "url": "ftp://x"}]})),
            &["attach", "DEFA-2", "a", "b", "ftp://x"],
            Some("VALIDATION"),
        ),
        (
            ("POST", "/items/DEFA-2/links", json!({"links": [{"kind": "a", "ref": "b", "url": "https://x"}]})),
            &["attach", "DEFA-2", "a", "b", "https://x"],
            None,
        ),
        (
            ("POST", "/projects/default/import-markdown", json!({"markdown": "- three"})),
            &["import-markdown", "three.md"],
            None,
        ),
        (("PATCH", "/projects/default", json!({"archived": true})), &["project", "archive", "default"], None),
        (
            ("PATCH", "/items/DEFA-2", json!({"title": "x"})),
            &["item", "edit", "DEFA-2", "--title", "x"],
            Some("CONFLICT"),
        ),
        (("PATCH", "/projects/default", json!({"archived": false})), &["project", "restore", "default"], None),
        (("PATCH", "/items/DEFA-2", json!({"attention": "y"})), &["item", "edit", "DEFA-2", "--attention", "y"], None),
    ]
}

/// What a database holds, without what no two runs have in common.
fn effect(web: &Web) -> Value {
    let items = web.get("/items?limit=200").with(200);
    let keys = items["items"].as_array().into_iter().flatten().map(|item| item["key"].as_str().unwrap_or_default());
    let whole = keys.map(|key| web.get(&format!("/items/{key}/dossier?profile=full&include=comments,links")).with(200));
    let mut all: Vec<Value> = whole.collect();
    all.iter_mut().for_each(plain);
    let verbs: Vec<Value> = web.get("/events?limit=200").with(200)["events"]
        .as_array()
        .into_iter()
        .flatten()
        .map(|event| event["verb"].clone())
        .collect();
    json!([all, verbs])
}

/// Takes out ids, times and names of callers.
fn plain(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            fields.retain(|name, value| {
                let text = value.as_str().unwrap_or_default();
                let is_id = text.len() == 36 && text.matches('-').count() == 4;
                let is_time = text.len() == 24 && text.ends_with('Z');
                let is_who = matches!(name.as_str(), "by" | "actor" | "askedBy" | "endedBy" | "holder" | "readToken");
                !(is_id || is_time || is_who || name == "id" && text.len() == 26)
            });
            fields.values_mut().for_each(plain);
        }
        Value::Array(values) => values.iter_mut().for_each(plain),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

#[test]
fn rest_and_the_command_line_do_the_same() {
    let (rest, cli) = (tempfile::tempdir().expect("a folder"), tempfile::tempdir().expect("a folder"));
    let webs = [&rest, &cli].map(|folder| {
        std::fs::write(folder.path().join("docket.toml"), TOML).expect("written");
        std::fs::write(folder.path().join("three.md"), "- three").expect("written");
        std::fs::write(folder.path().join("looked.json"), r#"[{"desc": "looked"}]"#).expect("written");
        Web::on(&folder.path().join("work.db"), |_| {})
    });
    let word = format!("sqlite:{}", cli.path().join("work.db").display());
    for ((method, path, body), words, code) in steps() {
        let reply = webs[0].json(method, path, &body);
        let failed =
            (reply.status >= 400).then(|| reply.json()["error"]["code"].as_str().unwrap_or_default().to_owned());
        assert_eq!(failed.as_deref(), code, "{method} {path}: {}", String::from_utf8_lossy(&reply.body));
        let out = command_on(&word, cli.path()).arg("--json").args(words).output().expect("it runs");
        let said = String::from_utf8_lossy(&out.stderr).into_owned();
        let error =
            said.lines().find(|line| line.starts_with('{')).and_then(|line| serde_json::from_str::<Value>(line).ok());
        let told = error.map(|error| error["error"]["code"].as_str().unwrap_or_default().to_owned());
        assert_eq!((told.as_deref(), out.status.success()), (code, code.is_none()), "{words:?}: {said}");
        assert_eq!(effect(&webs[0]), effect(&webs[1]), "after {words:?}");
    }
}
