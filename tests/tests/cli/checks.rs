//! Checks by the command line: writing, approving, attesting, and what is said where nothing runs them.

use serde_json::{Value, json};

use crate::desk::{Desk, is_harmless};

#[test]
fn checks_are_added_written_shown_and_taken_away() {
    let desk = Desk::standard();
    let item = desk.add(&["Parser", "--criterion", "it compiles"]);
    assert!(desk.ok(&["check", "list", &item]).contains("no checks"));
    let said = desk.ok(&[
        "check",
        "add",
        &item,
        "The tests pass",
        "--cmd",
        "cargo test",
        "--cwd",
        "crates/core",
        "--timeout",
        "10m",
        "--proves",
        "c1",
    ]);
    for part in ["added a check to W-1", "pending", "The tests pass", "cargo test in crates/core", "c1", "not approved"]
    {
        assert!(said.contains(part), "{part} is not in {said}");
    }
    desk.ok(&["check", "add", &item, "Ann likes it"]);
    desk.ok(&["check", "add", &item, "It is merged", "--pull-request", "acme/web#31"]);
    desk.ok(&["check", "add", &item, "Or this", "--pull-request", "acme/web@parser"]);
    let shown = desk.json(&["check", "list", &item]);
    let types: Vec<&serde_json::Value> = (0..4).map(|place| &shown["checks"][place]["type"]).collect();
    assert_eq!(types, ["command", "manual", "pull_request", "pull_request"].map(|kind| json!(kind)).each_ref());
    assert_eq!((&shown["key"], &shown["checks"][0]["timeoutSeconds"]), (&json!("W-1"), &json!(600)));
    assert_eq!((&shown["checks"][2]["number"], &shown["checks"][3]["branch"]), (&json!(31), &json!("parser")));
    let whole = desk.ok(&["item", "show", &item]);
    assert!(whole.contains("pending 1 Ann likes it") && whole.contains("(by a person)"), "{whole}");
    desk.write("checks.json", r#"[{"desc": "one", "cmd": "true"}, {"desc": "two"}]"#);
    let set = desk.json(&["check", "set", &item, "--file", "checks.json"]);
    assert_eq!((set["checks"].as_array().map(Vec::len), &set["verification"]), (Some(2), &json!("command")));
    let fed = desk.run_fed(br#"[{"desc": "only"}]"#, &["--json", "check", "set", &item, "--file", "-"]).good();
    assert!(fed.contains("\"only\"") && !fed.contains("\"two\""), "{fed}");
    assert!(desk.ok(&["check", "set", &item, "--clear"]).contains("no checks"));
}

#[test]
fn what_is_wrong_with_a_check_is_said() {
    let desk = Desk::standard();
    let item = desk.add(&["One"]);
    desk.write("bad.json", r#"[{"desc": "x", "cmd": "true"}, {"desc": "y", "comand": "true"}]"#);
    desk.write("object.json", r#"{"desc": "x"}"#);
    for (words, part) in [
        (vec!["check", "add", &item, " "], "desc must not be blank"),
        (vec!["check", "add", &item, "x", "--cmd", ""], "cmd must not be blank"),
        (vec!["check", "add", &item, "x", "--cmd", "a\nb"], "must be one line"),
        (vec!["check", "add", &item, "x", "--cmd", "true", "--cwd", "../y"], "--cwd must be a folder inside"),
        (vec!["check", "add", &item, "x", "--cmd", "true", "--cwd", "/etc"], "--cwd must be a folder inside"),
        (vec!["check", "add", &item, "x", "--cmd", "true", "--timeout", "0"], "from 1 to 3600 seconds"),
        (vec!["check", "add", &item, "x", "--cmd", "true", "--timeout", "1d"], "from 1 to 3600 seconds"),
        (vec!["check", "add", &item, "x", "--cmd", "true", "--timeout", "soon"], "--timeout must be a time"),
        (vec!["check", "add", &item, "x", "--cwd", "."], "--cmd"),
        (vec!["check", "add", &item, "x", "--pull-request", "acme"], "--pull-request must be OWNER/NAME"),
        (vec!["check", "add", &item, "x", "--pull-request", "acme/web#x"], "--pull-request must be OWNER/NAME"),
        (vec!["check", "add", &item, "x", "--proves", "c9"], "c9"),
        (vec!["check", "set", &item], "--file"),
        (
            vec!["check", "set", &item, "--file", "bad.json"],
            "checks[1].comand is not known: known here: desc, type, cmd",
        ),
        (vec!["check", "set", &item, "--file", "object.json"], "checks must be a list"),
        (vec!["check", "attest", &item, "0=maybe"], "1=pass or 1=fail"),
        (vec!["check", "attest", &item, "0=pass"], "the item has no checks"),
        (vec!["check", "run", &item, "--only", "x"], "--only"),
        (vec!["check", "log", &item], "no check of this item was run yet"),
        (vec!["check", "log", "nothing"], "ITEM"),
        (vec!["check", "cancel", "x"], "RUN must be a ULID"),
    ] {
        let said = desk.fails(2, &words);
        assert!(said.contains(part), "{words:?}: {said}");
    }
    assert!(desk.fails(5, &["check", "add", &item, "x", "--if-version", "9"]).contains("version 1"));
}

#[test]
fn letting_a_command_run_takes_another_person() {
    let desk = Desk::standard();
    let item = desk.add(&["One"]);
    desk.ok(&["check", "add", &item, "tests", "--cmd", "true"]);
    assert!(desk.fails(4, &["check", "approve", &item]).contains("have another person do it"));
    assert!(desk.fails(4, &["--actor", "subagent:bot", "check", "approve", &item]).contains("only a person"));
    assert!(
        desk.fails(5, &["--actor", "user:zoe", "check", "approve", &item, "--if-version", "1"]).contains("version 2")
    );
    // What was not read is shown, with what to say, and not let run.
    let unread = desk.fails(2, &["--actor", "user:zoe", "check", "approve", &item]);
    assert!(unread.contains("0  tests: true") && unread.contains("--if-version 2"), "{unread}");
    assert!(desk.ok(&["check", "list", &item]).contains("not approved"));
    let said = desk.ok(&["--actor", "user:zoe", "check", "approve", &item, "--only", "0", "--if-version", "2"]);
    assert!(said.contains("approved checks of") && !said.contains("not approved"), "{said}");
    // What is approved already needs no word.
    let said = desk.ok(&["--actor", "user:zoe", "check", "approve", &item]);
    assert!(said.contains("all of these are approved") && said.contains("approved by"), "{said}");
}

#[test]
fn programs_are_told_apart_which_version_to_read_and_what_it_would_let_run() {
    let desk = Desk::standard();
    let item = desk.add(&["One"]);
    desk.ok(&["check", "add", &item, "tests", "--cmd", "true"]);
    desk.ok(&["check", "add", &item, "by hand"]);
    let error = desk.error(2, &["--actor", "user:zoe", "check", "approve", &item]);
    assert!(error["message"].as_str().is_some_and(|message| !message.contains('\n')), "{error}");
    assert_eq!((&error["reason"], &error["version"]), (&json!("missing_field"), &json!(3)));
    assert_eq!((&error["checks"][0]["index"], &error["checks"][1]), (&json!(0), &Value::Null), "{error}");
    assert_eq!(error["checks"][0]["cmd"], json!("true"), "{error}");
}

#[test]
fn a_runner_that_asks_nobody_about_pull_requests_needs_no_token() {
    let desk = Desk::standard();
    let token = "[runner]\ngithub_token_variable = \"DOCKET_TESTS_NO_SUCH_TOKEN\"\n";
    desk.write("docket.toml", token);
    desk.ok(&["runner", "--once"]);
    desk.write("docket.toml", format!("{token}github_api = \"http://127.0.0.1:9\"\n"));
    assert!(desk.fails(3, &["runner", "--once"]).contains("DOCKET_TESTS_NO_SUCH_TOKEN is not set"));
}

#[test]
fn closing_asks_for_what_is_not_shown_and_a_person_attests() {
    let desk = Desk::standard();
    let item = desk.add(&["One"]);
    desk.ok(&["check", "add", &item, "Ann likes\u{1b}[31m it"]);
    desk.ok(&["start", &item]);
    let refused = desk.fails(5, &["close", &item]);
    assert!(refused.contains("checks:") && refused.contains("(pending)"), "{refused}");
    assert!(refused.contains("have a person attest") && is_harmless(&refused), "{refused}");
    assert!(is_harmless(&desk.ok(&["check", "list", &item])));
    desk.ok(&["advance", &item, "in_review"]);
    let inbox = desk.ok(&["inbox"]);
    assert!(inbox.contains("to attest: 0 Ann likes") && !inbox.contains("sign off"), "{inbox}");
    assert_eq!(desk.json(&["inbox"])["items"][0]["waits"][0]["checks"][0]["index"], json!(0));
    assert!(desk.fails(4, &["--actor", "subagent:bot", "check", "attest", &item, "0=pass"]).contains("only a person"));
    assert!(desk.ok(&["check", "attest", &item, "0=pass", "--note", "seen"]).contains("attested a check of"));
    assert!(desk.ok(&["close", &item]).contains("done"));
}

#[test]
fn a_run_is_heard_while_it_lasts_and_ends_with_how_it_stands() {
    let desk = Desk::standard();
    let item = desk.add(&["One"]);
    desk.ok(&["check", "add", &item, "good", "--cmd", "echo it is $((40 + 2))"]);
    let ran = desk.run(&["check", "run", &item]);
    assert_eq!(ran.code, 0, "{ran:?}");
    assert!(ran.err.contains("[1/1] good") && ran.err.contains("  it is 42"), "{ran:?}");
    assert!(ran.out.contains("pass") && ran.out.contains("exit 0") && !ran.out.contains("it is 42"), "{ran:?}");
    desk.ok(&["check", "add", &item, "bad", "--cmd", "printf 'no \\033[31m end'; exit 3"]);
    let ran = desk.run(&["check", "run", &item, "--only", "1"]);
    assert_eq!(ran.code, 8, "{ran:?}");
    assert!(ran.err.contains("[1/1] bad") && ran.err.contains("no ") && is_harmless(&ran.err), "{ran:?}");
    assert!(ran.out.contains("fail") && ran.out.contains("exit 3") && is_harmless(&ran.out), "{ran:?}");
    let json = desk.run(&["--json", "check", "run", &item, "--only", "1", "--again"]);
    assert_eq!((json.code, json.err.as_str()), (8, ""), "{json:?}");
    let proved: serde_json::Value = serde_json::from_str(&json.out).expect("JSON");
    assert_eq!((&proved["passed"], &proved["runs"][0]["end"]["code"]), (&json!(false), &json!(3)), "{proved}");
    assert!(desk.fails(2, &["check", "run", &item, "--only", "9"]).contains("no check 9"));
    assert!(is_harmless(&desk.ok(&["check", "log", &item])));
    let runs = desk.json(&["check", "runs", &item, "--limit", "2"]);
    assert_eq!((runs["runs"].as_array().map(Vec::len), &runs["nextOffset"]), (Some(2), &json!(2)), "{runs}");
    // Closing runs them by itself, and says which.
    desk.ok(&["start", &item]);
    let refused = desk.fails(5, &["close", &item]);
    assert!(refused.contains("[2/2] bad: failed") && refused.contains("mend what failed"), "{refused}");
    desk.ok(&["check", "set", &item, "--clear"]);
    assert!(desk.ok(&["close", &item]).contains("done"));
}

#[test]
fn what_is_handed_in_waits_for_a_runner() {
    let desk = Desk::standard();
    let item = desk.add(&["One"]);
    desk.ok(&["check", "add", &item, "tests", "--cmd", "true"]);
    assert!(desk.ok(&["check", "runs", &item]).contains("no runs"));
    desk.ok(&["start", &item]);
    let submitted = desk.json(&["submit", &item, "--output", "All done."]);
    assert_eq!((&submitted["role"], &submitted["verification"]), (&json!("review"), &json!("command")), "{submitted}");
    let runs = desk.json(&["check", "runs", &item]);
    assert_eq!((&runs["runs"][0]["state"], &runs["hasMore"]), (&json!("queued"), &json!(false)), "{runs}");
    assert!(desk.ok(&["check", "log", &item]).contains("it waits for a runner"));
    let run = runs["runs"][0]["id"].as_str().expect("a run").to_owned();
    assert!(desk.ok(&["check", "cancel", &run]).contains("cancelled"));
    assert!(desk.fails(5, &["check", "cancel", &run]).contains("cancelled already"));
    let without = desk.add(&["Two"]);
    desk.ok(&["start", &without]);
    assert!(desk.ok(&["submit", &without]).contains("nothing else is asked for"));
}
