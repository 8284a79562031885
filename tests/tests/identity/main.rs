//! Credentials against real keys and a real server that misbehaves.

mod actors;
mod algorithms;
mod bearer;
mod https;
mod proofs;
mod resource;
mod scopes;
mod server;
mod serving;
mod sign;
mod sources;
mod surface;
