//! A server over HTTP that was started for the bench, and a small client: as little as can be, so that what is measured is
//! the server.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::SocketAddr;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail, ensure};
use serde_json::Value;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use crate::peer::resident;

/// How long a server may take for anything.
const PATIENCE: Duration = Duration::from_secs(30);

/// A running server.
pub(crate) struct Server {
    child: Child,
    pub(crate) address: SocketAddr,
}

impl Server {
    /// Starts a program that says in JSON where it listens.
    pub(crate) fn start(program: &Path, words: &[&str], folder: &Path) -> Result<Self> {
        let mut child = Command::new(program)
            .args(words)
            .current_dir(folder)
            .env_remove("DOCKET_DB")
            .env_remove("DOCKET_CONFIG")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .with_context(|| format!("cannot start {}", program.display()))?;
        let mut line = String::new();
        BufReader::new(child.stdout.take().context("no pipe from the server")?).read_line(&mut line)?;
        let told: Value = serde_json::from_str(&line).with_context(|| format!("the server says {line:?}"))?;
        let address = told["url"].as_str().and_then(|url| url.strip_prefix("http://")?.parse().ok());
        let address = address.with_context(|| format!("no address in {line:?}"))?;
        Ok(Self { child, address })
    }

    /// `docket serve` on a database.
    pub(crate) fn docket(program: &Path, database: &str, folder: &Path) -> Result<Self> {
        Self::start(program, &["--json", "--db", database, "serve", "--listen", "127.0.0.1:0"], folder)
    }

    /// Resident memory, in MiB.
    pub(crate) fn resident(&self) -> Result<f64> {
        resident(self.child.id())
    }

    /// Sends a request on a connection of its own, and leaves the answer.
    pub(crate) fn begin(&self, request: &[u8]) -> Result<std::net::TcpStream> {
        let mut stream = std::net::TcpStream::connect(self.address)?;
        stream.write_all(request)?;
        Ok(stream)
    }

    /// One answer as it came, head and body.
    pub(crate) fn ask(&self, path: &str) -> Result<String> {
        let request = format!("GET {path} HTTP/1.1\r\nhost: {}\r\nconnection: close\r\n\r\n", self.address);
        let mut stream = self.begin(request.as_bytes())?;
        stream.set_read_timeout(Some(PATIENCE))?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer)?;
        Ok(answer)
    }

    /// A number that the server counts.
    pub(crate) fn metric(&self, name: &str) -> Result<f64> {
        let metrics = self.ask("/metrics")?;
        let found = metrics.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
        Ok(found.with_context(|| format!("no {name} among the metrics"))?.parse()?)
    }

    /// Waits until a number is as it should be.
    pub(crate) fn wait_for(&self, name: &str, wanted: f64) -> Result<()> {
        let begun = Instant::now();
        loop {
            let now = self.metric(name)?;
            if (now - wanted).abs() < 0.5 {
                return Ok(());
            }
            ensure!(begun.elapsed() < PATIENCE, "{name} is {now}, and not {wanted}");
            std::thread::sleep(Duration::from_millis(100));
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // Everything it wrote is gone with the run.
        _ = self.child.kill();
        _ = self.child.wait();
    }
}

/// One connection that stays open: a request, then its answer.
pub(crate) struct Connection {
    stream: TcpStream,
    buffer: Vec<u8>,
}

impl Connection {
    pub(crate) async fn open(address: SocketAddr) -> Result<Self> {
        let stream = TcpStream::connect(address).await?;
        stream.set_nodelay(true)?;
        Ok(Self { stream, buffer: Vec::with_capacity(16 * 1024) })
    }

    /// Sends a request and returns the body of an answer with status 200.
    pub(crate) async fn send(&mut self, request: &[u8]) -> Result<&[u8]> {
        self.stream.write_all(request).await?;
        self.buffer.clear();
        let (head, length) = loop {
            self.more().await?;
            if let Some(head) = self.buffer.windows(4).position(|window| window == b"\r\n\r\n") {
                break (head + 4, content_length(&self.buffer[..head])?);
            }
        };
        while self.buffer.len() < head + length {
            self.more().await?;
        }
        let body = &self.buffer[head..head + length];
        if !self.buffer.starts_with(b"HTTP/1.1 200") {
            bail!("{}", String::from_utf8_lossy(&self.buffer));
        }
        Ok(body)
    }

    async fn more(&mut self) -> Result<()> {
        let read = tokio::time::timeout(PATIENCE, self.stream.read_buf(&mut self.buffer)).await??;
        ensure!(read > 0, "the server closed the connection");
        Ok(())
    }
}

fn content_length(head: &[u8]) -> Result<usize> {
    let head = std::str::from_utf8(head)?;
    let length = head.lines().find_map(|line| {
        let (name, value) = line.split_once(':')?;
        name.eq_ignore_ascii_case("content-length").then(|| value.trim().parse().ok())?
    });
    length.with_context(|| format!("no length in {head:?}"))
}
