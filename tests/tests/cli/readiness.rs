//! What is said of work that is not handed out: alike by all who are asked, and with no way around whoever it waits for.

use serde_json::json;

use crate::desk::Desk;

#[test]
fn that_nothing_is_ready_is_said_alike_by_all_who_are_asked() {
    let desk = Desk::standard();
    let nothing = desk.json(&["start"]);
    assert_eq!((&nothing["outcome"], &nothing["passedOver"]), (&json!("queue_empty"), &json!(0)), "{nothing}");
    let item = desk.add(&["Looked at", "--status", "ready"]);
    desk.ok(&["start", &item]);
    desk.ok(&["advance", &item, "in_review"]);
    // Whether review ends the claim by itself or not: it is nobody's here.
    desk.run(&["release", &item]);
    assert!(desk.ok(&["next"]).contains("nothing is ready"));
    let why = desk.ok(&["why"]);
    assert!(why.contains("waits for a look") && !why.contains(" ready: "), "{why}");
    assert_eq!(desk.json(&["why", &item])[0]["obstacles"][0]["reason"], json!("in-review"));
    desk.add(&["Needs", "--status", "ready", "--capability", "rust"]);
    for words in [&["start"][..], &["claim", "--next"]] {
        assert_eq!(desk.json(words)["outcome"], json!("none_eligible"), "{words:?}");
    }
    let shown = desk.ok(&["project", "show"]);
    let handed_out = |status: &str| {
        let row = shown.lines().find(|line| line.trim_start().starts_with(status)).expect("a row");
        row.split_whitespace().skip(2).collect::<Vec<_>>().join(" ")
    };
    for (status, how) in [
        ("braindump", "no"),
        ("ready", "yes"),
        ("in_progress", "once left"),
        ("in_review", "no"),
        ("waiting_for_input", "no"),
        ("blocked", "no"),
        ("done", "no"),
    ] {
        assert_eq!(handed_out(status), how, "{shown}");
    }
}

#[test]
fn an_open_question_is_in_nobodys_way_and_its_end_is_told() {
    let desk = Desk::standard();
    let item = desk.add(&["Asks", "--status", "ready"]);
    desk.ok(&["ask", &item, "Which?"]);
    for word in ["start", "complete"] {
        let refused = desk.fails(5, &["advance", &item, word]);
        assert!(refused.contains("the answer to a question") && !refused.contains("resume"), "{refused}");
    }
    desk.ok(&["advance", &item, "resume"]);
    let told = desk.ok(&["events", &item]);
    let moved = told.lines().find(|line| line.contains("(resume)")).expect("a move");
    assert!(moved.contains("its question was taken back"), "{told}");
}
