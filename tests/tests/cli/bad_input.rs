//! Bad input on the command line: ids, texts, numbers, bytes. Nothing changes, nothing is repeated at length, and nothing
//! that a terminal would act on comes back.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;

use serde_json::{Value, json};

use crate::desk::{Desk, is_harmless};

#[test]
fn an_id_is_an_id() {
    let desk = Desk::new();
    let item = desk.add(&["One"]);
    let id = desk.field(&item, "id").as_str().expect("an id").to_owned();
    let long = "a".repeat(10_000);
    for bad in [
        "../x",
        "W-",
        "W-0",
        "W-00",
        "W-0x1",
        "W-00000000001",
        "W-1 ",
        "W-1\n",
        "-1",
        "W-99999999999",
        "１-1",
        "W-１",
        "abc",
        "zzzz",
        "",
        " ",
        &long,
        "W 1",
    ] {
        let arguments = if bad.starts_with('-') { vec!["item", "show", "--", bad] } else { vec!["item", "show", bad] };
        let error = desk.error(2, &arguments);
        assert_eq!(error["reason"], json!("bad_id"), "{bad:?}: {error}");
        assert!(error.to_string().len() < 700, "{error}");
    }
    assert_eq!(desk.field(&id.to_uppercase(), "key"), json!(item), "either case");
    for spelled in ["w-1", "W-01", "w-0000000001"] {
        assert_eq!(desk.field(spelled, "key"), json!(item), "{spelled}: either case, and filled up with zeros");
    }
    let prefix = desk.error(2, &["item", "show", "abcd1234"]);
    assert_eq!(prefix["code"], json!("NOT_FOUND"));
    desk.add(&["Two"]);
    let ambiguous = desk.error(2, &["item", "show", &id[..4]]);
    assert_eq!(ambiguous["reason"], json!("ambiguous_id"), "{ambiguous}");
    assert!(
        ambiguous["message"].as_str().is_some_and(|said| said.contains("W-1") && said.contains("W-2")),
        "{ambiguous}"
    );
}

#[test]
fn a_text_is_looked_at_once() {
    let desk = Desk::new();
    let long = "x".repeat(1025);
    let combining = format!("a{}", "\u{301}".repeat(10_000));
    for (title, reason) in [
        ("", "blank"),
        ("   ", "blank"),
        ("\u{200b}\u{feff}", "blank"),
        (long.as_str(), "too_long"),
        (combining.as_str(), "too_long"),
        ("two\nlines", "bad_char"),
        ("esc \u{1b}[31m", "bad_char"),
    ] {
        let error = desk.error(2, &["item", "add", title]);
        assert_eq!((&error["reason"], &error["field"]), (&json!(reason), &json!("title")), "{title:.20}: {error}");
    }
    assert_eq!(desk.json(&["item", "list"])["total"], json!(0), "nothing was made");
    desk.add(&[&"x".repeat(1024)]);
    for (arguments, reason) in [
        (vec!["item", "add", "a", "--tags", "Ümlaut"], "bad_char"),
        (vec!["item", "add", "a", "--tags", "\u{430}bc"], "bad_char"),
        (vec!["item", "add", "a", "--complexity", "11"], "bad_value"),
        (vec!["item", "add", "a", "--complexity", "-1"], "bad_value"),
        (vec!["item", "add", "a", "--type", "x\u{202e}y"], "bad_char"),
        (vec!["note", "set", "W-1", " ", "v"], "blank"),
        (vec!["project", "set", "Cyrillic-\u{430}"], "bad_value"),
        (vec!["project", "set", "ok", "--prefix", "A-B"], "bad_value"),
        (vec!["--actor", "user:a\u{202e}b", "item", "add", "a"], "bad_value"),
    ] {
        assert_eq!(desk.error(2, &arguments)["reason"], json!(reason), "{arguments:?}");
    }
    let tags: Vec<String> = (0..51).map(|number| format!("t{number}")).collect();
    assert_eq!(desk.error(2, &["item", "add", "a", "--tags", &tags.join(",")])["reason"], json!("too_many"));
    let nul = desk.run_fed(b"a\0b", &["--json", "note", "set", "W-1", "k", "-"]).error(2);
    assert_eq!((&nul["reason"], &nul["field"]), (&json!("bad_char"), &json!("body")));
    let big = vec![b'x'; 256 * 1024 + 1];
    assert_eq!(desk.run_fed(&big, &["--json", "note", "set", "W-1", "k", "-"]).error(2)["reason"], json!("too_long"));
    desk.run_fed(&big[1..], &["note", "set", "W-1", "k", "-"]).good();
    // More than anybody would send, and of it only what is needed to say so is read.
    let huge = vec![b'y'; 8 * 1024 * 1024];
    assert_eq!(desk.run_fed(&huge, &["--json", "note", "set", "W-1", "k", "-"]).error(2)["reason"], json!("too_long"));
    assert_eq!(
        desk.run_fed(b"a\xff", &["--json", "note", "set", "W-1", "k", "-"]).error(2)["reason"],
        json!("bad_utf8")
    );
}

#[test]
fn text_is_stored_as_it_came_and_shown_without_teeth() {
    let desk = Desk::new();
    let nasty =
        "<script>alert(1)</script> '; DROP TABLE items;-- \u{202e}txt.exe\u{2066} \u{9b}2J".replace('\u{9b}', "");
    let item = desk.add(&[&nasty, "--summary", "\u{1b}]8;;http://evil\u{7}click\u{1b}]8;;\u{7} \u{1b}[2J"]);
    desk.run_fed(b"\x1b]0;owned\x07 \xc2\x9b31m \xe2\x80\xae \r hidden", &["note", "set", &item, "k", "-"]).good();
    desk.ok(&["advance", &item, "start", "--summary", "\u{1b}[1mbold"]);
    for arguments in [
        vec!["item", "show", &item],
        vec!["item", "list"],
        vec!["tree"],
        vec!["note", "show", &item, "k"],
        vec!["note", "list", &item],
        vec!["events"],
        vec!["overview"],
        vec!["why"],
        vec!["search", "script"],
        vec!["export"],
    ] {
        let shown = desk.ok(&arguments);
        assert!(is_harmless(&shown), "{arguments:?}: {shown:?}");
        let json: Vec<&str> = ["--json"].iter().chain(&arguments).copied().collect();
        let shown = desk.ok(&json);
        assert!(is_harmless(&shown), "{json:?}: {shown:?}");
    }
    let whole = desk.json(&["item", "show", &item]);
    assert_eq!(whole["item"]["title"], json!(nasty), "to a program it is what it was");
    assert_eq!(whole["notes"][0]["body"], json!("\u{1b}]0;owned\u{7} \u{9b}31m \u{202e} \r hidden"));
    assert!(desk.ok(&["item", "show", &item]).contains("\\u{202e}txt.exe"), "to a person it is written out");
    let refused = desk.add(&["Waits", "--blocked-by", &item]);
    let said = desk.fails(5, &["advance", &refused, "start"]);
    assert!(is_harmless(&said) && said.contains("\\u{202e}"), "{said:?}");
}

#[test]
fn a_lease_has_a_length() {
    let desk = Desk::new();
    let item = desk.add(&["One"]);
    for ttl in ["0", "-1", "1e18", "9223372036854775807", "0.5", "", "null", "86401", "2d", "99999999999999999999"] {
        let error = desk.error(2, &["claim", &item, "--ttl", ttl]);
        assert_eq!(error["reason"], json!("bad_ttl"), "{ttl:?}: {error}");
    }
    assert_eq!(desk.field(&item, "claim"), Value::Null);
    desk.ok(&["claim", &item, "--ttl", "24h"]);
    for wait in ["-1", "2d", "soon"] {
        desk.fails(2, &["claim", "--next", &format!("--wait={wait}")]);
    }
    for since in ["2026-01-31T12:00:00", "tomorrow", "-5m"] {
        desk.fails(2, &["events", &format!("--since={since}")]);
    }
}

#[test]
fn bytes_that_are_no_text_are_refused() {
    let desk = Desk::new();
    let bad = OsStr::from_bytes(b"a\xff\xfeb");
    for arguments in [vec![OsStr::new("item"), OsStr::new("add"), bad], vec![OsStr::new("--db"), bad], vec![bad]] {
        let output = desk.command(&[]).args(&arguments).output().expect("it starts");
        let said = String::from_utf8(output.stderr).expect("UTF-8");
        assert_eq!(output.status.code(), Some(2), "{said}");
        assert!(said.contains("is not UTF-8 text"), "{said}");
    }
    for name in ["DOCKET_DB", "DOCKET_ACTOR", "USER", "DOCKET_LOG"] {
        let output = desk.command(&["item", "list"]).env(name, bad).output().expect("it starts");
        let said = String::from_utf8(output.stderr).expect("UTF-8");
        assert_eq!(output.status.code(), Some(2), "{name}: {said}");
        assert!(said.contains(name), "{said}");
    }
}

#[test]
fn what_is_repeated_is_short_and_harmless() {
    let desk = Desk::new();
    let long = "x".repeat(5000);
    let escape = "\u{1b}]0;owned\u{7}";
    for bad in [long.as_str(), escape] {
        for arguments in [
            vec![bad],
            vec!["item", "list", "--role", bad],
            vec!["item", "show", bad],
            vec!["link", "W-1", bad, "W-2"],
            vec!["advance", "W-1", bad],
            vec!["--actor", bad, "item", "add", "a"],
            vec!["--project", bad, "item", "list"],
            vec!["--db", &format!("{bad}x:y"), "item", "list"],
            vec!["search", bad, "--limit", bad],
        ] {
            for json in [false, true] {
                let arguments: Vec<&str> =
                    if json { ["--json"].iter().chain(&arguments).copied().collect() } else { arguments.clone() };
                let ran = desk.run(&arguments);
                assert!([2, 3].contains(&ran.code), "{ran:?}");
                assert!(is_harmless(&ran.err), "{:?}", ran.err);
                assert!(!ran.err.contains(&"x".repeat(201)), "{}", ran.err);
            }
        }
    }
}

#[test]
fn batches_have_a_limit_and_are_all_or_nothing_where_they_say_so() {
    let desk = Desk::new();
    let item = desk.add(&["One"]);
    let many: Vec<String> = (1..=201).map(|number| format!("W-{number}")).collect();
    let many: Vec<&str> = many.iter().map(String::as_str).collect();
    for verb in [vec!["claim"], vec!["release"], vec!["item", "rm"]] {
        let arguments: Vec<&str> = verb.iter().chain(&many).copied().collect();
        assert_eq!(desk.error(2, &arguments)["reason"], json!("batch_too_large"), "{verb:?}");
    }
    desk.fails(2, &["item", "rm", &item, "W-77"]);
    assert_eq!(desk.field(&item, "title"), json!("One"), "one that is not there keeps the other");
    desk.ok(&["item", "rm", &item, &item]);
}

#[test]
fn a_name_that_looks_like_another_is_told() {
    let desk = Desk::new();
    desk.add(&["One"]);
    // The second has a Cyrillic letter among Latin ones.
    for (key, told) in
        [("plan", false), ("pl\u{430}n", true), ("\u{43f}\u{43b}\u{430}\u{43d}", false), ("caf\u{e9}", false)]
    {
        let ran = desk.run(&["note", "set", "W-1", key, "words"]);
        assert_eq!(ran.code, 0, "{ran:?}");
        assert_eq!(ran.err.contains("look alike"), told, "{key}: {ran:?}");
        assert!(!told || ran.err.contains("pl\\u{430}n"), "it is said which letter it is: {ran:?}");
    }
    // Tags and keys of projects are of letters that cannot be mistaken.
    desk.fails(2, &["item", "add", "Two", "--tags", "\u{430}pi"]);
    desk.fails(2, &["project", "set", "w\u{435}b"]);
}
