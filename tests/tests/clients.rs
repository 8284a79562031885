//! Programs of others against the real server: the official Python client of MCP, and schemathesis, which makes up requests
//! from the OpenAPI document and holds every answer against it.
//!
//! They come from the package registry, into the target folder. Where that does not answer, the tests say so and pass: the
//! same behaviour is tested by our own client too.
#![expect(clippy::print_stderr, reason = "what was passed over is told")]

use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::OnceLock;

use docket_tests::web::Web;

/// A folder of Python with what `requirements.txt` names, or nothing where it cannot be had.
fn python() -> Option<&'static Path> {
    static FOLDER: OnceLock<Option<PathBuf>> = OnceLock::new();
    FOLDER.get_or_init(make).as_deref()
}

fn make() -> Option<PathBuf> {
    let wanted = clients().join("requirements.txt");
    let here = std::env::current_exe().expect("this test has a path");
    let target = here.ancestors().nth(3).expect("a target folder");
    let folder = target.join("clients");
    // Test processes run at the same time: the first one installs, the others wait.
    std::fs::create_dir_all(target).expect("the target folder");
    let lock = std::fs::File::create(target.join("clients.lock")).expect("a lock");
    lock.lock().expect("the lock");
    let (made, list) = (folder.join("made"), std::fs::read(&wanted).expect("requirements.txt"));
    if std::fs::read(&made).is_ok_and(|before| before == list) {
        return Some(folder.join("bin"));
    }
    let folder_text = folder.to_str().expect("UTF-8");
    let venv = Command::new("python3").args(["-m", "venv", "--clear", folder_text]).output();
    let pip =
        || Command::new(folder.join("bin/pip")).args(["install", "--quiet", "--requirement"]).arg(&wanted).output();
    for step in [venv, pip()] {
        match step {
            Ok(out) if out.status.success() => {}
            Ok(out) => return passed_over(&String::from_utf8_lossy(&out.stderr)),
            Err(error) => return passed_over(&error.to_string()),
        }
    }
    std::fs::write(made, list).expect("a mark");
    Some(folder.join("bin"))
}

fn passed_over(why: &str) -> Option<PathBuf> {
    eprintln!("passed over, since the clients cannot be installed: {why}");
    None
}

fn clients() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("clients")
}

fn assert_success(out: &Output) {
    let said = String::from_utf8_lossy(&out.stdout).into_owned() + &String::from_utf8_lossy(&out.stderr);
    assert!(out.status.success(), "{said}");
}

#[test]
fn the_official_python_client_works_through_a_loop() {
    let Some(python) = python() else { return };
    let web = Web::start();
    let script = clients().join("mcp_client.py");
    let out = Command::new(python.join("python")).arg(script).arg(format!("http://{}", web.address)).output();
    assert_success(&out.expect("it runs"));
}

#[test]
fn no_made_up_request_is_answered_outside_the_document() {
    let Some(python) = python() else { return };
    let web = Web::start();
    for title in ["First", "Second", "Third"] {
        web.item(title);
    }
    let checks = "not_a_server_error,status_code_conformance,content_type_conformance,response_schema_conformance";
    let out = Command::new(python.join("schemathesis"))
        .args(["run", &format!("http://{}/api/v1/openapi.json", web.address)])
        .args(["--max-examples", "5", "--seed", "1", "--request-timeout", "30", "--checks", checks])
        // A stream has no end, and lines of JSON are a form it cannot make up.
        .args(["--exclude-path-regex", "stream|import$", "--no-color"])
        .current_dir(web.database.parent().expect("a folder"))
        .output();
    assert_success(&out.expect("it runs"));
}
