//! The ways in: lines of JSON over standard input and output, and requests over HTTP.

mod http;
mod line;
mod message;
mod recall;
mod stdio;

pub use http::{HttpEndpoint, StatelessHttp, tells_only};
pub use line::LINE_BYTES;
pub use stdio::{ServeError, serve, serve_stdio};
