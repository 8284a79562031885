//! `with-postgres COMMAND...`: runs a command with a throwaway Postgres server, whose address is in
//! `DOCKET_TEST_POSTGRES`. `cargo xtask test` runs all tests so.

use std::process::{Command, ExitCode};

fn main() -> ExitCode {
    let mut words = std::env::args_os().skip(1);
    let Some(program) = words.next() else { return ExitCode::from(2) };
    let server = docket_tests::postgres::server();
    let status = Command::new(program).args(words).env(docket_tests::postgres::VARIABLE, server).status();
    let code = status.ok().and_then(|status| status.code()).and_then(|code| u8::try_from(code).ok());
    ExitCode::from(code.unwrap_or(1))
}
