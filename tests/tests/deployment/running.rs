//! A server with the settings that are deployed: the names it answers to, its probes, its metrics, the image's health check.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use docket_tests::program::docket;
use serde_json::Value;
use tempfile::TempDir;

use super::{PORT, path, read, words};

/// A server that ends with the test.
struct Server {
    child: Child,
    address: String,
    /// The settings name hosts, so that nobody is let in without a key.
    bearer: String,
    _folder: TempDir,
}

impl Server {
    fn start() -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let config = path("deploy/docket.toml").display().to_string();
        let command = |words: &[&str]| {
            let mut command = Command::new(docket());
            command.args(["--json", "--config", &config]).args(words).current_dir(folder.path());
            command.env_clear().env("HOME", folder.path()).stdout(Stdio::piped()).stderr(Stdio::null());
            command
        };
        assert!(command(&["init"]).output().expect("it runs").status.success(), "there is a database");
        let made = command(&["key", "create", "--profile", "viewer", "--name", "monitor"]).output().expect("it runs");
        let made: Value = serde_json::from_slice(&made.stdout).expect("a key as JSON");
        let bearer = format!("Bearer {}", made["secret"].as_str().expect("a secret"));
        let mut child = command(&["serve", "--listen", "127.0.0.1:0"]).spawn().expect("the program starts");
        let mut line = String::new();
        BufReader::new(child.stdout.take().expect("its output")).read_line(&mut line).expect("a line");
        let told: Value = serde_json::from_str(&line).unwrap_or_else(|_| panic!("the server said {line:?}"));
        let url = told["url"].as_str().expect("where it listens");
        Self { child, address: url.trim_start_matches("http://").to_owned(), bearer, _folder: folder }
    }

    fn get(&self, place: &str, host: &str) -> String {
        let bearer = &self.bearer;
        let mut stream = TcpStream::connect(&self.address).expect("a connection");
        stream.set_read_timeout(Some(Duration::from_secs(10))).expect("a timeout");
        write!(stream, "GET {place} HTTP/1.1\r\nHost: {host}\r\nAuthorization: {bearer}\r\nConnection: close\r\n\r\n")
            .expect("sent");
        let mut answer = String::new();
        stream.read_to_string(&mut answer).expect("an answer");
        answer
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        _ = self.child.kill();
        _ = self.child.wait();
    }
}

/// `BASH` runs the image's check against a port.
fn health(port: &str) -> bool {
    let check = super::image::health_check();
    let arguments = check[1..].iter().map(|argument| argument.replace(PORT, port));
    Command::new(&check[0]).args(arguments).stderr(Stdio::null()).status().is_ok_and(|status| status.success())
}

#[test]
fn the_deployed_settings_work() {
    let server = Server::start();
    for host in ["docket.example", "docket-1", "docket-2:7420", "localhost"] {
        assert!(server.get("/readyz", host).starts_with("HTTP/1.1 200 "), "{host}");
    }
    assert!(server.get("/readyz", "docket-3").starts_with("HTTP/1.1 403 "));
    assert!(server.get("/healthz", "docket.example").starts_with("HTTP/1.1 200 "));
    let port = server.address.rsplit(':').next().expect("a port").to_owned();
    assert!(health(&port), "the image's health check passes");
    drop(server);
    assert!(!health(&port), "nobody is there, and the image's health check passes");
}

#[test]
fn the_guide_names_metrics_that_exist() {
    let metrics = Server::start().get("/metrics", "docket-1");
    let guide = read("docs/guides/fleet.md");
    let lower = |c: char| c.is_ascii_lowercase() || c == '_';
    let mut named = words(&guide, "docket_http_", lower);
    named.extend(words(&guide, "docket_ready", lower));
    assert!(named.len() >= 5, "the guide names few metrics: {named:?}");
    for name in named {
        let base = name.trim_end_matches("_bucket");
        assert!(metrics.contains(&format!("# TYPE {base} ")), "{name}");
    }
}
