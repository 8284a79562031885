//! A small MCP client: one request at a time, over the pipes of a server that it started. It blocks, so that what is
//! measured is the server and not a client's runtime.

use std::io::{BufRead as _, BufReader, Write as _};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail, ensure};
use serde_json::{Value, json};

const REVISION: &str = "2025-06-18";

/// A running server.
pub(crate) struct Peer {
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
    line: String,
    asked: u64,
}

/// An answer, and how long it took from the first byte sent to the last one read.
pub(crate) struct Answer {
    pub(crate) took: Duration,
    /// The structured content.
    pub(crate) content: Value,
    /// The length of the answer's line.
    pub(crate) bytes: usize,
}

impl Peer {
    /// Starts a server in a folder and opens the connection.
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
        let input = child.stdin.take().context("no pipe to the server")?;
        let output = BufReader::new(child.stdout.take().context("no pipe from the server")?);
        let mut peer = Self { child, input, output, line: String::new(), asked: 0 };
        let client = json!({ "name": "docket-bench", "version": env!("CARGO_PKG_VERSION") });
        peer.request("initialize", &json!({ "protocolVersion": REVISION, "capabilities": {}, "clientInfo": client }))?;
        peer.send("{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}\n")?;
        Ok(peer)
    }

    /// How many tools there are.
    pub(crate) fn list_tools(&mut self) -> Result<usize> {
        let (_, answer) = self.request("tools/list", &json!({}))?;
        answer["result"]["tools"].as_array().map(Vec::len).context("no tool list")
    }

    /// Calls a tool that must succeed.
    pub(crate) fn call(&mut self, tool: &str, arguments: &Value) -> Result<Answer> {
        let (elapsed, mut answer) = self.request("tools/call", &json!({ "name": tool, "arguments": arguments }))?;
        ensure!(answer["result"]["isError"] != json!(true), "{tool} failed: {answer}");
        let content = answer["result"]["structuredContent"].take();
        Ok(Answer { took: elapsed, content, bytes: self.line.len() })
    }

    /// Resident memory, in MiB.
    pub(crate) fn resident(&self) -> Result<f64> {
        resident(self.child.id())
    }

    /// Ends the server by ending its input.
    pub(crate) fn stop(self) -> Result<()> {
        let Self { mut child, input, .. } = self;
        drop(input);
        let status = child.wait()?;
        ensure!(status.success(), "the server ended with {status}");
        Ok(())
    }

    fn request(&mut self, method: &str, params: &Value) -> Result<(Duration, Value)> {
        self.asked += 1;
        let request = json!({ "jsonrpc": "2.0", "id": self.asked, "method": method, "params": params });
        let request = format!("{request}\n");
        let begun = Instant::now();
        self.send(&request)?;
        self.line.clear();
        let read = self.output.read_line(&mut self.line)?;
        let took = begun.elapsed();
        ensure!(read > 0, "the server went away during {method}");
        let answer: Value = serde_json::from_str(&self.line)?;
        if answer["id"] != json!(self.asked) || answer.get("result").is_none() {
            bail!("{method}: {}", self.line.trim_end());
        }
        Ok((took, answer))
    }

    fn send(&mut self, line: &str) -> Result<()> {
        self.input.write_all(line.as_bytes())?;
        Ok(self.input.flush()?)
    }
}

/// Resident memory of a process, in MiB.
pub(crate) fn resident(process: u32) -> Result<f64> {
    let status = std::fs::read_to_string(format!("/proc/{process}/status"))?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).context("no VmRSS")?;
    let kib: f64 = line.trim().trim_end_matches(" kB").parse()?;
    Ok(kib / 1024.0)
}
