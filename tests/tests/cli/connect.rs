//! Making a place for work and connecting agents to it: `init`, `mcp`, and where the database is found.

use std::process::{Command, Stdio};

use docket_tests::mcp::Server;
use serde_json::{Value, json};

use crate::desk::{Desk, text};

#[test]
fn init_makes_a_database_that_git_leaves_alone() {
    let desk = Desk::bare();
    let said = desk.ok(&["init"]);
    let path = desk.database();
    assert!(said.contains(text(&path)) && said.contains("standard"), "{said}");
    for client in ["Claude Code", "Claude Desktop", "Cursor", "VS Code", "Codex CLI"] {
        assert!(said.contains(client), "{client}");
    }
    assert_eq!(desk.read(".docket/.gitignore"), "*\n");
    let ready = desk.json(&["init"]);
    assert_eq!((&ready["created"], &ready["project"]["slug"]), (&json!(false), &json!("here")), "again is the same");
    let program = ready["clients"]["command"].as_str().expect("a command");
    assert!(std::path::Path::new(program).is_absolute(), "{program}");
    let said = desk.fails(5, &["init", "--name", "Other"]);
    assert!(said.contains("its name is \"here\"") && said.contains("docket project set"), "{said}");
}

#[test]
fn the_configuration_that_init_prints_starts_a_server() {
    let desk = Desk::bare();
    let ready = desk.json(&["--project", "web", "init", "--name", "Web", "--prefix", "WEB"]);
    let server = &ready["clients"]["claudeDesktop"]["mcpServers"]["docket"];
    let arguments: Vec<&str> = server["args"].as_array().expect("arguments").iter().filter_map(Value::as_str).collect();
    let mut child = Command::new(server["command"].as_str().expect("a command"))
        .args(arguments)
        .current_dir("/")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("a server");
    let hello = json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
        "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": { "name": "t", "version": "1" } } });
    std::io::Write::write_all(&mut child.stdin.take().expect("its input"), format!("{hello}\n").as_bytes())
        .expect("it reads");
    let output = child.wait_with_output().expect("an end");
    assert_eq!(output.status.code(), Some(0));
    let answer: Value = serde_json::from_slice(&output.stdout).expect("nothing but protocol");
    assert_eq!(answer["result"]["serverInfo"]["name"], json!("docket"));
}

#[test]
fn a_server_makes_its_database_and_both_sides_see_the_same() {
    let desk = Desk::bare();
    let database = desk.file("deep/down/work.db");
    std::fs::create_dir_all(desk.file("deep/down")).expect("folders");
    let server = Server::start_with(&database, &["--actor", "subagent:a1", "--project", "web"], |_| {});
    let made = server.ok("manage_items", json!({ "operation": "create", "items": [{ "title": "From an agent" }] }));
    let id = made["data"]["items"][0]["id"].as_str().or(made["items"][0]["id"].as_str()).expect("an id").to_owned();
    let db = format!("sqlite:{}", database.display());
    assert_eq!(desk.json(&["--db", &db, "item", "show", &id])["item"]["title"], json!("From an agent"));
    let events = desk.json(&["--db", &db, "events", &id]);
    assert_eq!(events["events"][0]["by"]["actor"]["id"], json!("a1"), "the actor is fixed at start: {events}");
    desk.ok(&["--db", &db, "item", "add", "From a person"]);
    let found = server.ok("query_items", json!({ "operation": "search", "query": "person" }));
    assert!(found.to_string().contains("From a person"), "{found}");
}

#[test]
fn without_a_database_mcp_uses_the_users_own_folder() {
    let desk = Desk::bare();
    desk.ok(&["mcp"]);
    let own = desk.path().parent().expect("a folder").join(".local/share/docket/docket.db");
    assert!(own.is_file());
    assert_eq!(desk.json(&["project", "show"])["slug"], json!("default"));
    let elsewhere = desk.path().join("xdg");
    desk.run_with(&[("XDG_DATA_HOME", text(&elsewhere))], &["mcp"]).good();
    assert!(elsewhere.join("docket/docket.db").is_file());
}

#[test]
fn a_server_asks_which_project_where_there_are_several() {
    let desk = Desk::new();
    desk.ok(&["project", "set", "second"]);
    // The native tools name projects themselves; those of a dialect are about one.
    desk.ok(&["mcp"]);
    let said = desk.fails(2, &["mcp", "--surface", "task-orchestrator"]);
    assert!(said.contains("here, second") && said.contains("--project"), "{said}");
    desk.ok(&["mcp", "--project", "second"]);
    desk.fails(2, &["mcp", "--surface", "nonsense"]);
    desk.fails(2, &["mcp", "--actor", "nonsense"]);
}

#[test]
fn the_database_is_found_from_below_and_from_a_worktree() {
    let desk = Desk::new();
    desk.add(&["Here"]);
    let deep = desk.path().join("a/b");
    std::fs::create_dir_all(&deep).expect("folders");
    let from = |folder: &std::path::Path| {
        let output = desk.command(&["item", "list"]).current_dir(folder).output().expect("it starts");
        String::from_utf8(output.stdout).expect("UTF-8")
    };
    assert!(from(&deep).contains("Here"));
    let tree = desk.path().parent().expect("a folder").join("tree");
    std::fs::create_dir_all(tree.join("sub")).expect("folders");
    desk.write(".git/worktrees/tree/commondir", "../..\n");
    desk.write(".git/worktrees/tree/gitdir", format!("{}\n", tree.join(".git").display()));
    std::fs::write(tree.join(".git"), format!("gitdir: {}\n", desk.file(".git/worktrees/tree").display()))
        .expect("a file");
    assert!(from(&tree.join("sub")).contains("Here"), "a worktree finds its main checkout's");
    let other = desk.run(&["init", "--dir", "a"]);
    assert!(other.err.contains("takes its place"), "{other:?}");
    assert!(!from(&deep).contains("Here"), "the nearer one counts");
}

#[test]
fn variables_do_what_options_do() {
    let desk = Desk::bare();
    let db = desk.file("v.db");
    let variables = [("DOCKET_DB", text(&db)), ("DOCKET_ACTOR", "human:eve")];
    desk.run_with(&variables, &["init", "--prefix", "V"]).good();
    assert!(db.is_file() && !desk.database().exists());
    let made = desk.run_with(&variables, &["--json", "item", "add", "One"]).good();
    assert!(made.contains("\"V-1\""), "{made}");
    let events = desk.run_with(&variables, &["--json", "events", "V-1"]).good();
    let events: Value = serde_json::from_str(&events).expect("JSON");
    assert_eq!(events["events"][0]["by"]["actor"], json!({ "id": "eve", "kind": "user" }));
    assert_eq!(events["events"][0]["principal"], json!("ann"));
}
