//! Every exit code, and that nobody who reads only a part of an answer is told of a failure.

use std::io::{BufRead, BufReader};
use std::process::Stdio;

use serde_json::json;

use crate::desk::Desk;

#[test]
fn done_is_0_and_so_are_help_and_version() {
    let desk = Desk::bare();
    for arguments in
        [vec!["--help"], vec!["-h"], vec!["--version"], vec!["help", "item", "add"], vec!["claim", "--help"]]
    {
        assert!(!desk.ok(&arguments).is_empty(), "{arguments:?}");
    }
}

#[test]
fn usage_and_validation_and_what_is_not_there_are_2() {
    let desk = Desk::new();
    for arguments in [
        vec!["frobnicate"],
        vec!["item"],
        vec!["item", "add"],
        vec!["item", "add", "a", "--priority", "urgent"],
        vec!["item", "list", "--limit", "0"],
        vec!["item", "list", "--limit", "201"],
        vec!["item", "list", "--colour"],
        vec!["claim"],
        vec!["claim", "W-1", "--next"],
        vec!["claim", "W-1", "--wait", "5"],
        vec!["item", "show", "W-99"],
        vec!["advance", "W-99", "start"],
        vec!["note", "set", "W-99", "k", "v"],
        vec!["link", "W-98", "blocks", "W-99"],
        vec!["link", "W-98", "hinders", "W-99"],
        vec!["release", "W-99"],
        vec!["--project", "Bad Slug", "item", "list"],
        vec!["--actor", "ann", "item", "add", "a"],
        vec!["--actor", "king:ann", "item", "add", "a"],
        vec!["--actor", "user:", "item", "add", "a"],
        vec!["item", "edit", "W-1"],
        vec!["init", "--preset", "chaos"],
    ] {
        desk.fails(2, &arguments);
        let error = desk.error(2, &arguments);
        assert!(error["message"].as_str().is_some_and(|message| !message.is_empty()), "{arguments:?}: {error}");
    }
    assert_eq!(desk.error(2, &["item", "show", "W-99"])["code"], json!("NOT_FOUND"));
    let said = desk.fails(2, &["item", "lst"]);
    assert!(said.contains("list"), "what was meant is said: {said}");
}

#[test]
fn no_command_says_what_there_is() {
    let desk = Desk::bare();
    assert!(desk.fails(2, &[]).contains("Usage: docket"));
}

#[test]
fn the_environment_is_3() {
    let desk = Desk::bare();
    let said = desk.fails(3, &["item", "list"]);
    assert!(said.contains("no Docket database here: run `docket init`"), "{said}");
    let error = desk.error(3, &["item", "list"]);
    assert_eq!(error["reason"], json!("not_configured"));
    assert!(desk.fails(3, &["--db", "mysql://h/d", "item", "list"]).contains("postgres://"));
    assert!(desk.run_with(&[("DOCKET_DB", "redis:x")], &["item", "list"]).bad(3).contains("redis"));
    assert!(desk.fails(3, &["--db", "sqlite:none.db", "item", "list"]).contains("none.db"));
    assert!(desk.run_with(&[("DOCKET_LOG", "=!=")], &["init"]).bad(3).contains("DOCKET_LOG"));
    assert!(desk.fails(3, &["init", "--dir", "no/such/folder"]).contains("no such folder"));
}

#[test]
fn not_allowed_is_4() {
    let desk = Desk::new();
    let item = desk.add(&["One"]);
    let said = desk.run_with(&[("DEGRADED_MODE_POLICY", "Reject")], &["claim", &item]).bad(4);
    assert!(said.contains("not verified") && said.contains("DEGRADED_MODE_POLICY"), "{said}");
    let forged = desk.error(4, &["item", "edit", &item, "--title", "x", "--fence", "7"]);
    assert_eq!((&forged["code"], &forged["reason"]), (&json!("FORBIDDEN"), &json!("foreign_claim")));
    assert_eq!(desk.field(&item, "title"), json!("One"), "nothing has changed");
}

#[test]
fn a_conflict_or_a_refusal_is_5() {
    let desk = Desk::new();
    let item = desk.add(&["One"]);
    assert!(desk.fails(5, &["advance", &item, "resume"]).contains("transition: cannot resume"));
    let error = desk.error(5, &["advance", &item, "resume"]);
    assert_eq!((&error["code"], &error["refusals"][0]["gate"]), (&json!("RULE_BLOCKED"), &json!("transition")));
    desk.ok(&["advance", &item, "complete"]);
    assert!(desk.fails(5, &["claim", &item]).contains("closed"));
    desk.fails(5, &["init", "--surface", "task-orchestrator", "--prefix", "OTHER"]);
}

#[test]
fn every_gate_that_refuses_is_told_with_its_remedy() {
    let desk = Desk::standard();
    desk.write("docket.toml", "[schemas.job]\nnotes = [{ key = 'plan', phase = 'queue', required = true }]\n");
    let first = desk.add(&["First"]);
    let job = desk.add(&["Job", "--type", "job", "--blocked-by", &first]);
    let child = desk.add(&["Child", "--parent", &job]);
    desk.ok(&["--actor", "agent:other", "claim", &job]);
    let said = desk.fails(5, &["advance", &job, "complete"]);
    for part in [
        "complete refused",
        "ownership:",
        "dependencies:",
        "notes:",
        "descendants:",
        "W-1 \"First\" must be closed first",
        "write plan",
        &format!("{child} \"Child\""),
    ] {
        assert!(said.contains(part), "{part} is not in {said}");
    }
    assert_eq!(said.matches("to mend it:").count(), 4, "{said}");
    let error = desk.error(5, &["advance", &job, "complete"]);
    assert_eq!(error["refusals"].as_array().map(Vec::len), Some(4), "{error}");
    assert_eq!(error["refusals"][2]["missingNotes"], json!(["plan"]));
}

#[test]
fn an_answer_that_cannot_be_written_is_6() {
    let desk = Desk::new();
    desk.add(&["One"]);
    let full = std::fs::OpenOptions::new().write(true).open("/dev/full").expect("a full disk");
    let output = desk.command(&["item", "list"]).stdout(full).stderr(Stdio::piped()).output().expect("it starts");
    assert_eq!(output.status.code(), Some(6), "{output:?}");
    assert!(String::from_utf8_lossy(&output.stderr).contains("cannot be written"), "{output:?}");
}

#[test]
fn a_place_that_cannot_be_written_is_6() {
    let desk = Desk::bare();
    let said = desk.run(&["--db", "sqlite:/proc/docket.db", "mcp"]).bad(6);
    assert!(said.contains("/proc/docket.db"), "{said}");
}

#[test]
fn a_reader_that_goes_away_is_no_failure() {
    let desk = Desk::new();
    desk.write("many.jsonl", many(3000));
    desk.ok(&["import", "many.jsonl"]);
    let mut child = desk.command(&["export"]).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("it starts");
    let mut output = BufReader::new(child.stdout.take().expect("its output"));
    let mut line = String::new();
    output.read_line(&mut line).expect("a line");
    drop(output);
    let end = child.wait_with_output().expect("it ends");
    assert_eq!((end.status.code(), String::from_utf8_lossy(&end.stderr).as_ref()), (Some(0), ""));
}

/// An export with this many items.
fn many(items: usize) -> String {
    let desk = Desk::bare();
    desk.ok(&["init", "--surface", "task-orchestrator", "--prefix", "M", "--name", "Many"]);
    desk.ok(&["--project", "here", "item", "add", "one"]);
    let lines = desk.ok(&["export"]).replace("\"slug\":\"here\"", "\"slug\":\"many\"");
    let item = lines.lines().find(|line| line.starts_with("{\"item\"")).expect("an item");
    let id = |number: usize| format!("01a00000-0000-7000-8000-{number:012x}");
    let value: serde_json::Value = serde_json::from_str(item).expect("JSON");
    let own = value["item"]["id"].as_str().expect("an id");
    let mut all: Vec<String> = lines.lines().map(ToOwned::to_owned).collect();
    for number in 2..=items {
        let next = item.replace(own, &id(number)).replace("\"number\":1", &format!("\"number\":{number}"));
        all.push(next.replace("\"M-1\"", &format!("\"M-{number}\"")));
    }
    all.join("\n")
}
