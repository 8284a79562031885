//! Docket's functional core: the model of work, the rules that move it, and the engine that runs a command.
//!
//! Nothing in this crate performs I/O. A command names what it must see ([`store::Scope`]), decides purely over the
//! [`store::Slice`] it was shown, and hands back a [`store::ChangeSet`]; a [`store::Store`] persists it whole or not
//! at all. Shells parse input into commands and render their outputs; stores hold no rule.

pub mod access;
pub mod checks;
pub mod command;
pub mod contract;
pub mod doctor;
pub mod engine;
mod error;
pub mod exchange;
pub mod gates;
pub mod graph;
pub mod knowledge;
pub mod limits;
pub mod markdown;
pub mod model;
#[cfg(feature = "openapi")]
mod openapi;
pub mod overlap;
pub mod plant;
pub mod proof;
pub mod prove;
pub mod query;
pub mod rank;
pub mod readiness;
pub mod replay;
pub mod search;
pub mod span;
pub mod store;
#[cfg(feature = "testing")]
pub mod testing;
pub mod wire;
pub mod workflow;

pub use engine::Engine;
pub use error::{Blocker, Code, Error, Gate, Invalid, Kind, Reason, Refusal, echo, is_bidi_control, is_confusable};
