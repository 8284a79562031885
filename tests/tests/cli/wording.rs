//! What a person reads: each of these said too little once, or something that was not so.

use serde_json::json;

use crate::desk::Desk;

#[test]
fn an_item_is_shown_with_its_children_its_comments_and_who_signed_off() {
    let desk = Desk::standard();
    desk.add(&["Whole", "--sign-off", "Ann likes it"]);
    desk.add(&["Part", "--parent", "W-1"]);
    desk.ok(&["comment", "W-1", "The grammar changed."]);
    let refused = desk.fails(5, &["verify", "W-1", "c1=pass"]);
    assert!(refused.contains("--as human"), "the way for a person: {refused}");
    desk.ok(&["verify", "W-1", "c1=pass", "--as", "human"]);
    let shown = desk.ok(&["item", "show", "W-1"]);
    assert!(shown.contains("Children\n  W-2 Part (backlog)\n"), "{shown}");
    assert!(shown.contains("Comments\n  ann at ") && shown.contains("    The grammar changed.\n"), "{shown}");
    assert!(shown.contains("signed off by ann at "), "{shown}");
    let told = desk.json(&["item", "show", "W-1"]);
    assert_eq!((&told["children"][0]["key"], told["comments"].as_array().map(Vec::len)), (&json!("W-2"), Some(1)));
}

#[test]
fn what_is_in_review_is_told_with_the_way_on() {
    let desk = Desk::standard();
    desk.add(&["One"]);
    desk.ok(&["start", "W-1"]);
    let finished = desk.ok(&["finish", "W-1"]);
    assert!(finished.contains("next: complete → done"), "as the inbox says it: {finished}");
    let started = desk.ok(&["start", "W-1"]);
    assert!(started.contains("stays in_review") && started.contains("docket finish W-1 --to complete"), "{started}");
    desk.ok(&["finish", "W-1", "--to", "complete"]);
    let estimate = desk.ok(&["estimate"]);
    assert!(estimate.contains("of 1 item that was finished"), "{estimate}");
}

#[test]
fn cycles_are_told_by_keys_and_new_items_by_their_own_names() {
    let desk = Desk::standard();
    desk.add(&["First"]);
    desk.add(&["Second", "--blocked-by", "W-1"]);
    let linked = desk.fails(2, &["link", "W-2", "blocks", "W-1"]);
    assert!(linked.contains("W-1") && linked.contains("W-2") && !linked.contains("-7000-"), "{linked}");
    let made = desk.fails(2, &["item", "add", "Third", "--blocked-by", "W-1", "--blocks", "W-1"]);
    assert!(made.contains("new → W-1") && !made.contains("-7000-"), "{made}");
}

#[test]
fn keys_name_their_item_and_missing_words_name_each_way() {
    let desk = Desk::standard();
    desk.add(&["One"]);
    let made = desk.ok(&["key", "create", "--profile", "worker", "--item", "W-1", "--name", "one"]);
    assert!(made.contains(": W-1, until"), "{made}");
    assert!(desk.ok(&["key", "list"]).contains(": W-1 "), "by its key");
    assert!(desk.fails(2, &["note", "rm", "W-1"]).contains("--all"));
    assert!(desk.fails(2, &["claim"]).contains("--next"));
}

#[test]
fn an_approval_that_waits_is_told_with_its_version() {
    let desk = Desk::standard();
    desk.add(&["One"]);
    desk.ok(&["--actor", "subagent:eve", "check", "add", "W-1", "It runs", "--cmd", "true"]);
    let told = desk.fails(2, &["check", "approve", "W-1", "--only", "0"]);
    assert!(told.contains("docket check approve W-1 --only 0 --if-version 2"), "{told}");
    desk.ok(&["--actor", "subagent:eve", "start", "W-1"]);
    desk.ok(&["--actor", "subagent:eve", "submit", "W-1"]);
    let inbox = desk.ok(&["inbox"]);
    let (_, act) = inbox.split_once("docket check list W-1, then docket ").expect("read first, then approve");
    let words: Vec<&str> = act.lines().next().expect("a line").split_whitespace().collect();
    desk.ok(&words);
}

#[test]
fn an_import_says_where_it_would_make_a_database() {
    let desk = Desk::standard();
    desk.add(&["One"]);
    desk.ok(&["export", "work.jsonl"]);
    let bare = Desk::bare();
    bare.write("work.jsonl", desk.read("work.jsonl"));
    let refused = bare.fails(3, &["import", "work.jsonl"]);
    assert!(refused.contains("makes .docket/docket.db here"), "{refused}");
    bare.ok(&["import", "work.jsonl", "--create"]);
    assert!(bare.database().exists());
}
