//! Walks over edges that were loaded: what waits for what, cycles and orders. Pure and bounded by what was loaded.

mod order;
mod waits;
mod ways;

pub use order::{longest_path, topological};
pub use waits::{Stage, Waits, cycle_error};
pub use ways::{Ways, ring_error};
