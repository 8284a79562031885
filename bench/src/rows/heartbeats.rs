//! Signs of life: a fleet of 200 sessions beats a thousand times a second while others claim. Claims are measured in turn with
//! and without it.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use docket_core::command::{BeginSession, Heartbeat};
use docket_core::model::{Key, Progress, Runtime, SessionId};
use docket_store_sqlite::Durability;
use tokio::task::JoinSet;

use super::claims::{CALLERS, EACH, crowd};
use crate::base::{Base, call_by, runtime};
use crate::forest;
use crate::report::{Bound, Row, Unit};
use crate::stage::Stage;
use crate::stats::{Samples, rate};

/// Sessions that beat at the same time.
const SESSIONS: u32 = 200;
/// How often each of them does: a thousand beats a second in all.
const EVERY: Duration = Duration::from_millis(200);
/// How many of a thousand beats a second are heard at the least, while others claim.
const HEARD: f64 = 950.0;
/// Beats of each session in the measurement of how many there can be.
const BEATS: usize = 10;

pub(crate) fn run(stage: &Stage) -> Result<Vec<Row>> {
    runtime()?.block_on(async {
        let folder = stage.folder("heartbeats")?;
        let rounds = stage.pick(9, 3);
        let base = Base::open(&folder.join("beats.db"), Durability::Full).await?;
        forest::sow(&base, SESSIONS + u32::try_from((rounds + 1) * 2 * CALLERS * EACH)?).await?;
        let sessions = begin(&base).await?;
        let (mut still, mut busy, mut heard) = (Samples::default(), Samples::default(), Samples::default());
        for round in 0..=rounds {
            let without = rate(CALLERS * EACH, crowd(&base).await?);
            let fleet = Fleet::start(&base, &sessions);
            let with = rate(CALLERS * EACH, crowd(&base).await?);
            let beaten = fleet.stop().await?;
            // The first round warms up.
            if round > 0 {
                still.push(without);
                busy.push(with);
                heard.push(beaten);
            }
        }
        let most = at_once(&base, &sessions).await?;
        base.close().await;
        let name = format!("durable claims while {SESSIONS} sessions beat, to claims alone");
        Ok(vec![
            Row::versus(name, Unit::PerSecond, busy.median(), still.median(), Bound::AtLeast(0.8)),
            Row::alone("heartbeats heard meanwhile", Unit::PerSecond, heard.median(), Bound::AtLeast(HEARD)),
            Row::alone("heartbeats as fast as they go", Unit::PerSecond, most, Bound::AtLeast(1000.0)),
        ])
    })
}

/// One session for each of the first items, each of an agent of its own.
async fn begin(base: &Base) -> Result<Vec<(String, SessionId)>> {
    let mut sessions = Vec::new();
    for number in 1..=SESSIONS {
        let agent = format!("beater-{number}");
        let begin = BeginSession {
            project: base.project(),
            item: docket_core::model::ItemRef::Key(Key { prefix: base.project.prefix.clone(), number }),
            expected_actor: None,
            runtime: Runtime::default(),
            ttl: None,
        };
        let made = base.engine.run(call_by(&agent)?, begin).await?;
        sessions.push((agent, made.session.id));
    }
    Ok(sessions)
}

/// Sessions that beat until they are stopped.
struct Fleet {
    beating: JoinSet<Result<()>>,
    beaten: Arc<AtomicU64>,
    begun: Instant,
}

impl Fleet {
    fn start(base: &Base, sessions: &[(String, SessionId)]) -> Self {
        let beaten = Arc::new(AtomicU64::new(0));
        let mut beating = JoinSet::new();
        for (place, (agent, session)) in sessions.iter().cloned().enumerate() {
            let (engine, beaten) = (base.engine.clone(), Arc::clone(&beaten));
            beating.spawn(async move {
                // Spread over the interval, as agents are that know nothing of each other.
                tokio::time::sleep(EVERY * u32::try_from(place)? / SESSIONS).await;
                let mut ticks = tokio::time::interval(EVERY);
                loop {
                    ticks.tick().await;
                    let progress = Some(Progress { percent: Some(50), ..Progress::default() });
                    engine.run(call_by(&agent)?, Heartbeat { session, progress }).await?;
                    beaten.fetch_add(1, Ordering::Relaxed);
                }
            });
        }
        Self { beating, beaten, begun: Instant::now() }
    }

    /// How many beats a second there were.
    async fn stop(mut self) -> Result<f64> {
        let took = self.begun.elapsed();
        let beaten = self.beaten.load(Ordering::Relaxed);
        while let Some(ended) = self.beating.try_join_next() {
            ended??;
        }
        ensure!(self.beating.len() == SESSIONS as usize, "a session stopped beating");
        self.beating.shutdown().await;
        Ok(rate(usize::try_from(beaten)?, took))
    }
}

/// How many beats a second there are when every session beats as soon as it was heard.
async fn at_once(base: &Base, sessions: &[(String, SessionId)]) -> Result<f64> {
    let begun = Instant::now();
    let mut beating = JoinSet::new();
    for (agent, session) in sessions.iter().cloned() {
        let engine = base.engine.clone();
        beating.spawn(async move {
            for _ in 0..BEATS {
                engine.run(call_by(&agent)?, Heartbeat { session, progress: None }).await?;
            }
            anyhow::Ok(())
        });
    }
    while let Some(done) = beating.join_next().await {
        done??;
    }
    Ok(rate(sessions.len() * BEATS, begun.elapsed()))
}
