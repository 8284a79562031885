//! How a server starts, and when it does not.

use std::process::Output;

use docket_tests::web::{Web, command};

use crate::callers::key;

fn try_start(arguments: &[&str], toml: &str) -> Output {
    let folder = tempfile::tempdir().expect("a folder");
    std::fs::write(folder.path().join("docket.toml"), toml).expect("docket.toml");
    let mut command = command(&folder.path().join("work.db"));
    command.arg("serve").args(arguments).output().expect("it runs")
}

#[test]
fn a_server_that_others_could_reach_without_a_key_does_not_start() {
    for address in ["0.0.0.0:0", "[::]:0", "192.0.2.1:7420"] {
        let out = try_start(&["--listen", address], "");
        let said = String::from_utf8_lossy(&out.stderr).into_owned();
        assert_eq!(out.status.code(), Some(3), "{said}");
        assert!(said.contains("keys"), "{said}");
    }
    let out = try_start(&[], "[server]\nlisten = \"0.0.0.0:0\"\n");
    assert_eq!(out.status.code(), Some(3));
}

/// A proxy before it lets strangers come from this machine.
#[test]
fn a_server_that_others_reach_by_a_name_needs_a_key_too() {
    for named in ["hosts = [\"docket.example\"]", "public_url = \"https://docket.example\""] {
        let out = try_start(&["--listen", "127.0.0.1:0"], &format!("[server]\n{named}\n"));
        let said = String::from_utf8_lossy(&out.stderr).into_owned();
        assert_eq!(out.status.code(), Some(3), "{named}: {said}");
        assert!(said.contains("docket key create") && said.contains("hosts and public_url"), "{said}");
    }
    let (folder, database) = crate::callers::database();
    std::fs::write(folder.path().join("docket.toml"), "[server]\nhosts = [\"docket.example\"]\n").expect("docket.toml");
    let admin = key(&database, &["--profile", "maintainer", "--name", "admin"]);
    let web = Web::on(&database, |_| {});
    let from_outside = [("host", "docket.example")];
    assert_eq!(web.to("GET", "/api/v1/items", &from_outside, None).reason(401), "credential_missing");
    web.to("GET", "/api/v1/items", &[("host", "docket.example"), ("authorization", &admin)], None).with(200);
}

#[test]
fn wrong_settings_are_told_with_their_place() {
    for (arguments, toml, code, said) in [
        (&["--listen", "nonsense"][..], "", 2, "--listen"),
        (&[], "[server]\nlisten = \"nonsense\"\n", 3, "docket.toml:2:10"),
        (&[], "[server]\nlimits = 5\n", 3, "limits"),
        (&[], "[server]\nhost = [\"x\"]\n", 3, "hosts"),
        (&[], "[server]\nbody_bytes = 0\n", 3, "at least 1"),
        (&[], "[server]\nhosts = [\"http://x\"]\n", 3, "host name"),
        (&[], "[log]\nformat = \"xml\"\n", 3, "json"),
    ] {
        let out = try_start(arguments, toml);
        let told = String::from_utf8_lossy(&out.stderr).into_owned();
        assert_eq!(out.status.code(), Some(code), "{toml}: {told}");
        assert!(told.contains(said), "{toml}: {told}");
    }
}

#[test]
fn a_port_that_is_taken_is_told() {
    let web = Web::start();
    let out = try_start(&["--listen", &web.address.to_string()], "");
    assert_eq!(out.status.code(), Some(3));
    assert!(String::from_utf8_lossy(&out.stderr).contains("cannot be listened on"));
}

#[test]
fn configured_names_and_limits_count() {
    let (folder, database) = crate::callers::database();
    let toml = "[server]\nhosts = [\"docket.example\"]\nbody_bytes = 1000\n";
    std::fs::write(folder.path().join("docket.toml"), toml).expect("docket.toml");
    let planner = key(&database, &["--profile", "planner", "--project", "web"]);
    let web = Web::on(&database, |_| {});
    assert_eq!(web.to("GET", "/readyz", &[("host", "docket.example")], None).status, 200);
    assert_eq!(web.to("GET", "/readyz", &[("host", "other.example")], None).status, 403);
    let body = format!("{{\"title\":\"{}\"}}", "x".repeat(1000));
    let refused = web.send("POST", "/items", &[("authorization", &planner)], Some(body.as_bytes()));
    assert_eq!(refused.reason(413), "too_long");
}

/// What a server makes of a folder without a database: the workflow of its first project, and the tools at `/mcp`.
fn first(arguments: &[&str], toml: &str) -> (String, String) {
    let folder = tempfile::tempdir().expect("a folder");
    std::fs::write(folder.path().join("docket.toml"), toml).expect("docket.toml");
    let web = Web::first(&folder.path().join("work.db"), arguments);
    let projects = web.get("/projects").with(200);
    let preset = projects["projects"][0]["workflow"]["preset"].as_str().unwrap_or_default().to_owned();
    let headers = [("accept", "application/json, text/event-stream"), ("mcp-protocol-version", "2025-11-25")];
    let list = br#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#;
    let tools = web.to("POST", "/mcp", &headers, Some(list)).with(200);
    (preset, tools["result"]["tools"][0]["name"].as_str().unwrap_or_default().to_owned())
}

#[test]
fn a_first_project_has_the_workflow_of_the_surface_that_is_served() {
    let (standard, native) = first(&[], "");
    assert_eq!(standard, "standard");
    let (preset, tool) = first(&["--surface", "task-orchestrator"], "");
    assert_eq!(preset, "task-orchestrator");
    assert_ne!(tool, native, "the tools at /mcp are those of the surface");
    assert_eq!(first(&["--surface", "cairn"], "").0, "cairn");
    // What docket.toml says of the project goes before that.
    assert_eq!(first(&["--surface", "cairn"], "[project]\npreset = \"standard\"\n").0, "standard");
    assert_eq!(first(&[], "[project]\npreset = \"cairn\"\n"), ("cairn".to_owned(), native));
    let out = try_start(&["--surface", "nonsense"], "");
    assert_eq!(out.status.code(), Some(2), "{}", String::from_utf8_lossy(&out.stderr));
}
