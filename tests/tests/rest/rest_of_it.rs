//! Projects, bulk, workflows, import and export.

use docket_tests::web::Web;
use serde_json::json;

#[test]
fn projects_are_made_shown_and_changed() {
    let web = Web::start();
    let made = web
        .post("/projects", &json!({"slug": "web", "name": "Web shop", "prefix": "WEB", "preset": "standard"}))
        .with(201);
    assert_eq!((&made["slug"], &made["workflow"]["preset"]), (&json!("web"), &json!("standard")));
    assert_eq!(web.get("/projects").with(200)["projects"].as_array().map(Vec::len), Some(2));
    assert_eq!(web.post("/projects", &json!({"slug": "web"})).reason(409), "duplicate");
    assert_eq!(web.post("/projects", &json!({"slug": "b", "prefix": "WEB"})).reason(409), "duplicate");
    assert_eq!(web.post("/projects", &json!({"slug": "Web"})).reason(422), "bad_value");
    assert_eq!(web.post("/projects", &json!({"slug": "c", "preset": "nope"})).reason(422), "unknown_value");
    let changed = web.json("PATCH", "/projects/web", &json!({"name": "Shop"})).with(200);
    assert_eq!((&changed["name"], &changed["version"]), (&json!("Shop"), &json!(2)));
    let schemas =
        json!({"schemas": {"types": {"bug": {"notes": [{"key": "cause", "phase": "work", "required": true}]}}}});
    web.json("PATCH", "/projects/web", &schemas).with(200);
    assert_eq!(web.get("/node-types/bug?project=web").with(200)["notes"][0]["key"], json!("cause"));
    assert_eq!(web.json("PATCH", "/projects/nope", &json!({"name": "x"})).reason(404), "not_found");
    assert_eq!(web.json("PATCH", "/projects/web", &json!({"prefix": "X"})).reason(422), "unknown_field");
    assert_eq!(web.get("/projects/web").with(200)["prefix"], json!("WEB"));
    assert_eq!(web.get("/projects/web/workflow").with(200)["initial"], json!("backlog"));
    assert_eq!(web.get("/projects/nope").reason(404), "not_found");
    assert_eq!(web.get("/workflows").with(200)["workflows"][0]["preset"], json!("standard"));
    assert_eq!(web.get("/workflows/task-orchestrator").with(200)["maxDepth"], json!(3));
    assert_eq!(web.get("/workflows/nope").reason(404), "not_found");

    let item = web
        .post("/items", &json!({"title": "Bug", "project": "web", "itemType": "bug", "status": "in_progress"}))
        .with(201);
    assert_eq!(item["item"]["key"], json!("WEB-1"));
    let health = web.get("/projects/web/health").with(200);
    assert_eq!((&health["active"][0]["key"], &health["stalled"][0]["missing"]), (&json!("WEB-1"), &json!(["cause"])));
    web.json("PUT", "/items/WEB-1/notes/cause", &json!({"body": "x"})).with(200);
    web.post("/items/WEB-1/transitions", &json!({"trigger": "start"})).with(200);
    let activity = web.get("/projects/web/activity?since=2020-01-01T00:00:00Z").with(200);
    assert_eq!((&activity["moves"][0]["from"], &activity["moves"][0]["to"]), (&json!("work"), &json!("review")));
    assert_eq!(web.get("/projects/web/activity").reason(422), "missing_field");
    assert_eq!(web.get("/items?project=default").with(200)["total"], json!(0));
    assert_eq!(web.get("/items").with(200)["total"], json!(1));
}

#[test]
fn many_at_once() {
    let web = Web::start();
    let made = web
        .post("/bulk/items", &json!({"items": [{"title": "A"}, {"title": "B", "parent": "DEFA-99"}, {"title": "C"}]}))
        .with(200);
    assert_eq!(
        (&made["results"][0]["item"]["key"], &made["results"][1]["error"]["reason"]),
        (&json!("DEFA-1"), &json!("not_found"))
    );
    let moved = web
        .post(
            "/bulk/transitions",
            &json!({"transitions": [{"item": "DEFA-1", "trigger": "start"}, {"item": "DEFA-99", "trigger": "start"}]}),
        )
        .with(200);
    assert_eq!(
        (&moved["results"][0]["toRole"], &moved["results"][1]["error"]["code"]),
        (&json!("work"), &json!("NOT_FOUND"))
    );
    let error = web.post("/bulk/transitions", &json!({"transitions": [{"item": "DEFA-1"}]})).error(422);
    assert_eq!(error["field"], json!("transitions[0].trigger"));
    let claims = web.post("/bulk/claims", &json!({"claims": [{"item": "DEFA-1"}], "releases": ["DEFA-2"]})).with(200);
    assert_eq!(
        (&claims["claims"][0]["fence"], &claims["releases"][0]["error"]["reason"]),
        (&json!(1), &json!("not_claimed_by_you"))
    );
    assert_eq!(web.post("/bulk/claims", &json!({})).reason(422), "too_few");
    let two = json!({"claims": [{"item": "DEFA-1"}, {"item": "DEFA-2"}]});
    let claims = web.post("/bulk/claims", &two).with(200);
    assert_eq!(
        (&claims["claims"][0]["fence"], &claims["claims"][1]["error"]["reason"]),
        (&json!(1), &json!("claim_limit"))
    );
    let notes = web.json("PUT", "/bulk/notes", &json!({"notes": [{"item": "DEFA-1", "key": "k", "body": "b"}, {"item": "DEFA-99", "key": "k", "body": "b"}]})).with(200);
    assert_eq!(
        (&notes["results"][0]["note"]["key"], &notes["results"][1]["error"]["reason"]),
        (&json!("k"), &json!("not_found"))
    );
    let edges = web.post("/bulk/edges", &json!({"edges": [{"from": "DEFA-1", "to": "DEFA-2"}]})).with(201);
    assert_eq!(edges["edges"].as_array().map(Vec::len), Some(1));
    let refused = web.post("/bulk/edges", &json!({"edges": [{"from": "DEFA-2", "to": "DEFA-1"}]}));
    assert_eq!(refused.reason(422), "cycle");
    let gone = web.post("/bulk/items/remove", &json!({"items": ["DEFA-2", "DEFA-99"]})).with(200);
    assert_eq!(
        (gone["results"][0]["item"].is_string(), &gone["results"][1]["error"]["reason"]),
        (true, &json!("not_found"))
    );
}

#[test]
fn what_goes_out_comes_in_again() {
    let web = Web::start();
    let tree = json!({"root": {"title": "Root", "children": [{"ref": "a", "title": "A"}, {"ref": "b", "title": "B", "notes": [{"key": "n", "phase": "queue", "body": "x"}]}]}, "edges": [{"from": "a", "to": "b"}]});
    web.post("/trees", &tree).with(201);
    web.json("PUT", "/items/DEFA-2/brief", &json!({"acceptanceCriteria": ["a"]})).with(200);
    web.post("/items/DEFA-2/comments", &json!({"comment": "c"})).with(201);
    web.post("/items/DEFA-2/links", &json!({"links": [{"kind": "k", "ref": "r", "url": "https://example.com/"}]}))
        .with(201);
    web.post("/items/DEFA-2/questions", &json!({"question": "q"})).with(201);
    let export = web.get("/export");
    assert_eq!((export.status, export.header("content-type")), (200, "application/x-ndjson"));
    let jsonl = [("content-type", "application/x-ndjson")];
    let other = Web::start_with("[project]\nslug = \"other\"\n", |_| {});
    let taken = other.send("POST", "/import", &jsonl, Some(&export.body)).with(201);
    let rows = json!({"projects": 1, "items": 3, "edges": 1, "notes": 1, "briefs": 1, "questions": 1, "comments": 1, "links": 1, "entries": 0, "entryLinks": 0, "sessions": 0});
    assert_eq!(taken, rows);
    assert_eq!(other.get("/export?project=default").body, export.body);
    assert_eq!(other.send("POST", "/import", &jsonl, Some(&export.body)).reason(409), "duplicate");
    for (body, status, reason) in [
        (&b""[..], 400, "bad_json"),
        (b"{\"docket\":1}\nnonsense", 400, "bad_json"),
        (b"{\"docket\":99}", 422, "bad_value"),
        (b"{\"docket\":1}\n{\"thing\":{}}", 422, "unknown_field"),
        (b"{\"docket\":1}\n\xff", 400, "bad_utf8"),
    ] {
        let refused = other.send("POST", "/import", &jsonl, Some(body));
        assert_eq!(refused.reason(status), reason, "{}", String::from_utf8_lossy(body));
    }
    assert_eq!(other.post("/import", &json!({})).reason(415), "bad_media");
    assert_eq!(other.get("/export?project=nope").reason(404), "not_found");
}

#[test]
fn settings_of_a_project_are_changed_one_by_one() {
    let web = Web::start();
    let path = "/projects/default/settings";
    let before = web.get(path).with(200);
    let set = web.json("PATCH", path, &json!({"claims": {"ttlSeconds": 60}})).with(200);
    assert_eq!(set["claims"]["ttlSeconds"], json!(60));
    assert_eq!((&set["gates"], &set["claims"]["perAgent"]), (&before["gates"], &before["claims"]["perAgent"]));
    assert_eq!(web.get("/projects/default/workflow").with(200)["claims"]["ttlSeconds"], json!(60));
    assert_eq!(web.json("PATCH", path, &json!({"claims": {"ttl": 1}})).reason(422), "unknown_field");
    assert_eq!(web.json("PATCH", path, &json!({"maxDepth": 200})).reason(422), "bad_value");
    assert_eq!(web.json("PATCH", "/projects/never/settings", &json!({})).error(404)["code"], json!("NOT_FOUND"));
    assert_eq!(web.get(path).with(200), set);
}
