//! Export and import: what goes out comes in again, whole, and errors name the line.

use serde_json::{Value, json};

use crate::desk::Desk;

/// A database with something of everything.
fn scene() -> Desk {
    let desk = Desk::new();
    desk.write("docket.toml", "[schemas.job]\nnotes = [{ key = 'plan', phase = 'queue', required = true }]\n");
    let root = desk.add(&["Root", "--type", "job"]);
    let child = desk.add(&["Child \u{202e} \u{1f980} \"quoted\"", "--parent", &root, "--tags", "b,a", "--needs", "ci"]);
    let gone = desk.add(&["Gone"]);
    desk.add(&["Last", "--blocked-by", &child, "--status", "work"]);
    desk.ok(&["note", "set", &root, "plan", "line one\nline two"]);
    desk.ok(&["note", "set", &child, "z", "z"]);
    desk.ok(&["note", "set", &child, "a", "a"]);
    desk.ok(&["link", &root, "relates-to", "W-4"]);
    desk.ok(&["claim", &child]);
    desk.ok(&["item", "rm", &gone]);
    let tail = desk.add(&["Tail"]);
    desk.ok(&["item", "rm", &tail]);
    desk.ok(&["project", "set", "other", "--prefix", "O", "--preset", "standard"]);
    desk.ok(&["--project", "other", "item", "add", "In another"]);
    desk
}

#[test]
fn an_export_that_is_imported_exports_the_same() {
    let desk = scene();
    desk.ok(&["export", "a.jsonl"]);
    desk.ok(&["--db", "copy.db", "import", "a.jsonl", "--create"]);
    desk.ok(&["--db", "copy.db", "export", "b.jsonl"]);
    assert_eq!(desk.read("a.jsonl"), desk.read("b.jsonl"));
    assert_eq!(desk.read("a.jsonl"), desk.ok(&["export"]), "to standard output it is the same");
    desk.ok(&["--db", "copy.db", "doctor"]);
    let copied = desk.json(&["--db", "copy.db", "item", "show", "W-2"]);
    assert_eq!(
        (&copied["item"]["claim"], &copied["item"]["fence"]),
        (&Value::Null, &json!(1)),
        "leases stay behind, fences do not"
    );
    assert_eq!(
        desk.json(&["--db", "copy.db", "--project", "here", "item", "add", "New"])["key"],
        json!("W-6"),
        "no number twice"
    );
    let why = desk.json(&["--db", "copy.db", "why", "W-4"]);
    let obstacles = why[0]["obstacles"].as_array().expect("obstacles");
    assert!(obstacles.iter().any(|obstacle| obstacle["reason"] == "waits-for"), "{why}");
}

#[test]
fn an_export_is_sorted_and_has_nothing_derived() {
    let desk = scene();
    let lines: Vec<Value> =
        desk.ok(&["export"]).lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    let kinds: Vec<&str> =
        lines.iter().filter_map(|line| line.as_object()?.keys().next().map(String::as_str)).collect();
    assert_eq!(
        kinds,
        ["docket", "project", "project", "item", "item", "item", "item", "edge", "edge", "note", "note", "note"]
    );
    let keys: Vec<&str> = lines.iter().filter_map(|line| line["item"]["key"].as_str()).collect();
    assert_eq!(keys, ["W-1", "W-2", "W-4", "O-1"]);
    let notes: Vec<&str> = lines.iter().filter_map(|line| line["note"]["key"].as_str()).collect();
    assert_eq!(notes, ["plan", "a", "z"]);
    let text = desk.ok(&["export"]);
    for absent in ["derived", "holder", "proof", "expiresAt"] {
        assert!(!text.contains(&format!("\"{absent}\"")), "{absent}");
    }
    let one = desk.run(&["--project", "other", "export"]).good();
    assert_eq!(one.lines().count(), 3);
    desk.fails(2, &["--project", "none", "export"]);
}

#[test]
fn an_import_is_all_or_nothing_and_its_errors_name_the_line() {
    let desk = scene();
    let whole = desk.ok(&["export"]);
    let lines: Vec<&str> = whole.lines().collect();
    let with = |number: usize, line: String| {
        let mut changed: Vec<String> = lines.iter().map(|line| (*line).to_owned()).collect();
        changed[number - 1] = line;
        changed.join("\n")
    };
    let fresh = Desk::bare();
    fresh.ok(&["--project", "fresh", "init", "--surface", "task-orchestrator", "--prefix", "F"]);
    let before = fresh.ok(&["export"]);
    let root = serde_json::from_str::<Value>(lines[3]).expect("JSON")["item"]["id"].as_str().expect("an id").to_owned();
    for (text, code, parts) in [
        (String::new(), 2, vec!["in.jsonl:1: ", "empty"]),
        ("{}".to_owned(), 2, vec!["in.jsonl:1: "]),
        (lines[1..].join("\n"), 2, vec!["in.jsonl:1: ", "{\"docket\":3}"]),
        (with(1, "{\"docket\":4}".to_owned()), 2, vec!["in.jsonl:1: ", "version 4"]),
        (with(5, "{\"item\":{".to_owned()), 2, vec!["in.jsonl:5: ", "not JSON"]),
        (with(5, "[1]".to_owned()), 2, vec!["in.jsonl:5: ", "one key"]),
        (with(5, "{\"thing\":{}}".to_owned()), 2, vec!["in.jsonl:5: ", "thing"]),
        (with(5, lines[4].replace("\"title\":", "\"titel\":")), 2, vec!["in.jsonl:5: ", "title"]),
        (with(5, lines[4].replace("\"needs\":", "\"neds\":")), 2, vec!["in.jsonl:5: ", "unknown field \"neds\""]),
        (with(5, lines[4].replace("\"depth\":1", "\"depth\":2")), 2, vec!["in.jsonl:5: ", "depth"]),
        (with(5, lines[4].replace("W-2", "W-9")), 2, vec!["in.jsonl:5: ", "W-9"]),
        (
            with(5, lines[4].replace("\"status\":\"queue\"", "\"status\":\"nowhere\"")),
            2,
            vec!["in.jsonl:5: ", "nowhere"],
        ),
        (with(4, lines[4].to_owned()), 2, vec!["in.jsonl:5: ", "was in line 4"]),
        (with(4, String::new()), 2, vec!["in.jsonl:", "its parent is not in the file"]),
        (with(8, lines[7].replace(&root, "01a00000-0000-7000-8000-000000000000")), 2, vec!["in.jsonl:8: ", "ends"]),
        (with(2, lines[1].replace("\"max", "\"mox")), 2, vec!["in.jsonl:2: "]),
    ] {
        fresh.write("in.jsonl", &text);
        let said = fresh.fails(code, &["import", "in.jsonl"]);
        for part in parts {
            assert!(said.contains(part), "{part} is not in {said}");
        }
        assert_eq!(fresh.ok(&["export"]), before, "nothing was taken in");
    }
    let mut bytes = whole.clone().into_bytes();
    bytes[40] = 0xff;
    fresh.write("in.jsonl", bytes);
    assert!(fresh.fails(2, &["import", "in.jsonl"]).contains("in.jsonl:2: is not UTF-8"));
    fresh.fails(3, &["import", "none.jsonl"]);
    fresh.run_fed(whole.as_bytes(), &["import", "-"]).good();
    assert_eq!(fresh.json(&["--project", "other", "item", "list"])["total"], json!(1));
    assert!(fresh.run_fed(whole.as_bytes(), &["import", "-"]).bad(5).contains("already"));
    fresh.ok(&["doctor"]);
}

#[test]
fn items_come_into_a_project_that_is_there_and_another_of_its_name_is_refused() {
    let desk = scene();
    desk.ok(&["export", "a.jsonl"]);
    let fresh = Desk::bare();
    fresh.ok(&["init", "--surface", "task-orchestrator", "--prefix", "W"]);
    fresh.write("a.jsonl", desk.read("a.jsonl"));
    let said = fresh.fails(5, &["import", "a.jsonl"]);
    assert!(said.contains("another project of this database has"), "{said}");
    assert!(said.contains("a.jsonl"), "{said}");
}

#[test]
fn an_export_that_no_import_takes_is_told_of() {
    let desk = Desk::new();
    let item = desk.add(&["One"]);
    // As a row of text each of these bytes becomes six.
    desk.write("note", vec![1_u8; 262_144]);
    for number in 0..42 {
        desk.ok(&["note", "set", &item, &format!("k{number}"), "--file", "note"]);
    }
    let told = |arguments: &[&str]| {
        let ran = desk.run(arguments);
        assert_eq!(ran.code, 0, "{arguments:?}: {}", ran.err);
        ran.err
    };
    assert_eq!(told(&["export", "small.jsonl"]), "");
    desk.ok(&["note", "set", &item, "k42", "--file", "note"]);
    for arguments in [&["export", "large.jsonl"][..], &["export"], &["--json", "export", "large.jsonl", "--force"]] {
        let told = told(arguments);
        assert!(told.contains("67108864") && told.contains("docket backup"), "{arguments:?}: {told}");
    }
    assert!(std::fs::metadata(desk.file("large.jsonl")).is_ok_and(|file| file.len() > 67_108_864), "it is whole");
    assert!(desk.fails(2, &["--db", "copy.db", "import", "large.jsonl", "--create"]).contains("67108864"));
}

#[test]
fn an_import_that_is_too_large_is_told_so_and_not_that_its_end_is_missing() {
    let desk = Desk::new();
    let (blank, cut) = (" ".repeat(6_000_000) + "\n", format!("{{\"x\":\"{}\"}}\n", "a".repeat(6_000_000)));
    desk.write("large.jsonl", blank.repeat(11) + &cut);
    let said = desk.fails(2, &["import", "large.jsonl"]);
    assert!(said.contains("larger than 67108864 bytes") && !said.contains("JSON"), "{said}");
}
