//! A million items beside a thousand, and a hundred thousand that wait beside none: the same calls, as quick as before.
//!
//! Commits are not flushed here. Flushing takes the same time at every size and would hide what size costs.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};
use docket_core::command::{Advance, MoveRequest, MoveResult};
use docket_core::model::{ItemRef, Trigger};
use docket_core::query::{Delta, Includes, NextQuery, ParentReach, Section};
use docket_core::search;
use docket_core::store::{Around, Filter};
use docket_core::workflow::Target;
use docket_store_sqlite::Durability;
use serde_json::json;

use super::claims::{agent, claim};
use crate::base::{Base, call, runtime};
use crate::forest;
use crate::report::{Bound, Row, Unit};
use crate::stage::{Stage, copy};
use crate::stats::Samples;

const SMALL: u32 = 1_000;
const LARGE: u32 = 1_000_000;
const LARGE_QUICK: u32 = 100_000;
/// Items that wait, before any that is ready.
const BLOCKED: u32 = 100_000;
const BLOCKED_QUICK: u32 = 20_000;
/// Calls of each kind in one round; a small database has no more than this many leaves to start.
const CALLS: usize = 20;
/// Roots that an overview shows, as the surfaces ask for.
const ROOTS: usize = 20;
const MOST: Bound = Bound::AtMost(2.0);
/// Grows with what is generated here, so that no older database is taken for a new one.
const GENERATION: u32 = 1;

const KINDS: [Kind; 7] =
    [Kind::Claim, Kind::Get, Kind::Search, Kind::Advance, Kind::Overview, Kind::DeltaRead, Kind::Queue];

#[derive(Clone, Copy, Debug)]
enum Kind {
    Claim,
    Get,
    Search,
    Advance,
    Overview,
    DeltaRead,
    Queue,
}

impl Kind {
    fn as_str(self) -> &'static str {
        match self {
            Self::Claim => "find-and-claim",
            Self::Get => "get",
            Self::Search => "search",
            Self::Advance => "advance",
            Self::Overview => "overview",
            Self::DeltaRead => "delta read",
            Self::Queue => "queue",
        }
    }
}

pub(crate) fn run(stage: &Stage) -> Result<Vec<Row>> {
    runtime()?.block_on(async {
        let mut rows = sizes(stage).await?;
        rows.push(blocked(stage).await?);
        Ok(rows)
    })
}

async fn sizes(stage: &Stage) -> Result<Vec<Row>> {
    let folder = stage.folder("scale")?;
    let many = if stage.quick { LARGE_QUICK } else { LARGE };
    let small = forest(stage, SMALL).await?;
    let large = forest(stage, many).await?;
    let rounds = stage.pick(9, 3);
    // What a run writes is undone by beginning the next one with a copy.
    let large = Base::open(&copy(&large, &folder.join("large.db"))?, Durability::Normal).await?;
    let startable = forest::startable(many, CALLS * (rounds + 1));
    let mut samples: Vec<(Samples, Samples)> = KINDS.map(|_| Default::default()).into();
    for round in 0..=rounds {
        let fresh = copy(&small, &folder.join(format!("small-{round}.db")))?;
        let little = Base::open(&fresh, Durability::Normal).await?;
        for (turn, little_leaf) in forest::startable(SMALL, CALLS).into_iter().enumerate() {
            let leaf = startable.get(round * CALLS + turn).context("too few leaves to start")?;
            let place = u32::try_from(round * CALLS + turn)?;
            for (kind, (of_large, of_small)) in KINDS.iter().zip(&mut samples) {
                let a = time(&large, *kind, many, place, *leaf).await?;
                let b = time(&little, *kind, SMALL, place, little_leaf).await?;
                if round > 0 {
                    of_large.time(a);
                    of_small.time(b);
                }
            }
        }
        little.close().await;
    }
    large.close().await;
    let row = |(kind, (large, small)): (&Kind, &(Samples, Samples))| {
        let name = format!("{}, p50, {many} items to {SMALL}", kind.as_str());
        Row::versus(name, Unit::Seconds, large.median(), small.median(), MOST)
    };
    Ok(KINDS.iter().zip(&samples).map(row).collect())
}

/// Times one call. What it is about lies all over the database.
async fn time(base: &Base, kind: Kind, items: u32, place: u32, leaf: u32) -> Result<Duration> {
    let (engine, project) = (&base.engine, base.project());
    let named = |number: u32| ItemRef::Id(forest::id(number));
    let begun = Instant::now();
    match kind {
        Kind::Claim => claim(engine, project, &agent()).await?,
        Kind::Get => {
            let wanted = named(place.wrapping_mul(2_654_435_761) % items + 1);
            let seen = engine.show(&project, std::slice::from_ref(&wanted), Around::default()).await?;
            seen.resolve(&wanted)?;
        }
        Kind::Search => {
            let words = search::terms(forest::RARE_WORD);
            let found = engine.find(&Filter { project, words, limit: 50, count: true, ..Filter::default() }).await?;
            ensure!(found.total == u64::from(forest::RARE), "{} of {} found", found.total, forest::RARE);
        }
        Kind::Advance => {
            let target = Target::Trigger(Trigger::Start);
            let request =
                MoveRequest { item: named(leaf), target, summary: None, by: None, fence: None, expected_version: None };
            let moved = engine.run(call()?, Advance { project, moves: vec![request], atomic: true }).await?;
            ensure!(matches!(moved.results.as_slice(), [MoveResult::Applied(_)]), "a leaf was not started");
        }
        Kind::Overview => {
            let overview = engine.overview(&project, ROOTS, false).await?;
            ensure!(overview.entries.len() == ROOTS, "an overview was too short");
        }
        Kind::DeltaRead => {
            let wanted = named(place.wrapping_mul(2_654_435_761) % items + 1);
            let includes = Includes { parent: ParentReach::Summary, ..Includes::default() };
            let read = engine.dossier(&project, &wanted, includes).await?;
            let sections = || [(Section::Guard, json!([read.key, read.item.status, read.item.version, read.verdict]))];
            let first = Delta::new("item", &[Section::Guard], sections().into(), None)?;
            let again = Delta::new("item", &[Section::Guard], sections().into(), Some(&first.token))?;
            ensure!(again.is_unchanged(), "nothing has changed");
        }
        Kind::Queue => {
            let page = engine.next(&NextQuery::of(project, ROOTS), None).await?;
            ensure!(!page.items.is_empty(), "nothing is ready");
        }
    }
    Ok(begun.elapsed())
}

/// Claims where much urgent work waits, beside claims where none does.
async fn blocked(stage: &Stage) -> Result<Row> {
    let samples = stage.pick(200, 60);
    let blocked = if stage.quick { BLOCKED_QUICK } else { BLOCKED };
    let folder = stage.folder("blocked")?;
    let ready = u32::try_from(samples + 50)?;
    let ours = Base::open(&folder.join("behind.db"), Durability::Normal).await?;
    forest::sow_behind(&ours, blocked, ready).await?;
    let plain = Base::open(&folder.join("plain.db"), Durability::Normal).await?;
    forest::sow_behind(&plain, 0, ready).await?;
    let (mut behind, mut free) = (Samples::default(), Samples::default());
    for sample in 0..samples + 20 {
        let a = time(&ours, Kind::Claim, 0, 0, 0).await?;
        let b = time(&plain, Kind::Claim, 0, 0, 0).await?;
        if sample >= 20 {
            behind.time(a);
            free.time(b);
        }
    }
    ours.close().await;
    plain.close().await;
    let name = format!("find-and-claim, p50, past {blocked} blocked items to none");
    Ok(Row::versus(name, Unit::Seconds, behind.median(), free.median(), MOST))
}

/// A closed database with so many items, made once for a schema and kept.
async fn forest(stage: &Stage, items: u32) -> Result<PathBuf> {
    let schema = schema_version(&stage.folder("schema")?.join("empty.db")).await?;
    let kept = stage.cache()?.join(format!("forest-{items}-schema-{schema}-{GENERATION}.db"));
    if kept.is_file() {
        return Ok(kept);
    }
    let unfinished = kept.with_extension("unfinished");
    for leftover in ["unfinished", "unfinished-wal", "unfinished-shm"] {
        match std::fs::remove_file(kept.with_extension(leftover)) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => return Err(error.into()),
            Ok(()) | Err(_) => {}
        }
    }
    let base = Base::open(&unfinished, Durability::Normal).await?;
    forest::plant(&base, items).await?;
    base.close().await;
    std::fs::rename(&unfinished, &kept)?;
    Ok(kept)
}

/// What a database of this program looks like, as a number: a cached one of another shape is of no use.
async fn schema_version(path: &Path) -> Result<u64> {
    use std::hash::{DefaultHasher, Hash as _, Hasher as _};
    if !path.is_file() {
        Base::open(path, Durability::Normal).await?.close().await;
    }
    let mut raw = crate::raw::Raw::open(path)?;
    let rows = raw.rows("SELECT coalesce(sql, '') AS sql FROM sqlite_schema ORDER BY name")?;
    raw.close()?;
    let mut hasher = DefaultHasher::new();
    format!("{rows:?}").hash(&mut hasher);
    Ok(hasher.finish())
}
