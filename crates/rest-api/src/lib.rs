//! Docket over HTTP: REST with its OpenAPI document, live events, health and metrics, on one port.
//!
//! A thin shell: it parses a request into the engine's commands, calls the engine, and shapes the answer. It holds no rule,
//! knows no store and no other protocol: what answers at `/mcp` is handed in as an [`Endpoint`], and who a caller is comes
//! from a [`Gatekeeper`].

mod answer;
mod app;
mod bodies;
mod connection;
mod docs;
mod endpoint;
mod extract;
mod failure;
mod feed;
mod front;
mod gate;
mod hosts;
mod kept;
mod keys;
mod limits;
mod metrics;
pub mod openapi;
mod pages;
mod resource;
mod routes;
mod serve;
mod turn;

pub use app::{Adopt, App, Settings};
pub use endpoint::{Answering, Endpoint};
pub use front::REQUESTS;
pub use gate::{Actors, Caller, Denied, Gatekeeper, Lasting, LocalUser, Pass};
pub use hosts::Hosts;
pub use limits::Limits;
pub use pages::Page;
pub use serve::serve;
