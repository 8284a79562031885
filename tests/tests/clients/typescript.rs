//! The official TypeScript client of MCP, on both transports.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use docket_tests::program::docket;
use docket_tests::web::{Web, command};
use serde_json::Value;

use crate::install::{installed, ours, success};

/// A folder of packages with what `package.json` names, a Node that is new enough for them among it.
pub(crate) fn packages() -> Option<&'static Path> {
    static FOLDER: OnceLock<Option<PathBuf>> = OnceLock::new();
    let copy = |folder: &Path, list: &Path| {
        let mut copy = Command::new("cp");
        copy.arg(list).arg(folder);
        copy
    };
    let npm = |folder: &Path, _: &Path| {
        let mut npm = Command::new("npm");
        npm.args(["install", "--no-audit", "--no-fund", "--no-package-lock", "--fetch-retries=1"]).current_dir(folder);
        npm
    };
    let node_runs = |folder: &Path, _: &Path| {
        let mut node = Command::new(folder.join(NODE));
        node.arg("--version");
        node
    };
    FOLDER.get_or_init(|| installed("clients-node", "package.json", &[copy, npm, node_runs])).as_deref()
}

/// The Node that comes with the packages.
const NODE: &str = "node_modules/.bin/node";

/// That Node, in the folder of its packages.
pub(crate) fn node(packages: &Path) -> Command {
    let mut node = Command::new(packages.join(NODE));
    node.current_dir(packages);
    node
}

/// Runs our script. It lies beside the packages, because that is where a module looks for others.
fn run(packages: &Path, words: &[&str], folder: &Path) {
    let name = "mcp_client.mjs";
    let script = std::fs::read(ours().join(name)).expect("the script");
    let copy = packages.join(format!("{}-{name}", std::process::id()));
    std::fs::write(&copy, script).expect("a copy of it");
    let said = std::panic::catch_unwind(|| success(node(packages).arg(&copy).args(words).current_dir(folder)));
    std::fs::remove_file(&copy).expect("it was there");
    if let Err(failed) = said {
        std::panic::resume_unwind(failed);
    }
}

fn key(database: &Path, profile: &str) -> String {
    let made = success(command(database).args(["--json", "key", "create", "--profile", profile]));
    let made: Value = serde_json::from_str(&made).expect("JSON");
    made["secret"].as_str().expect("a secret").to_owned()
}

#[test]
fn the_official_typescript_client_works_through_a_loop_over_http_with_a_key() {
    let Some(packages) = packages() else { return };
    let folder = tempfile::tempdir().expect("a folder");
    let database = folder.path().join("work.db");
    success(command(&database).args(["--json", "init"]));
    let (worker, viewer) = (key(&database, "worker"), key(&database, "viewer"));
    let web = Web::on(&database, |_| {});
    run(packages, &["http", &format!("http://{}", web.address), &worker, &viewer], folder.path());
}

#[test]
fn the_official_typescript_client_works_through_a_loop_over_stdio() {
    let Some(packages) = packages() else { return };
    let folder = tempfile::tempdir().expect("a folder");
    let program = docket().to_str().expect("UTF-8");
    let database = format!("sqlite:{}", folder.path().join("work.db").display());
    run(packages, &["stdio", program, "--db", &database, "mcp", "--surface", "task-orchestrator"], folder.path());
}
