//! Pages: whatever happens between two of them, what stays is met once; a cursor is good for its own list alone.

use docket_tests::web::Web;
use serde_json::{Value, json};

/// Walks through all pages; `between` is called after each. Returns what `pick` makes of each row.
fn walk(web: &Web, path: &str, rows: &str, pick: &str, mut between: impl FnMut(usize)) -> Vec<Value> {
    let (mut met, mut cursor) = (Vec::new(), String::new());
    for number in 0..100 {
        let page = web.get(&format!("{path}{cursor}")).with(200);
        let rows = page[rows].as_array().expect("rows");
        met.extend(rows.iter().map(|row| row.pointer(pick).expect("a value").clone()));
        between(number);
        match page["nextCursor"].as_str() {
            Some(next) => cursor = format!("&cursor={next}"),
            None => return met,
        }
    }
    panic!("{path} has no end");
}

fn fill(web: &Web, count: usize) -> Vec<String> {
    (0..count)
        .map(|index| {
            let priority = ["high", "low", "medium"][index % 3];
            let body =
                json!({"title": format!("Item {}", index % 4), "priority": priority, "complexity": index % 5 + 1});
            web.post("/items", &body).with(201)["item"]["key"].as_str().expect("a key").to_owned()
        })
        .collect()
}

#[test]
fn what_comes_and_goes_between_pages_shifts_nothing() {
    for list in [
        "/items?sort=title",
        "/items?sort=title&order=desc",
        "/items?sort=priority",
        "/items?sort=priority&order=desc",
        "/items?sort=complexity",
        "/items?sort=complexity&order=desc",
        "/items?sort=createdAt&order=desc",
        "/items?sort=createdAt",
        "/items?project=default&sort=title",
        "/items?project=default&sort=createdAt",
        "/items?sort=modifiedAt",
        "/search?q=item&order=desc",
    ] {
        let web = Web::start();
        let keys = fill(&web, 14);
        // The first two go, some are closed, and new ones come, before the place that is reached and after it.
        let met = walk(&web, &format!("{list}&limit=3"), "items", "/key", |page| {
            if page == 0 {
                for gone in &keys[..2] {
                    web.delete(&format!("/items/{gone}")).with(200);
                }
                fill(&web, 3);
                if !list.contains("modifiedAt") {
                    for closed in &keys[2..5] {
                        web.post(&format!("/items/{closed}/transitions"), &json!({"trigger": "cancel"})).with(200);
                    }
                }
            }
        });
        for key in &keys[2..] {
            let times = met.iter().filter(|met| **met == json!(key)).count();
            assert_eq!(times, 1, "{key} in {list}: {met:?}");
        }
    }
}

#[test]
fn a_removed_item_still_marks_where_the_next_page_begins() {
    let web = Web::start();
    let keys = fill(&web, 6);
    let page = web.get("/items?limit=3").with(200);
    web.delete(&format!("/items/{}", keys[2])).with(200);
    let cursor = page["nextCursor"].as_str().expect("a cursor");
    let next = web.get(&format!("/items?limit=3&cursor={cursor}")).with(200);
    assert_eq!(next["items"][0]["key"], json!(keys[3]));
    assert_eq!((&next["total"], &next["nextCursor"]), (&json!(5), &Value::Null));
}

#[test]
fn the_queue_what_is_held_up_and_events_come_in_pages() {
    let web = Web::start();
    let keys = fill(&web, 9);
    let ranked: Vec<Value> = walk(&web, "/queue?limit=100", "items", "/item/key", |_| {});
    let paged = walk(&web, "/queue?limit=2", "items", "/item/key", |page| {
        if page == 0 {
            fill(&web, 2);
            // What was shown is claimed and closed.
            web.send("PUT", &format!("/items/{}/claim", ranked[0].as_str().unwrap_or_default()), &[], None).with(200);
            let path = format!("/items/{}/transitions", ranked[1].as_str().unwrap_or_default());
            web.post(&path, &json!({"trigger": "cancel"})).with(200);
        }
    });
    for key in &ranked {
        assert_eq!(paged.iter().filter(|met| *met == key).count(), 1, "{key}: {paged:?}");
    }

    for aside in [1, 2, 4] {
        web.post(&format!("/items/{}/transitions", keys[aside]), &json!({"trigger": "block"})).with(200);
    }
    for waiting in [5, 7, 8] {
        web.post("/edges", &json!({"from": keys[3], "to": keys[waiting]})).with(201);
    }
    let all = walk(&web, "/blocked?limit=200", "items", "/item/key", |_| {});
    assert_eq!(all, [1, 2, 4, 5, 7, 8].map(|index: usize| json!(keys[index])));
    for limit in [1, 2, 3, 4] {
        assert_eq!(walk(&web, &format!("/blocked?limit={limit}"), "items", "/item/key", |_| {}), all, "by {limit}");
    }

    let all = walk(&web, "/events?limit=200", "events", "/seq", |_| {});
    let mut backwards = all.clone();
    backwards.reverse();
    assert_eq!(walk(&web, "/events?limit=7", "events", "/seq", |_| {}), all);
    let met = walk(&web, "/events?limit=7&newestFirst=true", "events", "/seq", |_| {
        web.item("one more");
    });
    assert_eq!(met, backwards);
}

#[test]
fn a_cursor_is_good_for_its_own_list_alone() {
    let web = Web::start();
    fill(&web, 5);
    let cursor = |path: &str| web.get(path).with(200)["nextCursor"].as_str().expect("a cursor").to_owned();
    let own = cursor("/items?limit=2");
    web.get(&format!("/items?limit=4&cursor={own}")).with(200);
    for other in [
        "/items?limit=2&order=desc",
        "/items?limit=2&sort=title",
        "/items?limit=2&priority=high",
        "/items?limit=2&project=default",
        "/search?q=item",
        "/queue?limit=2",
        "/blocked?limit=2",
        "/events?limit=2",
    ] {
        let refused = web.get(&format!("{other}&cursor={own}")).error(422);
        assert_eq!((&refused["reason"], &refused["field"]), (&json!("bad_cursor"), &json!("cursor")), "{other}");
    }
    for forged in ["", "p3", "AA", "%00", "%F0%9F%98%80", &own[1..], &format!("{own}AA"), &"A".repeat(4000)] {
        for list in ["/items", "/search?q=item", "/queue", "/blocked", "/events"] {
            let mark = if list.contains('?') { '&' } else { '?' };
            assert_eq!(web.get(&format!("{list}{mark}cursor={forged}")).reason(422), "bad_cursor", "{list} {forged}");
        }
    }
    assert_eq!(web.get(&format!("/events?cursor={}&waitMs=10", cursor("/events?limit=2"))).reason(422), "bad_value");
}

#[test]
fn pages_of_long_texts_end_sooner_and_say_how_to_go_on() {
    let web = Web::start();
    let long = "x".repeat(200_000);
    for number in 1..=30 {
        let body = json!({"title": format!("Long {number}"), "description": long, "summary": "s"});
        web.post("/items", &body).with(201);
    }
    for list in ["/items?limit=200&sort=createdAt&order=asc", "/search?q=long&limit=200&order=asc"] {
        let first = web.get(list).with(200);
        assert!(first.to_string().len() < 5 << 20, "{list}");
        assert_eq!(first["items"].as_array().map(Vec::len), Some(20), "{list}");
        let met = walk(&web, list, "items", "/key", |_| ());
        let all: Vec<Value> = (1..=30).map(|number| json!(format!("DEFA-{number}"))).collect();
        assert_eq!(met, all, "{list}");
    }
    let forest = web.get("/tree").with(200);
    assert_eq!((forest["roots"].as_array().map(Vec::len), &forest["truncated"]), (Some(20), &json!(true)));
    for number in 2..=30 {
        web.json("PATCH", &format!("/items/DEFA-{number}"), &json!({"parent": "DEFA-1"})).with(200);
    }
    let tree = web.get("/items/DEFA-1/tree").with(200);
    let below = tree["roots"][0]["children"].as_array().map(Vec::len);
    assert_eq!((below, &tree["truncated"]), (Some(20), &json!(true)));
}

#[test]
fn one_note_is_read_without_the_others_and_many_come_in_pages() {
    let web = Web::start();
    web.item("One");
    let key = |number: usize| format!("n{number:03}");
    for number in 0..40 {
        let body = json!({"body": format!("{number} {}", "x".repeat(250_000))});
        web.json("PUT", &format!("/items/DEFA-1/notes/{}", key(number)), &body).with(200);
    }
    let first = web.get("/items/DEFA-1/notes").with(200);
    assert_eq!((first["notes"].as_array().map(Vec::len), &first["total"]), (Some(16), &json!(40)));
    let met = walk(&web, "/items/DEFA-1/notes?", "notes", "/key", |_| ());
    assert_eq!(met, (0..40).map(|number| json!(key(number))).collect::<Vec<_>>());
    assert!(web.get("/items/DEFA-1/notes/n007").with(200)["body"].as_str().is_some_and(|body| body.starts_with("7 ")));
    assert_eq!(web.get("/items/DEFA-1/notes/none").error(404)["field"], json!("key"));
    assert_eq!(web.get("/items/DEFA-1/notes?cursor=x").reason(422), "bad_cursor");
}
