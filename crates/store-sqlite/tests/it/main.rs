//! The store through its public door, on real files.

mod support;
mod round_trip;
