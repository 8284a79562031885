//! Traces of calls, as a collector gets them: real OTLP, by HTTP, from the real program.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::Command;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use docket_tests::web::{Web, command};
use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use opentelemetry_proto::tonic::common::v1::any_value::Value as Any;
use opentelemetry_proto::tonic::common::v1::{AnyValue, KeyValue};
use prost::Message as _;
use serde_json::{Value, json};

const ACCEPT: (&str, &str) = ("accept", "application/json, text/event-stream");

/// A span as the collector got it.
#[derive(Clone, Debug)]
struct Span {
    name: String,
    trace: String,
    id: String,
    parent: String,
    kind: i32,
    fields: BTreeMap<String, String>,
    /// Who sent it.
    sender: BTreeMap<String, String>,
}

impl Span {
    fn field(&self, name: &str) -> &str {
        self.fields.get(name).map_or("", String::as_str)
    }
}

/// A stand-in for a collector: takes what is posted to it, or takes nothing.
struct Collector {
    address: String,
    got: Arc<Mutex<Vec<Span>>>,
    /// The heads of what was posted.
    heads: Arc<Mutex<Vec<String>>>,
}

impl Collector {
    fn start(answers: bool) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("an address");
        let address = listener.local_addr().expect("an address").to_string();
        let (got, heads) = (Arc::<Mutex<Vec<Span>>>::default(), Arc::<Mutex<Vec<String>>>::default());
        let (taken, told) = (Arc::clone(&got), Arc::clone(&heads));
        std::thread::spawn(move || {
            let mut silent = Vec::new();
            for stream in listener.incoming().map_while(Result::ok) {
                if !answers {
                    silent.push(stream);
                    continue;
                }
                let (taken, told) = (Arc::clone(&taken), Arc::clone(&told));
                std::thread::spawn(move || {
                    let mut reader = BufReader::new(stream);
                    while let Some((head, body)) = request(&mut reader) {
                        lock(&told).push(head);
                        lock(&taken).extend(spans(&body));
                        let answer =
                            b"HTTP/1.1 200 OK\r\ncontent-type: application/x-protobuf\r\ncontent-length: 0\r\n\r\n";
                        if reader.get_mut().write_all(answer).is_err() {
                            return;
                        }
                    }
                });
            }
        });
        Self { address, got, heads }
    }

    fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// The only span of this name.
    fn only(&self, name: &str) -> Span {
        let got = lock(&self.got);
        let found: Vec<&Span> = got.iter().filter(|span| span.name == name).collect();
        assert_eq!(found.len(), 1, "{name} in {got:#?}");
        found[0].clone()
    }
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// One request: its head in lower case, and its body.
fn request(reader: &mut BufReader<TcpStream>) -> Option<(String, Vec<u8>)> {
    let mut head = String::new();
    while !head.ends_with("\r\n\r\n") {
        if reader.read_line(&mut head).ok()? == 0 {
            return None;
        }
    }
    let head = head.to_lowercase();
    let length = head.lines().find_map(|line| line.strip_prefix("content-length: "))?.trim().parse().ok()?;
    let mut body = vec![0; length];
    reader.read_exact(&mut body).ok()?;
    Some((head, body))
}

fn spans(body: &[u8]) -> Vec<Span> {
    let request = ExportTraceServiceRequest::decode(body).expect("OTLP");
    let mut all = Vec::new();
    for resource in request.resource_spans {
        let sender = fields(&resource.resource.expect("a sender").attributes);
        for span in resource.scope_spans.into_iter().flat_map(|scope| scope.spans) {
            all.push(Span {
                name: span.name,
                trace: hex(&span.trace_id),
                id: hex(&span.span_id),
                parent: hex(&span.parent_span_id),
                kind: span.kind,
                fields: fields(&span.attributes),
                sender: sender.clone(),
            });
        }
    }
    all
}

fn fields(attributes: &[KeyValue]) -> BTreeMap<String, String> {
    let text = |value: &Option<AnyValue>| match value.as_ref().and_then(|value| value.value.as_ref()) {
        Some(Any::StringValue(text)) => text.clone(),
        Some(Any::IntValue(number)) => number.to_string(),
        other => format!("{other:?}"),
    };
    attributes.iter().map(|field| (field.key.clone(), text(&field.value))).collect()
}

fn hex(bytes: &[u8]) -> String {
    use std::fmt::Write as _;
    bytes.iter().fold(String::new(), |mut text, byte| {
        _ = write!(text, "{byte:02x}");
        text
    })
}

/// Spans are sent when the server stops, and not before: what arrives was flushed.
fn late(command: &mut Command) {
    command.env("OTEL_BSP_SCHEDULE_DELAY", "600000");
}

fn stop(web: &mut Web) {
    web.signal("TERM");
    assert_eq!(web.end(Duration::from_secs(20)), Some(0), "it stops well");
}

#[test]
fn a_collector_sees_the_calls_under_the_names_that_callers_got() {
    let collector = Collector::start(true);
    let mut web = Web::start_with("", |command| {
        late(command);
        command.env("OTEL_EXPORTER_OTLP_ENDPOINT", collector.url());
        command.env("OTEL_EXPORTER_OTLP_HEADERS", "x-team=fleet").env("OTEL_SERVICE_NAME", "docket-test");
    });
    let made = web.post("/items", &json!({ "title": "Traced" }));
    made.with(201);
    let missing = web.get("/items/DEFA-999");
    assert_eq!(missing.status, 404);
    let message = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "manage_items", "arguments":
        {"operation": "create", "items": [{"title": "By MCP"}]}}});
    let parent = ("traceparent", "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01");
    let called = web.to(
        "POST",
        "/mcp/task-orchestrator",
        &[ACCEPT, parent, ("x-request-id", "mine-7")],
        Some(message.to_string().as_bytes()),
    );
    assert_eq!(called.with(200)["result"]["isError"], json!(false));
    assert!(lock(&collector.got).is_empty(), "nothing is sent before its time");
    stop(&mut web);

    let rest = collector.only("POST /api/v1/items");
    assert_eq!(rest.field("docket.request.id"), made.header("x-request-id"));
    assert_eq!((rest.field("docket.outcome"), rest.field("http.response.status_code")), ("ok", "201"), "{rest:?}");
    assert_eq!((rest.kind, rest.parent.as_str()), (2, ""), "a server's, and the first of its trace: {rest:?}");
    assert_eq!(rest.sender.get("service.name").map(String::as_str), Some("docket-test"), "{rest:?}");
    let refused = collector.only("GET /api/v1/items/{id}");
    assert_eq!(refused.field("docket.request.id"), missing.header("x-request-id"));
    assert_eq!((refused.field("docket.outcome"), refused.field("http.route")), ("permanent", "/api/v1/items/{id}"));

    let over_http = collector.only("POST /mcp/{surface}");
    assert_eq!(over_http.field("docket.request.id"), "mine-7");
    assert_eq!(called.header("x-request-id"), "mine-7");
    assert_eq!(
        (over_http.trace.as_str(), over_http.parent.as_str()),
        (&parent.1[3..35], &parent.1[36..52]),
        "the caller's own trace"
    );
    let tool = collector.only("tools/call manage_items");
    assert_eq!((&tool.trace, &tool.parent), (&over_http.trace, &over_http.id), "{tool:?}");
    assert_eq!((tool.field("docket.surface"), tool.field("docket.outcome")), ("task-orchestrator", "ok"), "{tool:?}");

    // The units of work stand beneath the calls that asked for them.
    let got = lock(&collector.got).clone();
    let units: Vec<&Span> = got.iter().filter(|span| !span.field("docket.operation").is_empty()).collect();
    let of = |call: &Span| {
        units.iter().filter(|unit| unit.parent == call.id && unit.field("docket.outcome") == "ok").count()
    };
    assert_eq!((of(&rest), of(&tool)), (1, 1), "{units:#?}");
    let head = lock(&collector.heads)[0].clone();
    assert!(head.starts_with("post /v1/traces ") && head.contains("x-team: fleet"), "{head}");
    assert!(!format!("{got:?}").contains("Traced"), "what callers write is not in traces");
}

#[test]
fn the_file_says_where_traces_go_and_the_environment_that_they_do_not() {
    let collector = Collector::start(true);
    let toml = format!("[telemetry]\nendpoint = \"{}\"\nservice_name = \"from-file\"\n", collector.url());
    let mut off = Web::start_with(&toml, |command| {
        command.env("OTEL_SDK_DISABLED", "true");
    });
    off.get("/items").with(200);
    stop(&mut off);
    assert!(lock(&collector.got).is_empty());
    let mut on = Web::start_with(&toml, late);
    on.get("/items").with(200);
    stop(&mut on);
    assert_eq!(collector.only("GET /api/v1/items").sender.get("service.name").map(String::as_str), Some("from-file"));
}

#[test]
fn a_collector_that_is_away_or_silent_harms_no_call_and_is_told_of_once() {
    let closed = TcpListener::bind("127.0.0.1:0").expect("an address").local_addr().expect("an address");
    let silent = Collector::start(false);
    for url in [format!("http://{closed}"), silent.url()] {
        let folder = tempfile::tempdir().expect("a folder");
        let told = folder.path().join("told");
        let mut web = Web::on(&folder.path().join("work.db"), |command| {
            command.env("OTEL_EXPORTER_OTLP_ENDPOINT", &url).env("OTEL_BSP_SCHEDULE_DELAY", "50");
            // Far fewer than the calls below make: the rest has no place to wait.
            command.env("OTEL_BSP_MAX_QUEUE_SIZE", "16").env("OTEL_BSP_MAX_EXPORT_BATCH_SIZE", "8");
            command.stderr(std::fs::File::create(&told).expect("a file"));
        });
        let begun = Instant::now();
        for number in 0..200 {
            web.item(&format!("Item {number}"));
        }
        assert!(begun.elapsed() < Duration::from_secs(30), "{url}: {:?}", begun.elapsed());
        // Long enough for a silent one to be given up.
        std::thread::sleep(Duration::from_secs(6));
        web.item("After");
        stop(&mut web);
        let told = std::fs::read_to_string(&told).expect("what it said");
        assert_eq!(told.matches("the collector of traces does not take them").count(), 1, "{url}: {told}");
    }
}

#[test]
fn what_a_call_logs_bears_the_name_of_its_request_whether_traces_are_collected_or_not() {
    let collector = Collector::start(true);
    for endpoint in [String::new(), collector.url()] {
        let folder = tempfile::tempdir().expect("a folder");
        let (database, told) = (folder.path().join("work.db"), folder.path().join("told"));
        let out = command(&database).args(["--json", "init"]).output().expect("it runs");
        assert!(out.status.success(), "{out:?}");
        let out =
            command(&database).args(["--json", "key", "create", "--profile", "viewer"]).output().expect("it runs");
        let made: Value = serde_json::from_slice(&out.stdout).expect("JSON");
        let key = format!("Bearer {}", made["secret"].as_str().expect("a secret"));
        std::fs::write(folder.path().join("docket.toml"), "[log]\nlevel = 'info'\nformat = 'json'\n").expect("a file");
        let mut web = Web::on(&database, |command| {
            command.env("OTEL_EXPORTER_OTLP_ENDPOINT", &endpoint);
            command.stderr(std::fs::File::create(&told).expect("a file"));
        });
        let message = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "manage_items", "arguments":
            {"operation": "create", "items": [{"title": "Not allowed"}]}}});
        let headers = [ACCEPT, ("authorization", &key), ("x-request-id", "mine-8")];
        let refused =
            web.to("POST", "/mcp/task-orchestrator", &headers, Some(message.to_string().as_bytes())).with(200);
        assert_eq!(refused["result"]["isError"], json!(true), "{refused}");
        stop(&mut web);
        let told = std::fs::read_to_string(&told).expect("what it said");
        let lines: Vec<Value> = told.lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
        let denied: Vec<&Value> = lines.iter().filter(|line| line["message"] == "denied").collect();
        assert!(denied.len() == 1 && denied[0]["span"]["id"] == "mine-8", "{told}");
    }
    assert_eq!(collector.only("tools/call manage_items").field("docket.outcome"), "permanent");
}

#[test]
fn where_traces_cannot_be_sent_the_server_does_not_start() {
    let folder = tempfile::tempdir().expect("a folder");
    for (name, value, said) in [
        ("OTEL_EXPORTER_OTLP_ENDPOINT", "collector:4317", "OTEL_EXPORTER_OTLP_ENDPOINT must be an address"),
        (
            "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT",
            "ftp://collector",
            "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT must be an address",
        ),
        ("OTEL_EXPORTER_OTLP_PROTOCOL", "grpc", "http/protobuf"),
    ] {
        let mut serve = command(&folder.path().join("work.db"));
        serve.args(["serve", "--listen", "127.0.0.1:0"]).env(name, value);
        if name.ends_with("PROTOCOL") {
            serve.env("OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:4318");
        }
        let out = serve.output().expect("it runs");
        let told = String::from_utf8_lossy(&out.stderr).into_owned();
        assert!(out.status.code() == Some(3) && told.contains(said), "{value}: {:?} {told}", out.status.code());
    }
    assert!(!folder.path().join("work.db").exists(), "nothing is made");
}
