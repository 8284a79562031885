//! The engine.
pub struct Engine;
