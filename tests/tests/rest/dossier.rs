//! Reads of one item: by profile, with what else was asked for, and as what changed since.

use docket_tests::web::Web;
use serde_json::{Value, json};

use crate::contract::standard;

fn sections(read: &Value) -> Vec<String> {
    let mut names: Vec<String> = read["sections"].as_object().expect("sections").keys().cloned().collect();
    names.sort();
    names
}

fn token(read: &Value) -> String {
    read["readToken"].as_str().expect("a token").to_owned()
}

fn example() -> Web {
    let web = standard();
    web.item("Parent");
    let brief = json!({"objective": "x", "acceptanceCriteria": ["a"]});
    web.post("/items", &json!({"title": "Child", "parent": "DEFA-1", "description": "long", "brief": brief})).with(201);
    web.item("Blocker");
    web.post("/edges", &json!({"from": "DEFA-3", "to": "DEFA-2"})).with(201);
    web
}

#[test]
fn profiles_and_includes_say_how_much_is_shown() {
    let web = example();
    let compact = web.get("/items/DEFA-2/dossier?profile=compact").with(200);
    let guard = &compact["guard"];
    assert_eq!(
        (&guard["key"], &guard["blocked"], &guard["readyForReview"]),
        (&json!("DEFA-2"), &json!(true), &json!(false))
    );
    assert_eq!(guard["obstacles"][0]["reason"], json!("waits-for"));
    assert!(sections(&compact).is_empty(), "{compact}");
    let work = web.get("/items/DEFA-2/dossier").with(200);
    assert_eq!(sections(&work), ["brief", "parent", "task", "verdict"]);
    assert_eq!(work["sections"]["parent"]["item"]["key"], json!("DEFA-1"));
    assert_eq!(work["sections"]["task"]["description"], json!("long"));
    let more = web.get("/items/DEFA-2/dossier?profile=compact&include=relations,activity").with(200);
    assert_eq!(sections(&more), ["activity", "relations"]);
    assert_eq!(more["sections"]["relations"][0]["other"]["key"], json!("DEFA-3"));
    let full = web.get("/items/DEFA-1/dossier?profile=full").with(200);
    assert_eq!(full["sections"]["subtasks"]["items"][0]["key"], json!("DEFA-2"));
    assert_eq!(sections(&full), ["activity", "comments", "links", "notes", "relations", "subtasks", "task", "verdict"]);
    for (path, field) in [
        ("/items/DEFA-2/dossier?profile=huge", "profile"),
        ("/items/DEFA-2/dossier?include=secrets", "include[0]"),
        ("/items/DEFA-2/dossier?since=made-up", "since"),
        ("/items/DEFA-2/dossier?fields=x", "fields"),
    ] {
        assert_eq!(web.get(path).error(422)["field"], json!(field), "{path}");
    }
    assert_eq!(web.get("/items/DEFA-9/dossier").reason(404), "not_found");
}

#[test]
fn a_later_read_says_only_what_changed() {
    let web = example();
    let path = "/items/DEFA-2/dossier?include=comments";
    let first = web.get(path).with(200);
    assert!(first.get("changed").is_none() && first.get("unchanged").is_none(), "{first}");
    let since = |token: &str| web.get(&format!("{path}&since={token}")).with(200);
    let same = since(&token(&first));
    assert_eq!((&same["unchanged"], sections(&same), token(&same)), (&json!(true), vec![], token(&first)));
    assert_eq!(same["guard"]["key"], json!("DEFA-2"), "the guard is always there");
    web.post("/items/DEFA-2/comments", &json!({"comment": "hm"})).with(201);
    let said = since(&token(&first));
    assert_eq!((&said["changed"], sections(&said)), (&json!(["comments"]), vec!["comments".to_owned()]));
    web.delete("/items/DEFA-2/brief").with(200);
    let gone = since(&token(&said));
    assert_eq!(gone["sections"]["brief"], Value::Null, "{gone}");
    assert!(gone["sections"].as_object().is_some_and(|sections| sections.contains_key("brief")), "{gone}");
    // A lease that goes on is no news; one that begins is.
    web.send("PUT", "/items/DEFA-2/claim", &[("x-docket-actor", "user:ann")], None).with(200);
    let held = since(&token(&gone));
    assert_eq!((&held["changed"][0], &held["guard"]["holder"]), (&json!("guard"), &json!("ann")), "{held}");
    web.send("PUT", "/items/DEFA-2/claim", &[("x-docket-actor", "user:ann")], None).with(200);
    assert_eq!(since(&token(&held))["unchanged"], json!(true));
}

#[test]
fn what_other_work_made_redundant_is_told_with_why() {
    let web = standard();
    for title in ["Replacement", "Moot", "Canonical", "Copy"] {
        web.item(title);
    }
    web.post("/edges", &json!({"from": "DEFA-1", "to": "DEFA-2", "kind": "supersedes"})).with(201);
    web.post("/edges", &json!({"from": "DEFA-4", "to": "DEFA-3", "kind": "duplicate-of"})).with(201);
    let guard = |key: &str| web.get(&format!("/items/{key}/dossier")).with(200)["guard"].clone();
    let moot = guard("DEFA-2");
    let told = (&moot["superseded"], &moot["duplicate"], &moot["obstacles"]);
    assert_eq!(told, (&json!(false), &json!(false), &Value::Null), "nothing has shipped");
    for status in ["in_progress", "in_review"] {
        web.post("/items/DEFA-1/transitions", &json!({"status": status})).with(200);
    }
    let moot = guard("DEFA-2");
    assert_eq!((&moot["superseded"], &moot["duplicate"]), (&json!(true), &json!(false)), "{moot}");
    assert_eq!(moot["obstacles"][0]["reason"], json!("superseded-by"), "{moot}");
    let copy = guard("DEFA-4");
    assert_eq!((&copy["superseded"], &copy["duplicate"]), (&json!(false), &json!(true)), "{copy}");
    assert_eq!(copy["obstacles"][0]["reason"], json!("duplicate-of"), "{copy}");
    web.post("/items/DEFA-3/transitions", &json!({"trigger": "cancel"})).with(200);
    assert_eq!(guard("DEFA-4")["duplicate"], json!(false));
}

#[test]
fn a_status_that_there_is_not_is_a_slip_and_no_empty_list() {
    let web = standard();
    web.item("word");
    for path in ["/items?status=in_progres", "/items?q=word&status=in_progres"] {
        let refused = web.get(path).error(422);
        assert_eq!((&refused["field"], &refused["reason"]), (&json!("status"), &json!("unknown_value")), "{refused}");
        assert!(
            refused["message"].as_str().is_some_and(|said| said.contains("did you mean \"in_progress\"")),
            "{refused}"
        );
    }
    assert_eq!(web.get("/items?status=in_progress").with(200)["total"], json!(0));
}
