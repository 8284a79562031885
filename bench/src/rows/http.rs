//! One item over HTTP, beside a route that does nothing.

use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use docket_store_sqlite::Durability;
use tokio::task::JoinSet;

use crate::base::{Base, runtime};
use crate::forest;
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

pub(crate) fn run(stage: &Stage) -> Result<Vec<Row>> {
    runtime()?.block_on(async {
        let folder = stage.folder("http")?;
        let database = folder.join("items.db");
        let base = Base::open(&database, Durability::Normal).await?;
        forest::sow(&base, ITEMS).await?;
        base.close().await;
        let ours = Server::docket(&stage.program("docket")?, "items.db", &folder)?;
        let request = |server: &Server, number: usize| {
            let number = number * 7919 % (ITEMS as usize) + 1;
            format!("GET /api/v1/items/BEN-{number} HTTP/1.1\r\nhost: {}\r\n\r\n", server.address)
        };
        let size = Connection::open(ours.address).await?.send(request(&ours, 1).as_bytes()).await?.len();
        ensure!(size > 200, "an item of {size} bytes");
        let nothing = Server::start(&stage.program("constant-http")?, &[&size.to_string()], &folder)?;
        let (mut items, mut constants) = (Samples::default(), Samples::default());
        for round in 0..=stage.pick(9, 3) {
            let figures = [crowd(&ours, request).await?, crowd(&nothing, request).await?];
            // The first round warms up.
            if round > 0 {
                items.push(rate(CONNECTIONS * EACH, figures[0]));
                constants.push(rate(CONNECTIONS * EACH, figures[1]));
            }
        }
        let name = format!("GET of an item over HTTP, {CONNECTIONS} connections, to a constant by axum");
        let row = Row::versus(name, Unit::PerSecond, items.median(), constants.median(), Bound::AtLeast(0.4));
        Ok(vec![row.noted(format!("{size} bytes each"))])
    })
}

async fn crowd(server: &Server, request: impl Fn(&Server, usize) -> String) -> Result<Duration> {
    let mut clients = JoinSet::new();
    let mut connections = Vec::new();
    for _ in 0..CONNECTIONS {
        connections.push(Connection::open(server.address).await?);
    }
    let begun = Instant::now();
    for (place, mut connection) in connections.into_iter().enumerate() {
        let requests: Vec<String> = (0..EACH).map(|number| request(server, place * EACH + number)).collect();
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
