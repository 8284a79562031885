//! The parts of the bench: each measures a few promises and knows what they are held to.

mod agent;
mod check;
mod claims;
mod cycle;
mod heartbeats;
mod http;
mod knowledge;
mod mcp;
mod postgres;
mod race;
mod scale;
mod serve;
mod server;
mod tree;

use anyhow::Result;

use crate::report::Row;
use crate::stage::Stage;

/// A part: its name and how it is run.
pub(crate) type Part = (&'static str, fn(&Stage) -> Result<Vec<Row>>);

/// Every part, in the order of the table.
pub(crate) const PARTS: [Part; 13] = [
    ("claims", claims::run),
    ("heartbeats", heartbeats::run),
    ("mcp", mcp::run),
    ("scale", scale::run),
    ("race", race::run),
    ("tree", tree::run),
    ("cycle", cycle::run),
    ("check", check::run),
    ("knowledge", knowledge::run),
    ("server", server::run),
    ("http", http::run),
    ("serve", serve::run),
    ("postgres", postgres::run),
];
