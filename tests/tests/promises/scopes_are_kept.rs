//! P15: a principal sees and changes its scope alone.
//!
//! Every operation × profile × own, other and unknown, over the store; and through the real program, where `--project`
//! and a surface's project are such a limit. Planted bug it catches: what is shown of items is not limited.

use std::process::Command;
use std::sync::Arc;

use docket_store_sqlite::{SqliteOptions, SqliteStore};
use docket_tests::mcp::Server;
use docket_tests::postgres::Database;
use docket_tests::program::docket;
use serde_json::{Value, json};

use crate::fleet::{Place, must_fail_with};

#[test]
fn a_caller_sees_and_changes_its_projects_alone() {
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    runtime.block_on(async {
        let folder = tempfile::tempdir().expect("a folder");
        let store = SqliteStore::open(SqliteOptions::new(folder.path().join("docket.db")).create(true)).await;
        let store = Arc::new(store.expect("a database"));
        Box::pin(docket_tests::scopes::experiment(Arc::clone(&store) as _)).await;
        store.close().await;
    });
}

#[test]
fn a_caller_sees_and_changes_its_projects_alone_on_a_server() {
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    runtime.block_on(async {
        let database = Database::new();
        let store = Arc::new(database.open().await);
        Box::pin(docket_tests::scopes::experiment(Arc::clone(&store) as _)).await;
        store.close().await;
    });
}

/// One call of the program: its exit code and all it said.
fn call(place: &Place, arguments: &[&str]) -> (Option<i32>, String) {
    let mut command = Command::new(docket());
    command.arg("--db").arg(place.database()).arg("--json").args(arguments).current_dir(place.folder());
    place.prepare(&mut command);
    let output = command.output().expect("the program");
    let said = [output.stdout, output.stderr].concat();
    (output.status.code(), String::from_utf8_lossy(&said).into_owned())
}

/// An item of each of two projects with a note, and an id of the same shape that never was.
fn two_projects(place: &Place) -> [String; 3] {
    let sound = Place::within(place.folder());
    let item = |project: &str, title: &str| {
        let (code, said) = call(&sound, &["--project", project, "item", "add", title]);
        assert_eq!(code, Some(0), "{said}");
        let made: Value = serde_json::from_str(&said).expect("JSON");
        let id = find_id(&made).unwrap_or_else(|| panic!("no id in {said}"));
        let (code, said) = call(&sound, &["note", "set", &id, "remark", "zebra"]);
        assert_eq!(code, Some(0), "{said}");
        id
    };
    for project in ["mine", "other"] {
        let (code, said) = call(&sound, &["project", "set", project]);
        assert_eq!(code, Some(0), "{said}");
    }
    [item("mine", "my own"), item("other", "zebra"), "00000000-0000-7000-8000-000000000001".to_owned()]
}

fn find_id(value: &Value) -> Option<String> {
    match value {
        Value::Object(fields) => match fields.get("id").and_then(Value::as_str) {
            Some(id) => Some(id.to_owned()),
            None => fields.values().find_map(find_id),
        },
        Value::Array(entries) => entries.iter().find_map(find_id),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => None,
    }
}

fn through_the_program(plant: Option<&'static str>) {
    let place = Place::new(plant);
    drop(Server::start_with(&place.database(), &["--project", "mine"], |_| {}));
    let [own, other, unknown] = two_projects(&place);
    let verbs: [&[&str]; 24] = [
        &["item", "show"],
        &["tree"],
        &["why"],
        &["events"],
        &["note", "list"],
        &["note", "show", "ID", "remark"],
        &["item", "edit", "ID", "--title", "new"],
        &["note", "set", "ID", "late", "words"],
        &["advance", "ID", "start"],
        &["claim"],
        &["brief", "show"],
        &["brief", "set", "ID", "--objective", "new"],
        &["brief", "clear"],
        &["verdict"],
        &["verify", "ID", "c1=pass"],
        &["ask", "ID", "which?"],
        &["answer", "ID", "this"],
        &["comment", "ID", "words"],
        &["attach", "ID", "a", "b", "https://example.com/"],
        &["start"],
        &["finish"],
        &["close", "ID", "--tree"],
        &["link", "ID", &own],
        &["item", "rm"],
    ];
    for verb in verbs {
        let ask = |id: &str| {
            let mut arguments = vec!["--project", "mine"];
            arguments.extend(verb.iter().map(|word| if *word == "ID" { id } else { *word }));
            if !verb.contains(&"ID") {
                arguments.push(id);
            }
            call(&place, &arguments)
        };
        let ((code, told), (known_code, known)) = (ask(&other), ask(&unknown));
        assert_eq!((code, told.replace(&other, "X")), (known_code, known.replace(&unknown, "X")), "{verb:?} tells");
        assert!(!told.contains("zebra"), "{verb:?} tells {told}");
    }
    let server = Server::start_with(&place.database(), &["--project", "mine"], |command| place.prepare(command));
    for (tool, arguments) in [
        ("query_items", json!({ "operation": "get", "id": "ID" })),
        ("query_notes", json!({ "operation": "list", "itemId": "ID" })),
        ("query_dependencies", json!({ "itemId": "ID" })),
        ("get_context", json!({ "itemId": "ID" })),
        ("get_next_status", json!({ "itemId": "ID" })),
        ("advance_item", json!({ "transitions": [{ "itemId": "ID", "trigger": "start" }] })),
        ("manage_items", json!({ "operation": "delete", "ids": ["ID"] })),
        ("manage_notes", json!({ "operation": "delete", "itemId": "ID" })),
    ] {
        let ask = |id: &str| {
            let arguments = serde_json::from_str(&arguments.to_string().replace("ID", id)).expect("JSON");
            server.call(tool, arguments).expect("an answer").content.to_string().replace(id, "X")
        };
        assert_eq!(ask(&other), ask(&unknown), "{tool} tells");
    }
}

#[test]
fn the_program_finds_nothing_outside_the_project_it_was_given() {
    through_the_program(None);
}

#[test]
fn and_a_read_without_the_limit_would_be_seen() {
    must_fail_with(&["tells"], || through_the_program(Some("reads-unlimited")));
}
