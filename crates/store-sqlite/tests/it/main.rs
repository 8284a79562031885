//! The store through its public door, on real files.

mod admin;
mod finding;
mod opening;
mod reading;
mod round_trip;
mod scopes;
mod support;
mod waiting;
mod work;
mod writing;
