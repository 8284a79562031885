//! The runner with real processes: what a command finds, how it ends, and what is left of it.

mod containment;
mod cwd;
mod endings;
mod environment;
mod log;
mod own;
mod support;
