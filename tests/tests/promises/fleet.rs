//! Several servers on one database, some of which die, and the agents that use them.

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
use serde_json::{Value, json};

/// How much longer than usual experiments run.
pub(crate) fn soak() -> u32 {
    std::env::var("DOCKET_SOAK").ok().and_then(|times| times.parse().ok()).unwrap_or(1)
}

/// A database: a file in a folder of its own, or one on a server.
pub(crate) struct Place {
    folder: PathBuf,
    /// Removed with the place that made it.
    _made: Option<tempfile::TempDir>,
    server: Option<Database>,
    /// A bug that the servers are started with.
    pub(crate) plant: Option<&'static str>,
}

impl Place {
    pub(crate) fn new(plant: Option<&'static str>) -> Self {
        let made = tempfile::tempdir().expect("a folder");
        Self { folder: made.path().to_owned(), _made: Some(made), server: None, plant }
    }

    /// The same place, for somebody without a bug.
    pub(crate) fn within(folder: &Path) -> Self {
        Self { folder: folder.to_owned(), _made: None, server: None, plant: None }
    }

    /// The same on a Postgres server.
    pub(crate) fn on_server(plant: Option<&'static str>) -> Self {
        Self { server: Some(Database::empty()), ..Self::new(plant) }
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
            Some(server) => audit::read_server(&server.url()),
        }
    }

    /// The same, checked against every rule and against the events.
    pub(crate) fn check(&self) -> World {
        match &self.server {
            None => audit::check(&self.database()),
            Some(server) => audit::check_server(&server.url()),
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

    pub(crate) fn server(&self) -> Server {
        self.server_with(|command| self.prepare(command))
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

/// Servers that are replaced when they die.
pub(crate) struct Fleet {
    place: Arc<Place>,
    servers: Vec<RwLock<Arc<Server>>>,
    pub(crate) over: AtomicBool,
}

impl Fleet {
    pub(crate) fn new(place: &Arc<Place>, size: usize) -> Arc<Self> {
        let servers = (0..size).map(|_| RwLock::new(Arc::new(place.server()))).collect();
        Arc::new(Self { place: Arc::clone(place), servers, over: AtomicBool::new(false) })
    }

    pub(crate) fn is_over(&self) -> bool {
        self.over.load(Ordering::Relaxed)
    }

    /// Calls a tool on the server at this place.
    pub(crate) fn call(&self, place: usize, tool: &str, arguments: Value) -> Result<Answer, Gone> {
        let server = Arc::clone(&self.servers[place % self.servers.len()].read().expect("a server"));
        server.call(tool, arguments)
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
        let next = Arc::new(self.place.server());
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
