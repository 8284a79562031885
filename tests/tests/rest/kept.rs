//! An item is shown as it is, however often it was shown before: to whoever may see it, and whichever process changed it.

use docket_tests::web::{Web, command};
use serde_json::json;

use crate::callers::{database, key};
use crate::followers::asked;

#[test]
fn an_item_that_is_asked_for_again_is_not_read_again_until_something_was_committed() {
    let web = Web::start();
    let path = format!("/items/{}", web.item("One"));
    let first = web.get(&path);
    // Whether there are keys is asked anew once a second, and the count may ask for itself: a few tries, so that one falls between,
    // beside as many without the item.
    let cost = |asks: bool| {
        let before = asked(&web, &[]);
        if asks {
            let again = web.get(&path);
            assert_eq!((again.with(200), again.header("etag")), (first.with(200), first.header("etag")));
        }
        asked(&web, &[]) - before
    };
    let least = |asks: bool| (0..5).map(|_| cost(asks)).min();
    assert_eq!(least(true), least(false), "the database was asked");
    web.item("Two");
    assert!(cost(true) > cost(false), "after a commit it is");
}

#[test]
fn what_another_process_changes_is_shown_at_once() {
    let web = Web::start();
    let key = web.item("One");
    let path = format!("/items/{key}");
    let database = web.database.clone();
    for number in 0..20 {
        let title = format!("Title {number}");
        let mut words = command(&database);
        let done = words.args(["item", "edit", &key, "--title", &title]).output().expect("it runs");
        assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
        for _ in 0..2 {
            assert_eq!(web.get(&path).with(200)["title"], json!(title));
        }
    }
    // A claim leaves the version alone, and is shown all the same; so is its end.
    web.send("PUT", &format!("{path}/claim"), &[], None).with(200);
    assert!(web.get(&path).with(200)["claim"].is_object());
    assert_eq!(web.delete(&format!("{path}/claim")).status, 204);
    assert!(web.get(&path).with(200)["claim"].is_null());
    web.delete(&path).with(200);
    assert_eq!(web.get(&path).reason(404), "not_found");
}

#[test]
fn what_one_caller_was_shown_is_not_shown_to_another_who_may_not_see_it() {
    let (_folder, database) = database();
    let all = key(&database, &["--profile", "viewer"]);
    let api = key(&database, &["--profile", "viewer", "--project", "api"]);
    let web = Web::on(&database, |_| {});
    for _ in 0..3 {
        for path in ["/items/WEB-1", "/items/API-1"] {
            web.send("GET", path, &[("authorization", &all)], None).with(200);
        }
        web.send("GET", "/items/API-1", &[("authorization", &api)], None).with(200);
        web.send("GET", "/items/WEB-1", &[("authorization", &api)], None).error(404);
        web.get("/items/WEB-1").error(401);
    }
}
