//! Credentials against real keys and a real server that misbehaves.

mod bearer;
mod proofs;
mod server;
mod sign;
mod sources;
mod surface;
