//! What a new user came upon: each of these went wrong once.

use serde_json::{Value, json};

use crate::desk::{Desk, text};

#[test]
fn an_export_writes_over_nothing_unless_told_to() {
    use std::os::unix::fs::PermissionsExt;
    let desk = Desk::new();
    desk.add(&["One"]);
    let old = desk.write("a.jsonl", "mine\n");
    std::fs::set_permissions(&old, std::fs::Permissions::from_mode(0o640)).expect("a mode");
    assert!(desk.fails(5, &["export", "a.jsonl"]).contains("--force"));
    assert_eq!(desk.read("a.jsonl"), "mine\n");
    std::os::unix::fs::symlink("a.jsonl", desk.file("link")).expect("a link");
    desk.fails(5, &["export", "link"]);
    desk.ok(&["export", "link", "--force"]);
    assert!(desk.file("link").is_symlink(), "a link stays a link");
    assert_eq!(desk.read("a.jsonl"), desk.ok(&["export"]));
    assert_eq!(std::fs::metadata(&old).expect("a file").permissions().mode() & 0o777, 0o640);
    std::os::unix::fs::symlink("new.jsonl", desk.file("dangling")).expect("a link");
    desk.ok(&["export", "dangling"]);
    assert!(desk.file("dangling").is_symlink() && desk.file("new.jsonl").is_file());
    assert!(desk.fails(3, &["export", "."]).contains("folder"));
    assert!(desk.fails(5, &["export", text(&desk.database()), "--force"]).contains("the database itself"));
    desk.ok(&["doctor"]);
}

#[test]
fn an_export_goes_through_devices_and_pipes() {
    use std::os::unix::fs::FileTypeExt;
    let desk = Desk::new();
    desk.add(&["One"]);
    let whole = desk.ok(&["export"]);
    assert_eq!(desk.ok(&["export", "/dev/stdout"]), whole, "and nothing else");
    let file = std::fs::File::create(desk.file("out")).expect("a file");
    assert!(desk.command(&["export", "/dev/stdout"]).stdout(file).status().expect("it runs").success());
    assert_eq!(desk.read("out"), whole, "where it is a file too");
    std::os::unix::fs::symlink("/dev/null", desk.file("null")).expect("a link");
    desk.ok(&["export", "null"]);
    assert!(desk.file("null").is_symlink());
    assert!(desk.fails(3, &["export", "/dev/full"]).contains("/dev/full"));
    let pipe = desk.file("pipe");
    let made = std::process::Command::new("mkfifo").arg(&pipe).status().expect("mkfifo");
    assert!(made.success());
    let reader = std::thread::spawn({
        let pipe = pipe.clone();
        move || std::fs::read_to_string(pipe).expect("lines")
    });
    desk.ok(&["export", "pipe"]);
    assert_eq!(reader.join().expect("a reader"), whole);
    assert!(std::fs::metadata(&pipe).expect("a pipe").file_type().is_fifo(), "it is still there");
}

#[test]
fn events_tell_edges_the_way_they_run() {
    let desk = Desk::new();
    desk.add(&["First"]);
    desk.add(&["Second", "--blocked-by", "W-1"]);
    desk.ok(&["unlink", "W-2", "W-1"]);
    let said = desk.ok(&["events"]);
    assert!(said.contains(" linked W-1 \"First\" blocks W-2 \"Second\"\n"), "{said}");
    assert!(said.contains(" unlinked W-1 \"First\" blocks W-2 \"Second\"\n"), "{said}");
}

#[test]
fn the_doctor_says_what_the_store_knows_of_damage() {
    let desk = Desk::new();
    desk.add(&["One"]);
    desk.ok(&["backup", "b.db"]);
    let whole = std::fs::read(desk.file("b.db")).expect("a file");
    let mut overwritten = whole.clone();
    overwritten[3 * 4096..7 * 4096].fill(0xa5);
    for bytes in [&whole[..9000], &overwritten[..]] {
        desk.write("bad.db", bytes);
        let ran = desk.run(&["--db", "bad.db", "doctor"]);
        assert_eq!(ran.code, 1, "{ran:?}");
        assert!(ran.out.contains("file:") && ran.out.contains("malformed"), "{ran:?}");
        assert!(!ran.out.contains("docket doctor") && ran.err.is_empty(), "{ran:?}");
    }
}

#[test]
fn a_database_that_is_none_or_may_not_be_written_is_told_once() {
    use std::os::unix::fs::PermissionsExt;
    let desk = Desk::new();
    assert!(desk.fails(3, &["--db", ".", "item", "list"]).contains("is a folder"));
    assert!(desk.fails(3, &["--db", ".", "mcp"]).contains("is a folder"));
    desk.ok(&["backup", "b.db"]);
    let mode = |mode| {
        std::fs::set_permissions(desk.file("b.db"), std::fs::Permissions::from_mode(mode)).expect("a mode");
    };
    mode(0o000);
    if std::fs::File::open(desk.file("b.db")).is_ok() {
        return; // Permissions do not hold for whoever runs this.
    }
    assert!(desk.fails(3, &["--db", "b.db", "item", "list"]).contains("ermission denied"));
    mode(0o444);
    desk.ok(&["--db", "b.db", "item", "list"]);
    let said = desk.fails(6, &["--db", "b.db", "item", "add", "x"]);
    assert!(said.contains("read-only") && !said.contains("WARN"), "{said}");
}

#[test]
fn a_server_makes_no_project_by_a_slip_of_the_pen() {
    let desk = Desk::new();
    let said = desk.fails(2, &["--project", "zz", "mcp"]);
    assert!(said.contains("\"zz\"") && said.contains("here"), "{said}");
    assert_eq!(desk.json(&["project", "list"]).as_array().map(Vec::len), Some(1));
    desk.write("docket.toml", "[project]\nslug = 'zz'\n");
    desk.ok(&["--project", "zz", "mcp"]);
    assert_eq!(desk.json(&["project", "list"]).as_array().map(Vec::len), Some(2));
    let ran = desk.run(&["--db", "new.db", "--project", "first", "mcp"]);
    assert_eq!((ran.code, ran.err.lines().count()), (0, 1), "{ran:?}");
    assert!(ran.err.contains("new database") && ran.err.contains("new.db"), "{ran:?}");
    assert_eq!(desk.run(&["--db", "new.db", "--project", "first", "mcp"]).err, "");
}

/// Every object in an answer that is an item, or speaks of one by its id.
fn without_key(value: &Value) -> Vec<&Value> {
    match value {
        Value::Object(fields) => {
            let is_item = fields.contains_key("number") || fields.get("item").is_some_and(Value::is_string);
            let own = (is_item && !fields.contains_key("key")).then_some(value);
            own.into_iter().chain(fields.values().flat_map(without_key)).collect()
        }
        Value::Array(values) => values.iter().flat_map(without_key).collect(),
        _ => Vec::new(),
    }
}

#[test]
fn every_item_for_programs_has_its_key() {
    let desk = Desk::new();
    let made = desk.json(&["item", "add", "First"]);
    assert_eq!((&made["key"], made.get("local")), (&json!("W-1"), None));
    desk.add(&["Second", "--blocked-by", "W-1"]);
    desk.add(&["Third", "--parent", "W-1"]);
    desk.add(&["Fourth", "--parent", "W-2"]);
    for arguments in [
        vec!["item", "add", "Fifth", "--parent", "W-1"],
        vec!["item", "list"],
        vec!["item", "show", "W-2"],
        vec!["item", "edit", "W-2", "--title", "Second again"],
        vec!["tree"],
        vec!["next"],
        vec!["why"],
        vec!["blocked"],
        vec!["overview"],
        vec!["search", "second"],
        vec!["claim", "W-1"],
        vec!["release", "W-1"],
        vec!["claim", "--next"],
        vec!["advance", "W-3", "complete"],
        vec!["advance", "W-1", "complete", "--beneath"],
        vec!["advance", "W-1", "complete"],
    ] {
        let answer = desk.json(&arguments);
        assert_eq!(without_key(&answer), Vec::<&Value>::new(), "{arguments:?}: {answer:#}");
    }
}

#[test]
fn options_of_a_search_do_not_go_with_items_that_are_named() {
    let desk = Desk::new();
    desk.add(&["One"]);
    for (option, value) in [
        ("--wait", "5"),
        ("--tags", "a"),
        ("--type", "a"),
        ("--under", "W-1"),
        ("--role", "queue"),
        ("--capability", "a"),
    ] {
        let said = desk.fails(2, &["claim", "W-1", option, value]);
        assert!(said.contains(option) && said.contains("--next"), "{said}");
    }
    assert_eq!(desk.field("W-1", "claim"), Value::Null);
}

#[test]
fn a_word_that_is_no_move_is_told_with_those_that_are() {
    let desk = Desk::standard();
    desk.add(&["One"]);
    let said = desk.fails(2, &["advance", "W-1", "foo"]);
    for part in ["\"foo\"", "start, complete, block", "reopen", "in_progress"] {
        assert!(said.contains(part), "{part} is not in {said}");
    }
    assert!(desk.fails(2, &["item", "list", "--status", "foo"]).contains("in_progress"));
    desk.ok(&["item", "list", "--status", "in_progress"]);
    for (arguments, part) in [
        (vec!["item", "list", "--limit", "-1"], "from 1 to 200"),
        (vec!["next", "--limit", "x"], "from 1 to 200"),
        (vec!["item", "list", "--cursor", "12"], "begin again without one"),
        (vec!["item", "add", "a", "--complexity", "x"], "from 1 to 10"),
        (vec!["link", "W-1", "blocks", "W-2", "--unblock-at", "blocked"], "queue, work, review or terminal"),
    ] {
        let said = desk.fails(2, &arguments);
        assert!(said.contains(part), "{part} is not in {said}");
    }
}

#[test]
fn what_lies_beneath_is_closed_at_once() {
    let desk = Desk::standard();
    desk.write("docket.toml", "[schemas.job]\nnotes = [{ key = 'plan', phase = 'queue', required = true }]\n");
    desk.add(&["Root"]);
    desk.add(&["Child", "--parent", "W-1"]);
    desk.add(&["Grandchild", "--parent", "W-2"]);
    desk.add(&["Job", "--parent", "W-1", "--type", "job"]);
    let said = desk.fails(5, &["advance", "W-1", "complete"]);
    assert!(said.contains("docket advance W-1 complete --beneath"), "{said}");
    let ran = desk.run(&["advance", "W-1", "complete", "--beneath"]);
    assert_eq!(ran.code, 5, "{ran:?}");
    assert!(ran.out.contains("closed W-3") && ran.out.contains("closed W-2"), "{ran:?}");
    assert!(ran.err.contains("W-4 \"Job\"") && ran.err.contains("plan"), "{ran:?}");
    assert_eq!(desk.field("W-1", "role"), json!("queue"));
    assert!(desk.ok(&["advance", "W-1", "cancel", "--beneath"]).contains("closed W-4"));
    assert!(desk.ok(&["advance", "W-1", "cancel", "--beneath"]).contains("nothing open"));
    desk.ok(&["advance", "W-1", "cancel"]);
    assert!(desk.fails(2, &["advance", "W-1", "start", "--beneath"]).contains("complete or cancel"));
}
