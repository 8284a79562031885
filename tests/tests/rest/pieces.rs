//! A piece of work from its beginning to its end, and whole sets of items.

use docket_tests::web::Web;
use serde_json::{Value, json};

use crate::contract::standard;

fn as_actor(web: &Web, actor: &str, path: &str, body: &Value) -> docket_tests::web::Reply {
    web.send("POST", path, &[("x-docket-actor", actor)], Some(body.to_string().as_bytes()))
}

#[test]
fn work_is_begun_and_finished_in_one_step_each() {
    let web = standard();
    web.post("/items", &json!({"title": "One", "brief": {"acceptanceCriteria": ["a", "b"]}})).with(201);
    let begun = as_actor(&web, "subagent:bot", "/items/DEFA-1/begin", &json!({"ttlSeconds": 600})).with(200);
    assert_eq!(
        (&begun["held"]["claim"]["holder"], &begun["started"]["toStatus"]),
        (&json!("bot"), &json!("in_progress"))
    );
    let fence = &begun["held"]["fence"];
    let other = as_actor(&web, "subagent:eve", "/items/DEFA-1/begin", &json!({})).error(409);
    assert_eq!(other["reason"], json!("already_claimed"));
    assert!(other["retryAfterMs"].is_u64() && !other.to_string().contains("bot"), "{other}");
    let finish = |body: Value| as_actor(&web, "subagent:bot", "/items/DEFA-1/finish", &body);
    let preview = finish(json!({"preview": true, "comment": "done"})).with(200);
    assert_eq!((&preview["applied"], &preview["blockers"][0]["gate"]), (&json!(false), &json!("criteria")));
    assert_eq!(finish(json!({"comment": "done"})).error(409)["refusals"][0]["gate"], json!("criteria"));
    assert_eq!(web.get("/items/DEFA-1/comments").with(200)["comments"], json!([]), "nothing was done");
    let shown = json!([{"id": "c1", "passed": true}, {"id": "c2", "passed": true}]);
    let link = json!([{"kind": "pr", "ref": "7", "url": "https://example.com/7"}]);
    let done = finish(json!({"comment": "done", "links": link, "criteria": shown, "fence": fence}));
    let finished = done.with(200);
    assert_eq!(
        (&finished["applied"], &finished["moved"]["toStatus"]),
        (&json!(true), &json!("in_review")),
        "{finished}"
    );
    assert!(finished["comment"].is_string() && finished["links"].as_array().is_some_and(|links| links.len() == 1));
    assert!(done.header("etag").starts_with('"'), "{done:?}");
    assert_eq!(finish(json!({"trigger": "complete", "status": "done"})).reason(422), "bad_value");
    assert_eq!(finish(json!({"trigger": "complete", "fence": 99})).status / 100, 4);
    assert_eq!(finish(json!({"trigger": "complete"})).with(200)["moved"]["toStatus"], json!("done"));
    assert_eq!(web.send("POST", "/items/DEFA-1/begin", &[], None).reason(409), "terminal");
}

#[test]
fn the_best_ready_work_is_claimed_and_begun_at_once() {
    let web = standard();
    web.item("One");
    let offer = web.post("/queue/claim", &json!({"start": true})).with(200);
    assert_eq!(
        (&offer["item"]["key"], &offer["started"]["toStatus"]),
        (&json!("DEFA-1"), &json!("in_progress")),
        "{offer}"
    );
    let nothing = web.post("/queue/claim", &json!({"start": true, "abandoned": true})).with(200);
    assert!(nothing.get("held").is_none(), "{nothing}");
}

#[test]
fn a_tree_is_closed_whole_or_not_at_all() {
    let web = standard();
    web.post(
        "/trees",
        &json!({"root": {"title": "r", "children": [
        {"title": "a"}, {"title": "b", "brief": {"acceptanceCriteria": ["shown"]}}]}}),
    )
    .with(201);
    let close = |body: Value| web.post("/items/DEFA-1/close-tree", &body);
    assert_eq!(close(json!({})).error(409)["refusals"][0]["gate"], json!("criteria"));
    assert_eq!(web.get("/items?roles=terminal").with(200)["total"], json!(0), "all or nothing");
    web.post("/items/DEFA-3/evidence", &json!({"criteria": [{"id": "c1", "passed": true}]})).with(200);
    let closed = close(json!({})).with(200);
    assert_eq!(closed["results"].as_array().map(Vec::len), Some(3), "{closed}");
    assert_eq!(web.get("/items?roles=terminal").with(200)["total"], json!(3));
    web.item("x");
    assert_eq!(web.post("/items/DEFA-4/close-tree", &json!({"cancel": true})).status, 200);
    assert_eq!(web.get("/items/DEFA-4").with(200)["outcome"], json!("cancelled"));
    assert_eq!(close(json!({"force": true})).reason(422), "unknown_field");
}

#[test]
fn many_items_are_changed_in_the_same_way() {
    let web = standard();
    for number in 0..3 {
        web.item(&format!("Item {number}"));
    }
    let change = |body: Value| web.post("/bulk/items/patch", &body);
    let changed =
        change(json!({"ids": ["DEFA-1", "DEFA-9", "DEFA-3"], "patch": {"priority": "low", "tags": ["x"]}})).with(200);
    assert_eq!(changed["results"][1]["error"]["code"], json!("NOT_FOUND"), "{changed}");
    assert_eq!(web.get("/items?tags=x&priority=low").with(200)["total"], json!(2));
    assert_eq!(
        change(json!({"ids": ["DEFA-2", "DEFA-9"], "patch": {"priority": "low"}, "atomic": true})).reason(404),
        "not_found"
    );
    assert_eq!(web.get("/items/DEFA-2").with(200)["priority"], json!("medium"));
    assert_eq!(change(json!({"ids": [], "patch": {}})).reason(422), "too_few");
    assert_eq!(change(json!({"ids": ["DEFA-1"], "patch": {"titel": "x"}})).error(422)["field"], json!("patch.titel"));
}

#[test]
fn markdown_becomes_items() {
    let web = standard();
    let import = |body: Value| web.post("/projects/default/import-markdown", &body);
    let text = "# Release\n\n- [x] Lexer\n- [ ] Parser\n  - [ ] Errors\n";
    let preview = import(json!({"markdown": text, "preview": true})).with(200);
    assert_eq!((&preview["applied"], preview["items"].as_array().map(Vec::len)), (&json!(false), Some(4)));
    assert_eq!(web.get("/items").with(200)["total"], json!(0));
    let made = import(json!({"markdown": text})).with(201);
    assert_eq!((&made["items"][0]["key"], &made["items"][1]["status"]), (&json!("DEFA-1"), &json!("done")), "{made}");
    assert_eq!(web.get("/items?parent=DEFA-3").with(200)["total"], json!(1));
    assert_eq!(import(json!({"markdown": "just words"})).error(422)["field"], json!("markdown"));
    assert_eq!(web.post("/projects/none/import-markdown", &json!({"markdown": text})).reason(404), "not_found");
    assert_eq!(import(json!({"markdown": text, "parent": "DEFA-99"})).reason(404), "not_found");
}

#[test]
fn how_long_work_took_is_told() {
    let web = standard();
    assert_eq!(web.get("/projects/default/estimate").with(200), json!({"sample": 0}));
    web.post("/items", &json!({"title": "x", "tags": ["fast"], "estimateMinutes": 5})).with(201);
    web.send("POST", "/items/DEFA-1/begin", &[], None).with(200);
    web.post("/items/DEFA-1/transitions", &json!({"trigger": "complete"})).with(200);
    let told = web.get("/projects/default/estimate?tags=fast").with(200);
    assert_eq!((&told["sample"], &told["statedMinutes"]["p50"]), (&json!(1), &json!(5)), "{told}");
    assert_eq!(web.get("/projects/default/estimate?tags=slow").with(200)["sample"], json!(0));
    assert_eq!(web.get("/projects/none/estimate").reason(404), "not_found");
}

#[test]
fn types_and_their_workflow_are_data() {
    let toml = "[project]\nslug = \"default\"\npreset = \"standard\"\n[[schemas.bug.notes]]\nkey = \"repro\"\nphase = \"queue\"\nrequired = true\n";
    let web = Web::start_with(toml, |_| {});
    let shown = web.get("/node-types/bug/workflow").with(200);
    assert_eq!(
        (&shown["nodeType"]["notes"][0]["key"], &shown["workflow"]["preset"]),
        (&json!("repro"), &json!("standard"))
    );
    assert_eq!(web.get("/node-types/none/workflow").reason(404), "not_found");
}
