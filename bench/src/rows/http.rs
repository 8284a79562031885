//! One item over HTTP, beside a route that does nothing: while nothing is committed, when answers are kept, and beside somebody who
//! writes, when they are not.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use docket_store_sqlite::Durability;
use tokio::task::JoinSet;

use crate::base::{Base, runtime};
use crate::forest;
use crate::postgres::{Host, RawPostgres};
use crate::report::{Bound, Row, Unit};
use crate::stage::Stage;
use crate::stats::{Samples, rate};
use crate::web::{Connection, Server};

/// Connections at a time.
const CONNECTIONS: usize = 32;
/// Requests on each of them in one round.
const EACH: usize = 200;
/// Items in the database.
const ITEMS: u32 = 10_000;

/// What one database came to.
#[derive(Default)]
struct Figures {
    /// While nothing is committed.
    quiet: Samples,
    /// Beside one who writes all the time, and how often that was.
    beside: Samples,
    commits: Samples,
    /// The route that does nothing, in turn with them.
    nothing: Samples,
}

pub(crate) fn run(stage: &Stage) -> Result<Vec<Row>> {
    runtime()?.block_on(async {
        let folder = stage.folder("http")?;
        let (program, rounds) = (stage.program("docket")?, stage.pick(9, 3));
        let base = Base::open(&folder.join("items.db"), Durability::Normal).await?;
        forest::sow(&base, ITEMS).await?;
        base.close().await;
        let ours = Server::docket(&program, "items.db", &folder)?;
        let size = Connection::open(ours.address).await?.send(read(&ours, 1).as_bytes()).await?.len();
        ensure!(size > 200, "an item of {size} bytes");
        let nothing = Server::start(&stage.program("constant-http")?, &[&size.to_string()], &folder)?;
        let on_file = measure(&ours, &nothing, rounds).await?;
        drop(ours);
        let host = Host::find()?;
        let url = host.database("items", None).await?;
        let base = Base::at(&url).await?;
        forest::sow(&base, ITEMS).await?;
        base.close().await;
        RawPostgres::open(&url).await?.analyze().await?;
        let ours = Server::docket(&program, &url, &folder)?;
        let on_server = measure(&ours, &nothing, rounds).await?;
        drop(ours);
        host.leave(&["items"]).await?;
        let mut rows = told("", &on_file, Bound::AtLeast(0.4), size);
        rows.extend(told(" on Postgres", &on_server, Bound::Told, size));
        Ok(rows)
    })
}

/// The rows of one database. What is held to anything is what was promised; the others say how much of it is due to answers that
/// are kept (ADR 0023), which a Postgres database never has.
fn told(on: &str, figures: &Figures, bound: Bound, size: usize) -> Vec<Row> {
    let row = |name: &str, figure: &Samples, bound| {
        let name = format!("GET of an item over HTTP{on}, {CONNECTIONS} connections{name}, to a constant by axum");
        Row::versus(name, Unit::PerSecond, figure.median(), figures.nothing.median(), bound)
    };
    let commits = format!("{:.0} commits /s", figures.commits.median());
    vec![
        row("", &figures.quiet, bound).noted(format!("{size} bytes each; nothing is committed meanwhile")),
        row(", beside one who writes", &figures.beside, Bound::Told).noted(commits),
    ]
}

async fn measure(ours: &Server, nothing: &Server, rounds: usize) -> Result<Figures> {
    let mut figures = Figures::default();
    for round in 0..=rounds {
        let quiet = crowd(ours).await?;
        let (beside, commits) = crowd_beside_a_writer(ours).await?;
        let constant = crowd(nothing).await?;
        // The first round warms up.
        if round > 0 {
            figures.quiet.push(rate(CONNECTIONS * EACH, quiet));
            figures.beside.push(rate(CONNECTIONS * EACH, beside));
            figures.commits.push(rate(commits, beside));
            figures.nothing.push(rate(CONNECTIONS * EACH, constant));
        }
    }
    Ok(figures)
}

fn read(server: &Server, number: usize) -> String {
    let number = number * 7919 % (ITEMS as usize) + 1;
    format!("GET /api/v1/items/BEN-{number} HTTP/1.1\r\nhost: {}\r\n\r\n", server.address)
}

async fn crowd(server: &Server) -> Result<Duration> {
    let mut clients = JoinSet::new();
    let mut connections = Vec::new();
    for _ in 0..CONNECTIONS {
        connections.push(Connection::open(server.address).await?);
    }
    let begun = Instant::now();
    for (place, mut connection) in connections.into_iter().enumerate() {
        let requests: Vec<String> = (0..EACH).map(|number| read(server, place * EACH + number)).collect();
        clients.spawn(async move {
            for request in requests {
                connection.send(request.as_bytes()).await?;
            }
            anyhow::Ok(())
        });
    }
    while let Some(done) = clients.join_next().await {
        done??;
    }
    Ok(begun.elapsed())
}

/// The same while one caller changes an item, again and again; and how often it did.
async fn crowd_beside_a_writer(server: &Server) -> Result<(Duration, usize)> {
    let over = Arc::new(AtomicBool::new(false));
    let writer = tokio::spawn(write(Connection::open(server.address).await?, server.address, Arc::clone(&over)));
    let took = crowd(server).await;
    over.store(true, Ordering::Relaxed);
    let commits = writer.await??;
    Ok((took?, commits))
}

async fn write(mut connection: Connection, address: std::net::SocketAddr, over: Arc<AtomicBool>) -> Result<usize> {
    let mut commits = 0;
    while !over.load(Ordering::Relaxed) {
        let body = format!("{{\"summary\":\"{}\"}}", uuid::Uuid::new_v4());
        let request = format!(
            "PATCH /api/v1/items/BEN-1 HTTP/1.1\r\nhost: {address}\r\ncontent-type: application/json\r\n\
             content-length: {}\r\n\r\n{body}",
            body.len()
        );
        connection.send(request.as_bytes()).await?;
        commits += 1;
    }
    Ok(commits)
}
