//! Briefs, evidence and verdicts, and the gate that asks for them.

use docket_tests::web::Web;
use serde_json::{Value, json};

use crate::callers::key;

/// A server whose project has the workflow with all gates.
pub(crate) fn standard() -> Web {
    Web::start_with("[project]\nslug = \"default\"\npreset = \"standard\"\n", |_| {})
}

fn put(web: &Web, path: &str, body: &Value) -> Value {
    web.json("PUT", path, body).with(200)
}

#[test]
fn a_brief_is_written_whole_and_merged_section_by_section() {
    let web = standard();
    web.item("One");
    let empty = web.get("/items/DEFA-1/brief");
    assert_eq!((&empty.with(200)["brief"], &empty.with(200)["score"]), (&json!({"lastCriterion": 0}), &json!(0)));
    let set = put(
        &web,
        "/items/DEFA-1/brief",
        &json!({
            "objective": "Read queries",
            "context": "in src",
            "acceptanceCriteria": ["it compiles", {"text": "ann likes it", "verifier": "human", "hard": false, "instructions": "ask her"}],
            "constraints": ["no new dependency"],
        }),
    );
    let criteria = &set["brief"]["acceptanceCriteria"];
    assert_eq!(
        (&criteria[0]["id"], &criteria[0]["verifier"], &criteria[0]["hard"]),
        (&json!("c1"), &json!("agent"), &json!(true))
    );
    assert_eq!(
        (&criteria[1]["id"], &criteria[1]["verifier"], &criteria[1]["hard"]),
        (&json!("c2"), &json!("human"), &json!(false))
    );
    assert_eq!((&set["score"], &set["version"]), (&json!(85), &json!(2)));
    let merged =
        web.json("PATCH", "/items/DEFA-1/brief", &json!({"context": null, "verification": "cargo test"})).with(200);
    let brief = &merged["brief"];
    assert_eq!((&brief["objective"], &brief["verification"]), (&json!("Read queries"), &json!("cargo test")));
    assert!(brief.get("context").is_none() && brief["constraints"] == json!(["no new dependency"]), "{brief}");
    // A line that says the same, and one that is named, keep their names.
    let again = put(
        &web,
        "/items/DEFA-1/brief",
        &json!({"acceptanceCriteria": [{"id": "c2", "text": "ann and bob like it"}, "new", "it compiles"]}),
    );
    let names: Vec<&Value> =
        again["brief"]["acceptanceCriteria"].as_array().expect("a list").iter().map(|c| &c["id"]).collect();
    assert_eq!(names, [&json!("c2"), &json!("c3"), &json!("c1")]);
    assert!(again["brief"].get("objective").is_none(), "written whole: {again}");
    let cleared = web.delete("/items/DEFA-1/brief").with(200);
    assert_eq!((&cleared["brief"], &cleared["verdict"]["readyForDone"]), (&json!({"lastCriterion": 3}), &json!(true)));
}

#[test]
fn what_is_wrong_with_a_brief_is_named() {
    let web = standard();
    web.item("One");
    let tag = web.get("/items/DEFA-1/brief").header("etag").to_owned();
    assert!(tag.starts_with("\"1-"), "{tag}");
    let write =
        |tag: &str| web.send("PUT", "/items/DEFA-1/brief", &[("if-match", tag)], Some(br#"{"objective": "x"}"#));
    assert_eq!(write(&tag).header("etag"), "\"2\"");
    assert_eq!(write(&tag).reason(412), "version_mismatch");
    for (body, reason, field) in [
        (json!({"goal": "x"}), "unknown_field", "goal"),
        (json!({"objective": 7}), "bad_value", "objective"),
        (json!({"acceptanceCriteria": [{"id": "c9", "text": "x"}]}), "not_found", "acceptanceCriteria[0].id"),
        (json!({"acceptanceCriteria": ["a", "a"]}), "duplicate", "acceptanceCriteria[1]"),
        (json!({"acceptanceCriteria": [" "]}), "blank", "acceptanceCriteria"),
        (
            json!({"acceptanceCriteria": [{"text": "x", "verifier": "boss"}]}),
            "unknown_value",
            "acceptanceCriteria[0].verifier",
        ),
        (json!({"constraints": vec!["x"; 51]}), "too_many", "constraints"),
    ] {
        let status = if reason == "not_found" { 404 } else { 422 };
        let error = web.json("PUT", "/items/DEFA-1/brief", &body).error(status);
        assert_eq!((&error["reason"], &error["field"]), (&json!(reason), &json!(field)), "{error}");
    }
    assert_eq!(web.json("PUT", "/items/DEFA-9/brief", &json!({"objective": "x"})).reason(404), "not_found");
    assert_eq!(web.get("/items/DEFA-9/verdict").reason(404), "not_found");
}

#[test]
fn an_item_may_be_made_with_its_brief() {
    let web = standard();
    let made = web.post(
        "/items",
        &json!({"title": "One", "intent": "less work", "dueAt": "2030-01-01T00:00:00Z", "estimateMinutes": 30, "position": -2,
                "attention": "look", "brief": {"objective": "x", "acceptanceCriteria": ["a"]}}),
    );
    let item = made.with(201)["item"].clone();
    assert_eq!((&item["estimateMinutes"], &item["position"]), (&json!(30), &json!(-2)));
    assert_eq!((&item["attention"], &item["dueAt"]), (&json!("look"), &json!("2030-01-01T00:00:00.000Z")));
    assert_eq!(web.get("/items/DEFA-1").with(200)["intent"], json!("less work"));
    assert_eq!(web.get("/items/DEFA-1/verdict").with(200)["counts"], json!({"pass": 0, "fail": 0, "open": 1}));
    let bad = web.post("/items", &json!({"title": "x", "brief": {"acceptanceCriteria": [{"txt": "a"}]}})).error(422);
    assert_eq!(bad["field"], json!("brief.acceptanceCriteria[0].txt"));
    let tree =
        json!({"root": {"title": "r", "children": [{"title": "c", "brief": {"acceptanceCriteria": ["a", "b"]}}]}});
    web.post("/trees", &tree).with(201);
    assert_eq!(web.get("/items/DEFA-3/verdict").with(200)["counts"]["open"], json!(2));
    let patched =
        web.json("PATCH", "/items/DEFA-1", &json!({"attention": null, "dueAt": null, "position": 4})).with(200);
    assert!(patched.get("attention").is_none() && patched.get("dueAt").is_none() && patched["position"] == json!(4));
}

#[test]
fn evidence_is_taken_in_whole_and_the_gate_is_staged() {
    let web = standard();
    web.item("One");
    let brief = json!({"acceptanceCriteria": ["a", "b", {"text": "signed", "verifier": "human"}, {"text": "soft", "hard": false}]});
    put(&web, "/items/DEFA-1/brief", &brief);
    web.send("POST", "/items/DEFA-1/begin", &[], None).with(200);
    let on = || web.post("/items/DEFA-1/transitions", &json!({"status": "in_review"}));
    let refused = on().error(409);
    assert_eq!(refused["refusals"][0]["gate"], json!("criteria"), "{refused}");
    assert!(refused["message"].as_str().is_some_and(|message| message.contains("c1")), "{refused}");
    let show = |criteria: Value| web.post("/items/DEFA-1/evidence", &json!({"criteria": criteria}));
    // One that is not there, one that is a person's, one named twice: nothing is taken in.
    for (bad, status, reason) in [
        (json!([{"id": "c1", "passed": true}, {"id": "c9", "passed": true}]), 404, "not_found"),
        (json!([{"id": "c1", "passed": true}, {"id": "c3", "passed": true}]), 409, "not_yours"),
        (json!([{"id": "c1", "passed": true}, {"id": "c1", "passed": false}]), 422, "duplicate"),
        (json!([]), 422, "too_few"),
        (json!([{"id": "x", "passed": true}]), 422, "bad_id"),
        (json!([{"id": "c1"}]), 422, "missing_field"),
    ] {
        assert_eq!(show(bad.clone()).reason(status), reason, "{bad}");
    }
    assert_eq!(web.get("/items/DEFA-1/verdict").with(200)["counts"]["open"], json!(4));
    let shown = show(json!([{"id": "c1", "passed": true, "note": "seen"}, {"id": "c2", "passed": false}]));
    let verdict = shown.with(200)["verdict"].clone();
    assert_eq!((&verdict["criteria"][0]["note"], &verdict["readyForReview"]), (&json!("seen"), &json!(false)));
    assert_eq!(on().error(409)["refusals"][0]["unproved"][0]["id"], json!("c2"));
    show(json!([{"id": "c2", "passed": true}])).with(200);
    on().with(200);
    // A person's word is next.
    let done = || web.post("/items/DEFA-1/transitions", &json!({"trigger": "complete"}));
    assert_eq!(done().error(409)["refusals"][0]["unproved"][0]["id"], json!("c3"));
    let sign = |actor: &str, authority: &str| {
        let body = json!({"authority": authority, "criteria": [{"id": "c3", "passed": true}]}).to_string();
        web.send("POST", "/items/DEFA-1/evidence", &[("x-docket-actor", actor)], Some(body.as_bytes()))
    };
    assert_eq!(sign("subagent:bot", "human").status, 403);
    assert_eq!(sign("user:ann", "check").status, 403);
    assert_eq!(sign("user:ann", "boss").reason(422), "unknown_value");
    assert_eq!(sign("user:ann", "human").with(200)["verdict"]["readyForDone"], json!(true));
    done().with(200);
}

#[test]
fn a_sign_off_takes_an_operator() {
    let (folder, database) = crate::callers::database();
    let (worker, operator) = (key(&database, &["--profile", "worker"]), key(&database, &["--profile", "operator"]));
    let viewer = key(&database, &["--profile", "viewer"]);
    let web = Web::on(&database, |_| {});
    let send = |key: &str, method: &str, path: &str, body: &Value| {
        web.send(method, path, &[("authorization", key)], Some(body.to_string().as_bytes()))
    };
    let brief = json!({"acceptanceCriteria": [{"text": "signed", "verifier": "human"}]});
    assert_eq!(send(&viewer, "PUT", "/items/WEB-1/brief", &brief).status, 403);
    send(&worker, "PUT", "/items/WEB-1/brief", &brief).with(200);
    let sign = json!({"authority": "human", "criteria": [{"id": "c1", "passed": true}]});
    assert_eq!(send(&worker, "POST", "/items/WEB-1/evidence", &sign).status, 403);
    send(&operator, "POST", "/items/WEB-1/evidence", &sign).with(200);
    drop(folder);
}
