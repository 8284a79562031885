//! The baseline of every MCP call: a server on stdio with one tool that does nothing and answers a constant.
fn main() {}
