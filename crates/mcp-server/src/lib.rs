//! Docket over the Model Context Protocol.
//!
//! A thin shell: it parses arguments into the engine's commands, calls the engine, and shapes the answers. Each set of
//! tools is a [`Surface`]; no surface holds a rule, and none knows which store is behind the engine. Nothing in this
//! crate writes to standard output but the protocol itself.

mod answer;
mod args;
mod dialects;
mod elicit;
mod elicit_checks;
mod input;
mod native;
mod offers;
mod parent_memory;
mod person;
mod progress;
mod rounds;
mod server;
mod session;
mod surface;
mod transport;
mod watch;

pub use answer::Answer;
pub use elicit::Elicited;
pub use server::DocketServer;
pub use session::{Session, Settings};
pub use surface::{Calling, Completing, Getting, Guide, Surface, Watch, names_projects, surface, surfaces};
pub use transport::{HttpEndpoint, LINE_BYTES, ServeError, StatelessHttp, serve, serve_stdio, tells_only};
