//! `docket learn` and `docket knowledge`: what was learned is kept, found, changed, and reviewed as it was read.

use std::net::TcpListener;

use serde_json::{Value, json};

use crate::desk::Desk;

fn learned(desk: &Desk, arguments: &[&str]) -> String {
    let added = desk.json(&[&["learn"][..], arguments].concat());
    added["entries"][0].as_str().unwrap_or_else(|| panic!("no entry in {added}")).to_owned()
}

fn entry(desk: &Desk, id: &str) -> Value {
    desk.json(&["knowledge", "show", id])
}

#[test]
fn a_review_names_the_version_that_was_read() {
    let desk = Desk::new();
    let id = learned(&desk, &["Linker", "gcc alone"]);
    let unsaid = desk.error(2, &["knowledge", "review", &id]);
    assert!(unsaid["message"].as_str().is_some_and(|told| told.contains("knowledge show")), "{unsaid}");
    assert!(desk.ok(&["knowledge", "show", &id]).contains("version 1"), "show says which version it is");
    desk.ok(&["--actor", "subagent:bot", "knowledge", "edit", &id, "--body", "rm -rf"]);
    let read = format!("{id}@1");
    assert_eq!(desk.error(5, &["knowledge", "review", &read])["reason"], "version_mismatch");
    assert_eq!(entry(&desk, &id)["reviewState"], "unreviewed");
    for bad in [format!("{id}@x"), format!("{id}@-1"), format!("{id}@")] {
        desk.error(2, &["knowledge", "review", &bad]);
    }
    desk.error(4, &["--actor", "subagent:bot", "knowledge", "review", &format!("{id}@2")]);
    let done = desk.json(&["knowledge", "review", &format!("{id}@2")]);
    assert_eq!((&done["entries"][0]["version"], &done["entries"][0]["changed"]), (&json!(3), &json!(true)));
    let told = desk.ok(&["knowledge", "show", &id]);
    assert!(told.contains("last written by bot") && told.contains("reviewed by"), "{told}");
    desk.ok(&["knowledge", "review", &id, "--undo"]);
    assert_eq!(entry(&desk, &id)["reviewState"], "unreviewed");
}

#[test]
fn an_edit_can_be_guarded_and_tags_can_be_taken_away() {
    let desk = Desk::new();
    let id = learned(&desk, &["Linker", "gcc alone", "--tag", "build", "--tag", "gcc"]);
    desk.ok(&["knowledge", "edit", &format!("{id}@1"), "--title", "The linker"]);
    assert_eq!(desk.error(5, &["knowledge", "edit", &format!("{id}@1"), "--title", "x"])["reason"], "version_mismatch");
    assert_eq!(entry(&desk, &id)["tags"], json!(["build", "gcc"]), "what is not named stays");
    desk.fails(2, &["knowledge", "edit", &id, "--tag", "a", "--no-tags"]);
    desk.ok(&["knowledge", "edit", &id, "--no-tags"]);
    assert_eq!(entry(&desk, &id).get("tags"), None);
}

#[test]
fn what_was_learned_by_finishing_is_split_where_it_says() {
    let desk = Desk::new();
    let key = desk.add(&["work"]);
    desk.ok(&["start", &key]);
    let refused = desk.error(2, &["finish", &key, "--to", "complete", "--learned", "Error: x: y"]);
    assert!(refused["message"].as_str().is_some_and(|told| told.contains("TITLE :: TEXT")), "{refused}");
    let blank = desk.error(2, &["finish", &key, "--to", "complete", "--learned", "A title ::  "]);
    assert_eq!((&blank["reason"], &blank["field"]), (&json!("blank"), &json!("--learned")), "{blank}");
    let done = desk.json(&["finish", &key, "--to", "complete", "--learned", "Error: x :: y: because std::mem"]);
    let kept = entry(&desk, done["entries"][0].as_str().expect("an entry"));
    assert_eq!((&kept["title"], &kept["body"]), (&json!("Error: x"), &json!("y: because std::mem")));
    assert_eq!(desk.error(2, &["learn", "title", " "])["field"], "text");
}

#[test]
fn lists_are_short_and_say_so() {
    let desk = Desk::new();
    let id = learned(&desk, &["Linker", &"long ".repeat(500)]);
    let listed = desk.json(&["knowledge", "list"])["entries"][0].clone();
    assert_eq!((&listed["id"], &listed["truncated"]), (&json!(id), &json!(true)));
    assert_eq!(listed["body"].as_str().map(str::len), Some(400));
    assert_eq!(entry(&desk, &id)["body"].as_str().map(str::len), Some(2500));
}

#[test]
fn an_entry_of_a_harmful_hand_is_shown_without_its_controls() {
    let desk = Desk::new();
    let id = learned(&desk, &["Title", "b\u{1b}[31mody \u{1b}]8;;http://evil\u{7}itle"]);
    for arguments in [&["knowledge", "list"][..], &["knowledge", "show", &id], &["knowledge", "search", "title"]] {
        let told = desk.ok(arguments);
        assert!(crate::desk::is_harmless(&told), "{arguments:?}: {told:?}");
    }
}

/// An embedder's address that nobody answers at, one way or another.
fn with_embedder(desk: &Desk, address: &str) {
    let rules = format!("[embedder]\nendpoint = \"http://{address}/v1\"\nmodel = \"m\"\n");
    let path = desk.file("docket.toml");
    let before = std::fs::read_to_string(&path).unwrap_or_default();
    std::fs::write(&path, format!("{before}\n{rules}")).expect("written");
}

#[test]
fn a_search_goes_on_by_words_when_the_embedder_does_not_answer() {
    let nobody = {
        let gone = TcpListener::bind("127.0.0.1:0").expect("a port");
        gone.local_addr().expect("an address").to_string()
    };
    // It takes connections and never says a word.
    let silent = TcpListener::bind("127.0.0.1:0").expect("a port");
    let hangs = silent.local_addr().expect("an address").to_string();
    for (what, address) in [("refuses", nobody), ("hangs", hangs)] {
        let desk = Desk::new();
        learned(&desk, &["Linker", "gcc alone"]);
        with_embedder(&desk, &address);
        let found = desk.json(&["knowledge", "search", "linker"]);
        assert_eq!(
            (&found["mode"], &found["hits"][0]["title"]),
            (&json!("lexical"), &json!("Linker")),
            "{what}: {found}"
        );
        assert!(found["degraded"].as_str().is_some_and(|why| !why.is_empty()), "{what}: {found}");
        assert!(!found["degraded"].to_string().contains(&address), "{what}: where it is, is nobody's affair: {found}");
        let id = learned(&desk, &["Kept", "all the same"]);
        assert_eq!(entry(&desk, &id)["title"], "Kept", "{what}: what is learned is kept");
    }
    drop(silent);
}
