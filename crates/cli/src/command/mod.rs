//! The verbs, one a file: parse, call the engine, print. None of them holds a rule.

mod clients;
pub(crate) mod init;
pub(crate) mod mcp;

use crate::args::Verb;
use crate::exit::Failure;
use crate::session::Shell;

/// Runs a verb.
pub(crate) async fn run(shell: &Shell, verb: Verb) -> Result<(), Failure> {
    match verb {
        Verb::Init(args) => init::run(shell, args).await,
        Verb::Mcp(args) => mcp::run(shell, args).await,
    }
}
