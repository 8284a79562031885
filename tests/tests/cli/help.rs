//! The help of every verb, as it is read: a change of it is seen in review.

use crate::desk::Desk;

const VERBS: [&[&str]; 41] = [
    &[],
    &["init"],
    &["mcp"],
    &["item"],
    &["item", "add"],
    &["item", "show"],
    &["item", "list"],
    &["item", "edit"],
    &["item", "rm"],
    &["tree"],
    &["next"],
    &["claim"],
    &["release"],
    &["advance"],
    &["note"],
    &["note", "set"],
    &["note", "show"],
    &["note", "list"],
    &["note", "rm"],
    &["link"],
    &["unlink"],
    &["why"],
    &["blocked"],
    &["events"],
    &["search"],
    &["overview"],
    &["project"],
    &["project", "list"],
    &["project", "show"],
    &["project", "set"],
    &["key"],
    &["key", "create"],
    &["key", "list"],
    &["key", "revoke"],
    &["key", "rotate"],
    &["doctor"],
    &["backup"],
    &["restore"],
    &["export"],
    &["import"],
    &["completions"],
];

#[test]
fn help() {
    let desk = Desk::bare();
    let mut all = String::new();
    for verb in VERBS {
        let arguments: Vec<&str> = verb.iter().chain(&["--help"]).copied().collect();
        let help = desk.ok(&arguments);
        assert!(help.lines().all(|line| line.chars().count() <= 110), "{verb:?} is too wide:\n{help}");
        all = format!("{all}$ docket {}\n{help}\n", arguments.join(" "));
    }
    insta::assert_snapshot!("help", all);
}
