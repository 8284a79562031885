//! Several servers on one database, some of which die, and the agents that use them.

use std::io::Write as _;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, RwLock};
use std::time::{Duration, Instant};

use docket_core::testing::World;
use docket_core::testing::acts::Dice;
use docket_tests::audit;
use docket_tests::mcp::{Answer, Gone, Server};
use docket_tests::postgres::Database;
use docket_tests::web::{self, Reply, Web};
use serde_json::{Value, json};

/// How much longer than usual experiments run.
pub(crate) fn soak() -> u32 {
    std::env::var("DOCKET_SOAK").ok().and_then(|times| times.parse().ok()).unwrap_or(1)
}

/// How long transactions may go on that nobody waits for any more.
const SETTLED_WITHIN: Duration = Duration::from_secs(20);

/// How servers are reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Way {
    /// `docket mcp`, by its standard input and output.
    Stdio,
    /// `docket serve`, over HTTP.
    Http,
}

/// A database: a file in a folder of its own, or one on a server.
pub(crate) struct Place {
    folder: PathBuf,
    /// Removed with the place that made it.
    _made: Option<tempfile::TempDir>,
    server: Option<Database>,
    way: Way,
    /// A bug that the servers are started with.
    pub(crate) plant: Option<&'static str>,
}

impl Place {
    pub(crate) fn new(plant: Option<&'static str>) -> Self {
        let made = tempfile::tempdir().expect("a folder");
        Self { folder: made.path().to_owned(), _made: Some(made), server: None, way: Way::Stdio, plant }
    }

    /// The same place, for somebody without a bug.
    pub(crate) fn within(folder: &Path) -> Self {
        Self { folder: folder.to_owned(), _made: None, server: None, way: Way::Stdio, plant: None }
    }

    /// The same on a Postgres server.
    pub(crate) fn on_server(plant: Option<&'static str>) -> Self {
        Self { server: Some(Database::empty()), ..Self::new(plant) }
    }

    /// The same with servers that are reached over HTTP.
    pub(crate) fn over_http(self) -> Self {
        Self { way: Way::Http, ..self }
    }

    /// The database on a server.
    pub(crate) fn on(&self) -> &Database {
        self.server.as_ref().expect("a database on a server")
    }

    /// The same where there is one.
    pub(crate) fn on_a_server(&self) -> Option<&Database> {
        self.server.as_ref()
    }

    /// What `--db` is given.
    pub(crate) fn word(&self) -> String {
        match &self.server {
            None => format!("sqlite:{}", self.database().display()),
            Some(server) => server.url(),
        }
    }

    /// Everything in the database.
    pub(crate) fn read(&self) -> World {
        match &self.server {
            None => audit::read(&self.database()),
            Some(server) => {
                settle(server);
                audit::read_server(&server.url())
            }
        }
    }

    /// The same, checked against every rule and against the events.
    pub(crate) fn check(&self) -> World {
        match &self.server {
            None => audit::check(&self.database()),
            Some(server) => {
                settle(server);
                audit::check_server(&server.url())
            }
        }
    }

    pub(crate) fn database(&self) -> PathBuf {
        self.folder.join("docket.db")
    }

    pub(crate) fn folder(&self) -> &Path {
        &self.folder
    }

    /// A file whose number of milliseconds servers add to their clock.
    pub(crate) fn clock(&self) -> PathBuf {
        self.folder.join("clock")
    }

    pub(crate) fn prepare(&self, command: &mut Command) {
        command.env("DOCKET_CLOCK_FILE", self.clock());
        if let Some(bug) = self.plant {
            command.env("DOCKET_PLANT", bug);
        }
    }

    /// A server as it is reached here.
    pub(crate) fn peer(&self) -> Peer {
        match self.way {
            Way::Stdio => Peer::Stdio(self.server()),
            Way::Http => Peer::Http(RwLock::new(self.web())),
        }
    }

    /// How such a server is started.
    pub(crate) fn verb(&self) -> &'static [&'static str] {
        match self.way {
            Way::Stdio => &["mcp", "--surface", "task-orchestrator"],
            Way::Http => &["serve", "--listen", "127.0.0.1:0"],
        }
    }

    /// A server over HTTP.
    pub(crate) fn web(&self) -> Web {
        Web::serving(&self.word(), self.folder(), |command| self.prepare(command))
    }

    pub(crate) fn server(&self) -> Server {
        self.server_with(|command| self.prepare(command))
    }

    /// A server with another set of tools.
    pub(crate) fn server_on(&self, surface: &str) -> Server {
        let arguments = ["--surface", surface];
        let started = Server::try_start_on(&self.word(), self.folder(), &arguments, |command| self.prepare(command));
        started.unwrap_or_else(|Gone| panic!("the server ended at once"))
    }

    pub(crate) fn server_with(&self, change: impl FnOnce(&mut Command)) -> Server {
        let started = Server::try_start_on(&self.word(), self.folder(), &[], change);
        started.unwrap_or_else(|Gone| panic!("the server ended at once"))
    }

    /// Makes items by a server without a bug; returns their ids.
    pub(crate) fn items(&self, count: usize) -> Vec<String> {
        let server = self.server_with(|_| {});
        let mut ids = Vec::with_capacity(count);
        for chunk in (0..count).collect::<Vec<_>>().chunks(100) {
            let items: Vec<Value> = chunk.iter().map(|n| json!({ "title": format!("item {n}") })).collect();
            let made = server.ok("manage_items", json!({ "operation": "create", "items": items }));
            ids.extend(
                made["items"]
                    .as_array()
                    .expect("items")
                    .iter()
                    .map(|item| item["id"].as_str().expect("an id").to_owned()),
            );
        }
        ids
    }
}

/// What a killed process had sent may still wait for its turn in Postgres and commit without it. Rows and events are read one
/// after the other, so nobody looks before the last such transaction has ended.
fn settle(server: &Database) {
    let begun = Instant::now();
    let others = "SELECT count(*)::text FROM pg_stat_activity WHERE datname = current_database() \
                  AND pid <> pg_backend_pid() AND xact_start IS NOT NULL";
    while server.ask(others) != "0" {
        assert!(begun.elapsed() < SETTLED_WITHIN, "transactions go on although their processes are gone");
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// A running server.
pub(crate) enum Peer {
    Stdio(Server),
    Http(RwLock<Web>),
}

impl Peer {
    /// Calls a tool.
    pub(crate) fn call(&self, tool: &str, arguments: Value) -> Result<Answer, Gone> {
        match self {
            Self::Stdio(server) => server.call(tool, arguments),
            Self::Http(web) => call_over_http(web.read().expect("a server").address, tool, &arguments),
        }
    }

    fn kill(&self) {
        match self {
            Self::Stdio(server) => server.kill(),
            Self::Http(web) => {
                let mut web = web.write().expect("a server");
                web.signal("KILL");
                let _ = web.end(Duration::from_secs(10));
            }
        }
    }
}

/// What MCP's clients take.
const ACCEPT: (&str, &str) = ("accept", "application/json, text/event-stream");

fn message(tool: &str, arguments: &Value) -> String {
    let params = json!({ "name": tool, "arguments": arguments });
    json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params }).to_string()
}

/// Calls a tool by MCP over HTTP.
pub(crate) fn call_over_http(address: SocketAddr, tool: &str, arguments: &Value) -> Result<Answer, Gone> {
    let reply =
        web::ask(address, "POST", "/mcp/task-orchestrator", &[ACCEPT], Some(message(tool, arguments).as_bytes()))
            .ok_or(Gone)?;
    let whole = reply.json();
    if reply.status != 200 {
        assert_eq!(reply.status, 503, "{whole}");
        return Ok(Answer { is_error: true, content: whole });
    }
    let result = &whole["result"];
    assert!(result.is_object(), "{tool} was answered with a protocol error: {whole}");
    Ok(Answer { is_error: result["isError"] == json!(true), content: result["structuredContent"].clone() })
}

/// Servers that are replaced when they die.
pub(crate) struct Fleet {
    place: Arc<Place>,
    servers: Vec<RwLock<Arc<Peer>>>,
    pub(crate) over: AtomicBool,
}

impl Fleet {
    pub(crate) fn new(place: &Arc<Place>, size: usize) -> Arc<Self> {
        let servers = (0..size).map(|_| RwLock::new(Arc::new(place.peer()))).collect();
        Arc::new(Self { place: Arc::clone(place), servers, over: AtomicBool::new(false) })
    }

    pub(crate) fn is_over(&self) -> bool {
        self.over.load(Ordering::Relaxed)
    }

    /// Calls a tool on the server at this place.
    pub(crate) fn call(&self, place: usize, tool: &str, arguments: Value) -> Result<Answer, Gone> {
        self.at(place).call(tool, arguments)
    }

    fn at(&self, place: usize) -> Arc<Peer> {
        Arc::clone(&self.servers[place % self.servers.len()].read().expect("a server"))
    }

    /// Where the server at this place listens.
    pub(crate) fn address(&self, place: usize) -> SocketAddr {
        match &*self.at(place) {
            Peer::Stdio(_) => panic!("it listens nowhere"),
            Peer::Http(web) => web.read().expect("a server").address,
        }
    }

    /// Sends JSON to `/api/v1` of the server at this place, which may die meanwhile.
    pub(crate) fn send(
        &self,
        place: usize,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: &Value,
    ) -> Option<Reply> {
        let body = (!body.is_null()).then(|| body.to_string());
        let path = format!("/api/v1{path}");
        web::ask(self.address(place), method, &path, headers, body.as_deref().map(str::as_bytes))
    }

    /// Calls a tool over HTTP and hangs up before there is an answer, at a moment that the clock chooses. A server on stdio
    /// cannot be left so.
    pub(crate) fn send_and_leave(&self, place: usize, tool: &str, arguments: &Value) {
        let Peer::Http(web) = &*self.at(place) else { return };
        let address = web.read().expect("a server").address;
        let message = message(tool, arguments);
        let bytes = web::request(address, "POST", "/mcp/task-orchestrator", &[ACCEPT], Some(message.as_bytes()));
        let Ok(mut stream) = std::net::TcpStream::connect(address) else { return };
        let _ = stream.write_all(&bytes);
        std::thread::sleep(Duration::from_micros(u64::from(uuid::Uuid::new_v4().as_bytes()[0]) * 40));
    }

    /// Calls a tool until some server answers: what a client does that retries.
    pub(crate) fn insist(&self, place: usize, tool: &str, arguments: &Value) -> Answer {
        loop {
            match self.call(place, tool, arguments.clone()) {
                Ok(answer) if answer.is_error && answer.content["error"]["kind"] != json!("permanent") => {}
                Ok(answer) => return answer,
                Err(Gone) => {}
            }
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// Kills one server and starts another in its place; returns how long that one took to answer.
    pub(crate) fn replace(&self, place: usize) -> Duration {
        self.servers[place].read().expect("a server").kill();
        let begun = Instant::now();
        let next = Arc::new(self.place.peer());
        let _ = next.call("get_next_item", json!({}));
        *self.servers[place].write().expect("a server") = next;
        begun.elapsed()
    }

    /// Kills a server now and then for as long as the experiment lasts; returns how many and the slowest return.
    pub(crate) fn torment(&self, seed: u64, length: Duration, pause: std::ops::Range<u64>) -> (usize, Duration) {
        let mut dice = Dice::new(seed);
        let begun = Instant::now();
        let (mut kills, mut slowest) = (0, Duration::ZERO);
        while begun.elapsed() < length {
            let wait = Duration::from_millis(pause.start + dice.roll(pause.end - pause.start));
            std::thread::sleep(wait.min(length.saturating_sub(begun.elapsed())));
            let place = usize::try_from(dice.roll(self.servers.len() as u64)).expect("small");
            slowest = slowest.max(self.replace(place));
            kills += 1;
        }
        self.over.store(true, Ordering::Relaxed);
        (kills, slowest)
    }
}

/// A check that must fail because of a planted bug, and say so in one of these words: another failure proves nothing.
pub(crate) fn must_fail_with(words: &[&str], check: impl FnOnce() + std::panic::UnwindSafe) {
    let Err(failure) = std::panic::catch_unwind(check) else { panic!("the planted bug was not seen") };
    let message = failure
        .downcast_ref::<String>()
        .cloned()
        .or_else(|| failure.downcast_ref::<&str>().map(|text| (*text).to_owned()))
        .unwrap_or_default();
    assert!(words.iter().any(|word| message.contains(word)), "it failed for another reason: {message}");
}

pub(crate) fn actor(id: &str) -> Value {
    json!({ "id": id, "kind": "subagent" })
}

pub(crate) fn request() -> String {
    uuid::Uuid::new_v4().to_string()
}
