//! Durable claims: how many a second by 64 agents at once, and how long one agent waits for one.

use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use docket_core::Engine;
use docket_core::command::{ClaimNext, Wanted};
use docket_core::store::ProjectRef;
use docket_store_sqlite::Durability;
use tokio::task::JoinSet;

use crate::base::{Base, call_by, runtime};
use crate::forest;
use crate::raw::Raw;
use crate::report::{Bound, Row, Unit};
use crate::stage::{Stage, copy};
use crate::stats::{Samples, rate};

/// Agents that claim at the same time, and claims in one raw commit.
pub(super) const CALLERS: usize = 64;
/// Claims of each agent in one round.
pub(super) const EACH: usize = 16;
/// Claims by one agent before it is the raw connection's turn.
const IN_TURN: usize = 10;
/// Raw claims with a commit each, in one round.
const ALONE: usize = 150;

pub(crate) fn run(stage: &Stage) -> Result<Vec<Row>> {
    runtime()?.block_on(async {
        let folder = stage.folder("claims")?;
        let rounds = stage.pick(9, 3);
        let filled = folder.join("filled.db");
        let base = Base::open(&filled, Durability::Normal).await?;
        forest::sow(&base, u32::try_from(rounds * 2 * CALLERS * EACH)?).await?;
        base.close().await;
        let mut rows = many(&folder, &filled, rounds).await?;
        rows.push(one(&folder, &filled, stage.pick(400, 100)).await?);
        Ok(rows)
    })
}

/// 64 agents at once, in turn with raw claims in batches and raw claims with a commit each.
async fn many(folder: &Path, filled: &Path, rounds: usize) -> Result<Vec<Row>> {
    let ours = Base::open(&copy(filled, &folder.join("ours.db"))?, Durability::Full).await?;
    let mut batched = Raw::open(&copy(filled, &folder.join("batched.db"))?)?;
    let mut single = Raw::open(&copy(filled, &folder.join("single.db"))?)?;
    let (mut claims, mut together, mut alone) = (Samples::default(), Samples::default(), Samples::default());
    let commits = ours.commits();
    for round in 0..=rounds {
        let figures = [
            rate(CALLERS * EACH, crowd(&ours).await?),
            rate(CALLERS * EACH, batches(&mut batched, &ours)?),
            rate(ALONE, singles(&mut single, &ours, ALONE)?),
        ];
        // The first round warms up.
        if round > 0 {
            claims.push(figures[0]);
            together.push(figures[1]);
            alone.push(figures[2]);
        }
    }
    let made = ours.commits() - commits;
    let together_size = rate((rounds + 1) * CALLERS * EACH, Duration::from_secs(made.max(1)));
    ours.close().await;
    batched.close()?;
    single.close()?;
    let name = |than: &str| format!("durable claims, {CALLERS} callers, to raw {than}");
    let note = format!("{together_size:.0} claims a commit");
    Ok(vec![
        Row::versus(name("in batches of 64"), Unit::PerSecond, claims.median(), together.median(), Bound::AtLeast(0.5))
            .noted(note.clone()),
        Row::versus(name("one to a commit"), Unit::PerSecond, claims.median(), alone.median(), Bound::AtLeast(8.0))
            .noted(note),
    ])
}

/// One agent, in turn with a raw claim.
async fn one(folder: &Path, filled: &Path, samples: usize) -> Result<Row> {
    let ours = Base::open(&copy(filled, &folder.join("one.db"))?, Durability::Full).await?;
    let mut raw = Raw::open(&copy(filled, &folder.join("raw.db"))?)?;
    let (mut claims, mut commits) = (Samples::default(), Samples::default());
    for turn in 0..=samples / IN_TURN {
        for _ in 0..IN_TURN {
            let begun = Instant::now();
            claim(&ours.engine, ours.project(), &agent()).await?;
            // The first turn warms up.
            if turn > 0 {
                claims.time(begun.elapsed());
            }
        }
        for _ in 0..IN_TURN {
            let took = singles(&mut raw, &ours, 1)?;
            if turn > 0 {
                commits.time(took);
            }
        }
    }
    ours.close().await;
    raw.close()?;
    Ok(Row::versus(
        "claim by one caller, p50, to a raw commit",
        Unit::Seconds,
        claims.median(),
        commits.median(),
        Bound::AtMost(1.5),
    ))
}

pub(super) async fn crowd(base: &Base) -> Result<Duration> {
    let begun = Instant::now();
    let mut callers = JoinSet::new();
    for _ in 0..CALLERS {
        let (engine, project) = (base.engine.clone(), base.project());
        callers.spawn(async move {
            for _ in 0..EACH {
                claim(&engine, project.clone(), &agent()).await?;
            }
            anyhow::Ok(())
        });
    }
    while let Some(done) = callers.join_next().await {
        done??;
    }
    Ok(begun.elapsed())
}

fn batches(raw: &mut Raw, base: &Base) -> Result<Duration> {
    let begun = Instant::now();
    for _ in 0..EACH {
        let agents: Vec<String> = (0..CALLERS).map(|_| agent()).collect();
        raw.claim_together(base.project.id, &agents)?;
    }
    Ok(begun.elapsed())
}

fn singles(raw: &mut Raw, base: &Base, count: usize) -> Result<Duration> {
    let begun = Instant::now();
    for _ in 0..count {
        raw.claim(base.project.id, &agent())?;
    }
    Ok(begun.elapsed())
}

/// Finds and claims the best ready item.
pub(super) async fn claim(engine: &Engine, project: ProjectRef, agent: &str) -> Result<()> {
    let next = ClaimNext { project, wanted: Wanted::default(), ttl: None };
    let offer = engine.run(call_by(agent)?, next).await?;
    ensure!(offer.held.is_some(), "no item was left to claim");
    Ok(())
}

/// An agent who has claimed nothing yet, so that no claim ends another.
pub(super) fn agent() -> String {
    static MADE: AtomicU64 = AtomicU64::new(0);
    format!("agent-{}", MADE.fetch_add(1, Ordering::Relaxed))
}
