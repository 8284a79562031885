//! Docket over the Model Context Protocol.
//!
//! A thin shell: it parses arguments into the engine's commands, calls the engine, and shapes the answers. Each set of
//! tools is a [`Surface`]; no surface holds a rule, and none knows which store is behind the engine. Nothing in this
//! crate writes to standard output but the protocol itself.

mod answer;
mod dialects;
mod input;
mod server;
mod session;
mod surface;
mod transport;

pub use answer::Answer;
pub use server::DocketServer;
pub use session::{Session, Settings};
pub use surface::{Calling, Surface, surface, surfaces};
pub use transport::{HttpEndpoint, LINE_BYTES, ServeError, serve, serve_stdio};
