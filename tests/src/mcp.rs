//! A small MCP client for the real program on stdio. Calls may be made from many threads; a killed server answers them
//! all with [`Gone`].

use std::collections::HashMap;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::{Value, json};

use crate::program::docket;

/// How long an answer may take before the test gives up.
const PATIENCE: Duration = Duration::from_mins(1);

/// The tools that a test speaks to where it names no others: most tests of the engine are older than the native surface.
pub const SURFACE: &str = "task-orchestrator";

/// The server ended before it answered.
#[derive(Debug)]
pub struct Gone;

/// What a tool answered.
#[derive(Clone, Debug)]
pub struct Answer {
    /// Whether the tool says that it failed.
    pub is_error: bool,
    /// The structured content; the text is the same JSON, or of a failure its code and message in a line. That is checked
    /// here once for all tests.
    pub content: Value,
}

impl Answer {
    /// What a message says that answers the call of a tool.
    pub fn read(tool: &str, message: &Value) -> Self {
        let result = &message["result"];
        assert!(result.is_object(), "{tool} was answered with a protocol error: {message}");
        let content = result["structuredContent"].clone();
        let text = result["content"][0]["text"].as_str().unwrap_or_default();
        let is_error = result["isError"] == json!(true);
        // Some surfaces tell failures in a line.
        let error = &content["error"];
        let line = format!("{}: {}", error["code"].as_str().unwrap_or("?"), error["message"].as_str().unwrap_or("?"));
        let same = serde_json::from_str::<Value>(text).is_ok_and(|text| text == content) || (is_error && text == line);
        assert!(same, "{tool}: text and structured content differ: {result}");
        Self { is_error, content }
    }

    /// The content of an answer that must be good.
    pub fn ok(self) -> Value {
        assert!(!self.is_error, "the tool failed: {}", self.content);
        self.content
    }

    /// The `error` of an answer that must be bad.
    pub fn err(self) -> Value {
        assert!(self.is_error, "the tool did not fail: {}", self.content);
        self.content["error"].clone()
    }
}

type Waiting = Arc<Mutex<HashMap<u64, Sender<Value>>>>;

/// A running `docket mcp`.
#[derive(Debug)]
pub struct Server {
    child: Mutex<Child>,
    input: Mutex<Option<ChildStdin>>,
    waiting: Waiting,
    next: AtomicU64,
    unasked: Mutex<Receiver<Value>>,
    /// What the server said of itself when the session began.
    pub hello: Value,
}

impl Server {
    /// Starts a server on a database file and begins a session.
    pub fn start(database: &Path) -> Self {
        Self::start_with(database, &[], |_| {})
    }

    /// The same with more arguments for `mcp` and a changed command.
    pub fn start_with(database: &Path, arguments: &[&str], change: impl FnOnce(&mut Command)) -> Self {
        Self::try_start(database, arguments, change).unwrap_or_else(|Gone| panic!("the server ended at once"))
    }

    /// The same for a server that may end before the session has begun.
    pub fn try_start(database: &Path, arguments: &[&str], change: impl FnOnce(&mut Command)) -> Result<Self, Gone> {
        let folder = database.parent().unwrap_or(Path::new("/"));
        Self::try_start_on(&format!("sqlite:{}", database.display()), folder, arguments, change)
    }

    /// The same on what `--db` names, in a working folder.
    pub fn try_start_on(
        database: &str,
        folder: &Path,
        arguments: &[&str],
        change: impl FnOnce(&mut Command),
    ) -> Result<Self, Gone> {
        let hello = json!({ "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": { "name": "tests", "version": "1" } });
        let mut server = Self::spawn(database, folder, arguments, change);
        server.hello = server.request("initialize", hello)?["result"].clone();
        server.send(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }))?;
        Ok(server)
    }

    /// A server that begins a session as a client that can do this.
    pub fn start_as(database: &Path, arguments: &[&str], capabilities: Value) -> Self {
        let mut server = Self::start_without_hello(database, arguments);
        let hello = json!({ "protocolVersion": "2025-11-25", "capabilities": capabilities, "clientInfo": { "name": "tests", "version": "1" } });
        let greeted = server.request("initialize", hello).unwrap_or_else(|Gone| panic!("the server ended at once"));
        server.hello = greeted["result"].clone();
        let ready = server.send(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }));
        assert!(ready.is_ok(), "the server is gone");
        server
    }

    /// A server that nobody has spoken to yet.
    pub fn start_without_hello(database: &Path, arguments: &[&str]) -> Self {
        let folder = database.parent().unwrap_or(Path::new("/"));
        Self::spawn(&format!("sqlite:{}", database.display()), folder, arguments, |_| {})
    }

    fn spawn(database: &str, folder: &Path, arguments: &[&str], change: impl FnOnce(&mut Command)) -> Self {
        let mut command = Command::new(docket());
        command.arg("--db").arg(database).arg("mcp").args(arguments);
        if !arguments.contains(&"--surface") {
            command.args(["--surface", SURFACE]);
        }
        // Found by walking up, a developer's own configuration would change what is tested.
        command.current_dir(folder);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::inherit());
        change(&mut command);
        let mut child =
            command.spawn().unwrap_or_else(|error| panic!("{} does not start: {error}", docket().display()));
        let (Some(input), Some(output)) = (child.stdin.take(), child.stdout.take()) else { panic!("no pipes") };
        let waiting = Waiting::default();
        let answers = Arc::clone(&waiting);
        let (unheard, unasked) = channel();
        std::thread::spawn(move || {
            for line in BufReader::new(output).lines().map_while(Result::ok) {
                let message: Value =
                    serde_json::from_str(&line).unwrap_or_else(|_| panic!("not protocol on stdout: {line}"));
                // What the server says by itself: notifications, and questions with ids of their own.
                if message["method"].is_string() {
                    let _ = unheard.send(message);
                    continue;
                }
                let waiter = message["id"].as_u64().and_then(|id| lock(&answers).remove(&id));
                if let Some(waiter) = waiter {
                    let _ = waiter.send(message);
                }
            }
            // Dropping the senders tells everybody who waits that there is nobody left to answer.
            lock(&answers).clear();
        });
        Self {
            child: Mutex::new(child),
            input: Mutex::new(Some(input)),
            waiting,
            next: AtomicU64::new(1),
            unasked: Mutex::new(unasked),
            hello: Value::Null,
        }
    }

    /// The next thing that the server says by itself, if it says anything in this time.
    pub fn hear(&self, within: Duration) -> Option<Value> {
        lock(&self.unasked).recv_timeout(within).ok()
    }

    /// Answers a question of the server.
    pub fn reply(&self, question: &Value, result: Value) {
        let sent = self.send(&json!({ "jsonrpc": "2.0", "id": question["id"], "result": result }));
        assert!(sent.is_ok(), "the server is gone");
    }

    /// Sends a request whose answer comes later.
    pub fn ask(&self, method: &str, params: Value) -> (u64, Receiver<Value>) {
        let id = self.next.fetch_add(1, Ordering::Relaxed);
        let (waiter, answer) = channel();
        lock(&self.waiting).insert(id, waiter);
        let sent = self.send(&json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }));
        assert!(sent.is_ok(), "the server is gone");
        (id, answer)
    }

    /// Sends a notification.
    pub fn notify(&self, method: &str, params: Value) {
        let sent = self.send(&json!({ "jsonrpc": "2.0", "method": method, "params": params }));
        assert!(sent.is_ok(), "the server is gone");
    }

    /// Closes the server's input; says how it ended, if it does in this time.
    pub fn hang_up(self, within: Duration) -> Option<std::process::ExitStatus> {
        let begun = std::time::Instant::now();
        drop(lock(&self.input).take());
        while begun.elapsed() < within {
            if let Ok(Some(status)) = lock(&self.child).try_wait() {
                return Some(status);
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        None
    }

    /// Calls a tool.
    pub fn call(&self, tool: &str, arguments: Value) -> Result<Answer, Gone> {
        let message = self.request("tools/call", json!({ "name": tool, "arguments": arguments }))?;
        Ok(Answer::read(tool, &message))
    }

    /// Calls a tool that must answer well.
    pub fn ok(&self, tool: &str, arguments: Value) -> Value {
        self.call(tool, arguments).unwrap_or_else(|Gone| panic!("the server is gone")).ok()
    }

    /// Calls a tool that must fail; returns its `error`.
    pub fn err(&self, tool: &str, arguments: Value) -> Value {
        self.call(tool, arguments).unwrap_or_else(|Gone| panic!("the server is gone")).err()
    }

    /// Sends a request and returns the whole message that answers it.
    pub fn request(&self, method: &str, params: Value) -> Result<Value, Gone> {
        let id = self.next.fetch_add(1, Ordering::Relaxed);
        let (waiter, answer) = channel();
        lock(&self.waiting).insert(id, waiter);
        self.send(&json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }))?;
        if self.ended() {
            return Err(Gone);
        }
        match answer.recv_timeout(PATIENCE) {
            Ok(message) => Ok(message),
            Err(std::sync::mpsc::RecvTimeoutError::Disconnected) => Err(Gone),
            Err(std::sync::mpsc::RecvTimeoutError::Timeout) => panic!("{method} was not answered in {PATIENCE:?}"),
        }
    }

    /// Sends one line as it is.
    pub fn send_line(&self, line: &str) -> Result<(), Gone> {
        let mut input = lock(&self.input);
        let input = input.as_mut().ok_or(Gone)?;
        input
            .write_all(line.as_bytes())
            .and_then(|()| input.write_all(b"\n"))
            .and_then(|()| input.flush())
            .map_err(|_| Gone)
    }

    /// Ends the server the hard way.
    pub fn kill(&self) {
        let mut child = lock(&self.child);
        let _ = child.kill();
        let _ = child.wait();
    }

    /// The server's process.
    pub fn pid(&self) -> u32 {
        lock(&self.child).id()
    }

    /// Whether the process has ended.
    pub fn ended(&self) -> bool {
        lock(&self.child).try_wait().is_ok_and(|status| status.is_some())
    }

    fn send(&self, message: &Value) -> Result<(), Gone> {
        self.send_line(&message.to_string())
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.kill();
    }
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}
