//! Tags, conditions and retries.

use docket_tests::web::Web;
use serde_json::json;

#[test]
fn a_write_under_a_condition_happens_only_while_it_holds() {
    let web = Web::start();
    let item = web.item("One");
    let path = format!("/items/{item}");
    let tag = web.get(&path).header("etag").to_owned();
    assert!(tag.starts_with("\"1-"), "{tag}");
    assert_eq!(web.send("GET", &path, &[("if-none-match", &tag)], None).status, 304);
    // A claim changes what is shown, and not the version.
    web.send("PUT", &format!("{path}/claim"), &[], None).with(200);
    assert_eq!(web.send("GET", &path, &[("if-none-match", &tag)], None).status, 200);
    let change = |tag: &str, title: &str| {
        web.send("PATCH", &path, &[("if-match", tag)], Some(json!({ "title": title }).to_string().as_bytes()))
    };
    let changed = change(&tag, "Two");
    changed.with(200);
    assert!(changed.header("etag").starts_with("\"2-"), "{changed:?}");
    let late = change(&tag, "Three");
    assert_eq!(late.reason(412), "version_mismatch");
    assert_eq!(late.error(412)["contendedItem"], web.get(&path).with(200)["id"]);
    change("*", "Four").with(200);
    change("\"3\"", "Five").with(200);
    assert_eq!(change("nonsense", "x").reason(422), "bad_value");
    let start = br#"{"trigger":"start"}"#;
    let moves = format!("{path}/transitions");
    assert_eq!(web.send("POST", &moves, &[("if-match", "\"3\"")], Some(start)).reason(412), "version_mismatch");
    web.send("POST", &moves, &[("if-match", "\"4\"")], Some(start)).with(200);
    assert_eq!(web.send("DELETE", &path, &[("if-match", "\"4\"")], None).reason(412), "version_mismatch");
    web.send("DELETE", &path, &[("if-match", "\"5\"")], None).with(200);
}

#[test]
fn a_retry_takes_effect_once_and_answers_the_same() {
    let mut web = Web::start();
    let create = |web: &Web, key: &str, title: &str| {
        web.send("POST", "/items", &[("idempotency-key", key)], Some(json!({ "title": title }).to_string().as_bytes()))
    };
    let first = create(&web, "k-1", "One").with(201);
    assert_eq!(create(&web, "k-1", "One").with(201), first);
    let reused = create(&web, "k-1", "Other");
    assert_eq!(reused.reason(422), "request_id_reused");
    assert_eq!(reused.json()["error"]["field"], "Idempotency-Key", "named as it was sent: {}", reused.json());
    assert!(!reused.json()["error"]["message"].as_str().expect("a text").contains("requestId"), "{}", reused.json());
    // Another caller's key is another key.
    let other = web.send(
        "POST",
        "/items",
        &[("idempotency-key", "k-1"), ("x-docket-actor", "user:bob")],
        Some(br#"{"title":"One"}"#),
    );
    assert_ne!(other.with(201)["item"]["id"], first["item"]["id"]);
    // A refused request burns no key.
    assert_eq!(create(&web, "k-2", " ").reason(422), "blank");
    create(&web, "k-2", "Good").with(201);
    for (key, reason) in [("", "bad_request_id"), (&*"x".repeat(256), "bad_request_id")] {
        assert_eq!(create(&web, key, "One").reason(422), reason);
    }
    assert_eq!(
        web.send("POST", "/items", &[("idempotency-key", "a"), ("idempotency-key", "b")], Some(br#"{"title":"x"}"#))
            .reason(400),
        "duplicate"
    );
    // All at once, and after a restart.
    let answers: Vec<_> = std::thread::scope(|scope| {
        let tries: Vec<_> = (0..8).map(|_| scope.spawn(|| create(&web, "k-3", "Once"))).collect();
        tries.into_iter().map(|attempt| attempt.join().expect("an answer").with(201)).collect()
    });
    assert!(answers.windows(2).all(|pair| pair[0] == pair[1]));
    let total = web.get("/items").with(200)["total"].clone();
    let database = web.database.clone();
    web.signal("KILL");
    web.end(std::time::Duration::from_secs(5));
    let again = Web::on(&database, |_| {});
    assert_eq!(create(&again, "k-3", "Once").with(201), answers[0]);
    assert_eq!(again.get("/items").with(200)["total"], total);
}

/// A key is one for each operation: two that come to the same are told apart by what they ask for.
#[test]
fn a_key_of_one_operation_is_free_for_another() {
    let web = Web::start();
    let key = [("idempotency-key", "k-1")];
    web.send("POST", "/items", &key, Some(br#"{"title":"One"}"#)).with(201);
    let note = "/items/DEFA-1/notes/plan";
    let put = web.send("PUT", note, &key, Some(br#"{"body":"words"}"#));
    assert!(put.status < 300, "{put:?}");
    assert_eq!(web.send("PUT", note, &key, Some(br#"{"body":"others"}"#)).reason(422), "request_id_reused");
    assert_eq!(web.send("DELETE", note, &key, None).status, 204);
    web.get(note).error(404);
    web.send("PUT", note, &[], Some(br#"{"body":"once more"}"#));
    assert_eq!(web.send("DELETE", note, &key, None).status, 204);
    web.get(note).with(200);
    let many = br#"{"items":[{"title":"One"}]}"#;
    assert_eq!(web.send("POST", "/bulk/items", &key, Some(many)).reason(422), "request_id_reused");
}

/// Whoever sends a condition believes that it is kept: where it is not, nothing is done.
#[test]
fn a_condition_that_nobody_looks_at_is_refused() {
    let web = Web::start();
    let item = web.item("One");
    let document = web.get("/openapi.json").with(200);
    let path = format!("/items/{item}");
    web.json("PUT", &format!("{path}/notes/plan"), &json!({"body": "First"})).with(200);
    let made = web.post(
        &format!("{path}/links"),
        &json!({"links": [{"kind": "pr", "ref": "7", "url": "https://example.com/pull/7"}]}),
    );
    let link = made.with(201)["links"][0].as_str().expect("a link").to_owned();
    let events = web.get("/events?limit=200").with(200)["events"].clone();
    for (method, route, path, body) in [
        ("PUT", "/items/{id}/notes/{key}", format!("{path}/notes/plan"), json!({"body": "Other"})),
        ("DELETE", "/items/{id}/notes/{key}", format!("{path}/notes/plan"), json!(null)),
        ("PUT", "/items/{id}/claim", format!("{path}/claim"), json!({})),
        ("DELETE", "/items/{id}/claim", format!("{path}/claim"), json!(null)),
        ("POST", "/items/{id}/comments", format!("{path}/comments"), json!({"comment": "Said"})),
        ("POST", "/items/{id}/links", format!("{path}/links"), json!({"links": []})),
        ("DELETE", "/links/{link}", format!("/links/{link}"), json!(null)),
        ("POST", "/items", "/items".to_owned(), json!({"title": "Two"})),
        ("POST", "/queue/claim", "/queue/claim".to_owned(), json!({})),
    ] {
        let bytes = body.to_string();
        let body = (!body.is_null()).then_some(bytes.as_bytes());
        for condition in ["\"1\"", "*", "nonsense"] {
            let refused = web.send(method, &path, &[("if-match", condition)], body);
            assert_eq!(refused.reason(422), "unknown_field", "{method} {path}");
            assert_eq!(refused.error(422)["field"], json!("If-Match"), "{method} {path}");
        }
        let operation = &document["paths"][route][method.to_lowercase()];
        assert!(operation["summary"].is_string(), "{method} {route} is not described");
        assert!(operation["responses"]["412"].is_null(), "{method} {route} has no condition");
    }
    assert_eq!(web.get("/events?limit=200").with(200)["events"], events, "something was done");
    // What takes one says so.
    let described = &document["paths"]["/items/{id}"]["patch"];
    assert!(described["responses"]["412"].is_object(), "{described}");
    web.send("GET", &path, &[("if-match", "\"1\"")], None).with(200);
}
