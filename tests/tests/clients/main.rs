//! Programs of others against the real program: the official clients of MCP, its conformance suite, and schemathesis.
//!
//! They come from the package registries, into the target folder. Where those do not answer, the tests say so and pass, unless
//! `DOCKET_TEST_CLIENTS=required`: the same behaviour is tested by our own client too.

mod conformance;
mod fixture;
mod install;
mod python;
mod typescript;
