//! The official conformance suite of MCP against a real `docket serve`: its stable version, and the one that knows the
//! revision 2026-07-28.
//!
//! The suite is made for libraries: most of what it asks for are tools, resources and prompts of fixed names. The files in
//! `tests/clients/conformance` name every check that needs one of those, and why; the suite holds them to it: a check that is
//! not in its file must pass, and one that is must not.
//!
//! What needs such names is tried on Docket's transport with a handler that has them, and with files of its own.

use std::net::SocketAddr;
use std::path::Path;

use docket_tests::web::Web;

use crate::fixture;
use crate::install::{ours, success};
use crate::typescript::{node, packages};

/// Runs a version of the suite on the real program; returns the names of the scenarios that passed.
fn run(package: &str, what: &[&str], expected: &str) -> Option<Vec<String>> {
    packages()?;
    let web = Web::start();
    run_on(web.address, package, what, expected)
}

/// The same on whatever listens there.
fn run_on(address: SocketAddr, package: &str, what: &[&str], expected: &str) -> Option<Vec<String>> {
    let said = success(
        node(packages()?)
            .arg(Path::new("node_modules").join(package).join("dist/index.js"))
            .args(["server", "--url", &format!("http://{address}/mcp")])
            .args(what)
            .arg("--expected-failures")
            .arg(ours().join("conformance").join(expected)),
    );
    let passed = said.lines().filter_map(|line| line.strip_prefix("✓ ")?.split_once(':'));
    Some(passed.map(|(name, _)| name.to_owned()).collect())
}

/// Whether all of these are among those that passed: a run that runs nothing has no failures either.
fn assert_among(passed: &[String], wanted: &[&str]) {
    for name in wanted {
        assert!(passed.iter().any(|passed| passed == name), "{name} is not among {passed:?}");
    }
}

#[test]
fn clients_of_2025_11_25_are_served_as_its_requirements_say() {
    let package = "@modelcontextprotocol/conformance";
    let Some(passed) = run(package, &["--requirements", "2025-11-25"], "2025-11-25.yaml") else { return };
    assert_among(&passed, &["server-initialize", "ping", "tools-list", "dns-rebinding-protection"]);
}

#[test]
fn clients_of_2026_07_28_are_served_as_its_requirements_say() {
    let package = "@modelcontextprotocol/conformance";
    let Some(passed) = run(package, &["--requirements", "2026-07-28"], "2026-07-28.yaml") else { return };
    assert_among(
        &passed,
        &["tools-list", "server-sse-multiple-streams", "http-header-validation", "dns-rebinding-protection"],
    );
}

#[test]
fn the_stable_suite_passes() {
    let Some(passed) = run("conformance-stable", &["--suite", "all"], "stable.yaml") else { return };
    assert_among(&passed, &["server-initialize", "ping", "tools-list", "dns-rebinding-protection"]);
}

#[test]
fn the_transport_carries_what_2025_11_25_asks_for() {
    let package = "@modelcontextprotocol/conformance";
    let what = ["--requirements", "2025-11-25"];
    let Some(passed) = run_on(fixture::start(), package, &what, "transport-2025-11-25.yaml") else { return };
    let wanted =
        ["tools-call-with-progress", "tools-call-with-logging", "resources-templates-read", "prompts-get-with-args"];
    assert_among(&passed, &wanted);
}

#[test]
fn the_transport_carries_what_2026_07_28_asks_for() {
    let package = "@modelcontextprotocol/conformance";
    let what = ["--requirements", "2026-07-28"];
    let Some(passed) = run_on(fixture::start(), package, &what, "transport-2026-07-28.yaml") else { return };
    let wanted =
        ["server-stateless", "caching", "input-required-result-multi-round", "http-custom-header-server-validation"];
    assert_among(&passed, &wanted);
}
