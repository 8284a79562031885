//! How soon `docket mcp` answers after it was started, and how much memory it keeps.

use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Result, ensure};

use super::agent::{Agent, STEPS, fill};
use crate::peer::Peer;
use crate::report::{Bound, Row, Unit};
use crate::stage::Stage;
use crate::stats::Samples;

const CALLS: usize = 100_000;
const CALLS_QUICK: usize = 10_000;
const WORDS: [&str; 5] = ["--db", "docket.db", "mcp", "--surface", "task-orchestrator"];

pub(crate) fn run(stage: &Stage) -> Result<Vec<Row>> {
    let folder = stage.folder("server")?;
    std::fs::write(folder.join("docket.toml"), "[store]\ndurability = \"normal\"\n")?;
    let program = stage.program("docket")?;
    let mut peer = Peer::start(&program, &WORDS, &folder)?;
    fill(&mut peer, 1_000)?;
    peer.stop()?;
    let (mut started, mut nothing) = (Samples::default(), Samples::default());
    for round in 0..=stage.pick(40, 15) {
        let begun = Instant::now();
        let mut peer = Peer::start(&program, &WORDS, &folder)?;
        let tools = peer.list_tools()?;
        let took = begun.elapsed();
        ensure!(tools > 0, "no tools");
        peer.stop()?;
        let baseline = spawn_true()?;
        if round > 0 {
            started.time(took);
            nothing.time(baseline);
        }
    }
    let mut rows = vec![Row::versus(
        "spawn of docket mcp to its answered tools/list, p50, to the spawn of /bin/true",
        Unit::Seconds,
        started.median(),
        nothing.median(),
        Bound::AtMost(15.0),
    )];
    rows.extend(memory(stage, Peer::start(&program, &WORDS, &folder)?)?);
    Ok(rows)
}

fn memory(stage: &Stage, mut peer: Peer) -> Result<Vec<Row>> {
    peer.list_tools()?;
    let idle = peer.resident()?;
    let calls = stage.pick(CALLS, CALLS_QUICK);
    let mut agent = Agent::new("agent-1");
    for round in 0..calls.div_ceil(STEPS.len()) {
        for step in STEPS {
            agent.take(&mut peer, step, round)?;
        }
    }
    let after = peer.resident()?;
    peer.stop()?;
    Ok(vec![
        Row::alone("resident memory of docket mcp, idle", Unit::MiB, idle, Bound::AtMost(25.0)),
        Row::alone(format!("resident memory after {calls} calls"), Unit::MiB, after, Bound::AtMost(100.0)),
    ])
}

fn spawn_true() -> Result<Duration> {
    let begun = Instant::now();
    let status = Command::new("/bin/true").stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).status()?;
    ensure!(status.success(), "/bin/true failed");
    Ok(begun.elapsed())
}
