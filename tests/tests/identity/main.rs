//! Credentials against real keys and a real server that misbehaves.

mod algorithms;
mod bearer;
mod proofs;
mod server;
mod serving;
mod sign;
mod sources;
mod surface;
