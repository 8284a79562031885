//! What tests of the whole share: the real program, a small MCP client, and rows to compare with.
#![expect(
    clippy::missing_panics_doc,
    clippy::needless_pass_by_value,
    reason = "tests stop at the first thing that is wrong, and say what they send where they send it"
)]

pub mod audit;
pub mod certificates;
pub mod contract;
pub mod mcp;
pub mod older;
pub mod own_postgres;
pub mod places;
pub mod postgres;
pub mod program;
pub mod repository;
pub mod scopes;
pub mod web;
