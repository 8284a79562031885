//! What `docket serve` keeps in memory, alone and with many who wait, and what those ask of the database while nothing happens: the few
//! looks that a message that was lost would be found by.

use std::time::Duration;

use anyhow::{Result, ensure};
use docket_store_sqlite::Durability;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use crate::base::{Base, runtime};
use crate::forest;
use crate::report::{Bound, Row, Unit};
use crate::stage::Stage;
use crate::web::Server;

const LONG_POLLS: usize = 1000;
const STREAMS: usize = 500;
const ITEMS: u32 = 1000;
/// Different things that the half of the long polls that wants work waits for.
const WISHES: usize = 10;
/// How long nothing happens: long enough for the look that those in front of a line take every 30 seconds, and within the minute that
/// a long poll lasts.
const IDLE: Duration = Duration::from_secs(45);
/// How often the database may be asked meanwhile: by four of each line once, in a few questions each, and not by those behind them.
const ASKED: f64 = 200.0;

pub(crate) fn run(stage: &Stage) -> Result<Vec<Row>> {
    // Connections are files.
    let most = getrlimit(Resource::Nofile).maximum;
    setrlimit(Resource::Nofile, Rlimit { current: most, maximum: most })?;
    let folder = stage.folder("serve")?;
    runtime()?.block_on(async {
        let base = Base::open(&folder.join("items.db"), Durability::Normal).await?;
        forest::sow(&base, ITEMS).await?;
        base.close().await;
        anyhow::Ok(())
    })?;
    let server = Server::docket(&stage.program("docket")?, "items.db", &folder)?;
    ensure!(server.ask("/api/v1/items/BEN-1")?.starts_with("HTTP/1.1 200"), "no item");
    std::thread::sleep(Duration::from_secs(1));
    let idle = server.resident()?;
    let mut waiting = Vec::new();
    let host = server.address;
    for number in 0..LONG_POLLS {
        let request = if number % 2 == 0 {
            format!("GET /api/v1/events?waitMs=60000 HTTP/1.1\r\nhost: {host}\r\n\r\n")
        } else {
            let body = format!("{{\"waitMs\":60000,\"tags\":[\"none-{}\"]}}", number / 2 % WISHES);
            format!(
                "POST /api/v1/queue/claim HTTP/1.1\r\nhost: {host}\r\nx-docket-actor: subagent:a{number}\r\n\
                 content-type: application/json\r\ncontent-length: {}\r\n\r\n{body}",
                body.len()
            )
        };
        waiting.push(server.begin(request.as_bytes())?);
    }
    for _ in 0..STREAMS {
        waiting.push(server.begin(format!("GET /api/v1/events/stream HTTP/1.1\r\nhost: {host}\r\n\r\n").as_bytes())?);
    }
    let all = f64::from(u32::try_from(waiting.len())?);
    server.wait_for("docket_http_waiters", all)?;
    server.wait_for("docket_http_requests_in_flight", 0.0)?;
    std::thread::sleep(Duration::from_secs(1));
    let asked = || server.metric("docket_store_asked_total");
    // What it costs to ask how often it was asked, after a while in which it is looked at anew whether there are keys.
    let first = asked()?;
    std::thread::sleep(Duration::from_millis(1500));
    let second = asked()?;
    std::thread::sleep(IDLE);
    let third = asked()?;
    let full = server.resident()?;
    server.wait_for("docket_http_waiters", all)?;
    drop(waiting);
    let with = format!("{LONG_POLLS} long polls and {STREAMS} event streams");
    Ok(vec![
        Row::alone("resident memory of docket serve, idle", Unit::MiB, idle, Bound::AtMost(40.0)),
        Row::alone(format!("memory that {with} add"), Unit::MiB, full - idle, Bound::AtMost(60.0)),
        Row::alone(
            format!("times the database is asked by all of them in {} s", IDLE.as_secs()),
            Unit::Count,
            (third - second) - (second - first),
            Bound::AtMost(ASKED),
        )
        .noted(format!("{WISHES} lines; the first four of each look once")),
    ])
}
