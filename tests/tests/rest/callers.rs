//! A server whose callers show keys: who is let in, what each may see and do, and how often.

use std::path::Path;
use std::time::{Duration, Instant};

use docket_tests::web::{Reply, Web, command};
use serde_json::{Value, json};

/// Runs the program on a database; returns its JSON answer.
fn run(database: &Path, words: &[&str]) -> Value {
    let out = command(database).arg("--json").args(words).output().expect("it runs");
    assert!(out.status.success(), "{words:?}: {}", String::from_utf8_lossy(&out.stderr));
    serde_json::from_slice(&out.stdout).expect("JSON")
}

pub(crate) fn key(database: &Path, words: &[&str]) -> String {
    let made = run(database, &[&["key", "create"], words].concat());
    format!("Bearer {}", made["secret"].as_str().expect("a secret"))
}

/// A database with two projects and an item in each, and a folder that lasts as long as the test.
pub(crate) fn database() -> (tempfile::TempDir, std::path::PathBuf) {
    let folder = tempfile::tempdir().expect("a folder");
    let database = folder.path().join("work.db");
    run(&database, &["--project", "web", "init", "--prefix", "WEB"]);
    run(&database, &["project", "set", "api", "--prefix", "API"]);
    run(&database, &["--project", "web", "item", "add", "In web"]);
    run(&database, &["--project", "api", "item", "add", "In api"]);
    (folder, database)
}

fn get(web: &Web, key: &str, path: &str) -> Reply {
    web.send("GET", path, &[("authorization", key)], None)
}

fn post(web: &Web, key: &str, path: &str, body: &Value) -> Reply {
    web.send("POST", path, &[("authorization", key)], Some(body.to_string().as_bytes()))
}

#[test]
fn without_a_good_key_nobody_is_let_in() {
    let (_folder, database) = database();
    let viewer = key(&database, &["--profile", "viewer"]);
    let web = Web::on(&database, |_| {});
    let nobody = web.get("/items/WEB-1");
    assert_eq!(nobody.reason(401), "credential_missing");
    assert!(nobody.header("www-authenticate").starts_with("Bearer"), "{nobody:?}");
    let wrong_secret = format!("{}{}", &viewer[..viewer.len() - 4], "0000");
    for bad in ["Bearer nonsense", "Bearer a.b.c", "Basic dXNlcjpwYXNz", "Bearer ", &wrong_secret] {
        assert_eq!(get(&web, bad, "/items/WEB-1").status, 401, "{bad}");
    }
    assert_eq!(get(&web, &viewer, "/items/WEB-1").with(200)["title"], json!("In web"));
    assert_eq!(get(&web, &viewer.replace("Bearer", "bearer"), "/items/WEB-1").status, 200);
    // Those who look after the server need none for its pulse.
    assert_eq!(web.to("GET", "/healthz", &[], None).status, 200);
    assert_eq!(web.to("GET", "/readyz", &[], None).status, 200);
}

#[test]
fn a_key_does_what_its_profile_may_in_its_projects() {
    let (_folder, database) = database();
    let viewer = key(&database, &["--profile", "viewer"]);
    let worker = key(&database, &["--profile", "worker", "--project", "web"]);
    let web = Web::on(&database, |_| {});
    let new = json!({"title": "New", "project": "web"});
    assert_eq!(post(&web, &viewer, "/items", &new).reason(403), "profile_too_low");
    assert_eq!(post(&web, &worker, "/items", &new).with(201)["item"]["key"], json!("WEB-2"));
    assert_eq!(web.send("DELETE", "/items/WEB-2", &[("authorization", &worker)], None).reason(403), "profile_too_low");
    // What is outside is answered like what is not there, word for word.
    let told = |reply: &Reply| reply.error(404)["message"].as_str().unwrap_or_default().replace("API-1", "API-9");
    assert_eq!(told(&get(&web, &worker, "/items/API-1")), told(&get(&web, &worker, "/items/API-9")));
    let listed = get(&web, &worker, "/projects").with(200).to_string();
    assert!(listed.contains("web") && !listed.contains("api"), "{listed}");
    assert_eq!(get(&web, &worker, "/items?q=In").with(200)["total"], json!(1));
    assert_eq!(get(&web, &viewer, "/items/API-1").status, 200);
}

#[test]
fn a_revoked_key_writes_nothing_from_then_on() {
    let (_folder, database) = database();
    let worker = key(&database, &["--profile", "worker", "--name", "ci"]);
    let web = Web::on(&database, |_| {});
    let new = json!({"title": "New", "project": "web"});
    assert_eq!(post(&web, &worker, "/items", &new).status, 201);
    run(&database, &["key", "revoke", "ci"]);
    assert_eq!(post(&web, &worker, "/items", &new).reason(401), "key_revoked");
    let begun = Instant::now();
    while get(&web, &worker, "/items/WEB-1").status != 401 {
        assert!(begun.elapsed() < Duration::from_secs(3), "a revoked key goes on reading");
        std::thread::sleep(Duration::from_millis(50));
    }
}

#[test]
fn mcp_offers_what_a_key_may_do() {
    let (_folder, database) = database();
    let viewer = key(&database, &["--profile", "viewer", "--project", "web"]);
    let maintainer = key(&database, &["--profile", "maintainer"]);
    let web = Web::on(&database, |_| {});
    let rpc = |key: &str, method: &str, params: Value| {
        let message = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}).to_string();
        let headers = [
            ("authorization", key),
            ("accept", "application/json, text/event-stream"),
            ("mcp-protocol-version", "2025-11-25"),
        ];
        web.to("POST", "/mcp/task-orchestrator?project=web", &headers, Some(message.as_bytes())).with(200)
    };
    let tools = |key: &str| -> Vec<String> {
        let listed = rpc(key, "tools/list", json!({}));
        let tools = listed["result"]["tools"].as_array().expect("tools").clone();
        tools.iter().map(|tool| tool["name"].as_str().unwrap_or_default().to_owned()).collect()
    };
    assert_eq!(tools(&maintainer).len(), 14);
    let few = tools(&viewer);
    assert!(few.contains(&"query_items".to_owned()) && few.contains(&"get_next_item".to_owned()), "{few:?}");
    assert!(!few.iter().any(|tool| tool.starts_with("manage") || tool == "claim_item"), "{few:?}");
    let arguments = json!({"operation": "create", "items": [{"title": "By a viewer"}]});
    let refused = rpc(&viewer, "tools/call", json!({"name": "manage_items", "arguments": arguments}));
    assert!(refused.to_string().contains("viewer"), "{refused}");
    assert_eq!(get(&web, &viewer, "/items").with(200)["total"], json!(1));
    let denied =
        web.to("POST", "/mcp/task-orchestrator", &[("accept", "application/json, text/event-stream")], Some(b"{}"));
    assert_eq!(denied.status, 401);
}

#[test]
fn a_caller_who_calls_too_often_is_told_when_to_come_again() {
    let (folder, database) = database();
    let (one, other) = (key(&database, &["--profile", "viewer"]), key(&database, &["--profile", "viewer"]));
    std::fs::write(folder.path().join("docket.toml"), "[limits]\nburst = 5\nper_second = 1\n").expect("docket.toml");
    let web = Web::on(&database, |_| {});
    let replies: Vec<Reply> = (0..12).map(|_| get(&web, &one, "/items/WEB-1")).collect();
    let limited: Vec<&Reply> = replies.iter().filter(|reply| reply.status == 429).collect();
    assert!(!limited.is_empty() && limited.len() <= 7, "{}", limited.len());
    assert_eq!(limited[0].error(429)["code"], json!("RATE_LIMITED"));
    assert!(limited[0].header("retry-after").parse::<u32>().is_ok_and(|seconds| seconds >= 1), "{:?}", limited[0]);
    assert_eq!(get(&web, &other, "/items/WEB-1").status, 200, "each has a measure of its own");
}

#[test]
fn rest_and_mcp_share_one_measure() {
    let (folder, database) = database();
    let one = key(&database, &["--profile", "viewer"]);
    std::fs::write(folder.path().join("docket.toml"), "[limits]\nburst = 6\nper_second = 1\n").expect("docket.toml");
    let web = Web::on(&database, |_| {});
    let message = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list"}).to_string();
    let headers = [("authorization", one.as_str()), ("accept", "application/json, text/event-stream")];
    let by_mcp = || web.to("POST", "/mcp", &headers, Some(message.as_bytes()));
    let by_rest = || get(&web, &one, "/items/WEB-1");
    // As many by one way as fill the measure, and the next by the other finds it full.
    let begun = Instant::now();
    let taken = (0..30).take_while(|_| by_mcp().status == 200).count();
    assert!((6..30).contains(&taken), "{taken}");
    let next = by_rest();
    if begun.elapsed() < Duration::from_millis(900) {
        assert_eq!(next.reason(429), "rate_limited");
    }
    while by_rest().status == 200 {}
    assert_eq!(by_mcp().reason(429), "rate_limited");
}

/// What only tells something is no call: whoever may make no more of them for now may still take one back. And nothing is counted that is
/// not served.
#[test]
fn what_asks_for_nothing_by_mcp_is_not_counted() {
    let (folder, database) = database();
    let one = key(&database, &["--profile", "viewer"]);
    std::fs::write(folder.path().join("docket.toml"), "[limits]\nburst = 3\nper_second = 1\n").expect("docket.toml");
    let web = Web::on(&database, |_| {});
    let headers = [("authorization", one.as_str()), ("accept", "application/json, text/event-stream")];
    let send = |message: &Value| web.to("POST", "/mcp", &headers, Some(message.to_string().as_bytes()));
    let cancel = json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1}});
    let list = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list"});
    for _ in 0..5 {
        assert_eq!(send(&cancel).status, 202);
        assert_eq!(web.to("GET", "/mcp", &headers, None).status, 405);
        assert_eq!(web.to("DELETE", "/mcp/docket", &headers, None).status, 405);
    }
    assert_eq!(web.to("GET", "/mcp", &headers, None).header("allow"), "POST");
    for _ in 0..3 {
        send(&list).with(200);
    }
    // Whoever is turned away may still take a call back.
    assert!((0..20).any(|_| send(&list).status == 429));
    assert_eq!(send(&cancel).status, 202);
    let long = json!({"jsonrpc": "2.0", "method": "notifications/x", "params": {"x": "x".repeat(5000)}});
    assert!((0..20).any(|_| send(&long).status == 429), "to read much is work");
    assert_eq!(web.to("POST", "/mcp", &headers[1..], Some(cancel.to_string().as_bytes())).status, 401);
}

#[test]
fn with_a_key_others_may_reach_the_server() {
    let (_folder, database) = database();
    let viewer = key(&database, &["--profile", "viewer"]);
    let mut web = Web::listening(&database, "0.0.0.0:0", |_| {});
    web.address.set_ip(std::net::Ipv4Addr::LOCALHOST.into());
    assert_eq!(get(&web, &viewer, "/items/WEB-1").status, 200);
    assert_eq!(web.get("/items/WEB-1").status, 401);
}

#[test]
fn many_who_read_at_once_each_get_what_they_asked_for_and_may_see() {
    let (_folder, database) = database();
    let web_only = key(&database, &["--profile", "worker", "--project", "web"]);
    let api_only = key(&database, &["--profile", "worker", "--project", "api"]);
    let web = Web::on(&database, |_| {});
    std::thread::scope(|scope| {
        for place in 0..32 {
            let (web, web_only, api_only) = (&web, &web_only, &api_only);
            scope.spawn(move || {
                for round in 0..20 {
                    let (key, own, other) =
                        if (place + round) % 2 == 0 { (web_only, "WEB", "API") } else { (api_only, "API", "WEB") };
                    let item = get(web, key, &format!("/items/{own}-1")).with(200);
                    assert_eq!(item["key"], json!(format!("{own}-1")));
                    get(web, key, &format!("/items/{other}-1")).error(404);
                    get(web, key, &format!("/items/{own}-99")).error(404);
                }
            });
        }
    });
}
