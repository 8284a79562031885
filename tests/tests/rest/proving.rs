//! Checks over the network: what nobody lets run, who joins what waits, and one making under one name.

use std::io::Write as _;
use std::path::Path;
use std::time::{Duration, Instant};

use docket_tests::repository::{commit, git};
use docket_tests::web::{Runner, Web, request};
use serde_json::{Value, json};

/// Far longer than anything here takes: only what never happens is waited for so long.
const PATIENCE: Duration = Duration::from_mins(2);

fn toml(runner: &str) -> String {
    format!("[project]\nslug = \"default\"\npreset = \"standard\"\n{runner}")
}

/// A server whose folder is a git work tree.
fn serving(runner: &str) -> (tempfile::TempDir, Web) {
    let folder = tempfile::tempdir().expect("a folder");
    write(folder.path(), "docket.toml", &toml(runner));
    write(folder.path(), ".gitignore", "work.db*\nclock\n");
    git(folder.path(), &["init", "--quiet", "--initial-branch", "main"]);
    commit(folder.path(), "begun");
    let web = Web::on(&folder.path().join("work.db"), |_| {});
    web.item("One");
    (folder, web)
}

fn write(folder: &Path, name: &str, text: &str) {
    std::fs::write(folder.join(name), text).expect("written");
}

fn check(web: &Web, cmd: &str) {
    web.json("PUT", "/items/DEFA-1/checks", &json!({"checks": [{"desc": "tests", "cmd": cmd}]})).with(200);
}

fn runs(web: &Web) -> Vec<Value> {
    web.get("/items/DEFA-1/runs").with(200)["runs"].as_array().cloned().expect("runs")
}

#[test]
fn what_nobody_lets_run_is_refused_at_once_though_a_runner_is_up() {
    let (_folder, web) = serving("");
    let _runner = Runner::beside(&web);
    check(&web, "true");
    web.post("/items/DEFA-1/transitions", &json!({"trigger": "start"})).with(200);
    let begun = Instant::now();
    for (path, body) in [
        ("/items/DEFA-1/checks/run", json!({})),
        ("/items/DEFA-1/transitions", json!({"trigger": "complete"})),
        ("/items/DEFA-1/finish", json!({"trigger": "complete"})),
    ] {
        let refused = web.post(path, &body);
        assert_eq!(refused.reason(403), "check_not_approved", "{path}");
    }
    assert!(begun.elapsed() < Duration::from_secs(20), "nobody waited for a runner");
    assert_eq!(runs(&web), Vec::<Value>::new(), "and nothing was queued");
    let submitted = web.post("/items/DEFA-1/submit", &json!({})).with(200);
    assert_eq!(submitted["unapproved"], json!([0]), "{submitted}");
    let waits = &web.get("/inbox").with(200)["items"][0]["waits"];
    assert_eq!(waits[0], json!({"reason": "approve", "checks": [{"index": 0, "desc": "tests"}]}), "{waits}");
}

#[test]
fn what_the_operator_allows_is_made_and_closes_with_its_condition_kept() {
    let (_folder, web) = serving("[runner]\nallow = [\"true\"]\n");
    let _runner = Runner::beside(&web);
    check(&web, "true");
    web.post("/items/DEFA-1/transitions", &json!({"trigger": "start"})).with(200);
    let tag = web.get("/items/DEFA-1").header("etag").to_owned();
    let complete = json!({"trigger": "complete"}).to_string();
    let close =
        |tag: &str| web.send("POST", "/items/DEFA-1/transitions", &[("if-match", tag)], Some(complete.as_bytes()));
    assert_eq!(close("\"1\"").status, 412);
    let closed = close(&tag).with(200);
    assert_eq!(closed["toRole"], json!("terminal"), "the result of its own check is no foreign change");
    // What was handed in is closed by its checks, for whoever asks.
    web.item("Two");
    web.json("PUT", "/items/DEFA-2/checks", &json!({"checks": [{"desc": "tests", "cmd": "true"}]})).with(200);
    web.post("/items/DEFA-2/transitions", &json!({"trigger": "start"})).with(200);
    web.post("/items/DEFA-2/submit", &json!({})).with(200);
    let closed = web.post("/items/DEFA-2/transitions", &json!({"trigger": "complete"}));
    let late = closed.status == 409 && closed.reason(409) == "refused_by_gate";
    assert!(late || closed.with(200)["toRole"] == json!("terminal"), "the runner may have been quicker than the call");
}

/// Sends a request and does not wait for its answer.
fn leave(web: &Web, path: &str, body: &Value) -> std::net::TcpStream {
    let mut stream = web.connect();
    let path = format!("/api/v1{path}");
    let bytes = request(web.address, "POST", &path, &[], Some(body.to_string().as_bytes()));
    stream.write_all(&bytes).expect("sent");
    stream
}

#[test]
fn whoever_asks_again_joins_the_run_that_waits() {
    let (_folder, web) = serving("[runner]\nallow = \"all\"\n");
    check(&web, "true");
    let first = leave(&web, "/items/DEFA-1/checks/run", &json!({}));
    let begun = Instant::now();
    while runs(&web).is_empty() {
        assert!(begun.elapsed() < PATIENCE, "nothing was queued");
        std::thread::sleep(Duration::from_millis(50));
    }
    drop(first);
    let second = leave(&web, "/items/DEFA-1/checks/run", &json!({}));
    let third = leave(&web, "/items/DEFA-1/checks/run", &json!({"only": [0], "again": true}));
    std::thread::sleep(Duration::from_secs(2));
    assert_eq!(runs(&web).len(), 1, "it is the same check");
    let _runner = Runner::beside(&web);
    drop((second, third));
    let proved = web.post("/items/DEFA-1/checks/run", &json!({})).with(200);
    assert_eq!(proved["passed"], json!(true), "{proved}");
}

#[test]
fn under_one_name_checks_are_made_once() {
    let (folder, web) = serving("[runner]\nallow = \"all\"\n");
    let _runner = Runner::beside(&web);
    check(&web, "echo x >> clock");
    let made = || std::fs::read_to_string(folder.path().join("clock")).unwrap_or_default().lines().count();
    let run = |name: &str, body: &Value| {
        let headers = [("idempotency-key", name)];
        web.send("POST", "/items/DEFA-1/checks/run", &headers, Some(body.to_string().as_bytes()))
    };
    let again = json!({"again": true});
    let first = run("one", &again).with(200);
    let second = run("one", &again).with(200);
    assert_eq!((&first, made()), (&second, 1));
    let other = run("one", &json!({"again": true, "only": [0]}));
    assert!(other.status == 409 || other.status == 422, "{}", other.status);
    assert_eq!((other.json()["error"]["reason"].clone(), made()), (json!("request_id_reused"), 1));
    run("two", &again).with(200);
    assert_eq!(made(), 2);
}
