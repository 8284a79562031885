//! The transport, line by line, over streams in memory. The store behind it refuses everything: nothing here gets as
//! far as that. What a line must be answered with is shown to fail when the reader passes it over instead (rmcp's own).

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use docket_core::Engine;
use docket_core::model::{
    DegradedMode, Entry, EntryId, Event, ItemId, Name, Note, NoteId, Project, ProjectId, Run, RunId, SessionId,
};
use docket_core::store::{
    ChildTally, ClaimTally, EntryFilter, EventFilter, Families, Filter, Found, Heading, Heads, Library, Listed,
    Postings, ProjectRef, RunFilter, ScanPage, ScanTable, Scope, SessionFilter, Sketches, Slice, Store, StoreError,
    Unit, Visible, Walked,
};
use docket_mcp_server::{LINE_BYTES, Settings, serve, surface};
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, DuplexStream, Lines, ReadHalf, WriteHalf};

struct NoStore;

#[async_trait]
impl Library for NoStore {
    async fn places(&self, _: &EntryFilter, _: usize) -> Result<Vec<ProjectId>, StoreError> {
        Err(StoreError::Busy(None))
    }

    async fn postings(
        &self,
        _: &[ProjectId],
        _: &[String],
        _: &[Heading],
        _: usize,
    ) -> Result<Vec<Postings>, StoreError> {
        Err(StoreError::Busy(None))
    }

    async fn having(&self, _: &[(EntryId, String)]) -> Result<Vec<(usize, bool)>, StoreError> {
        Err(StoreError::Busy(None))
    }

    async fn having_all(
        &self,
        _: &[ProjectId],
        _: &[Vec<String>],
        _: &[Heading],
        _: usize,
        _: usize,
    ) -> Result<Vec<Walked>, StoreError> {
        Err(StoreError::Busy(None))
    }

    async fn headed(&self, _: &[ProjectId], _: &Heading, _: usize) -> Result<Walked, StoreError> {
        Err(StoreError::Busy(None))
    }

    async fn list_entries(
        &self,
        _: &[ProjectId],
        _: &[Heading],
        _: Option<EntryId>,
        _: usize,
        _: usize,
    ) -> Result<Listed, StoreError> {
        Err(StoreError::Busy(None))
    }

    async fn pending(&self, _: usize) -> Result<Vec<Entry>, StoreError> {
        Err(StoreError::Busy(None))
    }

    async fn sketches(&self, _: u64, _: u64, _: usize) -> Result<Sketches, StoreError> {
        Err(StoreError::Busy(None))
    }

    async fn vectors(&self, _: &[EntryId]) -> Result<Vec<(EntryId, Vec<f32>)>, StoreError> {
        Err(StoreError::Busy(None))
    }
}

#[async_trait]
impl Store for NoStore {
    async fn execute(&self, _: Box<dyn Unit>) -> Result<(), StoreError> {
        Err(StoreError::Busy(None))
    }

    async fn view(&self, _: &Scope) -> Result<Slice, StoreError> {
        Err(StoreError::Busy(None))
    }

    async fn find(&self, _: &Filter) -> Result<Found, StoreError> {
        Err(StoreError::Busy(None))
    }

    async fn tally_children(&self, _: &[ItemId], _: Option<u64>) -> Result<BTreeMap<ItemId, ChildTally>, StoreError> {
        Err(StoreError::Busy(None))
    }

    async fn families(&self, _: &Heads, _: usize) -> Result<Families, StoreError> {
        Err(StoreError::Busy(None))
    }

    async fn tally_claims(&self, _: &ProjectRef, _: &Visible) -> Result<ClaimTally, StoreError> {
        Err(StoreError::Busy(None))
    }

    async fn next_expiry(&self, _: &ProjectRef, _: &Visible) -> Result<Option<Duration>, StoreError> {
        Err(StoreError::Busy(None))
    }

    async fn runs(&self, _: &RunFilter) -> Result<Vec<Run>, StoreError> {
        Err(StoreError::Busy(None))
    }

    async fn run_log(&self, _: RunId, _: &Visible) -> Result<Option<String>, StoreError> {
        Err(StoreError::Busy(None))
    }

    async fn notes(&self, _: &[NoteId], _: &Visible) -> Result<Vec<Note>, StoreError> {
        Err(StoreError::Busy(None))
    }

    async fn events(&self, _: &EventFilter) -> Result<Vec<Event>, StoreError> {
        Err(StoreError::Busy(None))
    }

    async fn sessions(&self, _: &SessionFilter) -> Result<Vec<SessionId>, StoreError> {
        Err(StoreError::Busy(None))
    }

    async fn last_number(&self) -> Result<Option<u64>, StoreError> {
        Err(StoreError::Busy(None))
    }

    async fn head(&self) -> Result<u64, StoreError> {
        Err(StoreError::Busy(None))
    }

    async fn changed(&self, _: u64) -> Result<u64, StoreError> {
        Err(StoreError::Busy(None))
    }

    async fn projects(&self) -> Result<Vec<Project>, StoreError> {
        Err(StoreError::Busy(None))
    }

    async fn scan(&self, _: ScanTable, _: Option<String>) -> Result<ScanPage, StoreError> {
        Err(StoreError::Busy(None))
    }

    fn asked(&self) -> u64 {
        0
    }
}

fn settings() -> Settings {
    Settings {
        engine: Engine::new(Arc::new(NoStore)),
        project: ProjectRef::Any,
        principal: Name::parse("tester").expect("a name"),
        actor: None,
        policy: DegradedMode::default(),
        verifier: Arc::new(docket_core::proof::Unchecked),
        require_actor: false,
    }
}

/// A connection with the server at its other end.
struct Wire {
    lines: Lines<BufReader<ReadHalf<DuplexStream>>>,
    write: WriteHalf<DuplexStream>,
    server: tokio::task::JoinHandle<()>,
}

impl Wire {
    fn connect() -> Self {
        let (near, far) = tokio::io::duplex(4 * 1024 * 1024);
        let (read, write) = tokio::io::split(far);
        let surface = surface("task-orchestrator").expect("a surface");
        let server = tokio::spawn(async move { serve(settings(), surface, read, write).await.expect("a clean end") });
        let (read, write) = tokio::io::split(near);
        Self { lines: BufReader::new(read).lines(), write, server }
    }

    async fn open() -> Self {
        let mut wire = Self::connect();
        wire.begin().await;
        wire
    }

    async fn begin(&mut self) {
        let hello = json!({ "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": { "name": "t", "version": "1" } });
        self.send(&json!({ "jsonrpc": "2.0", "id": 0, "method": "initialize", "params": hello }).to_string()).await;
        assert_eq!(self.next().await["result"]["protocolVersion"], "2025-06-18");
        self.send(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#).await;
    }

    async fn send(&mut self, line: &str) {
        self.write.write_all(format!("{line}\n").as_bytes()).await.expect("written");
    }

    async fn next(&mut self) -> Value {
        let line = self.lines.next_line().await.expect("read").expect("a line");
        serde_json::from_str(&line).expect("JSON")
    }

    async fn error(&mut self, line: &str) -> (i64, Value) {
        self.send(line).await;
        let message = self.next().await;
        (message["error"]["code"].as_i64().expect("an error"), message["id"].clone())
    }

    async fn still_serves(&mut self) {
        self.send(r#"{"jsonrpc":"2.0","id":"still","method":"ping"}"#).await;
        assert_eq!(self.next().await, json!({ "jsonrpc": "2.0", "id": "still", "result": {} }));
    }
}

#[tokio::test]
async fn a_line_that_is_too_long_is_answered_and_passed_over_to_its_end() {
    let mut wire = Wire::open().await;
    let long = format!(r#"{{"jsonrpc":"2.0","id":1,"method":"ping","pad":"{}"}}"#, "x".repeat(LINE_BYTES));
    assert_eq!(wire.error(&long).await, (-32600, json!(1)), "whoever waits for it hears of it");
    wire.still_serves().await;
    let longer = "x".repeat(3 * LINE_BYTES);
    assert_eq!(wire.error(&longer).await, (-32600, Value::Null));
    wire.still_serves().await;
}

#[tokio::test]
async fn a_line_of_exactly_the_longest_length_is_read() {
    let mut wire = Wire::open().await;
    let frame = r#"{"jsonrpc":"2.0","id":7,"method":"ping","params":{"_meta":{"pad":""}}}"#;
    let pad = "x".repeat(LINE_BYTES - frame.len());
    let line = frame.replace(r#""pad":"""#, &format!(r#""pad":"{pad}""#));
    assert_eq!(line.len(), LINE_BYTES);
    wire.send(&line).await;
    assert_eq!(wire.next().await["id"], 7);
}

#[tokio::test]
async fn what_is_no_request_gets_its_error_and_the_next_line_is_served() {
    let mut wire = Wire::open().await;
    for (line, code) in [
        ("{", -32700),
        ("nonsense", -32700),
        (r#"{"jsonrpc":"2.0","id":1,"method":"\ud800"}"#, -32700),
        (r#"[{"jsonrpc":"2.0","id":1,"method":"ping"}]"#, -32600),
        ("[]", -32600),
        ("7", -32600),
        (r#"{"jsonrpc":"2.0","id":null,"method":"ping"}"#, -32600),
        (r#"{"jsonrpc":"2.0","params":{}}"#, -32600),
        (r#"{"jsonrpc":"2.0","id":1,"result":{}}"#, -32600),
        (r#"{"jsonrpc":"2.0","id":1.5,"method":"ping"}"#, -32600),
        (r#"{"jsonrpc":"2.0","id":1,"id":2,"method":"ping"}"#, -32600),
    ] {
        assert_eq!(wire.error(line).await, (code, Value::Null), "{line}");
        wire.still_serves().await;
    }
    assert_eq!(wire.error(r#"{"id":5,"method":"ping"}"#).await, (-32600, json!(5)), "no version");
    let twice = r#"{"jsonrpc":"2.0","id":6,"method":"tools/call","params":{"name":"get_context","arguments":{"limit":1,"limit":2}}}"#;
    assert_eq!(wire.error(twice).await, (-32600, json!(6)), "the same name twice");
    assert_eq!(wire.error(&"[".repeat(100_000)).await, (-32700, Value::Null));
    wire.still_serves().await;
}

#[tokio::test]
async fn two_requests_under_one_id_are_not_served_at_once() {
    let mut wire = Wire::open().await;
    let call = r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"get_context","arguments":{}}}"#;
    // In one write, so that the second is read before the first can be answered.
    wire.write.write_all(format!("{call}\n{call}\n").as_bytes()).await.expect("written");
    let answers = [wire.next().await, wire.next().await];
    assert_eq!(answers.iter().filter(|answer| answer["error"]["code"] == -32600).count(), 1, "{answers:?}");
    wire.send(call).await;
    assert!(wire.next().await["result"].is_object(), "once it is answered the id may be used again");
}

#[tokio::test]
async fn a_client_that_never_reads_is_not_read_from_for_ever() {
    let (near, far) = tokio::io::duplex(1024);
    let (read, write) = tokio::io::split(far);
    let server = tokio::spawn(serve(settings(), surface("task-orchestrator").expect("a surface"), read, write));
    let (_unread, mut write) = tokio::io::split(near);
    let hello =
        json!({ "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": { "name": "t", "version": "1" } });
    let hello = json!({ "jsonrpc": "2.0", "id": 0, "method": "initialize", "params": hello }).to_string();
    let line = |id: usize| format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"method\":\"tools/list\"}}\n");
    let flood = format!("{hello}\n{}", (1..100_000).map(line).collect::<String>());
    let sent = tokio::time::timeout(Duration::from_secs(2), write.write_all(flood.as_bytes())).await;
    assert!(sent.is_err(), "the server reads on although nobody takes its answers");
    server.abort();
}

#[tokio::test]
async fn unknown_tools_and_methods_are_protocol_errors() {
    let mut wire = Wire::open().await;
    let call = r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"no_such_tool","arguments":{}}}"#;
    assert_eq!(wire.error(call).await, (-32602, json!(1)));
    assert_eq!(wire.error(r#"{"jsonrpc":"2.0","id":2,"method":"no/such"}"#).await, (-32601, json!(2)));
    let shapeless = r#"{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":5}}"#;
    assert_eq!(wire.error(shapeless).await, (-32602, json!(3)));
    wire.still_serves().await;
}

#[tokio::test]
async fn silence_and_early_words_are_borne() {
    let mut wire = Wire::connect();
    wire.send("").await;
    wire.send("   \r").await;
    wire.send(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#).await;
    assert_eq!(wire.error("{").await, (-32700, Value::Null));
    wire.begin().await;
    wire.send(r#"{"jsonrpc":"2.0","method":"notifications/unheard-of"}"#).await;
    wire.send(r#"{"jsonrpc":"2.0","id":9,"error":{"code":1,"message":"mine"}}"#).await;
    wire.still_serves().await;
}

#[tokio::test]
async fn the_end_of_input_ends_the_server_after_the_last_answer() {
    let mut wire = Wire::open().await;
    wire.send(r#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#).await;
    wire.write.write_all(br#"{"jsonrpc":"2.0","id":2,"method":"ping"}"#).await.expect("no newline at the end");
    wire.write.shutdown().await.expect("closed");
    let mut ids = vec![wire.next().await["id"].clone(), wire.next().await["id"].clone()];
    ids.sort_by_key(Value::as_i64);
    assert_eq!(ids, [json!(1), json!(2)]);
    wire.server.await.expect("ended");
}

#[tokio::test]
async fn whoever_leaves_at_once_is_let_go() {
    let mut wire = Wire::connect();
    wire.send("garbage").await;
    wire.write.shutdown().await.expect("closed");
    assert_eq!(wire.next().await["error"]["code"], -32700);
    wire.server.await.expect("ended");
}

#[tokio::test]
async fn every_revision_is_served() {
    for asked in ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"] {
        let mut wire = Wire::connect();
        let hello =
            json!({ "protocolVersion": asked, "capabilities": {}, "clientInfo": { "name": "t", "version": "1" } });
        wire.send(&json!({ "jsonrpc": "2.0", "id": 0, "method": "initialize", "params": hello }).to_string()).await;
        let answer = wire.next().await;
        assert_eq!(answer["result"]["protocolVersion"], asked);
        assert_eq!(answer["result"]["serverInfo"]["name"], "docket");
    }
    let mut wire = Wire::connect();
    let meta = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": { "name": "t", "version": "1" },
        "io.modelcontextprotocol/clientCapabilities": {},
    });
    let list = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": { "_meta": meta } });
    wire.send(&list.to_string()).await;
    let answer = wire.next().await;
    assert_eq!(answer["result"]["tools"].as_array().map(Vec::len), Some(14), "{answer}");
    assert_eq!(answer["result"]["cacheScope"], "private");
}

#[tokio::test]
async fn a_store_that_is_away_is_a_transient_error_of_the_tool() {
    let mut wire = Wire::open().await;
    wire.send(r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"get_context","arguments":{}}}"#).await;
    let result = wire.next().await["result"].clone();
    assert_eq!(result["isError"], true);
    let error = &result["structuredContent"]["error"];
    assert_eq!((&error["kind"], &error["code"]), (&json!("transient"), &json!("DATABASE_ERROR")));
    assert_eq!(error["retryAfterMs"], 250);
}
