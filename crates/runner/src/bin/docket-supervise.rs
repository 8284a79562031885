//! A supervisor by itself, for programs that embed the runner and do not want to call it from their own `main`.

use std::process::ExitCode;

fn main() -> ExitCode {
    docket_runner::supervise().unwrap_or(ExitCode::from(2))
}
