//! A key that was taken away ends what it opened also where nobody is told of it: the connection on which messages are heard
//! has fallen silent, or the process that took the key away ended before it could say so.

use std::path::Path;
use std::process::{Command, Output};
use std::sync::Mutex;
use std::time::{Duration, Instant};

use docket_tests::own_postgres::{put_to_sleep, signal};
use docket_tests::postgres::Database;
use docket_tests::web::{Stream, Web, command_on};
use serde_json::Value;

/// How soon a stream ends where its server was told.
const SOON: Duration = Duration::from_secs(6);
/// How soon where its server has to find out that it hears nothing: ten seconds of silence, two for an answer, and a look.
const IN_THE_END: Duration = Duration::from_secs(20);

/// A process that listens for messages.
const LISTENER: &str = "SELECT min(pid)::text FROM pg_stat_activity WHERE datname = current_database() \
     AND application_name = 'docket' AND query LIKE 'LISTEN%'";

struct Desk {
    database: Database,
    folder: tempfile::TempDir,
}

impl Desk {
    fn new() -> Self {
        let desk = Self { database: Database::new(), folder: tempfile::tempdir().expect("a folder") };
        drop(Web::serving(&desk.database.url(), desk.path(), |_| {}));
        desk
    }

    fn path(&self) -> &Path {
        self.folder.path()
    }

    fn run(&self, words: &[&str], change: impl FnOnce(&mut Command)) -> Output {
        let mut command = command_on(&self.database.url(), self.path());
        command.arg("--json").args(words);
        change(&mut command);
        command.output().expect("it runs")
    }

    fn key(&self, name: &str) -> String {
        let made = self.run(&["key", "create", "--profile", "worker", "--name", name], |_| {});
        let made: Value = serde_json::from_slice(&made.stdout).expect("JSON");
        format!("Bearer {}", made["secret"].as_str().expect("a secret"))
    }

    /// A stream under a key that has told something: its server hears what others commit.
    fn stream(&self, web: &Web, key: &str) -> Stream {
        let headers = [("authorization", key), ("connection", "close")];
        let opened = Stream::try_open(web.address, "/events/stream", &headers, Duration::from_mins(1));
        let mut stream = opened.unwrap_or_else(|head| panic!("{head}"));
        assert!(self.run(&["item", "add", "Before"], |_| {}).status.success());
        assert!(stream.next_event().is_some(), "it tells what happens");
        // It looks itself until it has found that it hears what others say.
        std::thread::sleep(Duration::from_millis(2500));
        stream
    }
}

/// Waits for the end of a stream, which says now and then that it is alive for as long as it goes on.
fn must_end(web: Web, mut stream: Stream, within: Duration) {
    let begun = Instant::now();
    let ended = Mutex::new(None);
    std::thread::scope(|scope| {
        let ending = scope.spawn(|| {
            while stream.next_event().is_some() {}
            *ended.lock().expect("a time") = Some(begun.elapsed());
        });
        while !ending.is_finished() && begun.elapsed() < within {
            std::thread::sleep(Duration::from_millis(50));
        }
        let in_time = ended.lock().expect("a time").is_some();
        drop(web);
        assert!(in_time, "the stream goes on after {within:?}");
    });
}

#[test]
fn a_key_that_was_revoked_ends_its_stream_although_no_message_comes_through() {
    let desk = Desk::new();
    let key = desk.key("taken");
    let web = Web::serving(&desk.database.url(), desk.path(), |_| {});
    let stream = desk.stream(&web, &key);
    let listener: u32 = desk.database.ask(LISTENER).parse().expect("a process");
    // As when a router on the way has forgotten the connection: it stands, and nothing comes.
    put_to_sleep(&[listener]);
    let revoked = desk.run(&["key", "revoke", "taken"], |_| {});
    assert!(revoked.status.success(), "{}", String::from_utf8_lossy(&revoked.stderr));
    let ended = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| must_end(web, stream, IN_THE_END)));
    signal("CONT", listener);
    if let Err(panic) = ended {
        std::panic::resume_unwind(panic);
    }
}

#[test]
fn a_key_that_was_revoked_ends_its_stream_although_whoever_did_so_said_no_more() {
    let desk = Desk::new();
    let key = desk.key("taken");
    let web = Web::serving(&desk.database.url(), desk.path(), |_| {});
    let stream = desk.stream(&web, &key);
    let revoked = desk.run(&["key", "revoke", "taken"], |command| _ = command.env("DOCKET_DIE_AT", "2"));
    assert_eq!(revoked.status.code(), None, "it ends between its commit and its message");
    must_end(web, stream, SOON);
}
