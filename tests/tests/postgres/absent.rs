//! Without a server, tests that need one fail and say so: nothing passes because there was nothing to try it with. What is said where
//! there is neither a server nor anything to start one with is tried where Postgres' programs are looked for.

use std::process::Command;

use docket_tests::postgres::{VARIABLE, pooler};

/// A port that nobody listens on.
const DEAD: &str = "postgres://docket@127.0.0.1:1/postgres";

#[test]
fn a_run_with_a_dead_server_fails_and_says_so() {
    let ourselves = std::env::current_exe().expect("this program has a path");
    let mut run = Command::new(env!("CARGO_BIN_EXE_with-postgres"));
    run.arg(ourselves).args(["--exact", "opening::an_empty_database_is_made_ours_when_that_is_asked_for"]);
    let out = run.env(VARIABLE, DEAD).env_remove(pooler::VARIABLE).output().expect("it starts");
    let said = format!("{}{}", String::from_utf8_lossy(&out.stdout), String::from_utf8_lossy(&out.stderr));
    assert!(!out.status.success(), "a test of a server passes without one: {said}");
    assert!(said.contains("running 1 test") && said.contains("1 failed"), "it is no real test: {said}");
    assert!(said.to_lowercase().contains("refused"), "it does not say what is wrong: {said}");
    // Nor is it kept secret that there is no pooler.
    assert!(said.contains("NOT TRIED") && said.contains("PgBouncer"), "{said}");
}
