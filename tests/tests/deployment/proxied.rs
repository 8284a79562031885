//! Two replicas on one Postgres behind one address: the real `HAProxy` with the file that is deployed, only its addresses are others.
//!
//! What goes through it: claims, an answer that waits, an event stream, a call of MCP with its progress, TLS; and the end of one
//! replica, during which no answer is lost.

use std::collections::BTreeSet;
use std::fs;
use std::io::{BufReader, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use docket_tests::postgres::Database;
use docket_tests::web::{self, Reply, Stream, Web, command_on};
use serde_json::{Value, json};

use super::checked::{certificate, program};
use super::{path, read};

/// A name that the deployed settings know.
const NAME: &str = "docket.example";
/// How long things may take that take a moment.
const PATIENCE: Duration = Duration::from_secs(20);
/// How many items there are to be claimed.
const ITEMS: usize = 40;
/// How many clients of MCP give up a call, each by a message on a connection of its own.
const CLIENTS: usize = 8;
/// How many write while a replica ends, each on a connection that stays open.
const WRITERS: usize = 6;

/// The proxy, and what is behind it.
struct Site {
    proxy: Child,
    /// Without TLS: a second way into what the proxy has at port 443.
    plain: SocketAddr,
    tls: SocketAddr,
    /// What the proxy has at port 80.
    clear: SocketAddr,
    replicas: Vec<Web>,
    bearer: String,
    database: Database,
    folder: tempfile::TempDir,
}

/// Says that it is over however a test ends: whoever works until then would go on for ever beside a test that has failed.
struct Over<'a>(&'a AtomicBool);

impl Drop for Over<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

impl Drop for Site {
    fn drop(&mut self) {
        _ = self.proxy.kill();
        _ = self.proxy.wait();
    }
}

fn free() -> SocketAddr {
    TcpListener::bind("127.0.0.1:0").and_then(|listener| listener.local_addr()).expect("an address")
}

impl Site {
    /// Nothing where there is no `HAProxy` to be had.
    fn start() -> Option<Self> {
        let haproxy = program("haproxy", "haproxy")?;
        let folder = tempfile::tempdir().expect("a folder");
        let database = Database::empty();
        let word = database.url();
        let settings = path("deploy/docket.toml");
        let replica = || Web::serving(&word, folder.path(), |command| _ = command.env("DOCKET_CONFIG", &settings));
        let init =
            command_on(&word, folder.path()).args(["init", "--preset", "task-orchestrator"]).output().expect("it runs");
        assert!(init.status.success(), "{}", String::from_utf8_lossy(&init.stderr));
        let key = ["--json", "key", "create", "--profile", "maintainer", "--name", "proxied"];
        let made = command_on(&word, folder.path()).args(key).output().expect("it runs");
        let made: Value = serde_json::from_slice(&made.stdout).expect("JSON");
        let replicas = vec![replica(), replica()];
        let [plain, tls, clear] = [free(), free(), free()];
        let pem = certificate(folder.path());
        let mut file = read("deploy/haproxy.cfg");
        for (times, theirs, ours) in [
            (1, "bind :80\n".to_owned(), format!("bind {clear}\n")),
            (1, "bind :443 ssl".to_owned(), format!("bind {plain}\n    bind {tls} ssl")),
            (1, "/usr/local/etc/haproxy/docket.pem".to_owned(), pem.display().to_string()),
            (2, "server docket-1 docket-1:7420".to_owned(), format!("server docket-1 {}", replicas[0].address)),
            (2, "server docket-2 docket-2:7420".to_owned(), format!("server docket-2 {}", replicas[1].address)),
        ] {
            assert_eq!(file.matches(&theirs).count(), times, "{theirs}");
            file = file.replace(&theirs, &ours);
        }
        let (config, log) = (folder.path().join("haproxy.cfg"), folder.path().join("log"));
        fs::write(&config, file).expect("a file");
        let log = fs::File::create(log).expect("a file");
        let mut command = Command::new(haproxy);
        command.arg("-f").arg(config).stdin(Stdio::null());
        let proxy = command.stdout(log.try_clone().expect("a file")).stderr(log).spawn().expect("it starts");
        let bearer = format!("Bearer {}", made["secret"].as_str().expect("a secret"));
        let site = Self { proxy, plain, tls, clear, replicas, bearer, database, folder };
        site.wait_until(|| site.ask("GET", "/readyz", None).is_some_and(|reply| reply.status == 200));
        Some(site)
    }

    /// What the proxy said of what it did.
    fn log(&self) -> String {
        fs::read_to_string(self.folder.path().join("log")).unwrap_or_default()
    }

    fn wait_until(&self, done: impl Fn() -> bool) {
        let begun = Instant::now();
        while !done() {
            assert!(begun.elapsed() < PATIENCE, "it takes too long: {}", self.log());
            std::thread::sleep(Duration::from_millis(50));
        }
    }

    fn headers(&self) -> [(&str, &str); 3] {
        let accept = ("accept", "application/json, text/event-stream");
        [("host", NAME), ("authorization", &self.bearer), accept]
    }

    /// A request to the one address.
    fn ask(&self, method: &str, path: &str, body: Option<&Value>) -> Option<Reply> {
        let body = body.map(Value::to_string);
        web::ask(self.plain, method, path, &self.headers(), body.as_deref().map(str::as_bytes))
    }

    fn post(&self, path: &str, body: &Value) -> Reply {
        self.ask("POST", &format!("/api/v1{path}"), Some(body)).expect("an answer")
    }

    /// How many requests of this sort a replica has answered.
    fn answered(&self, replica: usize, route: &str) -> u64 {
        let metrics = self.replicas[replica].to("GET", "/metrics", &[("authorization", &self.bearer)], None);
        let metrics = String::from_utf8_lossy(&metrics.body).into_owned();
        let lines =
            metrics.lines().filter(|line| line.starts_with("docket_http_requests_total{") && line.contains(route));
        lines.filter_map(|line| line.rsplit(' ').next()?.parse::<u64>().ok()).sum()
    }

    fn claims(&self) {
        let mut stream = self.stream(None);
        let items: Vec<_> = (0..ITEMS).map(|number| json!({"title": format!("i{number}")})).collect();
        self.post("/bulk/items", &json!({ "items": items })).with(200);
        let taken: Vec<String> = std::thread::scope(|scope| {
            let agents: Vec<_> = (0..8).map(|agent| scope.spawn(move || self.take_all(agent))).collect();
            agents.into_iter().flat_map(|agent| agent.join().expect("an agent")).collect()
        });
        assert_eq!(taken.len(), ITEMS);
        assert_eq!(taken.iter().collect::<BTreeSet<_>>().len(), ITEMS, "each was handed out once");
        for replica in 0..2 {
            assert!(self.answered(replica, "/queue/claim") > 0, "replica {replica} was asked for nothing");
        }
        let told = std::iter::from_fn(|| stream.next_event());
        let titles = told.filter_map(|sent| sent.data["data"]["title"].as_str().map(str::to_owned)).take(ITEMS);
        assert_eq!(titles.collect::<BTreeSet<_>>().len(), ITEMS, "the stream tells of each");
    }

    /// Takes until there is nothing left, each under another name: whoever takes more than it may hold gives back what it had.
    fn take_all(&self, agent: usize) -> Vec<String> {
        let mut mine = Vec::new();
        loop {
            let name = format!("subagent:a{agent}-{}", mine.len());
            let mut headers = self.headers().to_vec();
            headers.push(("x-docket-actor", &name));
            let offer = web::ask(self.plain, "POST", "/api/v1/queue/claim", &headers, Some(b"{}")).expect("an answer");
            let Some(id) = offer.with(200)["item"]["id"].as_str().map(str::to_owned) else { return mine };
            mine.push(id);
            assert!(mine.len() <= ITEMS, "more was handed out than there is");
        }
    }

    fn stream(&self, after: Option<u64>) -> Stream {
        let last = after.map(|after| after.to_string());
        let mut headers = self.headers().to_vec();
        headers.extend(last.as_deref().map(|last| ("last-event-id", last)));
        // Nothing is said between two events for 15 s, which is longer than anybody waits here.
        let stream = Stream::try_open(self.plain, "/events/stream", &headers, Duration::from_secs(10));
        stream.unwrap_or_else(|head| panic!("no stream: {head}"))
    }

    /// A claim that waits, by MCP: it tells of its progress, and then what it got.
    fn wait_by_mcp(&self) {
        let claim = json!({ "actor": { "id": "waiting", "kind": "subagent" }, "requestId": uuid::Uuid::new_v4().to_string(),
            "claims": [{ "selector": { "waitMs": 30_000 } }] });
        let params = json!({ "name": "claim_item", "arguments": claim, "_meta": { "progressToken": "p" } });
        let call = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params });
        std::thread::scope(|scope| {
            let waiter = scope.spawn(|| self.ask("POST", "/mcp/task-orchestrator", Some(&call)).expect("an answer"));
            // Longer than it takes until progress is told for the first time.
            std::thread::sleep(Duration::from_secs(6));
            self.post("/items", &json!({ "title": "At last" })).with(201);
            let answer = waiter.join().expect("no panic");
            assert_eq!(answer.status, 200);
            let said = String::from_utf8_lossy(&answer.body).into_owned();
            let (told, got) = (said.find("notifications/progress"), said.find("At last"));
            assert!(told.is_some() && told < got, "{said}");
        });
    }

    /// Clients that shake hands and give up a call by a message, which has to come to the replica that is at the call.
    fn give_up_by_mcp(&self) {
        let send = |client: Option<&str>, message: &Value| {
            let mut headers = self.headers().to_vec();
            headers.push(("mcp-protocol-version", "2025-11-25"));
            headers.extend(client.map(|client| ("mcp-session-id", client)));
            web::ask(self.plain, "POST", "/mcp/docket", &headers, Some(message.to_string().as_bytes()))
        };
        let greeting = json!({ "jsonrpc": "2.0", "id": 0, "method": "initialize", "params": { "protocolVersion": "2025-11-25",
            "capabilities": {}, "clientInfo": { "name": "proxied", "version": "1" } } });
        let wait = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call",
            "params": { "name": "wait", "arguments": { "timeoutMs": 20_000 } } });
        let give_up = json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": { "requestId": 1 } });
        std::thread::scope(|scope| {
            let clients: Vec<_> = (0..CLIENTS)
                .map(|_| {
                    scope.spawn(|| {
                        let greeted = send(None, &greeting).expect("an answer");
                        assert_eq!(greeted.status, 200);
                        let client = greeted.header("mcp-session-id").to_owned();
                        std::thread::scope(|scope| {
                            let waiting = scope.spawn(|| send(Some(&client), &wait).expect("an answer"));
                            // All of them wait by then, at both replicas.
                            std::thread::sleep(Duration::from_secs(2));
                            assert_eq!(send(Some(&client), &give_up).expect("an answer").status, 202);
                            let begun = Instant::now();
                            let nothing = waiting.join().expect("an answer");
                            assert_eq!(
                                (nothing.status, nothing.body.len()),
                                (202, 0),
                                "what was given up was answered"
                            );
                            assert!(begun.elapsed() < Duration::from_secs(3), "{:?}", begun.elapsed());
                        });
                    })
                })
                .collect();
            for client in clients {
                client.join().expect("a client");
            }
        });
    }

    fn tls(&self) {
        let get = |more: &str| {
            let mut openssl = Command::new("openssl");
            openssl.args(["s_client", "-quiet", "-connect", &self.tls.to_string()]);
            let mut child =
                openssl.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().expect("it starts");
            let request = format!("GET /api/v1/projects HTTP/1.1\r\nhost: {NAME}\r\n{more}connection: close\r\n\r\n");
            child.stdin.as_mut().expect("its input").write_all(request.as_bytes()).expect("sent");
            String::from_utf8_lossy(&child.wait_with_output().expect("it ends").stdout).into_owned()
        };
        let answer = get(&format!("authorization: {}\r\n", self.bearer));
        assert!(answer.starts_with("HTTP/1.1 200 "), "{answer}");
        let answer = get("");
        assert!(answer.starts_with("HTTP/1.1 401 "), "{answer}");
        let clear = web::ask(self.clear, "GET", "/docs", &[("host", NAME)], None).expect("an answer");
        assert_eq!((clear.status, clear.header("location")), (308, "https://docket.example/docs"));
        assert_eq!(self.ask("GET", "/metrics", None).expect("an answer").status, 404, "each replica counts for itself");
    }

    /// Writes on one connection until it is over; returns what was acknowledged, and tells what was not.
    fn write(&self, writer: usize, over: &AtomicBool, written: &AtomicUsize, lost: &Mutex<Vec<String>>) -> Vec<String> {
        let connect = || BufReader::new(TcpStream::connect(self.plain).expect("the proxy is there"));
        let (mut connection, mut mine) = (connect(), Vec::new());
        while !over.load(Ordering::Relaxed) {
            let title = format!("w{writer}-{}", mine.len());
            let mut headers = self.headers().to_vec();
            headers.push(("idempotency-key", &title));
            let body = json!({ "title": title }).to_string();
            let request = web::request(self.plain, "POST", "/api/v1/items", &headers, Some(body.as_bytes()));
            match web::converse(&mut connection, &request) {
                Some(reply) if reply.status == 201 => {
                    written.fetch_add(1, Ordering::Relaxed);
                    if reply.header("connection") == "close" {
                        connection = connect();
                    }
                }
                other => {
                    let said = other.map(|reply| format!("{} {}", reply.status, String::from_utf8_lossy(&reply.body)));
                    lost.lock().expect("the list").push(format!("{title}: {said:?}"));
                    connection = connect();
                }
            }
            mine.push(title);
        }
        mine
    }

    /// One replica is told to end while many write; the stream goes on where it was.
    fn end_one(&mut self) {
        let mut ending = self.replicas.remove(0);
        let site = &*self;
        let (over, written, lost) = (AtomicBool::new(false), AtomicUsize::new(0), Mutex::new(Vec::new()));
        let from = site.ask("GET", "/api/v1/events?newestFirst=true&limit=1", None).expect("an answer").with(200);
        let from = from["events"][0]["seq"].as_u64().expect("a number");
        let (made, told) = std::thread::scope(|scope| {
            let writers: Vec<_> = (0..WRITERS)
                .map(|writer| {
                    let (over, written, lost) = (&over, &written, &lost);
                    scope.spawn(move || site.write(writer, over, written, lost))
                })
                .collect();
            let reader = scope.spawn(|| site.follow(from, &over));
            let ends = Over(&over);
            site.wait_until(|| written.load(Ordering::Relaxed) > 5 * WRITERS);
            ending.signal("TERM");
            assert_eq!(ending.end(PATIENCE), Some(0), "it ends in good order");
            // The proxy has seen by now that one is gone, and all goes to the other.
            std::thread::sleep(Duration::from_secs(3));
            drop(ends);
            let made: BTreeSet<String> =
                writers.into_iter().flat_map(|writer| writer.join().expect("a writer")).collect();
            // The last that is told ends the stream.
            site.post("/items", &json!({ "title": LAST })).with(201);
            let told = reader.join().expect("a reader");
            assert_eq!(told.len(), told.iter().collect::<BTreeSet<_>>().len(), "something was told twice");
            (made, told.into_iter().collect::<BTreeSet<String>>())
        });
        let lost = lost.into_inner().expect("the list");
        assert!(lost.is_empty(), "{} of {} answers were lost: {lost:?}\n{}", lost.len(), made.len(), self.log());
        let untold: Vec<&String> = made.difference(&told).collect();
        assert!(untold.is_empty(), "the stream has not told of {untold:?}");
        let count = self.database.ask("SELECT count(*)::text FROM items WHERE title ~ '^w[0-9]+-[0-9]+$'");
        assert_eq!(count, made.len().to_string(), "each was made once");
    }

    /// The titles of what is made, from a stream that is opened again where it ended. Once it is over, all is told that there is to tell
    /// within a while.
    fn follow(&self, from: u64, over: &AtomicBool) -> Vec<String> {
        let (mut titles, mut after, mut ends) = (Vec::new(), from, None);
        loop {
            let mut stream = self.stream(Some(after));
            while let Some(sent) = stream.next_event() {
                after = sent.id;
                let title = sent.data["data"]["title"].as_str().unwrap_or_default();
                if title == LAST {
                    return titles;
                }
                if !title.is_empty() {
                    titles.push(title.to_owned());
                }
            }
            if over.load(Ordering::Relaxed) {
                let ends = *ends.get_or_insert_with(|| Instant::now() + PATIENCE);
                assert!(Instant::now() < ends, "the stream does not go on");
            }
        }
    }
}

/// What is made last.
const LAST: &str = "the last one";

#[test]
fn two_replicas_serve_one_address_and_one_of_them_may_end() {
    let Some(mut site) = Site::start() else { return };
    site.tls();
    site.claims();
    site.wait_by_mcp();
    site.give_up_by_mcp();
    site.end_one();
}
