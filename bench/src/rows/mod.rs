//! The parts of the bench: each measures a few promises and knows what they are held to.

mod agent;
mod claims;
mod mcp;
mod race;
mod scale;
mod server;
mod tree;

use anyhow::Result;

use crate::report::Row;
use crate::stage::Stage;

/// A part: its name and how it is run.
pub(crate) type Part = (&'static str, fn(&Stage) -> Result<Vec<Row>>);

/// Every part, in the order of the table.
pub(crate) const PARTS: [Part; 6] = [
    ("claims", claims::run),
    ("mcp", mcp::run),
    ("scale", scale::run),
    ("race", race::run),
    ("tree", tree::run),
    ("server", server::run),
];
