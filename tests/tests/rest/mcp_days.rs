//! Calls of MCP over HTTP on days when the server is told to stop or has much to do: what waits is told that there is nothing yet, what
//! works is let end, and neither takes more places than a request of REST would.

use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::time::{Duration, Instant};

use docket_tests::postgres::Database;
use docket_tests::web::{Reply, Web, parse, request};
use serde_json::{Value, json};

/// How long a write takes that is slow.
const SLOW: Duration = Duration::from_secs(4);
/// How soon somebody is answered who need not wait.
const SOON: Duration = Duration::from_secs(2);

/// A call that was sent, and whose answer is read later.
struct Begun(TcpStream);

impl Begun {
    fn call(web: &Web, surface: &str, tool: &str, arguments: &Value) -> Self {
        let params = json!({ "name": tool, "arguments": arguments });
        Self::send(web, surface, &[], &json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params }))
    }

    fn send(web: &Web, surface: &str, headers: &[(&str, &str)], message: &Value) -> Self {
        let own = [("connection", "close"), ("accept", "application/json, text/event-stream")];
        let headers: Vec<(&str, &str)> = own.iter().chain(headers).copied().collect();
        let path = format!("/mcp/{surface}");
        let mut stream = web.connect();
        let bytes = request(web.address, "POST", &path, &headers, Some(message.to_string().as_bytes()));
        stream.write_all(&bytes).expect("sent");
        Self(stream)
    }

    fn reply(mut self) -> Reply {
        let mut answer = Vec::new();
        self.0.read_to_end(&mut answer).expect("an answer");
        parse(&answer)
    }

    /// What the tool said.
    fn said(self) -> Value {
        let answer = self.reply().with(200);
        assert!(answer["error"].is_null(), "{answer}");
        answer["result"]["structuredContent"].clone()
    }
}

/// A server on Postgres whose writes are slow from now on.
fn slow(toml: &str) -> (Web, Database, tempfile::TempDir) {
    let (database, folder) = (Database::new(), tempfile::tempdir().expect("a folder"));
    std::fs::write(folder.path().join("docket.toml"), toml).expect("docket.toml");
    let web = Web::serving(&database.url(), folder.path(), |_| {});
    web.item("Before it was slow");
    database.run(&format!(
        "CREATE FUNCTION slow() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN PERFORM pg_sleep({}); RETURN NEW; END $$; \
         CREATE TRIGGER slow BEFORE INSERT ON events FOR EACH ROW EXECUTE FUNCTION slow()",
        SLOW.as_secs()
    ));
    (web, database, folder)
}

fn create(web: &Web, title: &str) -> Begun {
    let arguments = json!({ "operation": "create", "items": [{ "title": title }] });
    Begun::call(web, "task-orchestrator", "manage_items", &arguments)
}

#[test]
fn whoever_waits_when_the_server_stops_is_told_that_there_is_nothing_yet() {
    let mut web = Web::start();
    let item = web.item("Watched");
    let watched = Begun::call(&web, "docket", "wait", &json!({ "id": item, "timeoutMs": 50_000 }));
    let actor = json!({ "id": "w", "kind": "subagent" });
    let work = json!({ "phase": "start", "tags": ["none"], "waitMs": 50_000, "actor": actor });
    let offered = Begun::call(&web, "docket", "work", &work);
    let claims = json!({ "claims": [{ "selector": { "tags": "none", "waitMs": 50_000 } }], "actor": actor,
        "requestId": "0199f3a2-7c1e-7d3b-8f00-2a4b5c6d7e01" });
    let claimed = Begun::call(&web, "task-orchestrator", "claim_item", &claims);
    let meta = json!({ "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": { "name": "test", "version": "1" },
        "io.modelcontextprotocol/clientCapabilities": {} });
    let params = json!({ "notifications": { "resourceSubscriptions": ["board://default"] }, "_meta": meta });
    let listen = json!({ "jsonrpc": "2.0", "id": 7, "method": "subscriptions/listen", "params": params });
    let headers = [("mcp-protocol-version", "2026-07-28"), ("mcp-method", "subscriptions/listen")];
    let listened = Begun::send(&web, "docket", &headers, &listen);
    std::thread::sleep(Duration::from_millis(700));
    let begun = Instant::now();
    web.signal("TERM");
    let told = watched.said();
    assert_eq!(told["trusted"]["code"], json!("WAIT_INTERRUPTED"), "{told}");
    assert!(told["trusted"]["cursor"].is_string(), "{told}");
    let told = offered.said();
    assert_eq!(told["trusted"]["outcome"], json!("none_eligible"), "{told}");
    let told = claimed.said();
    assert_eq!(told["claimResults"][0]["outcome"], json!("none_eligible"), "{told}");
    let stream = listened.reply();
    assert_eq!(stream.header("content-type"), "text/event-stream");
    assert!(begun.elapsed() < SOON, "they waited for {:?}", begun.elapsed());
    assert_eq!(web.end(SOON), Some(0));
}

#[test]
fn a_call_that_is_at_work_when_the_server_stops_is_let_end() {
    let (mut web, database, _folder) = slow("");
    let made = create(&web, "Slowly");
    std::thread::sleep(Duration::from_millis(500));
    web.signal("TERM");
    assert_eq!(made.said()["items"][0]["title"], json!("Slowly"));
    assert_eq!(web.end(SOON), Some(0));
    assert_eq!(database.ask("SELECT count(*)::text FROM items"), "2");
}

/// What is not answered within the time for it is cut off, and told in words that a program can act on.
#[test]
fn what_takes_longer_than_the_drain_is_cut_off_then_and_not_before() {
    let (mut web, _database, _folder) = slow("[server]\ndrain_seconds = 1\n");
    let made = create(&web, "Too slowly");
    std::thread::sleep(Duration::from_millis(500));
    let begun = Instant::now();
    web.signal("TERM");
    let reply = made.reply();
    let took = begun.elapsed();
    assert!(took >= Duration::from_millis(900) && took + Duration::from_secs(1) < SLOW, "{took:?}");
    assert_eq!(reply.error(503)["kind"], json!("transient"));
    assert_eq!(web.end(SLOW + SOON), Some(0));
}

/// The database of a file has nothing to wait for when it is closed. Whoever is cut off is told all the same, each of many.
#[test]
fn everybody_who_is_cut_off_is_told_so_before_the_process_ends() {
    // An embedder that takes every question and answers none: whoever searches waits for it for a second.
    let embedder = TcpListener::bind("127.0.0.1:0").expect("an address");
    let toml = format!(
        "[server]\ndrain_seconds = 1\n[embedder]\nendpoint = \"http://{}/v1\"\nmodel = \"m\"\n",
        embedder.local_addr().expect("an address")
    );
    // On one thread they are told one after the other, while the process is about to end.
    let mut web = Web::start_with(&toml, |command| _ = command.env("TOKIO_WORKER_THREADS", "1"));
    let params = json!({ "name": "kb", "arguments": { "action": "search", "query": "anything" } });
    let search = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params }).to_string();
    let headers = [("connection", "close"), ("accept", "application/json, text/event-stream")];
    let bytes = request(web.address, "POST", "/mcp/foresttasks", &headers, Some(search.as_bytes()));
    let (most, rest) = bytes.split_at(bytes.len() - 10);
    let begun: Vec<TcpStream> = (0..200)
        .map(|_| {
            let mut stream = web.connect();
            stream.write_all(most).expect("sent");
            stream
        })
        .collect();
    std::thread::sleep(Duration::from_millis(300));
    web.signal("TERM");
    // They begin so late that they are still at it when the time is over.
    std::thread::sleep(Duration::from_millis(600));
    let asked: Vec<Begun> = begun
        .into_iter()
        .map(|mut stream| {
            stream.write_all(rest).expect("sent");
            Begun(stream)
        })
        .collect();
    let sent = Instant::now();
    for one in asked {
        let error = one.reply().error(503);
        assert_eq!((&error["kind"], &error["retryAfterMs"]), (&json!("transient"), &json!(1000)), "{error}");
    }
    assert!(sent.elapsed() < Duration::from_millis(900), "{:?}", sent.elapsed());
    assert_eq!(web.end(SOON), Some(0));
}

/// What a header says of a call moves it nowhere: a call at work has its place among those that work.
#[test]
fn a_call_that_says_it_listens_and_works_keeps_its_place() {
    let (web, _database, _folder) = slow("[server]\nin_flight = 1\n");
    let create = json!({ "operation": "create", "items": [{ "title": "Slowly" }] });
    let params = json!({ "name": "manage_items", "arguments": create });
    let call = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params });
    let made = Begun::send(&web, "task-orchestrator", &[("mcp-method", "subscriptions/listen")], &call);
    std::thread::sleep(Duration::from_millis(500));
    assert_eq!(web.get("/items").error(503)["kind"], json!("shedding"));
    assert_eq!(made.said()["items"][0]["title"], json!("Slowly"));
    web.get("/items").with(200);
}

#[test]
fn a_call_at_work_has_a_place_among_those_that_work_and_one_that_waits_leaves_it() {
    let (web, _database, _folder) = slow("[server]\nin_flight = 1\nwaiters = 1\n");
    let wait = json!({ "id": "DEFA-1", "timeoutMs": 20_000 });
    // Whoever waits keeps nobody from working.
    let waiting = Begun::call(&web, "docket", "wait", &wait);
    std::thread::sleep(Duration::from_millis(500));
    web.get("/items").with(200);
    // As many wait as may; whoever comes then is told so, and does not work in their place.
    let full = web.tool("docket", &[], "wait", &wait);
    assert!(full.is_error, "{}", full.content);
    assert_eq!(full.content["error"]["kind"], json!("shedding"), "{}", full.content);
    web.get("/items").with(200);
    // Whoever works does.
    let made = create(&web, "Slowly");
    std::thread::sleep(Duration::from_millis(500));
    let begun = Instant::now();
    assert_eq!(web.get("/items").error(503)["kind"], json!("shedding"));
    let metrics = String::from_utf8(web.to("GET", "/metrics", &[], None).body).expect("text");
    for line in ["docket_http_requests_in_flight 1", "docket_http_waiters 1"] {
        assert!(metrics.lines().any(|found| found == line), "no {line} in\n{metrics}");
    }
    assert!(begun.elapsed() < SOON, "{:?}", begun.elapsed());
    assert_eq!(made.said()["items"][0]["title"], json!("Slowly"));
    drop(waiting);
}
