//! Sixteen servers on one file race for 200 items: each item is claimed once, nobody sees an error, and all of it is about
//! as quick as one connection that claims them by hand.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Barrier;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, anyhow};
use docket_store_sqlite::Durability;
use serde_json::json;
use uuid::Uuid;

use super::agent::fill;
use super::claims::agent;
use crate::base::{Base, runtime};
use crate::forest;
use crate::peer::Peer;
use crate::raw::Raw;
use crate::report::{Bound, Row, Unit};
use crate::stage::Stage;
use crate::stats::{Samples, rate};

const PROCESSES: usize = 16;
const ITEMS: usize = 200;

/// How one race ended.
#[derive(Default)]
struct Outcome {
    /// How often each item was claimed.
    claimed: BTreeMap<String, usize>,
    /// What went wrong.
    errors: Vec<String>,
    /// From the start to the last claim.
    took: Duration,
}

pub(crate) fn run(stage: &Stage) -> Result<Vec<Row>> {
    let folder = stage.folder("race")?;
    let (mut raced, mut raw) = (Samples::default(), Samples::default());
    let (mut lost, mut twice, mut errors, mut first) = (0, 0, 0, None);
    for round in 0..stage.pick(5, 2) {
        let place = stage.folder(&format!("race/{round}"))?;
        let outcome = race(&stage.program("docket")?, &place)?;
        lost += ITEMS.saturating_sub(outcome.claimed.len());
        twice += outcome.claimed.values().filter(|times| **times > 1).count();
        errors += outcome.errors.len();
        first = first.or_else(|| outcome.errors.into_iter().next());
        raced.push(rate(ITEMS, outcome.took));
        raw.push(alone(&folder.join(format!("raw-{round}.db")))?);
    }
    let name = |what: &str| format!("{PROCESSES} processes race for {ITEMS} items: {what}");
    let count = |what: &str, count: usize| {
        let count = f64::from(u32::try_from(count).unwrap_or(u32::MAX));
        Row::alone(name(what), Unit::Count, count, Bound::AtMost(0.0))
    };
    Ok(vec![
        count("not claimed", lost),
        count("claimed twice", twice),
        count("errors", errors).noted(first.unwrap_or_default()),
        Row::versus(
            name("claims, to raw one to a commit"),
            Unit::PerSecond,
            raced.median(),
            raw.median(),
            Bound::AtLeast(0.5),
        ),
    ])
}

fn race(program: &Path, folder: &Path) -> Result<Outcome> {
    let words = ["--db", "docket.db", "mcp", "--surface", "task-orchestrator"];
    let mut peer = Peer::start(program, &words, folder)?;
    fill(&mut peer, ITEMS)?;
    peer.stop()?;
    let peers = (0..PROCESSES).map(|_| Peer::start(program, &words, folder)).collect::<Result<Vec<_>>>()?;
    let start = Barrier::new(PROCESSES);
    let mut outcome = Outcome::default();
    std::thread::scope(|scope| {
        let runners: Vec<_> = peers.into_iter().map(|peer| scope.spawn(|| runner(peer, &start))).collect();
        for runner in runners {
            let (claimed, took, error) = runner.join().map_err(|_| anyhow!("a runner panicked"))?;
            for item in claimed {
                *outcome.claimed.entry(item).or_default() += 1;
            }
            outcome.took = outcome.took.max(took);
            outcome.errors.extend(error.map(|error| format!("{error:#}")));
        }
        anyhow::Ok(())
    })?;
    Ok(outcome)
}

/// Claims until nothing is left; says what it got, when it got the last, and what went wrong.
fn runner(mut peer: Peer, start: &Barrier) -> (Vec<String>, Duration, Option<anyhow::Error>) {
    let mut claimed = Vec::new();
    let mut took = Duration::ZERO;
    start.wait();
    let begun = Instant::now();
    let error = loop {
        match claim_next(&mut peer) {
            Ok(Some(item)) => {
                claimed.push(item);
                took = begun.elapsed();
            }
            Ok(None) => break peer.stop().err(),
            Err(error) => break Some(error),
        }
    };
    (claimed, took, error)
}

/// Finds and claims an item as an agent that holds none; nothing when the queue is empty.
fn claim_next(peer: &mut Peer) -> Result<Option<String>> {
    let actor = json!({ "id": agent(), "kind": "subagent" });
    let arguments = json!({ "actor": actor, "claims": [{ "selector": {} }], "requestId": Uuid::new_v4() });
    let answer = peer.call("claim_item", &arguments)?;
    let result = &answer.content["claimResults"][0];
    match result["outcome"].as_str() {
        Some("success") => Ok(Some(result["itemId"].as_str().context("a claim without an item")?.to_owned())),
        Some("queue_empty" | "none_eligible") => Ok(None),
        _ => Err(anyhow!("{}", answer.content)),
    }
}

/// Raw claims a second, one to a commit, of as many items.
fn alone(path: &Path) -> Result<f64> {
    runtime()?.block_on(async {
        let base = Base::open(path, Durability::Normal).await?;
        forest::sow(&base, u32::try_from(ITEMS)?).await?;
        let project = base.project.id;
        base.close().await;
        let mut raw = Raw::open(path)?;
        let begun = Instant::now();
        for _ in 0..ITEMS {
            raw.claim(project, &agent())?;
        }
        let took = begun.elapsed();
        raw.close()?;
        Ok(rate(ITEMS, took))
    })
}
