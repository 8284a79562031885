//! The real program as a server over HTTP, and a small client that shows every byte.

mod stream;

use std::fmt::Write as _;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::mcp::Answer;
use crate::program::docket;

pub use stream::{Sent, Stream};

/// How long an answer may take before the test gives up.
const PATIENCE: Duration = Duration::from_mins(1);

/// A running `docket serve`.
#[derive(Debug)]
pub struct Web {
    child: Child,
    /// Where it listens.
    pub address: SocketAddr,
    /// Its database, where that is a file.
    pub database: PathBuf,
    /// Its database, as `--db` names it, and the folder that it was started in.
    place: (String, PathBuf),
    folder: Option<tempfile::TempDir>,
}

/// What was answered.
#[derive(Clone, Debug)]
pub struct Reply {
    /// The status.
    pub status: u16,
    /// The headers, names in lower case.
    pub headers: Vec<(String, String)>,
    /// The body.
    pub body: Vec<u8>,
}

impl Reply {
    /// A header's value; empty when it is not there.
    pub fn header(&self, name: &str) -> &str {
        self.headers.iter().find(|(known, _)| known == name).map_or("", |(_, value)| value.as_str())
    }

    /// Whether nothing of the body is missing.
    pub fn is_whole(&self) -> bool {
        let length = self.header("content-length");
        length.is_empty() || length.parse() == Ok(self.body.len())
    }

    /// The body as JSON.
    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.body)
            .unwrap_or_else(|error| panic!("{error}: {}", String::from_utf8_lossy(&self.body)))
    }

    /// The body of an answer that must have this status.
    pub fn with(&self, status: u16) -> Value {
        assert_eq!(self.status, status, "{}", String::from_utf8_lossy(&self.body));
        if self.body.is_empty() { Value::Null } else { self.json() }
    }

    /// The error of an answer that must have this status; the envelope is checked here once for all tests.
    pub fn error(&self, status: u16) -> Value {
        let whole = self.with(status);
        let error = whole["error"].clone();
        assert_eq!(whole.as_object().map(serde_json::Map::len), Some(1), "{whole}");
        for field in ["kind", "code", "reason", "message", "requestId"] {
            assert!(error[field].is_string(), "no {field} in {whole}");
        }
        assert_eq!(error["requestId"], self.header("x-request-id"), "{whole}");
        assert!(error["message"].as_str().is_some_and(|message| message.chars().count() < 1000), "{whole}");
        error
    }

    /// The reason of an error that must have this status.
    pub fn reason(&self, status: u16) -> String {
        self.error(status)["reason"].as_str().unwrap_or_default().to_owned()
    }
}

/// Makes the first project of a new database with the workflow that most tests know. What is wrong with the database or its
/// configuration is for the server under test to say.
fn make_project(mut command: Command) {
    command.args(["mcp", "--surface", crate::mcp::SURFACE]);
    let made = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).status();
    assert!(made.is_ok(), "the program does not start");
}

impl Web {
    /// A server on a new database.
    pub fn start() -> Self {
        Self::start_with("", |_| {})
    }

    /// The same with a `docket.toml` and a changed command.
    pub fn start_with(toml: &str, change: impl FnOnce(&mut Command)) -> Self {
        let folder = tempfile::tempdir().unwrap_or_else(|error| panic!("no folder: {error}"));
        if !toml.is_empty() {
            std::fs::write(folder.path().join("docket.toml"), toml)
                .unwrap_or_else(|error| panic!("docket.toml: {error}"));
        }
        let mut web = Self::on(&folder.path().join("work.db"), change);
        web.folder = Some(folder);
        web
    }

    /// A server on a database that others may use too.
    pub fn on(database: &Path, change: impl FnOnce(&mut Command)) -> Self {
        Self::listening(database, "127.0.0.1:0", change)
    }

    /// The same, at an address.
    pub fn listening(database: &Path, address: &str, change: impl FnOnce(&mut Command)) -> Self {
        if !database.exists() {
            make_project(command(database));
        }
        let mut command = command(database);
        command.args(["--json", "serve", "--listen", address]);
        change(&mut command);
        let mut web = Self::started(&mut command);
        database.clone_into(&mut web.database);
        web.place = place_of(database);
        web
    }

    /// A server that makes its database itself, with its first project.
    pub fn first(database: &Path, arguments: &[&str]) -> Self {
        let mut command = command(database);
        command.args(["--json", "serve", "--listen", "127.0.0.1:0"]).args(arguments);
        Self::started(&mut command)
    }

    /// A server on what `--db` names, which may be a Postgres server, in a folder that others may use too.
    pub fn serving(word: &str, folder: &Path, change: impl FnOnce(&mut Command)) -> Self {
        if !word.strip_prefix("sqlite:").is_some_and(|path| Path::new(path).exists()) {
            make_project(command_on(word, folder));
        }
        let mut command = command_on(word, folder);
        command.args(["--json", "serve", "--listen", "127.0.0.1:0"]);
        change(&mut command);
        let mut web = Self::started(&mut command);
        web.place = (word.to_owned(), folder.to_owned());
        web
    }

    fn started(command: &mut Command) -> Self {
        command.stdin(Stdio::null()).stdout(Stdio::piped());
        let mut child = command.spawn().unwrap_or_else(|error| panic!("it does not start: {error}"));
        let mut line = String::new();
        let output = child.stdout.take().unwrap_or_else(|| panic!("no pipe"));
        BufReader::new(output).read_line(&mut line).unwrap_or_else(|error| panic!("no line: {error}"));
        let told: Value = serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error}: {line}"));
        let url = told["url"].as_str().unwrap_or_default();
        let address = url.trim_start_matches("http://").parse();
        let address = address.unwrap_or_else(|error| panic!("{error}: {line}"));
        Self { child, address, database: PathBuf::new(), place: Default::default(), folder: None }
    }

    /// The process.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Sends a signal by name, such as `TERM`.
    pub fn signal(&self, name: &str) {
        let sent = Command::new("kill").arg(format!("-{name}")).arg(self.child.id().to_string()).status();
        assert!(sent.is_ok_and(|status| status.success()), "no signal");
    }

    /// Waits for the end of the process; says with which code.
    pub fn end(&mut self, within: Duration) -> Option<i32> {
        let begun = Instant::now();
        while begun.elapsed() < within {
            if let Ok(Some(status)) = self.child.try_wait() {
                return status.code();
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        None
    }

    /// A connection, for tests that write bytes themselves.
    pub fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect(self.address).unwrap_or_else(|error| panic!("no connection: {error}"));
        stream.set_read_timeout(Some(PATIENCE)).unwrap_or_else(|error| panic!("{error}"));
        stream.set_nodelay(true).unwrap_or_else(|error| panic!("{error}"));
        stream
    }

    /// Sends these bytes and reads everything that comes until the server closes.
    pub fn raw(&self, bytes: &[u8]) -> Vec<u8> {
        let mut stream = self.connect();
        // The server may have closed before it has read all.
        let _ = stream.write_all(bytes);
        let mut answer = Vec::new();
        let _ = stream.read_to_end(&mut answer);
        answer
    }

    /// A request to `/api/v1`, with more headers and a body.
    pub fn send(&self, method: &str, path: &str, headers: &[(&str, &str)], body: Option<&[u8]>) -> Reply {
        self.to(method, &format!("/api/v1{path}"), headers, body)
    }

    /// A request to any address.
    pub fn to(&self, method: &str, path: &str, headers: &[(&str, &str)], body: Option<&[u8]>) -> Reply {
        let headers: Vec<(&str, &str)> = [("connection", "close")].iter().chain(headers).copied().collect();
        parse(&self.raw(&request(self.address, method, path, &headers, body)))
    }

    /// Waits until the server says so of whether it is ready: what it said last counts for a moment.
    pub fn readyz_says(&self, status: u16) {
        let begun = Instant::now();
        loop {
            let said = self.to("GET", "/readyz", &[], None).status;
            if said == status {
                return;
            }
            assert!(begun.elapsed() < Duration::from_secs(1), "/readyz says {said}, not {status}");
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// Reads a resource.
    pub fn get(&self, path: &str) -> Reply {
        self.send("GET", path, &[], None)
    }

    /// Sends JSON.
    pub fn json(&self, method: &str, path: &str, body: &Value) -> Reply {
        self.send(method, path, &[], Some(body.to_string().as_bytes()))
    }

    /// Posts JSON.
    pub fn post(&self, path: &str, body: &Value) -> Reply {
        self.json("POST", path, body)
    }

    /// Removes a resource.
    pub fn delete(&self, path: &str) -> Reply {
        self.send("DELETE", path, &[], None)
    }

    /// Calls a tool of a surface over MCP.
    pub fn tool(&self, surface: &str, headers: &[(&str, &str)], tool: &str, arguments: &Value) -> Answer {
        let call = serde_json::json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call",
            "params": { "name": tool, "arguments": arguments } });
        let accept = ("accept", "application/json, text/event-stream");
        let headers: Vec<(&str, &str)> = headers.iter().copied().chain([accept]).collect();
        let reply = self.to("POST", &format!("/mcp/{surface}"), &headers, Some(call.to_string().as_bytes()));
        Answer::read(tool, &reply.with(200))
    }

    /// Makes an item; returns its key.
    pub fn item(&self, title: &str) -> String {
        let made = self.post("/items", &serde_json::json!({ "title": title })).with(201);
        made["item"]["key"].as_str().unwrap_or_default().to_owned()
    }
}

impl Drop for Web {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A `docket runner` beside a server, on the same database; it ends with this.
pub struct Runner(Child);

impl Runner {
    /// One that makes what waits in the database of a server.
    pub fn beside(web: &Web) -> Self {
        Self::with(web, &[])
    }

    /// The same with more words.
    pub fn with(web: &Web, words: &[&str]) -> Self {
        Self::changed(web, words, |_| {})
    }

    /// The same with a changed command.
    pub fn changed(web: &Web, words: &[&str], change: impl FnOnce(&mut Command)) -> Self {
        let (word, folder) = &web.place;
        let mut command = command_on(word, folder);
        command.arg("runner").args(words).stdin(Stdio::null()).stdout(Stdio::null());
        change(&mut command);
        Self(command.spawn().unwrap_or_else(|error| panic!("it does not start: {error}")))
    }

    /// Ends it the hard way.
    pub fn kill(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

impl Drop for Runner {
    fn drop(&mut self) {
        self.kill();
    }
}

/// The bytes of a request to any address, for one connection or for one of several on it.
pub fn request(
    address: SocketAddr,
    method: &str,
    path: &str,
    headers: &[(&str, &str)],
    body: Option<&[u8]>,
) -> Vec<u8> {
    let mut request = format!("{method} {path} HTTP/1.1\r\n");
    if !headers.iter().any(|(name, _)| name.eq_ignore_ascii_case("host")) {
        let _ = write!(request, "host: {address}\r\n");
    }
    for (name, value) in headers {
        let _ = write!(request, "{name}: {value}\r\n");
    }
    if let Some(body) = body {
        if !headers.iter().any(|(name, _)| name.eq_ignore_ascii_case("content-type")) {
            request.push_str("content-type: application/json\r\n");
        }
        let _ = write!(request, "content-length: {}\r\n", body.len());
    }
    request.push_str("\r\n");
    let mut bytes = request.into_bytes();
    bytes.extend_from_slice(body.unwrap_or_default());
    bytes
}

/// Asks a server that may be gone, or be killed before it has answered.
pub fn ask(
    address: SocketAddr,
    method: &str,
    path: &str,
    headers: &[(&str, &str)],
    body: Option<&[u8]>,
) -> Option<Reply> {
    let headers: Vec<(&str, &str)> = [("connection", "close")].iter().chain(headers).copied().collect();
    let mut stream = TcpStream::connect_timeout(&address, PATIENCE).ok()?;
    stream.set_read_timeout(Some(PATIENCE)).ok()?;
    stream.set_nodelay(true).ok()?;
    stream.write_all(&request(address, method, path, &headers, body)).ok()?;
    let mut answer = Vec::new();
    let _ = stream.read_to_end(&mut answer);
    answer.windows(4).any(|window| window == b"\r\n\r\n").then(|| parse(&answer)).filter(Reply::is_whole)
}

/// One request and its answer on a connection that stays open; none when it does not.
pub fn converse(stream: &mut BufReader<TcpStream>, request: &[u8]) -> Option<Reply> {
    stream.get_mut().write_all(request).ok()?;
    let mut answer = Vec::new();
    while !answer.ends_with(b"\r\n\r\n") {
        if stream.read_until(b'\n', &mut answer).ok()? == 0 {
            return None;
        }
    }
    let mut reply = parse(&answer);
    reply.body = vec![0; reply.header("content-length").parse().ok()?];
    stream.read_exact(&mut reply.body).ok()?;
    Some(reply)
}

/// The program on a database, away from anybody's own configuration.
pub fn command(database: &Path) -> Command {
    let (word, folder) = place_of(database);
    command_on(&word, &folder)
}

/// How `--db` names a file, and its folder.
fn place_of(database: &Path) -> (String, PathBuf) {
    (format!("sqlite:{}", database.display()), database.parent().unwrap_or(Path::new("/")).to_owned())
}

/// The same on what `--db` names, in a folder.
pub fn command_on(word: &str, folder: &Path) -> Command {
    let mut command = Command::new(docket());
    command.arg("--db").arg(word).current_dir(folder);
    for name in ["DOCKET_DB", "DOCKET_ACTOR", "DOCKET_CONFIG", "DOCKET_LOG", "RUST_LOG"] {
        command.env_remove(name);
    }
    for (name, _) in std::env::vars_os().filter(|(name, _)| name.to_string_lossy().starts_with("OTEL_")) {
        command.env_remove(name);
    }
    command
}

/// Reads one whole answer.
pub fn parse(bytes: &[u8]) -> Reply {
    let end = bytes.windows(4).position(|window| window == b"\r\n\r\n");
    let end = end.unwrap_or_else(|| panic!("no head: {:?}", String::from_utf8_lossy(bytes)));
    let head = String::from_utf8_lossy(&bytes[..end]).into_owned();
    let mut lines = head.split("\r\n");
    let status = lines.next().and_then(|line| line.split(' ').nth(1)).and_then(|status| status.parse().ok());
    let headers: Vec<(String, String)> = lines
        .filter_map(|line| line.split_once(':'))
        .map(|(name, value)| (name.to_ascii_lowercase(), value.trim().to_owned()))
        .collect();
    let rest = &bytes[end + 4..];
    let chunked = headers.iter().any(|(name, value)| name == "transfer-encoding" && value == "chunked");
    let body = if chunked { unchunk(rest) } else { rest.to_vec() };
    Reply { status: status.unwrap_or_else(|| panic!("no status: {head}")), headers, body }
}

fn unchunk(mut rest: &[u8]) -> Vec<u8> {
    let mut body = Vec::new();
    while let Some(end) = rest.windows(2).position(|window| window == b"\r\n") {
        let size = usize::from_str_radix(String::from_utf8_lossy(&rest[..end]).trim(), 16).unwrap_or(0);
        let from = end + 2;
        if size == 0 || rest.len() < from + size {
            break;
        }
        body.extend_from_slice(&rest[from..from + size]);
        rest = rest.get(from + size + 2..).unwrap_or_default();
    }
    body
}
