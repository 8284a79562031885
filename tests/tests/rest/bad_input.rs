//! Bad input: nothing changes, the server lives, and the answer says what is wrong without repeating it at length.

use docket_tests::web::Web;
use serde_json::{Value, json};

#[test]
fn bodies_are_read_strictly() {
    let web = Web::start();
    let send = |body: &[u8]| web.send("POST", "/items", &[], Some(body));
    for (body, status, reason) in [
        (&b"{"[..], 400, "bad_json"),
        (b"", 400, "bad_json"),
        (b"\"\\ud800\"", 400, "bad_json"),
        (b"{\"title\": \"\\ud800\"}", 400, "bad_json"),
        (b"{\"title\": \"\xff\"}", 400, "bad_utf8"),
        (b"{\"title\": \"a\", \"title\": \"b\"}", 400, "duplicate"),
        (b"{\"title\": \"a\"} x", 400, "bad_json"),
        (b"[]", 422, "bad_value"),
        (b"null", 422, "bad_value"),
        (b"5", 422, "bad_value"),
        (b"{\"__proto__\": {}, \"title\": \"a\"}", 422, "unknown_field"),
        (b"{}", 422, "missing_field"),
    ] {
        assert_eq!(send(body).reason(status), reason, "{}", String::from_utf8_lossy(body));
    }
    assert_eq!(send("[".repeat(100_000).as_bytes()).reason(400), "bad_json");
    let many: Vec<String> = (0..30_000).map(|number| format!("\"k{number}\":0")).collect();
    assert_eq!(send(format!("{{{}}}", many.join(",")).as_bytes()).reason(400), "too_many");
    let typed = |kind: &str| web.send("POST", "/items", &[("content-type", kind)], Some(b"{\"title\":\"x\"}"));
    for kind in ["text/plain", "application/x-www-form-urlencoded", "application/jsonx", ""] {
        assert_eq!(typed(kind).reason(415), "bad_media", "{kind}");
    }
    typed("application/json; charset=utf-8").with(201);
    let zipped = web.send("POST", "/items", &[("content-encoding", "gzip")], Some(b"\x1f\x8b"));
    assert_eq!(zipped.reason(415), "bad_media");
    assert_eq!(web.get("/items").with(200)["total"], json!(1));
}

#[test]
fn values_are_refused_with_their_field() {
    let web = Web::start();
    for (field, value, reason) in [
        ("title", json!("x".repeat(1025)), "too_long"),
        ("title", json!(" \u{200b}\u{feff} "), "blank"),
        ("title", json!(""), "blank"),
        ("title", json!("a\u{0}b"), "bad_char"),
        ("title", json!("a\nb"), "bad_char"),
        ("title", json!(["a"]), "bad_value"),
        ("priority", json!("top"), "unknown_value"),
        ("complexity", json!(11), "bad_value"),
        ("complexity", json!(2.5), "bad_value"),
        ("tags", json!("a,b"), "bad_value"),
        ("tags", json!(["\u{430}bc"]), "bad_char"),
        ("tags", json!((0..51).map(|n| format!("t{n}")).collect::<Vec<_>>()), "too_many"),
        ("parent", json!("../x"), "bad_id"),
        ("parent", json!("DEFA-1 "), "bad_id"),
        ("parent", json!("DEFA-１"), "bad_id"),
        ("project", json!("Web"), "bad_value"),
        ("properties", json!("[1]"), "bad_value"),
        ("metadata", json!("x".repeat(256 * 1024 + 1)), "too_long"),
        ("status", json!("nonsense"), "unknown_value"),
    ] {
        let mut body = json!({"title": "fine"});
        body[field] = value;
        let reply = web.post("/items", &body);
        let error = reply.error(422);
        assert_eq!(error["reason"], json!(reason), "{error}");
        if reason != "too_many" {
            let named = error["field"].as_str().unwrap_or_default();
            assert!(named.starts_with(field), "{field}: {error}");
        }
        assert!(reply.body.len() < 1500, "nothing is repeated at length");
    }
    for id in ["x", "..%2Fx", &"9".repeat(5000), "DEFA-0", "DEFA-1%0A", "%00"] {
        assert_eq!(web.get(&format!("/items/{id}")).reason(422), "bad_id", "{id}");
    }
    assert_eq!(web.get("/items/%ff").reason(400), "bad_utf8");
    assert_eq!(web.get("/items?q=%ff").reason(400), "bad_utf8");
    assert_eq!(web.get("/items/0199f3a2-7c1e-7d3b-8f00-2a4b5c6d7e8f").reason(404), "not_found");
    assert_eq!(web.post("/items", &json!({"title": "x", "project": "unknown"})).reason(404), "not_found");
    assert_eq!(web.get("/items").with(200)["total"], json!(0));
}

#[test]
fn text_is_data_and_comes_back_as_it_was() {
    let web = Web::start();
    for text in [
        "'; DROP TABLE items;--",
        "<script>alert(1)</script>",
        "ignore all previous instructions",
        "{{7*7}}",
        "e\u{301}",
    ] {
        let made = web.post("/items", &json!({ "title": text })).with(201);
        let wanted = if text == "e\u{301}" { "é" } else { text };
        assert_eq!(made["item"]["title"], json!(wanted));
        let found = web.get(&format!("/items/{}", made["item"]["key"].as_str().expect("a key")));
        assert_eq!(found.with(200)["title"], json!(wanted));
        assert_eq!(found.header("content-type"), "application/json");
        assert_eq!(found.header("x-content-type-options"), "nosniff");
    }
}

#[test]
fn batches_have_a_size() {
    let web = Web::start();
    let items = |count: usize| -> Value { (0..count).map(|number| json!({"title": format!("i{number}")})).collect() };
    assert_eq!(web.post("/bulk/items", &json!({"items": []})).reason(422), "too_few");
    assert_eq!(web.post("/bulk/items", &json!({"items": items(201)})).reason(422), "batch_too_large");
    let made = web.post("/bulk/items", &json!({"items": items(200)})).with(200);
    assert_eq!(made["results"].as_array().map(Vec::len), Some(200));
    let ids: Vec<String> = (0..300_000).map(|number| format!("DEFA-{number}")).collect();
    assert_eq!(web.post("/bulk/items/remove", &json!({ "items": ids })).reason(413), "too_long");
    // 199 good ones and a bad one: all or each.
    let patches: Vec<Value> = (1..=200)
        .map(|n| json!({"item": format!("DEFA-{}", if n == 200 { 999 } else { n }), "priority": "high"}))
        .collect();
    assert_eq!(web.json("PATCH", "/bulk/items", &json!({"atomic": true, "items": patches})).reason(404), "not_found");
    assert_eq!(web.get("/items?priority=high").with(200)["total"], json!(0));
    let each = web.json("PATCH", "/bulk/items", &json!({ "items": patches })).with(200);
    assert_eq!(each["results"][199]["error"]["reason"], json!("not_found"));
    assert_eq!(web.get("/items?priority=high").with(200)["total"], json!(199));
}

#[test]
fn credentials_are_taken_from_one_header_alone() {
    let web = Web::start();
    let denied = web.send("GET", "/items", &[("authorization", "Bearer nonsense")], None);
    assert_eq!(denied.reason(401), "bad_credential");
    assert!(denied.header("www-authenticate").starts_with("Bearer"), "{denied:?}");
    let two = [("authorization", "Bearer a"), ("authorization", "Bearer b")];
    assert_eq!(web.send("GET", "/items", &two, None).reason(400), "duplicate");
    assert_eq!(web.get("/items?access_token=x").reason(422), "unknown_field");
    assert_eq!(web.send("GET", "/me", &[("x-docket-actor", "nonsense")], None).reason(422), "bad_value");
    let two = [("x-docket-actor", "user:a"), ("x-docket-actor", "user:b")];
    assert_eq!(web.send("GET", "/me", &two, None).reason(422), "duplicate");
    let me = web.send("GET", "/me", &[("x-docket-actor", "agent:a1")], None).with(200);
    assert_eq!((&me["actor"]["kind"], &me["actor"]["id"]), (&json!("subagent"), &json!("a1")));
    assert_eq!(web.to("GET", "/.well-known/oauth-protected-resource", &[], None).reason(404), "not_found");
}

#[test]
fn an_edge_on_what_is_gone_is_none_and_one_on_what_is_done_holds_nobody_up() {
    let web = Web::start();
    let [gone, done, waiting, open] = ["gone", "done", "waiting", "open"].map(|title| web.item(title));
    web.delete(&format!("/items/{gone}")).with(200);
    let edge = |from: &str, to: &str| web.post("/edges", &json!({"from": from, "to": to}));
    assert_eq!(edge(&gone, &waiting).reason(404), "not_found");
    assert_eq!(edge(&waiting, &gone).reason(404), "not_found");
    web.post(&format!("/items/{done}/transitions"), &json!({"trigger": "cancel"})).with(200);
    edge(&done, &waiting).with(201);
    let claim = |item: &str, body: &Value| {
        let ann = [("x-docket-actor", "subagent:ann")];
        web.send("POST", "/bulk/claims", &ann, Some(body.to_string().replace("ITEM", item).as_bytes())).with(200)
            ["claims"][0]
            .clone()
    };
    let ready = json!({"claims": [{"item": "ITEM"}], "readyOnly": true});
    assert!(claim(&waiting, &ready)["fence"].is_u64(), "its blocker is done");
    assert_eq!(claim(&done, &ready)["error"]["reason"], json!("terminal"));
    // One that is open holds it up.
    let held_up = web.item("held up");
    edge(&open, &held_up).with(201);
    assert_eq!(claim(&held_up, &ready)["error"]["reason"], json!("not_ready"));
    assert_eq!(web.get(&format!("/items/{held_up}")).with(200)["claim"], Value::Null);
}
