//! Checks over REST: writing them, who may let them run, a person's word, runs in pages and their logs in parts.
//!
//! What a runner does is told to the engine here as a runner would report it; that processes are run is shown elsewhere.

use std::path::Path;
use std::sync::Arc;

use docket_core::Engine;
use docket_core::command::{EndRun, Report, TakeRun};
use docket_core::engine::Call;
use docket_core::model::{Definition, Name, RunEnd, RunId, Taking, Text};
use docket_store_sqlite::{SqliteOptions, SqliteStore};
use docket_tests::web::{Reply, Web};
use serde_json::{Value, json};

use crate::callers::{database, key};
use crate::contract::standard;

fn command(desc: &str) -> Value {
    json!({"desc": desc, "cmd": "true"})
}

/// Sends as the holder of a key.
fn send(web: &Web, key: &str, method: &str, path: &str, body: &Value) -> Reply {
    let body = (!body.is_null()).then(|| body.to_string());
    web.send(method, path, &[("authorization", key)], body.as_deref().map(str::as_bytes))
}

fn statuses(shown: &Value) -> Vec<String> {
    let checks = shown["checks"].as_array().unwrap_or_else(|| panic!("no checks: {shown}"));
    checks.iter().map(|check| check["status"].as_str().expect("a status").to_owned()).collect()
}

#[test]
fn checks_are_written_whole_and_added_to_and_shown() {
    let web = standard();
    web.item("One");
    let none = web.get("/items/DEFA-1/checks");
    assert_eq!((&none.with(200)["checks"], &none.with(200)["verification"]), (&json!([]), &json!("none")));
    let tag = none.header("etag").to_owned();
    let all = json!({"checks": [
        {"desc": "tests", "cmd": "cargo test", "cwd": "crates/core", "timeout": 30},
        {"desc": "ann looked"},
    ]});
    let put =
        |tag: &str| web.send("PUT", "/items/DEFA-1/checks", &[("if-match", tag)], Some(all.to_string().as_bytes()));
    let set = put(&tag).with(200);
    assert_eq!((&set["version"], &set["verification"]), (&json!(2), &json!("command")));
    assert_eq!(set["checks"][0]["type"], json!("command"));
    assert_eq!(
        (&set["checks"][0]["timeoutSeconds"], &set["checks"][0]["mayRun"], &set["checks"][1]["type"]),
        (&json!(30), &json!(false), &json!("manual"))
    );
    assert_eq!(put(&tag).reason(412), "version_mismatch");
    let merged = json!({"checks": [{"desc": "merged", "type": "github_pr", "repository": "acme/web", "number": 7}]});
    let added = web.post("/items/DEFA-1/checks", &merged).with(200);
    assert_eq!((&added["verification"], added["checks"].as_array().map(Vec::len)), (&json!("github_pr"), Some(3)));
    let again = web.post("/items/DEFA-1/checks", &merged);
    assert_eq!((again.reason(422), &again.json()["error"]["field"]), ("duplicate".to_owned(), &json!("checks[3]")));
    let shown = web.get("/items/DEFA-1/checks").with(200);
    assert_eq!(shown["checks"], added["checks"]);
    assert_eq!(statuses(&shown), ["pending", "pending", "pending"]);
    let emptied = web.json("PUT", "/items/DEFA-1/checks", &json!({"checks": []})).with(200);
    assert_eq!((&emptied["checks"], &emptied["verification"]), (&json!([]), &json!("none")));
}

#[test]
fn what_is_wrong_with_checks_is_named_and_nothing_is_written() {
    let web = standard();
    web.item("One");
    let long = "x".repeat(100 * 1024);
    let many: Vec<Value> = (0..51).map(|number| command(&number.to_string())).collect();
    for (check, reason, field) in [
        (json!({"cmd": "true"}), "missing_field", "checks[0].desc"),
        (json!({"desc": " "}), "blank", "checks[0].desc"),
        (json!({"desc": "x", "comand": "true"}), "unknown_field", "checks[0].comand"),
        (json!({"desc": "x", "cmd": ""}), "blank", "checks[0].cmd"),
        (json!({"desc": "x", "cmd": long}), "too_long", "checks[0].cmd"),
        (json!({"desc": "x", "cmd": "a\u{0}b"}), "bad_char", "checks[0].cmd"),
        (json!({"desc": "x", "cmd": "a\nb"}), "bad_char", "checks[0].cmd"),
        (json!({"desc": "x", "cmd": "true", "cwd": ".."}), "outside_worktree", "checks[0].cwd"),
        (json!({"desc": "x", "cmd": "true", "cwd": "a/../../b"}), "outside_worktree", "checks[0].cwd"),
        (json!({"desc": "x", "cmd": "true", "cwd": "/etc"}), "outside_worktree", "checks[0].cwd"),
        (json!({"desc": "x", "cmd": "true", "cwd": ""}), "blank", "checks[0].cwd"),
        (json!({"desc": "x", "cmd": "true", "timeout": 0}), "bad_value", "checks[0].timeout"),
        (json!({"desc": "x", "cmd": "true", "timeout": -1}), "bad_value", "checks[0].timeout"),
        (json!({"desc": "x", "cmd": "true", "timeout": 1_000_000_000}), "bad_value", "checks[0].timeout"),
        (json!({"desc": "x", "cmd": "true", "timeout": "5"}), "bad_value", "checks[0].timeout"),
        (json!({"desc": "x", "cmd": "true", "proves": "c9"}), "not_found", "checks[0].proves"),
        (json!({"desc": "x", "type": "pull_request", "repository": "a/b"}), "missing_field", "checks[0].number"),
        (json!({"desc": "x", "type": "manual", "cmd": "true"}), "bad_value", "checks[0].cmd"),
    ] {
        let reply = web.json("PUT", "/items/DEFA-1/checks", &json!({"checks": [check]}));
        let status = if reason == "not_found" { 404 } else { 422 };
        assert_eq!(
            (reply.reason(status).as_str(), &reply.json()["error"]["field"]),
            (reason, &json!(field)),
            "{check}"
        );
        assert!(reply.body.len() < 1024, "{check}: nothing is repeated at length");
    }
    assert_eq!(web.json("PUT", "/items/DEFA-1/checks", &json!({"checks": many})).reason(422), "too_many");
    assert_eq!(web.json("PUT", "/items/DEFA-1/checks", &json!({})).reason(422), "missing_field");
    assert_eq!(web.get("/items/DEFA-1/checks").with(200)["version"], json!(1), "nothing was written");
    web.json("PUT", "/items/DEFA-1/checks", &json!({"checks": [command("one")]})).with(200);
    assert_eq!(web.post("/items/DEFA-1/checks/run", &json!({"only": [99]})).reason(422), "bad_value");
    assert_eq!(web.post("/items/DEFA-1/checks/approve", &json!({"only": [99]})).reason(422), "bad_value");
    assert_eq!(web.post("/items/DEFA-1/checks/99/attest", &json!({"passed": true})).reason(422), "bad_value");
    for index in ["x", "-1", "+1", "1e3", "99999999999999999999999"] {
        let reply = web.post(&format!("/items/DEFA-1/checks/{index}/attest"), &json!({"passed": true}));
        assert_eq!(
            (reply.reason(422).as_str(), &reply.json()["error"]["field"]),
            ("bad_value", &json!("index")),
            "{index}"
        );
    }
}

#[test]
fn letting_a_command_run_takes_another_person() {
    let (_folder, file) = database();
    let author = key(&file, &["--profile", "operator", "--name", "author"]);
    let other = key(&file, &["--profile", "operator", "--name", "other"]);
    let worker = key(&file, &["--profile", "worker", "--name", "worker"]);
    let web = Web::on(&file, |_| {});
    let path = "/items/WEB-1/checks";
    let set = send(&web, &author, "PUT", path, &json!({"checks": [command("one"), command("two")]})).with(200);
    let approve = |key: &str, body: &Value| send(&web, key, "POST", "/items/WEB-1/checks/approve", body);
    assert_eq!(approve(&worker, &json!({})).reason(403), "profile_too_low");
    assert_eq!(approve(&author, &json!({})).reason(403), "check_not_approved");
    let as_agent = [("authorization", other.as_str()), ("x-docket-actor", "subagent:bot")];
    let by_agent = web.send("POST", "/items/WEB-1/checks/approve", &as_agent, Some(b"{}"));
    assert_eq!(by_agent.reason(403), "check_not_approved");
    // Whoever wrote it does not approve it under another name either: the key is the same.
    for other_name in ["user:somebody", "user:other", "user:author"] {
        let as_another = [("authorization", author.as_str()), ("x-docket-actor", other_name)];
        let body = json!({"version": set["version"]}).to_string();
        let own = web.send("POST", "/items/WEB-1/checks/approve", &as_another, Some(body.as_bytes()));
        assert_eq!(own.reason(403), "check_not_approved", "{other_name}");
    }
    // Nobody lets run what was not read.
    let unread = approve(&other, &json!({"only": [1]}));
    assert_eq!((unread.reason(422).as_str(), &unread.json()["error"]["field"]), ("missing_field", &json!("version")));
    let version = set["version"].to_string();
    let other_version = [("authorization", other.as_str()), ("if-match", version.as_str())];
    let differ = web.send("POST", "/items/WEB-1/checks/approve", &other_version, Some(b"{\"version\": 99}"));
    assert_eq!(differ.reason(422), "bad_value");
    assert_eq!(approve(&other, &json!({"only": [1], "version": 99})).reason(409), "version_mismatch");
    let approved = approve(&other, &json!({"only": [1], "version": set["version"]})).with(200);
    let may_run = |shown: &Value| json!([shown["checks"][0]["mayRun"], shown["checks"][1]["mayRun"]]);
    assert_eq!(may_run(&approved), json!([false, true]));
    // What was read and has changed since is not what is let run.
    let late = [("authorization", other.as_str()), ("if-match", version.as_str())];
    assert_eq!(web.send("POST", "/items/WEB-1/checks/approve", &late, Some(b"{}")).reason(412), "version_mismatch");
    // An edit voids it; what says the same keeps it.
    let mut second = command("two");
    second["timeout"] = json!(7);
    let edited = send(&web, &author, "PUT", path, &json!({"checks": [command("one"), second]})).with(200);
    assert_eq!(may_run(&edited), json!([false, false]));
    // What a person asked for is taken away by a person alone.
    assert_eq!(send(&web, &worker, "PUT", path, &json!({"checks": []})).reason(403), "not_yours");
}

#[test]
fn a_person_attests_and_then_the_item_closes() {
    let (_folder, file) = database();
    let operator = key(&file, &["--profile", "operator"]);
    let worker = key(&file, &["--profile", "worker"]);
    let web = Web::on(&file, |_| {});
    let path = "/items/WEB-1/checks";
    send(&web, &worker, "PUT", path, &json!({"checks": [{"desc": "ann looked"}, {"desc": "zoe looked"}]})).with(200);
    send(&web, &worker, "POST", "/items/WEB-1/transitions", &json!({"trigger": "start"})).with(200);
    let close = || send(&web, &worker, "POST", "/items/WEB-1/transitions", &json!({"trigger": "complete"}));
    // The workflow may lead through review first.
    let mut refused = close();
    if refused.status == 200 {
        refused = close();
    }
    assert_eq!(refused.reason(409), "refused_by_gate");
    let refusal = &refused.json()["error"]["refusals"][0];
    assert_eq!(
        (&refusal["gate"], refusal["unshown"].as_array().map(Vec::len)),
        (&json!("checks"), Some(2)),
        "{refusal}"
    );
    assert_eq!(refusal["unshown"][1], json!({"index": 1, "desc": "zoe looked", "status": "pending", "manual": true}));
    let attest =
        |key: &str, index: usize, body: &Value| send(&web, key, "POST", &format!("{path}/{index}/attest"), body);
    assert_eq!(attest(&worker, 0, &json!({"passed": true})).reason(403), "profile_too_low");
    assert_eq!(attest(&operator, 0, &json!({})).reason(422), "missing_field");
    assert_eq!(attest(&operator, 0, &json!({"passed": true, "tree": "xyz"})).reason(422), "bad_value");
    assert_eq!(
        statuses(&attest(&operator, 0, &json!({"passed": true, "note": "seen"})).with(200)),
        ["pass", "pending"]
    );
    assert_eq!(statuses(&attest(&operator, 1, &json!({"passed": false})).with(200)), ["pass", "fail"]);
    assert_eq!(close().reason(409), "refused_by_gate");
    attest(&operator, 1, &json!({"passed": true})).with(200);
    assert_eq!(close().with(200)["toRole"], json!("terminal"));
}

/// What a runner would say of a run.
fn report(database: &Path, run: &str, log: &str) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    runtime.block_on(async {
        let store = SqliteStore::open(SqliteOptions::new(database)).await.expect("the store");
        let engine = Engine::new(Arc::new(store));
        let runner = Name::parse("runner").expect("a name");
        let run: RunId = run.parse().expect("a run");
        let definition: Definition = engine.run_named(run).await.expect("the run").definition;
        let take = TakeRun { run, runner: runner.clone(), allowed: vec![definition.clone()], taking: Taking::Asked };
        engine.run(Call::new(runner.clone(), 1), take).await.expect("taken");
        let report = Report {
            end: RunEnd::Exited { code: 1 },
            log: Text::parse(log).expect("a text"),
            log_left_out: 7,
            tree: None,
            tree_changed: false,
            sandbox: None,
            after_seconds: None,
        };
        let end = EndRun { run, runner: runner.clone(), definition, report, back: false, next: None };
        engine.run(Call::new(runner, 2), end).await.expect("ended");
    });
}

#[test]
fn what_was_handed_in_waits_for_its_runs_which_are_read_in_pages() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("work.db");
    std::fs::write(folder.path().join("docket.toml"), "[project]\nslug = \"default\"\npreset = \"standard\"\n")
        .expect("written");
    let web = Web::on(&file, |_| {});
    web.item("One");
    let checks: Vec<Value> = (0..3).map(|number| command(&format!("check {number}"))).collect();
    web.json("PUT", "/items/DEFA-1/checks", &json!({"checks": checks})).with(200);
    web.post("/items/DEFA-1/begin", &json!({})).with(200);
    assert_eq!(web.post("/items/DEFA-1/submit", &json!({"outcome": "x"})).reason(422), "unknown_field");
    let submitted = web.post("/items/DEFA-1/submit", &json!({"output": "All done."})).with(200);
    assert_eq!((&submitted["role"], &submitted["verification"]), (&json!("review"), &json!("command")), "{submitted}");
    assert_eq!((submitted["runs"].as_array().map(Vec::len), &submitted["etaSeconds"]), (Some(3), &json!(30)));
    let first = web.get("/items/DEFA-1/runs?limit=2").with(200);
    assert_eq!((&first["hasMore"], &first["nextOffset"]), (&json!(true), &json!(2)), "{first}");
    let second = web.get("/items/DEFA-1/runs?limit=2&offset=2").with(200);
    assert_eq!((&second["hasMore"], second.get("nextOffset")), (&json!(false), None), "{second}");
    let all: Vec<Value> =
        [&first, &second].iter().flat_map(|page| page["runs"].as_array().cloned().expect("runs")).collect();
    let mut places: Vec<u64> = all.iter().map(|run| run["check"].as_u64().expect("a place")).collect();
    places.sort_unstable();
    assert_eq!(places, [0, 1, 2], "each once");
    for query in ["limit=0", "limit=201", "limit=x", "offset=-1", "offset=18446744073709551615", "page=1"] {
        assert_eq!(web.get(&format!("/items/DEFA-1/runs?{query}")).status, 422, "{query}");
    }
    let run = |place: usize| all[place]["id"].as_str().expect("an id").to_owned();
    let shown = web.get(&format!("/runs/{}", run(0))).with(200);
    assert_eq!((&shown["state"], &shown["type"]), (&json!("queued"), &json!("command")), "{shown}");
    let cancelled = web.post(&format!("/runs/{}/cancel", run(0)), &Value::Null).with(200);
    assert_eq!(cancelled["runs"][0]["state"], json!("cancelled"));
    assert_eq!(web.post(&format!("/runs/{}/cancel", run(0)), &Value::Null).reason(409), "run_ended");
    assert_eq!(web.get("/runs/01JZK3V5Q8X4R2M7N9P6T1B0CD").status, 404);
    assert_eq!(web.get("/runs/x").reason(422), "bad_id");
    let said: String = (0..20_000).map(|line| ["é", &line.to_string(), "\n"].concat()).collect();
    report(&file, &run(1), &said);
    assert_eq!(web.get("/items/DEFA-1/runs").with(200)["runs"].as_array().map(Vec::len), Some(3));
    let ended = web.get(&format!("/runs/{}", run(1))).with(200);
    assert_eq!((&ended["state"], &ended["end"]), (&json!("failed"), &json!({"how": "exited", "code": 1})), "{ended}");
    let (mut read, mut offset, mut parts) = (String::new(), json!(0), 0);
    loop {
        let part = web.get(&format!("/runs/{}/log?offset={offset}&limit=30001", run(1))).with(200);
        assert_eq!((&part["truncated"], &part["offset"]), (&json!(true), &offset));
        read.push_str(part["text"].as_str().expect("text"));
        parts += 1;
        if part["hasMore"] == json!(false) {
            break;
        }
        offset = part["nextOffset"].clone();
    }
    assert_eq!(read, said);
    assert!(parts > 4, "{parts}");
    for query in ["limit=0", "limit=3", "limit=32769", "offset=-1"] {
        assert_eq!(web.get(&format!("/runs/{}/log?{query}", run(1))).status, 422, "{query}");
    }
    let beyond = web.get(&format!("/runs/{}/log?offset=99999999", run(1))).with(200);
    assert_eq!((&beyond["text"], &beyond["hasMore"]), (&json!(""), &json!(false)));
}
