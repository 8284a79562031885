//! The official Python client of MCP, and schemathesis, which makes up requests from the OpenAPI document and holds every
//! answer against it.

use std::io::{BufRead as _, BufReader, Write as _};
use std::net::{SocketAddr, TcpListener};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use docket_tests::program::docket;
use docket_tests::web::{Runner, Web, command};

use crate::install::{installed, ours, success};

/// A folder of Python with what `requirements.txt` names.
fn python() -> Option<&'static Path> {
    static FOLDER: OnceLock<Option<PathBuf>> = OnceLock::new();
    let made = || installed("clients", "requirements.txt", &[venv, pip]).map(|folder| folder.join("bin"));
    FOLDER.get_or_init(made).as_deref()
}

/// The same with the client as it was when 2025-06-18 was the newest revision.
fn python_of_2025_06_18() -> Option<PathBuf> {
    installed("clients-2025-06-18", "requirements-2025-06-18.txt", &[venv, pip]).map(|folder| folder.join("bin"))
}

fn venv(folder: &Path, _: &Path) -> Command {
    let mut venv = Command::new("python3");
    venv.args(["-m", "venv", "--clear"]).arg(folder);
    venv
}

fn pip(folder: &Path, list: &Path) -> Command {
    let mut pip = Command::new(folder.join("bin/pip"));
    pip.args(["install", "--quiet", "--retries", "2", "--requirement"]).arg(list);
    pip
}

/// Runs our script with a client over HTTP, and then over stdio.
fn works_through_loops(python: &Path, revision: &str) {
    let web = Web::start();
    let script = || {
        let mut script = Command::new(python.join("python"));
        script.arg(ours().join("mcp_client.py")).arg(revision);
        script
    };
    success(script().args(["http", &format!("http://{}", web.address)]));
    let folder = tempfile::tempdir().expect("a folder");
    let database = format!("sqlite:{}", folder.path().join("work.db").display());
    success(script().arg("stdio").arg(docket()).args(["--db", &database]).current_dir(folder.path()));
}

#[test]
fn the_official_python_client_works_through_a_loop() {
    let Some(python) = python() else { return };
    works_through_loops(python, "any");
}

#[test]
fn the_official_python_client_of_2025_06_18_works_through_a_loop() {
    let Some(python) = python_of_2025_06_18() else { return };
    works_through_loops(&python, "2025-06-18");
}

#[test]
fn no_made_up_request_is_answered_outside_the_document() {
    let Some(python) = python() else { return };
    // Checks that are made up are made by a runner, but nothing that they say is run, and no pull request is found. Whoever shows no
    // token is not told so by such an API: a runner asks again later, and says till then that it could not be made.
    let pulls = without_pull_requests();
    let toml = format!(
        "[runner]\nallow = \"none\"\ngithub_api = \"http://{pulls}\"\ngithub_token_variable = \"PULLS_TOKEN\"\n"
    );
    let web = Web::start_with(&toml, |_| {});
    let _runner = Runner::changed(&web, &[], |command| _ = command.env("PULLS_TOKEN", "a token"));
    for title in ["First", "Second", "Third"] {
        web.item(title);
    }
    // It makes keys too, and with the first one whoever shows none is a stranger: it has one from the beginning.
    let made = command(&web.database).args(["--json", "key", "create", "--profile", "maintainer"]).output();
    let made: serde_json::Value = serde_json::from_slice(&made.expect("it runs").stdout).expect("JSON");
    let header = format!("Authorization: Bearer {}", made["secret"].as_str().expect("a secret"));
    let checks = "not_a_server_error,status_code_conformance,content_type_conformance,response_schema_conformance";
    success(
        Command::new(python.join("schemathesis"))
            .args(["run", &format!("http://{}/api/v1/openapi.json", web.address)])
            .args(["--max-examples", "5", "--seed", "1", "--request-timeout", "30", "--checks", checks])
            .args(["--header", &header])
            // A stream has no end, and lines of JSON are a form it cannot make up.
            .args(["--exclude-path-regex", "stream|import$", "--no-color"])
            .current_dir(web.database.parent().expect("a folder")),
    );
    // It was let in to the end, and made some.
    let key = header.trim_start_matches("Authorization: ");
    let keys = web.send("GET", "/keys", &[("authorization", key)], None).with(200);
    assert!(keys["keys"].as_array().is_some_and(|keys| keys.len() > 1), "{keys}");
}

/// The address of an API that knows no pull request.
fn without_pull_requests() -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").expect("an address");
    let address = listener.local_addr().expect("an address");
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let mut lines = BufReader::new(&stream).lines();
            while lines.next().is_some_and(|line| line.is_ok_and(|line| !line.is_empty())) {}
            let answer = "HTTP/1.1 404 Not Found\r\ncontent-length: 2\r\nconnection: close\r\n\r\n{}";
            let _ = (&stream).write_all(answer.as_bytes());
        }
    });
    address
}
