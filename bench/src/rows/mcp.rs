//! Calls over MCP at 10,000 items, in turn with calls of a server that does nothing but answer as much.
//!
//! Some rounds of calls go to one server, then as many calls to the other: call by call, each would find the processor
//! as the other had left it, awake or asleep, which changes a call's time by half.

use anyhow::Result;

use super::agent::{Agent, STEPS, Step, fill};
use crate::peer::Peer;
use crate::report::{Bound, Row, Unit};
use crate::stage::Stage;
use crate::stats::Samples;

const ITEMS: usize = 10_000;
/// Rounds of calls to one server before it is the other's turn.
const ROUNDS: usize = 10;
/// Commits survive the end of the process, not a power cut: a flush would be most of every write.
const SETTINGS: &str = "[store]\ndurability = \"normal\"\n";

pub(crate) fn run(stage: &Stage) -> Result<Vec<Row>> {
    let folder = stage.folder("mcp")?;
    std::fs::write(folder.join("docket.toml"), SETTINGS)?;
    let mut ours = Peer::start(
        &stage.program("docket")?,
        &["--db", "docket.db", "mcp", "--surface", "task-orchestrator"],
        &folder,
    )?;
    fill(&mut ours, ITEMS)?;
    let mut agent = Agent::new("agent-1");
    let noop = stage.program("noop-mcp")?;
    let mut noops = Vec::new();
    for step in STEPS {
        // An answer says everything twice, as text and as a value; the frame around both is about as long as the noop's.
        let bytes = agent.take(&mut ours, step, 0)?.bytes / 2;
        noops.push(Peer::start(&noop, &[&bytes.to_string()], &folder)?);
    }
    let mut samples: Vec<(Samples, Samples)> = STEPS.map(|_| Default::default()).into();
    for turn in 0..=stage.pick(100, 20) {
        let mut took: Vec<(Samples, Samples)> = STEPS.map(|_| Default::default()).into();
        for round in 0..ROUNDS {
            for (step, (called, _)) in STEPS.into_iter().zip(&mut took) {
                called.time(agent.take(&mut ours, step, turn * ROUNDS + round)?.took);
            }
        }
        for (noop, (_, nothing)) in noops.iter_mut().zip(&mut took) {
            for _ in 0..ROUNDS {
                nothing.time(noop.call("noop", &serde_json::json!({}))?.took);
            }
        }
        // The first turn warms up.
        if turn > 0 {
            for ((called, nothing), (more_called, more_nothing)) in samples.iter_mut().zip(took) {
                called.extend(more_called);
                nothing.extend(more_nothing);
            }
        }
    }
    ours.stop()?;
    for noop in noops {
        noop.stop()?;
    }
    let row = |(step, (called, nothing)): (Step, &(Samples, Samples))| {
        let name = format!("MCP {}, p50, {ITEMS} items, to a call that does nothing", step.as_str());
        Row::versus(name, Unit::Seconds, called.median(), nothing.median(), Bound::AtMost(2.5))
    };
    Ok(STEPS.into_iter().zip(&samples).map(row).collect())
}
