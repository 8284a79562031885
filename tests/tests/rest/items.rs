//! Items, lists, trees and what is to be known of them.

use docket_tests::web::Web;
use serde_json::{Value, json};

#[test]
fn an_item_is_made_shown_changed_and_removed() {
    let web = Web::start();
    let made = web.post(
        "/items",
        &json!({"title": "  One ", "priority": "high", "tags": ["a", "b"], "description": "At length"}),
    );
    let body = made.with(201);
    let id = body["item"]["id"].as_str().expect("an id").to_owned();
    assert_eq!(made.header("location"), format!("/api/v1/items/{id}"));
    assert_eq!((body["item"]["key"].as_str(), body["item"]["title"].as_str()), (Some("DEFA-1"), Some("One")));
    assert!(body["item"].get("outcome").is_none(), "nulls are left out");

    for name in [id.as_str(), "DEFA-1", "defa-1", &id[..8]] {
        let shown = web.get(&format!("/items/{name}"));
        assert_eq!(shown.with(200)["id"], json!(id), "{name}");
        assert_eq!(shown.with(200)["description"], json!("At length"));
    }
    let patched =
        web.json("PATCH", "/items/DEFA-1", &json!({"title": "Two", "description": null, "complexity": 3, "tags": []}));
    assert_eq!(patched.with(200)["title"], json!("Two"));
    let shown = web.get("/items/DEFA-1").with(200);
    assert!(shown.get("description").is_none() && shown.get("tags").is_none(), "{shown}");
    assert_eq!((&shown["complexity"], &shown["version"]), (&json!(3), &json!(2)));

    web.post("/items", &json!({"title": "Child", "parent": "DEFA-1"})).with(201);
    assert_eq!(web.delete("/items/DEFA-1").reason(409), "has_children");
    let gone = web.delete("/items/DEFA-1?recursive=true").with(200);
    assert_eq!((&gone["item"], &gone["descendants"]), (&json!(id), &json!(1)));
    for (method, path) in [("GET", "/items/DEFA-1"), ("DELETE", "/items/DEFA-1")] {
        assert_eq!(web.send(method, path, &[], None).reason(404), "not_found", "{method} {path}");
    }
    assert_eq!(web.json("PATCH", "/items/DEFA-1", &json!({"title": "x"})).reason(404), "not_found");
}

#[test]
fn lists_are_filtered_ordered_and_paged() {
    let web = Web::start();
    for number in 0..7 {
        let priority = if number % 2 == 0 { "high" } else { "low" };
        let tags = if number < 3 { json!(["few"]) } else { json!([]) };
        web.post("/items", &json!({"title": format!("Item number {number}"), "priority": priority, "tags": tags}))
            .with(201);
    }
    let titles = |path: &str| -> Vec<String> {
        let page = web.get(path).with(200);
        page["items"]
            .as_array()
            .expect("items")
            .iter()
            .map(|item| item["title"].as_str().unwrap_or_default().to_owned())
            .collect()
    };
    assert_eq!(titles("/items").len(), 7);
    assert_eq!(titles("/items?priority=high&tags=few"), ["Item number 0", "Item number 2"]);
    assert_eq!(titles("/items?sort=title&order=desc&limit=1"), ["Item number 6"]);
    assert_eq!(titles("/items?q=number+5"), ["Item number 5"]);
    assert_eq!(titles("/search?q=NUM"), titles("/items?order=desc"));
    assert_eq!(titles("/items?roles=work,review").len(), 0);
    assert_eq!(titles("/items?parent=root").len(), 7);
    assert_eq!(titles("/items?project=default&blocked=true").len(), 0);

    // Page by page, everything once.
    let mut seen = Vec::new();
    let mut path = "/items?limit=3".to_owned();
    loop {
        let page = web.get(&path).with(200);
        assert_eq!(page["total"], json!(7));
        seen.extend(page["items"].as_array().expect("items").iter().map(|item| item["number"].as_u64()));
        match page["nextCursor"].as_str() {
            Some(cursor) => path = format!("/items?limit=3&cursor={cursor}"),
            None => break,
        }
    }
    assert_eq!(seen, (1..=7).map(Some).collect::<Vec<_>>());
    for (path, reason) in [
        ("/items?limit=0", "bad_value"),
        ("/items?limit=201", "bad_value"),
        ("/items?limit=x", "bad_value"),
        ("/items?cursor=zzz", "bad_cursor"),
        ("/items?sort=id;drop", "unknown_value"),
        ("/items?roles=nope", "unknown_value"),
        ("/items?createdAfter=yesterday", "bad_value"),
        ("/items?createdAfter=2999-01-01T00:00:00Z", "bad_value"),
        ("/items?modifiedAfter=2999-01-01T00:00:00Z", "bad_value"),
        ("/items?createdAfter=2026-01-01T00:00:00", "bad_value"),
        ("/items?limit=1&limit=2", "duplicate"),
        ("/items?pririty=high", "unknown_field"),
        ("/search", "missing_field"),
        ("/search?q=%20", "blank"),
        ("/items?parent=zz", "bad_id"),
    ] {
        assert_eq!(web.get(path).reason(422), reason, "{path}");
    }
    assert_eq!(web.get("/items?parent=DEFA-99").reason(404), "not_found");
    assert_eq!(web.get("/items?project=nope").reason(404), "not_found");
}

#[test]
fn a_tree_is_made_whole_or_not_at_all() {
    let web = Web::start();
    let made = web
        .post(
            "/trees",
            &json!({
                "root": {"title": "Compiler", "children": [
                    {"ref": "lexer", "title": "Lexer", "notes": [{"key": "plan", "phase": "queue", "body": "By hand"}]},
                    {"ref": "parser", "title": "Parser", "children": [{"title": "Grammar"}]},
                ]},
                "edges": [{"from": "lexer", "to": "parser"}],
            }),
        )
        .with(201);
    assert_eq!(made["items"].as_array().map(Vec::len), Some(4));
    assert_eq!(made["items"][1]["ref"], json!("lexer"));
    assert!(made["items"][0].get("ref").is_none());
    let parser = made["items"][2]["item"]["key"].as_str().expect("a key");

    let forest = web.get("/tree").with(200);
    assert_eq!(forest["roots"][0]["children"][1]["children"][0]["item"]["title"], json!("Grammar"));
    assert_eq!(web.get(&format!("/items/{parser}/tree")).with(200)["roots"][0]["item"]["title"], json!("Parser"));
    let edges = web.get(&format!("/items/{parser}/edges?graph=true")).with(200);
    assert_eq!((edges["edges"].as_array().map(Vec::len), &edges["chain"]["depth"]), (Some(1), &json!(1)));
    assert_eq!(edges["ends"][0]["title"], json!("Lexer"));

    let before = web.get("/items?limit=1").with(200)["total"].clone();
    for (body, reason) in [
        (json!({"root": {"title": "x", "children": [{"title": " "}]}}), "blank"),
        (json!({"root": {"title": "x", "ref": "a"}, "edges": [{"from": "a", "to": "b"}]}), "bad_id"),
        (json!({"root": {"title": "x", "ref": "a", "children": [{"title": "y", "ref": "a"}]}}), "duplicate"),
        (
            json!({"root": {"title": "x", "ref": "a", "children": [{"title": "y", "ref": "b"}]},
            "edges": [{"from": "a", "to": "b"}, {"from": "b", "to": "a"}]}),
            "cycle",
        ),
        (json!({"root": {"title": "x", "childs": []}}), "unknown_field"),
        (json!({"edges": []}), "missing_field"),
    ] {
        assert_eq!(web.post("/trees", &body).reason(422), reason, "{body}");
    }
    let deep = (0..200).fold(json!({"title": "leaf"}), |below, _| json!({"title": "x", "children": [below]}));
    let refused = web.post("/trees", &json!({ "root": deep }));
    assert!(matches!(refused.status, 400 | 422), "{}", refused.status);
    assert_eq!(web.get("/items?limit=1").with(200)["total"], before);

    let closed = web.post("/items/DEFA-1/close-beneath", &json!({"cancel": true})).with(200);
    assert_eq!(closed["results"].as_array().map(Vec::len), Some(3));
    assert_eq!(web.get("/tree").with(200)["roots"][0].get("children"), None);
    assert_eq!(web.get("/tree?all=true").with(200)["roots"][0]["children"].as_array().map(Vec::len), Some(2));
}

#[test]
fn a_tree_is_closed_by_its_gates_with_its_root() {
    let web = Web::start_with("[project]\nslug = \"default\"\npreset = \"standard\"\n", |_| {});
    let tree = json!({"root": {"title": "root", "children": [{"title": "free"}, {"title": "held up", "ref": "b"}]}});
    web.post("/trees", &tree).with(201);
    let outside = web.item("outside");
    web.post("/edges", &json!({"from": outside, "to": "DEFA-3", "kind": "blocks"})).with(201);
    let gated = || web.post("/items/DEFA-1/close-tree", &json!({"gated": true})).with(200)["results"].clone();
    let outcome = |results: &Value, title: &str| {
        let row =
            results.as_array().expect("rows").iter().find(|row| row["title"] == json!(title)).expect("a row").clone();
        row["outcome"].clone()
    };
    let first = gated();
    assert!(outcome(&first, "free")["closed"].is_object(), "{first}");
    assert!(outcome(&first, "held up")["refused"]["refusals"].to_string().contains("dependencies"), "{first}");
    assert!(outcome(&first, "root")["closed"].is_null(), "what is beneath it stays open: {first}");
    assert_ne!(web.get("/items/DEFA-1").with(200)["role"], json!("terminal"));
    web.post(&format!("/items/{outside}/transitions"), &json!({"trigger": "complete"})).with(200);
    let second = gated();
    assert!(
        outcome(&second, "held up")["closed"].is_object() && outcome(&second, "root")["closed"].is_object(),
        "{second}"
    );
    assert_eq!(outcome(&second, "free"), json!("alreadyClosed"), "{second}");
    assert_eq!(web.get("/items/DEFA-1").with(200)["role"], json!("terminal"));
}

#[test]
fn how_a_project_fares_counts_all_of_its_items() {
    let web = Web::start();
    for _ in 0..2 {
        let items: Vec<Value> = (0..120).map(|number| json!({"title": format!("item {number}")})).collect();
        let made = web.post("/bulk/items", &json!({"items": items})).with(200);
        let rows = made["results"].as_array().expect("rows");
        let ids: Vec<Value> = rows.iter().map(|made| made["item"]["id"].clone()).collect();
        let moves: Vec<Value> = ids.iter().map(|id| json!({"item": id, "trigger": "start"})).collect();
        web.post("/bulk/transitions", &json!({"transitions": moves})).with(200);
    }
    let health = web.get("/projects/default/health").with(200);
    assert_eq!(
        (health["active"].as_array().map(Vec::len), &health["activeTotal"]),
        (Some(200), &json!(240)),
        "{}",
        health["activeTotal"]
    );
    assert_eq!(health["blockedTotal"], json!(0));
}

#[test]
fn what_is_to_be_known_of_an_item() {
    let web = Web::start_with(
        "[schemas.default]\nnotes = [{ key = \"plan\", phase = \"queue\", required = true, guidance = \"Say how\" }]\n",
        |_| {},
    );
    let (first, second) = (web.item("First"), web.item("Second"));
    web.post("/edges", &json!({"from": first, "to": second})).with(201);
    let context = web.get(&format!("/items/{first}/context")).with(200);
    assert_eq!((&context["canAdvance"], &context["missing"]), (&json!(false), &json!(["plan"])));
    assert_eq!(context["guide"]["guidance"], json!("Say how"));
    let standing = web.get(&format!("/items/{second}/standing")).with(200);
    assert_eq!((&standing["prospect"], standing["blockers"].as_array().map(Vec::len)), (&json!("waiting"), Some(1)));
    let why = web.get(&format!("/items/{second}/why")).with(200);
    assert_eq!(why["items"][0]["obstacles"][0]["reason"], json!("waits-for"));
    assert_eq!(why["items"][0]["missingNotes"], json!(["plan"]), "what its next move will owe");
    let why = web.get(&format!("/items/{first}/why")).with(200);
    assert_eq!((&why["items"][0]["obstacles"], &why["items"][0]["missingNotes"]), (&json!([]), &json!(["plan"])));
    web.json("PUT", &format!("/items/{first}/notes/plan"), &json!({"body": "By hand"}));
    let why = web.get(&format!("/items/{first}/why")).with(200);
    assert_eq!(why["items"][0].get("missingNotes"), None, "nothing is owed: {why}");
    assert_eq!(web.get("/why").with(200)["items"].as_array().map(Vec::len), Some(2));
    let blocked = web.get("/blocked").with(200);
    assert_eq!(blocked["items"][0]["item"]["key"], json!(second));
    assert_eq!(blocked["items"][0]["blockers"][0]["item"]["key"], json!(first));
    assert_eq!(web.get("/overview").with(200)["entries"].as_array().map(Vec::len), Some(2));
    assert_eq!(web.get(&format!("/items/{first}/overview")).with(200)["tally"]["byRole"]["queue"], json!(0));
    let types = web.get("/node-types").with(200);
    assert_eq!((&types["types"][0]["name"], &types["types"][0]["fallback"]), (&json!("default"), &json!(true)));
    assert_eq!(web.get("/node-types/default").with(200)["notes"][0]["key"], json!("plan"));
    assert_eq!(web.get("/node-types/nope").reason(404), "not_found");
    // A refused move tells every gate at once, with the act that would clear it.
    let refused = web.post(&format!("/items/{second}/transitions"), &json!({"trigger": "start"})).error(409);
    let gates: Vec<&str> = refused["refusals"]
        .as_array()
        .expect("refusals")
        .iter()
        .filter_map(|refusal| refusal["gate"].as_str())
        .collect();
    assert_eq!((refused["code"].as_str(), gates), (Some("RULE_BLOCKED"), vec!["dependencies", "notes"]));
    for path in ["context", "standing", "why", "overview", "tree", "edges", "notes", "events"] {
        assert_eq!(web.get(&format!("/items/DEFA-99/{path}")).reason(404), "not_found", "{path}");
        assert_eq!(web.get(&format!("/items/x/{path}")).reason(422), "bad_id", "{path}");
    }
}
