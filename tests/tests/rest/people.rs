//! What goes between agents and people: questions, the inbox, comments, links, attention.

use serde_json::{Value, json};

use crate::contract::standard;

fn id(value: &Value) -> String {
    value.as_str().unwrap_or_else(|| panic!("{value} is no text")).to_owned()
}

#[test]
fn a_question_parks_the_item_and_an_answer_frees_it() {
    let web = standard();
    web.item("One");
    web.send("POST", "/items/DEFA-1/begin", &[], None).with(200);
    let asked = web.post("/items/DEFA-1/questions", &json!({"question": "Which?", "options": ["a", "b"]})).with(201);
    assert_eq!((&asked["role"], &asked["status"]), (&json!("blocked"), &json!("waiting_for_input")));
    assert!(web.get("/items/DEFA-1").with(200).get("claim").is_none(), "the claim has ended");
    assert_eq!(web.post("/items/DEFA-1/questions", &json!({"question": "And?"})).reason(409), "question_open");
    let question = id(&asked["question"]["id"]);
    let answer = |body: &Value| web.post(&format!("/questions/{question}/answer"), body);
    assert_eq!(answer(&json!({"answer": " "})).reason(422), "blank");
    assert_eq!(answer(&json!({"reply": "a"})).reason(422), "unknown_field");
    let answered = answer(&json!({"answer": "neither"})).with(200);
    assert_eq!((&answered["role"], &answered["question"]["state"]), (&json!("queue"), &json!("answered")));
    assert_eq!(answer(&json!({"answer": "a"})).reason(409), "question_closed");
    // Another one is taken back; both are listed, the newest first, and by pages.
    let second = id(&web.post("/items/DEFA-1/questions", &json!({"question": "And?"})).with(201)["question"]["id"]);
    let back = web.send("POST", &format!("/questions/{second}/withdraw"), &[], None).with(200);
    assert_eq!(back["question"]["state"], json!("cancelled"));
    let all = web.get("/items/DEFA-1/questions").with(200);
    let told: Vec<_> =
        all["questions"].as_array().expect("a list").iter().map(|q| (id(&q["text"]), id(&q["state"]))).collect();
    assert_eq!(told, [("And?".to_owned(), "cancelled".to_owned()), ("Which?".to_owned(), "answered".to_owned())]);
    let page = web.get("/items/DEFA-1/questions?limit=1").with(200);
    let next = web.get(&format!("/items/DEFA-1/questions?limit=1&cursor={}", id(&page["nextCursor"]))).with(200);
    assert_eq!((&next["questions"][0]["text"], next.get("nextCursor")), (&json!("Which?"), None));
    for (path, status, reason) in [
        ("/questions/01K7SA4Z0C8R5QY3M2B1N0V9XT/withdraw", 404, "not_found"),
        ("/questions/nonsense/withdraw", 422, "bad_id"),
    ] {
        assert_eq!(web.send("POST", path, &[], None).reason(status), reason, "{path}");
    }
    assert_eq!(web.post("/items/DEFA-9/questions", &json!({"question": "x"})).reason(404), "not_found");
    assert_eq!(web.post("/items/DEFA-1/questions", &json!({"question": ""})).reason(422), "blank");
    assert_eq!(
        web.post("/items/DEFA-1/questions", &json!({"question": "x", "options": vec!["o"; 21]})).reason(422),
        "too_many"
    );
}

#[test]
fn a_question_that_is_retried_is_asked_once() {
    let web = standard();
    web.item("One");
    let ask = || {
        web.send("POST", "/items/DEFA-1/questions", &[("idempotency-key", "q-1")], Some(br#"{"question": "Which?"}"#))
            .with(201)
    };
    assert_eq!(ask(), ask());
    assert_eq!(web.get("/items/DEFA-1/questions").with(200)["questions"].as_array().map(Vec::len), Some(1));
}

#[test]
fn everything_that_waits_for_a_person_is_in_one_list() {
    let web = standard();
    for title in ["asks", "flagged", "reviewed", "plain"] {
        web.item(title);
    }
    web.post("/items/DEFA-1/questions", &json!({"question": "Which?"})).with(201);
    web.json("PATCH", "/items/DEFA-2", &json!({"attention": "odd"})).with(200);
    let brief = json!({"acceptanceCriteria": [{"text": "ann likes it", "verifier": "human"}]});
    web.json("PUT", "/items/DEFA-3/brief", &brief).with(200);
    for step in ["work", "review"] {
        web.send("PUT", "/items/DEFA-3/claim", &[], None).with(200);
        let moved = web.post("/items/DEFA-3/transitions", &json!({"trigger": "start"}));
        assert_eq!(moved.status, 200, "into {step}: {}", String::from_utf8_lossy(&moved.body));
    }
    let inbox = web.get("/inbox").with(200);
    assert_eq!(inbox["total"], json!(3), "{inbox}");
    let why = |at: usize| -> Vec<String> {
        inbox["items"][at]["waits"].as_array().expect("reasons").iter().map(|waits| id(&waits["reason"])).collect()
    };
    assert_eq!((why(0), why(1)), (vec!["question".to_owned()], vec!["attention".to_owned()]));
    assert_eq!(why(2), ["sign-off", "review"]);
    assert_eq!(inbox["items"][2]["waits"][0]["criteria"], json!([{"id": "c1", "text": "ann likes it"}]));
    assert_eq!(inbox["items"][0]["item"]["key"], json!("DEFA-1"));
    assert!(!inbox.to_string().contains("\"holder\""), "a list does not tell who holds what: {inbox}");
    let page = web.get("/inbox?limit=2").with(200);
    let rest = web.get(&format!("/inbox?limit=2&cursor={}", id(&page["nextCursor"]))).with(200);
    assert_eq!(rest["items"][0]["item"]["key"], json!("DEFA-3"));
    assert_eq!(web.get("/items?inbox=true").with(200)["total"], json!(3));
    assert_eq!(web.get("/items?inbox=false").with(200)["total"], json!(1));
    assert_eq!(web.get("/inbox?project=none").reason(404), "not_found");
    assert_eq!(web.get("/inbox?limit=0").reason(422), "bad_value");
}

#[test]
fn items_are_found_by_who_holds_them() {
    let web = standard();
    let names = |path: &str| -> Vec<String> {
        web.get(path).with(200)["items"].as_array().expect("items").iter().map(|item| id(&item["key"])).collect()
    };
    for (title, actor) in [("One", "user:ann"), ("Two", "user:bob")] {
        let item = web.item(title);
        web.send("PUT", &format!("/items/{item}/claim"), &[("x-docket-actor", actor)], None).with(200);
    }
    assert_eq!(names("/items?heldBy=bob"), ["DEFA-2"]);
    assert_eq!(names("/items?heldBy=nobody"), Vec::<String>::new());
}

#[test]
fn comments_are_added_and_shown_the_newest_first() {
    let web = standard();
    web.item("One");
    for text in ["first", "second", "third"] {
        web.post("/items/DEFA-1/comments", &json!({"comment": text})).with(201);
    }
    let shown = web.get("/items/DEFA-1/comments?limit=2").with(200);
    let told: Vec<String> = shown["comments"].as_array().expect("a list").iter().map(|c| id(&c["body"])).collect();
    assert_eq!((told, &shown["truncated"]), (vec!["third".to_owned(), "second".to_owned()], &json!(true)));
    assert_eq!(web.get("/items/DEFA-1/comments").with(200)["truncated"], json!(false));
    assert_eq!(web.post("/items/DEFA-1/comments", &json!({"comment": " "})).reason(422), "blank");
    assert_eq!(web.post("/items/DEFA-1/comments", &json!({})).reason(422), "missing_field");
    assert_eq!(web.post("/items/DEFA-9/comments", &json!({"comment": "x"})).reason(404), "not_found");
    assert_eq!(web.get("/items/DEFA-9/comments").reason(404), "not_found");
}

#[test]
fn links_lead_outside_and_nowhere_else() {
    let web = standard();
    web.item("One");
    let link = json!({"kind": "pr", "ref": "7", "url": "https://example.com/7", "title": "Seven"});
    let add = |links: Value| web.post("/items/DEFA-1/links", &json!({"links": links}));
    let first = add(json!([link, {"kind": "commit", "ref": "abc", "url": "http://example.com/abc"}])).with(201);
    assert_eq!(first["links"].as_array().map(Vec::len), Some(2));
    // What is linked already is linked; one bad link refuses all.
    assert_eq!(add(json!([link])).with(201)["links"][0], first["links"][0]);
    for url in ["javascript:alert(1)", "file:///etc/passwd", "example.com", ""] {
        let error = add(
            json!([{"kind": "a", "ref": "b", "url": "https://example.com/b"}, {"kind": "a", "ref": "b", "url": url}]),
        )
        .error(422);
        assert_eq!(error["field"], json!("links[1].url"), "{url}: {error}");
    }
    let shown = web.get("/items/DEFA-1/links").with(200);
    assert_eq!(shown["links"].as_array().map(Vec::len), Some(2), "{shown}");
    let gone = format!("/links/{}", id(&first["links"][0]));
    assert_eq!(web.delete(&gone).status, 204);
    assert_eq!(web.delete(&gone).reason(404), "not_found");
    assert_eq!(web.get("/items/DEFA-1/links").with(200)["links"][0]["ref"], json!("abc"));
    assert_eq!(add(json!([])).reason(422), "too_few");
}

#[test]
fn a_project_that_was_put_away_is_read_and_not_changed() {
    let web = standard();
    web.item("One");
    web.post("/projects", &json!({"slug": "old", "prefix": "OLD"})).with(201);
    assert_eq!(web.post("/items", &json!({"title": "x", "project": "old"})).status, 201);
    let put_away = web.json("PATCH", "/projects/old", &json!({"archived": true})).with(200);
    assert!(put_away["archivedAt"].is_string(), "{put_away}");
    let slugs = |path: &str| web.get(path).with(200)["projects"].as_array().expect("projects").len();
    assert_eq!((slugs("/projects"), slugs("/projects?includeArchived=true")), (1, 2));
    assert_eq!(web.get("/items/OLD-1").with(200)["title"], json!("x"));
    assert!(web.json("PATCH", "/items/OLD-1", &json!({"title": "y"})).status >= 400);
    // By its id as well as by its slug.
    let by_id = format!("/projects/{}", id(&put_away["id"]));
    assert_eq!(web.get(&by_id).with(200)["slug"], json!("old"));
    web.json("PATCH", &by_id, &json!({"archived": false})).with(200);
    web.json("PATCH", "/items/OLD-1", &json!({"title": "y"})).with(200);
    assert_eq!(web.get(&format!("/items?project={}", id(&put_away["id"]))).with(200)["total"], json!(1));
}
