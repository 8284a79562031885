//! The native surface while checks run: whoever asks to be told is told how far they are, in the server's own words.

use std::time::Duration;

use docket_tests::mcp::Server;
use docket_tests::repository::Repository;
use serde_json::{Value, json};

use super::text;

/// Far longer than any of it takes: only a server that says nothing at all is waited for so long.
const PATIENCE: Duration = Duration::from_mins(1);

#[test]
fn a_caller_who_asks_is_told_which_check_runs_and_how_it_ended() {
    let repository = Repository::new("\"all\"");
    let server = repository.server(repository.path(), "docket", "subagent:a", None);
    let made = server.ok("plan", json!({ "items": [{ "title": "Mend it" }] }));
    let key = text(&made["trusted"]["items"][0]["key"]);
    let checks = json!([
        { "desc": "zebra is fixed", "cmd": "sh check.sh" },
        { "desc": "zebra is there", "cmd": "test -f state" },
    ]);
    server.ok("contract", json!({ "id": key, "checks": checks }));
    let call = json!({ "name": "contract", "arguments": { "id": key, "run": {} }, "_meta": { "progressToken": "p" } });
    let (_, answer) = server.ask("tools/call", call);
    let mut heard: Vec<Value> = Vec::new();
    let done = answer.recv_timeout(PATIENCE).expect("an answer");
    while let Some(message) = server.hear(Duration::from_millis(10)) {
        assert_eq!(message["method"], "notifications/progress", "{message}");
        heard.push(message["params"].clone());
    }
    let proved = &done["result"]["structuredContent"];
    assert_eq!(proved["trusted"]["passed"], json!(false), "{done}");
    let states: Vec<&Value> = (0..2).map(|place| &proved["trusted"]["runs"]["rows"][place]["state"]).collect();
    assert_eq!(states, [&json!("failed"), &json!("passed")], "{proved}");
    assert!(heard.iter().all(|told| told["progressToken"] == "p"), "{heard:?}");
    let steps: Vec<String> =
        heard.iter().map(|told| text(&told["message"])).filter(|step| step != "still under way").collect();
    assert_eq!(
        steps,
        ["check 0: run 1 of 2 begins", "check 0: failed", "check 1: run 2 of 2 begins", "check 1: passed"]
    );
    let far: Vec<f64> = heard.iter().filter_map(|told| told["progress"].as_f64()).collect();
    assert!(far.windows(2).all(|two| two[0] < two[1]), "it grows: {far:?}");
    let words = json!([heard, proved["trusted"]]).to_string();
    assert!(!words.contains("zebra") && !words.contains("looking"), "{words}");
    // What it said is read part by part, as data.
    let run = text(&proved["trusted"]["runs"]["rows"][0]["run"]);
    let log = server.ok("find", json!({ "what": "log", "id": run }));
    assert_eq!(log["untrusted"]["log"], "looking at broken\n", "{log}");
    // Nothing changed, so nothing is made again.
    let again = server.ok("contract", json!({ "id": key, "run": {} }));
    assert_eq!(again["trusted"]["unchanged"], json!([0, 1]), "{again}");
    assert!(again["trusted"].get("runs").is_none(), "{again}");
}

/// The state of the newest run of an item.
fn newest(repository: &Repository, key: &str) -> Value {
    repository.docket_json(&["check", "runs", key])["runs"][0]["state"].clone()
}

fn until(repository: &Repository, key: &str, state: &str) {
    let begun = std::time::Instant::now();
    while newest(repository, key) != json!(state) {
        assert!(begun.elapsed() < PATIENCE * 2, "never {state}: {}", newest(repository, key));
        std::thread::sleep(Duration::from_millis(50));
    }
}

#[test]
fn whoever_stops_waiting_leaves_no_run_behind() {
    let repository = Repository::new("\"all\"");
    let server = repository.server(repository.path(), "docket", "subagent:a", None);
    let made = server.ok("plan", json!({ "items": [{ "title": "Mend it" }] }));
    let key = text(&made["trusted"]["items"][0]["key"]);
    server.ok("contract", json!({ "id": key, "checks": [{ "desc": "slow", "cmd": "sleep 600" }] }));
    let run = json!({ "name": "contract", "arguments": { "id": key, "run": {} } });
    let (id, _answer) = server.ask("tools/call", run.clone());
    until(&repository, &key, "running");
    server.notify("notifications/cancelled", json!({ "requestId": id, "reason": "no more" }));
    until(&repository, &key, "cancelled");
    // What is asked next runs again; then the connection ends.
    let (_, _answer) = server.ask("tools/call", run);
    until(&repository, &key, "running");
    assert!(server.hang_up(PATIENCE).is_some(), "it ends when nobody speaks to it any more");
    assert_eq!(newest(&repository, &key), json!("cancelled"));
}

#[test]
fn a_log_is_asked_for_by_its_run() {
    let repository = Repository::new("\"all\"");
    let server = repository.server(repository.path(), "docket", "subagent:a", None);
    let made = server.ok("plan", json!({ "items": [{ "title": "Mend it" }] }));
    let key = text(&made["trusted"]["items"][0]["key"]);
    let refused = server.err("find", json!({ "what": "log", "id": key }));
    assert!(refused.to_string().contains("a log is of a run"), "{refused}");
}

#[test]
fn work_that_is_finished_with_checks_on_it_is_handed_in_and_closes_when_they_hold() {
    // Whatever its own profile, the process of whoever hands it in makes the checks that are allowed.
    for profile in ["operator", "worker"] {
        is_handed_in_and_closes(profile);
    }
}

fn is_handed_in_and_closes(profile: &str) {
    let repository = Repository::new("\"all\"");
    let rules = "[project]\nslug = \"proof\"\npreset = \"standard\"\n[runner]\nallow = \"all\"\n";
    repository.write("docket.toml", rules);
    repository.commit("other rules");
    let words = ["--surface", "docket", "--actor", "subagent:a", "--profile", profile];
    let server = Server::try_start_on(&repository.word(), repository.path(), &words, |command| {
        command.env_remove("DOCKET_ACTOR");
    });
    let server = server.unwrap_or_else(|_| panic!("the server ended at once"));
    let made = server.ok("plan", json!({ "items": [{ "title": "Mend it", "status": "ready" }] }));
    let key = text(&made["trusted"]["items"][0]["key"]);
    server.ok("contract", json!({ "id": key, "checks": [{ "desc": "it is there", "cmd": "test -f state" }] }));
    server.ok("work", json!({ "phase": "start", "id": key }));
    let told = server.ok("work", json!({ "phase": "finish", "id": key, "preview": true }))["trusted"].clone();
    assert_eq!((&told["handedIn"], told.get("runs")), (&json!("command"), None), "{told}");
    let told = server.ok("work", json!({ "phase": "finish", "id": key, "comment": "mended" }))["trusted"].clone();
    assert_eq!(
        (&told["to"], &told["handedIn"], &told["etaSeconds"]),
        (&json!("in_review"), &json!("command"), &json!(30)),
        "{told}"
    );
    assert_eq!(told["runs"].as_array().map(Vec::len), Some(1), "{told}");
    let begun = std::time::Instant::now();
    loop {
        let status = server.ok("get", json!({ "id": key }))["trusted"]["guard"]["status"].clone();
        if status == json!("done") {
            break;
        }
        assert!(begun.elapsed() < PATIENCE * 2, "never done: {status}, {}", newest(&repository, &key));
        std::thread::sleep(Duration::from_millis(50));
    }
}
