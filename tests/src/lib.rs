//! What tests of the whole share: the real program, a small MCP client, and rows to compare with.

pub mod audit;
pub mod mcp;
pub mod program;
