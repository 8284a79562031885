//! The server over HTTP, through the real program: every route, its errors, bad input, bad bytes and bad days.

mod bad_bytes;
mod bad_input;
mod conditions;
mod document;
mod events;
mod items;
mod limits;
mod mcp;
mod parity;
mod replicas;
mod rest_of_it;
mod starting;
mod work;
