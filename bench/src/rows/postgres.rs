//! Claims on Postgres: beside the same statements by a bare loop, and by two servers beside one.

use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};
use docket_core::model::ProjectId;
use tokio::task::JoinSet;

use super::claims::{agent, claim};
use crate::base::Base;
use crate::forest;
use crate::postgres::{Host, RawPostgres};
use crate::report::{Bound, Row, Unit};
use crate::stage::Stage;
use crate::stats::{Samples, rate};
use crate::web::{Connection, Server};

/// Connections to the server, and callers.
const CONNECTIONS: usize = 16;
/// Claims of each caller in one round.
const EACH: usize = 48;
/// Agents over HTTP, whichever server they ask: as many, so that the database has as much to do at a time by either way.
const AGENTS: usize = CONNECTIONS;
/// Claims of each of them in one round.
const AGENT_EACH: usize = 64;

pub(crate) fn run(stage: &Stage) -> Result<Vec<Row>> {
    // As many threads as `docket serve` has.
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().context("cannot start a runtime")?;
    runtime.block_on(async {
        let host = Host::find()?;
        let rounds = stage.pick(9, 4);
        let filled = host.database("filled", None).await?;
        let base = Base::at(&filled).await?;
        let items = (rounds + 1) * (CONNECTIONS * EACH).max(2 * AGENTS * AGENT_EACH) + 100;
        forest::sow(&base, u32::try_from(items)?).await?;
        let project = base.project.id;
        base.close().await;
        RawPostgres::open(&filled).await?.analyze().await?;
        let mut rows = vec![beside_raw(&host, project, rounds).await?];
        rows.push(two_beside_one(stage, &host, rounds).await?);
        host.leave(&["ours", "raw", "served", "filled"]).await?;
        Ok(rows)
    })
}

async fn beside_raw(host: &Host, project: ProjectId, rounds: usize) -> Result<Row> {
    let like = Some("docket_bench_filled");
    let ours = Base::at(&host.database("ours", like).await?).await?;
    let url = host.database("raw", like).await?;
    let mut raw = Vec::new();
    for _ in 0..CONNECTIONS {
        raw.push(RawPostgres::open(&url).await?);
    }
    let (mut claims, mut bare) = (Samples::default(), Samples::default());
    for round in 0..=rounds {
        let ours = by_engine(&ours).await?;
        let theirs;
        (theirs, raw) = by_loop(raw, project).await?;
        // The first round warms up.
        if round > 0 {
            claims.push(rate(CONNECTIONS * EACH, ours));
            bare.push(rate(CONNECTIONS * EACH, theirs));
        }
    }
    ours.close().await;
    let name = format!("claims on Postgres, {CONNECTIONS} connections, to the same statements by sqlx alone");
    Ok(Row::versus(name, Unit::PerSecond, claims.median(), bare.median(), Bound::AtLeast(0.5)))
}

async fn by_engine(base: &Base) -> Result<Duration> {
    let begun = Instant::now();
    let mut callers = JoinSet::new();
    for _ in 0..CONNECTIONS {
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

async fn by_loop(raw: Vec<RawPostgres>, project: ProjectId) -> Result<(Duration, Vec<RawPostgres>)> {
    let begun = Instant::now();
    let mut callers = JoinSet::new();
    for mut connection in raw {
        callers.spawn(async move {
            for _ in 0..EACH {
                connection.claim(project, &agent()).await?;
            }
            anyhow::Ok(connection)
        });
    }
    let mut raw = Vec::new();
    while let Some(done) = callers.join_next().await {
        raw.push(done??);
    }
    Ok((begun.elapsed(), raw))
}

/// The same agents, all at one server, in turn with half of them at each of two.
async fn two_beside_one(stage: &Stage, host: &Host, rounds: usize) -> Result<Row> {
    let folder = stage.folder("replicas")?;
    let program = stage.program("docket")?;
    let url = host.database("served", Some("docket_bench_filled")).await?;
    let servers = [Server::docket(&program, &url, &folder)?, Server::docket(&program, &url, &folder)?];
    let (mut one, mut two) = (Samples::default(), Samples::default());
    for round in 0..=rounds {
        let alone = by_agents(&servers[..1]).await?;
        let together = by_agents(&servers).await?;
        if round > 0 {
            one.push(rate(AGENTS * AGENT_EACH, alone));
            two.push(rate(AGENTS * AGENT_EACH, together));
        }
    }
    let name = format!("claims over HTTP by {AGENTS} agents, two servers on one Postgres, to one");
    let note = format!("medians of {rounds} rounds");
    Ok(Row::versus(name, Unit::PerSecond, two.median(), one.median(), Bound::AtLeast(1.0)).noted(note))
}

async fn by_agents(servers: &[Server]) -> Result<Duration> {
    let mut connections = Vec::new();
    for place in 0..AGENTS {
        let server = &servers[place % servers.len()];
        connections.push((Connection::open(server.address).await?, server.address));
    }
    let begun = Instant::now();
    let mut agents = JoinSet::new();
    for (mut connection, address) in connections {
        agents.spawn(async move {
            for _ in 0..AGENT_EACH {
                let request = format!(
                    "POST /api/v1/queue/claim HTTP/1.1\r\nhost: {address}\r\nx-docket-actor: subagent:{}\r\n\
                     content-type: application/json\r\ncontent-length: 2\r\n\r\n{{}}",
                    agent()
                );
                let offer: serde_json::Value = serde_json::from_slice(connection.send(request.as_bytes()).await?)?;
                ensure!(offer["held"].is_object(), "no item was left to claim: {offer}");
            }
            anyhow::Ok(())
        });
    }
    while let Some(done) = agents.join_next().await {
        done??;
    }
    Ok(begun.elapsed())
}
