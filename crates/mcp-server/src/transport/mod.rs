//! The ways in. Today there is one: lines of JSON over standard input and output.

mod line;
mod stdio;
mod strict;

pub use line::LINE_BYTES;
pub use stdio::{ServeError, serve, serve_stdio};
