//! `with-postgres COMMAND...`: runs a command with a throwaway Postgres server, whose address is in
//! `DOCKET_TEST_POSTGRES`, and a `PgBouncer` before it, and removes both afterwards. `cargo xtask test` runs all tests so.
#![expect(clippy::print_stderr, reason = "what was not tried is told")]

use std::process::{Command, ExitCode};

use docket_tests::postgres::{Cluster, Flushes, VARIABLE, pooler};

fn main() -> ExitCode {
    let mut words = std::env::args_os().skip(1);
    let Some(program) = words.next() else { return ExitCode::from(2) };
    let mut command = Command::new(program);
    command.args(words);
    let named = |variable| std::env::var_os(variable).is_some_and(|value| !value.is_empty());
    let cluster = (!named(VARIABLE)).then(|| Cluster::join(Flushes::Never));
    if let Some(cluster) = &cluster {
        command.env(VARIABLE, cluster.url());
        match cluster.pooler() {
            Some(folder) => _ = command.env(pooler::VARIABLE, folder),
            None => eprintln!(
                "NOT TRIED: there is no PgBouncer here, and none can be installed: nothing is tried behind a pooler"
            ),
        }
    } else if !named(pooler::VARIABLE) {
        eprintln!(
            "NOT TRIED: no PgBouncer is started before a server that {VARIABLE} names: nothing is tried behind a pooler"
        );
    }
    let status = command.status();
    if let Some(cluster) = cluster {
        cluster.leave();
    }
    let code = status.ok().and_then(|status| status.code()).and_then(|code| u8::try_from(code).ok());
    ExitCode::from(code.unwrap_or(1))
}
